"""A term of leading: what the work is given, the thread it runs on, and a ``with`` block in place of a function."""

from __future__ import annotations

import threading
from collections.abc import Callable

import attrs

from kwsync import _threads
from kwsync._cancel import CancelToken, Gate
from kwsync._single import SingleThread
from kwsync.errors import CancelledError, ErrorOrigin, ErrorType


@attrs.frozen(eq=False)
class Leadership:
    """What leading work is given; for any thread."""

    fencing: int
    """The Lease's ``leaseTransitions``, a number that no other term has and that only grows. Send it along with what
    you write elsewhere, and let the other side refuse a smaller one than it has seen: that is the only protection
    against a process that was stopped in the middle of its work, and does not know yet that it leads no more."""
    cancel: CancelToken = attrs.field(factory=CancelToken)
    """Set when the work has to end: the leadership was lost, or the elector was told to stop. Who sets it gives the
    leadership back."""
    _holds: Callable[[int], bool] = attrs.field(kw_only=True, repr=False)

    def is_valid(self) -> bool:
        """Is the Lease still held, by the clock? Ask before each step that must not be done by two.

        True also while the work is told to end and the Lease has not been given back yet; False in a forked child.
        """
        return self._holds(self.fencing)


WorkFunction = Callable[[Leadership], object]


class Work:
    """The leading work of one term on a thread of its own, and *stopped* after it; *rang* is called when it is over.

    *stays*: when the function returns, the work goes on until it is told to end.
    """

    def __init__(
        self,
        function: WorkFunction,
        leadership: Leadership,
        *,
        stays: bool,
        stopped: Callable[[], None],
        rang: Callable[[], None],
    ) -> None:
        self.leadership = leadership
        self.error: BaseException | None = None
        """What the function raised. A `CancelledError` after it was told to end is none: so do the verbs end."""
        self.is_over = False
        self._function = function
        self._stays = stays
        self._stopped = [stopped]
        self._rang = rang

    def start(self, name: str) -> None:
        """Start it; where the system has no thread to give it is over, and that OSError is its error."""
        try:
            _threads.start_thread(self._run, name)
        except OSError as error:
            self.error = error
            self._end()

    def tell_to_end(self) -> None:
        """And return at once."""
        self.leadership.cancel.set()

    def say_stopped(self) -> None:
        """Call *stopped*, unless that was done: here, because the work does not come to its end."""
        try:
            stopped = self._stopped.pop()  # atomic: of two threads one gets it
        except IndexError:
            return
        stopped()

    def raise_error(self) -> None:
        """The error, once, so that its traceback is not part of a cycle."""
        error, self.error = self.error, None
        _raise(error)

    def _run(self) -> None:
        cancel = self.leadership.cancel
        try:
            self._function(self.leadership)
            if self._stays:
                cancel.wait()
        except BaseException as error:  # noqa: BLE001 - run() raises it again
            self.error = None if isinstance(error, CancelledError) and cancel.is_set() else error
        finally:
            self._end()

    def _end(self) -> None:
        self.tell_to_end()
        try:
            self.say_stopped()
        finally:
            self.is_over = True
            self._rang()


class Block:
    """A ``with`` block as the work of an election that runs on a thread beside it.

    *run* is that election: it gets the work, and an event that ends it.
    """

    def __init__(self, run: Callable[[WorkFunction, threading.Event], object], name: str) -> None:
        self._elect = run
        self._left = CancelToken()
        self._begun = Gate()
        self._leadership: Leadership | None = None
        self._error: BaseException | None = None
        self._thread = SingleThread(name)

    def enter(self) -> Leadership:
        """Campaign until it leads; what the election raised, or CancelledError, when it does not come to that."""
        self._thread.start(self._run)
        self._begun.wait(None)
        if self._leadership is None:
            self.raise_error()
            raise CancelledError(
                error_type=ErrorType.SYSTEM_ERROR, origin=ErrorOrigin.NETWORK, message="cancelled before it led"
            )
        return self._leadership

    def leave(self) -> None:
        """The block is over: give the Lease back."""
        self._left.set()
        self._thread.join(None)

    def raise_error(self) -> None:
        """What the election raised, if it did."""
        error, self._error = self._error, None
        _raise(error)

    def _run(self) -> None:
        try:
            self._elect(self._work, self._left)
        except BaseException as error:  # noqa: BLE001 - it is raised again
            self._error = error
        finally:
            self._begun.open()

    def _work(self, leadership: Leadership) -> None:
        self._leadership = leadership
        self._begun.open()
        self._left.wait()


def _raise(error: BaseException | None) -> None:
    try:
        if error is not None:
            raise error
    finally:
        del error
