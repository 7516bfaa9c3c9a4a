"""Following on both servers: state and changes, and what heals: compaction, changed and removed definitions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kwsync import Backoff, Client, EventType, ListWatchStream, WatchEvent, list_and_watch
from tests.contract.servers import ContractServer
from tests.contract.support import Place, patiently, version_of
from tests.contract.test_definitions import DEFINITIONS, Definition, defined

LIMIT = 20.0
"""Seconds after which a stream that waits in vain is closed: rebuilding the cache of a definition takes a few."""


@contextmanager
def followed(place: Place, **options: Any) -> Iterator[ListWatchStream]:
    """A stream that follows a place, and ends in any case."""
    backoff = Backoff(initial=0.05, cap=0.2)
    options = {"client": place.client, "namespace": place.namespace, "backoff": backoff, **options}
    with list_and_watch(place.resource, **options) as stream:
        timer = threading.Timer(LIMIT, stream.close)
        timer.start()
        try:
            yield stream
        finally:
            timer.cancel()
            timer.join()


def until(stream: ListWatchStream, wanted: Callable[[WatchEvent], bool]) -> list[WatchEvent]:
    """The events up to one that is wanted; AssertionError with all of them where it does not come."""
    found: list[WatchEvent] = []
    for event in stream:
        found.append(event)
        if wanted(event):
            return found
    raise AssertionError(f"it has not come, but these: {[str(event) for event in found]}")


def synced(event: WatchEvent) -> bool:
    return event.type is EventType.SYNCED


def named(kind: str, name: str) -> Callable[[WatchEvent], bool]:
    return lambda event: (event.type, event.key.name) == (kind, name)


def told(events: list[WatchEvent]) -> list[tuple[str, str]]:
    """Of each event about an object its type and the object's name."""
    return [(str(event.type), event.key.name) for event in events if event.key.name]


@pytest.mark.parametrize("watch_list", [False, True])
def test_state_and_changes(either: Place, watch_list: bool) -> None:
    """B006, B030: the objects that are there, SYNCED, and then each change with its version, none twice."""
    either.create("a")
    either.create("b")
    with followed(either, watch_list=watch_list, page_size=1) as stream:
        assert told(until(stream, synced)) == [("ADDED", "a"), ("ADDED", "b")]
        changed = version_of(either.change("a"))
        either.delete("b")
        either.create("c")
        events = until(stream, named("ADDED", "c"))
        assert told(events) == [("MODIFIED", "a"), ("DELETED", "b"), ("ADDED", "c")]
        assert events[0].resource_version == changed
        assert not any(event.final_state_unknown for event in events)


def test_b010_windows(maps: Place) -> None:
    """B010: the server ends each window cleanly, and nothing is lost between two of them."""
    with followed(maps, timeout_seconds=1) as stream:
        until(stream, synced)
        pause, names = threading.Event(), [f"m{number}" for number in range(8)]
        for name in names:
            maps.create(name)
            pause.wait(0.3)
        assert told(until(stream, named("ADDED", names[-1]))) == [("ADDED", name) for name in names]


def test_b015_compacted(contract_server: ContractServer, events: Place) -> None:
    """B015, D18: a version that etcd has forgotten is one 410; the relist tells what is different, and no more."""
    contract_server.need("compaction")
    contract_server.need("uncached events")
    for name in ("kept", "changed", "gone"):
        events.create(name)
    with followed(events) as stream:
        until(stream, synced)
        saved = stream.resource_version
    events.change("changed")
    events.delete("gone")
    events.create("new")
    contract_server.compact()
    with followed(events, resource_version=saved) as stream:
        found = until(stream, synced)
        errors = [event.error for event in found if event.error is not None]
        assert [error.is_expired for error in errors] == [True]
        assert sorted(told(found)) == [("ADDED", name) for name in ("changed", "kept", "new")]
        events.delete("kept")
        assert told(until(stream, named("DELETED", "kept"))) == [("DELETED", "kept")]


def new_place(admin: Client, namespace: str, word: str) -> tuple[Definition, Place]:
    made = defined(admin, word)
    return made, Place(admin, namespace, made.resource, made.new)


def test_definition_changed(contract_server: ContractServer, admin: Client, namespace: str) -> None:
    """D3: a changed definition ends the watch; 429 while its storage is made anew, then 410; and it heals."""
    contract_server.need("custom resources")
    made, place = new_place(admin, namespace, "healer")
    place.create("a")
    with followed(place) as stream:
        assert told(until(stream, synced)) == [("ADDED", "a")]
        place.create("b")
        until(stream, named("ADDED", "b"))
        admin.patch(DEFINITIONS, made.name, {"spec": {"names": {"categories": ["all"]}}})
        found = until(stream, synced)
        codes = {event.error.status_code for event in found if event.error is not None}
        assert codes <= {0, 410, 429}
        assert told(found) == []
        patiently(lambda: place.create("c"), unless=404)
        assert told(until(stream, named("ADDED", "c"))) == [("ADDED", "c")]
    admin.delete(DEFINITIONS, made.name)


def test_definition_removed_and_back(contract_server: ContractServer, admin: Client, namespace: str) -> None:
    """A3, A9, C22: each object is DELETED, then 404 for as long as it is gone; and when it is back, so are we."""
    contract_server.need("custom resources")
    made, place = new_place(admin, namespace, "returner")
    place.create("a")
    with followed(place) as stream:
        until(stream, synced)
        place.create("b")
        until(stream, named("ADDED", "b"))
        admin.delete(DEFINITIONS, made.name)
        found = until(stream, lambda event: event.error is not None and event.error.status_code == 404)
        assert sorted(told(found)) == [("DELETED", "a"), ("DELETED", "b")]
        patiently(lambda: admin.create(DEFINITIONS, made.manifest()), unless=409)
        assert told(until(stream, synced)) == []
        patiently(lambda: place.create("c"), unless=404)
        assert told(until(stream, named("ADDED", "c"))) == [("ADDED", "c")]
    admin.delete(DEFINITIONS, made.name)
