"""Waiting for something that comes once, from somebody who may die before."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kwsync import _clock


class Latch:
    """Opens once. Who waits is let go with False when nobody is there any more who could open it."""

    def __init__(self, is_hopeful: Callable[[], bool]) -> None:
        self._changed = threading.Condition()
        self._is_hopeful = is_hopeful
        self.is_open = False

    def open(self) -> None:
        """It has come."""
        with self._changed:
            self.is_open = True
            self._changed.notify_all()

    def look(self) -> None:
        """Hope may be gone: let those who wait ask again."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, timeout: float | None) -> bool:
        """True when it has come; False after *timeout* seconds, or without hope."""
        left = _clock.seconds_left(_clock.deadline(timeout))
        with self._changed:
            self._changed.wait_for(lambda: self.is_open or not self._is_hopeful(), left)
            return self.is_open

    def abandon(self) -> None:
        """In a forked child: whoever held the lock was not forked along."""
        self._changed = threading.Condition()
