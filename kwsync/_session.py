"""One request and its answer, as the user of a cluster: who asks, what an error answer says, one retry after a 401."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Mapping
from typing import TypeVar

import attrs

from kwsync import _clock, _json
from kwsync._cancel import DeadlinePassed, Guard, Interrupted
from kwsync._cluster import Cluster
from kwsync._resources import Resource
from kwsync._transport import EXPECTED, Answer, Request, Transport, fault
from kwsync._version import __version__
from kwsync.credentials import AuthContext, Authorization, Credential, CredentialError
from kwsync.credentials._fetching import class_and_place, has_words
from kwsync.credentials._providers import refusal
from kwsync.errors import (
    ErrorOrigin,
    WatchError,
    is_status,
    local_error,
    parse_retry_after,
    status_error,
    text_error,
)

_T = TypeVar("_T")

wire = logging.getLogger("kwsync.wire")
"""At DEBUG: each request and what came of it."""
wire_headers = logging.getLogger("kwsync.wire.headers")
"""At DEBUG: their headers, without any credential."""

USER_AGENT = f"kwsync/{__version__} (python {'.'.join(map(str, sys.version_info[:3]))}; {sys.platform})"

MASKED = "<masked>"

_SECRET_NAME = re.compile("auth|cookie|credential|key|password|secret|session|signature|token", re.IGNORECASE)
"""Of headers that nobody gave as a credential, but that may hold one."""

_ADDRESS_NAME = re.compile(r"link|location|refer|refresh|\bur[il]\b", re.IGNORECASE)
"""Of headers that hold an address, and may hold a part of one."""

_ADDRESS = re.compile(r"(?:[a-z][-+.a-z0-9]*:)?//[^\s<>]+", re.IGNORECASE)
_QUERY = re.compile(r"[?#][^\s<>]*")
_HOST = re.compile(r"(?:\[[^\]]*\]|[^\[\]:/\\]*)(?::[0-9]*)?(?:[/\\].*)?", re.DOTALL)

_HEADER_NAME = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")

ERROR_BODY_BYTES = 1024 * 1024
"""So much of an error's body is read; what is behind it is not needed to tell the error."""

ERROR_BODY_SECONDS = 10.0
"""So long an error's body may take; then what has come must do."""


class Session:
    """Sends requests as one user of one cluster. For any number of threads."""

    def __init__(self, cluster: Cluster, credential: Credential, connect_timeout: float | None) -> None:
        self.cluster = cluster
        self.credential = credential
        self.discovered: dict[str, Resource] = {}
        """What the server was asked, by name, since it last said that something is not there."""
        self._transport = Transport(cluster, connect_timeout)

    def open(self, request: Request, guard: Guard) -> Answer:
        """The answer to *request*, which is a success; `WatchError` for everything else, `Interrupted` when ended.

        After a 401 a credential that can be refreshed is, and the request is sent once more; a client certificate that
        cannot be used counts as one. A redirect is an error like any other status: following it would carry the
        credential to another host.
        """
        message = refusal(self.cluster)
        if message is not None:
            raise local_error(ErrorOrigin.CONFIG, message, path=request.path, code=400, reason="BadRequest")
        if self._transport.closed:
            raise local_error(ErrorOrigin.CONFIG, "the client is closed", path=request.path)
        request = attrs.evolve(request, headers={"User-Agent": USER_AGENT, **request.headers})
        outside = sys.exc_info()[1]
        try:
            return self._opened(request, guard)
        except EXPECTED as error:
            failure = fault(error, request.path, outside)  # it has its cause, so no "from"
        raise failure

    def close(self) -> None:
        """Close the idle connections; no further request is sent."""
        self._transport.close()

    def _opened(self, request: Request, guard: Guard) -> Answer:
        answer = self._accepted(request, guard)
        if answer is None:
            answer = self._send(request, *self._authorize(request.path, guard), guard)
        if answer.status == 404:
            self.discovered.clear()
        if not 200 <= answer.status < 300:
            raise error_of(answer, request.path, guard)
        return answer

    def _accepted(self, request: Request, guard: Guard) -> Answer | None:
        """None where the credential was refused, and may give another one now."""
        begun, authorization = self._authorize(request.path, guard)
        try:
            answer = self._send(request, begun, authorization, guard)
        except CredentialError:  # its certificate cannot be used, which is as good as a 401
            if self._refreshed(authorization):
                return None
            raise
        if answer.status != 401:
            return answer
        refused = error_of(answer, request.path, guard)  # read first: its connection can be used again
        if self._refreshed(authorization):
            return None
        raise refused

    def _send(self, request: Request, begun: int, authorization: Authorization, guard: Guard) -> Answer:
        """Send it, and tell the log where that listens. What the credential gave is masked, whatever its name."""
        if not wire.isEnabledFor(logging.DEBUG):
            return self._transport.send(request, authorization, guard, begun)
        start = _clock.monotonic()
        wire.debug("> %s %s%s", request.method, request.path, f"?{request.query}" if request.query else "")
        _tell_headers(">", {**request.headers, **dict.fromkeys(authorization.headers, MASKED)})
        outcome = "failed"
        try:
            answer = self._transport.send(request, authorization, guard, begun)
            outcome = str(answer.status)
        finally:
            wire.debug("< %s after %.0f ms: %s", outcome, 1000 * (_clock.monotonic() - start), request.path)
        _tell_headers("<", answer.headers)
        return answer

    def _authorize(self, path: str, guard: Guard) -> tuple[int, Authorization]:
        """And the number before it, by which the transport tells an older certificate from a newer one."""
        begun, context = self._transport.next_number(), AuthContext(self.cluster, guard.remaining, guard)
        try:
            return begun, _asked(lambda: _usable(self.credential.authorize(context)))
        except DeadlinePassed:
            pass
        kind = type(self.credential).__name__
        raise local_error(ErrorOrigin.TIMEOUT, f"the credential ({kind}) has not come in time", path=path)

    def _refreshed(self, rejected: Authorization) -> bool:
        return _asked(lambda: bool(self.credential.refresh(rejected)))


def _tell_headers(direction: str, headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        wire_headers.debug("%s   %s: %s", direction, name, _told(name, value))


def _told(name: str, value: str) -> str:
    """A header's value without what may be a credential: addresses hold passwords and tokens, too."""
    if _SECRET_NAME.search(name):
        return MASKED
    if name.lower() in ("location", "content-location"):
        return _address(value)
    value = _ADDRESS.sub(lambda match: _address(match[0]), value)
    return _QUERY.sub(f"?{MASKED}", value) if _ADDRESS_NAME.search(name) else value


def _address(url: str) -> str:
    """Scheme, host, port and path alone; where they cannot be told from a password, not even these."""
    head = re.split("[?#;]", url, maxsplit=1)[0]
    scheme, slashes, rest = head.partition("//")
    if not slashes:
        return head.rpartition("@")[2]
    rest = rest.rpartition("@")[2]
    return f"{scheme}//{rest if _HOST.fullmatch(rest) else MASKED}"


def _asked(question: Callable[[], _T]) -> _T:
    """Ask a credential, which may be the user's own code: whatever it raises means that there is none."""
    try:
        return question()
    except (Interrupted, DeadlinePassed):
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, CredentialError) and has_words(error):
            raise
        kind = class_and_place(error)
    # Outside of the block: the text and the frames of that exception may hold a secret, so it is not even the context.
    raise CredentialError(f"the credential failed with {kind}")


def _usable(authorization: object) -> Authorization:
    """What a credential gave, if a request can carry it: http.client's own error would show the secret."""
    if not isinstance(authorization, Authorization):
        raise CredentialError(f"the credential gave no Authorization but {type(authorization).__name__}")
    for name, value in authorization.headers.items():
        if not (_HEADER_NAME.fullmatch(name) and value.isascii() and value.isprintable()):
            raise CredentialError("the credential gave a header with control or non-ASCII characters")
    return authorization


def error_of(answer: Answer, path: str, guard: Guard) -> WatchError:
    """The one error that an answer tells which is no success: a Status, or text of any kind, cut to a message."""
    with answer:
        body = _error_body(answer, guard)
    retry_after = parse_retry_after(answer.headers.get("Retry-After"), _clock.wall())
    try:
        document = _json.loads(body)
    except ValueError:
        document = None
    if is_status(document):
        return status_error(document, ErrorOrigin.HTTP, path=path, code=answer.status, retry_after=retry_after)
    text = body.decode("utf-8", "replace").strip()
    if 300 <= answer.status < 400:
        text = f"redirects are not followed ({_address(answer.headers.get('Location', '')) or 'no location'})"
    return text_error(text, path=path, code=answer.status, retry_after=retry_after)


def _error_body(answer: Answer, guard: Guard) -> bytes:
    """What can be had of it in time; the status alone is an answer, too."""
    body = bytearray()
    try:
        with guard.within(ERROR_BODY_SECONDS):
            for piece in answer.pieces():
                body += piece
                if len(body) >= ERROR_BODY_BYTES:
                    break
    except EXPECTED:
        guard.check()
    return bytes(body[:ERROR_BODY_BYTES])
