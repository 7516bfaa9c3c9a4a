"""A second list, told as changes."""

from __future__ import annotations

from kwsync import EventType, WatchEvent
from kwsync.cli._known import Known


def seen(name: str, version: str, uid: str = "", verb: EventType = EventType.ADDED) -> WatchEvent:
    metadata = {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": version}
    return WatchEvent(verb, {"metadata": metadata}, version)


def told(known: Known, *found: WatchEvent) -> list[str]:
    return [f"{event.type} {event.key} {event.resource_version}" for event in known.replace(list(found))]


def test_first_list() -> None:
    """Of nothing known everything is new."""
    assert told(Known(), seen("a", "1"), seen("b", "2")) == ["ADDED a 1", "ADDED b 2"]


def test_second_list() -> None:
    """What is the same is not told again; what was missed is: changed, made anew, new, gone."""
    known = Known()
    told(known, seen("same", "1"), seen("changed", "2"), seen("anew", "3"), seen("gone", "4"))
    found = [seen("anew", "9", "uid-other"), seen("changed", "8"), seen("new", "7"), seen("same", "1")]
    assert told(known, *found) == [
        "DELETED anew 3",
        "ADDED anew 9",
        "MODIFIED changed 8",
        "ADDED new 7",
        "DELETED gone 4",
    ]


def test_gone_is_not_certain() -> None:
    """A deletion that a list finds says that its object is only the last one known."""
    known = Known()
    told(known, seen("gone", "4"))
    [event] = known.replace([])
    assert (event.type, event.final_state_unknown, event.initial) == (EventType.DELETED, True, False)


def test_keeps_little() -> None:
    """Of an object only its identity is kept, of a table's row all: it is shown when it is found gone."""
    known = Known()
    row = {"kind": "Table", "rows": [{"cells": ["r"], "object": {"metadata": {"name": "r"}}}]}
    metadata = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"}
    whole = {"kind": "Pod", "apiVersion": "v1", "metadata": {**metadata, "labels": {"x": "y"}}, "spec": {"large": 1}}
    list(known.replace([WatchEvent(EventType.ADDED, one) for one in (row, whole)]))
    gone = [event.object for event in known.replace([])]
    assert gone == [row, {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}]


def test_changes_count() -> None:
    """Changes of a watch are known to the next list, and a state that is told twice is told once."""
    known = Known()
    assert known.take(seen("a", "1"))
    assert not known.take(seen("a", "1"))
    assert known.take(seen("a", "2", verb=EventType.MODIFIED))
    assert known.take(seen("b", "3"))
    assert known.take(seen("b", "4", verb=EventType.DELETED))
    assert told(known, seen("a", "2")) == []
