"""What can go wrong, as values.

A watch *yields* a `WatchError` inside an event of type ERROR and never raises it; the verbs of a `Client` raise the
same class. Everything here is pure: Kubernetes' ``Status`` object, an HTTP status and a header go in, an error comes
out.
"""

from __future__ import annotations

import email.utils
import reprlib
from collections.abc import Mapping
from datetime import timezone
from typing import Any

import attrs

from kwsync._enum import StrEnum

__all__ = ["CancelledError", "ConfigError", "ErrorOrigin", "ErrorType", "KwsyncError", "WatchError"]

TEXT_LIMIT = 2048
"""Characters of a body that is no Status that go into a message (client-go cuts at the same length)."""


class ErrorType(StrEnum):
    """The five kinds that Backstage's Kubernetes plugin tells apart, made from the status code."""

    BAD_REQUEST = "BAD_REQUEST"
    UNAUTHORIZED_ERROR = "UNAUTHORIZED_ERROR"
    NOT_FOUND = "NOT_FOUND"
    SYSTEM_ERROR = "SYSTEM_ERROR"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"

    @classmethod
    def of_status(cls, code: int) -> ErrorType:
        """Backstage's mapping; 0 (no answer came) counts as a system error."""
        return _TYPE_OF_CODE.get(code, cls.UNKNOWN_ERROR)


_TYPE_OF_CODE = {
    0: ErrorType.SYSTEM_ERROR,
    400: ErrorType.BAD_REQUEST,
    401: ErrorType.UNAUTHORIZED_ERROR,
    404: ErrorType.NOT_FOUND,
    500: ErrorType.SYSTEM_ERROR,
}


class ErrorOrigin(StrEnum):
    """Where an error arose."""

    CONFIG = "CONFIG"
    """On this side, before any request: a bad URL, an unreadable file, no credential."""
    HTTP = "HTTP"
    """The server answered with a status other than 2xx, or with a Status object in place of a stream."""
    STREAM = "STREAM"
    """An ERROR event inside a stream that had begun well."""
    NETWORK = "NETWORK"
    """Name lookup, connection, TLS, or an answer that broke off."""
    TIMEOUT = "TIMEOUT"
    """A deadline of ours passed."""
    DECODE = "DECODE"
    """The answer could not be understood."""
    CALLBACK = "CALLBACK"
    """A callback of the user raised; the exception is the ``__cause__``."""


class KwsyncError(Exception):
    """The root of every exception that kwsync defines."""


class ConfigError(KwsyncError):
    """A configuration that cannot be used: a kubeconfig, a file it names, the environment of a pod."""


@attrs.frozen(eq=False, kw_only=True)
class WatchError(KwsyncError):
    """One failure, as a value: an ERROR event carries it, ``raise event.error`` works, `Client` verbs raise it.

    The lower exception, where there is one, is the ``__cause__``; neither it nor a field holds a credential.

    Attributes:
        error_type: 400, 401, 404 and 500 by their names, any other code UNKNOWN_ERROR; SYSTEM_ERROR without a code.
        origin: where it arose, an `ErrorOrigin`.
        status_code: HTTP status, or the Status object's ``code``; 0 when no answer came. What this side refuses in the
            server's place has the server's code: 401 without a credential, 400 for a provider that cannot watch.
        resource_path: path of the request, without the cluster's base path.
        reason: Kubernetes' reason (``Expired``, ``Forbidden`` …), empty where none was given.
        message: for people.
        retry_after: seconds the server asked to wait, from Retry-After or ``details.retryAfterSeconds``.
        status: the Status object, where there was one.
    """

    error_type: ErrorType
    origin: ErrorOrigin
    status_code: int = 0
    resource_path: str = ""
    reason: str = ""
    message: str = ""
    retry_after: float | None = None
    status: dict[str, Any] | None = attrs.field(default=None, repr=False)

    @property
    def is_expired(self) -> bool:
        """The resource version is too old, 410 in any dress: HTTP, an ERROR event, reason Expired or Gone."""
        return self.status_code == 410 or self.reason in ("Expired", "Gone")

    @property
    def is_permanent(self) -> bool:
        """Trying again does not help: the request or the configuration has to be changed, or the server.

        401 and 403 do not count, since tokens rotate and rights are granted while a program waits. Some permanent
        errors come as 500 with an empty reason (seen on kube-apiserver 1.36: a resource version that is no number, a
        create with a resource version): those are told by their message.
        """
        if self.status_code == 500 and not self.reason:
            return any(sign in self.message for sign in _PERMANENT_500)
        if self.origin is ErrorOrigin.CONFIG and not self.status_code:
            return True
        return self.status_code in (400, 404, 405, 406, 413, 415, 422) and not self.is_expired

    def __str__(self) -> str:
        code = str(self.status_code) if self.status_code else str(self.origin)
        head = f"{code} {self.reason}".rstrip()
        where = f" ({self.resource_path})" if self.resource_path else ""
        return f"{head}: {self.message}{where}" if self.message else f"{head}{where}"

    def __reduce__(self) -> tuple[Any, ...]:
        # BaseException rebuilds from positional arguments, which keyword-only fields refuse; task queues pickle errors.
        fields = {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}
        return _rebuild, (type(self), fields)


class CancelledError(WatchError):
    """A verb of a `Client` was cancelled through its ``cancel=``. (A watch that is cancelled just ends.)"""


_PERMANENT_500 = (
    "resourceVersion: Invalid value",
    "resourceVersion should not be set on objects to be created",
    "shardSelector",
)


def _rebuild(cls: type[WatchError], fields: dict[str, Any]) -> WatchError:
    return cls(**fields)


def local_error(origin: ErrorOrigin, message: str, *, path: str = "", code: int = 0, reason: str = "") -> WatchError:
    """An error that this side found, without any answer of a server."""
    return WatchError(
        error_type=ErrorType.of_status(code),
        origin=origin,
        status_code=code,
        resource_path=path,
        reason=reason,
        message=message,
    )


def cancelled(path: str = "", message: str = "cancelled") -> CancelledError:
    """The end of a call that somebody has asked for."""
    return CancelledError(
        error_type=ErrorType.SYSTEM_ERROR, origin=ErrorOrigin.NETWORK, resource_path=path, message=message
    )


def status_error(
    document: object, origin: ErrorOrigin, *, path: str, code: int = 0, retry_after: float | None = None
) -> WatchError:
    """The error that a Status object tells, as tolerant as the servers and proxies in between are careless.

    *code* is the HTTP status, 0 inside a stream; there a missing code is told from the reason, else it is 500 (the
    Backstage contract). A document that is no object becomes a message.
    """
    status = document if isinstance(document, dict) else None
    fields: Mapping[str, Any] = status or {}
    reason = _text(fields.get("reason"))
    code = _integer(fields.get("code")) or code or _CODE_OF_REASON.get(reason, 500)
    if status is None and document is not None:
        message = (_text(document) or reprlib.repr(document))[:TEXT_LIMIT]
    else:
        message = _text(fields.get("message"))
    return WatchError(
        error_type=ErrorType.of_status(code),
        origin=origin,
        status_code=code,
        resource_path=path,
        reason=reason,
        message=message,
        retry_after=retry_after if retry_after is not None else _retry_after_seconds(fields),
        status=status,
    )


def text_error(text: str, *, path: str, code: int, retry_after: float | None = None) -> WatchError:
    """The error of an HTTP answer that is no Status object: proxies and Kubernetes' own rejections send text."""
    return WatchError(
        error_type=ErrorType.of_status(code),
        origin=ErrorOrigin.HTTP,
        status_code=code,
        resource_path=path,
        message=text[:TEXT_LIMIT],
        retry_after=retry_after,
    )


def is_status(document: object) -> bool:
    """Is it Kubernetes' Status object, and one of a failure?"""
    return isinstance(document, dict) and document.get("kind") == "Status" and document.get("status") != "Success"


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Seconds to wait, from a Retry-After header: whole seconds, or an HTTP date as proxies send it.

    *now* is the wall clock in seconds since 1970. What cannot be read is None.
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        # No zone, or -0000: Python then thinks of this machine's zone, while every HTTP date is in UTC.
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, moment.timestamp() - now)


_CODE_OF_REASON = {
    "BadRequest": 400,
    "Unauthorized": 401,
    "Forbidden": 403,
    "NotFound": 404,
    "MethodNotAllowed": 405,
    "NotAcceptable": 406,
    "AlreadyExists": 409,
    "Conflict": 409,
    "Expired": 410,
    "Gone": 410,
    "Invalid": 422,
    "TooManyRequests": 429,
    "ServiceUnavailable": 503,
    "Timeout": 504,
}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _integer(value: object) -> int:
    """A code as a number; a string of digits counts, anything else and what is no HTTP status is 0."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:9])
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1000 else 0


def _retry_after_seconds(status: Mapping[str, Any]) -> float | None:
    details = status.get("details")
    seconds = details.get("retryAfterSeconds") if isinstance(details, dict) else None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return None
    # The upper bound also keeps out infinity and integers that no float can hold.
    return float(seconds) if 0 < seconds < 1e9 else None
