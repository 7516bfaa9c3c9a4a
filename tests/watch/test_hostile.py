"""Servers, events and values that nobody should meet, and somebody will."""

from __future__ import annotations

import enum
import gzip
import socket
import threading
import time
from typing import Any

import pytest

from kwsync import CancelToken, Client, Cluster, EndReason, ErrorOrigin, WatchError, watch_resource
from kwsync._transport._sockets import GuardedSocket, let_go
from kwsync.testing import (
    Call,
    End,
    Event,
    Fin,
    Head,
    Head1,
    List,
    Raw,
    RawBytes,
    Repeat,
    Reply,
    ScriptedServer,
    Stall,
    Step,
    TestCA,
    pod,
)
from tests.watch.support import SOON, assert_clean, outcome_of, served, watched

SECRET = "made-up-secret"
ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"of": 1}'


def interim(code: int) -> RawBytes:
    """An answer before the answer."""
    return RawBytes(f"HTTP/1.1 {code} Soon\r\nLink: </x>\r\n\r\n".encode())


class TestInterimAnswers:
    @pytest.mark.parametrize("codes", [[103], [102, 103, 103], [100, 103]], ids=str)
    def test_passed_over(self, codes: list[int]) -> None:
        """Interim answers are none: the stream behind them is read (RFC 9110, 15.2)."""
        assert_clean(watched(*map(interim, codes), Head(), Event("ADDED", pod("a")), End()), "a")

    def test_no_answer_is_taken_for_another(self) -> None:
        """The answer behind an interim one belongs to its request, and never to the next on the connection."""
        with served([interim(103), RawBytes(ANSWER, keep_alive=True)], [RawBytes(ANSWER.replace(b"1}", b"2}"))]) as (
            _,
            client,
        ):
            assert [client.request("GET", path) for path in ("/1", "/2")] == [{"of": 1}, {"of": 2}]

    def test_without_end(self) -> None:
        """A server that gives nothing else is an error."""
        outcome = watched(Repeat(interim(103), 200), Stall())
        assert outcome.error.origin is ErrorOrigin.NETWORK

    def test_switching_protocols(self) -> None:
        """101 is no interim answer, nobody has asked for another protocol: an error, and the end of the connection."""
        with served([interim(101), Stall()], [Head(), End()]) as (server, client):
            assert outcome_of(watch_resource("pods", client=client)).error.status_code == 101
            assert_clean(outcome_of(watch_resource("pods", client=client)))
            assert server.connections_accepted == 2


class TestLinesWithoutEvents:
    @pytest.mark.parametrize("line", [b"\n", b"x\n", b"{}\n"], ids=["blank", "rubbish", "empty"])
    @pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
    def test_do_not_hold_up_the_end(self, line: bytes, packed: bool) -> None:
        """However many lines come that give no event, a cancel ends the stream at once."""
        token = CancelToken()
        body = line * (1024 * 1024)
        data = gzip.compress(body, 1) if packed else body
        head = Head(headers={"Content-Encoding": "gzip"} if packed else {})
        with served([head, Raw(data), Call(lambda _: token.set()), Stall()]) as (_, client):
            begun = time.monotonic()
            stream = watch_resource("pods", client=client, cancel=token)
            assert list(stream) == []
        assert stream.end is not None
        assert stream.end.reason is EndReason.CANCELLED
        assert time.monotonic() - begun < SOON

    def test_many_members(self) -> None:
        """A megabyte of gzip members that hold nothing is read in linear time."""
        empty = gzip.compress(b"")
        begun = time.monotonic()
        outcome = watched(Head(headers={"Content-Encoding": "gzip"}), Raw(empty * 50_000), End())
        assert (outcome.events, outcome.end.reason) == ([], EndReason.SERVER_CLOSED)
        assert time.monotonic() - begun < SOON


def test_too_many_codings() -> None:
    """A list of codings without end is an error and not a recursion."""
    outcome = watched(Head(headers={"Content-Encoding": "gzip," * 3000}), Raw(b"x"), End())
    assert outcome.error.origin is ErrorOrigin.DECODE


def test_answer_before_the_body() -> None:
    """A server that refuses a body before it has read it: its answer is told, and not the broken pipe."""
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 7\r\nConnection: close\r\n\r\ntoo big"
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(refusal)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1_000_000):  # what comes is thrown away, and no reset overtakes the answer
                pass

    server = threading.Thread(target=serve)
    server.start()
    big = {"metadata": {"name": "a"}, "data": {"x": "x" * 10_000_000}}
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with listener, Client(Cluster(url)) as client, pytest.raises(WatchError) as caught:
        client.create("configmaps", big, "ns")
    server.join(SOON)
    assert (caught.value.status_code, caught.value.message) == (413, "too big")


@pytest.mark.parametrize("notify", [True, False])
def test_tls_without_its_end(notify: bool) -> None:
    """A TLS stream that ends with its connection is whole only if the peer says so; else anybody could cut it."""
    authority = TestCA()
    script: list[Step] = [Head1(), Event("ADDED", pod("a")), Fin(notify=notify)]
    with served(script, tls=authority.server_context("127.0.0.1"), ca_data=authority.pem) as (_, client):
        outcome = outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON))
    assert outcome.end.reason is (EndReason.SERVER_CLOSED if notify else EndReason.ERROR)
    assert outcome.types == (["ADDED"] if notify else ["ADDED", "ERROR"])


def test_bad_event_beside_a_good_one() -> None:
    """An event that raises when it is polled ends its own stream, and no other stream waits longer for that."""

    class Bad(threading.Event):
        def is_set(self) -> bool:
            if threading.current_thread().name == "kwsync-cancel-poller":
                raise RuntimeError("made up")
            return super().is_set()

    with served([Head(), Event("ADDED", pod("a")), Stall()], [Head(), Event("ADDED", pod("b")), Stall()]) as (
        _,
        client,
    ):
        good = threading.Event()
        first = watch_resource("pods", client=client, cancel=good)
        second = watch_resource("pods", client=client, cancel=Bad())
        assert [next(first).key.name, next(second).key.name] == ["a", "b"]
        assert list(second) == []
        good.set()
        assert list(first) == []
    assert [stream.end and stream.end.reason for stream in (first, second)] == [EndReason.CANCELLED] * 2


def test_pages_in_a_circle() -> None:
    """Continue tokens that come again end the list, also when others stand between them."""

    def page(request: Any) -> list[Step]:
        return [List("1", [pod("a")], cont="b" if request.query.get("continue") == "a" else "a")]

    with ScriptedServer(default=[Reply(page)]) as server, Client(Cluster(server.url)) as client:
        with pytest.raises(WatchError, match="told twice"):
            client.list("pods")
        assert len(server.requests) == 3


def test_enum_in_a_selector() -> None:
    """A member of a string enum selects by its value."""

    class App(str, enum.Enum):
        KEY = "app"
        WEB = "web"

    outcome = watched(Head(), End(), label_selector={App.KEY: App.WEB}, field_selector={App.KEY: App.WEB})
    assert outcome.requests[0].query["labelSelector"] == "app=web"
    assert outcome.requests[0].query["fieldSelector"] == "app=web"


@pytest.mark.parametrize("url", [f"https://user:{SECRET}/x@host", f"https://user:{SECRET}\u2100@host"])
def test_secret_in_a_bad_url(url: str) -> None:
    """What is wrong with a URL is told without it, since a password may stand in it."""
    with Client(Cluster(url)) as client:
        error = outcome_of(watch_resource("pods", client=client)).error
    assert error.origin is ErrorOrigin.CONFIG
    assert SECRET not in f"{error}{error.__cause__}"


def test_sockets_with_one_descriptor() -> None:
    """Of objects that share a descriptor, as while TLS takes a socket over, one closes it; half made ones too."""
    one, other = socket.socketpair()
    shared = GuardedSocket(fileno=one.fileno())
    half = GuardedSocket.__new__(GuardedSocket)
    with other:
        let_go([one, shared, half])
        assert (one.fileno(), shared.fileno(), half.fileno()) == (-1, -1, -1)
        assert other.recv(1) == b""
