"""Every wait has an end: connecting has its own limit, and the watch as a whole has one that no server can stretch."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kwsync import Client, Cluster, EndReason, ErrorOrigin, ErrorType, WatchEnd, WatchError, _watch, watch_resource
from kwsync._transport import _sockets
from kwsync.testing import (
    Blackhole,
    End,
    Event,
    Head,
    Head1,
    Http,
    ProxyServer,
    Raw,
    RawBytes,
    Repeat,
    ScriptedServer,
    Stall,
    StallUntil,
    Step,
    TestCA,
    pod,
)
from tests.watch.support import PODS, SOON, Outcome, assert_clean, line, outcome_of, served

LIMIT = 0.25
"""Seconds of the limit that a test is about."""
SLACK = 3.0
"""Seconds that a busy machine may add."""


@contextmanager
def ends_after(seconds: float) -> Iterator[None]:
    """The block takes at least *seconds*, and not much more."""
    begin = time.monotonic()
    yield
    took = time.monotonic() - begin
    assert seconds - 0.02 <= took < seconds + SLACK, f"{took:.2f} s instead of {seconds}"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch without timeout_seconds has that long in all."""
    monkeypatch.setattr(_watch, "SERVER_LIMIT_SECONDS", LIMIT - 0.1)
    monkeypatch.setattr(_watch, "GRACE_SECONDS", 0.1)


def timed_out(outcome: Outcome, path: str = PODS) -> WatchError:
    """The one ERROR of a deadline of ours."""
    error = outcome.error
    assert (error.origin, error.error_type, error.status_code) == (ErrorOrigin.TIMEOUT, ErrorType.SYSTEM_ERROR, 0)
    assert (error.resource_path, error.message) == (path, "no answer in time")
    assert outcome.end == WatchEnd(EndReason.TIMEOUT, error)
    return error


def drip(data: bytes, n: int = 10_000) -> Repeat:
    """The same bytes again and again, 20 ms apart."""
    return Repeat((RawBytes(data), Stall(0.02)), n)


SILENCE: dict[str, tuple[Step, ...]] = {
    "no-head": (Stall(),),
    "blackhole": (Blackhole(),),
    "half-head": (RawBytes(b"HTTP/1.1 200 OK\r\nContent-"), Stall()),
    "after-head": (Head(), Stall()),
    "after-event": (Head(), Event("BOOKMARK", {}), Stall()),
    "blackhole-after-event": (Head(), Event("BOOKMARK", {}), Blackhole()),
    "mid-line": (Head(), Raw(b'{"type"'), Stall()),
    "mid-chunk": (Head(), RawBytes(b'50\r\n{"type"'), Stall()),
    "mid-chunk-header": (Head(), RawBytes(b"5"), Stall()),
    "before-chunk-end": (Head(), RawBytes(b"1\r\n "), Stall()),
    "before-trailer-end": (Head(), RawBytes(b"0\r\n"), Stall()),
    "close-delimited": (Head1(), Event("BOOKMARK", {}), Stall()),
    "length": (Http(200, b"{", {"Content-Length": "5"}), Stall()),
}
DRIP: dict[str, tuple[Step, ...]] = {
    "status-line": (drip(b"H"),),
    "header": (RawBytes(b"HTTP/1.1 200 OK\r\nX: "), drip(b"x")),
    "headers": (RawBytes(b"HTTP/1.1 200 OK\r\n"), drip(b"X: 1\r\n", 90)),
    "continue": (drip(b"HTTP/1.1 100 Continue\r\n\r\n"),),
    "chunk-header": (Head(), drip(b"0")),
    "chunk": (Head(), RawBytes(b"ffff\r\n"), drip(b"x")),
    "chunks": (Head(), drip(b"1\r\nx\r\n")),
    "blank-lines": (Head(), drip(b"1\r\n\n\r\n")),
    "trailers": (Head(), RawBytes(b"0\r\n"), drip(b"X: 1\r\n")),
    "close-delimited": (Head1(), drip(b"x")),
    "length": (Http(200, b"", {"Content-Length": "5000"}), drip(b"x")),
}


class TestWhole:
    @pytest.mark.parametrize("phase", SILENCE)
    def test_silence(self, phase: str, short: None) -> None:
        """A server that falls silent, in any phase, is an ERROR when the time is over (B1, B2, B5, B7, B15)."""
        with served(SILENCE[phase]) as (server, client):
            with ends_after(LIMIT):
                timed_out(outcome_of(watch_resource("pods", client=client)))
            if "blackhole" not in phase:
                server.wait_for_disconnect()

    @pytest.mark.parametrize("phase", DRIP)
    def test_drip(self, phase: str, short: None) -> None:
        """A server that sends a little now and then cannot stretch the time: it counts in all, not between bytes."""
        with served(DRIP[phase]) as (_, client), ends_after(LIMIT):
            timed_out(outcome_of(watch_resource("pods", client=client)))

    def test_events_that_never_end(self, short: None) -> None:
        """Nor can one that sends events for ever: it was asked to end long ago."""
        event = line("BOOKMARK", {})
        with served([Head1(), drip(event)]) as (_, client), ends_after(LIMIT):
            outcome = outcome_of(watch_resource("pods", client=client))
        timed_out(outcome)
        assert 2 <= len(outcome.events) <= 40

    def test_no_accept(self, short: None) -> None:
        """The kernel takes the connection and nobody ever reads from it."""
        with ScriptedServer(accept=False) as server, Client(Cluster(server.url)) as client, ends_after(LIMIT):
            timed_out(outcome_of(watch_resource("pods", client=client)))

    def test_discovery_counts(self, short: None) -> None:
        """Asking what a short name means is part of the watch."""
        with served([Stall()]) as (_, client), ends_after(LIMIT):
            timed_out(outcome_of(watch_resource("ct", client=client)), "/api")

    def test_error_body_counts(self, short: None) -> None:
        """An error's body may take no longer than the watch: then the deadline was first."""
        with served([Head(code=500), drip(b"1\r\nx\r\n")]) as (_, client), ends_after(LIMIT):
            outcome = outcome_of(watch_resource("pods", client=client))
        assert outcome.end.reason is EndReason.TIMEOUT

    def test_connecting_counts(self, short: None) -> None:
        """A connect timeout that is longer than the whole does not stretch it."""
        with ScriptedServer(handshake_stall=True) as server:
            client = Client(Cluster(server.url), connect_timeout=60)
            with client, ends_after(LIMIT):
                timed_out(outcome_of(watch_resource("pods", client=client)))

    def test_own_timeout(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A watch that asks the server for N seconds ends N seconds and the grace after its request (B4, B14)."""
        monkeypatch.setattr(_watch, "GRACE_SECONDS", 0.2)
        with served([Head(), Stall()]) as (_, client), ends_after(1.2):
            timed_out(outcome_of(watch_resource("pods", client=client, timeout_seconds=1)))

    def test_server_that_keeps_its_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server that ends the stream when it was asked to is a clean end: the grace is for its delay (B11)."""
        monkeypatch.setattr(_watch, "GRACE_SECONDS", 5)
        with served([Head(), Event("ADDED", pod("a")), Stall(1.1), End()]) as (_, client):
            assert_clean(outcome_of(watch_resource("pods", client=client, timeout_seconds=1)), "a")

    def test_numbers(self) -> None:
        """Ten seconds of grace; without a timeout an hour and a minute: a server's own limit is an hour."""
        assert _watch.GRACE_SECONDS == 10
        assert _watch.SERVER_LIMIT_SECONDS + _watch.GRACE_SECONDS == 3660

    def test_counts_from_the_request(self, short: None) -> None:
        """A stream that is made early has its whole time from its first next() on."""
        with served([Head(), Event("ADDED", pod("a")), Stall(LIMIT / 2), End()]) as (_, client):
            stream = watch_resource("pods", client=client)
            assert not threading.Event().wait(LIMIT + 0.1)
            assert_clean(outcome_of(stream), "a")

    def test_slow_consumer(self, short: None) -> None:
        """Events that came in time are not lost on a consumer that is slow: what is read already is handed out."""
        with served([Head(), Raw(line("ADDED", pod("a")) + line("ADDED", pod("b"))), Stall()]) as (_, client):
            stream = watch_resource("pods", client=client)
            assert next(stream).key.name == "a"
            assert not threading.Event().wait(LIMIT + 0.1)
            assert next(stream).key.name == "b"
            timed_out(outcome_of(stream))


class TestConnecting:
    def give_up(self, url: str, proxy_url: str | None = None) -> None:
        """A watch there ends at the connect timeout."""
        cluster = Cluster(url, proxy_url=proxy_url)
        with Client(cluster, connect_timeout=LIMIT) as client, ends_after(LIMIT):
            timed_out(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)))

    def test_connect(self) -> None:
        """A host that does not answer to SYN, as behind a firewall."""
        with ScriptedServer(connect_stall=True) as server:
            self.give_up(server.url)

    def test_handshake(self) -> None:
        """A TLS handshake that is never answered."""
        with ScriptedServer(handshake_stall=True) as server:
            self.give_up(server.url)

    def test_proxy(self) -> None:
        """A proxy that never answers to CONNECT."""
        with ProxyServer(stall=True) as proxy:
            self.give_up("https://a.test", proxy.url)

    @pytest.mark.parametrize("secured", [False, True], ids=["http", "https"])
    def test_proxy_that_drips(self, secured: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A proxy that answers to CONNECT a letter at a time."""
        tls = None
        if secured:
            authority = TestCA()
            monkeypatch.setenv("SSL_CERT_FILE", str(authority.write(tmp_path)))
            tls = authority.server_context("127.0.0.1")
        with ScriptedServer([RawBytes(b"HTTP/1.1 200 "), drip(b"O")], tls=tls) as proxy:
            self.give_up("https://a.test", proxy.url)

    def test_handshake_behind_a_proxy(self) -> None:
        """A proxy that opens the tunnel, and nobody at its other end."""
        with ScriptedServer(handshake_stall=True) as server, ProxyServer(("127.0.0.1", server.port)) as proxy:
            self.give_up("https://a.test", proxy.url)

    def test_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A name server that does not answer: the lookup, which nothing can interrupt, is left behind on its thread."""
        real, answer = socket.getaddrinfo, threading.Event()

        def look_up(host: str, *arguments: Any, **options: Any) -> Any:
            if host != "slow.test":
                return real(host, *arguments, **options)
            if options.get("flags"):
                raise socket.gaierror(socket.EAI_NONAME, "no number")
            assert answer.wait(SOON), "the test did not let it go"
            raise socket.gaierror(socket.EAI_NONAME, "too late")

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        try:
            with Client(Cluster("http://slow.test"), connect_timeout=LIMIT) as client, ends_after(LIMIT):
                timed_out(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)))
        finally:
            answer.set()

    def test_next_address(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of several addresses each gets its share of the time: one that is dead does not use up all of it."""
        real = socket.getaddrinfo
        with ScriptedServer(connect_stall=True) as dead, ScriptedServer([Head(), End()]) as server:

            def look_up(host: str, port: int, *arguments: Any, **options: Any) -> Any:
                every = [real("127.0.0.1", each, *arguments, **options)[0] for each in (dead.port, server.port)]
                return every if host == "two.test" else real(host, port, *arguments, **options)

            monkeypatch.setattr(socket, "getaddrinfo", look_up)
            with Client(Cluster("http://two.test"), connect_timeout=2 * LIMIT) as client, ends_after(LIMIT):
                assert_clean(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)))

    def test_not_for_the_answer(self) -> None:
        """It ends with the handshake: a watch may then be silent for longer."""
        ca = TestCA()
        steps = (Stall(0.7), Head(), Event("ADDED", pod("a")), End())
        with served(steps, tls=ca.server_context(), ca_data=ca.pem, connect_timeout=0.6) as (_, client):
            assert_clean(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)), "a")


class TestDeadPeer:
    @pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
    def test_socket_options(self, secure: bool) -> None:
        """The kernel is told to look for a dead peer: keep-alive 30, 10, 3, and 60 s for sent data (B6)."""
        ca = TestCA()
        options: dict[str, Any] = {"tls": ca.server_context(), "ca_data": ca.pem} if secure else {}
        with served([Head(), Event("ADDED", pod("a")), StallUntil(threading.Event())], **options) as (_, client):
            stream = watch_resource("pods", client=client, timeout_seconds=SOON)
            with stream:
                next(stream)
                (sock,) = [sock for sock in _sockets.live if sock.fileno() >= 0]
                assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                wanted = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
                for name, value in wanted.items():
                    if hasattr(socket, name):
                        assert sock.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) == value, name
