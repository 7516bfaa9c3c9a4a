"""From where a stream may be resumed: the version of the last event, except where that would lose something."""

from __future__ import annotations

from typing import Any

import pytest

from kwsync import EventType, watch_resource
from kwsync.testing import End, Event, Fin, Head, Http, Raw, Rst, Step, bookmark, pod, status
from tests.watch.support import SOON, line, served, watched

END_OF_STATE = {"k8s.io/initial-events-end": "true"}
STATE = [Event("ADDED", pod(name, rv)) for name, rv in (("a", "283"), ("b", "259"), ("c", "251"))]
"""Initial events come in the order of their names, not of their versions (seen on kube-apiserver 1.36)."""


def versions(*steps: Step, **options: Any) -> list[str | None]:
    """The stream's version: at the start, and after each event."""
    with served([Head(), *steps, End()]) as (_, client):
        stream = watch_resource("pods", client=client, **{"timeout_seconds": SOON, **options})
        return [stream.resource_version, *(stream.resource_version for _ in stream)]


def table(rv: str | None, *names: str, **metadata: Any) -> dict[str, Any]:
    """A Table as the server sends it: the versions stand in the rows."""
    rows = [
        {"cells": [name], "object": {"metadata": {"name": name, "resourceVersion": rv, **metadata}}} for name in names
    ]
    return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "columnDefinitions": None, "rows": rows}


@pytest.mark.parametrize("start", ["250", "1", "abc"])
@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])
def test_started_from_a_version(kind: str, start: str) -> None:
    """A stream that starts from a version gives changes alone: each event's version counts, ADDED too (C1, C3)."""
    steps = [Event(kind, pod("a", "251")), Event(kind, pod("b", "259")), Event(kind, pod("c", "252"))]
    assert versions(*steps, resource_version=start) == [start, "251", "259", "252"]


@pytest.mark.parametrize("start", [None, "", "0"])
def test_initial_state(start: str | None) -> None:
    """From no version, or 0, the ADDED of the state move nothing: they come in another order (B009, C3)."""
    assert versions(*STATE, resource_version=start) == [None] * 4


@pytest.mark.parametrize("kind", ["MODIFIED", "DELETED", "BOOKMARK"])
@pytest.mark.parametrize("start", [None, "0"])
def test_end_of_the_initial_state(start: str | None, kind: str) -> None:
    """The first event that is no ADDED ends the state; from then on every event counts, ADDED too (B009)."""
    change = Event(kind, pod("b", "300"))
    steps = [*STATE, change, Event("ADDED", pod("d", "301"))]
    assert versions(*steps, resource_version=start) == [None, None, None, None, "300", "301"]
    assert versions(change, Event("ADDED", pod("d", "301")), resource_version=start) == [None, "300", "301"]


def test_bookmark_of_an_empty_state() -> None:
    """A state without objects ends with its bookmark at once, where bookmarks are asked for."""
    steps = [Event("BOOKMARK", bookmark("7", annotations=END_OF_STATE))]
    assert versions(*steps, allow_watch_bookmarks=True) == [None, "7"]


@pytest.mark.parametrize("start", [None, "0", "200"])
class TestSendInitialEvents:
    def test_only_the_annotated_bookmark_ends_it(self, start: str | None) -> None:
        """The state is whole at the annotated bookmark and not before: nothing earlier moves the version (KEP 3157)."""
        steps = [
            *STATE,
            Event("MODIFIED", pod("a", "290")),
            Event("BOOKMARK", bookmark("291")),
            Event("BOOKMARK", bookmark("292", annotations={"k8s.io/initial-events-end": "false"})),
            Event("BOOKMARK", bookmark("293", annotations={"other": "true"})),
            Event("ADDED", pod("z", "294", metadata={"annotations": END_OF_STATE})),
            Event("BOOKMARK", bookmark("295", annotations=END_OF_STATE)),
            Event("ADDED", pod("d", "296")),
        ]
        seen = versions(*steps, resource_version=start, send_initial_events=True)
        assert seen == [*[None] * 9, "295", "296"]

    def test_initial(self, start: str | None) -> None:
        """The ADDED of the state say that they are no change; nothing else does."""
        steps = [
            *STATE,
            Event("MODIFIED", pod("a", "290")),
            Event("BOOKMARK", bookmark("295", annotations=END_OF_STATE)),
        ]
        steps += [Event("ADDED", pod("d", "296"))]
        outcome = watched(Head(), *steps, End(), resource_version=start, send_initial_events=True)
        assert [event.initial for event in outcome.events] == [True, True, True, False, False, False]

    def test_without_bookmarks(self, start: str | None) -> None:
        """Where bookmarks are refused the state has no end, and no version is ever safe."""
        seen = versions(*STATE, resource_version=start, send_initial_events=True, allow_watch_bookmarks=False)
        assert seen == [None] * 4

    def test_odd_bookmark(self, start: str | None) -> None:
        """A bookmark that ends the state and tells no version leaves none; the next event has one."""
        steps = [
            *STATE,
            Event("BOOKMARK", {"metadata": {"annotations": END_OF_STATE}}),
            Event("ADDED", pod("d", "296")),
        ]
        assert versions(*steps, resource_version=start, send_initial_events=True) == [*[None] * 5, "296"]


def test_no_initial_events() -> None:
    """Without initial events there is no state, so no ADDED belongs to one: marked neither as such nor as a change."""
    options: dict[str, Any] = {
        "send_initial_events": False,
        "resource_version_match": "NotOlderThan",
        "resource_version": "5",
    }
    outcome = watched(Head(), *STATE, End(), **options)
    assert [event.initial for event in outcome.events] == [False] * 3
    assert outcome.resource_version == "251"


def test_not_marked_without_the_option() -> None:
    """Where nothing marks the end of the state, `initial` would be a guess, and stays False."""
    outcome = watched(Head(), *STATE, Event("BOOKMARK", bookmark("300", annotations=END_OF_STATE)), End())
    assert [event.initial for event in outcome.events] == [False] * 4


@pytest.mark.parametrize("version", ["9", "10", "abc", "2026-01-01T00", "0010", "9" * 40, "a b\u2028ä", "-1", "0"])
def test_opaque(version: str) -> None:
    """A version is a string that nobody reads: it comes back letter by letter, a smaller one as well (C8)."""
    outcome = watched(Head(), Event("MODIFIED", pod("a", version)), End(), resource_version="99")
    assert outcome.events[0].resource_version == version
    assert outcome.resource_version == version


@pytest.mark.parametrize("value", [None, "", 7, 7.5, True, [], {}])
def test_no_version(value: object) -> None:
    """What is no text is no version; the one before stays (A15)."""
    found = {"metadata": {"resourceVersion": value}}
    steps = [
        Event("MODIFIED", pod("a", "8")),
        Event("MODIFIED", found),
        Event("DELETED", {}),
        Event("BOOKMARK", {"metadata": 5}),
    ]
    assert versions(*steps, resource_version="5") == ["5", "8", "8", "8", "8"]


def test_initial_state_without_versions() -> None:
    """An event without a version ends the initial state like any other that is no ADDED."""
    assert versions(*STATE, Event("MODIFIED", {}), Event("ADDED", pod("d", "9"))) == [*[None] * 5, "9"]


@pytest.mark.parametrize(
    "failure",
    [
        (Event("ERROR", {**status(410, "Expired"), "metadata": {"resourceVersion": "999"}}), End()),
        (Raw(b'{"kind":"Status","status":"Failure","metadata":{"resourceVersion":"999"}}\n'), End()),
        (Raw(b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"999"}}}'), End()),
        (Raw(b'{"type":"FOO","object":{"metadata":{"resourceVersion":"999"}}}\n'), End()),
        (Rst(),),
        (Fin(),),
    ],
    ids=["event", "status", "rest", "unknown", "reset", "fin"],
)
@pytest.mark.parametrize("start", [None, "5"])
def test_errors_move_nothing(start: str | None, failure: tuple[Step, ...]) -> None:
    """An ERROR is no state of an object: its version is never stored, nor one of a line that is no event (A10, A11)."""
    assert watched(Head(), Event("MODIFIED", pod("a", "8")), *failure, resource_version=start).resource_version == "8"
    assert watched(Head(), *failure, resource_version=start).resource_version == start


def test_error_does_not_end_the_initial_state() -> None:
    """An ERROR is not the first event after the state."""
    steps = [STATE[0], Event("ERROR", status(500)), STATE[1]]
    assert versions(*steps) == [None] * 4


def test_http_error() -> None:
    """An answer that is no success leaves the version of the start."""
    assert watched(Http(500, "no"), resource_version="5").resource_version == "5"
    assert watched(Http(500, "no"), resource_version="0").resource_version is None


def test_moves_when_delivered() -> None:
    """The version is that of the last event handed out, not of what lies in the buffer behind it."""
    lines = b"".join(line("MODIFIED", pod("a", str(rv))) for rv in (6, 7, 8))
    with served([Head(), Raw(lines), End()]) as (_, client):
        with watch_resource("pods", client=client, resource_version="5", timeout_seconds=SOON) as stream:
            assert next(stream).resource_version == "6"
        assert stream.resource_version == "6"


class TestTable:
    def test_changes(self) -> None:
        """A Table's version is that of its first row, where the Table has none of its own."""
        steps = [Event(kind, table(rv, "a")) for kind, rv in (("ADDED", "6"), ("MODIFIED", "7"), ("DELETED", "8"))]
        outcome = watched(Head(), *steps, End(), resource_version="5", view="table")
        assert [event.resource_version for event in outcome.events] == ["6", "7", "8"]
        assert (outcome.names, outcome.resource_version) == (["a", "a", "a"], "8")

    def test_own_version(self) -> None:
        """Its own version wins over the row's."""
        found = {**table("6", "a"), "metadata": {"resourceVersion": "9"}}
        assert versions(Event("MODIFIED", found), resource_version="5") == ["5", "9"]

    def test_initial_state(self) -> None:
        """The bookmark that ends the state carries its annotation and version in a row (seen on 1.36)."""
        steps = [Event("ADDED", table("6", "a")), Event("BOOKMARK", table("9", "", annotations=END_OF_STATE))]
        seen = versions(*steps, Event("ADDED", table("10", "b")), send_initial_events=True, view="table")
        assert seen == [None, None, "9", "10"]

    @pytest.mark.parametrize(
        "rows", [None, [], {}, [None], [{}], [{"object": None}], [{"object": {"metadata": 5}}], "x"]
    )
    def test_odd_rows(self, rows: object) -> None:
        """Without a row that tells a version (includeObject=None) there is none, and the stream goes on."""
        found = {**table("6"), "rows": rows}
        outcome = watched(
            Head(), Event("MODIFIED", found), Event("MODIFIED", table("7", "a")), End(), resource_version="5"
        )
        assert [event.resource_version for event in outcome.events] == [None, "7"]
        assert outcome.events[0].type is EventType.MODIFIED
