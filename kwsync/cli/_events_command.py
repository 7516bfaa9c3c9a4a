"""``kwsync events``."""

from __future__ import annotations

import functools
import os

import click

from kwsync import Resource
from kwsync.cli._colour import Paint, wants_colour
from kwsync.cli._event_lines import EventLines, News, in_order, of_types
from kwsync.cli._follow import Subject
from kwsync.cli._formats import Each, json_line
from kwsync.cli._names import TYPES, listed, object_in
from kwsync.cli._options import Place, on_cluster
from kwsync.cli._output import Output
from kwsync.cli._printer import Format, Shown, show
from kwsync.cli._times import now

EVENTS = Resource.parse("v1/events")
"""Through this API the Events of both can be read, each once."""


def _check_about(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, str] | None:
    return None if value is None else object_in(value)


def _check_types(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str]:
    """None of them where all are meant."""
    found = [name.title() for name in listed(value or "")]
    if value is None or (found and set(found) <= set(TYPES)):
        return found
    raise click.BadParameter(f"{value!r} names no types of Events: give {' or '.join(TYPES)}")


@click.command("events", short_help="Show what happens: Kubernetes' Events, in order.")
@on_cluster
@click.option(
    "--for", "about", callback=_check_about, metavar="KIND/NAME", help="Only what happens to this object (pod/web)."
)
@click.option("--types", callback=_check_types, metavar="TYPES", help="Only these types (Warning), with commas.")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", help="Default: table.")
@click.option("--no-initial", is_flag=True, help="Leave out what happened already: show news alone.")
def events(place: Place, about: tuple[str, str] | None, types: list[str], form: str, no_initial: bool) -> None:
    """Show the Events of a namespace in the order of their time, then a line, then each that comes, until Ctrl-C.

    Events of the old and of the new API are one stream. What happened several times tells how often, as in
    "(x12 over 1h)". That an Event is thrown away after its time is no news. With -o json each is a line
    {"type":"ADDED","object":{...}}, the object as core v1 has it.
    """
    output = Output()
    paint = Paint(wants_colour(output.stream, os.environ))
    namespace, fields = place.namespace, None
    if about is not None:
        kind, name = place.resource(about[0]), about[1]
        namespace = place.namespace_for(kind)
        fields = f"involvedObject.kind={kind.kind or kind.plural},involvedObject.name={name}"
    subject = Subject(client=place.client, resource=EVENTS, namespace=namespace, field_selector=fields)
    wanted, is_news = of_types(types), News()
    shown = Shown(
        subject,
        format_of(form, paint, namespace is None, unicode=output.takes_unicode),
        initial=not no_initial,
        wants=lambda event: is_news(event) and wanted(event),
    )
    show([shown], output, place.remaining())


def format_of(form: str, paint: Paint, all_namespaces: bool, *, unicode: bool) -> Format:
    """Lines for people, or JSON."""
    if form == "json":
        return Each(functools.partial(json_line, resource=EVENTS, unicode=unicode), in_order)
    return EventLines(paint, now, namespaces=all_namespaces)
