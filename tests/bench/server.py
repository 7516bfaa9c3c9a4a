"""A server as fast as one can be: it has everything prepared, and its base paths say what a watch gets.

``/events/N``  N events, one chunk each, and a clean end      ``/idle``    one event, then nothing
``/line/N``    one event of N bytes in chunks of 4 KiB        ``/half``    one event and half another, then nothing
``/ticks/N``   N events that tell when they were written      ``/silent``  nothing, not even headers

What is not a GET (a TLS handshake, a CONNECT) is never answered.
"""

from __future__ import annotations

import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from .children import running
from .feed import chunked, event_lines, long_line

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
LINE_CHUNK_BYTES = 4096
TICK_SECONDS = 0.005
MARK = "0" * 19
"""Stands in a prepared event where the time goes (``time.monotonic_ns``, one clock for all processes)."""


@contextmanager
def serving() -> Iterator[str]:
    """The URL of a server in a process of its own."""
    with running("server") as child:
        yield f"http://127.0.0.1:{child.hear()}"


@cache
def _events(count: int) -> bytes:
    return HEAD + chunked(event_lines(count)) + LAST_CHUNK


@cache
def _line(size: int) -> bytes:
    line = long_line(size)
    pieces = [line[start : start + LINE_CHUNK_BYTES] for start in range(0, len(line), LINE_CHUNK_BYTES)]
    return HEAD + chunked(pieces) + LAST_CHUNK


@cache
def _tick() -> bytes:
    line = event_lines(1)[0]
    return chunked([line.replace(b'"annotations":{', b'"annotations":{"sent":"%b",' % MARK.encode())])


@cache
def _half() -> bytes:
    (line,) = event_lines(1)
    return HEAD + chunked([line + line[: len(line) // 2]])


class Handler(socketserver.StreamRequestHandler):
    """One connection."""

    def handle(self) -> None:
        """Answer requests until one of them stalls, or the client goes."""
        try:
            while self._answer(self.rfile.readline()):
                pass
        except OSError:
            pass  # the client was cancelled, which is what much of this is about

    def _answer(self, line: bytes) -> bool:
        if not line.startswith(b"GET /"):
            return self._stall(b"")
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        name, argument = line.split(b"/")[1:3]
        if name in PREPARED:
            self.wfile.write(PREPARED[name](int(argument)))
            return True
        if name == b"ticks":
            return self._tick(int(argument))
        return self._stall(STALLS[name]())

    def _stall(self, first: bytes) -> bool:
        if first:
            self.wfile.write(first)
        while self.rfile.read1():
            pass
        return False

    def _tick(self, count: int) -> bool:
        self.wfile.write(HEAD)
        for _ in range(count):
            time.sleep(TICK_SECONDS)
            self.wfile.write(_tick().replace(MARK.encode(), b"%019d" % time.monotonic_ns(), 1))
        self.wfile.write(LAST_CHUNK)
        return True


PREPARED: dict[bytes, Callable[[int], bytes]] = {b"events": _events, b"line": _line}
STALLS: dict[bytes, Callable[[], bytes]] = {
    b"silent": lambda: b"",
    b"idle": lambda: HEAD + chunked(event_lines(1)),
    b"half": _half,
}


class Server(socketserver.ThreadingTCPServer):
    """Listens on loopback; a thread for each connection."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    """Print the port, and serve until the standard input ends."""
    with Server(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
