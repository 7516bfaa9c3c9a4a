"""One watch: where it starts, what it sends first, and when it ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._api import Api, Call
from kwsync.testing.apiserver._collection import Change, Collection, Version
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._feed import Feed
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._lines import Lines, error_line
from kwsync.testing.apiserver._live import Live
from kwsync.testing.apiserver._negotiate import negotiate
from kwsync.testing.apiserver._numbers import parse_version
from kwsync.testing.apiserver._options import ListOptions, check_watch
from kwsync.testing.apiserver._reads import await_version, view_for
from kwsync.testing.apiserver._selection import matcher, selected
from kwsync.testing.apiserver._target import Target
from kwsync.testing.apiserver._wire import Headers, Wire

_PIECE_BYTES = 1 << 18
"""What is sent at a time of the state at the beginning, which may be large."""


class Start(NamedTuple):
    """What is due when a watch begins."""

    api: Api
    collection: Collection
    feed: Feed
    initial: list[Version]
    replayed: list[Change]
    """The history since the version that it starts at."""
    revision: int
    ended_initial: bool
    """Whether a bookmark is to tell the end of the initial events (trap 6)."""

    def close(self) -> None:
        """Leave the watchers."""
        # It is no longer there when the state has gone back in time.
        with self.api.lock, contextlib.suppress(ValueError):
            self.collection.listeners.remove(self.feed)
        self.feed.close()


class Refusal(NamedTuple):
    """What is wrong with a watch although its request was good: an ERROR event in a 200 (trap 3), or just an end."""

    status: JSON | None = None

    def close(self) -> None:
        """There is nothing to leave."""


class Watch:
    """The answer to one watch request; made when the request is known to be good, run on the connection's thread."""

    def __init__(self, api: Api, call: Call, target: Target, kind: Kind, options: ListOptions) -> None:
        self._accepted = negotiate(call.accept, kind, stream=True, collection=True)
        self._options = check_watch(options)
        number = parse_version(options.resource_version or "0")
        if number is None:
            raise _status.unparsable_watch_version(options.resource_version)
        self._number = number
        self._api = api
        self._call = call
        self.kind = kind
        self._namespace = target.namespace
        view = "metadata" if self._accepted.view == "metadata-list" else self._accepted.view
        shown = view_for(api, kind, self._accepted._replace(view=view), call)
        self._matches = matcher(kind, options)
        self._lines = Lines(shown, self._matches)

    def run(self, wire: Wire, headers: Headers) -> None:
        """Send everything, until the timeout, the end of the kind, or the client's."""
        head = [("Content-Type", self._accepted.content_type), *headers]
        waits = self._options.initial_events and self._number > self._api.state.revision
        if waits:
            wire.start(head)
        with contextlib.closing(self._late() if waits else self._begin()) as start:
            # The watch is on when its head arrives: whoever reads that may write, and will hear of it.
            if not waits:
                wire.start(head)
            self._stream(wire, start)
        wire.end()

    def _late(self) -> Start | Refusal:
        """Begin when the version has come that the initial state must have; 504 when it does not (D6)."""
        try:
            await_version(self._api, self._call, self.kind, self._number)
        except _status.ApiError:
            retry_after = 1 if self.kind.is_cached else 2
            return Refusal(_status.too_large_event(self._number, self._api.state.revision, retry_after))
        return self._begin()

    def _begin(self) -> Start | Refusal:
        if self._options.timeout < 0:
            return Refusal(_status.deadline_event())
        # Another thread may have taken the definition away since the request was looked at.
        with self._api.lock, contextlib.suppress(_status.ApiError):
            return self._join(self._api.state.collection(self.kind.stored_as))
        return Refusal()

    def _join(self, collection: Collection) -> Start | Refusal:
        """Take the state and join the watchers in one step, so that nothing is missed and nothing comes twice."""
        api, options, number = self._api, self._options, self._number
        from_now = bool(options.initial_events) or not number
        revision = api.state.revision if from_now else number
        if not from_now and number < collection.oldest:
            return Refusal(self._expired(collection))
        feed = Feed(self._namespace, revision, api.settings.watch_buffer, api.lock)
        replayed = [change for change in collection.since(revision) if feed.wants(change)]
        collection.listeners.append(feed)
        initial = selected(collection.rows(), self._namespace, self._matches) if options.initial_events else []
        ended_initial = bool(options.initial_events) and options.bookmarks
        return Start(api, collection, feed, initial, replayed, revision, ended_initial)

    def _expired(self, collection: Collection) -> JSON:
        if self.kind.is_cached:
            return _status.expired_event(self._number, collection.oldest)
        return _status.expired_uncached_event()

    def _stream(self, wire: Wire, start: Start | Refusal) -> None:
        if isinstance(start, Refusal):
            if start.status is not None:
                wire.events([error_line(start.status)])
        # Trap 13: the List form on a watch is an empty stream.
        elif self._accepted.view != "metadata-list":
            self._send_first(wire, start)
            live = Live(self._api, self._lines, self._options, start.feed, start.revision, cached=self.kind.is_cached)
            live.run(wire)

    def _send_first(self, wire: Wire, start: Start) -> None:
        for piece in _pieces(self._first_lines(start)):
            wire.packed(piece)
            start.feed.note_progress()
        # A watch may be open for hours, and must not hold what was there at its beginning.
        start.initial.clear()
        start.replayed.clear()

    def _first_lines(self, start: Start) -> Iterator[bytes]:
        """What is due at once; a history is packed, too."""
        yield from map(self._lines.initial, start.initial)
        if start.ended_initial:
            yield self._lines.bookmark(start.revision, initial_end=True)
        yield from filter(None, map(self._lines.line, start.replayed))


def _pieces(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    piece: list[bytes] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= _PIECE_BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece
