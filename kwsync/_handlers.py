"""A handler of an informer: its callbacks, its queue, and the thread that it alone is called on."""

from __future__ import annotations

import logging
import threading
from typing import Protocol

from kwsync import _clock, _threads
from kwsync._callbacks import ErrorCallback, EventCallback, callback_error
from kwsync._deliveries import SYNCED, Deliveries, Delivery
from kwsync._events import EventType
from kwsync._latch import Latch

log = logging.getLogger("kwsync.informer")

NAME_OF = {
    EventType.ADDED: "on_added",
    EventType.MODIFIED: "on_modified",
    EventType.DELETED: "on_deleted",
    EventType.SYNCED: "on_synced",
}


class Owner(Protocol):
    """Whose handler it is."""

    def is_running(self) -> bool:
        """May the handler be called?"""
        ...

    def resync(self, handler: HandlerRegistration) -> None:
        """Push every object that there is, as it is."""
        ...

    def remove(self, handler: HandlerRegistration) -> None:
        """Push nothing any more."""
        ...


class HandlerRegistration:
    """A handler that was added to an informer by `Informer.add_handler`; every method is for any thread."""

    def __init__(
        self,
        name: str,
        callbacks: dict[EventType, EventCallback],
        owner: Owner,
        report: ErrorCallback,
        resync_seconds: float | None = None,
    ) -> None:
        self._name = name
        self._callbacks = callbacks
        self._owner = owner
        self._report = report
        self._resync_seconds = resync_seconds
        self._resync_at: float | None = None
        self._deliveries = Deliveries()
        self._renew_lock()
        self._idle = False
        self._thread: threading.Thread | None = None
        self._synced = Latch(self._may_go_on)
        self._removed = False
        self._marked = False

    @property
    def pending(self) -> int:
        """How many objects it has still to be told of: a number that grows means a handler that is too slow.

        It never exceeds the number of objects by much (of those that were made anew under one name, two may count):
        what happens to an object before the handler is told of it is told as one thing.
        """
        return len(self._deliveries)

    @property
    def synced(self) -> bool:
        """Has it been told of all objects that there were when it was added (or, before that, of the first list)?"""
        return self._synced.is_open

    def wait_synced(self, timeout: float | None = None) -> bool:
        """Wait until it is `synced`. False after *timeout* seconds, and at once when the informer does not run."""
        return self._synced.wait(timeout)

    def remove(self) -> None:
        """Call it no more. A callback that is being called is not waited for. May be done twice, and in a callback."""
        self._removed = True
        self._owner.remove(self)
        with self._lock:
            self._deliveries = Deliveries()
        self.wake()

    def join(self, timeout: float | None = None) -> bool:
        """Wait, at most *timeout* seconds, until none of its callbacks is being called, after `remove` or the
        informer's ``stop()``. True when that is so. RuntimeError in one of its callbacks, which would wait for itself.
        """
        thread = self._thread
        if thread is not None:
            thread.join(timeout)
        return thread is None or not thread.is_alive()

    def __repr__(self) -> str:
        return f"<HandlerRegistration {self._name} {'synced' if self.synced else 'not synced'} {self.pending} pending>"

    # For the owner

    def push(self, delivery: Delivery) -> None:
        """Tell it this, in its turn."""
        with self._lock:
            self._deliveries.push(delivery)
            self._rouse()

    def push_synced(self) -> None:
        """Tell it, once in its life, that what was pushed before is the initial state."""
        if not self._marked:
            self._marked = True
            self.push(SYNCED)

    def wake(self) -> None:
        """The owner has begun or ended, or the handler was removed: let everybody look."""
        with self._lock:
            self._rouse()
        self._synced.look()

    def abandon(self) -> None:
        """In a forked child: its thread is not there."""
        self._renew_lock()
        self._synced.abandon()
        self._thread = self._resync_at = None

    def is_own_thread(self) -> bool:
        """Is this called in one of its callbacks?"""
        return self._thread is threading.current_thread()

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()  # of the queue
        self._changed = threading.Condition(self._lock)  # only the handler's own thread ever waits for it

    # The thread: it is made when there is something to tell, now or by the clock, and ends when nothing may be told

    def _may_go_on(self) -> bool:
        return not self._removed and self._owner.is_running()

    def _rouse(self) -> None:
        if self._idle:
            self._idle = False
            self._changed.notify()
        elif self._thread is None and self._is_needed() and self._may_go_on():
            try:
                self._thread = _threads.start_thread(self._run, self._name)
            except OSError as error:
                log.error("%s: %s; it is tried again with the next change", self._name, error)

    def _is_needed(self) -> bool:
        """A resync comes by itself, so that somebody has to look at the clock."""
        return bool(self._deliveries) or self._resync_seconds is not None

    def _run(self) -> None:
        while self._tell(self._next()):
            pass

    def _next(self) -> Delivery | None:
        """Wait for what is to be told next; None when nothing may be told any more."""
        while True:
            if self._is_due():
                self._owner.resync(self)
            with self._lock:
                if not self._may_go_on():
                    self._thread = self._resync_at = None
                    return None
                if self._deliveries:
                    return self._deliveries.pop()
                self._rest()

    def _rest(self) -> None:
        self._idle = True
        self._changed.wait(None if self._resync_at is None else max(0.0, self._resync_at - _clock.monotonic()))
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
        if delivery is SYNCED:
            self._synced.open()
        callback = self._callbacks.get(delivery.kind)
        if callback is not None:
            try:
                callback(delivery.event())
            except BaseException as raised:  # noqa: BLE001 - SystemExit, too: only stop() and remove() end a handler
                self._report(callback_error(NAME_OF[delivery.kind], raised))
        return True
