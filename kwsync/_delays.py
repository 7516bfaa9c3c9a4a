"""Things that are due later, on one heap: the nearest time is at hand, and each thing is due once. Pure.

The heap holds times alone, not things: floats are compared fast, things are never compared, and a thing that is taken
back leaves nothing behind but its time, which is passed over. Whatever is interrupted half-way (by a signal handler
that raises) may make a thing due once more than it was asked for, but never loses one: see the order of the steps.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

NEVER = float("inf")

_SPARE = 64
"""So many times without a thing are not worth a new heap."""


class _Together(dict[T, None]):
    """Several things that are due at one time, in the order in which they came."""


class Delays(Generic[T]):
    """Things by the time when they are due. The clock is the caller's; only the order of its times matters."""

    __slots__ = ("_at", "_due", "_heap", "next_due")

    def __init__(self) -> None:
        self.next_due = NEVER
        """The nearest time; NEVER when nothing is delayed. An attribute, since each step of a queue asks for it."""
        self._due: dict[T, float] = {}
        self._at: dict[float, T | _Together[T]] = {}
        self._heap: list[float] = []

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, thing: object) -> bool:
        return thing in self._due

    def put(self, thing: T, due: float, *, replace: bool = False) -> None:
        """Make a thing due; of two times the earlier one counts, or with *replace* the one that was said last."""
        before = self._due.get(thing)
        if before is not None and (before == due or (before < due and not replace)):
            return
        if due < self.next_due:
            self.next_due = due  # first, for looking too early costs nothing
        self._attach(thing, due)
        self._due[thing] = due
        if before is not None:
            self._detach(thing, before)
            self._settle()

    def remove(self, thing: T) -> bool:
        """Take a thing back; False if it was not there."""
        due = self._due.pop(thing, None)
        if due is None:
            return False
        self._detach(thing, due)
        self._settle()
        return True

    def due(self, now: float) -> Iterator[tuple[T, float]]:
        """What is due by now, each with its time, in order; it is removed when the next one is asked for."""
        if self.next_due <= now:
            self._settle()
        while self.next_due <= now:
            due = self._heap[0]
            there = self._at[due]
            for thing in list(there) if isinstance(there, _Together) else (there,):
                yield thing, due
                self._due.pop(thing, None)
            self._at.pop(due, None)
            self._settle()

    def _attach(self, thing: T, due: float) -> None:
        if due not in self._at:
            heapq.heappush(self._heap, due)
            self._at[due] = thing
        else:
            there = self._at[due]
            if not isinstance(there, _Together):
                there = self._at[due] = _Together({there: None})
            there[thing] = None

    def _detach(self, thing: T, due: float) -> None:
        there = self._at.get(due)
        if isinstance(there, _Together):
            there.pop(thing, None)
        if not isinstance(there, _Together) or not there:
            self._at.pop(due, None)

    def _settle(self) -> None:
        """Forget the times at which nothing is due any more, and find the nearest of the others."""
        heap, at = self._heap, self._at
        while heap and heap[0] not in at:
            heapq.heappop(heap)
        if len(heap) > 2 * len(at) + _SPARE:
            self._heap = heap = sorted(at)
        if not heap:
            self._due, self._at = {}, {}  # dicts keep the room that they once needed
        self.next_due = heap[0] if heap else NEVER
