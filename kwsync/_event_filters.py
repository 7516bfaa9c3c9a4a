"""Two filters that bound how many events are written: of similar ones (B170), and about one object (B171). Pure.

They are those of client-go's recorder for core/v1. Its newer recorder has neither: it takes all notes of one reason for
the same event, and as a note cannot be changed any more, only the first can be read for ever. Here another note is
another event, and the two filters bound how many. They limit what is written, and a repetition that is counted costs
nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import attrs

from kwsync._event_documents import Occurrence, cut

COMBINED = "(combined from similar events): "

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@attrs.frozen(kw_only=True)
class Limits:
    """How much and how often; times in seconds. The defaults are client-go's."""

    waiting: int = 1000
    """New events that wait to be written, and as many again that were told and not looked at yet (B167)."""
    remembered: int = 4096
    """Series, and the same number of objects for each of the two filters."""
    burst: int = 25
    refill: float = 300.0
    """Writes of one type about one object at once, and how long until there may be one more (B171)."""
    similar: int = 10
    similar_within: float = 600.0
    """From so many different notes on, with no longer a pause between them, they are one event (B170)."""
    refresh: float = 1800.0
    """How old the count of a series may be on the server."""
    idle: float = 360.0
    """A series without a repetition for so long has ended (B173)."""
    tries: int = 12
    pause: float = 10.0
    jitter: float = 0.25
    """How often something is tried, how long after each other, and by how much longer by chance (B172, B173)."""


@attrs.define(eq=False)
class _Bucket:
    tokens: float
    at: float


@attrs.define(eq=False)
class _Notes:
    at: float
    known: set[int] = attrs.field(factory=set)


class _Lately(Generic[K, V]):
    """What was used last; of more than so many the one that was used least recently is forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[K, V] = OrderedDict()

    def use(self, key: K, new: Callable[[], V]) -> V:
        held = self._held
        if key not in held:
            held[key] = new()
            if len(held) > self._most:
                held.popitem(last=False)
        held.move_to_end(key)
        return held[key]


class Filters:
    """What both know of the objects that came last. Its caller lets no two threads in at the same time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buckets: _Lately[Hashable, _Bucket] = _Lately(limits.remembered)
        self._notes: _Lately[Hashable, _Notes] = _Lately(limits.remembered)

    def told_apart(self, happened: Occurrence, now: float) -> tuple[Occurrence, Hashable]:
        """The event, maybe combined from similar ones, and what those have in common that are the same (B170)."""
        about = happened.regarding.identity
        similar = (about, happened.type, happened.reason)
        notes = self._notes.use(similar, lambda: _Notes(now))
        if now - notes.at > self._limits.similar_within:
            notes.known.clear()
        notes.at = now
        mark = hash(happened.note)
        if mark not in notes.known and len(notes.known) >= self._limits.similar - 1:
            return happened._replace(note=cut(COMBINED + happened.note)), similar
        notes.known.add(mark)
        related = happened.related and happened.related.identity
        return happened, (*similar, happened.note, happened.action, related)

    def may_write(self, happened: Occurrence, now: float) -> bool:
        """One more about this object; False if there were too many (B171)."""
        limits = self._limits
        about = (happened.regarding.identity, happened.type)
        bucket = self._buckets.use(about, lambda: _Bucket(limits.burst, now))
        bucket.tokens = min(limits.burst, bucket.tokens + max(0.0, now - bucket.at) / limits.refill)
        bucket.at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True
