"""Events, keys, and how a decoded line is read."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync._events import (
    INITIAL_EVENTS_END,
    EndReason,
    EventType,
    ObjectKey,
    WatchEnd,
    WatchEvent,
    ends_initial_events,
    line_type,
    resource_version_of,
)
from kwsync.errors import ErrorOrigin, local_error
from tests.recorded import exchange
from tests.values import json_objects, json_values, nested

POD = {"kind": "Pod", "metadata": {"name": "a", "namespace": "ns", "resourceVersion": "7"}}
TABLE = {"kind": "Table", "metadata": {}, "rows": [{"cells": [], "object": {"kind": "X", **POD}}]}


def test_string_enums() -> None:
    """A string enum is its value in every kind of text, on every Python."""
    kind = EventType.ADDED
    assert f"{kind}" == str(kind) == format(kind) == "%s" % kind == kind.value == "ADDED"  # noqa: UP031
    assert f"{kind:>6}" == " ADDED"
    assert kind == "ADDED"
    assert json.dumps([kind, EndReason.CLOSED]) == '["ADDED", "CLOSED"]'
    assert EventType("SYNCED") is EventType.SYNCED


def test_names_of_types() -> None:
    """The types of events and the reasons of an end are those of the design, in its order."""
    assert [*EventType] == ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "SYNCED"]
    assert [*EndReason] == ["SERVER_CLOSED", "CANCELLED", "CLOSED", "ERROR", "TIMEOUT"]


def test_key() -> None:
    """str() of a key is namespace/name, or the name alone where there is no namespace."""
    assert str(ObjectKey("ns", "a")) == "ns/a"
    assert str(ObjectKey("", "a")) == "a"
    assert ObjectKey("ns", "a") == ("ns", "a")


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"])
def test_line_types(kind: str) -> None:
    """The five types of Kubernetes with an object are events."""
    assert line_type({"type": kind, "object": {}}) is EventType(kind)


NO_OBJECTS: list[Any] = [None, 5, "x", [], True]
NO_TYPES: list[Any] = ["FOO", "added", "SYNCED", "", None, 5, True, [], {}]
NO_EVENTS: list[Any] = [
    *(None, True, 5, "ADDED", [], ["type", "ADDED"], {}, {"object": {}}, {"type": "ADDED"}),
    *({"type": "ADDED", "object": value} for value in NO_OBJECTS),
    *({"type": kind, "object": {}} for kind in NO_TYPES),
]


@pytest.mark.parametrize("document", NO_EVENTS, ids=repr)
def test_no_event(document: object) -> None:
    """Anything else is no event: another type (also SYNCED, which is only ours), no object, no dict."""
    assert line_type(document) is None


@pytest.mark.parametrize("value", [None, 5, "x", []])
def test_error_line(value: object) -> None:
    """An ERROR counts whatever its object is: it must not be lost."""
    assert line_type({"type": "ERROR", "object": value}) is EventType.ERROR
    assert line_type({"type": "ERROR"}) is EventType.ERROR


@pytest.mark.parametrize(
    ("document", "version"),
    [
        (POD, "7"),
        (TABLE, "7"),
        ({**TABLE, "metadata": {"resourceVersion": "9"}}, "9"),
        ({**TABLE, "metadata": {"resourceVersion": ""}}, "7"),
        ({"kind": "Table", "rows": []}, None),
        ({"kind": "Pod", "rows": TABLE["rows"]}, None),
        ({}, None),
        ({"metadata": {}}, None),
        ({"metadata": {"resourceVersion": ""}}, None),
        ({"metadata": {"resourceVersion": 7}}, None),
        ({"metadata": None}, None),
    ],
)
def test_resource_version(document: dict[str, Any], version: str | None) -> None:
    """The version is a string of the object's metadata, or of a Table's first row; all else is none."""
    assert resource_version_of(document) == version


@pytest.mark.parametrize(
    ("value", "ends"), [("true", True), ("True", False), ("false", False), ("", False), (True, False), (None, False)]
)
def test_end_of_initial_events(value: object, ends: bool) -> None:
    """Only the annotation's value "true" ends the initial events; in a Table it stands in the row."""
    bookmark = {"metadata": {"annotations": {INITIAL_EVENTS_END: value}}}
    assert ends_initial_events(bookmark) is ends
    assert ends_initial_events({"kind": "Table", "rows": [{"object": bookmark}]}) is ends


@pytest.mark.parametrize("name", ["watch-table-bookmark", "watchlist", "watch-partial-bookmark"])
def test_recorded(name: str) -> None:
    """Each line of a real server is an event with a version, also as a Table; one bookmark ends the initial ones."""
    lines = [json.loads(line) for line in exchange(name).body.splitlines()]
    assert lines
    assert all(line_type(line) for line in lines)
    assert all(resource_version_of(line["object"]) for line in lines)
    ends = [line["type"] for line in lines if ends_initial_events(line["object"])]
    assert ends == ["BOOKMARK"]


@pytest.mark.parametrize(
    ("document", "key"),
    [(POD, ("ns", "a")), (TABLE, ("ns", "a")), ({"metadata": {"name": "n"}}, ("", "n")), (None, ("", ""))]
    + [({"metadata": {"name": 5, "namespace": []}}, ("", "")), ({"kind": "Table", "rows": [5]}, ("", ""))],
)
def test_event_key(document: dict[str, Any] | None, key: tuple[str, str]) -> None:
    """The key is the object's, or that of a Table's first row; empty where there is none."""
    assert WatchEvent(EventType.ADDED, document).key == key


documents = json_objects | st.fixed_dictionaries(
    {"kind": st.just("Table") | json_values},
    optional={"metadata": json_values, "rows": st.lists(json_objects | json_values, max_size=2) | json_values},
)


@given(json_values | documents)
def test_any_document(document: Any) -> None:
    """No JSON document, whatever its shape, makes a reader fail."""
    line_type(document)
    line_type({"type": "ADDED", "object": document})
    if isinstance(document, dict):
        assert resource_version_of(document) != ""
        ends_initial_events(document)
        event = WatchEvent(EventType.ADDED, document)
        assert all(isinstance(part, str) for part in event.key)
        assert repr(event)


def test_deep_documents() -> None:
    """Nor does any depth: a Table in a Table, a list in a list."""
    table: dict[str, Any] = {}
    for _ in range(100_000):
        table = {"kind": "Table", "rows": [{"object": table}]}
    for document in (table, {"kind": nested(100_000)}, {"metadata": nested(100_000)}):
        assert resource_version_of(document) is None
        assert not ends_initial_events(document)
        event = WatchEvent(EventType.ADDED, document)
        assert event.key == ("", "")
        assert len(repr(event)) < 300


def test_repr_is_short() -> None:
    """A repr names the object and does not spell it out: it may be large, and may hold a Secret."""
    secret = {"kind": "Secret", "metadata": {"name": "s", "namespace": "ns"}, "data": {"password": "aHVudGVyMg=="}}
    text = repr(WatchEvent(EventType.MODIFIED, secret, old_object=secret))
    assert "<Secret ns/s>" in text
    assert "aHVudGVyMg" not in text


def test_event_values() -> None:
    """An event is frozen, has empty fields by default, and survives pickling and copying."""
    event = WatchEvent(EventType.ADDED, POD, "7")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        event.type = EventType.ERROR  # type: ignore[misc]
    assert (event.error, event.old_object, event.initial, event.final_state_unknown) == (None, None, False, False)
    for other in (pickle.loads(pickle.dumps(event)), copy.copy(event), copy.deepcopy(event)):
        assert other == event
        assert other.type is EventType.ADDED


def test_pickled_error_event() -> None:
    """An ERROR event and an end take their error along."""
    error = local_error(ErrorOrigin.NETWORK, "gone")
    event = pickle.loads(pickle.dumps(WatchEvent(EventType.ERROR, error=error)))
    assert str(event.error) == str(error)
    end = pickle.loads(pickle.dumps(WatchEnd(EndReason.ERROR, error)))
    assert (end.reason, str(end.error)) == (EndReason.ERROR, str(error))
