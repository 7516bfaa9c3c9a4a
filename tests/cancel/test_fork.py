"""A forked child lets go of everything that its parent watches, and the parent notices nothing."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

import kwsync
from kwsync import CancelToken, Client, EndReason, WatchEnd, WatchEvent, WatchStream, WatchThread, _cancel
from kwsync.testing import End, Event, Head, Http, ScriptedServer, Stall, StallUntil, pod
from tests.cancel.support import (
    LIMIT,
    REASONS,
    Phase,
    Watching,
    each_phase,
    each_way,
    in_background,
    in_child,
    inherited_sockets,
    plain_and_tls,
    points,
    serving,
    wait_until,
)
from tests.leaks import open_sockets

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def read_all(stream: WatchStream) -> list[Any]:
    """In a child: what the inherited stream still gives, how it ended, and what another thread says to close()."""
    events = list(stream)
    stream.close()
    return [len(events), stream.end]


@each_way
@each_phase
def test_while_another_thread_waits(phase: Phase, way: str) -> None:
    """In each phase: the child has none of the sockets, its copy of the watch has ended, and the parent's goes on."""
    with phase.open() as scene:
        before = open_sockets()
        watching = Watching(scene.client, way, scene.resource)
        watching.start()
        watching.wait_in(phase, scene)

        def look() -> list[Any]:
            watch = watching.watch
            found: list[Any] = [inherited_sockets(before, scene.ports), _cancel.poller.registered]
            if isinstance(watch, WatchThread):
                watch.stop()
                return [*found, watch.is_alive(), watch.healthy(), watch.join(LIMIT)]
            return [*found, *read_all(watch)]

        found = in_child(look)
        assert found == [[], 0, *([False, False, True] if way == "stop" else [0, WatchEnd(EndReason.CLOSED)])]
        watching.wait_in(phase, scene)
        watching.end()
        watching.finish()
        assert watching.ends == [WatchEnd(REASONS[way])]


def close(stream: WatchStream) -> WatchEnd | None:
    """In a child: close it, and see how it ended."""
    stream.close()
    return stream.end


@contextmanager
def told_in_two(secure: bool) -> Iterator[tuple[ScriptedServer, Client, threading.Event]]:
    """A stream whose second event comes when the test says so."""
    go = threading.Event()
    script = [Head(), Event("ADDED", pod("a")), StallUntil(go), Event("ADDED", pod("b")), End()]
    with serving(script, secure=secure, default=Http(500)) as (server, client):
        yield server, client, go


@pytest.mark.parametrize("act", ["exit", "iterate", "close", "with", "drop", "cancel", "close the client"])
@plain_and_tls
def test_the_parent_goes_on(act: str, secure: bool) -> None:
    """Whatever the child does with a stream that it inherits between two events, the parent gets the next event."""
    with told_in_two(secure) as (server, client, go):
        token = CancelToken()
        streams = [kwsync.watch_resource("pods", client=client, cancel=token)]
        assert next(streams[0]).key.name == "a"

        def work() -> list[Any]:
            stream = streams[0]
            found: list[Any] = []
            if act == "iterate":
                found = read_all(stream)
            elif act == "with":
                with stream:
                    pass
            elif act == "cancel":
                token.set()
                found = read_all(stream)
            elif act == "close":
                stream.close()
                stream.close()
            elif act == "close the client":
                client.close()
            if act != "exit":
                del stream
                streams.clear()
                gc.collect()
            return found

        assert in_child(work) == ([0, WatchEnd(EndReason.CLOSED)] if act in ("iterate", "cancel") else [])
        assert server.disconnects == 0
        go.set()
        assert [event.key.name for event in streams[0]] == ["b"]
        assert streams[0].end == WatchEnd(EndReason.SERVER_CLOSED)


def work_with(watch: WatchStream | WatchThread) -> list[Any]:
    """Use a watch that has not started; the names of its events, and its end."""
    if isinstance(watch, WatchStream):
        return [[event.key.name for event in watch], watch.end]
    names: list[str] = []
    alive: list[bool] = []

    @watch.on_event
    def note(event: WatchEvent) -> None:
        names.append(event.key.name)
        alive.append(watch.is_alive())

    watch.start()
    assert watch.join(LIMIT)
    return [names, watch.end, *alive]


@pytest.mark.parametrize("kind", ["stream", "thread"])
@plain_and_tls
def test_made_before_used_after(kind: str, secure: bool) -> None:
    """A stream or thread that was made and not used before the fork works in the child; so does a used client."""
    go = threading.Event()
    script = [Head(), Event("ADDED", pod("a")), StallUntil(go), End()]
    with serving([Http(200, {})], secure=secure, default=script) as (server, client):
        client.request("GET", "/version")  # leaves a connection that the child must not use
        make: Any = kwsync.watch_resource if kind == "stream" else partial(WatchThread, reconnect=False)
        watch = make("pods", client=client, cancel=threading.Event())

        def release() -> None:
            server.wait_for_requests(2)
            go.set()

        with in_background(release):
            expected = [["a"], WatchEnd(EndReason.SERVER_CLOSED)]
            assert in_child(partial(work_with, watch)) == [*expected, *([True] if kind == "thread" else [])]
        assert server.connections_accepted == 2
        assert work_with(watch)[:2] == expected  # in the parent as well, on the kept connection
        assert server.connections_accepted == 2


def test_a_started_thread() -> None:
    """A thread that runs in the parent does not live in the child, says so, and cannot be started there."""
    with serving(default=[Head(), Event("ADDED", pod("a")), Stall()]) as (server, client):
        got = threading.Event()
        thread = WatchThread("pods", client=client, reconnect=False, on_event=lambda event: got.set())
        thread.start()
        assert got.wait(LIMIT), "no event came"

        def look() -> list[Any]:
            with pytest.raises(RuntimeError, match="fork"):
                thread.start()
            with pytest.raises(RuntimeError, match="fork"), thread:
                pytest.fail("the block has begun")
            thread.stop()
            return [thread.is_alive(), thread.healthy(), thread.join(), thread.join(0), repr(thread)]

        assert in_child(look) == [False, False, True, True, "<WatchThread kwsync-watch-pods ended>"]
        assert (thread.is_alive(), thread.healthy(), server.disconnects) == (True, True, 0)
        thread.stop()
        assert thread.join(LIMIT)


def test_a_started_thread_again_in_the_child() -> None:
    """The child makes a thread of its own, whose events it gets, with the client that it inherits."""
    with serving(default=[Head(), Event("ADDED", pod("a")), Stall()]) as (server, client):
        with WatchThread("pods", client=client, reconnect=False):
            server.wait_for_requests(1)

            def work() -> list[Any]:
                got = threading.Event()
                with WatchThread("pods", client=client, reconnect=False, on_event=lambda event: got.set()) as mine:
                    return [got.wait(LIMIT), mine.is_alive(), mine.healthy()]

            assert in_child(work) == [True, True, True]
        server.wait_for_disconnect(LIMIT, 2)


@plain_and_tls
def test_at_each_point(secure: bool) -> None:
    """A handler forks at each point of a watch: the child's copy ends, the parent reads to the end."""
    script = [Head(), Event("ADDED", pod("a")), Event("ADDED", pod("b")), End()]
    with serving(default=script, secure=secure) as (_, client):
        for point in points(step=7):
            stream = kwsync.watch_resource("pods", client=client, cancel=CancelToken())
            ended: list[Any] = []

            def fork(stream: WatchStream = stream, ended: list[Any] = ended) -> None:
                ended.append(in_child(partial(close, stream)))

            names = point.act(fork, lambda stream=stream: [event.key.name for event in stream])  # type: ignore[misc]
            assert names == ["a", "b"], f"at {point}"
            assert stream.end == WatchEnd(EndReason.SERVER_CLOSED)
            assert ended in ([], [WatchEnd(EndReason.CLOSED)], [stream.end]), f"at {point}"
            client.close()
            client = type(client)(client.cluster)  # noqa: PLW2901 - a fresh connection each time
        client.close()


def test_grandchild() -> None:
    """It holds over several generations."""
    with told_in_two(False) as (server, client, go):
        stream = kwsync.watch_resource("pods", client=client)
        next(stream)
        unused = kwsync.watch_resource("pods", client=client)

        def child() -> list[Any]:
            found = in_child(lambda: [*read_all(stream), next(unused).error is not None])
            return [*found, *read_all(stream)]

        assert in_child(child) == [0, WatchEnd(EndReason.CLOSED), True, 0, WatchEnd(EndReason.CLOSED)]
        go.set()
        assert len(list(stream)) == 1
        assert server.disconnects <= 1  # that of the grandchild's own request


@each_way
def test_the_child_of_a_cancelled_parent(way: str) -> None:
    """What the parent ends after the fork it ends for itself, though the child still lives."""
    with serving(default=[Head(), Event("ADDED", pod("a")), Stall()]) as (server, client):
        got = threading.Event()
        watching = Watching(client, way, on_event=lambda event: got.set())
        watching.start()
        assert got.wait(LIMIT), "no event came"
        receiver, sender = os.pipe()
        with in_background(lambda: in_child(lambda: os.read(receiver, 1))):
            watching.end()
            watching.finish()
            server.wait_for_disconnect(LIMIT)
            os.write(sender, b"x")
        os.close(receiver)
        os.close(sender)
        assert watching.ends == [WatchEnd(REASONS[way])]


def test_verbs_in_the_child() -> None:
    """A client that has idle connections makes new ones in the child, and keeps its own in the parent."""
    with serving(default=Http(200, {"a": 1})) as (server, client):
        assert client.request("GET", "/one") == {"a": 1}
        assert in_child(lambda: client.request("GET", "/two")) == {"a": 1}
        assert client.request("GET", "/three") == {"a": 1}
        wait_until(lambda: server.disconnects == 1, "the child's connection to close")
        assert [request.connection_id for request in server.requests] == [1, 2, 1]
