"""What verbs raise: every answer that is no success, and every answer that is none."""

from __future__ import annotations

import pickle
import ssl
from collections.abc import Callable
from typing import Any

import pytest

from kwsync import Client, Cluster, ErrorOrigin, ErrorType, KwsyncError, WatchError, _session
from kwsync.testing import (
    CutChunk,
    Fin,
    Head,
    Head1,
    Http,
    Raw,
    RawBytes,
    Rst,
    ScriptedServer,
    Stall,
    Step,
    TestCA,
    pod,
    status,
)
from tests.client.support import client_of, failure

PATH = "/api/v1/namespaces/ns/pods/a"
JSON = {"Content-Type": "application/json"}
WAIT = status(429, "TooManyRequests", "slow down", details={"retryAfterSeconds": 7})


def get(client: Client) -> Callable[[], object]:
    """The request that all of this happens to."""
    return lambda: client.get("pods", "a", "ns")


class TestStatus:
    @pytest.mark.parametrize(
        ("answer", "fields"),
        [
            pytest.param(Http(400, status(400, "BadRequest", "no")),
                         {"error_type": ErrorType.BAD_REQUEST, "reason": "BadRequest", "message": "no"}, id="400"),
            pytest.param(Http(401, status(401)), {"error_type": ErrorType.UNAUTHORIZED_ERROR}, id="401"),
            pytest.param(Http(404, status(404, "NotFound")), {"error_type": ErrorType.NOT_FOUND}, id="404"),
            pytest.param(Http(404, "404 page not found\n"),
                         {"error_type": ErrorType.NOT_FOUND, "message": "404 page not found", "status": None},
                         id="404-text"),
            pytest.param(Http(409, status(409, "Conflict")),
                         {"error_type": ErrorType.UNKNOWN_ERROR, "reason": "Conflict"}, id="409"),
            pytest.param(Http(410, status(410, "Expired")), {"is_expired": True, "is_permanent": False}, id="410"),
            pytest.param(Http(429, WAIT), {"retry_after": 7.0, "status": WAIT}, id="429-body"),
            pytest.param(Http(429, WAIT, {"Retry-After": "3"}), {"retry_after": 3.0}, id="429-header"),
            pytest.param(Http(429, "busy", {"Retry-After": "1"}), {"retry_after": 1, "message": "busy"}, id="429-text"),
            pytest.param(Http(500, status(500)), {"error_type": ErrorType.SYSTEM_ERROR, "reason": ""}, id="500"),
            pytest.param(Http(502, b"<html>bad gateway</html>"),
                         {"status_code": 502, "message": "<html>bad gateway</html>"}, id="html"),
            pytest.param(Http(503), {"status_code": 503, "message": ""}, id="empty"),
            pytest.param(Http(302, headers={"Location": "http://192.0.2.1/"}), {"status_code": 302}, id="redirect"),
            pytest.param(Http(500, b"\xff\xfe", JSON), {"status_code": 500, "message": "\ufffd\ufffd"}, id="no-utf-8"),
            pytest.param(Http(500, b'{"a":1}', JSON), {"message": '{"a":1}', "status": None}, id="no-status"),
        ],
    )  # fmt: skip
    def test_fields(self, server: ScriptedServer, client: Client, answer: Http, fields: dict[str, Any]) -> None:
        """An answer that is no success is one WatchError: a Status gives its fields, any other body its text."""
        server.add(answer)
        error = failure(get(client))
        assert isinstance(error, KwsyncError)
        assert (error.origin, error.resource_path) == (ErrorOrigin.HTTP, PATH)
        assert error.status_code == answer.code
        assert {name: getattr(error, name) for name in fields} == fields
        assert len(server.requests) == 1

    def test_pickle(self, server: ScriptedServer, client: Client) -> None:
        """An error that was raised can be pickled, as task queues do, and is the same afterwards."""
        server.add(Http(429, WAIT))
        error = failure(get(client))
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is WatchError
        assert (str(copy), copy.status, copy.retry_after) == (str(error), WAIT, 7.0)

    def test_pickle_without_an_answer(self, server: ScriptedServer, client: Client) -> None:
        """The same holds for an error that has a lower exception."""
        server.add(Rst())
        error = failure(get(client))
        assert error.__cause__ is not None
        assert str(pickle.loads(pickle.dumps(error))) == str(error)

    def test_large_body(self, server: ScriptedServer, client: Client) -> None:
        """Of an error's body a mebibyte is read at most, and 2,048 characters make the message."""
        server.add(Head(502, {"Content-Type": "text/html"}), *[Raw(b"x" * 65536)] * 64, Stall())
        error = failure(get(client))
        assert (error.status_code, error.message) == (502, "x" * 2048)

    @pytest.mark.parametrize(
        "rest",
        [
            pytest.param([Fin()], id="broken-off"),
            pytest.param([RawBytes(b"zz\r\n"), Fin()], id="malformed"),
            pytest.param([Stall()], id="silent"),
        ],
    )
    def test_unreadable_body(
        self, server: ScriptedServer, client: Client, rest: list[Step], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The status of an error whose body breaks off or does not come is told all the same, with what has come."""
        monkeypatch.setattr(_session, "ERROR_BODY_SECONDS", 0.2)
        server.add(Head(503), Raw(b"over"), *rest)
        error = failure(get(client))
        assert (error.status_code, error.message, error.origin) == (503, "over", ErrorOrigin.HTTP)


class TestAnswers:
    @pytest.mark.parametrize(
        "script",
        [
            pytest.param([Http(200, "<html>")], id="html"),
            pytest.param([Http(200, [{"kind": "Pod"}])], id="array"),
            pytest.param([Http(200, b"null", JSON)], id="null"),
            pytest.param([Http(200)], id="empty"),
            pytest.param([Http(200, b'{"kind":"Pod"', JSON)], id="half"),
            pytest.param([Http(200, b'{"a":"\xff"}', JSON)], id="no-utf-8"),
            pytest.param([Head1(), Raw(b'{"kind":'), Fin()], id="half-without-length"),
            pytest.param([Http(200, b"not gzip", {"Content-Encoding": "gzip"})], id="no-gzip"),
            pytest.param([Http(204)], id="no-content"),
        ],
    )
    def test_no_object(self, server: ScriptedServer, client: Client, script: list[Step]) -> None:
        """A success whose body is no JSON object is an error DECODE."""
        server.add(*script)
        error = failure(get(client))
        assert (error.origin, error.status_code, error.resource_path) == (ErrorOrigin.DECODE, 0, PATH)

    @pytest.mark.parametrize(
        ("script", "words"),
        [
            pytest.param([Http(200, b'{"a":1}', {"Content-Length": "99"}), Fin()], "middle of the answer", id="length"),
            pytest.param([Head(), Raw(b'{"kind":"Pod"}'), Fin()], "ended", id="no-zero-chunk"),
            pytest.param([Head(), CutChunk(b'{"kind":', 50), Fin()], "middle of the answer", id="cut-chunk"),
            pytest.param([Head(), CutChunk(b'{"kind":', 50), Rst()], "reset", id="reset"),
            pytest.param([Head(), RawBytes(b"zz\r\n{}\r\n"), Fin()], "chunks are malformed", id="chunk-size"),
            pytest.param([RawBytes(b"hello\r\n\r\n"), Fin()], "not HTTP", id="no-http"),
            pytest.param([RawBytes(b"HTTP/1.1 200 OK\r\nContent-"), Fin()], "middle of the answer", id="half-head"),
            pytest.param([Fin()], "", id="closed"),
            pytest.param([Rst()], "", id="reset-at-once"),
        ],
    )  # fmt: skip
    def test_broken_off(self, server: ScriptedServer, client: Client, script: list[Step], words: str) -> None:
        """An answer that breaks off is an error NETWORK, never half an object, also where the half can be decoded."""
        server.add(*script)
        error = failure(get(client))
        assert (error.origin, error.status_code) == (ErrorOrigin.NETWORK, 0)
        assert error.error_type is ErrorType.SYSTEM_ERROR
        assert words in error.message
        assert error.__cause__ is not None
        assert error.__cause__.__traceback__ is None

    def test_refused(self, server: ScriptedServer, client: Client) -> None:
        """A port where nobody listens is an error NETWORK that names it."""
        server.stop_listening()
        error = failure(get(client))
        assert error.origin is ErrorOrigin.NETWORK
        assert f"127.0.0.1 port {server.port}" in error.message

    def test_untrusted(self, ca: TestCA) -> None:
        """A server whose certificate is not signed by the cluster's authority gets no request."""
        with ScriptedServer(tls=ca.server_context()) as server, Client(Cluster(server.url)) as client:
            error = failure(get(client))
            assert server.requests == []
        assert error.origin is ErrorOrigin.NETWORK
        assert "cannot be trusted" in error.message

    def test_trusted(self, ca: TestCA) -> None:
        """With the authority as data the verbs work over TLS, and the name that is asked for can be another."""
        with ScriptedServer(tls=ca.server_context("api.test"), default=Http(200, pod("a"))) as server:
            assert isinstance(server.tls, ssl.SSLContext)
            with Client(Cluster(server.url, ca_data=ca.pem, tls_server_name="api.test")) as client:
                assert client.get("pods", "a", "ns") == pod("a")

    @pytest.mark.parametrize("url", ["", "example.test", "ftp://example.test", "http://", "http://u:p@h", "http://h:x"])
    def test_bad_url(self, url: str) -> None:
        """A cluster whose URL cannot be used is an error CONFIG at the first request."""
        with Client(Cluster(url)) as client:
            assert failure(get(client)).origin is ErrorOrigin.CONFIG

    @pytest.mark.parametrize("provider", ["google", "oidc", "aks"])
    def test_browser_mediated(self, server: ScriptedServer, provider: str) -> None:
        """A provider whose credentials come from a browser is BAD_REQUEST 400 without a request."""
        with Client(Cluster(server.url, auth_provider=provider)) as client:
            error = failure(get(client))
        assert (error.error_type, error.status_code) == (ErrorType.BAD_REQUEST, 400)
        assert (error.origin, server.connections_accepted) == (ErrorOrigin.CONFIG, 0)


def test_not_idempotent(server: ScriptedServer) -> None:
    """A broken answer to a write is told and not sent again."""
    server.default = (Rst(),)
    with client_of(server) as client:
        failure(lambda: client.create("pods", pod("a")))
    assert len(server.requests) == 1
