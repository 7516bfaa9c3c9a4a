"""The changes that wait for one watch: offered by whoever writes, taken by the thread that sends."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from kwsync.testing._connection import Bell
from kwsync.testing.apiserver._collection import Change


class Feed:
    """A bounded queue of changes. `offer` and `end` are called by writers, all else by the one reader.

    A reader that lets `limit` changes wait makes the next write wait *grace* seconds, and when that does not help its
    watch ends, cleanly and without an ERROR, as that of a slow reader does (trap 16); what waits is dropped.

    Args:
        namespace: only changes in this one; empty for all.
        after: changes up to this version are not sent (a watch may start in the future).
    """

    def __init__(self, namespace: str, after: int, limit: int, grace: float) -> None:
        self.ended = False
        """Nothing more will be offered."""
        self._namespace = namespace
        self._after = after
        self._limit = limit
        self._grace = grace
        self._changes: deque[Change] = deque()
        self._bell = Bell()
        self._sleeping = False
        self._room = threading.Event()

    @property
    def bell(self) -> Bell:
        """Rings when there is something to take."""
        return self._bell

    def __len__(self) -> int:
        return len(self._changes)

    def fill(self, changes: Iterable[Change]) -> None:
        """Begin with the history, however long it is."""
        self._changes.extend(change for change in changes if self._wants(change))

    def _wants(self, change: Change) -> bool:
        return (not self._namespace or change.after.namespace == self._namespace) and change.revision > self._after

    def offer(self, change: Change) -> None:
        """Add a change; no thread ever takes a lock for it."""
        if self.ended or not self._wants(change):
            return None
        if len(self._changes) >= self._limit and not self._wait_for_room():
            self._changes.clear()
            return self.end()
        self._changes.append(change)
        # The reader says that it sleeps before it looks a last time, so one of the two sees the other.
        if self._sleeping:
            self._sleeping = False
            self._bell.ring()
        return None

    def _wait_for_room(self) -> bool:
        self._room.clear()
        return len(self._changes) < self._limit or self._room.wait(self._grace)

    def end(self) -> None:
        """Let the watch end when everything is sent."""
        self.ended = True
        self._bell.ring()

    def take(self, most: int) -> list[Change]:
        """The next changes, at most some; empty when there are none now."""
        changes = self._changes
        taken: list[Change] = []
        while changes and len(taken) < most:
            # A writer may clear the queue meanwhile.
            try:
                taken.append(changes.popleft())
            except IndexError:
                break
        self._room.set()
        return taken

    def falls_asleep(self) -> bool:
        """Ask for the bell; False when there is something to take already."""
        self._sleeping = True
        if self._changes or self.ended:
            self._sleeping = False
            return False
        return True

    def close(self) -> None:
        """Let go of everything."""
        self.ended = True
        self._changes.clear()
        self._bell.close()
