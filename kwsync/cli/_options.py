"""What the commands have in common: which server, which namespace, which kinds, how much is told."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import attrs
import click

from kwsync import Client, ConfigError, Resource, WatchError
from kwsync.cli._errors import CommandError, ExitCode, explain, location
from kwsync.cli._verbose import telling

log = logging.getLogger("kwsync.cli.options")

LONGEST_SECONDS = 366 * 24 * 3600.0

_Command = TypeVar("_Command", bound=Callable[..., Any])


def on_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say where to look and how much is told, and call *command* with the `Place` they mean."""

    @functools.wraps(command)
    def run(
        *,
        kubeconfig: str | None,
        context: str | None,
        namespace: str | None,
        all_namespaces: bool,
        verbosity: int,
        **rest: Any,
    ) -> None:
        if namespace is not None and all_namespaces:
            raise click.UsageError("-n and -A exclude each other: give one of them")
        with telling(verbosity), open_client(kubeconfig, context) as client:
            place = Place(client, None if all_namespaces else namespace or client.cluster.namespace)
            log.info("server %s, namespace %s", location(client), place.namespace or "(all)")
            command(place=place, **rest)

    for option in (
        verbose_option,
        click.option("--kubeconfig", metavar="FILE", help="Instead of KUBECONFIG or ~/.kube/config."),
        click.option("--context", metavar="NAME", help="The kubeconfig's context, instead of its current one."),
        click.option("-A", "--all-namespaces", is_flag=True, help="Look into all namespaces."),
        click.option("-n", "--namespace", metavar="NAME", help="The namespace, instead of the context's own."),
    ):
        run = option(run)
    return run


def open_client(kubeconfig: str | None, context: str | None) -> Client:
    """Who asks; `CommandError` where no configuration can be had."""
    try:
        if kubeconfig is None:
            return Client.from_default(context)
        return Client.from_kubeconfig(kubeconfig, context)
    except ConfigError as error:
        advice = "" if context or kubeconfig else " (without any cluster, try: kwsync demo)"
        raise CommandError(f"{error}{advice}", ExitCode.CONFIG) from None


def verbose_option(command: _Command) -> _Command:
    """How much is told."""
    text = "Tell more on standard error: -v what is done, -vv each request, -vvv its headers (credentials masked)."
    return click.option("-v", "verbosity", count=True, help=text)(command)


def seconds_option(name: str, text: str) -> Callable[[_Command], _Command]:
    """For how long: a number above zero, fractions allowed."""
    return click.option(name, type=float, callback=_check_seconds, metavar="SECONDS", help=text)


def _check_seconds(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    if value is None or 0 < value <= LONGEST_SECONDS:
        return value
    raise click.BadParameter(f"{value} is no time to wait: give seconds above 0, at most a year")  # nan comes here, too


timeout_option = seconds_option("--timeout", "End after that, with exit code 0.")


@attrs.frozen
class Place:
    """Where to look: a cluster as somebody, and a namespace of it (None: all)."""

    client: Client
    namespace: str | None

    def namespace_for(self, resource: Resource) -> str | None:
        """The namespace, where the kind has any."""
        return None if resource.namespaced is False else self.namespace

    def resource(self, name: str) -> Resource:
        """What a name means, from the built-in kinds or from the server; `CommandError` for what is not there."""
        try:
            found = Resource.parse(name)
        except ValueError:
            found = None
        if found is None and "/" in name:
            kind, _, rest = name.partition("/")
            advice = f"to watch one object, say {kind} --field-selector metadata.name={rest}"
            raise CommandError(f"{name!r} names no kind of objects: {advice}", ExitCode.USAGE)
        try:
            if found is None or found.namespaced is None:
                found = self.client.discover(name if found is None else str(found))
        except WatchError as error:
            raise explain(error, self.client, name) from None
        return found

    def resources(self, names: Iterable[str]) -> list[Resource]:
        """The kinds that are named, with commas or apart, each once."""
        each = [name for listed in names for name in listed.split(",") if name]
        return list(dict.fromkeys(map(self.resource, each)))
