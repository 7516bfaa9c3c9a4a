"""The connections of one transport: which wait for a request, which carry a watch, and which are out of date."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from contextlib import suppress

import attrs

from kwsync._transport._connection import Route, _Kept
from kwsync._transport._endpoint import Endpoint
from kwsync.credentials import Certificate

IDLE_CONNECTIONS = 8
"""Connections kept for the next request."""

REPLACED = "the client certificate has been replaced, and the connection made with the old one was closed"


@attrs.frozen
class _Numbered:
    number: int
    certificate: Certificate | None


class Connections:
    """For any number of threads, without a lock: by single operations alone, which CPython makes atomic.

    Client certificates are numbered in the order in which requests begin to use them. Once the server has answered on a
    connection made with a newer one, those made with another are not used any more: idle ones are closed, and watches
    are cut, since they would go on for an hour as somebody who may not exist any more (client-go closes all of them,
    ``transport/cert_rotation.go``). What is no watch ends soon by itself. A certificate that the server refuses changes
    nothing, nor does the first one. When the authorities change, idle connections are closed and watches stay.
    """

    def __init__(self) -> None:
        self.closed = False
        self._idle: deque[_Kept] = deque()
        self._watches: dict[int, weakref.ref[_Kept]] = {}
        self._authorities: str | None = None
        self._counter = itertools.count(1)
        self._newest = _Numbered(0, None)
        self._accepted = _Numbered(0, None)
        weakref.finalize(self, _close_all, self._idle)  # a client that is dropped, or lives until the process ends

    def number(self, certificate: Certificate | None) -> int:
        """Of the certificate that a request is about to use."""
        newest = self._newest
        if newest.certificate != certificate or not newest.number:
            self._newest = newest = _Numbered(next(self._counter), certificate)
        return newest.number

    def take(self, route: Route, number: int) -> _Kept | None:
        """One that waits for such a request; None where there is none."""
        self._authorities = route.authorities
        for _ in range(len(self._idle)):
            with suppress(IndexError):  # another thread was quicker
                kept = self._idle.pop()
                if kept.route == route and kept.is_usable:
                    kept.number = number
                    return kept
                self._put_back(kept, route.endpoint)
        return None

    def keep(self, kept: _Kept) -> None:
        """Take back one whose answer has been read to its end."""
        kept.obey(None)
        if kept.connection.sock is None or len(self._idle) >= IDLE_CONNECTIONS:
            kept.close()
        else:
            self._idle.append(kept)
        # Looked at last, since another thread may do something about the idle ones meanwhile.
        if self._is_outdated(kept):
            self._sort_out()
        if self.closed:
            _close_all(self._idle)

    def begin_watch(self, kept: _Kept) -> None:
        """It is about to carry a watch; raises `Cut` where its certificate has been replaced while it connected."""
        self._watches[id(kept)] = weakref.ref(kept)
        if self._is_old(kept):
            kept.cut(REPLACED)
        kept.check()

    def end_watch(self, kept: _Kept) -> None:
        """It carries none any more, if it ever did."""
        self._watches.pop(id(kept), None)

    def accepted(self, kept: _Kept) -> None:
        """The server has answered on it, and has not refused its certificate."""
        if kept.number <= self._accepted.number:
            return
        self._accepted = _Numbered(kept.number, kept.route.certificate)
        self._sort_out()
        for key, reference in self._watches.copy().items():
            other = reference()
            if other is None:
                self._watches.pop(key, None)
            elif self._is_old(other):
                other.cut(REPLACED)

    def close(self) -> None:
        """Close the idle ones; what is in use closes when its answer ends."""
        self.closed = True
        _close_all(self._idle)

    def _is_old(self, kept: _Kept) -> bool:
        accepted = self._accepted
        return kept.number < accepted.number and kept.route.certificate != accepted.certificate

    def _is_outdated(self, kept: _Kept) -> bool:
        return self._is_old(kept) or kept.route.authorities != self._authorities

    def _sort_out(self) -> None:
        """Close the idle ones that no request will take."""
        for _ in range(len(self._idle)):
            with suppress(IndexError):
                kept = self._idle.pop()
                self._put_back(kept, kept.route.endpoint)

    def _put_back(self, kept: _Kept, endpoint: Endpoint) -> None:
        """Below the others, unless no request will take it."""
        if kept.is_usable and kept.route.endpoint == endpoint and not self._is_outdated(kept):
            self._idle.appendleft(kept)
        else:
            kept.close()
        if self.closed:  # looked at last, since another thread may close the client meanwhile
            _close_all(self._idle)


def _close_all(idle: deque[_Kept]) -> None:
    while idle:
        with suppress(IndexError):  # another thread took the last
            idle.pop().close()
