"""One accepted socket. Nothing here blocks for ever: every wait also ends when the server stops."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

from kwsync.testing._latches import Bell, Halt

_READ = selectors.EVENT_READ
_WRITE = selectors.EVENT_WRITE
_POLL_SECONDS = 0.005
_MAX_BUFFER = 4 << 20  # What a client sends while its answer is still going on waits, but not without a bound.
_POLLRDHUP = getattr(select, "POLLRDHUP", 0)  # Linux only
_NO_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
# poll() needs no descriptor of its own, so that hundreds of connections fit below the usual limit.
_Selector = getattr(selectors, "PollSelector", selectors.DefaultSelector)
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Over(Exception):
    """The exchange is over: the client went away, the server stops, or the script closed the connection."""


class HandshakeFailed(Over):
    """The TLS handshake failed, most often because the client did not trust the server."""


class Connection:
    """A non-blocking socket with the bytes that have arrived; used by one thread only.

    Any call may raise `Over`. `closed_by_client` may be waited for by any thread.
    """

    def __init__(self, sock: socket.socket, halt: Halt, number: int, on_closed: Callable[[], None]) -> None:
        sock.setblocking(False)
        # Without it a step's bytes could wait for the acknowledgement of the step before.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.number = number
        self.buffer = bytearray()
        self.closed_by_client = threading.Event()
        self._sock = sock
        self.halt = halt
        self._on_closed = on_closed
        self._selector: selectors.BaseSelector = _Selector()
        self._selector.register(sock, _READ)
        self._selector.register(halt, _READ)
        self._wanted = _READ
        self._closed = False

    @property
    def peer_certificate(self) -> dict[str, object]:
        """The verified client certificate as `ssl` gives it; empty when there is none."""
        certificate = self._sock.getpeercert() if isinstance(self._sock, ssl.SSLSocket) else None
        return dict(certificate or {})

    def start_tls(self, context: ssl.SSLContext) -> None:
        """Do the server's side of a TLS handshake."""
        # wrap_socket detaches the plain socket, whose place in the selector would go stale.
        self._selector.unregister(self._sock)
        try:
            self._sock = context.wrap_socket(self._sock, server_side=True, do_handshake_on_connect=False)
            self._selector.register(self._sock, _READ)
            self._wanted = _READ
            self._handshake(self._sock)
        except OSError as error:
            self._note_closed()
            raise HandshakeFailed(str(error)) from error

    def _handshake(self, sock: ssl.SSLSocket) -> None:
        while True:
            try:
                return sock.do_handshake()
            except ssl.SSLWantReadError:
                self._select(_READ)
            except ssl.SSLWantWriteError:
                self._select(_WRITE)

    def fileno(self) -> int:
        return self._sock.fileno()

    def read_more(self, deadline: float | None = None) -> None:
        """Wait for at least one more byte in `buffer`; TimeoutError at the deadline (by `time.monotonic()`)."""
        before = len(self.buffer)
        while len(self.buffer) == before:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            self._select(_READ, left)
            self.fill()

    def fill(self) -> None:
        """Take in what has arrived, without waiting."""
        try:
            data = self._sock.recv(65536)
        except _WOULD_BLOCK:
            return
        except OSError:
            data = b""  # A reset, or broken TLS: gone is gone.
        if not data:
            self._client_gone()
        self.buffer += data
        if len(self.buffer) > _MAX_BUFFER:
            raise Over("the client sends more than anybody reads")

    def take(self, size: int | None = None) -> bytes:
        """Remove and give the first `size` bytes of `buffer`, or all of them."""
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data

    def send(self, data: bytes) -> None:
        """Send all of `data`, waiting for a slow client."""
        view = memoryview(data)
        while view:
            self._check_halt()
            view = view[self._send_some(view) :]

    def _send_some(self, view: memoryview) -> int:
        try:
            return self._sock.send(view)
        except _WOULD_BLOCK:
            # A client that has shut its side down while our buffer is full shows it only on the reading side.
            if self._select(_READ | _WRITE) & _READ:
                self.fill()
            return 0
        except OSError:
            self._client_gone()

    def wait(self, seconds: float | None = None, until: threading.Event | None = None) -> None:
        """Send nothing for `seconds` (None: for ever) or until the event is set."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while until is None or not until.is_set():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return
            # Read all the time: only so a close shows itself, and early requests just wait in the buffer.
            if self._select(_READ, _POLL_SECONDS if until else left):
                self.fill()

    @contextlib.contextmanager
    def listening_to(self, bell: Bell) -> Iterator[None]:
        """Let the bell wake `wait_for`, until the block ends."""
        self._selector.register(bell, _READ)
        try:
            yield
        finally:
            # The connection may be closed by now, and its selector with it.
            if not self._closed:
                self._selector.unregister(bell)

    def wait_for(self, bell: Bell, seconds: float) -> None:
        """Send nothing until the bell rings, or for some seconds."""
        if self._select(_READ, seconds) & _READ:
            self.fill()
        bell.hush()

    def hold(self) -> NoReturn:
        """Neither read nor write until the server stops; a close by the client is still noticed."""
        while not self.halt.wait(None if self.closed_by_client.is_set() else _POLL_SECONDS):
            if _hung_up(self._sock):
                self._note_closed()
        raise Over("the server stops")

    def close(self, reset: bool = False) -> None:
        """Close at once; with `reset` the client gets an RST."""
        if reset:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        # May come twice: from the script, and at the end of the thread.
        self._closed = True
        self._selector.close()
        self._sock.close()

    def send_close_notify(self) -> None:
        """Say the end of the TLS stream, as a server does before a clean close; nothing on plain TCP."""
        if isinstance(self._sock, ssl.SSLSocket):
            # The alert goes out at once; then unwrap() would like to see the client's, which is not waited for.
            # ValueError: `linger` has said it already.
            with contextlib.suppress(OSError, ValueError):
                self._sock.unwrap()

    def linger(self, seconds: float) -> None:
        """End our side, and throw away what still comes, until the client has ended its own or for some seconds.

        A close with bytes unread is a reset, which could take the last answer away from the client.
        """
        self.send_close_notify()
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self._discard(left):
            pass

    def _discard(self, seconds: float) -> bool:
        self._select(_READ, seconds)
        try:
            return bool(self._sock.recv(65536))
        except _WOULD_BLOCK:
            return True
        except OSError:
            return False

    def _select(self, events: int, timeout: float | None = None) -> int:
        # A test may have stopped the server from this very thread: then the latch's socket is closed already.
        self._check_halt()
        if events != self._wanted:
            self._selector.modify(self._sock, events)
            self._wanted = events
        ready = {key.fileobj: mask for key, mask in self._selector.select(timeout)}
        self._check_halt()
        return ready.get(self._sock, 0)

    def _check_halt(self) -> None:
        if self.halt.is_set():
            raise Over("the server stops")

    def _client_gone(self) -> NoReturn:
        self._note_closed()
        raise Over("the client closed the connection")

    def _note_closed(self) -> None:
        if not self.closed_by_client.is_set():
            self.closed_by_client.set()
            self._on_closed()


def _hung_up(sock: socket.socket) -> bool:
    """Whether the peer has closed, found out without reading."""
    if _POLLRDHUP:
        poll = select.poll()
        poll.register(sock, _POLLRDHUP)
        return bool(poll.poll(0))
    try:
        # Below TLS, whose recv() refuses to peek.
        return socket.socket.recv(sock, 1, socket.MSG_PEEK) == b""
    except OSError as error:
        return not isinstance(error, BlockingIOError)
