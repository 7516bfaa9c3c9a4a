"""The bytes of one watch to its events, and to the version that is safe to resume from. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwsync import _json
from kwsync._events import EventType, WatchEvent, ends_initial_events, line_type, resource_version_of
from kwsync._lines import DocumentJoiner, LineSplitter
from kwsync._query import WatchOptions
from kwsync._records import Change, Record, record_of
from kwsync._scan import scan_line, scan_undecodable
from kwsync.errors import ErrorOrigin, WatchError, is_status, local_error, status_error

_SHORTEST = 18
"""No event is shorter than ``{"type":"ADDED",…``."""

_INDENTED_BYTES = 256 * 1024
"""An indented document is an error that should have been one line; those are small."""


class Decoder:
    """What is known while a stream is read."""

    def __init__(self, options: WatchOptions) -> None:
        self.path = ""
        """For errors."""
        self.error: WatchError | None = None
        """The last error that the stream told."""
        self.skipped_lines = 0
        self.skipped: list[bytes] = []
        """The lines that were skipped since somebody emptied it."""
        self.initial = options.resource_version in (None, "0") or options.send_initial_events is True
        """The next event may still tell the initial state."""
        self._marked = options.send_initial_events is True  # only the bookmark ends the initial events
        self._splitter = LineSplitter(options.max_line_bytes)
        self._joiner = DocumentJoiner(min(options.max_line_bytes, _INDENTED_BYTES))
        self.resource_version = None if self.initial else options.resource_version
        """What to resume from once the last event has been delivered.

        Of the events that tell the initial state none counts: they come in the order of their names (client-go's rule,
        B009 in its conformance list). The first event that is no ADDED counts, or with ``send_initial_events`` the
        bookmark that ends the initial events.
        """

    @property
    def awaits_marker(self) -> bool:
        """Is the bookmark still to come that ends the initial events?"""
        return self._marked and self.initial

    @property
    def overflow(self) -> bool:
        """A line is longer than allowed; `lines` gave all those before it."""
        return self._splitter.overflow

    def lines(self, piece: bytes) -> list[bytes]:
        """The lines that a piece of the body completes."""
        return self._splitter.feed(piece)

    def event(self, line: bytes) -> WatchEvent | None:
        """The event of a line; None for one that tells nothing, is skipped, or is part of an indented document."""
        return self._event_of(line)

    def _event_of(self, line: bytes) -> WatchEvent | None:
        return None if _is_blank(line) else self._told(_decoded(line), line)

    def _told(self, document: Any, line: bytes) -> WatchEvent | None:
        """The event of a line that holds this."""
        kind = line_type(document)
        if kind is None:
            return self._odd(line)
        if kind is EventType.ERROR:
            return self._error(document.get("object"), ErrorOrigin.STREAM)
        found = document["object"]
        version = resource_version_of(found)
        initial = self.initial and self._still_initial(kind, found)
        if version is not None and not initial:
            self.resource_version = version
        return WatchEvent(kind, found, version, None, None, initial and self._marked and kind is EventType.ADDED)

    def at_end(self) -> Iterator[WatchEvent]:
        """After a clean end: a line without its own end is no event, since it may be cut. But an error is told."""
        for text in [*self._joiner.feed(self._splitter.rest()), *self._joiner.rest()]:
            event = self._error_of(text)
            if event is not None:
                yield event
            else:
                self._skip(text)

    def _still_initial(self, kind: EventType, found: dict[str, Any]) -> bool:
        if self._marked:
            self.initial = not (kind is EventType.BOOKMARK and ends_initial_events(found))
        else:
            self.initial = kind is EventType.ADDED
        return self.initial

    def _odd(self, line: bytes) -> WatchEvent | None:
        event = None
        for text in self._joiner.feed(line):
            told = self._error_of(text)
            if told is None and text is not line and line_type(_decoded(text)) is not None:
                told = self._event_of(text)
            if told is None:
                self._skip(text)
            event = event or told
        return event

    def _error_of(self, text: bytes) -> WatchEvent | None:
        """The error that a document tells: a Status where a stream should be, or an event of type ERROR."""
        document = _decoded(text)
        if is_status(document):
            return self._error(document, ErrorOrigin.HTTP)
        if line_type(document) is EventType.ERROR:
            return self._error(document.get("object"), ErrorOrigin.STREAM)
        return None

    def _error(self, document: object, origin: ErrorOrigin) -> WatchEvent:
        self.error = status_error(document, origin, path=self.path)
        return WatchEvent(EventType.ERROR, error=self.error)

    def _skip(self, text: bytes) -> None:
        if text.strip():
            self.skipped_lines += 1
            self.skipped.append(text)


class RecordDecoder(Decoder):
    """Gives a `Change` for each event, its object as bytes, and one of type ERROR for a line that was skipped."""

    def event(self, line: bytes) -> Any:
        """As `Decoder.event`, with changes in the place of events."""
        if self._joiner.is_broken_by(line):
            for text in self._joiner.rest():
                self._skip(text)
            return self._lost()
        change = scan_line(line)
        return self._long_way(line) if change is None else self._noted(change)

    def _noted(self, change: Change) -> Change:
        initial = self.initial and self._still_initial(change.type, {})
        if change.record is not None and change.record.version and not initial:
            self.resource_version = change.record.version
        return change

    def _long_way(self, line: bytes) -> Change | None:
        if _is_blank(line):
            return None
        document = _decoded(line)
        undecodable = scan_undecodable(line) if document is None else None
        return self._noted(undecodable) if undecodable else self._change_of(document, line)

    def _change_of(self, document: Any, line: bytes) -> Change | None:
        skipped = self.skipped_lines
        event = self._told(document, line)
        if event is None:
            return self._lost() if self.skipped_lines > skipped else None
        if event.type in (EventType.ERROR, EventType.BOOKMARK) or event.object is None:
            return Change(event.type, None, event.object, error=event.error, version=event.resource_version)
        record = _record_of(event.object, line)
        if record is None:
            self._skip(line)
            return self._lost()
        return Change(event.type, record, event.object)

    def _lost(self) -> Change:
        error = local_error(ErrorOrigin.DECODE, "a line of the watch is no event and was skipped", path=self.path)
        return Change(EventType.ERROR, None, error=error)


def _is_blank(line: bytes) -> bool:
    """Blank lines keep proxies awake."""
    return len(line) < _SHORTEST and not line.strip()


def _record_of(found: dict[str, Any], line: bytes) -> Record | None:
    try:
        return record_of(found)
    except ValueError:  # nested so deeply that it could just be decoded, but not be encoded again
        change = scan_undecodable(line)
        return change.record if change else None


def _decoded(text: bytes) -> Any:
    try:
        return _json.loads(text)
    except ValueError:
        return None
