"""The changes that wait for one watch: offered by whoever writes, taken by the thread that sends."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Protocol

from kwsync.testing._latches import Bell
from kwsync.testing.apiserver._bounds import Bounds
from kwsync.testing.apiserver._collection import Change

_ROOM = 0.75
"""A full buffer has room again when no more than this part of it is taken; else each write would wait for the next."""


class Usher(Protocol):
    """Does for feeds what must wait until a write has left the state's lock."""

    def wake(self, feed: Feed) -> None:
        """Ring its bell."""

    def hold_back(self, feed: Feed) -> None:
        """Let the write wait for room in it."""


class Feed:
    """A bounded queue of changes.

    `offer` and `end` are called under the state's lock, `wait_for_room` by writers that have left it, all else by the
    one reader.

    A watch whose reader lets too much wait ends, cleanly and without an ERROR, as that of a slow reader does
    (trap 16); what waits is dropped. When that is, `Gate` decides.

    Args:
        namespace: only changes in this one; empty for all.
        after: changes up to this version are not sent (a watch may start in the future).
        bounds: what may wait.
        usher: told when the reader is to wake, and when more waits than may.
    """

    def __init__(self, namespace: str, after: int, bounds: Bounds, usher: Usher) -> None:
        self.ended = False
        """Nothing more will be offered."""
        self._namespace = namespace
        self._after = after
        self._bounds = bounds
        self._least_room = Bounds(int(bounds.number * _ROOM), int(bounds.size * _ROOM))
        self._usher = usher
        self._changes: deque[Change] = deque()
        # Two numbers, each counted up by one side, since neither side takes a lock.
        self._bytes_in = 0
        self._bytes_out = 0
        self._bell = Bell()
        self._sleeping = False
        self._room = threading.Condition()
        self._waiting = 0
        self._progress = time.monotonic()

    @property
    def bell(self) -> Bell:
        """Rings when there is something to take."""
        return self._bell

    def __len__(self) -> int:
        return len(self._changes)

    def wants(self, change: Change) -> bool:
        """Whether the watch is about this change at all."""
        return (not self._namespace or change.after.namespace == self._namespace) and change.revision > self._after

    # The writers.

    def offer(self, change: Change) -> None:
        """Add a change; this never blocks."""
        if self.ended or not self.wants(change):
            return
        if not self._changes:
            self._progress = time.monotonic()
        self._bytes_in += change.size
        self._changes.append(change)
        if self._exceeds(self._bounds):
            self._usher.hold_back(self)
        self._wake()

    def _wake(self) -> None:
        # The reader says that it sleeps before it looks a last time, so one of the two sees the other.
        if self._sleeping:
            self._sleeping = False
            self._usher.wake(self)

    def _exceeds(self, bounds: Bounds) -> bool:
        return bounds.exceeded(len(self._changes), self._bytes_in - self._bytes_out)

    def wait_for_room(self, deadline: float, grace: float) -> None:
        """Wait for the reader; cut the watch at the deadline, or when the reader has done nothing for *grace* seconds.

        The deadline is by `time.monotonic()`.
        """
        with self._room:
            self._waiting += 1
            while not self.ended and self._exceeds(self._least_room):
                left = min(deadline, self._progress + grace) - time.monotonic()
                if left <= 0:
                    self._cut()
                else:
                    self._room.wait(left)
            self._waiting -= 1

    def _cut(self) -> None:
        # Its reader does not sleep: it has something to send, and has not yet.
        self.ended = True
        self._changes.clear()

    def end(self) -> None:
        """Let the watch end when everything is sent."""
        self.ended = True
        self._wake()

    # The reader.

    def take(self, most: Bounds) -> list[Change]:
        """The next changes: one, and more within the bounds; empty when there are none now."""
        taken: list[Change] = []
        size = 0
        while not taken or not most.exceeded(len(taken) + 1, size):
            # A writer may clear the queue meanwhile.
            try:
                change = self._changes.popleft()
            except IndexError:
                break
            taken.append(change)
            size += change.size
        self._bytes_out += size
        if taken:
            self.note_progress()
        return taken

    def note_progress(self) -> None:
        """Say that the client has read something."""
        self._progress = time.monotonic()
        # Seldom: a writer waits. It says so before it looks whether there is room, so one of the two sees the other.
        if self._waiting:
            with self._room:
                self._room.notify_all()

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
        self.note_progress()
        self._bell.close()
