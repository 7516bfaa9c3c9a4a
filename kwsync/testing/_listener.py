"""A listening socket on loopback and the thread that accepts on it."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable

from kwsync.testing._latches import Halt

_CONNECT_SECONDS = 0.05  # On loopback a connect succeeds at once, or the backlog is full.


class Listener:
    """Gives every accepted socket to `accepted`, on its own thread. Raises OSError for a taken port."""

    def __init__(self, accepted: Callable[[socket.socket], None], port: int = 0) -> None:
        self._accepted = accepted
        self._socket = listening_socket(port)
        self._halt = Halt()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._selector.register(self._halt, selectors.EVENT_READ)
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name=f"kwsync-testing-{self.port}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening: from now on clients are refused."""
        # First the thread, then the socket: a descriptor closed under a selector may be a new file already.
        self._halt.set()
        self._thread.join()
        for part in (self._selector, self._socket, self._halt):
            part.close()

    def _run(self) -> None:
        while not self._halt.is_set():
            self._selector.select()
            self._accept()

    def _accept(self) -> None:
        try:
            sock, _ = self._socket.accept()
        except OSError:
            return  # The client is gone again, or it was the halt that woke us.
        self._accepted(sock)


class DeafListener:
    """Listens and never accepts: clients connect and get no answer, or, with `full`, cannot even connect."""

    def __init__(self, port: int = 0, full: bool = False) -> None:
        self._socket = listening_socket(port, backlog=0 if full else 128)
        self.port: int = self._socket.getsockname()[1]
        self._fillers: list[socket.socket] = []
        while full and self._fill():
            pass

    def close(self) -> None:
        """Stop listening; connections that were waiting are reset."""
        for sock in (self._socket, *self._fillers):
            sock.close()

    def _fill(self) -> bool:
        """Take one more place in the backlog; False when there is none left and the kernel drops the SYN."""
        sock = socket.socket()
        self._fillers.append(sock)
        sock.settimeout(_CONNECT_SECONDS)
        try:
            sock.connect(("127.0.0.1", self.port))
        except TimeoutError:
            return False
        return True


def listening_socket(port: int, backlog: int = 128) -> socket.socket:
    """A non-blocking listening socket on 127.0.0.1; port 0 takes a free one."""
    sock = socket.socket()
    # Lets a test listen on the same port again while old connections are still winding down.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(("127.0.0.1", port))
        sock.listen(backlog)
    except OSError:
        sock.close()
        raise
    # A client that is gone before accept() must not block the thread.
    sock.setblocking(False)
    return sock
