"""Every way to end a watch, in every phase in which it may wait: at once, cleanly, with the right reason."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import kwsync
from kwsync import CancelToken, EndReason, WatchEnd, WatchEvent
from kwsync.testing import End, Event, Head, Http, Rst, ScriptedServer, Stall, StallUntil, pod
from tests.cancel.support import (
    AT_ONCE,
    LIMIT,
    PHASES,
    POLLED,
    REASONS,
    Phase,
    Watching,
    client_of,
    each_phase,
    each_way,
    handling,
    interrupting,
    plain_and_tls,
    record,
    serving,
)


@each_way
@each_phase
def test_each_phase(phase: Phase, way: str) -> None:
    """A watch that waits ends at once (plain event: 100 ms), with no exception and no error; the server sees it."""
    with phase.open() as scene:
        watching = Watching(scene.client, way, scene.resource)
        watching.start()
        watching.wait_in(phase, scene)
        began = watching.end()
        watching.finish()
        took = watching.ended_at - began
        record(way, took)
        assert watching.ends == [WatchEnd(REASONS[way])]
        assert watching.watch.end == WatchEnd(REASONS[way])
        assert len(watching.events) == scene.events
        assert took < (POLLED if way == "event" else AT_ONCE)
        if isinstance(watching.watch, kwsync.WatchStream):
            assert watching.watch.skipped_lines == 0  # what was on its way is no line that was cut
        if scene.server is not None:
            scene.server.wait_for_disconnect(LIMIT)


@each_way
@plain_and_tls
def test_before_the_start(way: str, secure: bool) -> None:
    """What is ended before it starts sends nothing, not even a connection, and gives no event."""
    with serving(default=Http(500), secure=secure) as (server, client):
        watching = Watching(client, way)
        watching.end()
        watching.start()
        watching.finish()
        assert (watching.events, watching.ends) == ([], [WatchEnd(REASONS[way])])
        assert server.connections_accepted == 0


@each_way
@plain_and_tls
def test_slow_consumer(way: str, secure: bool) -> None:
    """A consumer that is busy with an event gets no other one after the end, though they have arrived already."""
    busy, free = threading.Event(), threading.Event()

    def consume(event: WatchEvent) -> None:
        busy.set()
        assert free.wait(LIMIT), "nobody freed the consumer"

    events = [Event("ADDED", pod(name)) for name in "abcd"]
    with serving([Head(), *events, Stall()], secure=secure) as (server, client):
        watching = Watching(client, way, on_event=consume)
        watching.start()
        assert busy.wait(LIMIT), "no event came"
        began = watching.end()
        free.set()
        watching.finish()
        record(f"{way}, slow consumer", watching.ended_at - began)
        assert watching.ends == [WatchEnd(REASONS[way])]
        assert len(watching.events) == 1
        assert watching.ended_at - began < AT_ONCE
        server.wait_for_disconnect(LIMIT)


@pytest.mark.parametrize("way", ["token", "close"])
@each_phase
def test_from_a_signal_handler(phase: Phase, way: str) -> None:
    """A handler that runs in the middle of the waiting thread ends the watch as any other thread does."""
    me = threading.get_ident()
    with phase.open() as scene:
        watching = Watching(scene.client, way, scene.resource)
        assert isinstance(watching.watch, kwsync.WatchStream)
        seen = 0
        with (
            handling(signal.SIGUSR1, lambda number, frame: watching.end()),
            interrupting(signal.SIGUSR1, lambda: seen == scene.events and scene.holds(me, phase.functions)) as sent,
        ):
            for event in watching.watch:
                assert event.error is None
                seen += 1
            took = time.perf_counter() - sent[0]
        record(f"{way} in a signal handler", took)
        assert watching.watch.end == WatchEnd(REASONS[way])
        assert seen == scene.events
        assert took < AT_ONCE


@pytest.mark.parametrize("way", ["token", "close"])
def test_between_attaching_and_connecting(way: str) -> None:
    """Ended in the last moment before the kernel connects, when there is nothing to shut down yet, it still ends."""
    phase = next(phase for phase in PHASES if phase.name == "connect")
    with phase.open() as scene:
        watching = Watching(scene.client, way)
        hook = _OnConnect(watching.end)
        watching.start()
        watching.finish()
        assert hook.began is not None
        assert watching.ended_at - hook.began < AT_ONCE
        assert watching.ends == [WatchEnd(REASONS[way])]


class _OnConnect:
    """Calls a function in the middle of the next ``connect()`` of a socket, before the system call."""

    def __init__(self, function: Callable[[], float]) -> None:
        self._function: Callable[[], float] | None = function
        self.began: float | None = None
        sys.addaudithook(self._look)  # for good, but it acts only once

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "socket.connect" and self._function is not None:
            function, self._function = self._function, None
            self.began = function()


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [("token", "close", EndReason.CANCELLED), ("close", "token", EndReason.CLOSED)],
)
def test_the_first_cause_wins(first: str, second: str, reason: EndReason) -> None:
    """Of two causes the first is told."""
    with serving([Head(), Event("ADDED", pod("a")), Stall()]) as (_, client):
        token = CancelToken()
        stream = kwsync.watch_resource("pods", client=client, cancel=token)
        next(stream)
        acts = {"token": token.set, "close": stream.close}
        acts[first]()
        acts[second]()
        assert list(stream) == []
        assert stream.end == WatchEnd(reason)


@pytest.mark.parametrize("way", ["token", "close"])
def test_the_end_stays(way: str) -> None:
    """A stream that has ended keeps its reason, whoever ends it again."""
    with serving([Head(), Event("ADDED", pod("a")), End()]) as (_, client):
        token = CancelToken()
        stream = kwsync.watch_resource("pods", client=client, cancel=token)
        assert len(list(stream)) == 1
        (token.set if way == "token" else stream.close)()
        assert next(stream, None) is None
        assert stream.end == WatchEnd(EndReason.SERVER_CLOSED)


@each_way
def test_before_trouble_of_the_server(way: str, scripted_server: ScriptedServer) -> None:
    """What the server does after the watch was ended, while its consumer was busy, is no error any more."""
    busy, reset = threading.Event(), threading.Event()

    def consume(event: WatchEvent) -> None:
        busy.set()
        assert reset.wait(LIMIT), "the server did not reset the connection"

    go = threading.Event()
    scripted_server.add(Head(), Event("ADDED", pod("a")), StallUntil(go), Rst())
    with client_of(scripted_server.url) as client:
        watching = Watching(client, way, on_event=consume)
        watching.start()
        assert busy.wait(LIMIT), "no event came"
        watching.end()
        go.set()
        scripted_server.wait_until_idle()
        reset.set()
        watching.finish()
        assert watching.ends == [WatchEnd(REASONS[way])]


def test_latched() -> None:
    """A stream that saw its event set has ended, also when the event is cleared afterwards."""
    with serving([Head(), Event("ADDED", pod("a")), Stall()]) as (_, client):
        event = threading.Event()
        stream = kwsync.watch_resource("pods", client=client, cancel=event)
        next(stream)
        event.set()
        assert next(stream, None) is None
        event.clear()
        assert next(stream, None) is None
        assert stream.end == WatchEnd(EndReason.CANCELLED)


def test_one_event_for_many() -> None:
    """One token or event ends all the watches that were given it, and only those."""
    script = [Head(), Event("ADDED", pod("a")), Stall()]
    with serving(default=script) as (server, client):
        for event in (threading.Event(), CancelToken()):
            streams = [kwsync.watch_resource("pods", client=client, cancel=event) for _ in range(5)]
            other = kwsync.watch_resource("pods", client=client, cancel=type(event)())
            for stream in (*streams, other):
                next(stream)
            event.set()
            assert [next(stream, None) for stream in streams] == [None] * 5
            assert {stream.end for stream in streams} == {WatchEnd(EndReason.CANCELLED)}
            assert other.end is None
            other.close()
        server.wait_for_disconnect(LIMIT, 12)
