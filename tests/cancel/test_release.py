"""However a stream ends, it closes its connection and leaves nothing behind."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import pytest

import kwsync
from kwsync import CancelToken, Client, Cluster, EndReason, WatchStream
from kwsync.testing import (
    CutChunk,
    End,
    Event,
    Fin,
    Head,
    Http,
    Rst,
    ScriptedServer,
    Stall,
    Step,
    pod,
    status,
)
from tests.cancel.support import (
    AT_ONCE,
    LIMIT,
    WAYS,
    Watching,
    client_of,
    plain_and_tls,
    serving,
)

ENDLESS: list[Step] = [Head(), Event("ADDED", pod("a")), Event("ADDED", pod("b")), Stall()]


def watch(client: Client, cancel: threading.Event | None = None, max_line_bytes: int = 1024) -> WatchStream:
    """The watch of these tests."""
    return kwsync.watch_resource("pods", client=client, cancel=cancel, max_line_bytes=max_line_bytes)


# Ways to leave a stream that goes on


def leave_by_break(client: Client) -> None:
    """Leave an anonymous stream by ``break``."""
    for _ in watch(client):
        break


def leave_by_exception(client: Client) -> None:
    """Leave an anonymous stream by an exception."""
    with suppress(LookupError):
        for _ in watch(client):
            raise LookupError


def leave_by_dropping(client: Client) -> None:
    """Drop the last reference to a stream."""
    stream = watch(client)
    next(stream)
    del stream


def leave_by_with(client: Client) -> None:
    """Leave a ``with`` block."""
    with watch(client) as stream:
        next(stream)


def leave_with_by_exception(client: Client) -> None:
    """Leave a ``with`` block by an exception."""
    with suppress(LookupError), watch(client) as stream:
        next(stream)
        raise LookupError


def leave_by_close_twice(client: Client) -> None:
    """Close a stream twice."""
    stream = watch(client)
    next(stream)
    stream.close()
    stream.close()
    assert next(stream, None) is None


def leave_by_token(client: Client) -> None:
    """Set the token, and come back once."""
    token = CancelToken()
    stream = watch(client, token)
    next(stream)
    token.set()
    assert next(stream, None) is None


def leave_by_event(client: Client) -> None:
    """Set a plain event, and come back once."""
    event = threading.Event()
    stream = watch(client, event)
    next(stream)
    event.set()
    assert next(stream, None) is None


def leave_with_an_event_unset(client: Client) -> None:
    """Drop a stream whose event and token nobody ever sets."""
    for cancel in (threading.Event(), CancelToken()):
        next(watch(client, cancel))


LEAVING = [
    leave_by_break,
    leave_by_exception,
    leave_by_dropping,
    leave_by_with,
    leave_with_by_exception,
    leave_by_close_twice,
    leave_by_token,
    leave_by_event,
    leave_with_an_event_unset,
]


@contextmanager
def no_collector() -> Iterator[None]:
    """Only reference counting frees anything."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


OURS = {"Answer", "Kept", "GuardedSocket", "GuardedTLSSocket"}
if sys.version_info >= (3, 11):  # contextlib of 3.10 leaves a cycle with what the frames of an exception hold
    OURS |= {"WatchStream", "ListWatchStream", "WatchReader", "Following", "Guard", "HTTPResponse"}


def alive() -> Counter[str]:
    """The objects of kwsync that a stream is made of, and the sockets and responses below, by their type."""
    return Counter(type(one).__name__ for one in gc.get_objects() if type(one).__name__ in OURS)


@pytest.mark.parametrize("leave", LEAVING)
@plain_and_tls
def test_leaving(leave: Callable[[Client], None], secure: bool) -> None:
    """Whatever leaves a stream closes its connection at once, without the garbage collector; no object stays."""
    with no_collector(), serving(default=ENDLESS, secure=secure) as (server, client):
        before = alive()
        leave(client)
        server.wait_for_disconnect(AT_ONCE, len(server.requests))
        server.wait_until_idle(AT_ONCE)
        assert alive() - before == Counter()


# Ends that are the server's


LONG_LINE: list[Step] = [Head(), Event("ADDED", pod("long", spec={"x": "x" * 2048})), Stall()]
BROKEN: dict[str, list[Step]] = {
    "cut between chunks": [Head(), Event("ADDED", pod("a")), Fin()],
    "cut in a chunk": [Head(), CutChunk(b'{"type"', 100), Fin()],
    "reset": [Head(), Event("ADDED", pod("a")), Rst()],
    "reset before the head": [Rst()],
    "closed before the head": [Fin()],
    "line too long": LONG_LINE,
    "error answer that goes on": [Head(500), Event("x", {}), Fin()],
    "error in the stream, then cut": [Head(), Event("ERROR", status(410, "Expired")), Fin()],
}


@pytest.mark.parametrize("script", BROKEN)
@plain_and_tls
def test_ends_badly(script: str, secure: bool) -> None:
    """After an end that breaks the connection nothing is open already when the last event is handed out."""
    with no_collector(), serving(BROKEN[script], secure=secure) as (server, client):
        before = alive()
        stream = watch(client)
        ends_seen: list[bool] = []
        for event in stream:
            ends_seen.append(stream.end is not None)
            if stream.end is not None:
                server.wait_until_idle(AT_ONCE)
                assert event.error is not None
        assert ends_seen[-1]
        assert stream.end is not None
        assert stream.end.reason is EndReason.ERROR
        assert server.connections_accepted == 1
        del stream, event
        assert alive() - before == Counter()


COMPLETE: dict[str, list[Step]] = {
    "end of the stream": [Head(), Event("ADDED", pod("a")), End()],
    "no event": [Head(), End()],
    "error in the stream": [Head(), Event("ERROR", status(410, "Expired")), End()],
    "error answer": [Http(410, status(410, "Expired"))],
    "no permission": [Http(403, status(403, "Forbidden"))],
}


@pytest.mark.parametrize("script", COMPLETE)
@plain_and_tls
def test_ends_well(script: str, secure: bool) -> None:
    """After an answer that was read to its end the connection is kept for the next, and closed with the client."""
    with no_collector(), serving(default=COMPLETE[script], secure=secure) as (server, client):
        for _ in range(3):
            stream = watch(client)
            list(stream)
            assert stream.end is not None
            stream.close()
        assert (server.connections_accepted, server.disconnects, server.open_connections) == (1, 0, 1)
        client.close()
        server.wait_for_disconnect(AT_ONCE)


def test_refused() -> None:
    """A hundred connections that are refused leave no socket and no thread; each is one error."""
    with ScriptedServer() as server:
        server.stop_listening()
        with no_collector(), client_of(server.url) as client:
            before = alive()
            for _ in range(100):
                assert [event.error is None for event in watch(client, threading.Event())] == [False]
            assert alive() - before == Counter()


def test_never_connected() -> None:
    """Connections that time out leave nothing either."""
    with ScriptedServer(connect_stall=True) as server, no_collector():
        client = Client(Cluster(server.url), connect_timeout=0.02)
        before = alive()
        for _ in range(5):
            assert [event.error is None for event in watch(client)] == [False]
        assert alive() - before == Counter()


@pytest.mark.parametrize("state", ["unstarted", "ended", "failed", "refused", "closed while read"])
def test_no_cycle(state: str) -> None:
    """No reference cycle keeps a stream alive, in whatever state it is dropped."""
    scripts: dict[str, list[Step]] = {
        "ended": COMPLETE["no event"],
        "failed": COMPLETE["error answer"],
        "refused": [Rst()],
    }
    with no_collector(), serving(scripts.get(state, ENDLESS)) as (_, client):
        before = alive()
        watching = Watching(client, "close") if state == "closed while read" else None
        if watching is not None:
            watching.start()
            watching.wait_for(2)
            watching.end()
            watching.finish()
        stream = watching.watch if watching is not None else watch(client)
        assert isinstance(stream, WatchStream)
        if state in scripts:
            list(stream)
        reference = weakref.ref(stream)
        del stream, watching
        assert reference() is None
        assert alive() - before - Counter(Kept=1, GuardedSocket=1, HTTPResponse=1, Guard=1) == Counter()


@pytest.mark.parametrize("way", ["token", "event", "close"])
def test_ended_while_it_waits(way: str) -> None:
    """A watch that was ended in the middle holds nothing any more, however it was ended."""
    with no_collector(), serving(ENDLESS) as (server, client):
        before = alive()
        watching = Watching(client, way)
        watching.start()
        watching.wait_for(2)
        watching.end()
        watching.finish()
        reference = weakref.ref(watching.watch)
        del watching
        assert reference() is None
        server.wait_for_disconnect(AT_ONCE)
        assert alive() - before == Counter()


def _set(event: threading.Event, _: object) -> None:
    event.set()


def _fail(argument: object) -> None:
    raise LookupError("on purpose")


@pytest.mark.parametrize("state", ["unstarted", "ended", "stopped", "failing"])
def test_thread_is_dropped(state: str) -> None:
    """A thread whose watch has not begun or has ended is freed without the collector, with all it had."""
    with (
        no_collector(),
        serving(COMPLETE["end of the stream"] if state == "ended" else ENDLESS) as (server, client),
    ):
        before = alive()
        got = threading.Event()
        thread = kwsync.WatchThread("pods", client=client, reconnect=False, on_event=lambda event: got.set())
        if state == "failing":
            thread.on_added(_fail)
            thread.on_error(lambda error: None)
        if state != "unstarted":
            thread.start()
            assert got.wait(LIMIT), "no event came"
        if state in ("failing", "stopped"):
            thread.stop()
        assert thread.join(LIMIT)
        reference = weakref.ref(thread)
        del thread
        assert reference() is None
        if state in ("failing", "stopped"):
            server.wait_for_disconnect(AT_ONCE)
            assert alive() - before == Counter()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [threading.Event, CancelToken])
def test_many_streams_of_one_event(kind: Callable[[], threading.Event]) -> None:
    """2,000 streams that share one long-lived event leave nothing with it; memory does not grow."""
    script = [Head(), Event("ADDED", pod("a")), End()]
    cancel = kind()
    with serving(default=script) as (server, client):

        def run(count: int) -> int:
            for _ in range(count):
                assert len(list(watch(client, cancel))) == 1
            server.requests.clear()
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            before = run(1000)
            grown = run(1000) - before
        finally:
            tracemalloc.stop()
        assert grown < 1_000_000
        assert server.connections_accepted == 1
        stream = watch(client, cancel)
        cancel.set()
        assert list(stream) == []


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_many_ends(way: str) -> None:
    """300 watches that are ended while they wait leave no connection, no thread, no registration."""
    with serving(default=[Head(), Event("ADDED", pod("a")), Stall()]) as (server, client):
        for _ in range(300 if way != "event" else 30):
            got = threading.Event()
            watching = Watching(client, way, on_event=partial(_set, got))
            watching.start()
            assert got.wait(LIMIT), "no event came"
            watching.end()
            watching.finish()
        server.wait_until_idle(LIMIT)
        assert threading.active_count() < 10
