"""Ending a wait from outside, in every phase and from everywhere: other threads, signal handlers, a finalizer.

One `Guard` accompanies each operation (a watch, a verb). It knows until when the operation may go on, why it was
ended, and how to wake the thread that waits in it. Whoever ends an operation only *wakes* a thread that waits in it,
which then cleans up itself.

Nothing here takes a lock that the interrupted thread could hold: a signal handler runs in the middle of the main
thread, also in the middle of this module. What must be shared is shared through operations that CPython makes atomic
(appending to a list, adding to and popping from a dict), and the one lock per guard is only ever *tried*.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from kwsync import _clock, _threads
from kwsync._events import EndReason

log = logging.getLogger("kwsync.cancel")

POLL_SECONDS = 0.05
"""How often plain events are looked at; a `CancelToken` needs no looking."""

_LONGEST_WAIT = 2_000_000.0
"""Seconds; the system's calls count milliseconds in 31 bits."""


_FOR_EVER = (0.05, 0.5, -1.0)
"""A signal that comes while the main thread is about to wait does not end that wait, and its handler runs only behind
it (CPython does not look again). Where threads are being started that takes milliseconds: so the first waits are short.
"""


class Interrupted(Exception):
    """The operation was ended from outside. Never an OSError, so that no layer takes it for network trouble."""


class DeadlinePassed(Exception):
    """A deadline of ours passed. (What the kernel times out is an OSError and another matter.)"""


class Gate:
    """Lets one thread wait until another opens it; opening is safe in a signal handler and may be done twice."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self, timeout: float | None) -> bool:
        """True when it was opened; *timeout* in seconds, None for ever."""
        for limit in _FOR_EVER if timeout is None else (min(max(timeout, 0.0), threading.TIMEOUT_MAX),):
            if self._lock.acquire(timeout=limit):
                return True
        return False

    def open(self) -> None:
        with suppress(RuntimeError):  # it was open already
            self._lock.release()


class Guard:
    """Accompanies one operation: its deadline, the cause of its end, and a way to wake who waits in it."""

    __slots__ = ("__weakref__", "_pid", "_trying", "_wake", "causes", "deadline", "event", "last_byte")

    def __init__(self, deadline: float | None = None, event: threading.Event | None = None) -> None:
        self.event = event
        """Setting it ends the operation; inside of `cancelled_by` it also wakes who waits."""
        self.deadline = deadline
        """On the clock of `_clock.monotonic`; None for no end."""
        self.last_byte: float | None = None
        """When the last byte came, on the same clock."""
        self.causes: list[EndReason] = []
        """Empty while it may go on; only ever appended to, which is atomic, so that the first cause wins."""
        self._wake: Callable[[], None] | None = None
        # Re-entrant: a signal handler may close what this very thread is just waking.
        self._trying = threading.RLock()
        self._pid = 0

    @property
    def cause(self) -> EndReason | None:
        """Why it was ended from outside; the first cause wins."""
        return self.causes[0] if self.causes else None

    def ended(self) -> bool:
        """Was it ended from outside? The event counts at once, also before anybody has told of it."""
        if not self.causes and self.event is not None and _is_set(self.event):
            self.causes.append(EndReason.CANCELLED)
        return bool(self.causes)

    def interrupt(self, cause: EndReason) -> None:
        """End the operation. From any thread and from a signal handler; never blocks, never fails."""
        if not self.causes:  # the poller tells its cause again and again
            self.causes.append(cause)
        if self._pid == os.getpid():
            self._call_wake()

    def abandon(self) -> None:
        """In a forked child: the operation belongs to the parent, so it ends here without waking anything."""
        self.causes.append(EndReason.CLOSED)
        self._wake = None
        self._trying = threading.RLock()  # a thread that was not forked along may have held the old one

    def check(self) -> None:
        """Raise `Interrupted` or `DeadlinePassed` when the operation must not go on."""
        if self.ended():
            raise Interrupted
        if self.deadline is not None and _clock.monotonic() >= self.deadline:
            raise DeadlinePassed

    def remaining(self) -> float | None:
        """Seconds until the deadline, None for no end; raises as `check` does."""
        if self.ended():
            raise Interrupted
        if self.deadline is None:
            return None
        seconds = self.deadline - _clock.monotonic()
        if seconds <= 0:
            raise DeadlinePassed
        return min(seconds, _LONGEST_WAIT)

    def received(self, data: object) -> None:
        """A read has returned: note when bytes came, unless the operation was ended meanwhile (`Interrupted`)."""
        if self.ended():
            raise Interrupted
        if data:
            self.last_byte = _clock.monotonic()

    def attach(self, wake: Callable[[], None]) -> None:
        """Say how to wake the operation from now on; raises `Interrupted` if it has been ended already."""
        self._pid = os.getpid()
        self._wake = wake
        if self.ended():
            raise Interrupted

    def detach(self) -> None:
        """After this nobody calls the wake function: what it wakes may be closed and its number used again."""
        with self._trying:  # a caller of the wake function holds it for microseconds, and never waits for it
            self._wake = None

    def finish(self) -> None:
        """The operation is over. What is attached even now was lost by an exception at a bad moment: let go of it."""
        if self._wake is not None:
            self._call_wake()
            self.detach()

    def wait(self, gate: Gate, timeout: float | None = None) -> bool:
        """Wait for a gate that another opens; raises as `check` does. False when *timeout* seconds passed first."""
        self.attach(gate.open)
        try:
            remaining = self.remaining()
            limits = [limit for limit in (remaining, timeout) if limit is not None]
            opened = gate.wait(min(limits) if limits else None)
            self.check()
            return opened
        finally:
            self.detach()

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """A nearer deadline for one phase; it never lies behind the one of the whole operation."""
        whole = self.deadline
        if seconds is not None:
            near = _clock.monotonic() + seconds
            self.deadline = near if whole is None else min(near, whole)
        try:
            yield
        finally:
            self.deadline = whole

    def _call_wake(self) -> None:
        # Who fails to get the lock leaves the work to who has it: another caller, or the owner on its way out.
        try:
            if self._trying.acquire(blocking=False):
                wake = self._wake
                if wake is not None:
                    wake()
        finally:  # from before the lock was taken, because a signal handler may raise right after that
            try:
                self._trying.release()
            except RuntimeError:  # another thread has it
                pass


class CancelToken(threading.Event):
    """An event that cancels at once, without being polled, and that a signal handler may set.

    Use it wherever ``cancel=`` takes an event. A plain `threading.Event` works as well, but it is looked at only every
    50 ms, and its ``set()`` in a signal handler can deadlock in CPython when the main thread stands inside that event.
    A token is for one cancellation: `clear` raises.
    """

    def __init__(self) -> None:
        super().__init__()
        self._cancelled = False
        self._gates: dict[int, Gate] = {}
        self._guards: dict[int, weakref.ref[Guard]] = {}

    def __repr__(self) -> str:
        return f"<CancelToken {'set' if self._cancelled else 'unset'}>"

    def is_set(self) -> bool:
        return self._cancelled

    def set(self) -> None:
        """Cancel everything that was given this token. From any thread and from a signal handler; takes no lock."""
        self._cancelled = True
        for gate in self._gates.copy().values():
            gate.open()
        for reference in self._guards.copy().values():
            guard = reference()
            if guard is not None:
                guard.interrupt(EndReason.CANCELLED)

    def clear(self) -> None:
        """RuntimeError: what was cancelled stays so. Make a new token."""
        raise RuntimeError("a CancelToken cannot be cleared; make a new one")

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set; *timeout* in seconds. True when it is set."""
        gate = Gate()
        self._gates[id(gate)] = gate
        try:
            if not self._cancelled:
                gate.wait(timeout)
        finally:
            self._gates.pop(id(gate), None)
        return self._cancelled

    def register(self, guard: Guard) -> None:
        """Strictly private: interrupt *guard* when the token is set."""
        self._guards[id(guard)] = weakref.ref(guard)

    def unregister(self, guard: Guard) -> None:
        """Strictly private: forget *guard*."""
        self._guards.pop(id(guard), None)


def _is_set(event: threading.Event) -> bool:
    """Ask an event; one that cannot tell (a subclass may do anything) ends its own operation, and no other."""
    try:
        return event.is_set()
    except Exception:
        log.exception("a cancel event raised, which counts as set")
        return True


class EventPoller:
    """Looks at plain events on one shared thread, which exists only while an event is registered."""

    def __init__(self) -> None:
        # Re-entrant, because a signal handler may start a watch while this thread registers another. Only starting and
        # ending the thread is decided under it; forgetting a guard takes no lock, since a finalizer may do it anywhere.
        self._lock = threading.RLock()
        self._watched: dict[int, tuple[weakref.ref[Guard], threading.Event]] = {}
        self._thread: threading.Thread | None = None
        self._bell = Gate()

    def register(self, guard: Guard, event: threading.Event) -> None:
        with self._lock:
            self._watched[id(guard)] = (weakref.ref(guard), event)
            if self._thread is None or not self._thread.is_alive():  # one that could not be started is not alive
                self._bell = Gate()
                self._thread = _threads.start_thread(self._run, "kwsync-cancel-poller")

    def unregister(self, guard: Guard) -> None:
        self._watched.pop(id(guard), None)
        if not self._watched:
            self._bell.open()  # let the thread go at once

    @property
    def registered(self) -> int:
        return len(self._watched)

    def _run(self) -> None:
        while not self._may_end():
            self._bell.wait(POLL_SECONDS)
            self._look()

    def _look(self) -> None:  # a function, so that no guard is held while the thread waits
        for key, (reference, event) in self._watched.copy().items():
            guard = reference()
            if guard is None:
                self._watched.pop(key, None)
            elif _is_set(event):
                guard.interrupt(EndReason.CANCELLED)

    def _may_end(self) -> bool:
        with self._lock:
            if self._watched:
                return False
            self._thread = None
            return True


poller = EventPoller()

_running: weakref.WeakSet[Guard] = weakref.WeakSet()
"""The guards of the operations that have begun, so that a forked child can let go of them."""


def _forget_after_fork() -> None:
    global poller
    poller = EventPoller()
    for guard in list(_running):
        guard.abandon()
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


@contextmanager
def cancelled_by(guard: Guard, cancel: threading.Event | None) -> Iterator[None]:
    """For the length of a block, setting *cancel* interrupts *guard*; raises `Interrupted` if it is set already."""
    guard.event = cancel
    _running.add(guard)
    registry = cancel if isinstance(cancel, CancelToken) else poller
    try:
        if isinstance(cancel, CancelToken):
            cancel.register(guard)
        elif cancel is not None and not cancel.is_set():
            poller.register(guard, cancel)
        if guard.ended():
            raise Interrupted
        yield
    finally:
        if cancel is not None:
            registry.unregister(guard)
        _running.discard(guard)
        guard.finish()


def check_cancel(cancel: object) -> None:
    """TypeError unless *cancel* is None or an event."""
    if cancel is not None and (isinstance(cancel, type) or not callable(getattr(cancel, "is_set", None))):
        raise TypeError(f"cancel takes a threading.Event or a kwsync.CancelToken, not {type(cancel).__name__}")
