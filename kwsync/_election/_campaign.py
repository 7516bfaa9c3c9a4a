"""The loop of an election: it sends what a `Candidate` says, waits in between, and can be woken out of all of it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from kwsync import _clock
from kwsync._callbacks import ErrorCallback
from kwsync._cancel import CancelToken, Guard, Interrupted, cancelled_by
from kwsync._client import Client
from kwsync._election._candidate import Candidate, Moment, Purpose, Step
from kwsync._election._leading import Work
from kwsync._election._lease import LEASES
from kwsync._enum import StrEnum
from kwsync.errors import CancelledError, ErrorOrigin, WatchError

_chance = random.SystemRandom()  # which forked children do not share


class ElectionEnd(StrEnum):
    """Why `LeaderElector.run`, `LeaderElector.lead` or `LeaderElector.run_controller` has returned."""

    CANCELLED = "CANCELLED"
    """The cancel event was set."""
    LOST = "LOST"
    """The leadership was lost, and the elector does not campaign again (``recampaign=False``)."""
    FINISHED = "FINISHED"
    """The work has ended by itself while it led: what was given to `LeaderElector.lead` has returned, or the work, also
    that of `LeaderElector.run`, has set ``leadership.cancel`` itself."""


class Bell:
    """Wakes the loop out of whatever it waits in. Ringing is safe in a signal handler.

    The loop resets it first and looks for reasons then, so that none is missed.
    """

    def __init__(self) -> None:
        self.token = CancelToken()
        """Set when it rings; requests and waits end with it."""
        self.is_cancelled = False

    def ring(self) -> None:
        """Wake it."""
        self.token.set()

    def cancel(self) -> None:
        """Wake it, and let it see that it was cancelled; once, however often it is told."""
        if not self.is_cancelled:
            self.is_cancelled = True
            self.ring()

    def reset(self) -> None:
        """From now on it may ring again."""
        self.token = CancelToken()


@contextmanager
def listening(*cancels: threading.Event | None) -> Iterator[Bell]:
    """A bell that is cancelled when one of the events is set."""
    bell = Bell()
    with ExitStack() as stack:
        for cancel in cancels:
            guard = Guard()
            try:
                stack.enter_context(cancelled_by(guard, cancel))
                guard.attach(bell.cancel)
            except Interrupted:
                bell.cancel()
        yield bell


class Campaign:
    """One run of an elector, on one thread: winning, holding, letting the work end, giving back."""

    def __init__(
        self,
        candidate: Candidate,
        client: Client,
        bell: Bell,
        report: ErrorCallback,
        tell_leader: Callable[[str], None],
    ) -> None:
        self._candidate = candidate
        self._client = client
        self._bell = bell
        self._report = report
        self._tell_leader = tell_leader
        self._told = ""
        self._retry_after = 0.0

    def win(self) -> bool:
        """Campaign until it leads; False when it was cancelled."""
        while True:
            self._bell.reset()
            if self._bell.is_cancelled:
                return False
            self._round()
            if self._leads() and not self._bell.is_cancelled:
                return True
            self._wait(self._pause())

    def hold(self, work: Work) -> ElectionEnd:
        """Renew until there is a reason not to."""
        while True:
            self._bell.reset()
            is_over = work.is_over
            if is_over and not work.has_outlasted:
                return ElectionEnd.FINISHED
            if self._bell.is_cancelled:
                return ElectionEnd.CANCELLED
            if is_over or not work.leadership.is_valid():
                self._candidate.give_up()
                return ElectionEnd.LOST
            if not self._wait(self._pause()):
                self._round()

    def let_end(self, work: Work, seconds: float) -> bool:
        """Tell the work to end and wait for it, *seconds* at most; if it still leads, it renews meanwhile."""
        work.tell_to_end()
        limit = _clock.monotonic() + seconds
        while True:
            self._bell.reset()
            left = limit - _clock.monotonic()
            if work.is_over or left <= 0:
                return work.is_over
            if not self._leads():
                self._wait(left)
            elif not self._wait(min(self._pause(), left)):
                self._round(limit)

    def wait_over(self, work: Work) -> bool:
        """Wait until the work is over; False when cancelled."""
        while True:
            self._bell.reset()
            if work.is_over or self._bell.is_cancelled:
                return work.is_over
            self._bell.token.wait()

    def resign(self) -> None:
        """Give the Lease back if it may be ours; this takes the renew deadline at most (B160)."""
        candidate = self._candidate
        candidate.resign()
        end = _clock.monotonic() + candidate.rules.renew_deadline
        while candidate.claimed is not None and _clock.monotonic() < end:
            self._bell.reset()
            self._round(end)
            if candidate.claimed is not None:
                self._wait(min(candidate.rules.retry_period, end - _clock.monotonic()))

    def _leads(self) -> bool:
        return self._candidate.leads(_clock.monotonic())

    def _pause(self) -> float:
        return self._candidate.pause(_clock.monotonic(), _chance.random(), self._retry_after)

    def _wait(self, seconds: float) -> bool:
        """True when it was woken."""
        return self._bell.token.wait(seconds)

    def _round(self, end: float | None = None) -> None:
        """Look, decide and write, until it is done, fails, is woken, or *end* has come."""
        self._retry_after = 0.0
        step: Step | None = self._candidate.begin(_moment())
        while step is not None and not self._bell.token.is_set():
            seconds = self._seconds_for_request(end)
            if seconds <= 0:
                break
            step = self._next(step, seconds)
        if self._candidate.leader != self._told:
            self._told = self._candidate.leader
            self._tell_leader(self._told)

    def _seconds_for_request(self, end: float | None) -> float:
        """None outlasts the term: whoever leads has to learn in time that it does no more."""
        now, term = _clock.monotonic(), self._candidate.term
        ends = [now + self._candidate.rules.request_timeout]
        if end is not None:
            ends.append(end)
        if term is not None:
            ends.append(term.until)
        return min(ends) - now

    def _next(self, step: Step, seconds: float) -> Step | None:
        try:
            document = self._send(step, seconds)
        except WatchError as error:
            self._note(step, error)
            code = error.status_code if error.origin is ErrorOrigin.HTTP else 0
            return self._candidate.failed(step, code, _moment())
        return self._candidate.answered(step, document, _moment())

    def _send(self, step: Step, seconds: float) -> dict[str, Any]:
        rules, token = self._candidate.rules, self._bell.token
        if step.document is None:
            return self._client.get(LEASES, rules.name, rules.namespace, timeout=seconds, cancel=token)
        write = self._client.create if step.is_new else self._client.replace
        return write(LEASES, step.document, rules.namespace, timeout=seconds, cancel=token)

    def _note(self, step: Step, error: WatchError) -> None:
        """Report trouble; that another was faster is none, nor that there is no Lease yet."""
        self._retry_after = error.retry_after or 0.0
        is_missing = error.status_code == 404 and step.purpose is Purpose.LOOK
        if not (isinstance(error, CancelledError) or error.status_code == 409 or is_missing):
            self._report(error)


def _moment() -> Moment:
    return Moment(_clock.monotonic(), _clock.wall())
