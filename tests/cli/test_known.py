"""What is shown of a deletion that nobody saw."""

from __future__ import annotations

from typing import Any

import pytest

from kwsync import EventType, WatchEvent
from kwsync.cli._known import LastSeen


def row(name: str, cell: str = "1/1") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"kind": "Table", "rows": [{"cells": [name, cell], "object": {"metadata": metadata}}]}


def gone(name: str, *, unknown: bool = True) -> WatchEvent:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return WatchEvent(EventType.DELETED, {"metadata": metadata}, final_state_unknown=unknown)


def test_last_row() -> None:
    """It is shown with the last row that was seen, and says that this may not have been the last state."""
    known = LastSeen()
    for event in (WatchEvent(EventType.ADDED, row("a")), WatchEvent(EventType.MODIFIED, row("a", "0/1"), "7")):
        assert known.completed(event) is event
    found = known.completed(gone("a"))
    assert found == WatchEvent(EventType.DELETED, row("a", "0/1"), "7", final_state_unknown=True)


@pytest.mark.parametrize("unknown", [True, False])
def test_once(unknown: bool) -> None:
    """After a deletion, seen or not, the row is forgotten."""
    known = LastSeen()
    known.completed(WatchEvent(EventType.ADDED, row("a")))
    known.completed(gone("a", unknown=unknown))
    assert known.completed(gone("a")) == gone("a")


def test_seen() -> None:
    """A deletion that was seen is shown as it came."""
    known = LastSeen()
    known.completed(WatchEvent(EventType.ADDED, row("a")))
    event = WatchEvent(EventType.DELETED, row("a", "0/0"))
    assert known.completed(event) is event


def test_objects() -> None:
    """Of objects nothing is kept: there may be many, and the names are in the deletion."""
    known = LastSeen()
    known.completed(WatchEvent(EventType.ADDED, {"kind": "Pod", "metadata": {"name": "a", "namespace": "default"}}))
    assert known.completed(gone("a")) == gone("a")
