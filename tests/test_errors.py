"""Errors as values."""

from __future__ import annotations

import copy
import email.utils
import json
import pickle
import sys
import time
import traceback
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kwsync.errors import (
    TEXT_LIMIT,
    CancelledError,
    ConfigError,
    ErrorOrigin,
    ErrorType,
    KwsyncError,
    WatchError,
    is_status,
    local_error,
    parse_retry_after,
    status_error,
)
from tests.recorded import exchange, names
from tests.values import json_objects, json_values, nested

NOW = 1_445_412_480.0
"""21 October 2015, 07:28:00 UTC."""

EXPIRED = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "too old resource version: 1 (5)",
    "reason": "Expired",
    "code": 410,
}


def in_stream(document: object) -> WatchError:
    """The error of an ERROR event."""
    return status_error(document, ErrorOrigin.STREAM, path="/api/v1/pods")


def test_names_of_kinds() -> None:
    """The types are Backstage's five; the origins are those of the design."""
    assert [*ErrorType] == ["BAD_REQUEST", "UNAUTHORIZED_ERROR", "NOT_FOUND", "SYSTEM_ERROR", "UNKNOWN_ERROR"]
    assert [*ErrorOrigin] == ["CONFIG", "HTTP", "STREAM", "NETWORK", "TIMEOUT", "DECODE", "CALLBACK"]


BACKSTAGE = {400: "BAD_REQUEST", 401: "UNAUTHORIZED_ERROR", 404: "NOT_FOUND", 500: "SYSTEM_ERROR"}


@pytest.mark.parametrize("code", [0, *range(100, 600), 999])
def test_type_of_status(code: int) -> None:
    """Backstage's table: four codes have a type of their own, every other is unknown; no answer is the system's."""
    expected = "SYSTEM_ERROR" if code == 0 else BACKSTAGE.get(code, "UNKNOWN_ERROR")
    assert ErrorType.of_status(code) == expected


@pytest.mark.parametrize(
    ("code", "kind", "status_code"),
    [(code, BACKSTAGE.get(code, "UNKNOWN_ERROR"), code) for code in (400, 401, 403, 404, 409, 410, 429, 500, 503)]
    + [(None, "SYSTEM_ERROR", 500), (0, "SYSTEM_ERROR", 500)],
)
def test_error_event(code: int | None, kind: str, status_code: int) -> None:
    """An ERROR event is told by its object's code, and is a 500 when that is missing or 0 (Backstage)."""
    document = {"kind": "Status"} if code is None else {"kind": "Status", "code": code}
    error = in_stream(document)
    assert (error.error_type, error.status_code, error.origin) == (kind, status_code, "STREAM")
    assert error.resource_path == "/api/v1/pods"


@pytest.mark.parametrize("code", ["404", "0404"])
def test_code_as_text(code: str) -> None:
    """A code that is a string of digits counts as its number (Backstage passes the string on)."""
    error = in_stream({"code": code})
    assert (error.error_type, error.status_code) == (ErrorType.NOT_FOUND, 404)


@pytest.mark.parametrize("code", [-5, 1000, 10**400, True, 404.0, "", "٤", "²", "x", "9" * 5000, [], {}, float("nan")])
def test_code_that_is_none(code: object) -> None:
    """What is no HTTP status counts as missing."""
    assert in_stream({"code": code}).status_code == 500
    assert in_stream({"code": code, "reason": "Expired"}).status_code == 410


@pytest.mark.parametrize(
    ("reason", "code"),
    [("Expired", 410), ("Gone", 410), ("Forbidden", 403), ("NotFound", 404), ("Timeout", 504), ("Odd", 500), ("", 500)],
)
def test_code_of_reason(reason: str, code: int) -> None:
    """Without a code, the reason tells it."""
    assert in_stream({"reason": reason}).status_code == code


def test_status_over_http() -> None:
    """The Status object's code wins over the answer's; without one the answer's counts."""
    error = status_error({"code": 404}, ErrorOrigin.HTTP, path="/x", code=502)
    assert error.status_code == 404
    error = status_error({"reason": "Expired"}, ErrorOrigin.HTTP, path="/x", code=410)
    assert (error.status_code, error.is_expired) == (410, True)


def test_status_is_kept() -> None:
    """Reason, message and the whole Status stay with the error (Backstage discards them)."""
    error = in_stream(EXPIRED)
    assert (error.reason, error.message, error.status) == ("Expired", EXPIRED["message"], EXPIRED)


@pytest.mark.parametrize(
    ("document", "message"),
    [(None, ""), ("no backend", "no backend"), ("", "''"), (5, "5"), ([], "[]"), (True, "True"), ({}, "")],
)
def test_no_status(document: object, message: str) -> None:
    """What is no object becomes the message."""
    error = in_stream(document)
    assert error.message == message
    assert error.status == (document if isinstance(document, dict) else None)


@pytest.mark.parametrize("document", ["x" * 10_000_000, ["x"] * 1_000_000, [["y" * 5000] * 100] * 100, nested(100_000)])
def test_message_is_bounded(document: object) -> None:
    """A body that is no Status may be of any size and depth: a message holds its beginning."""
    assert 0 < len(in_stream(document).message) <= TEXT_LIMIT


@given(json_values | json_objects, st.integers(0, 599))
@example({"details": {"retryAfterSeconds": 10**400}}, 0)
@example({"code": 10**400, "reason": ["Expired"], "message": {}}, 0)
def test_any_shape(document: Any, code: int) -> None:
    """Whatever the document is, it gives one error, with fields of the promised types, that can be shown and sent."""
    error = status_error(document, ErrorOrigin.HTTP, path="/x", code=code)
    assert isinstance(error.error_type, ErrorType)
    assert error.error_type is ErrorType.of_status(error.status_code)
    assert type(error.status_code) is int
    assert 0 < error.status_code < 1000
    assert isinstance(error.reason, str)
    assert isinstance(error.message, str)
    assert error.retry_after is None or (type(error.retry_after) is float and 0 < error.retry_after < 1e9)
    assert isinstance(error.is_expired, bool)
    assert isinstance(error.is_permanent, bool)
    assert str(error)
    assert repr(error)
    assert pickle.loads(pickle.dumps(error)).status_code == error.status_code
    assert isinstance(is_status(document), bool)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (EXPIRED, True),
        ({"kind": "Status"}, True),
        ({"kind": "Status", "status": "Success"}, False),
        ({"kind": "Pod", "status": "Failure"}, False),
        ({"kind": ["Status"]}, False),
        ([], False),
        (None, False),
        ("Status", False),
    ],
)
def test_is_status(document: object, expected: bool) -> None:
    """A Status object tells of a failure unless it says Success (a DELETE is answered by such a one)."""
    assert is_status(document) is expected


REFUSED = [name for name in names("4*", "auth-4*", "list-*", "watch*", "crd-*") if exchange(name).status >= 400]


@pytest.mark.parametrize("name", REFUSED)
def test_recorded(name: str) -> None:
    """Each recorded refusal keeps its code, and its message where the body is a Status."""
    status, body = exchange(name)[2:]
    try:
        document = json.loads(body)
    except ValueError:
        document = body.decode(errors="replace")
    error = status_error(document, ErrorOrigin.HTTP, path="/x", code=status)
    assert error.status_code == status
    assert error.message
    assert is_status(document) is isinstance(document, dict)


@pytest.mark.parametrize(
    ("fields", "expired"),
    [({"code": 410}, True), ({"reason": "Expired"}, True), ({"reason": "Gone"}, True), ({"code": 404}, False)]
    + [({"code": 500, "reason": "Expired"}, True), ({"code": 504, "reason": "Timeout"}, False), ({}, False)],
)
def test_expired(fields: dict[str, Any], expired: bool) -> None:
    """410 in any dress: its code, or one of the two reasons."""
    assert in_stream(fields).is_expired is expired


@pytest.mark.parametrize("code", [400, 404, 405, 406, 413, 415, 422])
def test_permanent(code: int) -> None:
    """These fail again until somebody changes something."""
    assert in_stream({"code": code}).is_permanent


@pytest.mark.parametrize("code", [0, 401, 403, 408, 409, 410, 429, 500, 502, 503, 504])
def test_not_permanent(code: int) -> None:
    """These may pass: rights are given, tokens renewed, servers come back."""
    assert not in_stream({"code": code}).is_permanent
    assert not in_stream({"code": 422, "reason": "Expired"}).is_permanent


@pytest.mark.parametrize("name", ["watch-rv-unparsable", "crd-watch-rv-unparsable"])
def test_permanent_500(name: str) -> None:
    """A resource version that is no number is answered 500 without a reason, and stays wrong."""
    error = status_error(json.loads(exchange(name).body), ErrorOrigin.HTTP, path="/x", code=500)
    assert (error.status_code, error.reason, error.is_permanent) == (500, "", True)


NO_SECONDS: list[Any] = [0, -1, True, "3", None, [], float("nan"), float("inf"), 10**400]


@pytest.mark.parametrize(
    ("details", "seconds"),
    [({"retryAfterSeconds": 3}, 3.0), ({"retryAfterSeconds": 0.5}, 0.5), ([], None), ("x", None), ({}, None)]
    + [({"retryAfterSeconds": value}, None) for value in NO_SECONDS],
)
def test_retry_after_of_status(details: object, seconds: float | None) -> None:
    """An ERROR event has no header: the Status object tells the seconds, and only sensible ones count."""
    assert in_stream({"details": details}).retry_after == seconds


def test_header_wins() -> None:
    """Where there is a header, also of no seconds, it wins over the Status object."""
    document = {"details": {"retryAfterSeconds": 3}}
    assert status_error(document, ErrorOrigin.HTTP, path="/x", code=429, retry_after=0.0).retry_after == 0.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("1", 1.0),
        (" 120 ", 120.0),
        ("007", 7.0),
        ("9" * 5000, 999_999_999.0),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30.0),
        ("Wednesday, 21-Oct-15 07:28:30 GMT", 30.0),
        ("Wed Oct 21 07:28:30 2015", 30.0),
        ("Wed, 21 Oct 2015 07:28:30 -0000", 30.0),
        ("Wed, 21 Oct 2015 09:28:30 +0200", 30.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2009 07:28:00 GMT", 0.0),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("1e3", None),
        ("٣", None),
        ("²", None),
        ("soon", None),
        ("Wed, 21 Oct 99999 07:28:00 GMT", None),
        ("Wed, 41 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015 07:28:00 +" + "9" * 20, None),
        ("Wed, 21 Oct 2015 " + "9" * 5000 + ":28:00 GMT", None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    """Whole seconds or an HTTP date in any of its three forms, never negative; what cannot be read is None."""
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.skipif(sys.platform == "win32", reason="no tzset()")
def test_retry_after_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A date without a zone is in UTC, wherever this machine is."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "NZST-12")
        time.tzset()
        seconds = parse_retry_after("Wed Oct 21 07:28:30 2015", NOW)
    time.tzset()
    assert seconds == 30.0


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d{1,3} [A-Z][a-z]{2} \d{1,6} \d{1,3}:\d{1,3}:\d{1,3} [+-]\d{1,9}"))
def test_any_retry_after(value: str) -> None:
    """No header makes it fail."""
    seconds = parse_retry_after(value, NOW)
    assert seconds is None or seconds >= 0


@given(st.integers(0, 4_000_000_000))
def test_retry_after_date(moment: int) -> None:
    """The date that other programs write is understood to the second."""
    header = email.utils.formatdate(moment, usegmt=True)
    assert parse_retry_after(header, NOW) == max(0.0, moment - NOW)


def full_error(cls: type[WatchError] = WatchError) -> WatchError:
    """An error with every field set."""
    return cls(
        error_type=ErrorType.UNKNOWN_ERROR,
        origin=ErrorOrigin.HTTP,
        status_code=429,
        resource_path="/api/v1/pods",
        reason="TooManyRequests",
        message="slow down",
        retry_after=1.5,
        status={"details": {"causes": []}},
    )


def fields_of(error: WatchError) -> dict[str, Any]:
    """All the fields."""
    names = ["error_type", "origin", "status_code", "resource_path", "reason", "message", "retry_after", "status"]
    return {name: getattr(error, name) for name in names}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("cls", [WatchError, CancelledError])
def test_pickle(cls: type[WatchError], protocol: int) -> None:
    """Process pools and task queues pickle errors: class and fields stay."""
    error = full_error(cls)
    other = pickle.loads(pickle.dumps(error, protocol))
    assert type(other) is cls
    assert fields_of(other) == fields_of(error)
    assert other.error_type is ErrorType.UNKNOWN_ERROR
    assert str(other) == str(error)


@pytest.mark.parametrize("cls", [WatchError, CancelledError])
def test_copy(cls: type[WatchError]) -> None:
    """A copy has the same fields; a deep copy has a Status of its own."""
    error = full_error(cls)
    shallow, deep = copy.copy(error), copy.deepcopy(error)
    assert fields_of(shallow) == fields_of(deep) == fields_of(error)
    assert type(shallow) is type(deep) is cls
    assert shallow.status is error.status
    assert deep.status is not error.status


def test_raised() -> None:
    """An error that a watch yields can be raised, with a cause, a note and a traceback."""
    error = full_error()
    with pytest.raises(KwsyncError) as caught:
        raise error from OSError("lower")
    assert caught.value is error
    assert isinstance(error.__cause__, OSError)
    lines = "".join(traceback.format_exception(error))
    assert lines.endswith("WatchError: 429 TooManyRequests: slow down (/api/v1/pods)\n")


def test_family() -> None:
    """One root catches all; a cancelled verb can be told from a failed one."""
    assert issubclass(WatchError, KwsyncError)
    assert issubclass(CancelledError, WatchError)
    assert issubclass(ConfigError, KwsyncError)
    assert not issubclass(ConfigError, WatchError)


def test_identity() -> None:
    """Errors compare by identity, and can be put in a set."""
    error = full_error()
    assert error != full_error()
    assert len({error, full_error(), error}) == 2


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (full_error(), "429 TooManyRequests: slow down (/api/v1/pods)"),
        (local_error(ErrorOrigin.NETWORK, "refused", path="/x"), "NETWORK: refused (/x)"),
        (local_error(ErrorOrigin.TIMEOUT, "late"), "TIMEOUT: late"),
        (local_error(ErrorOrigin.CONFIG, "", code=401, reason="Unauthorized", path="/x"), "401 Unauthorized (/x)"),
        (in_stream({}), "500 (/api/v1/pods)"),
        (local_error(ErrorOrigin.DECODE, ""), "DECODE"),
    ],
)
def test_text(error: WatchError, text: str) -> None:
    """str() is code (or origin) and reason, message, path: what there is of it."""
    assert str(error) == text


def test_repr() -> None:
    """The Status is left out of the repr: it may be long."""
    text = repr(full_error())
    assert "status_code=429" in text
    assert "causes" not in text


@pytest.mark.parametrize(("code", "kind"), [(0, "SYSTEM_ERROR"), (401, "UNAUTHORIZED_ERROR"), (400, "BAD_REQUEST")])
def test_local_error(code: int, kind: str) -> None:
    """What fails on this side has no Status; without an answer it is SYSTEM_ERROR with code 0."""
    error = local_error(ErrorOrigin.CONFIG, "no credential", path="/x", code=code)
    assert (error.error_type, error.status_code, error.origin) == (kind, code, ErrorOrigin.CONFIG)
    assert (error.status, error.retry_after, error.reason) == (None, None, "")
