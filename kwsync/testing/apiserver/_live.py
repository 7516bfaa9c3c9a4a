"""The live part of a watch: changes as they come, and bookmarks in between."""

from __future__ import annotations

import math
import random
import time

from kwsync.testing.apiserver._api import Api
from kwsync.testing.apiserver._bounds import Bounds
from kwsync.testing.apiserver._collection import Change
from kwsync.testing.apiserver._feed import Feed
from kwsync.testing.apiserver._lines import Lines
from kwsync.testing.apiserver._options import ListOptions
from kwsync.testing.apiserver._wire import Wire

_BATCH = Bounds(256, 1 << 16)
"""What is sent at a time: it waits in this thread when the client does not read."""
_LAST_BOOKMARK_SECONDS = 2.0
"""How long before its timeout a watch gets a last bookmark; one that is no longer than that gets none (trap 14)."""


class Live:
    """Sends what a feed brings, until the timeout of the watch or the end of the feed.

    Args:
        started_at: the version at which the watch began.
        cached: whether it is of a kind that gets bookmarks.
    """

    def __init__(
        self, api: Api, lines: Lines, options: ListOptions, feed: Feed, started_at: int, *, cached: bool
    ) -> None:
        now = time.monotonic()
        least = api.settings.min_request_timeout
        self._api = api
        self._lines = lines
        self._feed = feed
        self._started_at = started_at
        self._ends = now + (options.timeout or random.uniform(least, 2 * least))
        self._last_bookmark = self._ends - _LAST_BOOKMARK_SECONDS
        self._next_bookmark = math.inf
        if options.bookmarks and cached and self._last_bookmark > now:
            self._next_bookmark = self._bookmark_after(now)

    def _bookmark_after(self, moment: float) -> float:
        if moment >= self._last_bookmark:
            return math.inf
        return min(moment + self._api.settings.bookmark_interval, self._last_bookmark)

    def run(self, wire: Wire) -> None:
        """Send changes and bookmarks; the end of the stream is the caller's."""
        while self._goes_on(wire):
            pass

    def _goes_on(self, wire: Wire) -> bool:
        """Do what is due next; False when the watch is over."""
        now = time.monotonic()
        if now >= self._ends:
            return False
        # Asked first: what was offered before the end is taken then.
        ended = self._feed.ended
        changes = self._feed.take(_BATCH)
        if changes:
            self._send(wire, changes)
        elif ended:
            return False
        elif now >= self._next_bookmark:
            self._send_bookmark(wire)
        elif self._feed.falls_asleep():
            self._sleep(wire, min(self._next_bookmark, self._ends) - now)
        return True

    def _sleep(self, wire: Wire, seconds: float) -> None:
        # Only here: a bell that is heard while the wire waits for a slow reader would not let it wait.
        with wire.listening_to(self._feed.bell):
            wire.wait(self._feed.bell, seconds)

    def _send(self, wire: Wire, changes: list[Change]) -> None:
        lines = [line for line in map(self._lines.line, changes) if line is not None]
        if lines:
            wire.events(lines)

    def _send_bookmark(self, wire: Wire) -> None:
        # Under the lock, because a version must not be told before its change has been offered.
        with self._api.lock:
            revision, idle = self._api.state.revision, not len(self._feed)
        if idle:
            self._next_bookmark = self._bookmark_after(self._next_bookmark)
            if revision > self._started_at:
                wire.events([self._lines.bookmark(revision)])
