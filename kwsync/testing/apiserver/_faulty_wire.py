"""A wire on which one thing goes wrong."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

from kwsync.testing._connection import Connection, Over
from kwsync.testing._request import Request
from kwsync.testing.apiserver._faults import Fault
from kwsync.testing.apiserver._lines import error_line
from kwsync.testing.apiserver._reply import Reply, compressed, error_reply
from kwsync.testing.apiserver._wire import END, Headers, Wire

_HALVING = ("drop", "reset", "stall", "cut_chunk")
_OF_EVENTS = ("cut_line", "cut_chunk", "duplicate")
"""What waits for the event that it happens to."""
_DELETED = b'{"type":"DELETED"'

Send = Callable[[Sequence[bytes]], None]


class StreamEnd(Exception):
    """The stream is over, and its end has been sent."""


class FaultyWire(Wire):
    """Does to one answer what a `Fault` says."""

    def __init__(self, connection: Connection, request: Request, fault: Fault) -> None:
        super().__init__(connection, request)
        self._fault = fault
        self._left = fault.after or 0
        self._losses = fault.count if fault.what == "lose" else 0
        self._over = fault.after is None or fault.what in ("gzip", "lose")
        """Whether nothing more is to go wrong with events."""

    def before(self) -> None:
        """What goes wrong before anything is answered."""
        if self._fault.after is None:
            self._strike()

    def _strike(self) -> None:
        if self._fault.what in ("drop", "reset"):
            self._close(reset=self._fault.what == "reset")
        if self._fault.what == "stall":
            self.pause(self._fault.seconds)
        if self._fault.what == "error" and self._fault.error is not None:
            super().events([error_line(self._fault.error.status or {})])
        if self._fault.what in ("end", "error"):
            self._end()

    def _close(self, *, reset: bool = False) -> NoReturn:
        self._connection.close(reset)
        raise Over("closed by a fault")

    def _end(self) -> NoReturn:
        super().end()
        raise StreamEnd

    # Whole answers.

    def reply(self, reply: Reply) -> None:
        if self._fault.what in _HALVING and not self._over:
            self._half(reply)
        else:
            super().reply(self._spoilt(reply))

    def _spoilt(self, reply: Reply) -> Reply:
        if self._fault.error is not None:
            return error_reply(self._fault.error, "")
        if self._fault.what == "cut_line":
            return replace(reply, body=reply.body[: len(reply.body) // 2])
        return compressed(reply) if self._fault.what == "gzip" else reply

    def _half(self, reply: Reply) -> None:
        length = ("Content-Length", str(len(reply.body)))
        body = self._shown(reply.body)
        middle = len(body) // 2
        head = self._head(reply.status, [("Content-Type", reply.content_type), *reply.headers, length])
        self.send(head + body[:middle])
        self._strike()
        if self._fault.what == "cut_chunk":
            self._close()
        self.send(body[middle:])

    # Streams.

    def start(self, headers: Headers) -> None:
        encoding = [("Content-Encoding", "gzip")] if self._fault.what == "gzip" else []
        super().start([*headers, *encoding])
        self._strike_if_due()

    def _strike_if_due(self) -> None:
        if not self._over and not self._left and self._fault.what not in _OF_EVENTS:
            self._over = True
            self._strike()

    def packed(self, lines: Sequence[bytes]) -> None:
        self._through(lines, super().packed)

    def events(self, lines: Sequence[bytes]) -> None:
        self._through(lines, super().events)

    def _through(self, lines: Sequence[bytes], send: Send) -> None:
        lines = self._without_lost(lines)
        if self._fault.what == "gzip":
            lines = [gzip.compress(line, mtime=0) for line in lines]
        if not self._over:
            good, lines = lines[: self._left], lines[self._left :]
            self._left -= len(good)
            if good:
                send(good)
            self._strike_if_due()
            if lines and not self._over:
                lines = self._spoilt_lines(lines)
        if lines:
            send(lines)

    def _spoilt_lines(self, lines: Sequence[bytes]) -> Sequence[bytes]:
        self._over = True
        if self._fault.what != "duplicate":
            self._cut(lines[0])
        return [lines[0], *lines]

    def _without_lost(self, lines: Sequence[bytes]) -> Sequence[bytes]:
        if not self._losses:
            return lines
        kept = []
        for line in lines:
            if self._losses and line.startswith(_DELETED):
                self._losses -= 1
            else:
                kept.append(line)
        return kept

    def _cut(self, line: bytes) -> NoReturn:
        half = line[: len(line) // 2]
        if self._fault.what == "cut_chunk":
            self.send(b"%x\r\n%b" % (len(line), half))
            self._close()
        self.send(b"%x\r\n%b\r\n%b" % (len(half), half, END))
        raise StreamEnd
