"""Takes one request off a connection, within bounds of size and time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import parse_qsl, unquote

from kwsync.testing._connection import Connection
from kwsync.testing._head import BadRequest, Head, check_unfinished, parse_head, parse_header
from kwsync.testing._request import PeerCertificate, Request

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_MAX_LINE_BYTES = 4096
_MAX_TRAILERS = 100
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?")


class Reader:
    """Reads one request; used by the connection's thread.

    Args:
        limit: bytes of a body that are read; of a longer one there is one byte more, and `Request.cut`.
        seconds: within which the whole request must have come, once it has begun.
    """

    def __init__(self, connection: Connection, limit: int, seconds: float) -> None:
        self._connection = connection
        self._limit = limit
        self._seconds = seconds
        self._deadline: float | None = None

    def read(self) -> Request:
        """Wait for one whole request. Raises `BadRequest`, or `Over` when none comes any more."""
        if not self._connection.buffer:
            self._connection.read_more()
        self._deadline = time.monotonic() + self._seconds
        try:
            head = parse_head(self._head())
            body = self._body(head)
        except TimeoutError:
            raise BadRequest(f"the request was not complete after {self._seconds} s", 408) from None
        return self._request(head, body)

    def _request(self, head: Head, body: bytes) -> Request:
        return Request(
            method=head.method,
            target=head.target,
            path=unquote(head.path),
            query=dict(reversed(parse_qsl(head.query, keep_blank_values=True))),
            raw_query=head.query,
            headers=head.headers,
            body=body,
            connection_id=self._connection.number,
            peer_certificate=_peer_certificate(self._connection),
            closed_by_client=self._connection.closed_by_client,
            version=head.version,
            cut=len(body) > self._limit,
        )

    def _more(self) -> None:
        self._connection.read_more(self._deadline)

    def _head(self) -> bytes:
        while (end := self._connection.buffer.find(b"\r\n\r\n")) < 0:
            check_unfinished(self._connection.buffer)
            self._more()
        return self._connection.take(end + 4)[:-4]

    def _body(self, head: Head) -> bytes:
        length = head.length
        if head.awaits_continue and not self._connection.buffer:
            self._connection.send(_CONTINUE)
        pieces = self._chunks() if length is None else self._pieces(length)
        body = bytearray()
        for piece in pieces:
            body += piece
            if len(body) > self._limit:
                return bytes(body[: self._limit + 1])
        return bytes(body)

    def _pieces(self, size: int) -> Iterator[bytes]:
        """The next bytes, as they come."""
        while size:
            if not self._connection.buffer:
                self._more()
            piece = self._connection.take(size)
            size -= len(piece)
            yield piece

    def _chunks(self) -> Iterator[bytes]:
        while size := self._chunk_size():
            yield from self._pieces(size)
            if self._line():
                raise BadRequest("a chunk is longer than it says")
        self._trailers()

    def _chunk_size(self) -> int:
        line = self._line()
        match = _CHUNK.fullmatch(line)
        if match is None:
            raise BadRequest(f"not the size of a chunk: {line[:40]!r}")
        return int(match[1], 16)

    def _trailers(self) -> None:
        for _ in range(_MAX_TRAILERS):
            line = self._line()
            if not line:
                return
            parse_header(line.decode("latin-1"))
        raise BadRequest("too many trailers")

    def _line(self) -> bytes:
        """The next line, without its end."""
        while (end := self._connection.buffer.find(b"\n", 0, _MAX_LINE_BYTES)) < 0:
            if len(self._connection.buffer) >= _MAX_LINE_BYTES:
                raise BadRequest("a line of the body's framing is too long")
            self._more()
        line = self._connection.take(end + 1)
        if not line.endswith(b"\r\n"):
            raise BadRequest("a line feed on its own")
        return line[:-2]


def _peer_certificate(connection: Connection) -> PeerCertificate | None:
    certificate = connection.peer_certificate
    if not certificate:
        return None
    # ssl gives the subject as a tuple of sets, each a tuple of pairs.
    names = [pair for part in cast("Any", certificate["subject"]) for pair in part]
    return PeerCertificate(
        common_name=dict(names).get("commonName", ""),
        organizations=tuple(value for name, value in names if name == "organizationName"),
        serial=str(certificate["serialNumber"]),
        subject=",".join(f"{name}={value}" for name, value in names),
    )
