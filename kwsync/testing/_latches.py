"""What a selector can wait for beside sockets: one end for all, and one bell for each."""

from __future__ import annotations

import contextlib
import socket
import threading


class Halt:
    """A latch that both selectors and threads can wait for."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._flag = threading.Event()
        self.is_set = self._flag.is_set
        self.wait = self._flag.wait

    def fileno(self) -> int:
        return self._reader.fileno()

    def set(self) -> None:
        # A closed writer leaves the reader readable for good: no byte to be lost, any number of waiters.
        self._flag.set()
        self._writer.close()

    def close(self) -> None:
        self.set()
        self._reader.close()


class Bell:
    """Wakes the one thread that waits for it in `Connection.wait_for`; rung by any thread, any number of times."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)

    def fileno(self) -> int:
        return self._reader.fileno()

    def ring(self) -> None:
        # Full is loud enough; closed is a watch that has just ended.
        with contextlib.suppress(OSError):
            self._writer.send(b"!")

    def hush(self) -> None:
        """Take in what was rung."""
        with contextlib.suppress(BlockingIOError):
            self._reader.recv(64)

    def close(self) -> None:
        self._writer.close()
        self._reader.close()
