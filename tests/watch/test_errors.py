"""Every failure is one ERROR event with the whole story, and the end says it once more."""

from __future__ import annotations

import email.utils
import gzip
import json
import logging
import socket
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest

from kwsync import (
    Client,
    Cluster,
    EndReason,
    ErrorOrigin,
    ErrorType,
    EventType,
    WatchEnd,
    WatchError,
    _client,
    _clock,
    _session,
    watch_resource,
)
from kwsync.credentials import Anonymous, AuthContext, Authorization, BasicAuth, BearerToken, Credential, TokenFile
from kwsync.testing import (
    CutChunk,
    End,
    Event,
    Fin,
    Head,
    Head1,
    Http,
    Raw,
    RawBytes,
    Repeat,
    Rst,
    ScriptedServer,
    Stall,
    Step,
    Transcript,
    pod,
    status,
)
from tests.recorded import TRANSCRIPTS
from tests.watch.support import PODS, SOON, Outcome, assert_clean, line, outcome_of, served, watched, whole

MIB = 1024 * 1024
SECRET = "made-up-secret"
TYPES = {
    300: ErrorType.UNKNOWN_ERROR,
    304: ErrorType.UNKNOWN_ERROR,
    400: ErrorType.BAD_REQUEST,
    401: ErrorType.UNAUTHORIZED_ERROR,
    403: ErrorType.UNKNOWN_ERROR,
    404: ErrorType.NOT_FOUND,
    405: ErrorType.UNKNOWN_ERROR,
    406: ErrorType.UNKNOWN_ERROR,
    409: ErrorType.UNKNOWN_ERROR,
    410: ErrorType.UNKNOWN_ERROR,
    413: ErrorType.UNKNOWN_ERROR,
    422: ErrorType.UNKNOWN_ERROR,
    429: ErrorType.UNKNOWN_ERROR,
    500: ErrorType.SYSTEM_ERROR,
    502: ErrorType.UNKNOWN_ERROR,
    503: ErrorType.UNKNOWN_ERROR,
    504: ErrorType.UNKNOWN_ERROR,
    599: ErrorType.UNKNOWN_ERROR,
}
FORBIDDEN = status(403, "Forbidden", "pods is forbidden", details={"kind": "pods"})


def pretty(document: object) -> str:
    """Indented, as some servers and proxies send it."""
    return json.dumps(document, indent=2)


class TestHttp:
    @pytest.mark.parametrize("code", TYPES)
    @pytest.mark.parametrize("with_status", [True, False], ids=["status", "text"])
    def test_code(self, code: int, with_status: bool) -> None:
        """An answer that is no success is exactly one ERROR and the end, typed by Backstage's table (A6, 3.1)."""
        body = {**status(code, "Reason", "the message"), "status": "Failure"} if with_status else "the message"
        outcome = watched(Http(code, body))
        error = outcome.error
        assert outcome.types == ["ERROR"]
        assert (error.error_type, error.origin, error.status_code) == (TYPES[code], ErrorOrigin.HTTP, code)
        assert (error.resource_path, error.retry_after) == (PODS, None)
        assert error.reason == ("Reason" if with_status and code != 304 else "")
        assert error.status == (body if with_status and code != 304 else None)
        if code >= 400:
            assert error.message == "the message"
        assert outcome.end == WatchEnd(EndReason.ERROR, error)

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"", ""),
            (b" \r\n ", ""),
            ("page not found\n", "page not found"),
            ("<html><body>502 Bad Gateway</body></html>", "<html><body>502 Bad Gateway</body></html>"),
            ("kind: Status\nstatus: Failure\n", "kind: Status\nstatus: Failure"),
            (b"\xff\xfe", "\ufffd\ufffd"),
            ('{"error":"x"}', '{"error":"x"}'),
            ("null", "null"),
            ("[]", "[]"),
            ('"text"', '"text"'),
            ("{" * 5000, "{" * 2048),
            ("ä" * 5000, "ä" * 2048),
        ],
        ids=range(12),
    )
    def test_body_that_is_no_status(self, body: bytes | str, message: str) -> None:
        """Text of any kind becomes the message, cut to 2,048 characters; there is no status then (A6, D14, D16)."""
        error = watched(Http(403, body)).error
        assert (error.message, error.reason, error.status) == (message, "", None)
        assert (error.status_code, error.origin) == (403, ErrorOrigin.HTTP)

    @pytest.mark.parametrize("body", [FORBIDDEN, pretty(FORBIDDEN), pretty(FORBIDDEN) + "\n", " " + pretty(FORBIDDEN)])
    @pytest.mark.parametrize("framing", [(), (Head(code=403), End()), (Head1(code=403), Fin())], ids=range(3))
    def test_status(self, framing: tuple[Step, ...], body: dict[str, Any] | str) -> None:
        """A Status is read in any framing, in one line or indented."""
        text = body if isinstance(body, str) else json.dumps(body)
        steps = (framing[0], Raw(text.encode()), framing[1]) if framing else (Http(403, text),)
        error = watched(*steps).error
        assert (error.reason, error.message, error.status) == ("Forbidden", "pods is forbidden", FORBIDDEN)

    @pytest.mark.parametrize("inside", [403, "403", 0, None, "x", [], True, 99999])
    def test_code_of_the_status_object(self, inside: object) -> None:
        """The Status object's own code counts where it is one, else the HTTP status."""
        error = watched(Http(500, {"kind": "Status", "status": "Failure", "code": inside})).error
        assert error.status_code == (403 if str(inside) == "403" else 500)

    def test_gzip(self) -> None:
        """An error answer that is compressed all the same is unpacked."""
        body = gzip.compress(json.dumps(FORBIDDEN).encode())
        assert watched(Http(403, body, {"Content-Encoding": "gzip"})).error.reason == "Forbidden"

    def test_huge_body(self) -> None:
        """Of an endless body one MiB is read and 2,048 characters are kept; then the connection is closed."""
        with served([Head(code=500), Repeat(Raw(b"x" * 65_536), 1_000_000)]) as (server, client):
            tracemalloc.start()
            try:
                error = outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)).error
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            server.wait_for_disconnect()
        assert peak < 32 * MIB, f"{peak / MIB:.1f} MiB at the peak"
        assert error.message == "x" * 2048

    @pytest.mark.parametrize(
        "steps",
        [
            (Head(code=403), Raw(b"half a te"), Stall()),
            (Head(code=403), Raw(b"half a te"), Repeat((Stall(0.02), RawBytes(b"0")), 1000)),
            (Head1(code=403), Raw(b"half a te"), Stall()),
            (Http(403, b"half a te", {"Content-Length": "20"}), Stall()),
            (Head(code=403), Raw(b"half a te"), Fin()),
            (Head(code=403), Raw(b"half a te"), RawBytes(b"zz\r\n"), Fin()),
            (Http(403, b"half a te", {"Content-Length": "20"}), Fin()),
            (Head1(code=403, headers={"Content-Length": "20", "Connection": None}), Raw(b"half a te"), Fin()),
        ],
        ids=["stall", "drip", "stall-close", "stall-length", "fin", "broken-chunk", "short", "short-close"],
    )
    def test_body_that_does_not_end(self, steps: tuple[Step, ...], monkeypatch: pytest.MonkeyPatch) -> None:
        """A body that stalls or breaks does not change what the status has said; what has come is the message."""
        monkeypatch.setattr(_session, "ERROR_BODY_SECONDS", 0.2)
        error = watched(*steps).error
        assert (error.origin, error.status_code, error.message) == (ErrorOrigin.HTTP, 403, "half a te")

    @pytest.mark.parametrize("step", [Rst(), Fin(), Stall()])
    def test_body_that_never_begins(self, step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nor does one of which nothing comes."""
        monkeypatch.setattr(_session, "ERROR_BODY_SECONDS", 0.2)
        error = watched(Head(code=410), step).error
        assert (error.origin, error.status_code, error.is_expired, error.message) == (ErrorOrigin.HTTP, 410, True, "")

    @pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
    def test_redirect(self, code: int) -> None:
        """A redirect is an error like any other: never followed, the other host never contacted (Backstage 2.2)."""
        with ScriptedServer() as other:
            location = {"Location": f"{other.url}/api/v1/pods?watch=true"}
            with served([Http(code, b"", location)], credential=BearerToken(SECRET)) as (server, client):
                outcome = outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON), server)
            assert other.connections_accepted == 0
        error = outcome.error
        assert (error.error_type, error.origin, error.status_code) == (ErrorType.UNKNOWN_ERROR, ErrorOrigin.HTTP, code)
        assert other.url in error.message
        assert len(outcome.requests) == 1

    @pytest.mark.parametrize("headers", [{"Location": PODS}, {"Location": "\x80?"}, {}])
    def test_redirect_to_itself(self, headers: dict[str, str]) -> None:
        """Nor is one within the same host followed, or one that leads nowhere."""
        outcome = watched(Http(302, b"moved", headers))
        assert (outcome.error.status_code, len(outcome.requests)) == (302, 1)

    def test_refresh_after_401(self, tmp_path: Path) -> None:
        """A credential that has something new after a 401 is asked, and the request is sent once more (3.2)."""
        path = tmp_path / "token"
        path.write_text("old")
        credential = TokenFile(str(path))
        with served((Head(), End()), (Http(401, status(401)),), (Head(), Event("ADDED", pod("a")), End())) as (
            server,
            _,
        ):
            with Client(Cluster(server.url), credential) as client:
                list(watch_resource("pods", client=client, timeout_seconds=SOON))
                path.write_text("new")
                assert_clean(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)), "a")
            sent = [request.headers["Authorization"] for request in server.requests]
        assert sent == ["Bearer old", "Bearer old", "Bearer new"]

    def test_refresh_only_once(self) -> None:
        """A second 401 is the error, whatever the credential says."""
        with served(*[[Http(401, "no")]] * 3, credential=Stubborn()) as (server, client):
            outcome = outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON), server)
        assert (outcome.error.error_type, outcome.error.origin) == (ErrorType.UNAUTHORIZED_ERROR, ErrorOrigin.HTTP)
        assert len(outcome.requests) == 2

    @pytest.mark.parametrize("step", [Stall(), Fin(), Rst()])
    def test_refresh_after_a_401_whose_body_does_not_end(self, step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
        """The body of the 401 cannot hold up, or spoil, the second request."""
        monkeypatch.setattr(_session, "ERROR_BODY_SECONDS", 0.2)
        with served([Head(code=401), step], (Head(), Event("ADDED", pod("a")), End()), credential=Stubborn()) as (
            _,
            client,
        ):
            assert_clean(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)), "a")


class Stubborn:
    """Says after each 401 that it has something new."""

    def authorize(self, context: AuthContext) -> Authorization:
        return Authorization.bearer(SECRET)

    def refresh(self, rejected: Authorization) -> bool:
        return True


class TestRetryAfter:
    @pytest.mark.parametrize(
        ("header", "seconds"),
        [("0", 0.0), ("7", 7.0), (" 30 ", 30.0), ("-1", None), ("1.5", None), ("soon", None), ("", None), ("٣", None)],
    )
    def test_header(self, header: str, seconds: float | None) -> None:
        """Retry-After counts in whole seconds; what cannot be read is none (A6)."""
        answer = RawBytes(
            f"HTTP/1.1 429 No\r\nContent-Length: 0\r\nRetry-After: {header}\r\n\r\n".encode(), keep_alive=True
        )
        assert watched(answer).error.retry_after == seconds

    @pytest.mark.parametrize("offset", [-60, 0, 90])
    def test_date(self, offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """An HTTP date, as proxies send it, counts from now, and one in the past is now."""
        monkeypatch.setattr(_clock, "wall", lambda: 1_700_000_000.0)
        date = email.utils.formatdate(1_700_000_000 + offset, usegmt=True)
        assert watched(Http(503, b"", {"Retry-After": date})).error.retry_after == max(0, offset)

    @pytest.mark.parametrize(("details", "seconds"), [(3, 3.0), (0, None), (-1, None), ("3", None), (True, None)])
    def test_details(self, details: object, seconds: float | None) -> None:
        """In a Status details.retryAfterSeconds says it, in an answer as in the stream, which has no header (A4)."""
        found = status(504, "Timeout", details={"retryAfterSeconds": details})
        assert watched(Http(504, found)).error.retry_after == seconds
        assert watched(Head(), Event("ERROR", found), End()).error.retry_after == seconds

    def test_both(self) -> None:
        """The header wins: a proxy that wrote it knows later than the server."""
        found = status(429, "TooManyRequests", details={"retryAfterSeconds": 3})
        assert watched(Http(429, found, {"Retry-After": "9"})).error.retry_after == 9.0


class TestStatusWithSuccess:
    """Some servers and proxies answer 200 with a Status object where a stream should be."""

    @pytest.mark.parametrize("framing", ["chunked", "close", "length", "bytes"])
    @pytest.mark.parametrize("end", ["\n", "\r\n", ""], ids=["lf", "crlf", "none"])
    @pytest.mark.parametrize("form", [json.dumps, pretty], ids=["line", "indented"])
    def test_status(self, form: Callable[[object], str], end: str, framing: str) -> None:
        """It is one ERROR of origin HTTP, and nothing of it counts as a line that was skipped; the end is clean."""
        body = (form(FORBIDDEN) + end).encode()
        steps = {
            "chunked": (Head(), Raw(body), End()),
            "close": (Head1(), Raw(body), Fin()),
            "length": (whole(body),),
            "bytes": (Head(), *(Raw(body[n : n + 1]) for n in range(len(body))), End()),
        }
        outcome = watched(*steps[framing])
        error = outcome.error
        assert (error.origin, error.status_code, error.reason) == (ErrorOrigin.HTTP, 403, "Forbidden")
        assert error.status == FORBIDDEN
        assert outcome.end == WatchEnd(EndReason.SERVER_CLOSED, error)
        assert (len(outcome.events), outcome.skipped_lines) == (1, 0)

    @pytest.mark.parametrize("form", [json.dumps, pretty], ids=["line", "indented"])
    def test_reading_goes_on(self, form: Callable[[object], str]) -> None:
        """What comes behind it is read."""
        body = Raw(form(FORBIDDEN).encode() + b"\n" + line("ADDED", pod("b")))
        outcome = watched(Head(), Event("ADDED", pod("a")), body, End())
        assert outcome.types == ["ADDED", "ERROR", "ADDED"]
        assert (outcome.end.reason, outcome.skipped_lines) == (EndReason.SERVER_CLOSED, 0)

    def test_list(self) -> None:
        """A list where a stream should be (a server that ignores watch) is no event, one line that is counted."""
        outcome = watched(Http(200, {"kind": "PodList", "metadata": {"resourceVersion": "9"}, "items": []}))
        assert_clean(outcome)
        assert (outcome.skipped_lines, outcome.resource_version) == (1, None)

    def test_indented_event(self) -> None:
        """An event that somebody has indented is an event; an indented document that is none counts line by line."""
        event = pretty({"type": "ADDED", "object": pod("a")}).encode() + b"\n"
        other = pretty({"kind": "Pod"}).encode() + b"\n"
        outcome = watched(Head(), Raw(event + other + event), End())
        assert_clean(outcome, "a", "a")
        assert outcome.skipped_lines >= 1

    def test_html(self) -> None:
        """A page with status 200 (a login page of a proxy) is no event; each of its lines is counted."""
        outcome = watched(Http(200, "<html>\n<body>\nLog in\n</body>\n</html>\n"))
        assert_clean(outcome)
        assert outcome.skipped_lines == 5


class TestInStream:
    def test_reading_goes_on(self) -> None:
        """An ERROR does not end the stream, the server does; each is told, the last is the end's (Backstage 1.3)."""
        first, second = status(500, "InternalError", "one"), status(410, "Expired", "two")
        steps = [Event("ERROR", first), Event("MODIFIED", pod("a", "8")), Event("ERROR", second)]
        outcome = watched(Head(), Event("ADDED", pod("a", "7")), *steps, End(), resource_version="1")
        assert outcome.types == ["ADDED", "ERROR", "MODIFIED", "ERROR"]
        errors = [event.error for event in outcome.events if event.error]
        assert [error.status_code for error in errors] == [500, 410]
        assert outcome.end == WatchEnd(EndReason.SERVER_CLOSED, errors[1])
        assert outcome.resource_version == "8"

    @pytest.mark.parametrize(
        ("found", "code", "kind", "message"),
        [
            (None, 500, ErrorType.SYSTEM_ERROR, ""),
            ("some text", 500, ErrorType.SYSTEM_ERROR, "some text"),
            ([1, 2], 500, ErrorType.SYSTEM_ERROR, "[1, 2]"),
            (5, 500, ErrorType.SYSTEM_ERROR, "5"),
            ({}, 500, ErrorType.SYSTEM_ERROR, ""),
            ({"code": 0}, 500, ErrorType.SYSTEM_ERROR, ""),
            ({"code": None, "message": None, "reason": None}, 500, ErrorType.SYSTEM_ERROR, ""),
            ({"code": "404", "message": 5}, 404, ErrorType.NOT_FOUND, ""),
            ({"code": "x", "message": "m"}, 500, ErrorType.SYSTEM_ERROR, "m"),
            ({"code": 403.5}, 500, ErrorType.SYSTEM_ERROR, ""),
            ({"code": -4}, 500, ErrorType.SYSTEM_ERROR, ""),
            ({"code": 10**12}, 500, ErrorType.SYSTEM_ERROR, ""),
            ({"reason": "NotFound"}, 404, ErrorType.NOT_FOUND, ""),
            ({"reason": "Unauthorized"}, 401, ErrorType.UNAUTHORIZED_ERROR, ""),
            ({"reason": "Made up"}, 500, ErrorType.SYSTEM_ERROR, ""),
            (pod("a", "9"), 500, ErrorType.SYSTEM_ERROR, ""),
        ],
        ids=range(16),
    )
    def test_odd_object(self, found: object, code: int, kind: ErrorType, message: str) -> None:
        """Whatever stands in an ERROR, it is one; without a code it is told from the reason, else 500 (Backstage)."""
        outcome = watched(Head(), Event("ERROR", found), End(), resource_version="1")
        error = outcome.error
        assert (error.status_code, error.error_type, error.message) == (code, kind, message)
        assert error.origin is ErrorOrigin.STREAM
        assert error.status == (found if isinstance(found, dict) else None)
        assert (outcome.skipped_lines, outcome.resource_version) == (0, "1")

    def test_no_object(self) -> None:
        """An ERROR without an object at all is one too."""
        assert watched(Head(), Raw(b'{"type":"ERROR"}\n'), End()).error.status_code == 500


EXPIRED: Mapping[str, tuple[Step, ...]] = {
    "http": (Http(410, status(410, "Expired", "too old")),),
    "http-text": (Http(410, "gone"),),
    "http-gone": (Http(410, status(410, "Gone")),),
    "http-500-reason": (Http(500, status(500, "Expired")),),
    "event": (Head(), Event("ERROR", status(410, "Expired", "too old")), End()),
    "event-gone": (Head(), Event("ERROR", status(410, "Gone")), End()),
    "event-no-reason": (Head(), Event("ERROR", status(410)), End()),
    "event-no-code": (Head(), Event("ERROR", {"kind": "Status", "reason": "Expired"}), End()),
    "event-gone-no-code": (Head(), Event("ERROR", {"reason": "Gone"}), End()),
    "event-text-code": (Head(), Event("ERROR", {"code": "410"}), End()),
    "event-close-delimited": (Head1(), Event("ERROR", status(410, "Expired")), Fin()),
    "event-with-length": (whole(line("ERROR", status(410, "Expired"))),),
    "status-200": (Http(200, status(410, "Expired")),),
    "status-200-indented": (Http(200, pretty(status(410, "Expired"))),),
    "after-events": (Head(), Event("ADDED", pod("a")), Event("ERROR", status(410, "Expired")), End()),
}


class TestExpired:
    @pytest.mark.parametrize("dress", EXPIRED)
    def test_expired(self, dress: str) -> None:
        """410 is told in every dress, and is no permanent error: a new list heals it (A7, C7, C9)."""
        error = watched(*EXPIRED[dress], timeout_seconds=5).error
        assert (error.is_expired, error.is_permanent) == (True, False)

    @pytest.mark.parametrize("code", [400, 404, 409, 429, 500, 504])
    def test_not_expired(self, code: int) -> None:
        """Nothing else is."""
        assert not watched(Http(code, status(code, "Other", "resource version"))).error.is_expired


class TestPermanent:
    @pytest.mark.parametrize("name", ["watch-rv-unparsable", "crd-watch-rv-unparsable", "watch-timeout-unparsable"])
    def test_recorded(self, name: str) -> None:
        """A version that is no number is a permanent error, although it comes as a 500 without a reason (D1, D15)."""
        recorded = Transcript.read(TRANSCRIPTS / f"{name}.http")
        assert watched(RawBytes(recorded.answer, keep_alive=True)).error.is_permanent

    @pytest.mark.parametrize("code", [401, 403, 408, 410, 429, 500, 502, 503, 504])
    def test_may_heal(self, code: int) -> None:
        """What may heal by itself is not: rights are given, servers come back."""
        assert not watched(Http(code, status(code, "", "some message"))).error.is_permanent


FIRST = (Head(), Event("ADDED", pod("a", "8")))
HALF = line("ADDED", pod("b", "9"))[:-20]
BROKEN: Mapping[str, tuple[Step, ...]] = {
    "reset": (*FIRST, Rst()),
    "reset-mid-line": (*FIRST, Raw(HALF), Rst()),
    "reset-mid-chunk": (*FIRST, CutChunk(HALF, 500), Rst()),
    "fin": (*FIRST, Fin()),
    "fin-mid-line": (*FIRST, Raw(HALF), Fin()),
    "fin-mid-chunk": (*FIRST, CutChunk(HALF, 500), Fin()),
    "fin-mid-header": (*FIRST, RawBytes(b"1f"), Fin()),
    "fin-after-header": (*FIRST, RawBytes(b"1f\r\n"), Fin()),
    "no-chunk-header": (*FIRST, RawBytes(b"zz\r\nabc\r\n"), Fin()),
    "empty-chunk-header": (*FIRST, RawBytes(b"\r\n\r\n"), Fin()),
    "negative-chunk": (*FIRST, RawBytes(b"-5\r\nabcde\r\n"), Fin()),
    "endless-chunk-header": (*FIRST, RawBytes(b"1" * 100_000), Fin()),
    "event-without-chunk": (*FIRST, RawBytes(line("ADDED", pod("b"))), Fin()),
    "short-length": (
        Head1(headers={"Content-Length": "5000", "Connection": None}),
        Event("ADDED", pod("a", "8")),
        Raw(HALF),
        Fin(),
    ),
    "reset-with-length": (
        Head1(headers={"Content-Length": "5000", "Connection": None}),
        Event("ADDED", pod("a", "8")),
        Raw(HALF),
        Rst(),
    ),
    "reset-close-delimited": (Head1(), Event("ADDED", pod("a", "8")), Raw(HALF), Rst()),
}
NO_ANSWER: Mapping[str, tuple[Step, ...]] = {
    "fin": (Fin(),),
    "reset": (Rst(),),
    "garbage": (RawBytes(b"\x00\x01\x02 garbage\r\n\r\n"), Fin()),
    "ssh": (RawBytes(b"SSH-2.0-OpenSSH_9.6\r\n"), Fin()),
    "tls-alert": (RawBytes(b"\x15\x03\x01\x00\x02\x02\x16"), Fin()),
    "http2": (RawBytes(b"HTTP/2 200\r\n\r\n"), Fin()),
    "bad-status": (RawBytes(b"HTTP/1.1 abc OK\r\n\r\n"), Fin()),
    "half-status-line": (RawBytes(b"HTTP/1.1 20"), Fin()),
    "half-head": (RawBytes(b"HTTP/1.1 200 OK\r\nContent-Ty"), Fin()),
    "whole-headers-no-end": (RawBytes(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"), Fin()),
    "half-error-head": (RawBytes(b"HTTP/1.1 403 Forbidden\r\nContent-Le"), Fin()),
    "half-head-reset": (RawBytes(b"HTTP/1.1 200 OK\r\nContent-Ty"), Stall(0.05), Rst()),
    "long-header": (RawBytes(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"), Fin()),
    "many-headers": (RawBytes(b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 500 + b"\r\n"), Fin()),
}


def assert_network_error(outcome: Outcome, *names: str) -> WatchError:
    """These events, then one ERROR of origin NETWORK that is the end's."""
    error = outcome.error
    assert outcome.names == [*names, ""]
    assert (error.error_type, error.origin, error.status_code) == (ErrorType.SYSTEM_ERROR, ErrorOrigin.NETWORK, 0)
    assert (error.resource_path, error.reason, error.status) == (PODS, "", None)
    assert error.message
    assert error.__cause__ is not None
    assert outcome.end == WatchEnd(EndReason.ERROR, error)
    return error


class TestNetwork:
    @pytest.mark.parametrize("way", BROKEN)
    def test_stream_that_breaks(self, way: str) -> None:
        """The events before it, one ERROR, the end; half a line is no event and moves no version (C1, C2, C17, Z14)."""
        outcome = watched(*BROKEN[way], resource_version="1")
        assert_network_error(outcome, "a")
        assert (outcome.resource_version, outcome.skipped_lines) == ("8", 0)

    def test_close_delimited(self) -> None:
        """Where only the connection ends the body, a break looks like an end: it is clean, half a line is lost."""
        outcome = watched(Head1(), Event("ADDED", pod("a", "8")), Raw(HALF), Fin(), resource_version="1")
        assert_clean(outcome, "a")
        assert outcome.resource_version == "8"

    @pytest.mark.parametrize("way", NO_ANSWER)
    def test_no_answer(self, way: str) -> None:
        """Closed before the whole head came, reset, or no HTTP at all: one ERROR, and no version is lost."""
        outcome = watched(*NO_ANSWER[way], resource_version="1")
        assert_network_error(outcome)
        assert (outcome.resource_version, len(outcome.requests)) == ("1", 1)

    @pytest.mark.parametrize(
        ("way", "words"),
        [
            ("fin-mid-chunk", "in the middle of the answer"),
            ("no-chunk-header", "chunks are malformed"),
            ("reset", "reset"),
            ("short-length", "in the middle of the answer"),
        ],
    )
    def test_words(self, way: str, words: str) -> None:
        """The message tells what happened."""
        assert words in watched(*BROKEN[way]).error.message

    def test_refused(self) -> None:
        """Nobody listens: one ERROR that names the host and port (B18, Z4)."""
        with served() as (server, client):
            server.stop()
            error = assert_network_error(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)))
        assert "refused" in error.message
        assert str(server.port) in error.message
        assert isinstance(error.__cause__, ConnectionRefusedError)

    def test_second_address(self) -> None:
        """A name with several addresses is tried at each: localhost may be ::1 first, where nobody listens."""
        with ScriptedServer([*FIRST, End()]) as server, Client(Cluster(f"http://localhost:{server.port}")) as client:
            assert_clean(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)), "a")

    def test_name_that_does_not_resolve(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A name without an address is one ERROR that tells the name."""
        real = socket.getaddrinfo

        def look_up(host: str, *arguments: Any, **options: Any) -> Any:
            if host == "api.example.invalid":  # or a name server would be asked
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return real(host, *arguments, **options)

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        with Client(Cluster("https://api.example.invalid:6443")) as client:
            error = assert_network_error(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)))
        assert "api.example.invalid port 6443" in error.message

    def test_error_can_be_raised_and_holds_no_frames(self) -> None:
        """It can be raised, more than once; its causes have no tracebacks, whose frames would hold the credential."""
        with served([Rst()], credential=BearerToken(SECRET)) as (_, client):
            error = outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)).error
        assert error.__traceback__ is None
        below: BaseException | None = error.__cause__
        while below is not None:
            assert below.__traceback__ is None
            assert SECRET not in repr(below)
            below = below.__cause__ or below.__context__
        for _ in range(2):
            with pytest.raises(WatchError) as caught:
                raise error
            assert caught.value is error

    def test_no_log(self, caplog: pytest.LogCaptureFixture) -> None:
        """An error that is told as a value is not logged as well."""
        with caplog.at_level(logging.DEBUG, "kwsync"):
            watched(Rst())
            watched(Http(500, "no"))
        assert {record.name.rpartition(".headers")[0] or record.name for record in caplog.records} == {"kwsync.wire"}


BAD_URLS = [
    *["", " ", "nonsense", "localhost:6443", "//host:1", "ftp://host", "unix:///run/x", "https://", "http://:80"],
    *["http://host:99999", "http://host:0", "http://host:abc", "http://host:-1", "http://[::1"],
    *["http://me:pw@host", "http://@host", "http://host?x=1", "http://host#f", "http://ho st", "http://ho\nst"],
    *["http://a\x7fb", "http://host/\x7f", "http://host/a b", "http://host/\r\nX: 1", f"http://{'a' * 64}.test"],
    *["http://a..b", "http://\ud800", "http://\u2100.test"],
]


class TestConfiguration:
    """What cannot be used shows at the first next(), as an ERROR, and nothing is sent."""

    @pytest.mark.parametrize("url", BAD_URLS, ids=ascii)
    def test_bad_url(self, url: str) -> None:
        """A URL that names no HTTP server (Backstage 1.4 threw here); its password is not shown."""
        with Client(Cluster(url)) as client:
            error = self.error_of(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)))
        assert "pw" not in f"{error!r} {error.__cause__!r}"

    @pytest.mark.parametrize("url", [None, 5, b"http://127.0.0.1"])
    def test_url_that_is_no_text(self, url: Any) -> None:
        """Nor one that is no text: an environment variable that is not set is None."""
        with Client(Cluster(url)) as client:
            self.error_of(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)))

    def error_of(self, outcome: Outcome, code: int = 0) -> WatchError:
        """The one ERROR of origin CONFIG."""
        error = outcome.error
        assert outcome.types == ["ERROR"]
        assert (error.origin, error.status_code, error.resource_path) == (ErrorOrigin.CONFIG, code, PODS)
        assert error.error_type is ErrorType.of_status(code)
        assert error.message
        assert outcome.end == WatchEnd(EndReason.ERROR, error)
        return error

    @pytest.mark.parametrize(
        "fields",
        [
            {"ca_file": "missing.crt"},
            {"ca_file": "."},
            {"ca_file": "a\x00b"},
            {"ca_file": "empty.crt"},
            {"ca_file": "key.pem"},
            {"ca_file": "binary"},
            {"ca_file": "broken.crt"},
            {"ca_data": "no base64!"},
            {"ca_data": "aGVsbG8="},
            {"ca_data": "-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n"},
            {"ca_data": b"\xff\xfe"},
        ],
        ids=str,
    )
    def test_bad_authority(self, fields: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An authority that cannot be read, or holds no certificate; nothing is connected (Backstage 1.4)."""
        monkeypatch.chdir(tmp_path)
        Path("empty.crt").touch()
        Path("key.pem").write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
        Path("binary").write_bytes(bytes(range(256)))
        Path("broken.crt").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        with ScriptedServer(handshake_stall=True) as server, Client(Cluster(server.url, **fields)) as client:
            self.error_of(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)))
            assert server.connections_accepted == 0

    def test_closed_client(self) -> None:
        """A closed client sends nothing."""
        with served() as (server, client):
            client.close()
            error = self.error_of(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)))
            assert "closed" in error.message
            assert server.connections_accepted == 0

    @pytest.mark.parametrize("credential", [None, BearerToken(SECRET)], ids=["none", "token"])
    @pytest.mark.parametrize("named_by", ["field", "metadata"])
    @pytest.mark.parametrize("provider", ["google", "oidc", "aks"])
    def test_refused_provider(self, provider: str, named_by: str, credential: Credential | None) -> None:
        """Credentials from a browser cannot be refreshed by a watch: 400 without a request (Backstage 3)."""
        metadata = {"kubernetes.io/auth-provider": provider}
        fields: dict[str, Any] = {"auth_metadata": metadata} if named_by == "metadata" else {"auth_provider": provider}
        with served(credential=credential, **fields) as (server, client):
            error = self.error_of(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)), 400)
            assert (error.error_type, error.reason) == (ErrorType.BAD_REQUEST, "BadRequest")
            assert provider in error.message
            assert server.connections_accepted == 0

    @pytest.mark.parametrize("provider", ["serviceAccount", "pinniped"])
    def test_provider_without_a_credential(self, provider: str) -> None:
        """A provider that finds none, and one that nobody knows, is 401 without a request (contract 3.2)."""
        with served(auth_provider=provider) as (server, client):
            error = self.error_of(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)), 401)
            assert (error.error_type, error.reason) == (ErrorType.UNAUTHORIZED_ERROR, "Unauthorized")
            assert server.connections_accepted == 0

    @pytest.mark.parametrize(
        "credential",
        [
            BearerToken(""),
            BearerToken(f"{SECRET}\nX: 1"),
            BearerToken(f"{SECRET}ä"),
            BasicAuth("a:b", SECRET),
            TokenFile("/nowhere/token"),
        ],
        ids=["empty", "newline", "non-ascii", "colon", "no-file"],
    )
    def test_bad_credential(self, credential: Credential) -> None:
        """One that no request can carry is 401 without a request, and never shown (Backstage 2.2 logged it)."""
        with served(credential=credential) as (server, client):
            error = self.error_of(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)), 401)
            assert SECRET not in f"{error!r} {error} {error.__cause__!r}"
            assert server.connections_accepted == 0

    @pytest.mark.parametrize("gives", [KeyError("x"), OSError(5, "x"), RecursionError(), StopIteration(), ValueError()])
    def test_credential_that_raises(self, gives: Exception) -> None:
        """Whatever a credential of the user raises means that there is none."""
        with served(credential=Own(gives)) as (server, client):
            error = self.error_of(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)), 401)
            assert type(gives).__name__ in error.message
            assert server.connections_accepted == 0

    @pytest.mark.parametrize(
        "gives",
        [
            None,
            SECRET,
            {"Authorization": SECRET},
            Authorization(None),  # type: ignore[arg-type]
            Authorization({"Authorization": 5}),  # type: ignore[dict-item]
            Authorization({"Authorization": f"{SECRET}\r\nX: 1"}),
            Authorization({"Authorization": f"{SECRET}ä"}),
        ],
        ids=range(7),
    )
    def test_credential_that_gives_nonsense(self, gives: Any) -> None:
        """What no request can carry is 401 without a request; the secret shows neither in the error nor its cause."""
        with served(credential=Own(gives)) as (server, client):
            error = self.error_of(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)), 401)
            assert SECRET not in f"{error!r} {error} {error.__cause__!r}"
            assert server.connections_accepted == 0

    def test_refresh_that_raises(self) -> None:
        """Nor does a refresh that raises escape."""
        with served([Http(401, "no")], credential=Unrefreshable()) as (server, client):
            self.error_of(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)), 401)
            assert len(server.requests) == 1

    def test_kubectl_proxy(self) -> None:
        """localKubectlProxy needs no credential, nor does a cluster without a provider (contract 3.2)."""
        with served([*FIRST, End()], auth_provider="localKubectlProxy") as (server, client):
            assert_clean(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)), "a")
            assert "Authorization" not in server.requests[0].headers


class Own:
    """A credential of the user that gives, or raises, anything."""

    def __init__(self, gives: Any) -> None:
        self.gives = gives

    def authorize(self, context: AuthContext) -> Any:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives

    def refresh(self, rejected: Authorization) -> bool:
        return False


class Unrefreshable(Anonymous):
    """A credential whose refresh fails."""

    def refresh(self, rejected: Authorization) -> NoReturn:
        raise LookupError(SECRET)


class TestDefaultClient:
    @pytest.fixture(autouse=True)
    def no_configuration(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Neither a pod nor a kubeconfig, and no client that an earlier test has left."""
        monkeypatch.setattr(_client, "_defaults", {})
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))

    @pytest.mark.parametrize("text", [None, "", "{", "[]", '{"current-context":"x"}', '{"contexts":5}'])
    def test_none(self, text: str | None, tmp_path: Path) -> None:
        """Without a usable configuration the watch is one ERROR of origin CONFIG, and the next one looks again."""
        if text is not None:
            (tmp_path / "config").write_text(text)
        for _ in range(2):
            outcome = outcome_of(watch_resource("pods"))
            assert (outcome.error.origin, outcome.error.status_code) == (ErrorOrigin.CONFIG, 0)
            assert outcome.error.resource_path == PODS
            assert outcome.end.reason is EndReason.ERROR
        assert _client._defaults == {}

    def test_one_for_all(self, tmp_path: Path) -> None:
        """It is made when it is first needed, once, and not closed by the streams that use it (contract 3.2)."""
        script = [*FIRST, End()]
        with ScriptedServer(script, script) as server:
            named = {"name": "x", "cluster": {"server": server.url}}
            context = {"name": "x", "context": {"cluster": "x"}}
            config = {"current-context": "x", "clusters": [named], "contexts": [context]}
            stream = watch_resource("pods")
            (tmp_path / "config").write_text(json.dumps(config))
            assert_clean(outcome_of(stream), "a")
            assert_clean(outcome_of(watch_resource("pods")), "a")
            assert [request.connection_id for request in server.requests] == [1, 1]
            for client in _client._defaults.values():
                client.close()


def test_event_type_of_errors() -> None:
    """An ERROR that this side makes looks like one of the server: no object, no version, no key."""
    (event,) = watched(Rst()).events
    assert (event.type, event.object, event.resource_version) == (EventType.ERROR, None, None)
    assert str(event.key) == ""
