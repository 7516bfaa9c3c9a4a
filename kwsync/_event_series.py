"""What is written of the events that a recorder is told, and when. Pure: times, chance and random names are given.

The rules are those of client-go's two recorders. Of the one for events.k8s.io (B173): the first of several equal events
is written, the second starts a series and is written, more are only counted; the count is written every 30 minutes, and
when the series has ended. Of the one for core/v1: the two filters, see `_event_filters`.

What waits to be written is tried in its order, one at a time: a server that is away is away for all of it. Meanwhile
events are still counted, so that repetitions need no room.
"""

from __future__ import annotations

import enum
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Any

import attrs

from kwsync._event_documents import Occurrence, Source, event, event_name, namespace_of, series
from kwsync._event_filters import Filters, Limits

NEVER = float("inf")


class Verdict(enum.Enum):
    """What became of an event that was told."""

    NEW = "new"
    REPEATED = "repeated"
    SPAM = "spam"
    """Dropped: there are too many about this object."""
    FULL = "full"
    """Dropped: too many wait to be written."""


@attrs.frozen
class Write:
    """One request: the creation of an event, or a merge patch of one that exists."""

    namespace: str
    name: str
    document: dict[str, Any]
    exists: bool


@attrs.define(eq=False)
class _Series:
    """One event, which may have happened several times."""

    first: Occurrence
    name: str
    last: float
    observed: float
    count: int = 1
    told: int = 0
    """The count when the server was told, or would not listen."""
    exists: bool = False
    waits: bool = False


class EventSeries:
    """All that one recorder knows. Its caller lets no two threads in at the same time.

    `observe` takes an event. `next_write` gives what is to be written now; then exactly one of `written`, `missing`,
    `refused` and `failed` tells what became of it. Times named *now* are on a clock that never jumps.
    """

    def __init__(self, who: Source, random_name: Callable[[], str], limits: Limits | None = None) -> None:
        self._who = who
        self._random_name = random_name
        self._limits = limits = limits or Limits()
        self._series: OrderedDict[Hashable, _Series] = OrderedDict()  # in the order of their last repetitions
        self._waiting: deque[_Series] = deque()
        self._filters = Filters(limits)
        self._refresh_at = NEVER
        self._retry_at = -NEVER
        self._failures = 0
        self._sent = 0
        self._stamp = 0

    @property
    def waiting(self) -> int:
        """How many writes are to be done, now or later."""
        return len(self._waiting)

    @property
    def remembered(self) -> int:
        """How many events would be taken for repeated ones."""
        return len(self._series)

    @property
    def next_due(self) -> float:
        """When there will be something to do; in the past for now, `NEVER` for nothing."""
        oldest = next(iter(self._series.values()), None)
        ends = NEVER if oldest is None else oldest.observed + self._limits.idle
        return min(ends, self._refresh_at, self._retry_at if self._waiting else NEVER)

    def observe(self, happened: Occurrence, now: float) -> Verdict:
        """Count an event."""
        self._ripen(now)
        happened, key = self._filters.told_apart(happened, now)
        known = self._series.get(key)
        if known is not None:
            self._repeat(key, known, happened, now)
            return Verdict.REPEATED
        if len(self._waiting) >= self._limits.waiting:
            return Verdict.FULL
        if not self._filters.may_write(happened, now):
            return Verdict.SPAM
        self._begin(key, happened, now)
        return Verdict.NEW

    def next_write(self, now: float) -> Write | None:
        """What is to be written now; the same again until it is told what became of it."""
        self._ripen(now)
        if not self._waiting or now < self._retry_at:
            return None
        head = self._waiting[0]
        self._sent = head.count
        repeated = series(head.count, head.last) if head.count > 1 else None
        document = repeated if head.exists and repeated else event(head.first, self._who, head.name, repeated)
        return Write(namespace_of(head.first), head.name, document, head.exists)

    def written(self) -> None:
        """The server has it."""
        self._waiting[0].exists = True
        self._next()

    def refused(self) -> None:
        """The server will not have it; it is not tried again, unless it happens again."""
        self._next()

    def missing(self) -> None:
        """The event that was to be patched is not there any more: it is made anew (B169)."""
        self._waiting[0].exists = False

    def failed(self, now: float, chance: float, wait: float = 0.0) -> bool:
        """The server was not reached, or asks to *wait* so many seconds. False after the last try: it is given up.

        *chance* is from 0 to 1; the first wait has all of its length from it, so that many clients of a server that was
        away do not come back all at once (B172).
        """
        limits = self._limits
        self._failures += 1
        if self._failures >= limits.tries:
            self._next()
            return False
        pause = limits.pause * (chance if self._failures == 1 else 1 + limits.jitter * chance)
        self._retry_at = now + max(pause, wait)
        return True

    def finish(self) -> None:
        """Nothing will happen any more: let all counts that the server does not know wait to be written."""
        while self._series:
            self._end_oldest()

    def _begin(self, key: Hashable, happened: Occurrence, now: float) -> None:
        # Never the same time twice, however coarse the clock is and whether or not it was set back.
        self._stamp = max(self._stamp + 1, int(happened.at * 1e9))
        name = event_name(happened, self._stamp) or self._random_name()
        new = self._series[key] = _Series(happened, name, happened.at, now)
        self._queue(new)
        if self._refresh_at == NEVER:
            self._refresh_at = now + self._limits.refresh
        if len(self._series) > self._limits.remembered:
            self._end_oldest()

    def _repeat(self, key: Hashable, known: _Series, happened: Occurrence, now: float) -> None:
        known.count += 1
        known.last = max(known.last, happened.at)
        known.observed = now
        self._series.move_to_end(key)
        if known.count == 2 and not known.waits and self._filters.may_write(happened, now):
            self._queue(known)

    def _ripen(self, now: float) -> None:
        """End the series that are over, and write the counts of the others when it is time."""
        while self._series and next(iter(self._series.values())).observed + self._limits.idle <= now:
            self._end_oldest()
        if now >= self._refresh_at:
            for each in self._series.values():
                self._queue_count(each)
            self._refresh_at = now + self._limits.refresh

    def _end_oldest(self) -> None:
        _, ended = self._series.popitem(last=False)
        self._queue_count(ended)
        if not self._series:
            self._refresh_at = NEVER

    def _queue_count(self, one: _Series) -> None:
        if one.count > max(one.told, 1) and not one.waits:
            self._queue(one)

    def _queue(self, one: _Series) -> None:
        one.waits = True
        self._waiting.append(one)

    def _next(self) -> None:
        head = self._waiting.popleft()
        head.waits = False
        head.told = self._sent
        self._failures, self._retry_at = 0, -NEVER
