"""What the commands have in common: which server, which namespace, which kinds, how much is told."""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import attrs
import click

from kwsync import Client, ConfigError, ErrorOrigin, Resource, WatchError
from kwsync._clock import monotonic
from kwsync.cli._errors import CommandError, ExitCode, TimeOver, explain, location
from kwsync.cli._names import is_namespace, is_text
from kwsync.cli._verbose import telling

log = logging.getLogger("kwsync.cli.options")

LONGEST_SECONDS = 366 * 24 * 3600.0
DISCOVERY_SECONDS = 30.0
"""So long a server may take to tell what a name means."""

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
        timeout: float | None,
        **rest: Any,
    ) -> None:
        end = None if timeout is None else monotonic() + timeout
        if namespace is not None and all_namespaces:
            raise click.UsageError("-n and -A exclude each other: give one of them")
        with telling(verbosity), open_client(kubeconfig, context) as client:
            place = Place(client, None if all_namespaces else namespace or _own_namespace(client), end)
            log.info("server %s, namespace %s", location(client), place.namespace or "(all)")
            command(place=place, **rest)

    for option in (
        verbose_option,
        seconds_option("--timeout", "End after that, with exit code 0; 4 if there was no state by then."),
        configured,
        click.option("-A", "--all-namespaces", is_flag=True, help="Look into all namespaces."),
        click.option(
            "-n",
            "--namespace",
            callback=_check_namespace,
            metavar="NAME",
            help="The namespace, instead of the context's own.",
        ),
    ):
        run = option(run)
    return run


def configured(command: _Command) -> _Command:
    """Which configuration counts."""
    for option in (
        click.option(
            "--kubeconfig", callback=_check_given, metavar="FILE", help="Instead of KUBECONFIG or ~/.kube/config."
        ),
        click.option(
            "--context",
            callback=_check_given,
            metavar="NAME",
            help="The kubeconfig's context, instead of its current one.",
        ),
    ):
        command = option(command)
    return command


def _check_given(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Not empty, as a variable of a shell may be that is not set: what would be meant instead is a guess."""
    if value == "":
        raise click.BadParameter("it is empty: give a value, or leave the option out")
    return value


def _check_namespace(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value is None or is_namespace(value):
        return value
    raise click.BadParameter(f"{value!r} is no name of a namespace (small letters, digits and hyphens, 63 at most)")


def check_text(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """What is sent to the server has to be text."""
    if value is None or is_text(value):
        return value
    raise click.BadParameter(f"{value!r} is no text in UTF-8")


def _own_namespace(client: Client) -> str:
    """The one of the kubeconfig's context, or of the pod."""
    name = client.cluster.namespace
    if is_namespace(name):
        return name
    sentence = f"the namespace {name!r} of the kubeconfig's context is no name of one: repair it, or give -n"
    raise CommandError(sentence, ExitCode.CONFIG)


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
    return click.option(name, callback=_seconds, metavar="SECONDS", help=text)


def _seconds(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if 0 < seconds <= LONGEST_SECONDS:  # which is false for nan, too
        return seconds
    raise click.BadParameter(f"{value!r} is no time to wait: give seconds above 0, at most a year")


@attrs.frozen
class Place:
    """Where to look: a cluster as somebody, and a namespace of it (None: all); and until when."""

    client: Client
    namespace: str | None
    end: float | None = None
    """On the clock of ``monotonic``; None for no end."""

    def remaining(self) -> float | None:
        """The seconds that are left, None for no end; `TimeOver` where there are none."""
        if self.end is None:
            return None
        seconds = self.end - monotonic()
        if seconds <= 0:
            raise TimeOver(self.client, "answered")
        return seconds

    def namespace_for(self, resource: Resource) -> str | None:
        """The namespace, where the kind has any."""
        return None if resource.namespaced is False else self.namespace

    def resource(self, name: str) -> Resource:
        """What a name means, from the built-in kinds or from the server; `CommandError` for what is not there."""
        try:
            found = Resource.parse(name)
        except ValueError:
            return self._discovered(name)
        return found if found.namespaced is not None else self._discovered(str(found))

    def resources(self, names: Iterable[str]) -> list[Resource]:
        """The kinds that are named, each once."""
        return list(dict.fromkeys(map(self.resource, names)))

    def _discovered(self, name: str) -> Resource:
        seconds = self.remaining()
        try:
            return self.client.discover(name, timeout=min(seconds or DISCOVERY_SECONDS, DISCOVERY_SECONDS))
        except WatchError as error:
            if error.origin is ErrorOrigin.TIMEOUT:
                self.remaining()
            raise explain(error, self.client, name) from None
