"""One watch: where it starts, what it sends, and when it ends."""

from __future__ import annotations

import math
import random
import time
from typing import NamedTuple

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._api import Api, Call
from kwsync.testing.apiserver._collection import Collection, Version
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._feed import Feed
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._lines import Lines, error_line
from kwsync.testing.apiserver._negotiate import negotiate
from kwsync.testing.apiserver._numbers import parse_version
from kwsync.testing.apiserver._options import ListOptions, check_watch
from kwsync.testing.apiserver._reads import await_version, view_for
from kwsync.testing.apiserver._selection import matcher, selected
from kwsync.testing.apiserver._target import Target
from kwsync.testing.apiserver._wire import Headers, Wire

_BATCH_EVENTS = 256
_BATCH_BYTES = 1 << 16
_LOCK_SECONDS = 0.01
_LAST_BOOKMARK_SECONDS = 2.0
"""How long before its timeout a watch gets a last bookmark; one that is no longer than that gets none (trap 14)."""


class Start(NamedTuple):
    """What is due when a watch begins."""

    collection: Collection
    feed: Feed
    initial: list[Version]
    replayed: int
    """How many changes of the history the feed begins with."""
    revision: int
    ended_initial: bool
    """Whether a bookmark is to tell the end of the initial events (trap 6)."""


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
        start: Start | JSON = {}
        try:
            if self._options.initial_events and self._number > self._api.state.revision:
                wire.start(head)
                start = self._late()
            else:
                # The watch is on when its head arrives: whoever reads that may write, and will hear of it.
                start = self._begin()
                wire.start(head)
            self._stream(wire, start)
        finally:
            if isinstance(start, Start):
                self._leave(start)

    def _late(self) -> Start | JSON:
        """Begin when the version has come that the initial state must have; 504 when it does not (D6)."""
        try:
            await_version(self._api, self._call, self.kind, self._number)
        except _status.ApiError:
            retry_after = 1 if self.kind.is_cached else 2
            return _status.too_large_event(self._number, self._api.state.revision, retry_after)
        return self._begin()

    def _stream(self, wire: Wire, start: Start | JSON) -> None:
        if not isinstance(start, Start):
            wire.events([error_line(start)])
        # Trap 13: the List form on a watch is an empty stream.
        elif self._accepted.view != "metadata-list":
            self._send_initial(wire, start)
            stream = _Stream(self._api, self._lines, self._options, start, wire, cached=self.kind.is_cached)
            with wire.listening_to(start.feed.bell):
                stream.run()
        wire.end()

    def _begin(self) -> Start | JSON:
        """Take the state and join the watchers in one step, so that nothing is missed and nothing comes twice.

        Or what is wrong with this watch although its request was good: an ERROR event in a 200 (trap 3).
        """
        if self._options.timeout < 0:
            return _status.deadline_event()
        options, number, settings = self._options, self._number, self._api.settings
        with self._api.lock:
            state = self._api.state
            collection = state.collection(self.kind.stored_as)
            from_now = bool(options.initial_events) or not number
            revision = state.revision if from_now else number
            if not from_now and number < collection.oldest:
                return self._expired(collection)
            feed = Feed(self._namespace, revision, settings.watch_buffer, settings.slow_reader_grace)
            feed.fill(collection.since(revision))
            replayed = len(feed)
            collection.listeners.append(feed)
            initial = selected(collection.rows(), self._namespace, self._matches) if options.initial_events else []
        return Start(collection, feed, initial, replayed, revision, bool(options.initial_events) and options.bookmarks)

    def _expired(self, collection: Collection) -> JSON:
        if self.kind.is_cached:
            return _status.expired_event(self._number, collection.oldest)
        return _status.expired_uncached_event()

    def _send_initial(self, wire: Wire, start: Start) -> None:
        lines = [self._lines.initial(version) for version in start.initial]
        if start.ended_initial:
            lines.append(self._lines.bookmark(start.revision, initial_end=True))
        # A history is due at once, too, and so it is packed.
        lines += filter(None, [self._lines.line(change) for change in start.feed.take(start.replayed)])
        wire.packed(lines)

    def _leave(self, start: Start) -> None:
        with self._api.lock:
            start.collection.listeners.remove(start.feed)
        start.feed.close()


class _Stream:
    """The live part of a watch."""

    def __init__(self, api: Api, lines: Lines, options: ListOptions, start: Start, wire: Wire, *, cached: bool) -> None:
        now = time.monotonic()
        least = api.settings.min_request_timeout
        seconds = options.timeout or random.uniform(least, 2 * least)
        self._api = api
        self._lines = lines
        self._feed = start.feed
        self._wire = wire
        self._started_at = start.revision
        self._ends = now + seconds
        self._last_bookmark = self._ends - _LAST_BOOKMARK_SECONDS
        self._next_bookmark = math.inf
        if options.bookmarks and cached and self._last_bookmark > now:
            self._next_bookmark = self._bookmark_after(now)

    def _bookmark_after(self, moment: float) -> float:
        if moment >= self._last_bookmark:
            return math.inf
        return min(moment + self._api.settings.bookmark_interval, self._last_bookmark)

    def run(self) -> None:
        """Send changes as they come."""
        while (now := time.monotonic()) < self._ends:
            changes = self._feed.take(_BATCH_EVENTS)
            if changes:
                self._send([self._lines.line(change) for change in changes])
            elif self._feed.ended:
                return
            elif now >= self._next_bookmark:
                self._send_bookmark()
            elif self._feed.falls_asleep():
                self._wire.wait(self._feed.bell, min(self._next_bookmark, self._ends) - now)

    def _send(self, lines: list[bytes | None]) -> None:
        batch: list[bytes] = []
        size = 0
        for line in filter(None, lines):
            batch.append(line)
            size += len(line)
            if size > _BATCH_BYTES:
                self._wire.events(batch)
                batch, size = [], 0
        if batch:
            self._wire.events(batch)

    def _send_bookmark(self) -> None:
        # Under the lock, because a version must not be told before its change has been offered. Not for long, because
        # the writer that has the lock may be waiting for this very watch.
        if not self._api.lock.acquire(timeout=_LOCK_SECONDS):
            return
        try:
            revision, idle = self._api.state.revision, not len(self._feed)
        finally:
            self._api.lock.release()
        if idle:
            self._next_bookmark = self._bookmark_after(self._next_bookmark)
            if revision > self._started_at:
                self._wire.events([self._lines.bookmark(revision)])
