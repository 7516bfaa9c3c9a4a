"""A term of leading: what the work is given, the thread it runs on, and a ``with`` block in place of a function."""

from __future__ import annotations

import threading
from collections.abc import Callable

import attrs

from kwsync import _clock
from kwsync._cancel import CancelToken, Gate
from kwsync._single import SingleThread
from kwsync.errors import CancelledError, cancelled


@attrs.define(eq=False)
class Leadership:
    """What leading work is given; for any thread."""

    fencing: int = attrs.field(on_setattr=attrs.setters.frozen)
    """The Lease's ``leaseTransitions``: each term has a greater one than those before, as long as nobody deletes the
    Lease. (Who creates it anew without having seen the old one begins at 0, so give no one the right to delete it.)
    Send it along with what you write elsewhere, and let the other side refuse a smaller one than it has seen: that is
    the only protection against a process that was stopped in the middle of its work, and does not know yet that it
    leads no more."""
    cancel: CancelToken = attrs.field(factory=CancelToken, on_setattr=attrs.setters.frozen)
    """Set when the work has to end: the leadership was lost, or the elector was told to stop. Who sets it gives the
    leadership back."""
    _ends: Callable[[int], float] = attrs.field(kw_only=True, repr=False)
    _was_lost: bool = attrs.field(default=False, init=False, repr=False)

    @property
    def until(self) -> float:
        """When the belief to lead ends, in seconds on the clock of `time.monotonic`; each renewal moves it on.

        ``until - time.monotonic()`` is what a step may take that must not outlast the leadership, as a timeout. 0.0
        when the term is over, and in a forked child.
        """
        return self._ends(self.fencing)

    def is_valid(self) -> bool:
        """Is the Lease still held, by the clock? Ask before each step that must not be done by two.

        True also while the work is told to end and the Lease has not been given back yet. Once it is False it stays so.
        False in a forked child.
        """
        if not self._was_lost and _clock.monotonic() >= self.until:
            self._was_lost = True  # and a renewal that is just coming in does not count any more
        return not self._was_lost


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
        name: str,
        stays: bool,
        stopped: Callable[[], None],
        rang: Callable[[], None],
    ) -> None:
        self.leadership = leadership
        self.error: BaseException | None = None
        """What the function raised. A `CancelledError` after it was told to end is none: so do the verbs end."""
        self.has_outlasted = False
        """It has returned, untold and without an error, after the term: it has seen that it leads no more."""
        self._function = function
        self._stays = stays
        self._stopped = [stopped]
        self._thread = SingleThread(name, rang)

    @property
    def is_over(self) -> bool:
        """Does nothing of it run? So it is, too, if it never began, wherever its start was interrupted."""
        return not self._thread.is_alive

    def start(self) -> None:
        """Start it; where the system has no thread to give it is over, and that OSError is its error."""
        try:
            self._thread.start(self._run)
        except OSError as error:
            self.error = error
            self.tell_to_end()
            self.say_stopped()

    def tell_to_end(self) -> None:
        """And return at once."""
        self.leadership.cancel.set()

    def join(self) -> None:
        """Wait until it is over."""
        self._thread.join(None)

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
            self.has_outlasted = not (self._stays or cancel.is_set() or self.leadership.is_valid())
            if self._stays:
                cancel.wait()
        except BaseException as error:  # noqa: BLE001 - run() raises it again
            self.error = None if isinstance(error, CancelledError) and cancel.is_set() else error
        finally:
            self.tell_to_end()
            self.say_stopped()


@attrs.define
class _Scene:
    """What a block and the election beside it share. The election does not hold the block itself."""

    left: CancelToken = attrs.field(factory=CancelToken)
    begun: Gate = attrs.field(factory=Gate)
    leadership: Leadership | None = None
    error: BaseException | None = None

    def play(self, elect: Callable[[WorkFunction, threading.Event], object]) -> None:
        """The election, on its thread."""
        try:
            elect(self._work, self.left)
        except BaseException as error:  # noqa: BLE001 - it is raised again
            self.error = error
        finally:
            self.begun.open()

    def _work(self, leadership: Leadership) -> None:
        self.leadership = leadership
        self.begun.open()
        self.left.wait()


class Block:
    """A ``with`` block as the work of an election that runs on a thread beside it.

    *elect* is that election: it gets the work, and an event that ends it. The election ends with the block, also with
    one that is only forgotten, as where Ctrl-C strikes its very end.
    """

    def __init__(self, elect: Callable[[WorkFunction, threading.Event], object], name: str) -> None:
        self._scene = scene = _Scene()
        self._play = lambda: scene.play(elect)
        self._thread = SingleThread(name)

    def enter(self) -> Leadership:
        """Campaign until it leads; what the election raised, or CancelledError, when it does not come to that."""
        self._thread.start(self._play)
        self._scene.begun.wait(None)
        if self._scene.leadership is None:
            self.raise_error()
            raise cancelled(message="cancelled before it led")
        return self._scene.leadership

    def leave(self) -> None:
        """The block is over: give the Lease back."""
        self._scene.left.set()
        self._thread.join(None)

    def raise_error(self) -> None:
        """What the election raised, if it did."""
        error, self._scene.error = self._scene.error, None
        _raise(error)

    def __del__(self) -> None:
        self._scene.left.set()


def _raise(error: BaseException | None) -> None:
    try:
        if error is not None:
            raise error
    finally:
        del error
