"""How answers go onto the socket; `_faults` has one that spoils them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from email.utils import format_datetime

from kwsync.testing._connection import Connection
from kwsync.testing._exchange import phrase
from kwsync.testing._latches import Bell
from kwsync.testing._request import Request
from kwsync.testing.apiserver._api import utc_now
from kwsync.testing.apiserver._lines import chunk, packed
from kwsync.testing.apiserver._reply import Reply

_LENGTH_UP_TO = 2048
_FLOW_HEADERS = (
    ("X-Kubernetes-Pf-Flowschema-Uid", "6b777379-6e63-4f10-8a00-000000000001"),
    ("X-Kubernetes-Pf-Prioritylevel-Uid", "6b777379-6e63-4f10-8a00-000000000002"),
)
END = b"0\r\n\r\n"

Headers = Iterable[tuple[str, str]]


class Wire:
    """One answer on one connection; used by that connection's thread. Every method may raise `Over`."""

    def __init__(self, connection: Connection, request: Request) -> None:
        self._connection = connection
        self._request = request
        self.closes = request.wants_close
        """Whether the client, or the answer, wants the connection closed afterwards."""

    def before(self) -> None:
        """What happens before the request is looked at: nothing, on a wire without faults."""

    def reply(self, reply: Reply) -> None:
        """Send a whole answer; above 2,048 bytes it is chunked (trap 1)."""
        self.closes = self.closes or ("Connection", "close") in reply.headers
        headers = list(reply.headers)
        body = reply.body
        if reply.status != 304:
            framing, body = self._framed(body)
            headers = [("Content-Type", reply.content_type), *headers, framing]
        self.send(self._head(reply.status, headers) + self._shown(body))

    def _framed(self, body: bytes) -> tuple[tuple[str, str], bytes]:
        if len(body) <= _LENGTH_UP_TO or self._request.version == "HTTP/1.0":
            return ("Content-Length", str(len(body))), body
        return ("Transfer-Encoding", "chunked"), packed(body) + END

    def _shown(self, body: bytes) -> bytes:
        """A body for whom it is for: HEAD has the head alone."""
        return b"" if self._request.method == "HEAD" else body

    def start(self, headers: Headers) -> None:
        """Send the head of a stream, at once (trap 2)."""
        self.send(self._head(200, [*headers, ("Transfer-Encoding", "chunked")]))

    def packed(self, lines: Sequence[bytes]) -> None:
        """Send events that were due together: in chunks of 2,048 bytes."""
        if lines:
            self.send(packed(b"".join(lines)))

    def events(self, lines: Sequence[bytes]) -> None:
        """Send events, each in a chunk of its own."""
        self.send(b"".join([chunk(line) for line in lines]))

    def end(self) -> None:
        """End a stream cleanly."""
        self.send(END)

    def listening_to(self, bell: Bell) -> AbstractContextManager[None]:
        """Let the bell wake `wait`, until the block ends."""
        return self._connection.listening_to(bell)

    def wait(self, bell: Bell, seconds: float) -> None:
        """Send nothing until the bell rings, or for some seconds."""
        self._connection.wait_for(bell, max(0.0, seconds))

    def pause(self, seconds: float | None) -> None:
        """Send nothing for some seconds, None for ever."""
        self._connection.wait(seconds)

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._connection.send(data)

    def _head(self, status: int, headers: Headers) -> bytes:
        lines = [
            f"HTTP/1.1 {status} {phrase(status)}",
            f"Audit-Id: {uuid.uuid4()}",
            "Cache-Control: no-cache, private",
            *(f"{name}: {value}" for name, value in (*headers, *_FLOW_HEADERS)),
            f"Date: {_date(utc_now())}",
            *(["Connection: close"] if self.closes and ("Connection", "close") not in headers else []),
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def _date(now: datetime) -> str:
    return format_datetime(now, usegmt=True)
