"""Connections: which are used again, which are not, how many are kept, and what a fork does to them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kwsync import Client, Cluster, ErrorOrigin, watch_resource
from kwsync._transport import _pool
from kwsync.testing import (
    Call,
    End,
    Event,
    Fin,
    Head,
    Head1,
    Http,
    List,
    Raw,
    RawBytes,
    Reply,
    Request,
    Rst,
    ScriptedServer,
    Stall,
    StallUntil,
    Step,
    TestCA,
    pod,
    status,
)
from tests.client.support import LIMIT, Running, client_of, failure, in_child, wait_until

POD = pod("a", namespace="ns")
GOOD = Http(200, POD)

Verb = Callable[[Client], Any]

ALL: list[Any] = [
    pytest.param(lambda c: c.get("pods", "a", "ns"), GOOD, id="get"),
    pytest.param(lambda c: c.list("pods"), List("1", []), id="list"),
    pytest.param(lambda c: c.create("pods", POD), GOOD, id="create"),
    pytest.param(lambda c: c.replace("pods", POD), GOOD, id="replace"),
    pytest.param(lambda c: c.patch("pods", "a", {}, "ns"), GOOD, id="patch"),
    pytest.param(lambda c: c.delete("pods", "a", "ns"), Http(200, status(200)), id="delete"),
    pytest.param(lambda c: c.request("GET", "/healthz"), Http(200, "ok"), id="request"),
]


def get(client: Client) -> Any:
    return client.get("pods", "a", "ns")


def connections(server: ScriptedServer) -> list[int]:
    """Which connection each request came on."""
    return [request.connection_id for request in server.requests]


class TestReuse:
    @pytest.mark.parametrize(("call", "answer"), ALL)
    def test_after_a_verb(self, server: ScriptedServer, client: Client, call: Verb, answer: Step) -> None:
        """A verb leaves its connection for the next request."""
        server.add(answer)
        server.add(GOOD)
        call(client)
        get(client)
        assert connections(server) == [1, 1]

    @pytest.mark.parametrize(
        "answer",
        [
            pytest.param(Http(404, status(404, "NotFound")), id="status"),
            pytest.param(Http(500, "text"), id="text"),
            pytest.param(Http(200, "no json"), id="no-json"),
            pytest.param(Http(204), id="empty"),
        ],
    )
    def test_after_an_error(self, server: ScriptedServer, client: Client, answer: Step) -> None:
        """An error whose body has been read leaves its connection, too."""
        server.add(answer)
        server.add(GOOD)
        failure(lambda: get(client))
        get(client)
        assert connections(server) == [1, 1]

    def test_after_a_watch(self, server: ScriptedServer, client: Client) -> None:
        """A watch that ended cleanly leaves its connection for a verb, and a verb's may carry a watch."""
        server.add(GOOD)
        server.add(Head(), Event("ADDED", POD), End())
        server.add(GOOD)
        get(client)
        assert [event.object for event in watch_resource("pods", client=client)] == [POD]
        get(client)
        assert connections(server) == [1, 1, 1]

    @pytest.mark.parametrize("over", ["break", "close"])
    def test_not_after_a_broken_watch(self, server: ScriptedServer, client: Client, over: str) -> None:
        """A watch that was left before its end closes its connection: what is under way on it is nobody's answer."""
        server.add(Head(), Event("ADDED", POD), StallUntil(threading.Event()))
        server.add(GOOD)
        if over == "break":
            for _ in watch_resource("pods", client=client):
                break
        else:
            with watch_resource("pods", client=client) as stream:
                next(stream)
        server.wait_for_disconnect()
        get(client)
        assert connections(server) == [1, 2]

    @pytest.mark.parametrize(
        "script",
        [
            pytest.param([Http(200, POD, {"Connection": "close"})], id="told-so"),
            pytest.param([Head1(), Raw(b"{}"), Fin()], id="until-close"),
            pytest.param([Head(503), Raw(b"x"), RawBytes(b"zz\r\n")], id="broken-error"),
        ],
    )
    def test_not_after(self, server: ScriptedServer, client: Client, script: list[Step]) -> None:
        """A connection that the server will close, or whose answer broke off, is not used again."""
        server.add(*script)
        server.add(GOOD)
        Running(lambda: get(client)).join()
        get(client)
        assert connections(server) == [1, 2]

    def test_tls(self, ca: TestCA) -> None:
        """Connections with TLS are used again as well."""
        with ScriptedServer(tls=ca.server_context(), default=GOOD) as server:
            with Client(Cluster(server.url, ca_data=ca.pem)) as client:
                for _ in range(3):
                    get(client)
            assert server.connections_accepted == 1


class TestRetry:
    @pytest.mark.parametrize(("last", "error"), [(Fin(), "close"), (Rst(), "reset")])
    @pytest.mark.parametrize(("call", "answer"), [one for one in ALL if one.id in ("get", "list", "request")])
    def test_get(
        self, server: ScriptedServer, client: Client, call: Verb, answer: Step, last: Step, error: str
    ) -> None:
        """A GET on a used connection that dies before the first byte of the answer is sent once more on a fresh one."""
        server.add(GOOD)
        server.add(last)
        server.add(answer)
        get(client)
        call(client)
        assert connections(server) == [1, 1, 2]

    def test_only_once(self, server: ScriptedServer, client: Client) -> None:
        """When the fresh connection dies as well, that is told."""
        server.add(GOOD)
        server.default = (Fin(),)
        get(client)
        assert failure(lambda: get(client)).origin is ErrorOrigin.NETWORK
        assert connections(server) == [1, 1, 2]

    def test_not_on_a_fresh_one(self, server: ScriptedServer, client: Client) -> None:
        """A GET on a fresh connection that dies is told at once."""
        server.default = (Fin(),)
        assert failure(lambda: get(client)).origin is ErrorOrigin.NETWORK
        assert connections(server) == [1]

    @pytest.mark.parametrize(
        ("call", "answer"), [one for one in ALL if one.id in ("create", "replace", "patch", "delete")]
    )
    def test_not_a_write(self, server: ScriptedServer, client: Client, call: Verb, answer: Step) -> None:
        """A write is never sent twice: the server may have done it."""
        server.add(GOOD)
        server.add(Fin())
        get(client)
        assert failure(lambda: call(client)).origin is ErrorOrigin.NETWORK
        assert connections(server) == [1, 1]

    @pytest.mark.parametrize(
        "answer", [b"H", b"HTTP/1.1 200 OK\r\nContent-", b"HTTP/1.1 200\r\nContent-Length: 9\r\n\r\n{"]
    )
    @pytest.mark.parametrize("last", [Fin(), Rst()], ids=["close", "reset"])
    def test_not_after_a_byte(self, server: ScriptedServer, client: Client, answer: bytes, last: Step) -> None:
        """Once a byte of the answer has come the GET is not sent again, however the connection dies."""
        server.add(GOOD)
        server.add(RawBytes(answer), Stall(0.05), last)  # the client reads the byte before it hears of the end
        server.default = (GOOD,)
        get(client)
        assert failure(lambda: get(client)).origin is ErrorOrigin.NETWORK
        assert connections(server) == [1, 1]

    def test_closed_while_idle(self, server: ScriptedServer, client: Client) -> None:
        """A connection that the server closed while it was idle costs nothing, not even a write."""
        server.add(GOOD)
        server.add(GOOD)
        get(client)
        server.drop_connections()
        client.create("pods", POD)
        assert connections(server) == [1, 2]

    @pytest.mark.parametrize("late", [False, True])
    def test_more_bytes(self, server: ScriptedServer, client: Client, late: bool) -> None:
        """Bytes that come behind an answer, together with it or later, are never read as the next one."""
        go, sent = threading.Event(), threading.Event()
        if not late:
            go.set()
        answer, more = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"HTTP/1.1 500 No\r\n\r\n"
        first = [RawBytes(answer), StallUntil(go), RawBytes(more, keep_alive=True)]
        server.add(*first if late else [RawBytes(answer + more, keep_alive=True)], Call(lambda _: sent.set()))
        server.add(GOOD)
        assert get(client) == {}
        go.set()
        assert sent.wait(LIMIT), "the server did not send the bytes"
        assert get(client) == POD


class TestPool:
    def test_limit(self, server: ScriptedServer, client: Client) -> None:
        """Any number of requests may run at once; afterwards a few connections are kept and the others closed."""
        releases = [threading.Event() for _ in range(_pool.IDLE_CONNECTIONS + 4)]
        for release in releases:
            server.add(StallUntil(release), GOOD)
        running = []
        for number in range(len(releases)):
            running.append(Running(lambda: get(client)))
            server.wait_for_requests(number + 1)
        for one, release in zip(running, releases, strict=True):
            release.set()
            assert one.result() == POD
        server.wait_for_disconnect(n=4)
        wait_until(lambda: server.open_connections == _pool.IDLE_CONNECTIONS, "the surplus connections to end")

    def test_watches_are_apart(self, server: ScriptedServer, client: Client) -> None:
        """Open watches take nothing from the verbs, however many they are."""
        release = threading.Event()
        server.on(lambda request: request.is_watch, Head(), Event("ADDED", POD), StallUntil(release), End())
        server.default = (GOOD,)
        streams = [watch_resource("pods", client=client) for _ in range(_pool.IDLE_CONNECTIONS * 2)]
        for stream in streams:
            next(stream)
        for _ in range(3):
            get(client)
        assert connections(server)[-3:] == [len(streams) + 1] * 3
        release.set()
        for stream in streams:
            assert list(stream) == []

    def test_many_threads(self, server: ScriptedServer, client: Client) -> None:
        """A client may be used by many threads at once; each gets its own answers."""
        server.default = (Reply(named),)

        def work(number: int) -> list[str]:
            names = [f"pod-{number}-{turn}" for turn in range(25)]
            return [client.get("pods", name, "ns")["metadata"]["name"] for name in names]

        running = [Running(lambda number=number: work(number)) for number in range(16)]  # type: ignore[misc]
        for number, one in enumerate(running):
            assert one.result(20) == [f"pod-{number}-{turn}" for turn in range(25)]
        assert len(server.requests) == 16 * 25
        assert server.open_connections <= 16


def closed(client: Client) -> str:
    """Close it, in a child."""
    client.close()
    return "closed"


def named(request: Request) -> Step:
    """The pod whose name stands in the path."""
    return Http(200, pod(request.path.rpartition("/")[2]))


class TestClose:
    def test_idle(self, server: ScriptedServer) -> None:
        """Closing a client closes what is idle; after that every verb is an error CONFIG, and no request."""
        server.default = (GOOD,)
        client = client_of(server)
        get(client)
        client.close()
        server.wait_until_idle()
        client.close()
        error = failure(lambda: get(client))
        assert (error.origin, error.message) == (ErrorOrigin.CONFIG, "the client is closed")
        assert len(server.requests) == 1

    def test_under_way(self, server: ScriptedServer) -> None:
        """A request that is under way gets its answer, and its connection is closed then."""
        release = threading.Event()
        server.add(StallUntil(release), GOOD)
        client = client_of(server)
        running = Running(lambda: get(client))
        server.wait_for_requests(1)
        client.close()
        release.set()
        assert running.result() == POD
        server.wait_until_idle()

    def test_watch(self, server: ScriptedServer) -> None:
        """A watch that is open goes on; one that begins later is an ERROR event."""
        release = threading.Event()
        server.add(Head(), Event("ADDED", POD), StallUntil(release), Event("DELETED", POD), End())
        client = client_of(server)
        stream = watch_resource("pods", client=client)
        next(stream)
        client.close()
        release.set()
        assert [event.type for event in stream] == ["DELETED"]
        (event,) = watch_resource("pods", client=client)
        assert event.error is not None
        assert event.error.origin is ErrorOrigin.CONFIG
        server.wait_until_idle()

    def test_block(self, server: ScriptedServer) -> None:
        """A with block closes the client at its end, also after an exception."""
        server.default = (GOOD,)

        def fail() -> None:
            with client_of(server) as client:
                get(client)
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        server.wait_until_idle()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("tls", [False, True])
class TestFork:
    def test_both_go_on(self, ca: TestCA, tls: bool) -> None:
        """After a fork the child makes connections of its own, and the parent keeps its own."""
        with ScriptedServer(tls=ca.server_context() if tls else None, default=Reply(named)) as server:
            with Client(Cluster(server.url, ca_data=ca.pem if tls else None)) as client:
                get(client)
                assert in_child(lambda: str(client.get("pods", "of-child", "ns")["metadata"]["name"])) == "of-child"
                assert client.get("pods", "of-parent", "ns")["metadata"]["name"] == "of-parent"
            assert connections(server) == [1, 2, 1]

    def test_child_closes(self, ca: TestCA, tls: bool) -> None:
        """Closing the client in the child does not cut the parent's connections, not even an open watch."""
        release = threading.Event()
        with ScriptedServer(tls=ca.server_context() if tls else None) as server:
            server.on(lambda request: request.is_watch, Head(), Event("ADDED", POD), StallUntil(release),
                      Event("DELETED", POD), End())  # fmt: skip
            server.default = (GOOD,)
            with Client(Cluster(server.url, ca_data=ca.pem if tls else None)) as client:
                stream = watch_resource("pods", client=client)
                next(stream)
                get(client)
                assert in_child(lambda: closed(client)) == "closed"
                get(client)
                release.set()
                assert [event.type for event in stream] == ["DELETED"]
            assert connections(server) == [1, 2, 2]
