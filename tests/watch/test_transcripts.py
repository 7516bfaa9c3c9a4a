"""Every exchange recorded from a real API server, fed to the client as it was on the wire.

What must come out is told by a second reading of the same file, a simple one that shares no code with kwsync.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from kwsync import EndReason, ErrorOrigin, EventType, Resource, WatchError, watch_resource
from kwsync.testing import Fin, RawBytes
from tests.recorded import TRANSCRIPTS
from tests.watch.support import SOON, outcome_of, served

THINGS = Resource("", "v1", "things")
"""Stands for whatever was asked: the answers are what counts here."""


class Recording(NamedTuple):
    """One exchange, read the simple way."""

    method: str
    path: str
    query: dict[str, str]
    status: int
    headers: dict[str, str]
    answer: bytes
    body: bytes
    whole: bool
    """The framing says that the body is complete."""

    @property
    def is_watch(self) -> bool:
        """A stream of JSON lines was asked for, and given."""
        asked = self.query.get("watch", "false") != "false" or "/watch/" in self.path
        return self.status == 200 and asked and self.headers.get("content-type") == "application/json"


def read(name: str) -> Recording:
    """Take a recording apart."""
    request, rest = (TRANSCRIPTS / f"{name}.http").read_bytes().split(b"\r\n\r\n", 1)
    method, target, _ = request.split(b"\r\n")[0].decode().split(" ")
    answer = rest[rest.index(b"HTTP/1.1 ") :]
    head, body = answer.split(b"\r\n\r\n", 1)
    first, *lines = head.decode().split("\r\n")
    headers = {key.lower(): value for key, value in (text.split(": ", 1) for text in lines)}
    whole = len(body) == int(headers.get("content-length", "-1"))
    if headers.get("transfer-encoding") == "chunked":
        body, whole = joined(body)
    url = urlsplit(target)
    query = {key: values[-1] for key, values in parse_qs(url.query, keep_blank_values=True).items()}
    return Recording(method, url.path, query, int(first.split(" ")[1]), headers, answer, body, whole)


def joined(body: bytes) -> tuple[bytes, bool]:
    """The chunks put together, and whether the last one has come."""
    data = b""
    while b"\r\n" in body:
        size, rest = body.split(b"\r\n", 1)
        length = int(size, 16)
        if not length:
            return data, True
        if len(rest) < length:
            break  # a chunk that is not complete is not delivered
        data, body = data + rest[:length], rest[length + 2 :]
    return data, False


def lines_of(recording: Recording) -> list[dict[str, Any]]:
    """The events: what stands before each newline."""
    return [json.loads(text) for text in recording.body.split(b"\n")[:-1]]


RECORDINGS = {path.stem: read(path.stem) for path in sorted(Path(TRANSCRIPTS).glob("*.http"))}
OBJECTS = ["get-ok", "get-watch-parameter", "watch-word-false", "list-plain", "version", "discovery-apis"]
"""Answers with success that are no stream."""
WATCHES = [name for name, recording in RECORDINGS.items() if recording.is_watch and name not in OBJECTS]
ERRORS = [name for name, recording in RECORDINGS.items() if recording.status >= 300]
LISTS = [
    name
    for name, recording in RECORDINGS.items()
    if recording.method == "GET"
    and (recording.status, recording.headers.get("content-type", "")[:16]) == (200, "application/json")
    and name.startswith(("list-", "crd-list", "auth-resourcenames-list", "shutdown", "etcd-down-list"))
    and not recording.is_watch
]


def version_of(found: dict[str, Any]) -> str | None:
    """The version of an object; of a Table that of its first row, where it has none of its own."""
    version: str | None = found.get("metadata", {}).get("resourceVersion")
    if version is None and found.get("kind") == "Table":
        version = ((found["rows"][0]["object"] or {}).get("metadata") or {}).get("resourceVersion")
    return version


def marks_the_end(event: dict[str, Any]) -> bool:
    """Is it the bookmark behind the initial state?"""
    return event["type"] == "BOOKMARK" and '"k8s.io/initial-events-end": "true"' in json.dumps(event)


def safe_version(recording: Recording, events: list[dict[str, Any]]) -> str | None:
    """From where to resume, by rule B009: the last version behind the initial state, or the one of the start."""
    start = recording.query.get("resourceVersion") or None
    marked = recording.query.get("sendInitialEvents", "false") != "false"
    if marked:
        ends = [number for number, event in enumerate(events) if marks_the_end(event)]
    elif start in (None, "0"):
        ends = [number for number, event in enumerate(events) if event["type"] not in ("ADDED", "ERROR")]
    else:
        ends = [0]
    if marked or start == "0":
        start = None
    counted = events[ends[0] :] if ends else []
    versions = [version_of(event["object"]) for event in counted if event["type"] != "ERROR"]
    return [start, *versions][-1]


def options_of(recording: Recording) -> dict[str, Any]:
    """The options that decide what a version means; the others change nothing about an answer."""
    options: dict[str, Any] = {"resource_version": recording.query.get("resourceVersion")}
    wish = recording.query.get("sendInitialEvents")
    if wish is not None:
        options |= {"send_initial_events": wish != "false", "resource_version_match": "NotOlderThan"}
    return options


def test_selection() -> None:
    """The names are found: a slip in the filters above would leave nothing to test."""
    assert (len(WATCHES), len(ERRORS), len(LISTS)) >= (85, 90, 35)
    assert {"watch-no-rv", "server-killed-watch", "watch-410-table", "crd-watchlist", "etcd-down-watchlist"} <= {
        *WATCHES
    }
    assert {"watch-rv-unparsable", "429-apf-watch", "404-unknown-group", "crd-watch-protobuf-406"} <= {*ERRORS}


@pytest.mark.parametrize("name", WATCHES)
def test_watch(name: str) -> None:
    """The same events, versions and errors, and a clean end exactly where the server has said the end (A12)."""
    recording = RECORDINGS[name]
    expected = lines_of(recording)
    with served([RawBytes(recording.answer), Fin()]) as (_, client):
        options = options_of(recording)
        outcome = outcome_of(watch_resource(THINGS, client=client, timeout_seconds=SOON, **options))
    events = outcome.events if recording.whole else outcome.events[:-1]
    assert [str(event.type) for event in events] == [event["type"] for event in expected]
    for event, told in zip(events, expected, strict=True):
        if told["type"] == "ERROR":
            assert event.error is not None
            assert_tells(event.error, told["object"], told["object"]["code"])
        else:
            assert event.object == told["object"]
            assert event.resource_version == version_of(told["object"])
    assert outcome.skipped_lines == 0
    assert outcome.resource_version == safe_version(recording, expected)
    if recording.whole:
        assert outcome.end.reason is EndReason.SERVER_CLOSED
        assert (outcome.end.error is None) is ("ERROR" not in outcome.types)
    else:
        assert (outcome.end.reason, outcome.error.origin) == (EndReason.ERROR, ErrorOrigin.NETWORK)


def assert_tells(error: WatchError, found: dict[str, Any], code: int) -> None:
    """The error tells what the Status object tells."""
    assert (error.status_code, error.status) == (code, found)
    assert (error.reason, error.message) == (found.get("reason", ""), found.get("message", ""))
    assert error.is_expired is (code == 410)


@pytest.mark.parametrize("name", ERRORS)
def test_error(name: str) -> None:
    """An error answer of any kind of request, given to a watch, is one ERROR that tells what the server has told."""
    recording = RECORDINGS[name]
    with served([RawBytes(recording.answer, keep_alive=True)]) as (_, client):
        outcome = outcome_of(watch_resource(THINGS, client=client, timeout_seconds=SOON))
    error = outcome.error
    assert outcome.types == ["ERROR"]
    assert (error.origin, outcome.end.reason) == (ErrorOrigin.HTTP, EndReason.ERROR)
    assert (error.status_code, error.resource_path) == (recording.status, "/api/v1/things")
    if recording.headers.get("content-type") == "application/json":
        assert_tells(error, json.loads(recording.body), recording.status)
    elif recording.status >= 400:
        assert error.message == recording.body.decode("utf-8", "replace").strip()[:2048]
    wait = recording.headers.get("retry-after")
    assert error.retry_after == (None if wait is None else float(wait))


@pytest.mark.parametrize("name", [*OBJECTS, "gate-cbor-watch", "watch-protobuf", "readyz"])
def test_no_stream(name: str) -> None:
    """An answer that is no stream gives no event and moves no version: its lines are counted, the end is clean."""
    with served([RawBytes(RECORDINGS[name].answer), Fin()]) as (_, client):
        outcome = outcome_of(watch_resource(THINGS, client=client, timeout_seconds=SOON, resource_version="5"))
    assert (outcome.events, outcome.resource_version) == ([], "5")
    assert outcome.skipped_lines >= 1
    assert outcome.end.reason is EndReason.SERVER_CLOSED


@pytest.mark.parametrize("name", LISTS)
def test_list(name: str) -> None:
    """A list gives the same objects, each with its kind, and its version and token as they are (A18, C3)."""
    recording = RECORDINGS[name]
    body = gzip.decompress(recording.body) if recording.headers.get("content-encoding") == "gzip" else recording.body
    expected = json.loads(body)
    with served([RawBytes(recording.answer, keep_alive=True)]) as (_, client):
        page = next(iter(client.list_pages(THINGS)))
    metadata = expected["metadata"]
    assert page.resource_version == metadata["resourceVersion"]
    assert page.continue_token == (metadata.get("continue") or None)
    if expected["kind"] == "Table":
        assert page.items == expected["rows"]
    else:
        added = {"kind": expected["kind"].removesuffix("List"), "apiVersion": expected["apiVersion"]}
        assert page.items == [{**added, **found} for found in expected["items"]]


@pytest.mark.parametrize("name", ["watch-no-rv", "watch-410-etcd", "watchlist", "list-big"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_cut_into_packets(name: str, size: int) -> None:
    """Where the packets of an answer are cut means nothing, also inside its head and its chunks' headers (D17)."""
    recording = RECORDINGS[name]
    answer = recording.answer[:6000] if name == "list-big" else recording.answer
    pieces = [RawBytes(answer[start : start + size]) for start in range(0, len(answer), size)]
    with served([*pieces, Fin()]) as (_, client):
        outcome = outcome_of(watch_resource(THINGS, client=client, timeout_seconds=SOON))
    expected = [] if name == "list-big" else lines_of(recording)
    assert [str(event.type) for event in outcome.events if event.type is not EventType.ERROR] == [
        event["type"] for event in expected if event["type"] != "ERROR"
    ]
