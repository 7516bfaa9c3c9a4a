"""What the client asked: a recorded request."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from kwsync.testing._headers import Headers


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
    """Decoded; of a repeated parameter the first counts (`raw_query` has all)."""
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
    version: str = "HTTP/1.1"
    cut: bool = False
    """Whether the body was longer than the server takes: `body` has one byte more than that, and the rest is lost."""

    @property
    def is_watch(self) -> bool:
        """Whether the query asks for a watch."""
        return self.query.get("watch", "").lower() in ("1", "true")

    @property
    def wants_close(self) -> bool:
        """Whether no other request can follow on this connection."""
        options = ",".join(self.headers.all("Connection")).lower().split(",")
        return self.cut or self.version == "HTTP/1.0" or "close" in (option.strip() for option in options)
