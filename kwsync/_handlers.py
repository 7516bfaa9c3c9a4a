"""A handler of an informer: its callbacks, its queue, and the thread that it alone is called on."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import Protocol

from kwsync import _clock
from kwsync._callbacks import ErrorCallback, EventCallback, callback_error
from kwsync._cancel import Gate
from kwsync._deliveries import Deliveries, Delivery, synced
from kwsync._events import EventType
from kwsync._latch import Latch
from kwsync._single import SingleThread

log = logging.getLogger("kwsync.informer")

NAME_OF = {
    EventType.ADDED: "on_added",
    EventType.MODIFIED: "on_modified",
    EventType.DELETED: "on_deleted",
    EventType.SYNCED: "on_synced",
}


def checked_callbacks(*given: EventCallback | None) -> dict[EventType, EventCallback]:
    """Those that are given, by what they are called for; TypeError for one that cannot be called."""
    callbacks = {kind: each for kind, each in zip(NAME_OF, given, strict=True) if each is not None}
    for kind, callback in callbacks.items():
        if not callable(callback):
            raise TypeError(f"{NAME_OF[kind]} must be callable, not {type(callback).__name__}")
    return callbacks


def checked_resync(seconds: float | None) -> float | None:
    """A period, or none; TypeError and ValueError for what is neither."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"resync must be a number of seconds, not {seconds!r}")
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise ValueError(f"resync must be more than 0 seconds, not {seconds!r}")
    return float(seconds)


class Owner(Protocol):
    """Whose handler it is."""

    def is_running(self) -> bool:
        """May the handler be called?"""
        ...

    def resync(self, handler: Handler) -> None:
        """Push every object that there is, as it is."""
        ...

    def remove(self, handler: Handler) -> None:
        """Push nothing any more."""
        ...


class HandlerRegistration:
    """A handler that was added to an informer by `Informer.add_handler`; every method is for any thread."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    @property
    def pending(self) -> int:
        """How many objects it has still to be told of: a number that grows means a handler that is too slow.

        It never exceeds the number of objects by much (of those that were made anew under one name, two may count):
        what happens to an object before the handler is told of it is told as one thing.
        """
        return self._handler.pending

    @property
    def synced(self) -> bool:
        """Has it been told of all objects that there were when it was added (or, before that, of the first list)?"""
        return self._handler.synced.is_open

    def wait_synced(self, timeout: float | None = None) -> bool:
        """Wait until it is `synced`. False after *timeout* seconds, and at once when the informer does not run."""
        return self._handler.synced.wait(timeout)

    def remove(self) -> None:
        """Call it no more. A callback that is being called is not waited for. May be done twice, in a callback, and
        where nothing may wait: in a signal handler and a finalizer.
        """
        self._handler.remove()

    def join(self, timeout: float | None = None) -> bool:
        """Wait, at most *timeout* seconds, until none of its callbacks is being called, after `remove` or the
        informer's ``stop()``. True when that is so. RuntimeError in one of its callbacks, which would wait for itself.
        """
        return self._handler.join(timeout)

    def __repr__(self) -> str:
        state = "synced" if self.synced else "not synced"
        return f"<HandlerRegistration {self._handler.name} {state} {self.pending} pending>"


class Handler:
    """Its queue and its thread; every method is for any thread.

    Only the queue has a lock, and nothing is asked for under it. The thread sleeps at a gate, which may be opened
    anywhere, and is remembered if it was opened a moment too early.
    """

    def __init__(
        self,
        name: str,
        callbacks: dict[EventType, EventCallback],
        owner: Owner,
        report: ErrorCallback,
        resync_seconds: float | None = None,
    ) -> None:
        self.name = name
        self.synced = Latch(self._may_go_on)
        self._callbacks = callbacks
        self._owner = owner
        self._report = report
        self._resync_seconds = resync_seconds
        self._resync_at: float | None = None
        self._deliveries = Deliveries()
        self._lock = threading.RLock()  # of the queue; see `_hub` for why it is re-entrant
        self._gate = Gate()
        self._idle = False
        self._thread = SingleThread(name, self._look_again)
        self._removed = False
        self._marked = False

    @property
    def pending(self) -> int:
        """As `HandlerRegistration.pending`."""
        return 0 if self._removed else len(self._deliveries)

    @property
    def is_alive(self) -> bool:
        """Has it a thread, so that a callback may be being called?"""
        return self._thread.is_alive

    def is_own_thread(self) -> bool:
        """Is this called in one of its callbacks?"""
        return self._thread.is_current()

    def remove(self) -> None:
        """As `HandlerRegistration.remove`; no lock is waited for."""
        self._removed = True
        self._owner.remove(self)
        self._deliveries = Deliveries()
        self.wake()

    def join(self, timeout: float | None) -> bool:
        """As `HandlerRegistration.join`."""
        return self._thread.join(timeout)

    def push(self, delivery: Delivery) -> None:
        """Tell it this, in its turn: as soon as it is roused."""
        with self._lock:
            if not self._removed:
                self._deliveries.push(delivery)

    def push_synced(self, version: str | None) -> None:
        """Tell it, once in its life, that what was pushed before is the initial state, which is that of *version*."""
        if not self._marked:
            self._marked = True
            self.push(synced(version))

    def rouse(self) -> None:
        """See that the thread looks at what was pushed; one is made where there is something to tell, now or by the
        clock, and ends where nothing may be told.
        """
        if self._idle:
            self._gate.open()
        elif not self._thread.is_alive and self._is_needed() and self._may_go_on():
            try:
                self._thread.start(self._run)
            except OSError as error:
                with suppress(Exception):  # what a handler of the user's logging raises ends nothing
                    log.error("%s: %s; it is tried again with the next change", self.name, error)

    def wake(self) -> None:
        """The owner has begun or ended, or the handler was removed: let everybody look."""
        self.rouse()
        self.synced.look()

    def abandon(self) -> None:
        """In a forked child: its thread is not there, nor is who held the lock."""
        self._lock = threading.RLock()
        self._gate = Gate()
        self._idle = False
        self.synced.abandon()
        self._thread.abandon()
        self._resync_at = None

    def _may_go_on(self) -> bool:
        return not self._removed and self._owner.is_running()

    def _is_needed(self) -> bool:
        """A resync comes by itself, so that somebody has to look at the clock."""
        return bool(self._deliveries) or self._resync_seconds is not None

    # The thread

    def _run(self) -> None:
        self._resync_at = None
        try:
            while self._tell(self._next()):
                pass
        finally:
            self._idle = False

    def _look_again(self) -> None:
        """The thread has ended; who pushed or woke while it was about to has taken it for one that goes on."""
        if self._removed:
            self._owner.remove(self)
        else:
            self.rouse()

    def _next(self) -> Delivery | None:
        """Wait for what is to be told next; None when nothing may be told any more."""
        while True:
            if self._is_due():
                self._owner.resync(self)
            if not self._may_go_on():
                return None
            delivery = self._pop()
            if delivery is not None:
                return delivery
            self._rest()

    def _pop(self) -> Delivery | None:
        with self._lock:
            return self._deliveries.pop() if self._deliveries else None

    def _rest(self) -> None:
        """Sleep until the gate is opened: by all who change something after the thread has said that it is idle."""
        self._idle = True
        if not self._deliveries and self._may_go_on():
            self._gate.wait(None if self._resync_at is None else self._resync_at - _clock.monotonic())
        self._idle = False

    def _is_due(self) -> bool:
        """Is it time for a resync? Then the next is a period from now, whatever becomes of this one."""
        if self._resync_seconds is None:
            return False
        now, at = _clock.monotonic(), self._resync_at
        if at is None or now >= at:
            self._resync_at = now + self._resync_seconds
        return at is not None and now >= at

    def _tell(self, delivery: Delivery | None) -> bool:
        """Call back; False for nothing."""
        if delivery is None:
            return False
        if delivery.kind is EventType.SYNCED:
            self.synced.open()
        callback = self._callbacks.get(delivery.kind)
        if callback is not None:
            try:
                callback(delivery.event())
            except BaseException as raised:  # noqa: BLE001 - SystemExit, too: only stop() and remove() end a handler
                self._report(callback_error(NAME_OF[delivery.kind], raised))
        return True
