"""Several stories on one thread: each is a generator that does something and says how long it then waits."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from kwsync import CancelToken
from kwsync._clock import monotonic

Story = Iterator[float]


def play(stories: Iterable[Story], cancel: CancelToken) -> None:
    """Go on until *cancel* is set or every story has ended."""
    begun = monotonic()
    due = [(0.0, number, story) for number, story in enumerate(stories)]
    while due:
        at, number, story = heapq.heappop(due)
        if cancel.wait(max(0.0, begun + at - monotonic())):
            return
        wait = next(story, None)
        if wait is not None:
            heapq.heappush(due, (at + wait, number, story))
