"""What the client asked: a recorded request, and the reader that takes it off the socket."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from kwsync.testing._connection import Connection

_MAX_HEAD_BYTES = 1 << 20


class BadRequest(Exception):
    """What arrived is not an HTTP/1.x request."""


class Headers(Mapping[str, str]):
    """HTTP headers; names have no case. Of a repeated one the first counts, `all()` has each."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs = tuple(pairs)

    def __getitem__(self, name: str) -> str:
        for value in self.all(name):
            return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self.pairs))

    def __len__(self) -> int:
        return len(dict(self.pairs))

    def __repr__(self) -> str:
        return f"Headers({list(self.pairs)!r})"

    def all(self, name: str) -> list[str]:
        """Every value of one header, in the order sent."""
        return [value for key, value in self.pairs if key.lower() == name.lower()]


@dataclass(frozen=True)
class PeerCertificate:
    """The client certificate of a TLS connection."""

    common_name: str
    organizations: tuple[str, ...]
    serial: str
    """Hexadecimal, as `ssl` writes it."""
    subject: str
    """All parts, like `organizationName=team,commonName=alice`."""


@dataclass(frozen=True)
class Request:
    """One request as it arrived. The two events may be waited for by any thread."""

    method: str
    target: str
    """The request target as sent; for CONNECT `host:port`."""
    path: str
    """The decoded path, without the query."""
    query: dict[str, str]
    """Decoded; of a repeated parameter the last counts (`raw_query` has all)."""
    raw_query: str
    headers: Headers
    body: bytes = b""
    time: float = field(default_factory=time.monotonic)
    """When it was complete, by `time.monotonic()` (seconds)."""
    connection_id: int = 0
    """1 for the first connection of the server."""
    peer_certificate: PeerCertificate | None = None
    closed_by_client: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)
    """Set when the client's side of this connection is seen closed."""
    done: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)
    """Set when the script for this request is over, for whatever reason."""

    @property
    def is_watch(self) -> bool:
        """Whether the query asks for a watch."""
        return self.query.get("watch", "").lower() in ("1", "true")

    @property
    def wants_close(self) -> bool:
        """Whether the client will not send another request on this connection."""
        return self.headers.get("Connection", "").lower() == "close"


def read_request(connection: Connection) -> Request:
    """Wait for one whole request. Raises `BadRequest`, or `Over` when none comes any more."""
    method, target, headers = _parse_head(_read_head(connection))
    url = urlsplit(target)
    return Request(
        method=method,
        target=target,
        path=target if method == "CONNECT" else unquote(url.path),
        query=dict(parse_qsl(url.query, keep_blank_values=True)),
        raw_query=url.query,
        headers=headers,
        body=_read_body(connection, headers),
        connection_id=connection.number,
        peer_certificate=_peer_certificate(connection),
        closed_by_client=connection.closed_by_client,
    )


def _read_head(connection: Connection) -> bytes:
    while (end := connection.buffer.find(b"\r\n\r\n")) < 0:
        # 0x16 opens a TLS hello: no line end may ever come, so do not wait for one.
        if len(connection.buffer) > _MAX_HEAD_BYTES or connection.buffer[:1] == b"\x16":
            raise BadRequest(f"not an HTTP request: {bytes(connection.buffer[:40])!r}")
        connection.read_more()
    return connection.take(end + 4)[:-4]


def _parse_head(head: bytes) -> tuple[str, str, Headers]:
    first, *rest = head.decode("latin-1").split("\r\n")
    try:
        method, target, version = first.split(" ")
        pairs = [(name.strip(), value.strip()) for name, value in (line.split(":", 1) for line in rest)]
    except ValueError:
        raise BadRequest(f"not an HTTP request: {head[:200]!r}") from None
    if not version.startswith("HTTP/1."):
        raise BadRequest(f"not HTTP/1.x: {first!r}")
    return method, target, Headers(pairs)


def _read_body(connection: Connection, headers: Headers) -> bytes:
    if headers.get("Transfer-Encoding", "").lower() == "chunked":
        return b"".join(_read_chunks(connection))
    return _read_exactly(connection, int(headers.get("Content-Length", "0")))


def _read_chunks(connection: Connection) -> Iterator[bytes]:
    while True:
        while b"\r\n" not in connection.buffer:
            connection.read_more()
        size = int(connection.take(connection.buffer.index(b"\r\n") + 2).split(b";")[0], 16)
        chunk = _read_exactly(connection, size + 2)[:-2]
        if not size:
            return
        yield chunk


def _read_exactly(connection: Connection, size: int) -> bytes:
    while len(connection.buffer) < size:
        connection.read_more()
    return connection.take(size)


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
