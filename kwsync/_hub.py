"""All handlers of one informer: each is told of every change of the cache from the moment it is added."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from kwsync._cache import Cache
from kwsync._deliveries import Delivery, added, modified
from kwsync._handlers import HandlerRegistration


class Hub:
    """Changes the cache and tells the handlers, as one step: who is added is told of the state before or after it."""

    def __init__(self, cache: Cache, is_running: Callable[[], bool]) -> None:
        self._cache = cache
        self.is_running = is_running
        self._lock = threading.RLock()  # held while queues are filled; no code of a user's runs under it
        self._handlers: tuple[HandlerRegistration, ...] = ()  # replaced as a whole, so that it can be read without

    @property
    def handlers(self) -> tuple[HandlerRegistration, ...]:
        """Those that are told."""
        return self._handlers

    def add(self, handler: HandlerRegistration) -> None:
        """Tell it the present state, and every change from now on."""
        with self._lock:
            for record in self._cache.records():
                handler.push(added(record, initial=True))
            if self._cache.full_states:
                handler.push_synced()
            self._handlers += (handler,)

    def remove(self, handler: HandlerRegistration) -> None:
        """Tell it nothing any more."""
        with self._lock:
            self._handlers = tuple(each for each in self._handlers if each is not handler)

    def resync(self, handler: HandlerRegistration) -> None:
        """Tell it that every object is as it is."""
        with self._lock:
            for record in self._cache.records():
                handler.push(modified(record, record))

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
            change(*arguments)
            handlers = self._handlers
            if not handlers:
                return
            for delivery in deliveries:
                for handler in handlers:
                    handler.push(delivery)
            if full:
                for handler in handlers:
                    handler.push_synced()

    def wake(self) -> None:
        """The informer has begun or ended."""
        for handler in self._handlers:
            handler.wake()

    def abandon(self) -> None:
        """In a forked child: whoever held the lock was not forked along."""
        self._lock = threading.RLock()
        for handler in self._handlers:
            handler.abandon()
