"""Each step: the bytes it puts on the wire."""

from __future__ import annotations

import gzip
import json
import threading
import time

import pytest

from kwsync.testing import (
    Blackhole,
    Call,
    CutChunk,
    End,
    Event,
    Exchange,
    Fin,
    Gzip,
    Head,
    Head1,
    Http,
    List,
    NoHead,
    Raw,
    RawBytes,
    Repeat,
    Reply,
    Request,
    Rst,
    ScriptedServer,
    Split,
    Stall,
    StallUntil,
    Step,
    bookmark,
    pod,
    status,
)
from tests.testing.raw_client import Connect, RawClient

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
HEAD1 = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
LINE = b'{"type":"ADDED","object":{"a":1}}\n'


@pytest.mark.parametrize(
    ("script", "wire"),
    [
        pytest.param([Head(), End()], HEAD + b"0\r\n\r\n", id="end"),
        pytest.param([Head(), Event("ADDED", {"a": 1})], HEAD + b"22\r\n" + LINE + b"\r\n", id="event"),
        pytest.param([Head1(), Event("ADDED", {"a": 1})], HEAD1 + LINE, id="event-not-chunked"),
        pytest.param([Head(), Raw(b"\n")], HEAD + b"1\r\n\n\r\n", id="raw"),
        pytest.param([Head(), Raw(b"")], HEAD, id="raw-empty-is-no-zero-chunk"),
        pytest.param([Head1(), Raw(b"{}\n")], HEAD1 + b"{}\n", id="raw-not-chunked"),
        pytest.param([Head(), RawBytes(b"zz")], HEAD + b"zz", id="raw-bytes"),
        pytest.param([RawBytes(b"\x00no http at all")], b"\x00no http at all", id="raw-bytes-without-head"),
        pytest.param(
            [Head(), Split(b"abcde", 2)], HEAD + b"2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n", id="split-chunked"
        ),
        pytest.param([Head1(), Split(b"abcde", 2)], HEAD1 + b"abcde", id="split-not-chunked"),
        pytest.param([Head(), CutChunk(b"abc", 16)], HEAD + b"10\r\nabc", id="cut-chunk"),
        pytest.param([Head(), Repeat(Raw(b"x"), 3)], HEAD + b"1\r\nx\r\n" * 3, id="repeat-one"),
        pytest.param(
            [Head(), Repeat([Raw(b"x"), Raw(b"y")], 2)], HEAD + b"1\r\nx\r\n1\r\ny\r\n" * 2, id="repeat-several"
        ),
        pytest.param([Head(), Raw(b"x"), Fin(), Raw(b"y")], HEAD + b"1\r\nx\r\n", id="fin"),
        pytest.param([], b"", id="empty"),
        pytest.param(
            [Http(429, headers={"Retry-After": "1", "Connection": "close"})],
            b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n",
            id="http-headers",
        ),
        pytest.param(
            [Http(200, b"ab", {"content-length": "9"})],
            b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab",
            id="http-own-length",
        ),
        pytest.param([Http(299, headers={"Content-Length": None})], b"HTTP/1.1 299 Unknown\r\n\r\n", id="http-bare"),
        pytest.param(
            [Http(200, "é", [("X-A", "1"), ("X-A", "2"), ("Connection", "close")])],
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 2\r\n"
            b"X-A: 1\r\nX-A: 2\r\nConnection: close\r\n\r\n\xc3\xa9",
            id="http-text-and-repeated-headers",
        ),
    ],
)  # fmt: skip
def test_exact_bytes(connect: Connect, script: list[Step], wire: bytes) -> None:
    """A script puts exactly these bytes on the wire, and an unfinished answer ends with the connection."""
    with ScriptedServer(script, [Fin()]) as server:
        client = connect(server).get()
        if server.wait_for_requests(1)[0].done.wait(5.0) and script[-1:] == [End()]:
            client.get()  # The connection is still open: the second script closes it.
        assert client.read_all() == wire


def test_list(connect: Connect, server: ScriptedServer) -> None:
    """List is a 200 with the list's RV, a continue token only when given, and the kind asked for."""
    server.add(List("10", [pod("a", "9")]))
    server.add(List("11", None, cont="next", kind="JobList", api_version="batch/v1"))
    client = connect(server)
    assert _json_answer(client.get()) == {
        "kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "10"}, "items": [pod("a", "9")],
    }  # fmt: skip
    assert _json_answer(client.get()) == {
        "kind": "JobList", "apiVersion": "batch/v1",
        "metadata": {"resourceVersion": "11", "continue": "next"}, "items": None,
    }  # fmt: skip


def test_http_json(connect: Connect, server: ScriptedServer) -> None:
    """A dict as body is sent as JSON."""
    server.add(Http(403, status(403, "Forbidden", "no")))
    assert _json_answer(connect(server).get()) == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "no", "reason": "Forbidden", "code": 403,
    }  # fmt: skip


def _json_answer(client: RawClient) -> object:
    head = client.read_head().decode()
    assert "Content-Type: application/json" in head
    size = int(head.split("Content-Length: ")[1].split("\r\n")[0])
    while len(client.seen) < size:
        client.seen += client.socket.recv(65536)
    body, client.seen = client.seen[:size], client.seen[size:]
    return json.loads(body)


def test_event_is_raw_utf8(connect: Connect, server: ScriptedServer) -> None:
    """Events keep U+0085 and U+2028 unescaped, as Go's servers may."""
    server.add(Head1(), Event("ADDED", {"a": "\x85\u2028é"}))
    assert connect(server).get().read_all() == HEAD1 + '{"type":"ADDED","object":{"a":"\x85\u2028é"}}\n'.encode()


def test_gzip(connect: Connect, server: ScriptedServer) -> None:
    """Each Gzip is a chunk with a gzip member of its own."""
    server.add(Head1(headers={"Content-Encoding": "gzip"}), Gzip(b"one\n"), Gzip(b"two\n"))
    body = connect(server).get().read_all().split(b"\r\n\r\n", 1)[1]
    assert gzip.decompress(body) == b"one\ntwo\n"
    assert body.count(b"\x1f\x8b\x08") == 2


def test_rst(connect: Connect, server: ScriptedServer) -> None:
    """Rst is a TCP reset, not a clean close."""
    release = threading.Event()
    server.add(Head(), StallUntil(release), Rst())
    client = connect(server).get()
    client.read_head()
    release.set()
    with pytest.raises(ConnectionResetError):
        client.read_all()


@pytest.mark.parametrize("step", [Stall(0.05), NoHead(0.05)])
def test_stall(connect: Connect, server: ScriptedServer, step: Step) -> None:
    """Stall sends nothing for its time and then goes on."""
    server.add(step, Head(), Fin())
    start = time.monotonic()
    assert connect(server).get().read_all() == HEAD
    assert 0.05 <= time.monotonic() - start < 2.0


def test_stall_until(connect: Connect, server: ScriptedServer) -> None:
    """StallUntil goes on within milliseconds of the event."""
    release = threading.Event()
    server.add(Head(), StallUntil(release), Raw(b"x"), Fin())
    client = connect(server).get()
    client.read_head()
    client.socket.settimeout(0.02)
    with pytest.raises(TimeoutError):
        client.socket.recv(1)
    release.set()
    client.socket.settimeout(5.0)
    assert client.read_all() == b"1\r\nx\r\n"


def test_blackhole(connect: Connect, server: ScriptedServer) -> None:
    """A Blackhole answers nothing more, not even to a close; the close itself is seen all the same."""
    server.add(Head(), Blackhole())
    client = connect(server).get()
    client.read_head()
    client.get("/never-read")
    client.socket.settimeout(0.02)
    with pytest.raises(TimeoutError):
        client.socket.recv(1)
    client.close()
    assert server.requests[0].closed_by_client.wait(5.0), "the close was not seen"
    assert server.open_connections == 1
    assert len(server.requests) == 1


def test_call_and_reply(connect: Connect, server: ScriptedServer) -> None:
    """Call hooks a function in; Reply answers with what a function gives."""
    called: list[Request] = []
    server.add(Call(called.append), Reply(lambda request: [Http(200, request.path)]))
    client = connect(server).get("/echo")
    assert client.read_until(b"/echo").endswith(b"\r\n\r\n/echo")
    assert called == server.requests


def test_repeat_of_a_million_ends_with_the_client(connect: Connect, server: ScriptedServer) -> None:
    """A script that is still sending ends when the client closes, and that is no failure."""
    server.add(Head(), Repeat(Raw(b"x" * 1000), 1_000_000))
    client = connect(server).get()
    client.read_head()
    client.close()
    server.wait_for_disconnect(5.0)
    server.wait_until_idle(5.0)


def test_own_step(connect: Connect, server: ScriptedServer) -> None:
    """A test can write its own step."""

    class Hello(Step):
        def run(self, exchange: Exchange) -> None:
            exchange.raw(b"hello")

    server.add(Hello())
    assert connect(server).get().read_all() == b"hello"


def test_objects() -> None:
    """The helpers make the objects an API server would."""
    assert pod("a", "3", spec={"x": 1}, metadata={"labels": {"l": "1"}}) == {
        "apiVersion": "v1", "kind": "Pod", "spec": {"x": 1},
        "metadata": {
            "name": "a", "namespace": "default", "uid": "uid-a", "resourceVersion": "3", "labels": {"l": "1"},
        },
    }  # fmt: skip
    assert bookmark("7", annotations={"k8s.io/initial-events-end": "true"})["metadata"] == {
        "resourceVersion": "7", "creationTimestamp": None, "annotations": {"k8s.io/initial-events-end": "true"},
    }  # fmt: skip
    assert status(500, details={"retryAfterSeconds": 1}) == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "details": {"retryAfterSeconds": 1}, "code": 500,
    }  # fmt: skip
    assert status(200)["status"] == "Success"
