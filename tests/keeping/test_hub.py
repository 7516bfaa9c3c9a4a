"""Adding, resyncing and changing are one step each: whatever happens at the same time happens before or after."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kwsync import EventType, WatchError
from kwsync._cache import Cache
from kwsync._deliveries import Delivery
from kwsync._handlers import Handler
from kwsync._hub import Hub
from kwsync._intake import Intake
from kwsync._keeper import Keeper
from kwsync._records import Change, Record
from kwsync.testing import pod
from tests.keeping.support import LIMIT, Told, added, deleted, known, modified, page, wait_until

A_WHILE = 0.05
"""Seconds in which another thread would have done what it must not do yet."""


class Interrupted(Cache):
    """A cache that lets another thread run just when all its records have been read."""

    meanwhile: Callable[[], object] | None = None

    def records(self) -> list[Record]:
        """The records of the moment before."""
        found, meanwhile = super().records(), self.meanwhile
        if meanwhile is not None:
            self.meanwhile = None
            self.thread = threading.Thread(target=meanwhile, daemon=True)
            self.thread.start()
            self.thread.join(A_WHILE)
        return found


@contextmanager
def hub_of(cache: Cache) -> Iterator[tuple[Hub, Keeper, Told, Handler]]:
    """A hub with its keeper, and a handler that has not been added; it is stopped after the block."""
    running, errors = [True], list[WatchError]()
    hub = Hub(cache, lambda: bool(running))
    keeper = Keeper(cache, hub, Intake(None, {}, errors.append), errors.append)
    told = Told()
    callbacks = dict.fromkeys((EventType.ADDED, EventType.MODIFIED, EventType.DELETED), told)
    handler = Handler("handler", {**callbacks}, hub, errors.append)
    yield hub, keeper, told, handler
    running.clear()
    hub.wake()
    assert handler.join(LIMIT)
    assert errors == []


STEPS = [added("b", "5"), modified("a", "5"), deleted("a", "5"), page("5", pod("b", "5"))]


@pytest.mark.parametrize("step", STEPS, ids=["added", "modified", "deleted", "list"])
@pytest.mark.parametrize("what", ["add", "resync"])
def test_b095_one_step(what: str, step: Change) -> None:
    """A change that comes while a handler is added or resynced is told to it once, after that."""
    cache = Interrupted()
    with hub_of(cache) as (hub, keeper, told, handler):
        keeper.take(page("1", pod("a", "1")))
        if what == "resync":
            hub.add(handler)
        cache.meanwhile = lambda: keeper.take(step)
        hub.add(handler) if what == "add" else hub.resync(handler)
        cache.thread.join(LIMIT)
        expected = {record.key.name: record.version for record in cache.records()}
        wait_until(lambda: known(told) == expected, f"what the cache has: {told.short}")
        wait_until(lambda: handler.pending == 0, "an empty queue")
        assert known(told) == expected


class Witness(Handler):
    """A handler that looks into the cache at the moment when it is told."""

    def __init__(self, cache: Cache, hub: Hub) -> None:
        super().__init__("witness", {}, hub, print)
        self._cache = cache
        self.seen: list[dict[str, str]] = []

    def push(self, delivery: Delivery) -> None:
        """Note the versions by name."""
        self.seen.append({record.key.name: record.version for record in self._cache.records()})
        super().push(delivery)


@pytest.mark.parametrize("step", STEPS, ids=["added", "modified", "deleted", "list"])
def test_b088_the_cache_is_first(step: Change) -> None:
    """When a handler's queue gets a change, the cache has it already."""
    cache = Cache()
    with hub_of(cache) as (hub, keeper, _, _):
        keeper.take(page("1", pod("a", "1")))
        witness = Witness(cache, hub)
        hub.add(witness)
        witness.seen.clear()
        keeper.take(step)
        now = {record.key.name: record.version for record in cache.records()}
        assert now != {"a": "1"}
        assert witness.seen != []
        assert all(seen == now for seen in witness.seen)
