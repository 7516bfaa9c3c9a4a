"""All handlers of one informer: each is told of every change of the cache from the moment it is added.

**Order of locks**: hub, then cache; hub, then a handler's queue; nothing else. Users' code does run under them, where
nobody expects it: a finalizer runs wherever the collector strikes, and a signal handler anywhere in the main thread.
Such code may add and remove handlers, read the store and stop the informer. So the locks of the cache and the queues,
under which nothing further is asked for, are re-entrant; and the hub's is waited for by the reading thread alone, which
then holds no other. Everybody else leaves word of what is to be done, and does it if nobody is at it; else whoever is
at it does it next, in the order of the words. What is half done is thus never seen by the next step.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from kwsync._cache import Cache
from kwsync._deliveries import Delivery, added, modified
from kwsync._handlers import Handler


class Hub:
    """Changes the cache and tells the handlers, as one step: who is added is told of the state before or after it."""

    def __init__(self, cache: Cache, is_running: Callable[[], bool]) -> None:
        self._cache = cache
        self.is_running = is_running
        # Re-entrant only because it knows its owner then: a step never begins in the middle of another.
        self._lock = threading.RLock()
        self._owner = 0
        self._words: deque[tuple[Callable[[Handler], None], Handler]] = deque()
        self._handlers: tuple[Handler, ...] = ()  # replaced as a whole, so that it can be read without
        self._leaving: tuple[Handler, ...] = ()

    @property
    def handlers(self) -> tuple[Handler, ...]:
        """Those that are told, and those that were removed and are still in a callback."""
        return (*self._handlers, *self._leaving)

    # For any thread, at any time

    def add(self, handler: Handler) -> None:
        """Tell it the present state, and every change from now on."""
        self._leave_word(self._add, handler)

    def remove(self, handler: Handler) -> None:
        """Tell it nothing any more; called again when its thread has ended."""
        self._leave_word(self._remove, handler)

    def resync(self, handler: Handler) -> None:
        """Tell it that every object is as it is."""
        self._leave_word(self._resync, handler)

    def wake(self) -> None:
        """The informer has begun or ended."""
        for handler in self._handlers:
            handler.wake()

    def _leave_word(self, step: Callable[[Handler], None], handler: Handler) -> None:
        self._words.append((step, handler))
        self._do_words()

    def _do_words(self) -> None:
        """Look again after each release: a word may have been left just before it."""
        while self._words and self._try_words():
            self._rouse()

    def _try_words(self) -> bool:
        """Do what there is to do, unless somebody is at it, or this very thread is, further up its stack.

        A signal handler may raise anywhere in here. So the lock is released without being asked whether it was taken,
        and a word is taken away when it has been done: each may be done twice.
        """
        me = threading.get_ident()
        if self._owner == me:
            return False
        is_ours = False
        try:
            is_ours = self._lock.acquire(blocking=False)
            if is_ours:
                self._owner = me
            while is_ours and self._words:
                step, handler = self._words[0]
                step(handler)
                self._words.popleft()
        finally:
            if self._owner == me:
                self._owner = 0
            try:
                self._lock.release()
            except RuntimeError:  # another thread has it
                pass
        return is_ours

    def _rouse(self) -> None:
        """Outside of the lock: threads are started, and it is logged where there are none."""
        for handler in self._handlers:
            handler.rouse()

    def _add(self, handler: Handler) -> None:
        if handler in self._handlers:
            return
        for record in self._cache.records():
            handler.push(added(record, initial=True))
        if self._cache.full_states:
            handler.push_synced(self._cache.version)
        self._handlers += (handler,)

    def _remove(self, handler: Handler) -> None:
        # First here, then not there: whoever asks for all of them does not miss it.
        self._leaving = tuple(each for each in {*self._leaving, handler} if each.is_alive)
        self._handlers = tuple(each for each in self._handlers if each is not handler)

    def _resync(self, handler: Handler) -> None:
        for record in self._cache.records():
            handler.push(modified(record, record))

    # For the reading thread

    def change(
        self,
        change: Callable[..., object],
        arguments: tuple[Any, ...],
        deliveries: Iterable[Delivery],
        *,
        full: bool = False,
    ) -> None:
        """Change the cache; then tell what that means (B088), and after a *full* state that it was all."""
        with self._lock:
            self._owner = threading.get_ident()
            try:
                change(*arguments)
                self._tell(deliveries, full=full)
            finally:
                self._owner = 0
        self._rouse()
        self._do_words()

    def _tell(self, deliveries: Iterable[Delivery], *, full: bool) -> None:
        handlers = self._handlers
        if handlers:
            _push(handlers, deliveries)
        if full:
            for handler in handlers:
                handler.push_synced(self._cache.version)

    def abandon(self) -> None:
        """In a forked child: whoever held the lock was not forked along."""
        self._lock = threading.RLock()
        self._owner = 0
        for handler in self.handlers:
            handler.abandon()


def _push(handlers: tuple[Handler, ...], deliveries: Iterable[Delivery]) -> None:
    for delivery in deliveries:
        for handler in handlers:
            handler.push(delivery)
