"""A client that knows nothing of kwsync: a socket, and bytes."""

from __future__ import annotations

import socket
import ssl
from typing import Protocol

from kwsync.testing._server import LoopbackServer

LIMIT_SECONDS = 5.0


class RawClient:
    """One connection; every read has a limit."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_SECONDS)
        if context is not None:
            # A TLS stream that is cut off has to show as an error here.
            self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1", suppress_ragged_eofs=False)
        self.seen = b""

    def get(self, target: str = "/", *headers: str) -> RawClient:
        """Send a GET; the client itself, to chain a read."""
        self.socket.sendall("\r\n".join([f"GET {target} HTTP/1.1", "Host: h", *headers, "", ""]).encode())
        return self

    def read_until(self, end: bytes) -> bytes:
        """Everything up to `end`, and `end`; what follows is kept for the next read."""
        while end not in self.seen:
            data = self.socket.recv(65536)
            assert data, f"closed before {end!r}, after {self.seen!r}"
            self.seen += data
        size = self.seen.index(end) + len(end)
        found, self.seen = self.seen[:size], self.seen[size:]
        return found

    def read_head(self) -> bytes:
        return self.read_until(b"\r\n\r\n")

    def read_all(self) -> bytes:
        """Everything until the server closes."""
        while data := self.socket.recv(65536):
            self.seen += data
        found, self.seen = self.seen, b""
        return found

    def close(self) -> None:
        self.socket.close()


class Connect(Protocol):
    """The fixture `connect`."""

    def __call__(self, server: LoopbackServer, context: ssl.SSLContext | None = None) -> RawClient: ...
