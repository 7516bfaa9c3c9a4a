"""``kwsync demo``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

import attrs
import click

from kwsync import EventType, WatchEvent
from kwsync.cli._colour import Paint, wants_colour
from kwsync.cli._errors import TimeOver
from kwsync.cli._event_lines import Happening
from kwsync.cli._events_command import EVENTS
from kwsync.cli._follow import Subject
from kwsync.cli._options import Place, seconds_option, verbose_option
from kwsync.cli._output import Output
from kwsync.cli._printer import Format, Shown, show
from kwsync.cli._server import happening, running_server
from kwsync.cli._stage import KINDS
from kwsync.cli._table import EVENT, GAP, NAME, Widths
from kwsync.cli._text import escaped, padded
from kwsync.cli._verbose import telling
from kwsync.cli._watch_command import tables_of

NAMESPACE = "default"


@click.command("demo", short_help="Watch a cluster that is only played: it needs nothing else.")
@seconds_option("--seconds", "End after that, with exit code 0.")
@verbose_option
def demo(seconds: float | None, verbosity: int) -> None:
    """Start an API server in memory, play a small lively workload on it, and watch that, until Ctrl-C.

    It is what kwsync watch shows of deployments, pods, jobs and a custom resource, and between it the Events.
    """
    output = Output()
    paint = Paint(wants_colour(output.stream, os.environ))
    with telling(verbosity), running_server(0) as server, happening(server), server.client() as client:
        about = f"An API server in memory, {server.url}, and somebody at work in it. Ctrl-C ends it."
        output.write([paint.faint(about)])
        with suppress(TimeOver):
            show(_shown(Place(client, NAMESPACE), paint), output, seconds)


def _shown(place: Place, paint: Paint) -> list[Shown]:
    widths = Widths()
    kinds = place.resources(KINDS)
    formats: list[Format] = [*tables_of(kinds, paint, widths), Remarks(paint, widths)]
    views = [*("table" for _ in kinds), "object"]
    return [
        Shown(
            Subject(client=place.client, resource=kind, namespace=place.namespace, view=view),
            format_,
            initial=kind is not EVENTS,
            wants=_is_news if kind is EVENTS else None,
            tells_absence=False,
        )
        for kind, view, format_ in zip([*kinds, EVENTS], views, formats, strict=True)
    ]


def _is_news(event: WatchEvent) -> bool:
    return event.type is not EventType.DELETED


@attrs.frozen
class Remarks:
    """Events in the columns of the tables that they stand between."""

    paint: Paint
    widths: Widths

    def block(self, _events: Sequence[WatchEvent]) -> list[str]:
        """Of the past nothing."""
        return []

    def measure(self, event: WatchEvent) -> None:
        """Of the past nothing."""

    def change(self, event: WatchEvent) -> list[str]:
        """Type, object, reason, message."""
        told = Happening.of(event.object)
        about, type_ = escaped(told.about), escaped(told.type)
        self.widths.grow(NAME, about)
        cells = [
            self.paint.event_type(padded(type_, self.widths.of(EVENT))),
            padded(about, self.widths.of(NAME)),
            self.paint.cell("REASON", escaped(told.reason)),
            self.paint.faint(escaped(told.sentence)),
        ]
        return [GAP.join(cells)]
