"""One object that Python cannot read takes nothing with it: all others, and its own coming and going, are told."""

from __future__ import annotations

import json
import logging
import threading

import pytest

from kwsync import (
    Client,
    Cluster,
    ErrorOrigin,
    EventType,
    Informer,
    WatchError,
    WatchEvent,
    _json,
    _scan,
    watch_resource,
)
from kwsync._scan import _plain
from kwsync.testing import End, Event, Head, Http, Raw, ScriptedServer, Stall, StallUntil, Step, pod, status
from tests.following.support import FAST, LIMIT, asked, following, synced, take, take_until

BAD = {
    "deep": b"[" * 50_000 + b"]" * 50_000,
    "integer": b"7" * 6000,
}

AT_THE_EDGE = [b'{"a":' * depth + b"1" + b"}" * depth for depth in (900, 960, 975, 985, 990, 1000, 1024)]
"""Some of their readers can decode them, and others, further up the stack, cannot."""


@pytest.fixture(params=["fast", "plain"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the parsers that are installed, and with the standard library alone."""
    if request.param == "plain":
        monkeypatch.setattr(_scan, "_strategy", _plain.STRATEGY)
        monkeypatch.setattr(_json, "_loads", _json._slow_loads)
        monkeypatch.setattr(_json, "_dumps", _json._slow_dumps)


@pytest.fixture(params=[*BAD.values()], ids=[*BAD])
def bad(request: pytest.FixtureRequest) -> bytes:
    """A value that cannot be read."""
    value: bytes = request.param
    return value


def document(name: str, version: str, value: bytes = b"1") -> bytes:
    """A pod, as bytes."""
    return json.dumps({**pod(name, version), "spec": "VALUE"}).encode().replace(b'"VALUE"', value)


def told(kind: str, name: str, version: str, value: bytes = b"1") -> Raw:
    """A watch's line."""
    return Raw(b'{"type":"%b","object":%b}\n' % (kind.encode(), document(name, version, value)))


def page(version: str, *items: bytes) -> Http:
    """A list."""
    head = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%b"},"items":[%b]}'
    return Http(200, head % (version.encode(), b",".join(items)), {"Content-Type": "application/json"})


def scripts(value: bytes) -> list[Step | list[Step]]:
    """One life of the object *odd*: it comes, changes, is listed, goes, comes again, and is gone from a list."""
    expired: list[Step] = [Event("ERROR", status(410, "Expired")), End()]
    return [
        page("10", document("a", "1")),
        [Head(), told("ADDED", "odd", "11", value), told("MODIFIED", "a", "12"), *expired],
        page("13", document("a", "12"), document("odd", "11", value), document("b", "13")),
        [Head(), told("MODIFIED", "odd", "14", value), told("MODIFIED", "b", "15"), *expired],
        page("17", document("a", "12"), document("odd", "16", value), document("b", "15")),
        [Head(), told("DELETED", "odd", "18", value), told("ADDED", "odd", "19", value), *expired],
        page("20", document("a", "12"), document("b", "20")),
        [Head(), told("ADDED", "last", "21"), Stall()],
    ]


def marks(event: WatchEvent) -> tuple[str, str, str | None, bool]:
    """What can be read of every event."""
    return str(event.type), str(event.key) if event.error is None else "", event.resource_version, event.initial


def life_of(value: bytes) -> list[tuple[str, str, str | None, bool]]:
    """What a stream tells of one life."""
    with following(*scripts(value)) as (_, stream):
        return [marks(event) for event in take_until(stream, lambda event: event.resource_version == "21")]


@pytest.mark.parametrize("bad", [*BAD.values(), *AT_THE_EDGE], ids=len)
def test_list_and_watch(bad: bytes) -> None:
    """A stream tells what it would tell if nothing were odd about the object."""
    life = life_of(bad)
    assert life == life_of(b"1")
    assert [mark[:3] for mark in life if "odd" in mark[1]] == [
        ("ADDED", "default/odd", "11"),
        ("MODIFIED", "default/odd", "14"),
        ("MODIFIED", "default/odd", "16"),
        ("DELETED", "default/odd", "18"),
        ("ADDED", "default/odd", "19"),
        ("DELETED", "default/odd", "19"),
    ]


def test_initial_events(bad: bytes) -> None:
    """The same for a full state that the watch itself tells, and the version to go on from."""
    first: list[Step] = [Head(), told("ADDED", "a", "1"), told("ADDED", "odd", "2", bad), synced("9")]
    with following([*first, told("MODIFIED", "odd", "10", bad), Stall()], watch_list=True) as (_, stream):
        events = take(stream, 4)
        assert [marks(event)[:3] for event in events[:3]] == [
            ("ADDED", "default/a", "1"),
            ("ADDED", "default/odd", "2"),
            ("SYNCED", "", "9"),
        ]
        assert marks(events[3]) == ("MODIFIED", "default/odd", "10", False)
        assert stream.skipped_lines == 0
        with pytest.raises(ValueError, match="default/odd cannot be decoded"):
            _ = events[3].object
        assert stream.resource_version == "10"


def test_looking_at_it(bad: bytes) -> None:
    """To look at the object is a ValueError that names it; the event can be shown and compared by its other words."""
    with following(page("10", document("odd", "1", bad), document("a", "2"))) as (_, stream):
        odd, good = take(stream, 2)
        with pytest.raises(ValueError, match="default/odd cannot be decoded"):
            _ = odd.object
        assert "default/odd cannot be decoded" in repr(odd)
        assert (odd.key.name, odd.resource_version, odd.initial) == ("odd", "1", True)
        assert (good.object or {})["spec"] == 1


@pytest.mark.parametrize("options", [{}, {"compress": True}, {"indexers": {"one": lambda _: ["x"]}}], ids=" ".join)
def test_informer(bad: bytes, options: dict[str, bool]) -> None:
    """One that starts then is synced; the object is in its store, told to its handlers, and its end is seen."""
    if "compress" in options:
        pytest.importorskip("zstandard")
    errors: list[WatchError] = []
    seen: list[str] = []
    looked, changed, gone = threading.Event(), threading.Event(), threading.Event()

    def note(event: WatchEvent) -> None:
        seen.append(f"{event.type} {event.key.name} {event.resource_version}")
        if event.resource_version == "12":
            changed.set()
        if event.type is EventType.DELETED:
            gone.set()

    changes = [told("MODIFIED", "odd", "11", bad), told("MODIFIED", "a", "12")]
    end = told("DELETED", "odd", "13", bad)
    script: list[Step] = [Head(), StallUntil(looked), *changes, StallUntil(changed), end, Stall()]
    with (
        ScriptedServer(page("10", document("a", "1"), document("odd", "2", bad)), script) as server,
        Client(Cluster(server.url)) as client,
    ):
        informer = Informer("pods", client=client, backoff=FAST, on_error=errors.append, **options)  # type: ignore[arg-type]
        handler = informer.add_handler(note, note, note)
        with informer:
            assert informer.wait_synced(LIMIT)
            assert handler.wait_synced(LIMIT)
            store = informer.store
            assert sorted(map(str, store)) == ["default/a", "default/odd"]
            for read in (lambda: store.get("default/odd"), store.list):
                with pytest.raises(ValueError, match="default/odd cannot be decoded"):
                    read()
            assert (store.get("default/a") or {})["spec"] == 1
            looked.set()
            assert gone.wait(LIMIT), "the end of the object"
            assert [str(key) for key in store] == ["default/a"]
    assert seen == ["ADDED a 1", "ADDED odd 2", "MODIFIED odd 11", "MODIFIED a 12", "DELETED odd 13"]
    expected = {ErrorOrigin.DECODE} if "indexers" in options else set()
    assert {error.origin for error in errors} == expected
    assert all("default/odd cannot be decoded" in str(error) for error in errors)


def test_transform(bad: bytes) -> None:
    """What cannot be decoded cannot be transformed: it is not kept, the error names it, and all others are there."""
    errors: list[WatchError] = []
    listed = page("10", document("odd", "2", bad), document("a", "1"))
    with (
        ScriptedServer(listed, default=[Head(), Stall()]) as server,
        Client(Cluster(server.url)) as client,
        Informer("pods", client=client, transform=dict, on_error=errors.append) as informer,
    ):
        assert informer.wait_synced(LIMIT)
        assert [str(key) for key in informer.store] == ["default/a"]
    assert [error.origin for error in errors] == [ErrorOrigin.DECODE]
    assert "default/odd cannot be decoded" in str(errors[0])


def test_handler(bad: bytes) -> None:
    """A handler that looks at it has its error reported with the object's name, and is told of all others."""
    errors: list[WatchError] = []
    names: list[str] = []
    done = threading.Event()

    def look(event: WatchEvent) -> None:
        names.append((event.object or {})["metadata"]["name"])
        done.set()

    listed = page("10", document("odd", "2", bad), document("z", "1"))
    with (
        ScriptedServer(listed, default=[Head(), Stall()]) as server,
        Client(Cluster(server.url)) as client,
        Informer("pods", client=client, on_error=errors.append) as informer,
    ):
        informer.add_handler(look)
        assert done.wait(LIMIT), "the object behind it"
    assert names == ["z"]
    assert [error.origin for error in errors] == [ErrorOrigin.CALLBACK]
    assert "default/odd cannot be decoded" in str(errors[0])


def test_malformed(bad: bytes) -> None:
    """A line that is broken besides is none, and a list that is broken besides is one failure; then all goes on."""
    cut = document("odd", "11", bad[:-1] + b",}")
    broken = [Head(), Raw(b'{"type":"ADDED","object":%b}\n' % cut), Stall()]
    with following(
        page("10", document("a", "1")), broken, page("12", cut), page("13", document("a", "1")), [Head(), Stall()]
    ) as (server, stream):
        events = take(stream, 5)
        assert [str(event.type) for event in events] == ["ADDED", "SYNCED", "ERROR", "ERROR", "SYNCED"]
        assert {event.error.origin for event in events if event.error} == {ErrorOrigin.DECODE}
        assert asked(server)[:4] == ["LIST", "WATCH 10", "LIST", "LIST"]


def test_watch_resource(bad: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """A watch of decoded events skips the line, counts it and logs it; it tells all others."""
    script = [Head(), told("ADDED", "a", "1"), told("ADDED", "odd", "2", bad), told("ADDED", "b", "3"), End()]
    with (
        caplog.at_level(logging.WARNING, "kwsync"),
        ScriptedServer(script) as server,
        Client(Cluster(server.url)) as client,
        watch_resource("pods", client=client) as stream,
    ):
        assert [event.key.name for event in stream] == ["a", "b"]
        assert (stream.skipped_lines, len(caplog.records)) == (1, 1)


def test_client_list(bad: bytes) -> None:
    """A list of decoded objects cannot have it, and says why."""
    body = page("1", document("a", "1"), document("odd", "2", bad))
    with (
        ScriptedServer(body) as server,
        Client(Cluster(server.url)) as client,
        pytest.raises(WatchError, match=r"the answer cannot be decoded: (nested too deeply|.* digits)") as raised,
    ):
        client.list("pods")
    assert raised.value.origin is ErrorOrigin.DECODE


@pytest.mark.parametrize("bad", [*BAD.values(), *AT_THE_EDGE], ids=len)
def test_from_the_start(bad: bytes) -> None:
    """A stream that starts when the object is there already is synced at once, and stays connected."""
    with following(page("10", document("odd", "1", bad)), [Head(), told("ADDED", "a", "11"), Stall()]) as (
        server,
        stream,
    ):
        events = [marks(event)[:2] for event in take(stream, 3)]
        assert events == [("ADDED", "default/odd"), ("SYNCED", ""), ("ADDED", "default/a")]
        assert asked(server) == ["LIST", "WATCH 10"]
