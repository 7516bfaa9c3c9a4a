"""A proof that has to be fetched and lasts for a while: kept, renewed early, and fetched by one thread at a time."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

import attrs

from kwsync import _clock
from kwsync._cancel import Gate
from kwsync._single import SingleThread
from kwsync.credentials._protocol import AuthContext, Authorization, CredentialError

LEEWAY_SECONDS = 10.0
"""So long before its expiry a proof is not used any more: clocks differ, and a request takes its time."""

INTERVAL_SECONDS = 10.0
"""Between the beginnings of two fetches, whatever goes wrong: many watches that fail must not become many fetches."""

_log = logging.getLogger("kwsync.credentials")


@attrs.frozen
class Issued:
    """What a fetch has given."""

    authorization: Authorization
    expires_at: float | None = None
    """Seconds since 1970; None where it is good until the server refuses it."""


class Cached:
    """A credential out of a function that may take its time: a program, a token endpoint, a vault.

    Args:
        fetch: gives a new `Issued`, or raises `CredentialError`, whose text people will read. It runs on a daemon
            thread of its own, one at a time; nobody can interrupt it, but who waits for it can be cancelled at once.
        name: what it is called in errors, logs and the thread's name.
        early: seconds before the expiry at which a new one is fetched beside the requests, which go on with the old.
        interval: seconds from the beginning of one fetch to the next at the earliest.

    From `LEEWAY_SECONDS` before its expiry on, and after a 401, requests wait for a new proof, all of them for the same
    fetch; an old one that has not been refused is used as long as it is valid and there is no new one. A failure is
    told to all that waited, and to all that ask within the *interval*; then it is tried again. A proof that comes out
    expired is used nevertheless for the *interval*, since it may be this machine's clock that is wrong.
    """

    def __init__(
        self, fetch: Callable[[], Issued], *, name: str, early: float = 0.0, interval: float = INTERVAL_SECONDS
    ) -> None:
        self._fetch = fetch
        self._name = name
        self._early = early
        self._interval = interval
        self._held: Issued | None = None
        self._failure: str | None = None
        self._begun: float | None = None
        self._landings = 0
        self._gates: dict[int, Gate] = {}
        self._thread = SingleThread(f"kwsync-credential-{name}", self._wake)
        self._pid = os.getpid()

    def __repr__(self) -> str:
        return f"<Cached {self._name}>"

    def authorize(self, context: AuthContext) -> Authorization:
        """The kept proof, or after waiting a new one."""
        self._leave_parent()
        held, now = self._held, _clock.wall()
        if held is not None and not _ends_within(held, LEEWAY_SECONDS, now):
            if _ends_within(held, LEEWAY_SECONDS + self._early, now) and self._may_fetch():
                self._renew_beside()
            return held.authorization
        if self._may_fetch() or self._thread.is_alive:
            self._wait(context)
        return self._newest()

    def refresh(self, rejected: Authorization) -> bool:
        """Drop the kept proof if it is the rejected one, and not fetched a moment ago."""
        held = self._held
        if held is None or not _is_part(held.authorization, rejected):
            return True  # another thread has seen to it
        if not self._may_fetch():
            return False
        self._held = None
        return True

    def held(self) -> Issued | None:
        """What is kept at the moment, without fetching."""
        return self._held

    def _newest(self) -> Authorization:
        held, failure = self._held, self._failure
        if held is not None and (failure is None or not _ends_within(held, 0.0, _clock.wall())):
            return held.authorization
        raise CredentialError(failure or f"{self._name} gave no credential")

    def _may_fetch(self) -> bool:
        return self._begun is None or _clock.monotonic() - self._begun >= self._interval

    def _renew_beside(self) -> None:
        try:
            self._thread.start(self._run)
        except OSError as error:  # no thread to be had: the proof is still good
            _log.warning("%s cannot be renewed now: %s", self._name, error)

    def _wait(self, context: AuthContext) -> None:
        """Until a fetch has ended after now, whoever began it."""
        gate = Gate()
        self._gates[id(gate)] = gate
        try:
            seen = self._landings
            while self._landings == seen:
                self._thread.start(self._run)  # False where one runs: its end opens the gate as well
                context.wait(gate)
        finally:
            self._gates.pop(id(gate), None)

    def _run(self) -> None:
        self._begun = _clock.monotonic()
        try:
            self._held, self._failure = self._fetch(), None
        except CredentialError as error:
            self._fail(str(error))
        except BaseException as error:  # noqa: BLE001 - it may be the user's own code; its text may hold a secret
            self._fail(f"{self._name} failed with {type(error).__name__}")
        finally:
            self._landings += 1

    def _fail(self, message: str) -> None:
        self._failure = message
        _log.warning("no new credential: %s", message)

    def _wake(self) -> None:
        for gate in self._gates.copy().values():
            gate.open()

    def _leave_parent(self) -> None:
        """In a forked child: the thread was not forked along, nor were those who wait for it."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._thread.abandon()
            self._gates = {}


def _ends_within(issued: Issued, seconds: float, now: float) -> bool:
    return issued.expires_at is not None and issued.expires_at - now <= seconds


def _is_part(authorization: Authorization, whole: Authorization) -> bool:
    """Does *whole*, which may be several proofs in one, hold this one?"""
    same_headers = all(whole.headers.get(name) == value for name, value in authorization.headers.items())
    return same_headers and authorization.certificate in (None, whole.certificate)
