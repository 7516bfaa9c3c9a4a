"""A proof that has to be fetched and lasts for a while: kept, renewed early, and fetched by one thread at a time."""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import attrs

from kwsync import _clock, _threads
from kwsync._cancel import Gate
from kwsync.credentials._describe import CredentialDescription, described
from kwsync.credentials._protocol import AuthContext, Authorization, CredentialError

LEEWAY_SECONDS = 10.0
"""So long before its expiry a proof is not used any more: clocks differ, and a request takes its time."""

INTERVAL_SECONDS = 10.0
"""Between the beginnings of two fetches, whatever goes wrong: many watches that fail must not become many fetches."""

_log = logging.getLogger("kwsync.credentials")


@attrs.frozen
class Issued:
    """What a fetch has given. TypeError for anything else than an `Authorization`."""

    authorization: Authorization = attrs.field(validator=attrs.validators.instance_of(Authorization))
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

    No lock is taken, and nobody who waits depends on a thread that has not begun to run: a signal handler may ask in
    the middle of another request's asking. A forked child has what was kept, and fetches by itself.
    """

    def __init__(
        self, fetch: Callable[[], Issued], *, name: str, early: float = 0.0, interval: float = INTERVAL_SECONDS
    ) -> None:
        self._fetch = fetch
        self._name = name
        self._early = early
        self._interval = interval
        self._held: Issued | None = None
        self._refused: Issued | None = None
        """Apart from the kept one, so that marking an old one can never strike a new one that comes meanwhile."""
        self._failure: str | None = None
        self._begun: float | None = None
        self._landings = 0
        """Fetches that have ended. Who reads it before it looks at what is kept, knows whether that is still true."""
        self._running: dict[str, object] = {}
        """Has an entry while a fetch runs; filled by the thread itself, and by one, since setdefault is atomic."""
        self._gates: dict[int, Gate] = {}
        _living.add(self)

    def __repr__(self) -> str:
        return f"<Cached {self._name}>"

    def authorize(self, context: AuthContext) -> Authorization:
        """The kept proof, or after waiting a new one."""
        seen = self._landings
        held, now = self.held(), _clock.wall()
        if held is not None and not _ends_within(held, LEEWAY_SECONDS, now):
            if _ends_within(held, LEEWAY_SECONDS + self._early, now) and self._may_fetch():
                self._begin(seen)  # where no thread is to be had, the proof is still good
            return held.authorization
        if self._may_fetch() or self._running:
            self._wait(context, seen)
        return self._newest()

    def refresh(self, rejected: Authorization) -> bool:
        """Drop the kept proof if it is the rejected one, and not fetched a moment ago."""
        held = self.held()
        if held is None or not _is_part(held.authorization, rejected):
            return True  # another thread has seen to it
        if not (self._may_fetch() or self._running):
            return False
        self._refused = held
        return True

    def held(self) -> Issued | None:
        """What is kept at the moment and has not been refused, without fetching."""
        held = self._held
        return None if held is self._refused else held

    def describe(self) -> CredentialDescription:
        """What is kept, or why there is nothing; nothing is fetched."""
        held = self.held()
        if held is None:
            return CredentialDescription(kind=self._name, problem=self._failure)
        found = described(held.authorization, self._name)
        return found if held.expires_at is None else attrs.evolve(found, expires_at=held.expires_at)

    def _newest(self) -> Authorization:
        failure, held = self._failure, self.held()
        if held is not None and (failure is None or not _ends_within(held, 0.0, _clock.wall())):
            return held.authorization
        raise CredentialError(failure or f"{self._name} gave no credential")

    def _may_fetch(self) -> bool:
        return self._begun is None or _clock.monotonic() - self._begun >= self._interval

    def _wait(self, context: AuthContext, seen: int) -> None:
        """Until a fetch has ended after *seen*, whoever began it, or none can be begun."""
        gate = Gate()
        self._gates[id(gate)] = gate
        try:
            while self._landings == seen and self._begin(seen):
                context.wait(gate)
        finally:
            self._gates.pop(id(gate), None)

    def _begin(self, seen: int) -> bool:
        """Start a thread unless one fetches. Several may start one: they agree when they run which of them fetches."""
        if self._running:
            return True
        try:
            _threads.start_thread(partial(self._run, seen), f"kwsync-credential-{self._name}")
        except OSError as error:
            self._failure = f"{self._name} cannot be asked: {error.strerror}"
            return False
        return True

    def _run(self, seen: int) -> None:
        failure, mine = None, object()
        if self._running.setdefault("fetch", mine) is not mine:
            return  # the end of the other opens the gates
        try:
            if self._landings == seen:
                failure = self._land()
        finally:
            self._running.pop("fetch", None)
            self._wake()
        if failure is not None:  # told when nobody waits any more: who does may hold a lock of the logging's
            with suppress(Exception):  # a handler of the user's logging
                _log.warning("no new credential: %s", failure)

    def _land(self) -> str | None:
        """Fetch once, whatever comes of it; the failure in words."""
        failure: str | None = None
        self._begun = _clock.monotonic()
        try:
            issued = self._fetch()
            if not isinstance(issued, Issued):
                raise TypeError("a fetch gives an Issued")
            self._held = issued
        except BaseException as error:  # noqa: BLE001 - it may be the user's own code
            failure = _in_words(self._name, error)
        self._failure = failure
        self._landings += 1
        return failure

    def _wake(self) -> None:
        for gate in self._gates.copy().values():
            gate.open()

    def _leave_parent(self) -> None:
        """In a forked child: the thread was not forked along, nor were those who wait for it."""
        self._running = {}
        self._gates = {}
        self._begun = None


_living: weakref.WeakSet[Cached] = weakref.WeakSet()


def _forget_after_fork() -> None:
    for cached in list(_living):
        cached._leave_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def _in_words(name: str, error: BaseException) -> str:
    """The text of another exception than ours may hold a secret."""
    if isinstance(error, CredentialError):
        try:
            return str(error)
        except Exception:  # noqa: BLE001, S110 - a user's own kind of it
            pass
    return f"{name} failed with {type(error).__name__}"


def _ends_within(issued: Issued, seconds: float, now: float) -> bool:
    return issued.expires_at is not None and issued.expires_at - now <= seconds


def _is_part(authorization: Authorization, whole: Authorization) -> bool:
    """Does *whole*, which may be several proofs in one, hold this one?"""
    same_headers = all(whole.headers.get(name) == value for name, value in authorization.headers.items())
    return same_headers and authorization.certificate in (None, whole.certificate)
