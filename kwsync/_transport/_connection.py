"""One connection: how it is made over sockets that obey a guard, what it is for, and how to let go of it."""

from __future__ import annotations

import http.client
import os
import socket
import threading
from contextlib import suppress
from functools import partial
from typing import Any

import attrs
from urllib3.connection import HTTPConnection, HTTPSConnection

from kwsync._cancel import Guard
from kwsync._transport._endpoint import Endpoint
from kwsync._transport._sockets import Cut, dial, shut
from kwsync.credentials import Certificate

_MOST_INTERIM = 100


class _Response(http.client.HTTPResponse):
    """Passes over all interim answers (RFC 9110, 15.2), where http.client knows only 100 Continue."""

    fp: Any = None  # for its finalizer, should a signal handler raise in the middle of __init__

    def begin(self) -> None:
        super().begin()
        for _ in range(_MOST_INTERIM):
            if not 101 < self.status < 200:
                return
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()
        raise http.client.HTTPException("too many interim answers")


class _Guarded:
    """The one private name of urllib3 in use, as in its own SOCKS support: how a connection gets its socket."""

    host: str
    port: int
    guard: Guard
    debuglevel = 0
    """Whatever ``http.client.HTTPConnection`` says by now: with another, every header would be printed."""

    def _new_conn(self) -> socket.socket:
        return dial(self.host.strip("[]"), self.port, self.guard)


class PlainConnection(_Guarded, HTTPConnection):
    """HTTP."""

    response_class = _Response


class TLSConnection(_Guarded, HTTPSConnection):
    """HTTPS."""

    response_class = _Response


@attrs.frozen
class Route:
    """What a connection is for: where it leads, whom it trusts, and what it proves itself with.

    All three may change while a client lives: the environment may name another proxy (whose password is for it alone),
    and files are rotated.
    """

    endpoint: Endpoint
    authorities: str | None = attrs.field(default=None, repr=False)
    """PEM; None for the system's."""
    certificate: Certificate | None = None


@attrs.frozen
class Turn:
    """Between which two numbers of its client a request has asked its credential: only of turns that do not overlap can
    be told which had the newer certificate."""

    begun: int
    ended: int


class Kept:
    """A connection that lasts longer than one request."""

    def __init__(self, connection: PlainConnection | TLSConnection, route: Route, turn: Turn) -> None:
        self.connection = connection
        self.route = route
        self.turn = turn
        """Of the request that it carries, or carried last."""
        self.socket: Any = connection.sock
        self._pid = os.getpid()
        self._cut: str | None = None
        self._closed = False
        # Re-entrant: a finalizer or a signal handler may close what this very thread is just cutting.
        self._cutting = threading.RLock()

    @property
    def readers(self) -> list[Any]:
        """The sockets that are read: this one, and under TLS inside TLS the one below."""
        sockets = [self.socket, getattr(self.socket, "socket", None)]
        return [sock for sock in sockets if hasattr(sock, "guard")]

    @property
    def is_usable(self) -> bool:
        """Can it carry one more request, as far as one can see?"""
        return (
            self._pid == os.getpid()
            and self._cut is None
            and self.connection.sock is not None
            and self.connection.is_connected
        )

    def obey(self, guard: Guard | None) -> None:
        """From now on the socket waits no longer than *guard* allows, and is woken by it."""
        for sock in self.readers:
            sock.guard = guard
        if guard is not None:
            guard.attach(partial(shut, self.readers[0]))

    def cut(self, reason: str) -> None:
        """End what is under way on it: whoever reads there gets `Cut`, and closes it. From any thread."""
        if self._pid != os.getpid():  # a forked child has no business with the parent's
            return
        with self._cutting:  # what is closed may have its number used again
            if not self._closed:
                self._cut = reason
                for sock in self.readers:
                    sock.cut = reason
                shut(self.readers[0])

    def check(self) -> None:
        """Raise `Cut` where it was cut, whatever else went wrong because of that."""
        if self._cut is not None:
            raise Cut(self._cut) from None

    def close(self) -> None:
        """Shut it as well: a child that was forked meanwhile may hold a copy, and the server should know."""
        if self._pid == os.getpid():
            with self._cutting:
                self._closed = True
            for sock in self.readers:
                shut(sock)
        with suppress(OSError):
            self.socket.close()
        self.connection.close()
