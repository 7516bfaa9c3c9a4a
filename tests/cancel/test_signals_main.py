"""Signals while the main thread reads: Ctrl-C and handlers that raise or end, in each phase and at each point."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType

import pytest

import kwsync
from kwsync import CancelToken, Client, EndReason, WatchEnd, WatchStream, WatchThread
from kwsync.testing import End, Event, Head, Http, ScriptedServer, Stall, StallUntil, Step, pod, status
from tests.cancel.support import (
    AT_ONCE,
    JOINING,
    LIMIT,
    Phase,
    each_phase,
    handling,
    inherited_sockets,
    interrupting,
    plain_and_tls,
    points,
    record,
    serving,
    wait_until,
    waits_in,
)
from tests.leaks import open_sockets


class Alarm(Exception):
    """What a handler of the application raises to break off whatever runs too long."""


def raise_alarm(number: int, frame: FrameType | None) -> None:
    """The handler of such an application."""
    raise Alarm("time is up")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, Alarm])
@each_phase
def test_raised_in_each_phase(phase: Phase, kind: type[BaseException]) -> None:
    """Ctrl-C, or a handler's own exception, leaves next() at once as it is, and closes the stream."""
    me = threading.get_ident()
    number = signal.SIGINT if kind is KeyboardInterrupt else signal.SIGALRM
    handler = signal.default_int_handler if kind is KeyboardInterrupt else raise_alarm
    with phase.open() as scene:
        stream = kwsync.watch_resource(scene.resource, client=scene.client)
        for _ in range(scene.events):
            next(stream)
        with (
            handling(number, handler),
            interrupting(number, lambda: scene.holds(me, phase.functions)) as sent,
            pytest.raises(kind),
        ):
            next(stream)
        took = time.perf_counter() - sent[0]
        record(f"{kind.__name__} raised by a handler", took)
        assert took < AT_ONCE
        assert stream.end == WatchEnd(EndReason.CLOSED)
        assert next(stream, None) is None
        if scene.server is not None:
            scene.server.wait_for_disconnect(LIMIT)


def test_in_a_for_loop() -> None:
    """Ctrl-C ends a plain loop over an anonymous stream, and nothing stays open."""
    me = threading.get_ident()
    with serving([Head(), Event("ADDED", pod("a")), Stall()]) as (server, client):
        names: list[str] = []
        with (
            handling(signal.SIGINT, signal.default_int_handler),
            interrupting(signal.SIGINT, lambda: bool(names) and waits_in(me, "_sockets._guarded")),
            pytest.raises(KeyboardInterrupt),
        ):
            names.extend(event.key.name for event in kwsync.watch_resource("pods", client=client))
        assert names == ["a"]
        server.wait_for_disconnect(LIMIT)


def test_raised_while_joining() -> None:
    """Ctrl-C while the main thread waits for a WatchThread leaves join(), and the block stops the thread."""
    me = threading.get_ident()
    with serving([Head(), Event("ADDED", pod("a")), Stall()]) as (server, client):
        thread = WatchThread("pods", client=client, reconnect=False)
        with (
            handling(signal.SIGINT, signal.default_int_handler),
            interrupting(signal.SIGINT, lambda: bool(server.requests) and waits_in(me, JOINING)),
            pytest.raises(KeyboardInterrupt),
            thread,
        ):
            thread.join()
        assert not thread.is_alive()
        server.wait_for_disconnect(LIMIT)


def test_a_handler_that_returns(scripted_server: ScriptedServer) -> None:
    """A signal that is none of the watch's business does not disturb it: the read goes on."""
    me = threading.get_ident()
    go = threading.Event()
    scripted_server.add(Head(), Event("ADDED", pod("a")), StallUntil(go), Event("ADDED", pod("b")), End())
    with kwsync.Client(kwsync.Cluster(scripted_server.url)) as client:
        names: list[str] = []
        with (
            handling(signal.SIGUSR1, lambda number, frame: go.set()),
            interrupting(signal.SIGUSR1, lambda: bool(names) and waits_in(me, "_sockets._guarded")),
        ):
            stream = kwsync.watch_resource("pods", client=client)
            names.extend(event.key.name for event in stream)
        assert names == ["a", "b"]
        assert stream.end == WatchEnd(EndReason.SERVER_CLOSED)


# At each point


STREAM: list[Step] = [Head(), Event("ADDED", pod("a")), Event("MODIFIED", pod("a")), End()]
SCRIPTS: dict[str, list[Step]] = {
    "stream": STREAM,
    "error": [Http(403, status(403, "Forbidden"))],
    "cut": [Head(), Event("ADDED", pod("a"))],
}


@pytest.mark.slow
@pytest.mark.parametrize("act", ["token", "event", "close", "drop"])
@pytest.mark.parametrize("script", SCRIPTS)
@plain_and_tls
def test_ended_at_each_point(script: str, secure: bool, act: str) -> None:
    """A handler ends the stream at each point of reading it in the same thread: it ends cleanly, with that reason."""
    with serving(default=SCRIPTS[script], secure=secure) as (server, client):
        for point in points(step=1 if act == "close" else 3):
            cancel = CancelToken() if act == "token" else threading.Event()
            streams = [kwsync.watch_resource("pods", client=client, cancel=cancel)]
            acts: dict[str, Callable[[], object]] = {
                "token": cancel.set,
                "event": cancel.set,
                "close": streams[0].close,
                "drop": streams.clear,
            }

            def read(streams: list[WatchStream] = streams) -> WatchEnd | None:
                stream = streams[0]
                for _ in stream:
                    pass
                return stream.end

            end = point.act(acts[act], read)
            assert end is not None
            if end.reason is EndReason.CANCELLED:
                assert act in ("token", "event")
            elif end.reason is EndReason.CLOSED:
                assert act == "close"
            else:
                assert end.reason is (EndReason.SERVER_CLOSED if script == "stream" else EndReason.ERROR)
        client.close()
        server.wait_until_idle(LIMIT)


@plain_and_tls
def test_closed_within_one_next(secure: bool) -> None:
    """A handler closes the stream within a next() that gives an event all the same: nothing is open behind it."""
    with serving(default=[Head(), Event("ADDED", pod("a")), Stall()], secure=secure) as (server, client):
        for point in points():
            before = open_sockets()
            stream = kwsync.watch_resource("pods", client=client)
            point.act(stream.close, partial(next, stream, None))
            if point.acted:
                # The server closes its own meanwhile, and one that is just closed tells no address any more.
                mine = partial(inherited_sockets, before, (server.port,))
                wait_until(lambda mine=mine: not mine(), f"the connection to close, at {point}", AT_ONCE)  # type: ignore[misc]
                assert stream.end == WatchEnd(EndReason.CLOSED)
            stream.close()


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
@plain_and_tls
def test_raised_at_each_point(script: str, secure: bool) -> None:
    """An exception of a handler at each point leaves next(), and the block around the stream frees all it had."""
    with serving(default=SCRIPTS[script], secure=secure) as (server, outer):
        for point in points():
            with kwsync.Client(outer.cluster) as client:
                token = CancelToken()

                def read(client: Client = client, token: CancelToken = token) -> None:
                    with kwsync.watch_resource("pods", client=client, cancel=token) as stream:
                        for _ in stream:
                            pass

                with warnings.catch_warnings(), suppress(Alarm):
                    warnings.simplefilter("ignore", ResourceWarning)
                    point.act(lambda: raise_alarm(0, None), read)
            server.wait_until_idle(AT_ONCE)
