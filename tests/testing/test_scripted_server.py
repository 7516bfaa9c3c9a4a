"""The server: which script a request gets, connections, records, and leaving without a trace."""

from __future__ import annotations

import http.client
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kwsync.testing import (
    Blackhole,
    Call,
    End,
    Event,
    Fin,
    Head,
    Http,
    Raw,
    RawBytes,
    Repeat,
    Request,
    ScriptedServer,
    Stall,
    StallUntil,
    Step,
    pod,
)
from tests.testing.raw_client import Connect


def _get(server: ScriptedServer, target: str = "/", method: str = "GET", body: bytes | None = None) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5.0)
    try:
        connection.request(method, target, body, {"X-Who": "test"})
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def test_one_script_per_request(server: ScriptedServer) -> None:
    """Requests get the scripts in order; when there is none left, a 500 that says so, and a record of it."""
    server.add(Http(200, "one"))
    server.add(Http(200, "two"))
    assert [_get(server), _get(server), _get(server, "/third")] == ["one", "two", "no script left"]
    assert [request.path for request in server.unscripted] == ["/third"]


def test_default_script() -> None:
    """The default script serves every request that finds no other."""
    with ScriptedServer([Http(200, "one")], default=Http(200, "more")) as server:
        assert [_get(server) for _ in range(3)] == ["one", "more", "more"]
        assert server.unscripted == []


def test_scripts_by_path(server: ScriptedServer) -> None:
    """Rules are asked in order, before the scripts in line; one with `times` is used up."""
    server.add(Http(200, "line"))
    server.on("/a", Http(200, "a once"), times=1)
    server.on("/a", Http(200, "a always"))
    server.on(lambda request: request.is_watch, Http(200, "watch"))
    asked = [_get(server, target) for target in ("/a?x=1", "/a", "/b?watch=true", "/a", "/b?watch=0")]
    assert asked == ["a once", "a always", "watch", "a always", "line"]


def test_request_record(server: ScriptedServer) -> None:
    """A request is recorded with everything the client said."""
    server.add(Http(200))
    before = time.monotonic()
    _get(server, "/api/a%2Fb?labelSelector=a%20in%20%28x%29&watch=1&empty=", "POST", b"body")
    request = server.wait_for_requests(1)[0]
    assert (request.method, request.path, request.body) == ("POST", "/api/a/b", b"body")
    assert request.query == {"labelSelector": "a in (x)", "watch": "1", "empty": ""}
    assert request.raw_query == "labelSelector=a%20in%20%28x%29&watch=1&empty="
    assert request.headers["x-wHo"] == "test"
    assert "Authorization" not in request.headers
    assert before <= request.time <= time.monotonic()
    assert request.connection_id == 1
    assert request.peer_certificate is None


def test_chunked_request_body(connect: Connect, server: ScriptedServer) -> None:
    """A chunked request body is put together."""
    server.add(Http(200))
    client = connect(server)
    client.socket.sendall(
        b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x\r\nd\r\n0\r\n\r\n"
    )
    client.read_head()
    assert server.requests[0].body == b"abcd"


@pytest.mark.parametrize(
    "script",
    [
        [Http(200, "x")],
        [Http(204)],
        [Head(), Event("ADDED", pod("a")), End()],
        [RawBytes(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", keep_alive=True)],
    ],
)
def test_keep_alive(server: ScriptedServer, script: list[Step]) -> None:
    """A connection serves another request after a complete answer."""
    server.add(*script)
    server.add(Http(200, "second"))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5.0)
    connection.request("GET", "/")
    connection.getresponse().read()
    connection.request("GET", "/")
    assert connection.getresponse().read() == b"second"
    connection.close()
    assert server.connections_accepted == 1
    assert [request.connection_id for request in server.requests] == [1, 1]


@pytest.mark.parametrize(
    ("script", "asks"),
    [
        ([Head(), Raw(b"x")], []),
        ([RawBytes(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")], []),
        ([Http(200, "x", {"Connection": "close"})], []),
        ([Http(200, "x")], ["Connection: close"]),
        ([Http(200, "x", {"Content-Length": "2"})], []),
    ],
)
def test_no_keep_alive(connect: Connect, server: ScriptedServer, script: list[Step], asks: list[str]) -> None:
    """An answer without a known end, or a `Connection: close` of either side, ends the connection."""
    server.add(*script)
    connect(server).get("/", *asks).read_all()
    server.wait_until_idle(5.0)
    assert server.disconnects == 0


@pytest.mark.parametrize("step", [Stall(), Stall(60), StallUntil(threading.Event()), Blackhole()])
def test_disconnect_is_seen(connect: Connect, server: ScriptedServer, step: Step) -> None:
    """While a script stalls, the client's close is seen within milliseconds, and a stall ends with it."""
    server.add(Head(), step)
    client = connect(server).get()
    client.read_head()
    request = server.requests[0]
    assert not request.closed_by_client.is_set()
    start = time.monotonic()
    client.close()
    assert request.closed_by_client.wait(5.0), "the close was not seen"
    assert time.monotonic() - start < 0.1
    server.wait_for_disconnect(5.0)
    if not isinstance(step, Blackhole):
        assert request.done.wait(5.0), "the stall went on"


def test_shutdown_is_seen_as_a_disconnect(connect: Connect, server: ScriptedServer) -> None:
    """A client that shuts its socket down without closing it counts as gone, also while we cannot send."""
    server.add(Head(), Repeat(Raw(b"x" * 100_000), 1_000_000))
    client = connect(server).get()
    client.read_head()
    client.socket.shutdown(socket.SHUT_WR)
    assert server.requests[0].closed_by_client.wait(5.0), "the shutdown was not seen"
    assert server.requests[0].done.wait(5.0), "the script went on"


def test_idle_keep_alive_connection_closed(connect: Connect, server: ScriptedServer) -> None:
    """A close between two requests is seen too."""
    server.add(Http(200))
    client = connect(server).get()
    client.read_head()
    client.close()
    server.wait_for_disconnect(5.0)
    server.wait_until_idle(5.0)


def test_a_pipelined_request_waits_its_turn(connect: Connect, server: ScriptedServer) -> None:
    """Bytes that arrive during a stall are neither lost nor taken for a close."""
    release = threading.Event()
    server.add(StallUntil(release), Http(200, "one"))
    server.add(Http(200, "two"))
    client = connect(server).get("/1").get("/2")
    server.wait_for_requests(1)
    release.set()
    client.read_until(b"one")
    client.read_until(b"two")
    assert [request.path for request in server.requests] == ["/1", "/2"]


def test_several_clients_at_once(connect: Connect, server: ScriptedServer) -> None:
    """Thirty streams at once, each with a connection of its own."""
    release = threading.Event()
    server.on("/watch", Head(), StallUntil(release), Raw(b"x"), End())
    clients = [connect(server).get("/watch") for _ in range(30)]
    server.wait_for_requests(30)
    assert server.open_connections == 30
    release.set()
    for client in clients:
        client.read_until(b"0\r\n\r\n")
    assert sorted(request.connection_id for request in server.requests) == list(range(1, 31))


def test_scripts_are_dealt_in_order_of_arrival(server: ScriptedServer) -> None:
    """Under a rush of clients, the n-th recorded request is the one that got the n-th script."""
    for number in range(40):
        server.add(Http(200, str(number)))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: (_get(server, f"/{number}"), number), range(40)))
    assert [server.requests[int(answer)].path for answer, _ in answers] == [f"/{number}" for _, number in answers]


def _stop_trace(server: ScriptedServer) -> tuple[float, list[threading.Thread], int]:
    start = time.monotonic()
    server.stop()
    took = time.monotonic() - start
    mine = [t for t in threading.enumerate() if str(server.port) in t.name]
    return took, mine, len(os.listdir("/dev/fd"))


@pytest.mark.parametrize(
    "script",
    [[Stall()], [Head(), Blackhole()], [Head(), Repeat(Raw(b"x" * 100_000), 1_000_000)], [Http(200)]],
)
def test_stop_leaves_no_trace(connect: Connect, script: list[Step]) -> None:
    """Stop takes under 100 ms whatever a script does, and leaves no thread and no socket."""
    before = len(os.listdir("/dev/fd"))
    server = ScriptedServer(default=script)
    server.start()
    clients = [connect(server).get() for _ in range(3)]
    idle = connect(server)
    server.wait_for_requests(3)
    server.wait_for_connections(4)
    took, threads, descriptors = _stop_trace(server)
    assert took < 0.1
    assert threads == []
    assert descriptors == before + len([*clients, idle])
    server.stop()


def test_stop_listening_and_again(connect: Connect, server: ScriptedServer) -> None:
    """Clients are refused while the server does not listen; open streams go on; the port stays the same."""
    release = threading.Event()
    server.add(Head(), StallUntil(release), Raw(b"x"), End())
    server.add(Http(200, "back"))
    client = connect(server).get()
    client.read_head()
    server.stop_listening()
    with pytest.raises(ConnectionRefusedError):
        _get(server)
    port = server.port
    server.listen_again()
    assert server.port == port
    assert _get(server) == "back"
    release.set()
    client.read_until(b"0\r\n\r\n")


def test_drop_connections(connect: Connect, server: ScriptedServer) -> None:
    """Every open connection can be cut at once, and the server serves new ones, also after a restart."""
    server.on("/stall", Head(), Stall())
    server.add(Http(200, "new"))
    server.add(Http(200, "newer"))
    client = connect(server).get("/stall")
    client.read_head()
    server.drop_connections()
    assert client.read_all() == b""
    assert server.open_connections == 0
    assert _get(server) == "new"
    server.stop_listening()
    server.drop_connections()
    server.listen_again()
    assert _get(server) == "newer"


def test_not_accepting(connect: Connect) -> None:
    """With accept=False a client connects and nobody ever reads what it says."""
    with ScriptedServer(accept=False) as server:
        client = connect(server).get()
        client.socket.settimeout(0.02)
        with pytest.raises(TimeoutError):
            client.socket.recv(1)
        assert server.connections_accepted == 0


def test_connect_stall() -> None:
    """With connect_stall=True even the TCP handshake gets no answer."""
    with ScriptedServer(connect_stall=True) as server, socket.socket() as client:
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.connect(("127.0.0.1", server.port))


def test_failure_in_a_script_is_raised_at_exit() -> None:
    """An exception of the test's own function is kept, ends its connection, and is raised when the block ends."""

    def broken(request: Request) -> None:
        raise ValueError(request.path)

    with pytest.raises(ValueError, match="/bug"):  # noqa: SIM117, PT012 - the exit of the server raises
        with ScriptedServer([Call(broken)]) as server:
            with pytest.raises(http.client.RemoteDisconnected):
                _get(server, "/bug")
            assert [str(failure) for failure in server.failures] == ["/bug"]


def test_another_exception_is_not_hidden() -> None:
    """A failure of a script does not replace the exception that is leaving the block."""
    with pytest.raises(http.client.RemoteDisconnected), ScriptedServer([Call(lambda request: 1 / 0)]) as server:
        _get(server)
    assert [type(failure) for failure in server.failures] == [ZeroDivisionError]


def test_end_needs_a_chunked_head() -> None:
    """A script that makes no sense is a failure, not silence."""
    with pytest.raises(http.client.RemoteDisconnected), ScriptedServer([End()]) as server:
        _get(server)
    with pytest.raises(RuntimeError, match="chunked"):
        server.raise_failures()


def test_a_script_is_made_of_steps() -> None:
    """Anything but steps is refused when it is handed over."""
    with pytest.raises(TypeError, match="not of 'x'"):
        ScriptedServer(["x"])  # type: ignore[list-item]


def test_stop_from_a_script(server: ScriptedServer) -> None:
    """A script may stop the server it runs on."""
    server.add(Call(lambda request: server.stop()), Stall())
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        _get(server)
    server.wait_until_idle(5.0)


def test_wait_says_what_was_seen(server: ScriptedServer) -> None:
    """A wait that fails tells what there was instead."""
    server.add(Fin())
    with pytest.raises(http.client.RemoteDisconnected):
        _get(server, "/only?one=1")
    with pytest.raises(TimeoutError, match=r"2 requests: 1 connections.*GET /only\?one=1"):
        server.wait_for_requests(2, timeout=0.01)
    with pytest.raises(TimeoutError, match="1 disconnects"):
        server.wait_for_disconnect(0.01)


@pytest.mark.parametrize(
    "junk",
    [b"\x16\x03\x01\x00", b"one two\r\n\r\n", b"GET / HTTP/2.0\r\n\r\n", b"GET / HTTP/1.1\r\nx\r\n\r\n"],
)
def test_not_http(connect: Connect, server: ScriptedServer, junk: bytes) -> None:
    """What is no HTTP/1.x request gets a 400 and is kept apart."""
    client = connect(server)
    client.socket.sendall(junk)
    assert client.read_head().startswith(b"HTTP/1.1 400 ")
    assert len(server.bad_requests) == 1
    assert server.requests == []


def test_port_taken(server: ScriptedServer) -> None:
    """Asking for a port that is taken is an error at the start, and leaves nothing behind."""
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(OSError, match=r"[Aa]ddress.*in use"):
        ScriptedServer(port=server.port).start()
    assert len(os.listdir("/dev/fd")) == before


def test_restart(connect: Connect, server: ScriptedServer) -> None:
    """A server that was stopped can start again on its port, with its scripts and records."""
    server.add(Head(), Stall())
    server.add(Http(200, "again"))
    connect(server).get().read_head()
    port = server.port
    server.stop()
    server.start()
    assert _get(server) == "again"
    assert (server.port, len(server.requests), server.connections_accepted) == (port, 2, 2)
