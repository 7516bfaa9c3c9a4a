"""One request and the answer that a script writes to it."""

from __future__ import annotations

import http
import threading
from collections.abc import Iterable, Mapping
from typing import NoReturn

from kwsync.testing._connection import Connection, Over
from kwsync.testing._request import Request

HeaderSpec = Mapping[str, str | None] | Iterable[tuple[str, str | None]]
"""Headers as a mapping, or as pairs to repeat one. A value of None leaves a default header out."""


class Exchange:
    """What a step works on; used by the thread of the connection. Any call may raise `Over`."""

    def __init__(self, connection: Connection, request: Request) -> None:
        self.request = request
        self.chunked = False
        self.complete = False
        """Whether the client knows where the answer ends, so that the connection may serve another."""
        self.closing = request.wants_close
        self._connection = connection

    @property
    def keeps_alive(self) -> bool:
        """May the connection carry another request after this one?"""
        return self.complete and not self.closing

    def start(self, code: int, headers: HeaderSpec, defaults: HeaderSpec, body: bytes = b"") -> None:
        """Send the head, and `body` in the same segment (HEAD gets none); `headers` win over `defaults`."""
        pairs = merge_headers(headers, defaults)
        lines = [f"HTTP/1.1 {code} {phrase(code)}", *(f"{name}: {value}" for name, value in pairs)]
        said = {name.lower(): value.lower() for name, value in pairs}
        self.chunked = said.get("transfer-encoding") == "chunked"
        self.closing = self.closing or said.get("connection") == "close"
        bodiless = self.request.method == "HEAD" or code in (204, 304)
        # A promise that the body does not keep leaves the client waiting, so the connection is not used again.
        self.complete = bodiless or said.get("content-length") == str(len(body))
        self.raw("\r\n".join([*lines, "", ""]).encode("latin-1") + (b"" if self.request.method == "HEAD" else body))

    def body(self, data: bytes) -> None:
        """Send bytes of the body: as one chunk when the head was chunked, else as they are."""
        # An empty chunk would be the zero chunk, which is for End() alone.
        if self.chunked and data:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        self.raw(data)

    def end(self) -> None:
        """Send the zero chunk. Raises RuntimeError when the head was not chunked."""
        if not self.chunked:
            raise RuntimeError("End() needs a chunked head; use Fin() to end other bodies")
        self.raw(b"0\r\n\r\n")
        self.complete = True

    def raw(self, data: bytes) -> None:
        """Send bytes with no framing whatever."""
        self._connection.send(data)

    def stall(self, seconds: float | None = None, until: threading.Event | None = None) -> None:
        """Send nothing for `seconds` (None: for ever) or until the event is set."""
        self._connection.wait(seconds, until)

    def blackhole(self) -> NoReturn:
        """Neither read nor write again until the server stops."""
        self._connection.hold()

    def close(self, *, reset: bool = False, notify: bool = False) -> NoReturn:
        """Close the connection and end the script."""
        if notify:
            self._connection.send_close_notify()
        self._connection.close(reset)
        raise Over("closed by the script")


def merge_headers(headers: HeaderSpec, defaults: HeaderSpec) -> list[tuple[str, str]]:
    """The pairs of `defaults` that `headers` does not name, then those of `headers`."""
    given = _pairs(headers)
    names = {name.lower() for name, _ in given}
    merged = [pair for pair in _pairs(defaults) if pair[0].lower() not in names] + given
    return [(name, value) for name, value in merged if value is not None]


def _pairs(headers: HeaderSpec) -> list[tuple[str, str | None]]:
    return list(headers.items() if isinstance(headers, Mapping) else headers)


def phrase(code: int) -> str:
    """The words of a status code; those that the world does not know have one, too."""
    try:
        return http.HTTPStatus(code).phrase
    except ValueError:
        return "Unknown"
