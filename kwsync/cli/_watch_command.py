"""``kwsync watch``."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Sequence

import click

from kwsync import Resource
from kwsync.cli._colour import Paint, wants_colour
from kwsync.cli._differences import Differences
from kwsync.cli._errors import CommandError, ExitCode, TimeOver
from kwsync.cli._follow import Subject
from kwsync.cli._formats import Each, json_line, name_line, yaml_document
from kwsync.cli._goal import Goal, Nothing, Reached
from kwsync.cli._names import kinds_in
from kwsync.cli._options import Place, check_text, on_cluster
from kwsync.cli._output import Output
from kwsync.cli._printer import Format, Shown, show
from kwsync.cli._table import Table, Widths
from kwsync.cli._until import Until, parse_until

log = logging.getLogger("kwsync.cli.watch")

VIEWS = {
    "table": "table",
    "wide": "table",
    "name": "metadata",
    "json": "object",
    "yaml": "object",
    "diff": "object",
}
"""The formats, and the view of the objects that each needs."""


def _check_kinds(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> list[str]:
    return kinds_in(value)


def _check_until(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Until | None:
    try:
        return None if value is None else parse_until(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command("watch", short_help="Show objects, and each change of them.")
@click.argument("names", metavar="RESOURCE...", nargs=-1, required=True, callback=_check_kinds)
@on_cluster
@click.option(
    "-l",
    "--selector",
    "label_selector",
    callback=check_text,
    metavar="LABELS",
    help="Only objects with these labels (app=web).",
)
@click.option(
    "--field-selector",
    callback=check_text,
    metavar="FIELDS",
    help="Only objects with these fields (metadata.name=web).",
)
@click.option("-o", "--output", "form", type=click.Choice(list(VIEWS)), default="table", help="Default: table.")
@click.option(
    "--no-initial",
    is_flag=True,
    help="Leave out what is there already: changes alone are shown, and count for --until.",
)
@click.option(
    "--until",
    callback=_check_until,
    metavar="EXPR",
    help="End when an object is in this state: condition=Ready, .status.phase=Running, create, delete.",
)
def watch(
    place: Place,
    names: list[str],
    label_selector: str | None,
    field_selector: str | None,
    form: str,
    no_initial: bool,
    until: Until | None,
) -> None:
    """Show the objects of one or more kinds, and then each change of them, until Ctrl-C.

    A kind is named as for kubectl (pods, deploy, deployments.apps, apps/v1/deployments, a custom resource), several
    apart or with commas. Whatever ends a watch, it goes on where it was.

    \b
    -o table   the server's columns, and the verb: ADDED, MODIFIED, DELETED
    -o wide    all of the server's columns
    -o name    kind/name, as kubectl takes it back
    -o json    a line for each event: {"type":"ADDED","object":{...}}
    -o yaml    a document for each event, of the same form
    -o diff    what changed in each object, but for bookkeeping and heartbeats

    With --until the first object that is in the state, or comes into it, ends the command; --timeout is then a failure.
    """
    try:
        _watch(place, names, label_selector, field_selector, form, until, initial=not no_initial)
    except Reached as reached:
        log.warning("%s: %s", until and until.expression, reached.key or "there is no object")
        return
    except TimeOver:
        if until is None:
            raise
    if until is not None:
        raise CommandError(f"--timeout was over before {until.expression}", ExitCode.NOT_REACHED)


def _watch(
    place: Place,
    names: list[str],
    label_selector: str | None,
    field_selector: str | None,
    form: str,
    until: Until | None,
    *,
    initial: bool,
) -> None:
    output = Output()
    kinds = place.resources(names)
    paint = Paint(wants_colour(output.stream, os.environ))
    formats = formats_of(kinds, form, paint, place.namespace is None, unicode=output.takes_unicode)

    def subject(kind: Resource, view: str) -> Subject:
        return Subject(
            client=place.client,
            resource=kind,
            namespace=place.namespace_for(kind),
            label_selector=label_selector,
            field_selector=field_selector,
            view=view,
        )

    shown = [Shown(subject(kind, VIEWS[form]), each, initial) for kind, each in zip(kinds, formats, strict=True)]
    if until is not None:
        looked_at = shown if VIEWS[form] == "object" else [_unseen(subject(kind, "object")) for kind in kinds]
        for each in looked_at:
            each.goal = Goal(until, initial=initial)
        shown = shown if looked_at is shown else [*shown, *looked_at]
    show(shown, output, place.remaining())


def _unseen(subject: Subject) -> Shown:
    """Whole objects beside rows, which do not tell the state that is waited for."""
    return Shown(subject, Nothing(), tells_absence=False)


def formats_of(
    kinds: Sequence[Resource], form: str, paint: Paint, all_namespaces: bool, *, unicode: bool
) -> list[Format]:
    """A format for each kind; tables of several stand below each other. Without *unicode* programs get ASCII."""
    if form == "name":
        return [Each(name_line(kind)) for kind in kinds]
    if form == "diff":
        return [Differences(name_line(kind), paint, unicode=unicode) for kind in kinds]
    if form in ("json", "yaml"):
        line = json_line if form == "json" else yaml_document
        return [Each(functools.partial(line, resource=kind, unicode=unicode)) for kind in kinds]
    namespaces = all_namespaces and any(kind.namespaced is not False for kind in kinds)
    return list(tables_of(kinds, paint, Widths(), wide=form == "wide", namespaces=namespaces))


def tables_of(
    kinds: Sequence[Resource], paint: Paint, widths: Widths, *, wide: bool = False, namespaces: bool = False
) -> list[Table]:
    """Tables that stand below each other; where there are several, names tell their kind."""
    return [Table(kind, paint, widths, wide=wide, namespaces=namespaces, kinds=len(kinds) > 1) for kind in kinds]
