"""The connections of one transport: which wait for a request, which carry a watch, and which are out of date."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from contextlib import suppress

import attrs

from kwsync._transport._connection import Kept, Route, Turn
from kwsync._transport._endpoint import Endpoint
from kwsync.credentials import Certificate

IDLE_CONNECTIONS = 8
"""Connections kept for the next request."""

REPLACED = "the client certificate has been replaced, and the connection made with the old one was closed"


@attrs.frozen
class _Accepted:
    begun: int
    """When the request began to ask for it, see `Turn`."""
    certificate: Certificate | None


class Connections:
    """For any number of threads, without a lock: by single operations alone, which CPython makes atomic.

    Once the server has answered on a connection made with a newer client certificate, those made with another are not
    used any more: idle ones are closed, and watches are cut, since they would go on for an hour as somebody who may not
    exist any more (client-go closes all of them, ``transport/cert_rotation.go``). What is no watch ends soon by itself.
    Newer is what the credential gave in a later turn; where two overlap nobody knows, and the next accepted request
    decides. A certificate that the server refuses changes nothing, nor does the first one. When the authorities change,
    idle connections are closed and watches stay.
    """

    def __init__(self) -> None:
        self.closed = False
        self._idle: deque[Kept] = deque()
        self._watches: dict[int, weakref.ref[Kept]] = {}
        self._authorities: str | None = None
        self._counter = itertools.count(1)
        self._accepted = _Accepted(0, None)
        self._is_mixed = False
        """May there be one with another certificate than the accepted one, but none that is surely older?"""
        weakref.finalize(self, _close_all, self._idle)  # a client that is dropped, or lives until the process ends

    def next_number(self) -> int:
        """For a `Turn`."""
        return next(self._counter)

    def take(self, route: Route, turn: Turn) -> Kept | None:
        """One that waits for such a request; None where there is none."""
        self._authorities = route.authorities
        for _ in range(len(self._idle)):
            with suppress(IndexError):  # another thread was quicker
                kept = self._idle.pop()
                if kept.route == route and kept.is_usable:
                    kept.turn = turn
                    return kept
                self._put_back(kept, route.endpoint)
        return None

    def keep(self, kept: Kept) -> None:
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

    def begin_watch(self, kept: Kept) -> None:
        """It is about to carry a watch; raises `Cut` where its certificate has been replaced while it connected."""
        self._watches[id(kept)] = weakref.ref(kept)
        self._cut_if_old(kept)
        kept.check()

    def end_watch(self, kept: Kept) -> None:
        """It carries none any more, if it ever did."""
        self._watches.pop(id(kept), None)

    def accepted(self, kept: Kept) -> None:
        """The server has answered on it, and has not refused its certificate."""
        before, begun, certificate = self._accepted, kept.turn.begun, kept.route.certificate
        if begun <= before.begun:
            return
        self._accepted = _Accepted(begun, certificate)
        if certificate == before.certificate and not self._is_mixed:
            return
        self._is_mixed = False  # before looking, since another thread may begin a watch meanwhile
        self._sort_out()
        for key, reference in self._watches.copy().items():
            other = reference()
            if other is None:
                self._watches.pop(key, None)
            else:
                self._cut_if_old(other)

    def close(self) -> None:
        """Close the idle ones; what is in use closes when its answer ends."""
        self.closed = True
        _close_all(self._idle)

    def _cut_if_old(self, kept: Kept) -> None:
        if self._is_old(kept):
            kept.cut(REPLACED)

    def _is_old(self, kept: Kept) -> bool:
        accepted = self._accepted
        if kept.route.certificate == accepted.certificate:
            return False
        if kept.turn.ended < accepted.begun:
            return True
        self._is_mixed = True
        return False

    def _is_outdated(self, kept: Kept) -> bool:
        return self._is_old(kept) or kept.route.authorities != self._authorities

    def _sort_out(self) -> None:
        """Close the idle ones that no request will take."""
        for _ in range(len(self._idle)):
            with suppress(IndexError):
                kept = self._idle.pop()
                self._put_back(kept, kept.route.endpoint)

    def _put_back(self, kept: Kept, endpoint: Endpoint) -> None:
        """Below the others, unless no request will take it."""
        if kept.is_usable and kept.route.endpoint == endpoint and not self._is_outdated(kept):
            self._idle.appendleft(kept)
        else:
            kept.close()
        if self.closed:  # looked at last, since another thread may close the client meanwhile
            _close_all(self._idle)


def _close_all(idle: deque[Kept]) -> None:
    while idle:
        with suppress(IndexError):  # another thread took the last
            idle.pop().close()
