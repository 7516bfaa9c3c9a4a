"""One thread at a time, through starts that fail, are interrupted, or come twice."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kwsync import _clock, _threads


class _Turn:
    """One thread of a `SingleThread`: it runs, or it is undone before it could."""

    def __init__(self, run: Callable[[_Turn], None], name: str) -> None:
        self.thread = _threads.make_thread(lambda: run(self), name)
        self._chances = [True]
        self._changed = threading.Condition()
        self._is_over = False

    def take(self) -> bool:
        """True for the first who asks, which is atomic: the thread, to run, or the one who undoes it."""
        try:
            return self._chances.pop()
        except IndexError:
            return False

    def end(self) -> None:
        """It runs nothing any more."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def join(self, timeout: float | None) -> bool:
        """Wait for the end; also of a thread that is only about to start, which Python's own cannot be asked to."""
        end = _clock.deadline(timeout)
        with self._changed:
            over = self._changed.wait_for(lambda: self._is_over, _clock.seconds_left(end))
        if over and self.thread.ident is not None:
            self.thread.join(_clock.seconds_left(end))
            return not self.thread.is_alive()
        return over


class SingleThread:
    """At most one thread at a time for one purpose, whoever starts it, and wherever an exception strikes a start.

    It takes no lock that a signal handler or a finalizer could find taken. *ended* is called on the thread when it has
    run to its end, and another may be started already.
    """

    def __init__(self, name: str, ended: Callable[[], None] = lambda: None) -> None:
        self._name = name
        self._ended = ended
        self._turns: dict[str, _Turn] = {}
        self._last: _Turn | None = None

    def start(self, target: Callable[[], None], prepare: Callable[[], None] = lambda: None) -> bool:
        """Run *target*, and before that, here, *prepare*; False where there is a thread already.

        OSError where the system has no thread to give. After that, as after any exception, nothing runs, unless it was
        an asynchronous one (Ctrl-C) and the thread had begun: see `is_alive`.
        """
        turn = _Turn(lambda turn: self._run(turn, target), self._name)
        try:
            if self._turns.setdefault("present", turn) is not turn:  # atomic: of two callers one is the first
                return False
            prepare()
            _threads.start(turn.thread)
        except BaseException:
            self._undo(turn)
            raise
        return True

    def _undo(self, turn: _Turn) -> None:
        if self._turns.get("present") is turn and turn.take():
            del self._turns["present"]
            turn.end()

    def _run(self, turn: _Turn, target: Callable[[], None]) -> None:
        if not turn.take():
            return  # undone
        try:
            target()
        finally:  # also when it has died
            self._last = turn
            del self._turns["present"]
            turn.end()
        self._ended()

    @property
    def is_alive(self) -> bool:
        """Is there a thread, if only one that is being started?"""
        return "present" in self._turns

    def is_current(self) -> bool:
        """Is this called on it?"""
        turn = self._turns.get("present")
        return turn is not None and turn.thread is threading.current_thread()

    def join(self, timeout: float | None) -> bool:
        """Wait until it has ended, at most *timeout* seconds; True when it has. RuntimeError on the thread itself."""
        turn = self._turns.get("present") or self._last
        if turn is not None and turn.thread is threading.current_thread():
            raise RuntimeError("a thread cannot wait for its own end")
        return turn is None or turn.join(timeout)

    def abandon(self) -> None:
        """In a forked child: it is not there."""
        self._turns = {}
        self._last = None
