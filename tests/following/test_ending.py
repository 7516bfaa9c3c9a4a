"""Ending a stream that follows: in every phase, by every way; and what is left behind."""

from __future__ import annotations

import gc
import os
import threading
import time
import tracemalloc
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from kwsync import (
    Backoff,
    CancelToken,
    Client,
    Cluster,
    EndReason,
    ListWatchStream,
    WatchEnd,
    WatchEvent,
    _following,
    list_and_watch,
)
from kwsync.testing import End, Event, Head, Http, List, NoHead, Raw, ScriptedServer, Stall, Step, pod, status
from tests.cancel.support import AT_ONCE, POLLED, in_background, in_child, wait_until, waits_in
from tests.following.support import (
    FAST,
    change,
    ended_in_time,
    following,
    listed,
    live,
    shown,
    take,
    until_named,
    until_synced,
)

SLOW = Backoff(initial=600.0, cap=600.0)

PHASES: dict[str, tuple[int, Sequence[Step | Sequence[Step]], dict[str, Any]]] = {
    "list": (0, [[NoHead()]], {}),
    "list body": (0, [[Http(200, b'{"kind":"PodList",', {"Content-Length": "999"}), Stall()]], {}),
    "second page": (1, [List("10", [pod("a")], "x"), [NoHead()]], {}),
    "connecting": (1, [listed("10"), [NoHead()]], {}),
    "between events": (2, [listed("10"), live(change("ADDED", "a", "11"))], {}),
    "in a line": (2, [listed("10"), [Head(), change("ADDED", "a", "11"), Raw(b'{"type"'), Stall()]], {}),
    "backoff of a list": (1, [Http(500)], {"backoff": SLOW}),
    "backoff of a watch": (2, [listed("10"), Http(500)], {"backoff": SLOW}),
    "Retry-After": (2, [listed("10"), Http(429, "", {"Retry-After": "600"})], {}),
    "initial events": (1, [[Head(), change("ADDED", "a", "3"), Stall()]], {"watch_list": True}),
    "discovery": (0, [[NoHead()]], {"resource": "widgets"}),
}
"""Of each phase the events that come before, and what the server does."""

WAITING = "_sockets._guarded ssl.read _cancel.wait"
"""Where a thread stands that waits for a server, or for time to pass."""

WAYS: dict[str, tuple[EndReason, float]] = {
    "token": (EndReason.CANCELLED, AT_ONCE),
    "event": (EndReason.CANCELLED, POLLED),
    "close": (EndReason.CLOSED, AT_ONCE),
}


class Reading:
    """A stream that is read on a thread."""

    def __init__(self, stream: ListWatchStream, end: Callable[[], object]) -> None:
        self.stream = stream
        self.end = end
        self.events: list[WatchEvent] = []
        self.ended_at = 0.0

    def run(self) -> None:
        for event in self.stream:
            self.events.append(event)
        self.ended_at = time.perf_counter()


@contextmanager
def stuck(phase: str, way: str) -> Iterator[tuple[ScriptedServer, Reading]]:
    """A stream in this phase, read on a thread, and a way to end it."""
    count, scripts, options = PHASES[phase]
    cancel = {"token": CancelToken, "event": threading.Event}.get(way, lambda: None)()
    with following(*scripts, **{"cancel": cancel, **options}) as (server, stream):
        reading = Reading(stream, stream.close if cancel is None else cancel.set)
        with in_background(reading.run) as thread:
            try:
                server.wait_for_requests(len(scripts))
                wait_until(lambda: len(reading.events) >= count, f"{count} events")
                wait_until(lambda: waits_in(thread.ident, WAITING), f"{phase} to wait")
                yield server, reading
            finally:
                stream.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("phase", PHASES)
def test_b025_in_each_phase(phase: str, way: str) -> None:
    """B025, C30, F1, F4, F6: at once with a token or close(), soon with an event; no ERROR, and the reason is told."""
    reason, limit = WAYS[way]
    with stuck(phase, way) as (_, reading):
        count = len(reading.events)
        begin = time.perf_counter()
        reading.end()
        wait_until(lambda: reading.ended_at > 0, "the end")
        took = reading.ended_at - begin
        assert took < limit, f"{took:.3f} s"
        assert len(reading.events) == count
        assert reading.stream.end == WatchEnd(reason)


@pytest.mark.parametrize("kind", [CancelToken, threading.Event])
def test_set_before(kind: type[threading.Event]) -> None:
    """Set before the start: no request, no event, a clean end."""
    cancel = kind()
    cancel.set()
    with following(cancel=cancel) as (server, stream):
        assert list(stream) == []
        assert stream.end == WatchEnd(EndReason.CANCELLED)
        assert server.requests == []


def test_nothing_before_the_first_next() -> None:
    """Nothing is sent before somebody reads; a stream that nobody read can be closed."""
    with following() as (server, stream):
        assert stream.end is None
        stream.close()
        assert list(stream) == []
        assert server.requests == []
        closed: WatchEnd | None = stream.end
        assert closed == WatchEnd(EndReason.CLOSED)


def test_close_twice_and_from_within() -> None:
    """close() works between two events, twice, and afterwards there is nothing more."""
    with following(listed("10", "a", "b")) as (_, stream):
        assert next(stream).key.name == "a"
        stream.close()
        stream.close()
        assert next(stream, None) is None
        assert stream.end == WatchEnd(EndReason.CLOSED)


def test_the_first_cause_counts() -> None:
    """Closed, then cancelled: it was closed."""
    token = CancelToken()
    with following(listed("10", "a"), cancel=token) as (_, stream):
        next(stream)
        stream.close()
        token.set()
        assert list(stream) == []
        assert stream.end == WatchEnd(EndReason.CLOSED)


def test_no_event_after_the_cancellation() -> None:
    """What has been read already is not handed out once the stream is cancelled."""
    token = CancelToken()
    with following(listed("10", "a", "b"), cancel=token) as (_, stream):
        assert next(stream).key.name == "a"
        token.set()
        assert list(stream) == []
        assert stream.end == WatchEnd(EndReason.CANCELLED)


@pytest.mark.parametrize("count", [1, 3, 4])
def test_dropped(count: int) -> None:
    """Like a file, it is closed when nobody holds it: in a state, between state and watch, in the watch."""
    script = live(change("ADDED", "c", "11"))
    with ScriptedServer(listed("10", "a", "b"), script) as server, Client(Cluster(server.url)) as client:
        for number, _ in enumerate(list_and_watch("pods", client=client, backoff=FAST), 1):
            if number == count:
                break
        if count == 4:
            server.wait_for_disconnect()
        assert len(server.requests) == (2 if count == 4 else 1)


def test_no_cycle() -> None:
    """The stream and all that belongs to it go by reference counting."""
    gc.disable()
    try:
        with following(listed("10"), live(change("ADDED", "a", "11"))) as (_, stream):
            take(stream, 2)
            inner = weakref.ref(stream._reader.following)
            stream.close()
            del stream
            assert inner() is not None, "the fixture still holds it"
        with ScriptedServer(default=Http(500)) as server, Client(Cluster(server.url)) as client:
            mine = list_and_watch("pods", client=client, backoff=FAST)
            take(mine, 3)
            inner = weakref.ref(mine._reader.following)
            del mine
            assert inner() is None
    finally:
        gc.enable()


def test_memory() -> None:
    """F10, E7: hundreds of lists and watches, one after another, leave nothing behind."""
    broken = [Head(), change("ADDED", "a", "10", spec={"x": "y" * 2000}), Event("ERROR", status(410)), End()]
    with following(default=broken, backoff=Backoff(initial=0)) as (server, stream):
        server.on(lambda request: not request.is_watch, listed("10", "b"))
        take(stream, 200)
        tracemalloc.start()
        try:
            with ended_in_time(stream, 30.0):
                before = _kept_after(server, stream, 100)
                after = _kept_after(server, stream, 600)
        finally:
            tracemalloc.stop()
    assert after - before < 50_000, f"{after - before} bytes for 600 events"


def _kept_after(server: ScriptedServer, stream: ListWatchStream, count: int) -> int:
    """What Python holds after so many more events, in bytes; what the server has noted does not count."""
    for _ in range(count):
        next(stream)
    server.requests.clear()
    gc.collect()
    ours = tracemalloc.Filter(True, f"{os.path.dirname(_following.__file__)}/_*")
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([ours]).traces)


def test_two_threads() -> None:
    """One thread at a time reads it; another gets ValueError, as with generators, and the first goes on."""
    go = threading.Event()
    with following(listed("10"), live()) as (server, stream):
        until_synced(stream)
        seen: list[WatchEvent] = []

        def read() -> None:
            go.set()
            seen.extend(stream)

        with in_background(read):
            assert go.wait(5)
            server.wait_for_requests(2)
            with pytest.raises(ValueError, match="already executing"):
                next(stream)
            stream.close()
        assert seen == []


def test_an_exception_in_the_loop() -> None:
    """An exception of the user's leaves the with block, and the stream is closed."""
    with following(listed("10", "a")) as (_, stream):

        def loop() -> None:
            with stream:
                for _event in stream:
                    raise RuntimeError("mine")

        with pytest.raises(RuntimeError, match="mine"):
            loop()
        assert stream.end == WatchEnd(EndReason.CLOSED)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
class TestFork:
    def test_between_two_events(self) -> None:
        """The child's copy has ended, whatever the child does with it, and the parent's goes on."""
        with following(listed("10"), live(change("ADDED", "a", "11"), change("ADDED", "b", "12"))) as (_, stream):
            assert shown(take(stream, 2)) == ["SYNCED", "ADDED a"]

            def look() -> list[Any]:
                found = list(stream)
                stream.close()
                return [len(found), stream.end, stream.is_connected, stream.last_activity]

            assert in_child(look) == [0, WatchEnd(EndReason.CLOSED), False, None]
            assert shown(until_named(stream, "b")) == ["ADDED b"]

    @pytest.mark.parametrize("phase", ["list", "between events", "backoff of a watch"])
    def test_while_a_thread_waits(self, phase: str) -> None:
        """A child that is made while another thread reads has nothing of it, and disturbs nothing."""
        with stuck(phase, "token") as (server, reading):
            stream = reading.stream

            def look() -> list[Any]:
                return [len(list(stream)), stream.end]

            assert in_child(look) == [0, WatchEnd(EndReason.CLOSED)]
            assert server.disconnects == 0
            assert reading.ended_at == 0
            reading.end()
            wait_until(lambda: reading.ended_at > 0, "the end")
            assert stream.end == WatchEnd(EndReason.CANCELLED)

    def test_chance_is_not_shared(self) -> None:
        """Children of one parent do not all come back at the same moment: each has waits of its own."""
        children = {in_child(_following._chance.random) for _ in range(3)}
        assert len(children | {_following._chance.random()}) == 4

    def test_before_the_start(self) -> None:
        """A stream that was not begun is begun where it is read."""
        with following(listed("10", "a"), default=listed("10", "a")) as (_, stream):
            assert in_child(lambda: next(stream).key.name) == "a"


def test_reprs() -> None:
    """The stream says what it follows, and how it ended."""
    with following(listed("10")) as (_, stream):
        assert repr(stream) == "<ListWatchStream pods open>"
        stream.close()
        assert repr(stream) == "<ListWatchStream pods CLOSED>"
