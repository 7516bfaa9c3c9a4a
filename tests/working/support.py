"""A clock that is set by hand, and workers that note what they did."""

from __future__ import annotations

import queue
from collections.abc import Hashable
from contextlib import suppress
from typing import TypeVar

from kwsync import ShutDown, WorkQueue
from tests.keeping.support import LIMIT, in_background, wait_until

__all__ = ["LIMIT", "Clock", "drained", "in_background", "new_queue", "take", "wait_for_getters", "wait_until"]

T = TypeVar("T", bound=Hashable)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def new_queue(*items: str, clock: Clock | None = None) -> WorkQueue[str]:
    """A queue in which these items wait."""
    made: WorkQueue[str] = WorkQueue(name="test", clock=clock or Clock())
    for item in items:
        made.add(item)
    return made


def take(work: WorkQueue[T], count: int) -> list[T]:
    """So many items, which are in process then; `queue.Empty` if there are fewer."""
    return [work.get(timeout=0) for _ in range(count)]


def drained(work: WorkQueue[T]) -> list[T]:
    """All that waits, each done at once."""
    found = []
    with suppress(queue.Empty, ShutDown):
        while True:
            with work.processing(timeout=0) as item:
                found.append(item)
    return found


def wait_for_getters(work: WorkQueue[T], count: int) -> None:
    """Wait until so many threads wait in `get`."""
    wait_until(
        lambda: len(work._waiters) + (work._keeper is not None) == count, f"{count} threads that wait for an item"
    )
