"""The lock of a server's state, which holds back writers that are faster than the readers of their changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from types import TracebackType

from kwsync.testing.apiserver._feed import Feed

_NONE: Sequence[Feed] = ()


class Gate:
    """A reentrant lock. What a write has to do for watches, it does as it leaves, and without the lock.

    That is to wake their readers, which gives others the processor, and to wait for those whose buffers it has filled:
    for all of them together at most *grace* seconds, and for none whose reader has taken nothing for as long. What is
    still full then is cut.
    """

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._lock = threading.RLock()
        self._depth = 0
        self._asleep: list[Feed] = []
        self._full: list[Feed] = []

    def wake(self, feed: Feed) -> None:
        """Wake the reader of this feed; for who has the lock."""
        self._asleep.append(feed)

    def hold_back(self, feed: Feed) -> None:
        """Let the write that has the lock wait for this feed."""
        self._full.append(feed)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asleep, full = _NONE, _NONE
        self._depth -= 1
        if self._asleep and not self._depth:
            asleep, self._asleep = self._asleep, []
        if self._full and not self._depth:
            full, self._full = self._full, []
        self._lock.release()
        for feed in asleep:
            feed.bell.ring()
        if full:
            self._wait(full)

    def _wait(self, full: Sequence[Feed]) -> None:
        deadline = time.monotonic() + self._grace
        for feed in set(full):
            feed.wait_for_room(deadline, self._grace)
