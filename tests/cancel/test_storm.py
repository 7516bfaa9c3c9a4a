"""Ends that come from everywhere at once, at moments that nobody chose, hundreds of times."""

from __future__ import annotations

import faulthandler
import gc
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

import kwsync
from kwsync import CancelToken, EndReason, WatchStream, WatchThread
from kwsync.testing import End, Event, Head, Raw, RawBytes, Repeat, Stall, pod
from tests.cancel.support import (
    LIMIT,
    Watching,
    handling,
    in_background,
    join,
    plain_and_tls,
    serving,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

ROUNDS = 150
ENDLESS = [Head(), Repeat([Event("ADDED", pod("a")), Raw(b'{"type":"ADDED","obj')], 3), Raw(b"\n"), Stall()]


@pytest.fixture(autouse=True)
def _dump_if_stuck() -> Iterator[None]:
    """The stacks of all threads, should one of these tests hang."""
    assert sys.__stderr__ is not None
    faulthandler.dump_traceback_later(45, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


def _set(event: threading.Event, _: object) -> None:
    event.set()


def _run(act: Callable[[], object], number: int, frame: object) -> None:
    act()


@pytest.mark.parametrize("act", ["token", "close", "stop"])
@plain_and_tls
def test_signals_at_random(act: str, secure: bool) -> None:
    """A timer's handler ends a watch at a random moment: it ends, always, and with that reason."""
    chance = random.Random(act)
    with serving(default=ENDLESS, secure=secure) as (server, client):
        for number in range(ROUNDS):
            token = CancelToken()
            ended = threading.Event()
            thread = WatchThread("pods", client=client, reconnect=False, on_end=partial(_set, ended))
            stream = kwsync.watch_resource("pods", client=client, cancel=token)
            acts = {"token": token.set, "close": stream.close, "stop": thread.stop}
            with handling(signal.SIGALRM, partial(_run, acts[act])):
                # Again and again: the kernel may give it to another thread; CPython lets the main one wait on then.
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.00001, 0.006), 0.002)
                if act == "stop":
                    thread.start()
                    assert ended.wait(LIMIT), f"round {number}"
                    assert thread.join(LIMIT)
                else:
                    for event in stream:
                        assert event.error is None
                signal.setitimer(signal.ITIMER_REAL, 0)
            end = thread.end if act == "stop" else stream.end
            assert end is not None
            assert end.reason is (EndReason.CANCELLED if act == "token" else EndReason.CLOSED)
        server.wait_until_idle(LIMIT)


def test_a_hail_of_signals() -> None:
    """Signals as fast as they can come, with a handler that sets and closes, disturb no other watch."""
    script = [Head(), Repeat(Event("ADDED", pod("a")), 200), End()]
    me = threading.get_ident()
    with serving(default=script) as (_, client):
        others: list[WatchStream] = []

        def handler(number: int, frame: object) -> None:
            token = CancelToken()
            other = kwsync.watch_resource("pods", client=client, cancel=token)
            others.append(other)
            token.set()
            other.close()
            next(other, None)

        over = threading.Event()

        def hail() -> None:
            while not over.wait(0.0002):
                signal.pthread_kill(me, signal.SIGUSR1)

        with handling(signal.SIGUSR1, handler), in_background(hail):
            try:
                for _ in range(20):
                    stream = kwsync.watch_resource("pods", client=client, cancel=CancelToken())
                    assert len(list(stream)) == 200
                    assert stream.end is not None
                    assert stream.end.reason is EndReason.SERVER_CLOSED
            finally:
                over.set()
        assert len(others) > 20
        assert {other.end and other.end.reason for other in others} <= {EndReason.CANCELLED, EndReason.CLOSED}


@pytest.mark.parametrize("busy", [False, True], ids=["quiet", "busy"])
@plain_and_tls
def test_closed_by_eight_threads(secure: bool, busy: bool) -> None:
    """Eight threads close at once what a ninth reads: the loop ends cleanly, every time, and the end is there."""
    endless = [Head(), Repeat(Event("ADDED", pod("a")), 100_000 if busy else 1), Stall()]
    with serving(default=endless, secure=secure) as (server, client):
        for _ in range(40):
            watching = Watching(client, "close")
            watching.start()
            start = threading.Barrier(9)

            def close(start: threading.Barrier = start, watching: Watching = watching) -> None:
                start.wait(LIMIT)
                watching.end()
                assert watching.watch.end is not None

            closers = [threading.Thread(target=close, daemon=True) for _ in range(8)]
            for closer in closers:
                closer.start()
            watching.wait_for(1)
            start.wait(LIMIT)
            for closer in closers:
                join(closer)
            watching.finish()
            assert [end.reason for end in watching.ends] == [EndReason.CLOSED]
        server.wait_until_idle(LIMIT)


@plain_and_tls
def test_closed_between_events(secure: bool) -> None:
    """close() on another thread, while the reader goes from event to event, never makes next() raise."""
    endless = [Head(), Repeat(Event("ADDED", pod("a")), 100_000), Stall()]
    chance = random.Random(7)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with serving(default=endless, secure=secure) as (_, client):
            for _ in range(100):
                watching = Watching(client, chance.choice(["close", "token"]))
                watching.start()
                watching.wait_for(chance.randint(1, 40))
                watching.end()
                watching.finish()
                assert len(watching.ends) == 1
    finally:
        sys.setswitchinterval(interval)


class Closer:
    """Something of the application whose finalizer closes a stream."""

    def __init__(self, stream: WatchStream, cancel: CancelToken) -> None:
        self.stream = stream
        self.cancel = cancel
        self.itself = self  # so that the collector finds it, at any moment

    def __del__(self) -> None:
        self.cancel.set()
        self.stream.close()


@plain_and_tls
def test_closed_in_finalizers(secure: bool) -> None:
    """Finalizers, which the collector runs in the middle of anything, may end streams, read or not, on any thread."""
    script = [Head(), Repeat(Event("ADDED", pod("a")), 50), End()]
    before = gc.get_threshold()
    gc.set_threshold(20)
    try:
        with serving(default=script, secure=secure) as (server, client):

            def work() -> None:
                for _ in range(40):
                    token = CancelToken()
                    Closer(kwsync.watch_resource("pods", client=client, cancel=token), token)
                    stream = kwsync.watch_resource("pods", client=client, cancel=threading.Event())
                    victim = kwsync.watch_resource("pods", client=client, cancel=token)
                    next(victim, None)  # None when the collector has come already
                    Closer(victim, token)
                    del victim
                    assert sum(event.error is None for event in stream) == 50

            with in_background(work), in_background(work):
                work()
            gc.collect()
            client.close()
            server.wait_until_idle(LIMIT)
    finally:
        gc.set_threshold(*before)


def test_token_set_while_watches_begin() -> None:
    """Watches that begin in the moment in which their common token is set all end, none is forgotten."""
    with serving(default=[Head(), Event("ADDED", pod("a")), Stall()]) as (server, client):
        for _ in range(40):
            token = CancelToken()
            streams = [kwsync.watch_resource("pods", client=client, cancel=token) for _ in range(6)]
            threads = [threading.Thread(target=list, args=(stream,), daemon=True) for stream in streams]
            for thread in threads:
                thread.start()
                if thread is threads[2]:
                    token.set()
            for thread in threads:
                join(thread)
            assert {stream.end and stream.end.reason for stream in streams} == {EndReason.CANCELLED}
        server.wait_until_idle(LIMIT)


def test_bounded_in_time() -> None:
    """A thousand ends take seconds, not minutes: nothing waits for a poll or a time-out on its way."""
    began = time.monotonic()
    with serving(default=[RawBytes(b""), Stall()]) as (_, client):
        for _ in range(1000):
            token = CancelToken()
            token.set()
            assert list(kwsync.watch_resource("pods", client=client, cancel=token)) == []
            stream = kwsync.watch_resource("pods", client=client)
            stream.close()
            assert list(stream) == []
    assert time.monotonic() - began < LIMIT
