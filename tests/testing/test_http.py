"""HTTP as every server here reads it: what is no request is refused at once, and nobody is left waiting."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwsync.testing import ApiServer, Http, ScriptedServer, TestCA
from kwsync.testing._server import LoopbackServer
from tests.testing.raw_client import Connect, RawClient

MIB = 1 << 20
GET = b"GET /version HTTP/1.1\r\nHost: h\r\n"
POST = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: h\r\n"


@pytest.fixture(params=["scripted", "api"])
def any_server(request: pytest.FixtureRequest) -> Iterator[LoopbackServer]:
    """One server of each kind; leaving it raises what its threads met."""
    with ScriptedServer(default=Http(200, "fine")) if request.param == "scripted" else ApiServer() as server:
        yield server


NONSENSE = {
    "length-word": POST + b"Content-Length: abc\r\n\r\n",
    "length-list": POST + b"Content-Length: 5, 5\r\n\r\nhello",
    "length-negative": POST + b"Content-Length: -5\r\n\r\n",
    "length-signed": POST + b"Content-Length: +5\r\n\r\nhello",
    "length-spaced": POST + b"Content-Length: 5 5\r\n\r\nhello",
    "length-empty": POST + b"Content-Length:\r\n\r\n",
    "length-unicode": POST + b"Content-Length: \xb2\r\n\r\n",
    "length-underscore": POST + b"Content-Length: 1_0\r\n\r\n",
    "length-digits": POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "length-twice": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "length-and-chunks": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunk-word": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "chunk-negative": POST + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n",
    "chunk-prefixed": POST + b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n",
    "chunk-empty": POST + b"Transfer-Encoding: chunked\r\n\r\n\r\n",
    "chunk-endless-size": POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 5000,
    "chunk-unfinished": POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n",
    "trailers-endless": POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 2000,
    "target-bracket": b"GET //[ HTTP/1.1\r\nHost: h\r\n\r\n",
    "target-absolute-bracket": b"GET http://[/ HTTP/1.1\r\nHost: h\r\n\r\n",
    "target-absolute-empty": b"GET http:// HTTP/1.1\r\nHost: h\r\n\r\n",
    "target-relative": b"GET version HTTP/1.1\r\nHost: h\r\n\r\n",
    "target-empty": b"GET  HTTP/1.1\r\nHost: h\r\n\r\n",
    "target-fragment": b"GET /version#x HTTP/1.1\r\nHost: h\r\n\r\n",
    "target-not-ascii": b"GET /\xff HTTP/1.1\r\nHost: h\r\n\r\n",
    "escape-word": b"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n",
    "escape-short": b"GET /% HTTP/1.1\r\nHost: h\r\n\r\n",
    "escape-in-query": b"GET /version?a=%4 HTTP/1.1\r\nHost: h\r\n\r\n",
    "connect-path": b"CONNECT /version HTTP/1.1\r\nHost: h\r\n\r\n",
    "colon-missing": GET + b"Host\r\n\r\n",
    "name-empty": GET + b": x\r\n\r\n",
    "name-spaced": GET + b"Host : x\r\n\r\n",
    "name-folded": GET + b"A: x\r\n y\r\n\r\n",
    "value-nul": GET + b"A: x\0y\r\n\r\n",
    "line-feed": b"GET /version HTTP/1.1\nHost: x\n\n",
    "line-feed-in-header": GET + b"A: x\ny\r\n\r\n",
    "carriage-return": GET + b"A: x\ry\r\n\r\n",
    "version": b"GET /version HTTP/2.0\r\n\r\n",
    "version-word": b"GET /version HTTP/1.x\r\n\r\n",
    "method": b"G\x00T /version HTTP/1.1\r\nHost: h\r\n\r\n",
    "words": b"GET /ver sion HTTP/1.1\r\nHost: h\r\n\r\n",
    "empty": b"\r\n\r\n",
    "tls": b"\x16\x03\x01\x00",
}

OTHER_REFUSALS = {
    "line": (b"GET /" + b"x" * (MIB + 5000), b"414 "),
    "header": (GET + b"A: " + b"x" * (MIB + 5000), b"431 "),
    "headers": (GET + b"A: x\r\n" * 1200, b"431 "),
    "headers-complete": (GET + b"A: x\r\n" * 1200 + b"\r\n", b"431 "),
    "expectation": (POST + b"Expect: tea\r\n\r\n", b"417 "),
    "encoding": (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", b"501 "),
}
HOSTS = {
    "host-missing": (b"GET /version HTTP/1.1\r\n\r\n", 400),
    "host-missing-absolute": (b"GET http://example.com/version HTTP/1.1\r\n\r\n", 400),
    "host-missing-before-1.1": (b"GET /version HTTP/1.0\r\n\r\n", 200),
    "host-twice": (GET + b"Host: h\r\n\r\n", 400),
    "host-twice-before-1.1": (b"GET /version HTTP/1.0\r\nHost: h\r\nHost: h\r\n\r\n", 400),
    **{
        f"host-{name}": (b"GET /version HTTP/1.1\r\nHost: " + host + b"\r\n\r\n", status)
        for name, host, status in (
            ("empty", b"", 200),
            ("words", b"a b", 400),
            ("path", b"a/b", 400),
            ("user", b"user@h", 400),
            ("not-ascii", b"\xe9", 400),
            ("quoted", b'"h"', 400),
            ("question", b"h?", 400),
            ("address", b"[::1]:80", 200),
            ("bracket", b"[::1", 200),
            ("marks", b"~!$&'()*+,;=._-:%41", 200),
        )
    },
}
PATHS = [
    ("HEAD", "/readyz", 200),
    ("HEAD", "/apis", 200),
    ("HEAD", "/openapi/v3", 200),
    ("HEAD", "/", 200),
    ("POST", "/healthz", 200),
    ("HEAD", "/version", 405),
    ("POST", "/version", 405),
    ("HEAD", "/api", 405),
    ("HEAD", "/api/v1/pods", 405),
    ("OPTIONS", "/api/v1/pods", 405),
    ("GET", "//api/v1", 404),
    ("GET", "/api//v1/pods", 404),
    ("GET", "/api/v1/namespaces/default/pods/a%2Fb", 404),
]


class TestNonsense:
    @pytest.mark.parametrize("sent", NONSENSE.values(), ids=NONSENSE)
    def test_bad_request(self, connect: Connect, any_server: LoopbackServer, sent: bytes) -> None:
        """400 and the end of the connection, at once; it is recorded as bad, and as no failure of the server."""
        client = connect(any_server)
        client.socket.sendall(sent)
        assert client.read_all().startswith(b"HTTP/1.1 400 Bad Request\r\n")
        client.close()
        any_server.wait_until_idle()
        assert (len(any_server.bad_requests), any_server.requests, any_server.failures) == (1, [], [])

    @pytest.mark.parametrize(("sent", "status"), OTHER_REFUSALS.values(), ids=OTHER_REFUSALS)
    def test_other_refusals(self, connect: Connect, any_server: LoopbackServer, sent: bytes, status: bytes) -> None:
        """What is too long, or asks for what is not to be had, has a code of its own, which arrives."""
        client = connect(any_server)
        client.socket.sendall(sent)
        assert client.read_all().startswith(b"HTTP/1.1 " + status)
        client.close()
        any_server.wait_until_idle()
        assert (len(any_server.bad_requests), any_server.failures) == (1, [])

    @pytest.mark.parametrize(("sent", "status"), HOSTS.values(), ids=HOSTS)
    def test_host(self, connect: Connect, any_server: LoopbackServer, sent: bytes, status: int) -> None:
        """A request says its host once, in letters that a host has; before HTTP/1.1 it may be left out."""
        client = connect(any_server)
        client.socket.sendall(sent.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
        assert client.read_all().startswith(b"HTTP/1.1 %d " % status)

    def test_over_tls(self, connect: Connect, ca: TestCA) -> None:
        """The refusal arrives through TLS, too, and the stream has its proper end."""
        with ApiServer(tls=ca) as server:
            client = connect(server, ca.client_context())
            client.socket.sendall(POST + b"Content-Length: abc\r\n\r\n" + b"x" * 1000)
            assert client.read_all().startswith(b"HTTP/1.1 400 ")


class TestSense:
    @pytest.mark.parametrize(
        "sent",
        [
            b"GET http://example.com/version?x=y HTTP/1.1\r\nHost: h\r\n\r\n",
            b"GET /version?x=%41&y=[a|b] HTTP/1.1\r\nHost: h\r\nA:\r\nB:  \t x \t\r\n\r\n",
            b"GET /version HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
            b"POST /version HTTP/1.1\r\nHost: h\r\nContent-Length: 005\r\n\r\nhello",
            GET + b"Transfer-Encoding: Chunked\r\n\r\n5 ;a=b\r\nhello\r\n0\r\nA: b\r\n\r\n",
            b"GET /version HTTP/1.1\r\nHost: h\r\nA: \xe4\r\n\r\n",
        ],
        ids=["absolute", "query", "no-body", "zeros", "chunked", "latin-1"],
    )
    def test_unusual(self, connect: Connect, any_server: LoopbackServer, sent: bytes) -> None:
        """What is unusual and allowed is a request, and the next one on the connection is read rightly."""
        client = connect(any_server)
        client.socket.sendall(sent + GET + b"Connection: close\r\n\r\n")
        assert client.read_all().count(b"HTTP/1.1 ") == 2
        assert [request.path for request in any_server.requests] == ["/version", "/version"]

    def test_pipelined(self, connect: Connect, any_server: LoopbackServer) -> None:
        """Requests that come all at once are answered one after the other; nonsense ends the row."""
        client = connect(any_server)
        client.socket.sendall((GET + b"\r\n") * 3 + b"nonsense\r\n\r\n" + GET + b"\r\n")
        answers = client.read_all()
        assert (answers.count(b"HTTP/1.1 200 OK\r\n"), answers.count(b"HTTP/1.1 400 ")) == (3, 1)
        assert len(any_server.requests) == 3

    def test_byte_by_byte(self, connect: Connect, any_server: LoopbackServer) -> None:
        """However the bytes are cut, the request is the same."""
        client = connect(any_server)
        for byte in POST + b"Transfer-Encoding: chunked\r\nConnection: x, Close\r\n\r\n2\r\n{}\r\n0\r\n\r\n":
            client.socket.sendall(bytes([byte]))
        client.read_all()
        [request] = any_server.requests
        assert (request.method, request.body) == ("POST", b"{}")

    def test_one_point_zero(self, connect: Connect, any_server: LoopbackServer) -> None:
        """HTTP/1.0 has one request for each connection."""
        client = connect(any_server)
        client.socket.sendall(b"GET /version HTTP/1.0\r\n\r\n")
        assert client.read_all().startswith(b"HTTP/1.1 200 OK\r\n")


class TestUnfinished:
    @pytest.mark.parametrize(
        "sent",
        [
            b"GET /ver",
            GET + b"Host: x\r\n",
            POST + b"Content-Length: 9\r\n\r\nhalf",
            POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nha",
        ],
        ids=["line", "head", "body", "chunk"],
    )
    def test_client_goes_away(self, connect: Connect, any_server: LoopbackServer, sent: bytes) -> None:
        """Half a request is no request once its client is gone."""
        client = connect(any_server)
        client.socket.sendall(sent)
        client.socket.shutdown(socket.SHUT_WR)
        assert client.read_all() == b""
        any_server.wait_until_idle()
        assert (any_server.requests, any_server.failures) == ([], [])

    @pytest.mark.parametrize(
        "sent",
        [
            b"GET /ver",
            GET + b"Host: x\r\n",
            POST + b"Content-Length: 9\r\n\r\nhalf",
            POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nha",
        ],
        ids=["line", "head", "body", "chunk"],
    )
    def test_client_stalls(self, connect: Connect, any_server: LoopbackServer, sent: bytes) -> None:
        """A request that is not whole in time gets 408; the time does not run between two requests."""
        any_server.request_seconds = 0.05
        client = connect(any_server)
        idle = connect(any_server)
        client.socket.sendall(sent)
        assert client.read_all().startswith(b"HTTP/1.1 408 ")
        any_server.wait_for_connections(2)
        assert any_server.open_connections <= 2
        idle.socket.sendall(GET + b"Connection: close\r\n\r\n")
        assert idle.read_all().startswith(b"HTTP/1.1 200 OK\r\n")

    def test_client_does_not_go(self, connect: Connect, any_server: LoopbackServer) -> None:
        """A client that was refused and goes on for ever is cut off."""
        any_server.linger_seconds = 0.05
        client = connect(any_server)
        client.socket.sendall(b"nonsense\r\n\r\n")
        client.read_head()
        any_server.wait_until_idle()
        assert any_server.failures == []


class TestSize:
    def test_status(self, connect: Connect) -> None:
        """A body above 3 MiB gets the Status 413, in full, although the client is still sending."""
        with ApiServer() as server:
            for framing, body in FRAMINGS:
                client = connect(server)
                client.socket.sendall(POST + b"Content-Type: application/json\r\n" + framing + b"\r\n")
                client.socket.sendall(body)
                answer = client.read_all()
                assert answer.startswith(b"HTTP/1.1 413 Request Entity Too Large\r\n")
                assert b"Request entity too large: limit is 3145728" in answer
            assert [len(request.body) for request in server.requests] == [3 * MIB + 1] * len(FRAMINGS)

    def test_while_reading(self, connect: Connect) -> None:
        """No more is taken in than the limit, whatever the head promises or the chunks go on to bring."""
        with ApiServer() as server:
            client = connect(server)
            client.socket.sendall(POST + b"Content-Length: 1000000000000\r\n\r\n" + b" " * (3 * MIB + 2))
            assert client.read_head().startswith(b"HTTP/1.1 413 ")

    def test_rights_first(self, connect: Connect) -> None:
        """Who may not is told so, whatever the size; and a read does not care for a body."""
        with ApiServer() as server:
            server.deny(verbs="create")
            big = b"Content-Length: %d\r\n\r\n" % (4 * MIB) + b" " * (4 * MIB)
            for line, status in ((POST, b"403 "), (GET, b"200 ")):
                client = connect(server)
                client.socket.sendall(line + big)
                assert client.read_all().startswith(b"HTTP/1.1 " + status)

    def test_deletion(self, connect: Connect) -> None:
        """The options of a delete have the same limit."""
        with ApiServer() as server:
            client = connect(server)
            client.socket.sendall(
                b"DELETE /api/v1/namespaces/default/configmaps/a HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n"
                % (4 * MIB)
            )
            client.socket.sendall(b" " * (4 * MIB))
            assert client.read_all().startswith(b"HTTP/1.1 413 ")

    def test_bounded_beside_a_stream(self, connect: Connect) -> None:
        """What a client sends while its watch runs is kept up to a bound, and then the connection is cut."""
        with ApiServer() as server:
            client = connect(server).get("/api/v1/pods?watch=1")
            client.read_head()
            with pytest.raises(OSError, match=r"reset|[Bb]roken"):  # noqa: PT012
                while True:
                    client.socket.sendall(b"x" * MIB)
            server.wait_until_idle()


FRAMINGS = [
    (b"Content-Length: %d\r\n" % (5 * MIB), b" " * (5 * MIB)),
    (b"Transfer-Encoding: chunked\r\n", (b"%x\r\n%b\r\n" % (MIB, b" " * MIB)) * 5 + b"0\r\n\r\n"),
    (b"Transfer-Encoding: chunked\r\n", b"%x\r\n%b\r\n0\r\n\r\n" % (5 * MIB, b" " * (5 * MIB))),
]


class TestHead:
    @pytest.mark.parametrize("target", ["/version", "/api/v1/pods", "/nosuch", "/api/v1/namespaces/default/pods/x"])
    def test_no_body(self, connect: Connect, any_server: LoopbackServer, target: str) -> None:
        """HEAD has no body, and the connection serves the next request."""
        client = connect(any_server)
        client.socket.sendall(f"HEAD {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        client.read_head()
        client.socket.sendall(GET + b"Connection: close\r\n\r\n")
        assert client.read_all().startswith(b"HTTP/1.1 200 OK\r\n")


class TestExpect:
    @pytest.mark.parametrize("framing", [b"Content-Length: 2\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"])
    def test_continue(self, connect: Connect, any_server: LoopbackServer, framing: bytes) -> None:
        """A client that waits before it sends a body is told to go on."""
        client = connect(any_server)
        client.socket.sendall(POST + b"Expect: 100-Continue\r\nConnection: close\r\n" + framing)
        assert client.read_head() == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.socket.sendall(b"{}" if b"Length" in framing else b"2\r\n{}\r\n0\r\n\r\n")
        assert b" 100 " not in client.read_all()
        assert any_server.requests[0].body == b"{}"

    def test_no_need(self, connect: Connect, any_server: LoopbackServer) -> None:
        """Without a body there is nothing to go on with."""
        client = connect(any_server)
        client.socket.sendall(GET + b"Expect: 100-continue\r\nConnection: close\r\n\r\n")
        assert client.read_all().startswith(b"HTTP/1.1 200 ")


class TestPaths:
    @pytest.mark.parametrize(("method", "path", "status"), PATHS)
    def test_methods(self, connect: Connect, method: str, path: str, status: int) -> None:
        """Which methods a path has, as seen at a real server; and two slashes are never one."""
        with ApiServer() as server:
            client = connect(server)
            client.socket.sendall(f"{method} {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
            assert client.read_all().startswith(f"HTTP/1.1 {status} ".encode())


PIECES = [
    *(
        GET,
        POST,
        b"DELETE /api/v1/pods HTTP/1.1\r\nHost: h\r\n",
        b"HEAD / HTTP/1.1\r\nHost: h\r\n",
        b"GET http://h/api?watch=1 HTTP/1.1\r\nHost: h\r\n",
    ),
    *(
        b"GET /api/v1/pods?watch=1&timeoutSeconds=1&resourceVersion=",
        b"%",
        b"%2",
        b"%zz",
        b"[",
        b"?",
        b"&=",
        b"//",
        b"#",
    ),
    *(b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"Connection: close\r\n"),
    *(
        b"Content-Type: application/json\r\n",
        b"Accept: ",
        b"Authorization: Bearer ",
        b"q=",
        b";as=Table",
        b"0",
        b"-1",
        b"5",
    ),
    *(
        b"2\r\n{}\r\n0\r\n\r\n",
        b"ffffffffffffffff",
        b"\r\n",
        b"\r\n\r\n",
        b"\r",
        b"\n",
        b"\0",
        b"\xff",
        b":",
        b" ",
        b"{}",
        b"\x16\x03",
    ),
]


class TestAnyBytes:
    @pytest.fixture
    def hurried(self) -> Iterator[ApiServer]:
        """A server that waits for nobody."""
        with ApiServer(min_request_timeout=0.05, too_large_wait=0.01) as server:
            server.linger_seconds = 0.05
            yield server

    @settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(pieces=st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=12))
    def test_survives(self, hurried: ApiServer, pieces: list[bytes]) -> None:
        """Whatever is sent is answered in HTTP or not at all, and never is the server itself at fault."""
        with contextlib.closing(RawClient(hurried.port)) as client:
            client.socket.sendall(b"".join(pieces))
            client.socket.shutdown(socket.SHUT_WR)
            answer = client.read_all()
        assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
        assert hurried.failures == []
        hurried.wait_until_idle()
