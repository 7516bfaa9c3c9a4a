"""One verb: a request and its whole answer under one deadline, which another thread may end."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kwsync import _discovery, _json
from kwsync._cancel import DeadlinePassed, Guard, Interrupted, cancelled_by
from kwsync._clock import monotonic
from kwsync._resources import Resource, parse_or_defer
from kwsync._session import Session
from kwsync._transport import EXPECTED, Request, fault, forget_frames
from kwsync.errors import ErrorOrigin, cancelled, is_status, local_error, status_error


class Call:
    """What a verb does its work with; made by `calling`."""

    def __init__(self, session: Session, guard: Guard) -> None:
        self._session = session
        self._guard = guard
        self.path = ""
        """Of the last request."""

    def read(self, request: Request) -> tuple[bytes, str]:
        """The whole body of a successful answer, and its content type."""
        self.path, outside = request.path, sys.exc_info()[1]
        with self._session.open(request, self._guard) as answer:
            try:
                return answer.read(), answer.headers.get("Content-Type", "")
            except EXPECTED as error:
                failure = fault(error, request.path, outside)
        raise failure

    def document(self, request: Request) -> dict[str, Any]:
        """The answer as a JSON object."""
        body, _ = self.read(request)
        document = _decoded(body, request)
        if is_status(document):  # a failure that says 200
            raise status_error(document, ErrorOrigin.HTTP, path=request.path)
        if not isinstance(document, dict):
            raise local_error(ErrorOrigin.DECODE, "the answer is not a JSON object", path=request.path)
        return document

    def value(self, request: Request) -> Any:
        """What the answer's JSON holds, or its text where its content type is no JSON."""
        body, content_type = self.read(request)
        return _decoded(body, request) if "json" in content_type else body.decode("utf-8", "replace")

    def resource(self, resource: str | Resource, *, scope: bool = False) -> Resource:
        """The resource meant, from the table of built-in kinds or else from the server; with *scope* also its scope."""
        known = resource if isinstance(resource, Resource) else parse_or_defer(resource)
        if known is not None and not (scope and known.namespaced is None):
            return known
        name = str(resource)
        found = self._session.discovered.get(name)
        if found is None:
            found = self._session.discovered[name] = _discovery.discover(self.document, name)
        return found


def _decoded(body: bytes, request: Request) -> Any:
    try:
        return _json.loads(body)
    except ValueError as error:
        reason = _json.why_not(error)  # and no cause: that would hold the body
    raise local_error(ErrorOrigin.DECODE, f"the answer {reason}", path=request.path)


@contextmanager
def calling(session: Session, timeout: float | None, cancel: threading.Event | None) -> Iterator[Call]:
    """A call that has *timeout* seconds in all, and ends with `CancelledError` when *cancel* is set."""
    guard = Guard(None if timeout is None else monotonic() + timeout)
    call, outside = Call(session, guard), sys.exc_info()[1]
    try:
        with cancelled_by(guard, cancel):
            yield call
    except Interrupted as raised:
        forget_frames(raised, outside)
        raise cancelled(call.path) from None
    except DeadlinePassed as raised:
        forget_frames(raised, outside)
        raise local_error(ErrorOrigin.TIMEOUT, "no answer in time", path=call.path) from None
