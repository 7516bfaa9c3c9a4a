"""Sockets that obey a guard: every wait on them has the operation's deadline and ends when the operation is ended."""

from __future__ import annotations

import os
import socket
import ssl
import threading
import weakref
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

from kwsync import _threads
from kwsync._cancel import DeadlinePassed, Gate, Guard

_S = TypeVar("_S", bound="_GuardedReads")
_Address = tuple[Any, Any, int, str, Any]

BUFFER_BYTES = 64 * 1024
"""What one read may bring, of each open stream: sixteen events of usual size, where Python's own 8 KiB hold two."""

live: weakref.WeakSet[socket.socket] = weakref.WeakSet()
"""The sockets of this process, so that a forked child can let go of its copies."""


class Cut(OSError):
    """The connection was closed on this side while it was in use; the text tells why."""


class _Connecting(threading.local):
    """What a thread that connects tells its new sockets, which for a while only frames of urllib3 and ssl hold."""

    guard: Guard | None = None
    sockets: list[socket.socket] | None = None


connecting = _Connecting()


class _GuardedReads:
    """Around every read: the time left before it, and whether the operation was ended before its result counts.

    The second look matters: what a socket gives that another thread has just shut is no news from the server (with TLS
    it can even be ciphertext).
    """

    guard: Guard | None = None
    at_end = False
    """The peer has said that it sends no more."""
    cut: str | None = None
    """Why it was shut on this side, although its operation may go on."""

    def __new__(cls: type[_S], *_args: Any, **_options: Any) -> _S:
        made = super().__new__(cls)
        live.add(cast("socket.socket", made))
        if connecting.sockets is not None:
            connecting.sockets.append(cast("socket.socket", made))
        return made

    def makefile(self, mode: str = "r", buffering: int | None = None, **options: Any) -> Any:
        return super().makefile(mode, BUFFER_BYTES if buffering is None else buffering, **options)  # type: ignore[misc]

    def recv_into(self, *args: Any) -> int:
        return self._guarded(super().recv_into, args)  # type: ignore[misc,no-any-return]

    def recv(self, *args: Any) -> bytes:
        return self._guarded(super().recv, args)  # type: ignore[misc,no-any-return]

    def _guarded(self, read: Any, args: tuple[Any, ...]) -> Any:
        guard = self.guard
        if guard is None:
            return read(*args)
        self._limit(guard.remaining())
        try:
            result = read(*args)
        except OSError as error:
            guard.check()
            self._check_cut()
            if isinstance(error, TimeoutError) and error.errno is None:
                raise DeadlinePassed from error
            raise
        guard.received(result)
        self._check_cut()
        self.at_end = not result
        return result

    def _check_cut(self) -> None:
        if self.cut is not None:
            raise Cut(self.cut) from None

    def _limit(self, seconds: float | None) -> None:
        """Wait *seconds* at most, or a hundredth more where that limit stands already: a new one is a system call, for
        which this thread gives the interpreter away."""
        sock = cast("socket.socket", self)
        now = sock.gettimeout()
        if seconds is None or now is None or not seconds <= now <= seconds + min(1.0, seconds / 100):
            sock.settimeout(seconds)


class GuardedSocket(_GuardedReads, socket.socket):
    """A TCP socket."""


class GuardedTLSSocket(_GuardedReads, ssl.SSLSocket):
    """A TLS socket, made by an `ssl.SSLContext` whose ``sslsocket_class`` it is."""

    def do_handshake(self, *args: Any) -> None:  # gevent's takes no argument
        guard = connecting.guard
        self.suppress_ragged_eofs = False  # an end that nobody has signed may be a cut by anybody on the way
        if guard is not None:
            self.settimeout(guard.remaining())
            guard.attach(partial(shut, self))
        try:
            super().do_handshake(*args)
        except BaseException:
            if guard is not None:
                guard.detach()  # before ssl closes it
            raise
        self.guard = guard  # a proxy's answer to CONNECT is read before the connection is made


def shut(sock: socket.socket) -> None:
    """Wake whoever waits on the socket. From any thread and from a signal handler; never blocks.

    The plain socket's method is called also for TLS: `ssl.SSLSocket.shutdown` takes the state away under the reader.
    """
    with suppress(OSError, ValueError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def let_go(sockets: Iterable[socket.socket]) -> None:
    """Close what an exception has left open, at whatever moment it came.

    A socket may be half made, and while TLS takes one over two objects have the same descriptor, which must be closed
    once: its number may belong to another thread right after.
    """
    closed = set()
    for sock in sockets:
        descriptor = sock.fileno()
        if descriptor in closed:
            socket.SocketType.detach(sock)
        elif descriptor >= 0:
            closed.add(descriptor)
            shut(sock)
            socket.SocketType.close(sock)


def dial(host: str, port: int, guard: Guard) -> GuardedSocket:
    """Connect to the first address that answers; each gets its share of the time that is left.

    Raises OSError, and what `Guard.check` raises. The guard keeps waking the socket until it is told otherwise.
    """
    addresses = _resolve(host, port, guard)
    failure: OSError = OSError(f"{host} has no address")
    for index, address in enumerate(addresses):
        remaining = guard.remaining()
        share = None if remaining is None else remaining / (len(addresses) - index)
        try:
            return _connect(address, share, guard)
        except OSError as error:
            guard.check()
            failure = _placed(error, host, port).with_traceback(None)  # its frames would hold this one: a cycle
    raise failure


def _connect(address: _Address, timeout: float | None, guard: Guard) -> GuardedSocket:
    family, kind, protocol, _, destination = address
    sock = GuardedSocket(family, kind, protocol)
    try:
        _set_options(sock)
        sock.settimeout(timeout)
        guard.attach(partial(shut, sock))
        sock.connect(destination)
        guard.check()
        sock.guard = guard
    except BaseException:
        guard.detach()
        sock.close()
        raise
    return sock


def _set_options(sock: socket.socket) -> None:
    """No delay for small writes, and a dead peer is noticed by the kernel within a minute where it can."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    wanted = {
        "TCP_KEEPIDLE": 30,  # seconds of silence before the first probe
        "TCP_KEEPALIVE": 30,  # the same, as macOS calls it
        "TCP_KEEPINTVL": 10,  # seconds between probes
        "TCP_KEEPCNT": 3,  # probes without an answer before the connection is dead
        "TCP_USER_TIMEOUT": 60_000,  # milliseconds that sent data may stay unacknowledged
    }
    for name, value in wanted.items():
        if hasattr(socket, name):
            with suppress(OSError):  # known to the headers, refused by the kernel
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _resolve(host: str, port: int, guard: Guard) -> list[_Address]:
    """All addresses of a name. A lookup cannot be interrupted: it is left behind on its thread when the wait ends."""
    with suppress(socket.gaierror):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    gate = Gate()
    outcome: list[list[_Address] | Exception] = []

    def look_up() -> None:
        try:
            outcome.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, ValueError) as error:  # ValueError: a name that IDNA refuses
            outcome.append(error)
        finally:
            gate.open()

    _threads.start_thread(look_up, "kwsync-lookup")
    guard.wait(gate)
    if isinstance(outcome[0], Exception):
        raise _placed(outcome[0], host, port) if isinstance(outcome[0], OSError) else outcome[0]
    return outcome[0]


def _placed(error: OSError, host: str, port: int) -> OSError:
    """The same error, saying where."""
    return type(error)(error.errno, f"{error.strerror} ({host} port {port})") if error.errno else error


def _let_go_in_child() -> None:
    """A forked child closes its copies and nothing more: a shutdown would cut the parent's connection."""
    for sock in list(live):
        descriptor = socket.socket.detach(sock)
        if descriptor >= 0:
            with suppress(OSError):
                os.close(descriptor)
    live.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)
