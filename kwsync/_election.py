"""One leader among several processes, elected on a Lease."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from kwsync import _clock
from kwsync._announce import Announcer
from kwsync._callbacks import ErrorCallback
from kwsync._campaign import Bell, Campaign, ElectionEnd, listening
from kwsync._cancel import check_cancel
from kwsync._candidate import Candidate
from kwsync._client import Client, default_client, session_of
from kwsync._lease import Rules
from kwsync._term import Block, Leadership, Work, WorkFunction
from kwsync.errors import ErrorOrigin, local_error

STOP_SECONDS = 20.0
"""Kubernetes gives a pod 30 s to end, unless it is told otherwise."""


class _Runnable(Protocol):
    """What is needed of a controller."""

    def run(self, cancel: threading.Event, *, deadline: float | None) -> bool:
        """Work until *cancel* is set, and return when nothing of it runs any more."""
        ...


_electors: weakref.WeakSet[LeaderElector] = weakref.WeakSet()
"""So that a forked child can let go of what its parent leads."""


class LeaderElector:
    """Elects one leader among the processes that name the same Lease, and lets it work.

        elector = LeaderElector(client, namespace="default", name="janitor", identity=f"{hostname}_{uuid.uuid4()}")
        elector.lead(work, cancel)

    `run` calls *on_started* whenever it leads, `lead` runs one function while it leads, `run_controller` a controller,
    and `leading` is a ``with`` block. One of them at a time; each gives a `Leadership`, which says when to end.

    **What is promised.** At no moment two `is_leader` (nor two `Leadership.is_valid`), if the clocks of their machines
    run at one rate (what they show does not matter; a machine that sleeps stops its clock). The belief to lead ends
    *renew_deadline* seconds after the last successful renewal was *sent*; others wait until they have seen no change
    for *lease_duration*, a longer time. The Lease is given back only after the work has ended. A leader that dies is
    replaced within *lease_duration* and 2.2 times *retry_period* of its last renewal, and the time of a request.

    **What is not.** Work that asked, was stopped (SIGSTOP, a paused machine, a long garbage collection), and goes on
    later does not know yet that another leads. Only the receiver of its writes can refuse them, by
    `Leadership.fencing`: an election alone is no fencing. Who deletes the Lease lets a candidate that has not seen it
    begin at once, with the token 0: release it instead.

    Args:
        client: whose cluster and credential are used, with connections of its own; None for the process's own client.
        namespace: of the Lease.
        name: of the Lease; it is created where there is none. Rights needed: get, create and update on leases.
        identity: who leads; it must be unique to the process, so add something random. Who finds its own identity in
            the Lease leads at once, as client-go does.
        lease_duration: whole seconds after which others may take over.
        renew_deadline: seconds without a successful renewal after which the leader gives up.
        retry_period: seconds between renewals; candidates look after 1 to 2.2 times as many. The defaults are those of
            Kubernetes' own components. ValueError unless lease_duration > renew_deadline > 1.2 * retry_period.
        labels: are merged into those of the Lease.
        on_started: called by `run` with a `Leadership`, on a thread of its own. When it returns, this one leads on;
            when it raises, the Lease is given back and `run` raises the same.
        on_stopped: called at the end of each campaign, also one without success, with True if it had led. After a term
            it is called on the thread of the work when that has ended, and the Lease is renewed meanwhile: what it
            ends is part of the work. If the work does not end in time it is called nevertheless, on the thread of
            `run`; and so it is where it never led.
        on_new_leader: called on a thread of its own with the identity of each new leader, itself included, in order;
            an empty one when the Lease was given back.
        on_error: called, on whatever thread, with a `WatchError` for each failed request (it goes on trying), and with
            origin CALLBACK for what a callback raised; without it, errors are logged.
        release_on_stop: give the Lease back at the end of `run`, `lead` or `leading`, so that another leads at once.
        recampaign: `run` and `lead` campaign again after a loss, once the work has ended.
        stop_timeout: seconds that the work may take to end after a cancellation, in which the Lease is renewed. After a
            loss there are no more than ``lease_duration - renew_deadline``. Work that does not end in time is an
            error; its Lease is not given back.

    **Forks.** A forked child does not lead; it may run an election of its own, under another identity.
    """

    def __init__(
        self,
        client: Client | None = None,
        *,
        namespace: str,
        name: str,
        identity: str,
        lease_duration: int = 15,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        labels: Mapping[str, str] | None = None,
        on_started: Callable[[Leadership], object] | None = None,
        on_stopped: Callable[[bool], object] | None = None,
        on_new_leader: Callable[[str], object] | None = None,
        on_error: ErrorCallback | None = None,
        release_on_stop: bool = True,
        recampaign: bool = True,
        stop_timeout: float = STOP_SECONDS,
    ) -> None:
        self._rules = Rules(
            namespace=namespace,
            name=name,
            identity=identity,
            lease_duration=lease_duration,
            renew_deadline=renew_deadline,
            retry_period=retry_period,
            labels=dict(labels or {}),
        )
        if client is not None and not isinstance(client, Client):
            raise TypeError(f"client must be a kwsync.Client, not {type(client).__name__}")
        if not stop_timeout >= 0:
            raise ValueError(f"stop_timeout must be 0 or more seconds, not {stop_timeout!r}")
        told = {"on_stopped": on_stopped, "on_new_leader": on_new_leader, "on_error": on_error}
        self._announcer = Announcer(name, {"on_started": on_started, **told})
        self._on_started: WorkFunction = on_started or _nothing
        self._client = client
        self._release_on_stop = release_on_stop
        self._recampaign = recampaign
        self._stop_timeout = stop_timeout
        self._candidate = Candidate(self._rules)
        self._work: Work | None = None
        self._runs: dict[str, object] = {}
        _electors.add(self)

    # Leading

    def run(self, cancel: threading.Event | None = None) -> ElectionEnd:
        """Campaign, lead, and campaign again, until *cancel* is set; says why it has returned.

        After a cancellation it returns when the work has ended, *stop_timeout* at most, and the Lease was given back,
        which takes *renew_deadline* at most. Ctrl-C ends it in the same way. It raises what *on_started* raised;
        RuntimeError when it runs already, or the work of an earlier run still does; ConfigError without a client.
        """
        return self._run(self._on_started, cancel, stays=True, again=self._recampaign)

    def lead(self, work: WorkFunction, cancel: threading.Event | None = None) -> ElectionEnd:
        """As `run`, with *work* in place of *on_started*; when it returns by itself, that is the end (FINISHED).

        So *work* has to go on until ``leadership.cancel`` is set, and to return only when all that it has begun has
        ended. After a loss it is called again with the next leadership.
        """
        if not callable(work):
            raise TypeError(f"work must be callable, not {type(work).__name__}")
        return self._run(work, cancel, stays=False, again=self._recampaign)

    def run_controller(self, make: Callable[[], _Runnable], cancel: threading.Event | None = None) -> ElectionEnd:
        """`lead` with a `Controller`, which *make* gives for each term: a new one, or the same again.

        It gives the Lease back when the controller's last call of *reconcile* has ended. Its informers are started with
        it; to have their caches filled before it leads, start them yourself.
        """
        return self.lead(lambda leadership: make().run(leadership.cancel, deadline=None), cancel)

    @contextmanager
    def leading(self, cancel: threading.Event | None = None) -> Iterator[Leadership]:
        """Wait until it leads, and lead for the length of a ``with`` block, which gets the `Leadership`.

        The block is the work: it has to end when ``leadership.cancel`` is set. Its end gives the Lease back. There is
        no second campaign after a loss. `CancelledError` when *cancel* is set before it leads.
        """
        check_cancel(cancel)

        def elect(work: WorkFunction, left: threading.Event) -> ElectionEnd:
            return self._run(work, cancel, left, stays=False, again=False)

        block = Block(elect, f"kwsync-election-{self._rules.name}")
        try:
            yield block.enter()
        except BaseException:
            block.leave()
            raise
        block.leave()
        block.raise_error()

    # How it is

    def is_leader(self) -> bool:
        """Does this process lead now, by the clock? No request is made; for any thread, and False in a forked child."""
        return self._candidate.leads(_clock.monotonic())

    @property
    def leader(self) -> str:
        """The identity that held the Lease when it was last looked at; empty if none, and before `run`."""
        return self._candidate.leader

    def healthy(self, tolerance: float = 0.0) -> bool:
        """For a liveness probe: False only when it leads, or its work has not ended, and the last renewal is older than
        *lease_duration* + *tolerance* seconds. Then the process is stuck, and better restarted (B163).
        """
        work = self._work
        if work is None or work.is_over:
            return True
        return _clock.monotonic() <= self._candidate.renewed + self._rules.lease_duration + tolerance

    def __repr__(self) -> str:
        rules = self._rules
        state = "leads" if self.is_leader() else f"led by {self.leader!r}" if self.leader else "no leader known"
        return f"<LeaderElector {rules.namespace}/{rules.name} {rules.identity!r}: {state}>"

    # One run

    def _run(self, function: WorkFunction, *cancels: threading.Event | None, stays: bool, again: bool) -> ElectionEnd:
        for cancel in cancels:
            check_cancel(cancel)
        with self._alone(), self._own_client() as client, listening(*cancels) as bell:
            candidate = self._candidate
            candidate.stand()
            campaign = Campaign(candidate, client, bell, self._announcer.report, self._announcer.new_leader)
            try:
                while True:
                    end = self._once(campaign, bell, function, stays=stays, again=again)
                    if end is not ElectionEnd.LOST or not again:
                        return end
            finally:
                candidate.give_up()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        me = object()
        if self._runs.setdefault("present", me) is not me:  # atomic: of two callers one is the first
            raise RuntimeError("this LeaderElector runs already")
        try:
            if self._work is not None and not self._work.is_over:
                raise RuntimeError("the leading work of an earlier run has not ended yet")
            yield
        finally:
            self._runs.pop("present", None)

    def _own_client(self) -> Client:
        """Nobody else's requests hold up a renewal (B164)."""
        given = self._client or default_client()
        return Client(given.cluster, session_of(given).credential)

    def _once(self, campaign: Campaign, bell: Bell, function: WorkFunction, *, stays: bool, again: bool) -> ElectionEnd:
        """One campaign, and the term if it is won."""
        won = False
        try:
            won = campaign.win()
        finally:
            if not won:
                self._leave(campaign)
        if not won:
            return ElectionEnd.CANCELLED
        work = self._work = self._new_work(function, bell, stays=stays)
        end = ElectionEnd.CANCELLED  # as it is for Ctrl-C
        try:
            work.start(f"kwsync-leading-{self._rules.name}")
            end = campaign.hold(work)
        finally:
            is_over = self._end_term(campaign, work, end, again=again)
        work.raise_error()
        return end if is_over or not again else ElectionEnd.CANCELLED  # it was, while lost work went on

    def _leave(self, campaign: Campaign) -> None:
        """Campaign no more. A request that was given up may have taken the Lease."""
        self._candidate.give_up()
        self._announcer.stopped(False)
        if self._release_on_stop:
            campaign.resign()

    def _new_work(self, function: WorkFunction, bell: Bell, *, stays: bool) -> Work:
        term = self._candidate.term
        assert term is not None  # it was won, and this thread alone ends it
        leadership = Leadership(term.transitions, holds=self._holds)
        return Work(function, leadership, stays=stays, stopped=lambda: self._announcer.stopped(True), rang=bell.ring)

    def _holds(self, fencing: int) -> bool:
        term = self._candidate.term
        return term is not None and term.transitions == fencing and _clock.monotonic() < term.until

    def _end_term(self, campaign: Campaign, work: Work, end: ElectionEnd, *, again: bool) -> bool:
        """Give back what is held only after the work has ended (B161); has it?"""
        goes_on = again and end is ElectionEnd.LOST
        seconds = self._seconds_to_end(end)
        is_over = campaign.let_end(work, seconds)
        if not is_over:
            self._candidate.give_up()
            message = f"the leading work has not ended in {seconds:g} s, so the Lease is not given back"
            self._announcer.report(local_error(ErrorOrigin.CALLBACK, message))
            work.say_stopped()
            is_over = goes_on and campaign.wait_over(work)
        if is_over and self._release_on_stop and not (goes_on and work.error is None):
            campaign.resign()
        return is_over

    def _seconds_to_end(self, end: ElectionEnd) -> float:
        """After a loss no longer than until another may lead."""
        spare = self._rules.lease_duration - self._rules.renew_deadline
        return min(self._stop_timeout, spare) if end is ElectionEnd.LOST else self._stop_timeout

    def _abandon(self) -> None:
        if self._work is not None:
            self._work.tell_to_end()
        self._work = None
        self._runs = {}
        self._candidate = Candidate(self._rules)
        self._announcer.abandon()


def _nothing(leadership: Leadership) -> None:
    """In place of a callback."""


def _forget_after_fork() -> None:
    for elector in list(_electors):
        elector._abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
