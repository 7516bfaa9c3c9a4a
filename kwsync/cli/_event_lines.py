"""Kubernetes' Events, those of the old and of the new kind alike, as lines. Pure but for the time zone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone, tzinfo

import attrs

from kwsync import EventType, ObjectKey, WatchEvent
from kwsync.cli._colour import Paint
from kwsync.cli._documents import mapping, metadata_of, text
from kwsync.cli._text import cut, escaped, padded, width
from kwsync.cli._times import duration, first_time, local

_TITLES = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
_GAP = "   "
_LONGEST = {"TYPE": 16, "REASON": 40}
"""In columns of the terminal; what is longer is cut."""
_WIDEST = 63
"""No column gets wider, so that one long name does not push the messages off the screen; it moves those of its line."""
_LONG_AGO = datetime.min.replace(tzinfo=timezone.utc)


@attrs.frozen
class Happening:
    """What an Event tells, whichever API wrote it."""

    first: datetime | None
    last: datetime | None
    type: str
    reason: str
    about: str
    message: str
    count: int
    namespace: str

    @classmethod
    def of(cls, document: object) -> Happening:
        """Read v1 and events.k8s.io/v1: the same object has different names in each, and one may be empty."""
        event = mapping(document)
        series = mapping(event.get("series"))
        about = mapping(event.get("involvedObject") or event.get("regarding"))
        created = metadata_of(event).get("creationTimestamp")
        once = first_time(event.get("eventTime"))
        first = first_time(event.get("firstTimestamp"), event.get("deprecatedFirstTimestamp")) or once
        last = first_time(
            series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("deprecatedLastTimestamp")
        )
        return cls(
            first=first or first_time(created),
            last=last or once or first_time(created),
            type=text(event.get("type")),
            reason=text(event.get("reason")),
            about=f"{text(about.get('kind')).lower()}/{text(about.get('name'))}",
            message=" ".join(text(event.get("message") or event.get("note")).split()),
            count=_count(series.get("count"), event.get("count"), event.get("deprecatedCount")),
            namespace=text(metadata_of(event).get("namespace")),
        )

    @property
    def repeats(self) -> str:
        """``x12 over 1h``, or nothing when it happened once."""
        if self.count < 2:
            return ""
        if self.first is None or self.last is None or self.last <= self.first:
            return f"x{self.count}"
        return f"x{self.count} over {duration((self.last - self.first).total_seconds())}"

    @property
    def sentence(self) -> str:
        """The message, and how often."""
        return f"{self.message} ({self.repeats})" if self.repeats else self.message


def _count(*values: object) -> int:
    return max((value for value in values if isinstance(value, int)), default=1)


def in_order(events: Sequence[WatchEvent]) -> list[WatchEvent]:
    """By the time they were last seen."""
    return sorted(events, key=lambda event: Happening.of(event.object).last or _LONG_AGO)


@attrs.define
class EventLines:
    """The lines of Events; columns grow as longer cells come."""

    paint: Paint
    now: Callable[[], datetime]
    """Asked for each line: events of another day than today show their date."""
    namespaces: bool = False
    zone: tzinfo | None = None
    """None for this machine's own."""
    _widths: list[int] = attrs.field(factory=list, init=False)
    _headed: bool = attrs.field(default=False, init=False)
    _divided: bool = attrs.field(default=False, init=False)

    def block(self, events: Sequence[WatchEvent]) -> list[str]:
        """The state in order, and below it, once, the line that parts it from what follows."""
        lines = self._lines(in_order(events))
        if not self._divided:
            lines.append(self.paint.faint(f"-- {self._clock(self.now())} what follows is new ".ljust(72, "-")))
        self._divided = True
        return lines

    def change(self, event: WatchEvent) -> list[str]:
        """The line of an event that came or happened once more."""
        return self._lines([event])

    def measure(self, event: WatchEvent) -> None:
        """Make room for an event that is not shown: those like it will be."""
        self._grow(self._cells(event))

    def _lines(self, events: Sequence[WatchEvent]) -> list[str]:
        titles = [*(["NAMESPACE"] if self.namespaces else []), *_TITLES]
        headed, self._headed = self._headed, True
        found = [self._cells(event) for event in events]
        for cells in found if headed else [titles, *found]:
            self._grow(cells)
        head = [] if headed else [self.paint.header(self._joined(titles))]
        return [*head, *map(self._painted, found)]

    def _cells(self, event: WatchEvent) -> list[str]:
        told = Happening.of(event.object)
        seen = self._clock(told.last) if told.last else "unknown"
        cells = [seen, told.type, told.reason, told.about, told.sentence]
        named = zip(_TITLES, map(escaped, cells), strict=True)
        namespace = [escaped(told.namespace)] if self.namespaces else []
        return [*namespace, *(cut(cell, _LONGEST[title]) if title in _LONGEST else cell for title, cell in named)]

    def _clock(self, moment: datetime) -> str:
        seen, today = local(moment, self.zone), local(self.now(), self.zone)
        return f"{seen:%H:%M:%S}" if seen.date() == today.date() else f"{seen.date().isoformat()} {seen:%H:%M}"

    def _grow(self, cells: list[str]) -> None:
        before = self._widths or [0] * len(cells)
        self._widths = [max(columns, min(width(cell), _WIDEST)) for columns, cell in zip(before, cells, strict=True)]

    def _painted(self, cells: list[str]) -> str:
        front = [padded(cell, columns) for cell, columns in zip(cells[:-1], self._widths, strict=False)]
        *namespace, seen, type_, reason, about = front
        told = [self.paint.faint(seen), self.paint.event_type(type_), self.paint.cell("REASON", reason), about]
        return _GAP.join([*namespace, *told, cells[-1]]).rstrip()

    def _joined(self, cells: list[str]) -> str:
        return _GAP.join(padded(cell, columns) for cell, columns in zip(cells, self._widths, strict=True)).rstrip()


class News:
    """Which Events tell of something: neither their end nor a change of their labels does."""

    def __init__(self) -> None:
        self._told: dict[ObjectKey, int] = {}
        """By their hashes."""

    def __call__(self, event: WatchEvent) -> bool:
        """To be asked about every event, in their order."""
        before = self._told.pop(event.key, None)
        if event.type is EventType.DELETED:
            return False
        now = self._told[event.key] = hash(Happening.of(event.object))
        return now != before


def of_types(types: Iterable[str]) -> Callable[[WatchEvent], bool]:
    """A function that tells whether an event is of one of the types; no types mean all."""
    wanted = {one.lower() for one in types}
    return lambda event: not wanted or text(mapping(event.object).get("type")).lower() in wanted
