"""What the servers here share: a listener on loopback, a thread per connection, a record of requests."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from kwsync.testing._connection import Connection, HandshakeFailed, Over
from kwsync.testing._exchange import phrase
from kwsync.testing._first_ones import FirstOnes
from kwsync.testing._head import BadRequest
from kwsync.testing._latches import Halt
from kwsync.testing._listener import DeafListener, Listener
from kwsync.testing._reader import Reader
from kwsync.testing._request import Request

if TYPE_CHECKING:
    from typing_extensions import Self

Answer = Callable[[Connection], bool]
"""Answers one request, on the connection's thread; tells whether another may follow on the connection."""

_JOIN_SECONDS = 5.0


class LoopbackServer:
    """A server on 127.0.0.1; every method may be called from any thread.

    Subclasses say in `plan` what a request gets. Leaving the `with` block stops the server and raises the
    first of `failures`, unless another exception is on its way.
    """

    body_limit = 64 << 20
    """Bytes of a request's body that are read; what is longer is cut off (`Request.cut`)."""
    request_seconds = 32.0
    """Within which a request must be complete once it has begun (408); a real API server has the same."""
    linger_seconds = 1.0
    """How long a client that was refused may go on sending until its connection is closed."""

    def __init__(self, *, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.tls = tls
        """May be replaced at any time; each new connection uses the current one."""
        self.port = port
        self.requests: list[Request] = []
        """In order of arrival."""
        self.failures: list[BaseException] = FirstOnes()
        """Exceptions of the test's own code, and of this server; the first 1,000, as of the next two."""
        self.tls_errors: list[str] = FirstOnes()
        self.bad_requests: list[str] = FirstOnes()
        self.connections_accepted = 0
        self.disconnects = 0
        """Connections that the client was seen to close."""
        # Reentrant, because a rule's function may look at the server while it is held.
        self._changed = threading.Condition(threading.RLock())
        self._threads: dict[threading.Thread, Connection] = {}
        self._halt: Halt | None = None
        self._listener: Listener | DeafListener | None = None

    @property
    def url(self) -> str:
        """Where clients find it, without a slash at the end."""
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    @property
    def open_connections(self) -> int:
        """Connections that neither the script nor the server has closed yet."""
        with self._changed:
            return len(self._threads)

    def plan(self, request: Request) -> Answer:
        """The function that will answer a request; called under the lock, in order of arrival."""
        raise NotImplementedError

    def start(self) -> None:
        """Listen; after a stop, on the same port again.

        RuntimeError when it is running already, OSError when the port is taken.
        """
        if self._halt is not None:
            raise RuntimeError("this server has been started already; stop() it before it is started again")
        self._halt = Halt()
        try:
            self.listen_again()
        except OSError:
            self.stop()
            raise

    def stop(self) -> None:
        """Close everything and wait for the threads. May be called twice."""
        self.stop_listening()
        self._end_connections(None)

    def stop_listening(self) -> None:
        """Close the listening socket, so that clients are refused; open connections go on."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def listen_again(self) -> None:
        """Listen, after `stop_listening` on the same port."""
        self._listener = self.make_listener()
        self.port = self._listener.port

    def make_listener(self) -> Listener | DeafListener:
        """Open the listening socket on `self.port`."""
        return Listener(self._accepted, self.port)

    def drop_connections(self) -> None:
        """Close every open connection now and wait for their threads; the listener goes on."""
        self._end_connections(Halt())

    def _end_connections(self, next_halt: Halt | None) -> None:
        # New connections get the new latch under the same lock, so that none is cut that came later.
        with self._changed:
            halt, threads = self._halt, list(self._threads)
            self._halt = next_halt
        if halt is not None:
            halt.set()
            self._join(threads)
            halt.close()

    def wait_for_requests(self, n: int, timeout: float = 5.0) -> list[Request]:
        """Wait for `n` requests in all, and give the first `n`. Raises TimeoutError after `timeout` s."""
        self._wait_until(lambda: len(self.requests) >= n, timeout, f"{n} requests")
        return self.requests[:n]

    def wait_for_connections(self, n: int, timeout: float = 5.0) -> None:
        """Wait for the first `n` connections of all. Raises TimeoutError after `timeout` seconds."""
        self._wait_until(lambda: self.connections_accepted >= n, timeout, f"{n} connections")

    def wait_for_disconnect(self, timeout: float = 5.0, n: int = 1) -> None:
        """Wait until clients have closed `n` connections in all. Raises TimeoutError after `timeout` s."""
        self._wait_until(lambda: self.disconnects >= n, timeout, f"{n} disconnects")

    def wait_until_idle(self, timeout: float = 5.0) -> None:
        """Wait until no connection is open. Raises TimeoutError after `timeout` seconds."""
        self._wait_until(lambda: not self._threads, timeout, "no open connection")

    def _wait_until(self, predicate: Callable[[], bool], timeout: float, what: str) -> None:
        with self._changed:
            if self._changed.wait_for(predicate, timeout):
                return
            seen = [f"{request.method} {request.target}" for request in self.requests]
        raise TimeoutError(
            f"waited {timeout} s for {what}: {self.connections_accepted} connections, "
            f"{len(self._threads)} open, {self.disconnects} closed by the client, {len(seen)} requests, "
            f"the last: {seen[-5:]}, failures: {self.failures}"
        )

    def _accepted(self, sock: socket.socket) -> None:
        with self._changed:
            if self._halt is None:
                sock.close()
                return
            self.connections_accepted += 1
            connection = Connection(sock, self._halt, self.connections_accepted, self._note_disconnect)
            name = f"kwsync-testing-{self.port}-{connection.number}"
            thread = threading.Thread(target=self._run, args=(connection,), name=name, daemon=True)
            self._threads[thread] = connection
            self._changed.notify_all()
            thread.start()

    def _run(self, connection: Connection) -> None:
        try:
            self.serve(connection)
        except HandshakeFailed as error:
            self.tls_errors.append(str(error))
        except Over:
            pass  # The client went away or the server stops: what most tests are about.
        except BadRequest as error:
            # No failure: a test may well send nonsense, such as TLS to a plain port.
            self._refuse(connection, error)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test must hear of it
            self.failures.append(error)
        finally:
            self._close(connection)

    def serve(self, connection: Connection) -> None:
        """Serve one connection to its end, on its thread."""
        if self.tls is not None:
            connection.start_tls(self.tls)
        while self._answer_next(connection):
            pass
        connection.send_close_notify()

    def _answer_next(self, connection: Connection) -> bool:
        request = Reader(connection, self.body_limit, self.request_seconds).read()
        try:
            goes_on = self._record(request)(connection)
            if request.cut:
                connection.linger(self.linger_seconds)
        finally:
            # Also when the script failed or the client went away, or a test would wait for nothing.
            request.done.set()
        return goes_on

    def _record(self, request: Request) -> Answer:
        with self._changed:
            # In one step with the choice of the answer: the n-th request recorded is the n-th one served.
            self.requests.append(request)
            self._changed.notify_all()
            return self.plan(request)

    def _refuse(self, connection: Connection, error: BadRequest) -> None:
        self.bad_requests.append(str(error))
        with contextlib.suppress(Over):
            connection.send(_refusal(error))
            connection.linger(self.linger_seconds)

    def _note_disconnect(self) -> None:
        with self._changed:
            self.disconnects += 1
            self._changed.notify_all()

    def _close(self, connection: Connection) -> None:
        # Closed before it is forgotten: whoever waits until nothing is open may then count sockets.
        connection.close()
        with self._changed:
            self._threads.pop(threading.current_thread())
            self._changed.notify_all()

    def _join(self, threads: list[threading.Thread]) -> None:
        deadline = time.monotonic() + _JOIN_SECONDS
        for thread in threads:
            # A function of the test may call this from a connection's own thread.
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive() and thread is not threading.current_thread():
                self.failures.append(TimeoutError(f"{thread.name} did not end: is a function of the test stuck?"))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if error is None:
            self.raise_failures()

    def raise_failures(self) -> None:
        """Raise the first exception of the test's own functions, if there is one."""
        if self.failures:
            raise self.failures[0]


def _refusal(error: BadRequest) -> bytes:
    """As Go's HTTP server refuses."""
    line = f"{error.code} {phrase(error.code)}"
    body = f"{line}: {error}".encode()
    head = f"HTTP/1.1 {line}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
