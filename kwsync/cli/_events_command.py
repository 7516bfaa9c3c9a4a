"""``kwsync events``."""

from __future__ import annotations

import os
from datetime import datetime, timezone

import click

from kwsync import EventType, Resource
from kwsync._clock import wall
from kwsync.cli._colour import Paint, wants_colour
from kwsync.cli._errors import CommandError, ExitCode
from kwsync.cli._event_lines import EventLines, in_order, of_types
from kwsync.cli._follow import Subject
from kwsync.cli._formats import Each, json_line
from kwsync.cli._options import Place, on_cluster, timeout_option
from kwsync.cli._output import Output
from kwsync.cli._printer import Format, Shown, show

EVENTS = Resource.parse("v1/events")
"""Through this API the Events of both can be read, each once."""


@click.command("events", short_help="Show what happens: Kubernetes' Events, in order.")
@on_cluster
@click.option("--for", "about", metavar="KIND/NAME", help="Only what happens to this object (pod/web).")
@click.option("--types", metavar="TYPES", help="Only these types (Warning), with commas.")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", help="Default: table.")
@click.option("--no-initial", is_flag=True, help="Leave out what happened already: show news alone.")
@timeout_option
def events(
    place: Place, about: str | None, types: str | None, form: str, no_initial: bool, timeout: float | None
) -> None:
    """Show the Events of a namespace in the order of their time, then a line, then each that comes, until Ctrl-C.

    Events of the old and of the new API are one stream. What happened several times tells how often, as in
    "(x12 over 1h)". That an Event is thrown away after its time is no news. With -o json each is a line
    {"type":"ADDED","object":{...}}, the object as core v1 has it.
    """
    output = Output()
    paint = Paint(wants_colour(output.stream, os.environ))
    namespace, fields = place.namespace, None
    if about is not None:
        kind, name = object_of(place, about)
        namespace = place.namespace_for(kind)
        fields = f"involvedObject.kind={kind.kind or kind.plural},involvedObject.name={name}"
    subject = Subject(client=place.client, resource=EVENTS, namespace=namespace, field_selector=fields)
    wanted = of_types(types.split(",") if types else ())
    shown = Shown(
        subject,
        format_of(form, paint, namespace is None),
        initial=not no_initial,
        wants=lambda event: event.type is not EventType.DELETED and wanted(event),
    )
    show([shown], output, timeout)


def format_of(form: str, paint: Paint, all_namespaces: bool) -> Format:
    """Lines for people, or JSON."""
    if form == "json":
        return Each(json_line, in_order)
    return EventLines(paint, datetime.fromtimestamp(wall(), timezone.utc), namespaces=all_namespaces)


def object_of(place: Place, about: str) -> tuple[Resource, str]:
    """The kind and the name in ``pod/web``."""
    kind, slash, name = about.rpartition("/")
    if not (slash and kind and name):
        raise CommandError(f"--for takes KIND/NAME, as in pod/web, not {about!r}", ExitCode.USAGE)
    if any(sign in name for sign in ",=\\"):
        raise CommandError(f"{name!r} is no name of an object: check --for", ExitCode.USAGE)
    return place.resource(kind), name
