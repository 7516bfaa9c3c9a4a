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
from kwsync.credentials._fetching import Fetch, in_words, is_part, is_time_to_renew
from kwsync.credentials._fields import check_kind, check_seconds
from kwsync.credentials._protocol import AuthContext, Authorization, CredentialError

LEEWAY_SECONDS = 10.0
"""So long before its expiry a proof is not used any more: clocks differ, and a request takes its time."""

INTERVAL_SECONDS = 10.0
"""Between the beginnings of two fetches, whatever goes wrong: many watches that fail must not become many fetches."""

PATIENCE_SECONDS = 120.0
"""For one fetch; then whoever waits for it is told."""

SPARE_SECONDS = 1.0
"""So long a request waits for a new proof while the old one is still valid."""

TELL_SECONDS = 10.0
"""After that the log says what is being waited for."""

_log = logging.getLogger("kwsync.credentials")


def _moment(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"expires_at must be seconds since 1970, not {type(value).__name__}")
    if not abs(value) < 1e18:  # nor NaN, with which nothing would ever expire
        raise ValueError("expires_at must be seconds since 1970")
    return float(value)


@attrs.frozen
class Issued:
    """What a fetch has given: the proof, and when it ends, in seconds since 1970 (None: when the server refuses it).

    TypeError and ValueError for what is no `Authorization` and no time.
    """

    authorization: Authorization = attrs.field(validator=attrs.validators.instance_of(Authorization))
    expires_at: float | None = attrs.field(default=None, converter=_moment)
    """Seconds since 1970; None where it is good until the server refuses it."""


class Cached:
    """A credential out of a function that may take its time: a program, a token endpoint, a vault.

    Args:
        fetch: gives a new `Issued`, or raises `CredentialError`, whose text people will read (of anything else they
            get the class and the line, since its text may hold a secret). It runs on a daemon thread of its own, one at
            a time; nobody can interrupt it, but who waits for it can be cancelled at once.
        name: what it is called in errors, logs and the thread's name.
        early: seconds before the expiry at which a new one is fetched beside the requests, which go on with the old;
            see `is_time_to_renew`.
        interval: seconds from the beginning of one fetch to the next at the earliest.
        patience: seconds from the beginning of a fetch, after which whoever waits for it, or comes later, is told by a
            `CredentialError` that there is no answer. None for no bound, as a fetch needs that asks a person. Whatever
            it is, the fetch goes on, what it gives is used when it comes, and no other begins before that.

    From 10 seconds before its expiry on (`LEEWAY_SECONDS`), and after a 401, requests wait for a new proof, all of them
    for the same fetch. An old one that has not been refused is used as long as it is valid and there is no new one,
    which is then waited for one second at the most. A failure is told to all that waited, and to all that ask within
    the *interval*; then it is tried again. A proof that comes out expired is used nevertheless for the *interval*,
    since it may be this machine's clock that is wrong. Of a fetch that has kept somebody waiting for 10 seconds the log
    tells once. TypeError and ValueError for bad arguments.

    No lock is taken, and nobody who waits depends on a thread that has not begun to run: a signal handler may ask in
    the middle of another request's asking. A forked child has what was kept, and fetches by itself.
    """

    def __init__(
        self,
        fetch: Callable[[], Issued],
        *,
        name: str,
        early: float = 0.0,
        interval: float = INTERVAL_SECONDS,
        patience: float | None = PATIENCE_SECONDS,
    ) -> None:
        if not callable(fetch):
            raise TypeError(f"fetch must be a function, not {type(fetch).__name__}")
        check_kind(name, str, "name must be text")
        self._fetch = fetch
        self._name = name
        self._early = check_seconds(early, "early", zero=True)
        self._interval = check_seconds(interval, "interval", zero=True)
        self._patience = None if patience is None else check_seconds(patience, "patience")
        self._held: Issued | None = None
        self._refused: Issued | None = None
        """Apart from the kept one, so that marking an old one can never strike a new one that comes meanwhile."""
        self._failure: str | None = None
        self._begun: float | None = None
        self._landings = 0
        """Fetches that have ended. Who reads it before it looks at what is kept, knows whether that is still true."""
        self._running: dict[str, Fetch] = {}
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
            if self._may_renew(held, now):
                self._begin(seen)  # where no thread is to be had, the proof is still good
            return held.authorization
        if self._may_fetch() or self._running:
            is_spare = held is not None and not _ends_within(held, SPARE_SECONDS, now)
            self._wait(context, seen, SPARE_SECONDS if is_spare else None)
        return self._newest()

    def refresh(self, rejected: Authorization) -> bool:
        """Drop the kept proof if it is the rejected one, and not fetched a moment ago."""
        held = self.held()
        if held is None or not is_part(held.authorization, rejected):
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
        return self.described_as(self._name)

    def described_as(self, kind: str, source: str = "") -> CredentialDescription:
        """The same in the words of a credential that is made of this one."""
        failure, held = self._problem(), self.held()
        found = described(Authorization() if held is None else held.authorization, kind, source)
        if held is not None and held.expires_at is not None:
            found = attrs.evolve(found, expires_at=held.expires_at)
        return found if _is_of_use(held, failure) else attrs.evolve(found, problem=failure)

    def _newest(self) -> Authorization:
        failure, held = self._problem(), self.held()
        if held is not None and _is_of_use(held, failure):
            return held.authorization
        raise CredentialError(failure or f"{self._name} gave no credential")

    def _problem(self) -> str | None:
        return self._overdue() or self._failure

    def _overdue(self) -> str | None:
        """What to tell of a fetch that does not end."""
        running = self._running.get("fetch")
        if running is None or self._patience is None or running.age < self._patience:
            return None
        return f"{self._name} has not answered for {running.age:.0f} s"

    def _since(self) -> float | None:
        """Seconds since the beginning of the last fetch."""
        return None if self._begun is None else _clock.monotonic() - self._begun

    def _may_fetch(self) -> bool:
        since = self._since()
        return since is None or since >= self._interval

    def _may_renew(self, held: Issued, now: float) -> bool:
        if held.expires_at is None:
            return False
        return is_time_to_renew(held.expires_at - LEEWAY_SECONDS - now, self._since(), self._early, self._interval)

    def _wait(self, context: AuthContext, seen: int, limit: float | None) -> None:
        """Until a fetch has ended after *seen*, whoever began it, none can be begun, or patience is at its end; at most
        *limit* seconds."""
        gate, end = Gate(), _clock.deadline(limit)
        self._gates[id(gate)] = gate
        try:
            while self._landings == seen and not self._overdue() and self._begin(seen):
                left = _clock.seconds_left(end)
                if left == 0:
                    break
                context.wait(gate, min((each for each in (left, self._until_news()) if each is not None), default=None))
                self._tell_once()
        finally:
            self._gates.pop(id(gate), None)

    def _until_news(self) -> float | None:
        """Seconds until there is something to tell of the fetch, although it has not ended."""
        running = self._running.get("fetch")
        age = 0.0 if running is None else running.age
        left = [moment - age for moment in (TELL_SECONDS, self._patience) if moment is not None and moment > age]
        return min(left, default=None)

    def _tell_once(self) -> None:
        running = self._running.get("fetch")
        if running is not None and running.age >= TELL_SECONDS and running.may_tell():
            with suppress(Exception):  # a handler of the user's logging
                _log.warning("still waiting for %s", self._name)

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
        failure, mine = None, Fetch(_clock.monotonic())
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
            failure = in_words(self._name, error)
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


def _is_of_use(held: Issued | None, failure: str | None) -> bool:
    """Can it still be used? When nothing has failed, also if it seems to have expired."""
    return held is not None and (failure is None or not _ends_within(held, 0.0, _clock.wall()))


def _ends_within(issued: Issued, seconds: float, now: float) -> bool:
    return issued.expires_at is not None and issued.expires_at - now <= seconds
