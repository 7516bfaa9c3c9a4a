"""How answers go onto the socket; `_faults` has one that spoils them."""

from __future__ import annotations

import http
import uuid
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from email.utils import format_datetime

from kwsync.testing._connection import Bell, Connection
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

    def __init__(self, connection: Connection, *, closes: bool) -> None:
        self._connection = connection
        self.closes = closes
        """Whether the client, or the answer, wants the connection closed afterwards."""

    def reply(self, reply: Reply) -> None:
        """Send a whole answer; above 2,048 bytes it is chunked (trap 1)."""
        self.closes = self.closes or ("Connection", "close") in reply.headers
        headers = [("Content-Type", reply.content_type), *reply.headers]
        if reply.status == 304:
            return self.send(self._head(reply.status, reply.headers))
        if len(reply.body) <= _LENGTH_UP_TO:
            length = ("Content-Length", str(len(reply.body)))
            return self.send(self._head(reply.status, [*headers, length]) + reply.body)
        head = self._head(reply.status, [*headers, ("Transfer-Encoding", "chunked")])
        return self.send(head + packed(reply.body) + END)

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
            f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}",
            f"Audit-Id: {uuid.uuid4()}",
            "Cache-Control: no-cache, private",
            *(f"{name}: {value}" for name, value in (*headers, *_FLOW_HEADERS)),
            f"Date: {_date(utc_now())}",
            *(["Connection: close"] if self.closes and ("Connection", "close") not in headers else []),
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def _date(now: datetime) -> str:
    return format_datetime(now, usegmt=True)
