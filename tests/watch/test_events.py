"""What becomes an event, word for word, and what becomes none."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

import attrs
import pytest

from kwsync import EndReason, ErrorOrigin, ErrorType, EventType, ObjectKey, WatchEnd, _clock, watch_resource
from kwsync.testing import End, Event, Head, Raw, StallUntil, bookmark, pod, status
from tests.watch.support import SOON, assert_clean, line, outcome_of, served, watched

STRANGE = [
    {"kind": "Job", "metadata": {"name": "a"}, "spec": {"template": {"spec": {"containers": None}}}},
    {"kind": "Endpoints", "metadata": {"name": "a"}, "subsets": None},
    {"kind": "Event", "metadata": {"name": "a"}, "eventTime": None},
    {"metadata": "a string"},
    {"metadata": None},
    {"metadata": {"resourceVersion": 17, "name": 5, "namespace": []}},
    {},
    {"spec": None, "unknown": {"deep": [[[{"": [1.5, -0.25, True, None, ""]}]]]}},
    {"text": "ä€😀 \x7f \u00a0 \ufeff \\n \t", "": {"": ""}},
]
NO_EVENTS = [
    b"42",
    b"null",
    b"true",
    b'"x"',
    b"[]",
    b"{}",
    b'{"type":"ADDED"}',
    b'{"type":"ADDED","object":null}',
    b'{"type":"ADDED","object":[]}',
    b'{"type":"ADDED","object":"x"}',
    b'{"object":{}}',
    b'{"type":1,"object":{}}',
    b'{"type":null,"object":{}}',
    b'{"type":["ADDED"],"object":{}}',
    b'{"type":"FOO","object":{}}',
    b'{"type":"SYNCED","object":{}}',
    b'{"type":"added","object":{}}',
    b'{"kind":"Status","status":"Success"}',
    b'{"kind":"Pod","metadata":{"name":"a"}}',
    b'{"type":"ADDED","object":{"a":"\xff\xfe"}}',
    b'{"type":"ADDED","object":{"a":"\xed\xa0\x80"}}',
    b'\xef\xbb\xbf{"type":"ADDED","object":{}}',
    b'{"type":"ADDED","object":{}',
    b'{"type":"ADDED","object":{}}}',
    b'{"type":"ADDED","object":{}} {"type":"ADDED","object":{}}',
    b"{'type':'ADDED','object':{}}",
    b"<html><body>502 Bad Gateway</body></html>",
    b'{"a":' * 100_000,
    b"\x00",
]


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])
def test_event(kind: str) -> None:
    """An event holds its type, its object as sent and its version, and nothing else that nobody told (contract 3.1)."""
    found = pod("a", "7")
    with served([Head(), Event(kind, found), End()]) as (_, client):
        (event,) = watch_resource("pods", client=client, timeout_seconds=SOON)
    assert (event.type, event.object, event.resource_version) == (EventType(kind), found, "7")
    assert (event.error, event.old_object, event.initial, event.final_state_unknown) == (None, None, False, False)
    assert event.key == ObjectKey("default", "a")
    assert f"{event.type}" == kind
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        event.type = EventType.ERROR  # type: ignore[misc]


@pytest.mark.parametrize("found", STRANGE, ids=range(len(STRANGE)))
@pytest.mark.parametrize("kind", ["ADDED", "BOOKMARK"])
def test_object_is_not_judged(kind: str, found: dict[str, Any]) -> None:
    """Server data is handed on as it is, whatever it lacks (A14-A16, A18-A20, Z9, Z17), and its key never fails."""
    outcome = watched(Head(), Event(kind, found), Event("MODIFIED", pod("next", "8")), End(), resource_version="1")
    assert [event.object for event in outcome.events] == [found, pod("next", "8")]
    assert outcome.events[0].resource_version is None
    assert outcome.events[0].key == ObjectKey("", "a" if found.get("kind") else "")
    assert (outcome.skipped_lines, outcome.resource_version) == (0, "8")


@pytest.mark.parametrize(
    "metadata", [None, {}, "x", {"resourceVersion": ""}, {"resourceVersion": None}, {"resourceVersion": 5}]
)
def test_bookmark_without_version(metadata: object) -> None:
    """A bookmark that tells no version is an event that moves nothing (A15, Z18, Z24)."""
    outcome = watched(
        Head(),
        Event("BOOKMARK", {"kind": "Job", "metadata": metadata}),
        Event("BOOKMARK", {}),
        End(),
        resource_version="5",
    )
    assert [(event.type, event.resource_version) for event in outcome.events] == [(EventType.BOOKMARK, None)] * 2
    assert (outcome.end.reason, outcome.resource_version) == (EndReason.SERVER_CLOSED, "5")


@pytest.mark.parametrize("text", NO_EVENTS, ids=lambda text: repr(text[:40]))
def test_line_that_is_no_event(text: bytes) -> None:
    """It is counted and skipped, and the stream goes on (A2, A3, A5, Z8)."""
    outcome = watched(Head(), Raw(line("ADDED", pod("a")) + text + b"\n" + line("ADDED", pod("b"))), End())
    assert_clean(outcome, "a", "b")
    assert outcome.skipped_lines == 1


@pytest.mark.parametrize("text", [b"", b"\r", b"  ", b"\t \r", b"\x0b\x0c"])
def test_blank_line(text: bytes) -> None:
    """Blank lines are nothing: no event, and not counted (A3, Z8, Z18, Z24)."""
    outcome = watched(Head(), Event("ADDED", pod("a")), Raw(text + b"\n"), Event("ADDED", pod("b")), End())
    assert_clean(outcome, "a", "b")
    assert outcome.skipped_lines == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rb'"\ud800"', "\ud800"),
        (rb'"\ude00\ud83d"', "\ude00\ud83d"),
        (b"1e400", float("inf")),
        (b'"a"}, "x": {"y": {}', "a"),
        (b'"1","v":"2"', "2"),
    ],
)
def test_json_that_the_fast_parser_may_refuse(text: bytes, value: object) -> None:
    """A line is malformed only when the standard library says so: Go sends lone surrogates and huge numbers."""
    outcome = watched(Head(), Raw(b'{"object":{"v":' + text + b'},"more":1,"type":"ADDED"}\n'), End())
    assert [event.object and event.object["v"] for event in outcome.events] == [value]
    assert outcome.skipped_lines == 0


def test_skipped_lines_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """The log tells the path and a bounded excerpt, ten times at most and then that it will tell no more."""
    with caplog.at_level(logging.WARNING, "kwsync.watch"):
        outcome = watched(Head(), Raw(b"".join(b"%02d" % n + b"x" * 100_000 + b"\n" for n in range(30))), End())
    assert outcome.skipped_lines == 30
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 11
    assert all("/api/v1/pods" in message and len(message) < 400 for message in messages)
    assert "09xxx" in messages[9]
    assert "only counted" in messages[10]


def test_no_skipped_line_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """A stream that goes well, or ends with an error that is told as a value, logs nothing."""
    with caplog.at_level(logging.DEBUG, "kwsync"):
        watched(Head(), Event("ADDED", pod("a")), Event("ERROR", status(410, "Expired")), Raw(b"\n"), End())
    assert {record.name.rpartition(".headers")[0] or record.name for record in caplog.records} == {"kwsync.wire"}


def test_error_in_the_stream() -> None:
    """An ERROR holds no object and no version but a WatchError that can be raised (contract 3.1, A8-A11, Z13, Z23)."""
    found = status(410, "Expired", "too old resource version: 1 (5)")
    outcome = watched(Head(), Event("ERROR", found), End())
    (event,) = outcome.events
    assert (event.type, event.object, event.resource_version) == (EventType.ERROR, None, None)
    error = outcome.error
    assert (error.error_type, error.origin, error.status_code) == (ErrorType.UNKNOWN_ERROR, ErrorOrigin.STREAM, 410)
    assert (error.reason, error.message) == ("Expired", "too old resource version: 1 (5)")
    assert (error.resource_path, error.status, error.retry_after) == ("/api/v1/pods", found, None)
    with pytest.raises(type(error), match="410 Expired: too old resource version"):
        raise error


def test_life_of_a_stream() -> None:
    """It is its own iterator, open until its end is told, and stays at its end without another request."""
    with served([Head(), Event("ADDED", pod("a")), End()]) as (server, client):
        stream = watch_resource("pods", client=client, timeout_seconds=SOON)
        assert iter(stream) is stream
        assert (stream.end, repr(stream)) == (None, "<WatchStream pods.v1 open>")
        assert next(stream).key.name == "a"
        assert (stream.end, repr(stream)) == (None, "<WatchStream pods.v1 open>")
        assert next(stream, None) is None
        assert stream.end == WatchEnd(EndReason.SERVER_CLOSED)
        assert repr(stream) == "<WatchStream pods.v1 SERVER_CLOSED>"
        assert list(stream) == []
        stream.close()
        assert stream.end == WatchEnd(EndReason.SERVER_CLOSED)
        assert len(server.requests) == 1


def test_end_inside_with() -> None:
    """Leaving ``with`` closes the stream and its connection, and the end says so."""
    with served([Head(), Event("ADDED", pod("a")), StallUntil(_never())]) as (server, client):
        with watch_resource("pods", client=client, timeout_seconds=SOON) as stream:
            assert next(stream).key.name == "a"
        assert stream.end == WatchEnd(EndReason.CLOSED)
        assert next(stream, None) is None
        server.wait_for_disconnect()


def test_two_streams_of_one_client() -> None:
    """Streams do not know each other: each has its request, its events and its end."""
    with served([Head(), Event("ADDED", pod("a")), End()], [Head(), Event("ADDED", pod("b")), End()]) as (
        server,
        client,
    ):
        streams = [watch_resource("pods", client=client, timeout_seconds=SOON) for _ in range(2)]
        outcomes = [outcome_of(stream, server) for stream in streams]
        assert [outcome.names for outcome in outcomes] == [["a"], ["b"]]


def test_order() -> None:
    """Every event comes once, in the order of the stream, and nothing is filtered or put together."""
    kinds = ["ADDED", "MODIFIED", "MODIFIED", "DELETED", "ADDED", "BOOKMARK", "BOOKMARK"]
    steps = [Event(kind, bookmark("9") if kind == "BOOKMARK" else pod("a", str(n))) for n, kind in enumerate(kinds)]
    outcome = watched(Head(), *steps, *steps, End())
    assert outcome.types == kinds + kinds
    assert [event.resource_version for event in outcome.events] == ["0", "1", "2", "3", "4", "9", "9"] * 2


def test_last_activity(monkeypatch: pytest.MonkeyPatch) -> None:
    """None before the request; then seconds since the last byte, so that a probe sees a stream that is dead (B3)."""
    with served([Head(), Event("ADDED", pod("a")), StallUntil(_never())]) as (_, client):
        stream = watch_resource("pods", client=client, timeout_seconds=SOON)
        before = stream.last_activity
        with stream:
            next(stream)
            soon = stream.last_activity
            now = _clock.monotonic()
            with monkeypatch.context() as later:
                later.setattr(_clock, "monotonic", lambda: now + 100)
                silent = stream.last_activity
    assert (before, soon is not None, silent is not None) == (None, True, True)
    assert 0 <= (soon or 0) < SOON
    assert 100 <= (silent or 0) <= 100 + SOON


def test_last_activity_without_a_byte() -> None:
    """As long as no byte has come it counts from the request."""
    with served() as (server, client):
        server.stop()
        stream = watch_resource("pods", client=client, timeout_seconds=SOON)
        list(stream)
        assert stream.last_activity is not None
        assert 0 <= stream.last_activity < SOON


def test_big_object() -> None:
    """An object with many fields comes whole (watch events of CRDs reach megabytes)."""
    found = {"metadata": {"name": "big"}, "data": {f"key-{n}": "v" * (n % 97) for n in range(20_000)}}
    outcome = watched(Head(), Raw(line("ADDED", found)), End())
    assert outcome.events[0].object == json.loads(json.dumps(found))


def _never() -> threading.Event:

    return threading.Event()
