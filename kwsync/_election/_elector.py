"""One leader among several processes, elected on a Lease."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from kwsync import _clock
from kwsync._callbacks import ErrorCallback
from kwsync._cancel import check_cancel
from kwsync._client import Client, default_client, session_of
from kwsync._election._announce import Announcer
from kwsync._election._campaign import ElectionEnd, listening
from kwsync._election._candidate import Candidate
from kwsync._election._leading import Block, Leadership, WorkFunction
from kwsync._election._lease import STOP_SECONDS, Rules
from kwsync._election._running import Claim, Run


class Runnable(Protocol):
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

    There are four forms, of which one runs at a time. Each gives a `Leadership`, which says when to end:

    ================  ==========================================  ========================================  ===========
    form              take it when                                it ends, beside by its cancel event       after a loss
    ================  ==========================================  ========================================  ===========
    `lead`            a function is the work: it goes on until    FINISHED when the function returns        again
                      its ``cancel`` is set, then returns
    `run_controller`  a `Controller` is the work                  FINISHED when the controller is stopped   again
                                                                  by others
    `run`             the work is elsewhere, begun and ended by   FINISHED when ``leadership.cancel`` is    again
                      callbacks, or asks `is_leader`              set by the work itself
    `leading`         the work is a few lines, once               with the ``with`` block                   not again
    ================  ==========================================  ========================================  ===========

    All but `leading` return an `ElectionEnd`: CANCELLED when the cancel event is set, whether it has led or not, and
    with ``recampaign=False`` LOST after a loss. Work that returns because it sees that it has lost (`is_valid` False)
    counts as lost, not as finished. What the work raises ends each of them, which raises it, too; of `leading` that is
    the block's own exception.

    **What is promised.** At no moment two `is_leader` (nor two `Leadership.is_valid`), if the clocks of their machines
    run at one rate (what they show does not matter; a machine that sleeps stops its clock). The belief to lead ends
    *renew_deadline* seconds after the last successful renewal was *sent*; others wait until they have seen no change
    for *lease_duration*, a longer time. The Lease is given back only after the work has ended. A leader that dies is
    replaced within *lease_duration* and 2.2 times *retry_period* of its last renewal, and the time of a request.

    **What is not.** Work that asked, was stopped (SIGSTOP, a paused machine, a long garbage collection), and goes on
    later does not know yet that another leads. Only the receiver of its writes can refuse them, by
    `Leadership.fencing`: an election alone is no fencing. Who deletes the Lease lets a candidate that has not seen it
    begin at once, with the token 0, below those before: release it instead.

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
            an empty one when the Lease was given back, or deleted. The last call may come after `run` has returned.
        on_error: called, on whatever thread, with a `WatchError` for each failed request (it goes on trying), and with
            origin CALLBACK for what a callback raised; without it, errors are logged.
        release_on_stop: give the Lease back at the end of `run`, `lead` or `leading`, so that another leads at once.
        recampaign: `run` and `lead` campaign again after a loss, once the work has ended.
        stop_timeout: seconds that the work may take to end after a cancellation, in which the Lease is renewed. After a
            loss there are no more than ``lease_duration - renew_deadline``. Work that does not end in time is an
            error; its Lease is not given back. (`leading` waits for its block, however long that takes.)

    **Ctrl-C**, and whatever a signal handler raises, ends a run in good order and passes through. Where a second one
    strikes this end, or the first the last line of it, the work is told to end all the same, nothing is renewed any
    more, and the Lease may have to run out.

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
        if client is not None and not isinstance(client, Client):
            raise TypeError(f"client must be a kwsync.Client, not {type(client).__name__}")
        self._client = client
        self._rules = Rules(
            namespace=namespace,
            name=name,
            identity=identity,
            lease_duration=lease_duration,
            renew_deadline=renew_deadline,
            retry_period=retry_period,
            labels=labels,
            release_on_stop=release_on_stop,
            recampaign=recampaign,
            stop_timeout=stop_timeout,
        )
        told = {"on_stopped": on_stopped, "on_new_leader": on_new_leader, "on_error": on_error}
        self._announcer = Announcer(name, {"on_started": on_started, **told})
        self._on_started: WorkFunction = on_started or _nothing
        self._candidate = Candidate(self._rules)
        self._claims: dict[str, object] = {}
        self._last: Run | None = None
        _electors.add(self)

    # Leading

    def run(self, cancel: threading.Event | None = None) -> ElectionEnd:
        """Campaign, lead, and campaign again, until *cancel* is set; says why it has returned.

        After a cancellation it returns when the work has ended, *stop_timeout* at most, and the Lease was given back,
        which takes *renew_deadline* at most. Ctrl-C ends it in the same way. It raises what *on_started* raised;
        RuntimeError when it runs already, or the work of an earlier run still does; ConfigError without a client.
        """
        return self._elect(self._new_run(self._on_started, stays=True), cancel)

    def lead(self, work: WorkFunction, cancel: threading.Event | None = None) -> ElectionEnd:
        """As `run`, with *work* in place of *on_started*; when it returns while it leads, that is the end (FINISHED).

        So *work* has to go on until ``leadership.cancel`` is set, and to return only when all that it has begun has
        ended. After a loss it is called again with the next leadership; also after it has returned by itself when
        `Leadership.is_valid` was False.
        """
        if not callable(work):
            raise TypeError(f"work must be callable, not {type(work).__name__}")
        return self._elect(self._new_run(work), cancel)

    def run_controller(
        self, make: Callable[[Leadership], Runnable], cancel: threading.Event | None = None
    ) -> ElectionEnd:
        """`lead` with a `Controller`, which *make* gives for each term: a new one, or the same again.

        *make* is called with the `Leadership` of the term, so that *reconcile* can ask ``is_valid()`` before it writes,
        and send ``fencing`` along. It is called on the thread of the work.

        It gives the Lease back when the controller's last call of *reconcile* has ended. Its informers are started with
        it; to have their caches filled before it leads, start them yourself.
        """
        return self.lead(lambda leadership: make(leadership).run(leadership.cancel, deadline=None), cancel)

    @contextmanager
    def leading(self, cancel: threading.Event | None = None) -> Iterator[Leadership]:
        """Wait until it leads, and lead for the length of a ``with`` block, which gets the `Leadership`.

        The block is the work: it has to end when ``leadership.cancel`` is set. Its end gives the Lease back, and waits
        for *on_stopped*. There is no second campaign after a loss. `CancelledError` when *cancel* is set before it
        leads.
        """
        check_cancel(cancel)

        def elect(work: WorkFunction, left: threading.Event) -> None:
            run = self._new_run(work, again=False)
            try:
                self._elect(run, cancel, left)
            finally:
                run.join()  # after a loss the block goes on for as long as it likes

        block = Block(elect, f"kwsync-election-{self._rules.name}")
        try:
            yield block.enter()
        finally:
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
        if self._last is None or self._last.is_over:
            return True
        return _clock.monotonic() <= self._candidate.renewed + self._rules.lease_duration + tolerance

    def __repr__(self) -> str:
        rules = self._rules
        state = "leads" if self.is_leader() else f"led by {self.leader!r}" if self.leader else "no leader known"
        return f"<LeaderElector {rules.namespace}/{rules.name} {rules.identity!r}: {state}>"

    # One run

    def _new_run(self, function: WorkFunction, *, stays: bool = False, again: bool = True) -> Run:
        again = again and self._rules.recampaign
        return Run(self._candidate, self._announcer, function, stays=stays, again=again)

    def _elect(self, run: Run, *cancels: threading.Event | None) -> ElectionEnd:
        for cancel in cancels:
            check_cancel(cancel)
        claim = Claim(self._claims)
        try:
            if not claim.take():
                raise RuntimeError("this LeaderElector runs already")
            if self._last is not None and not self._last.is_over:
                raise RuntimeError("the leading work of an earlier run has not ended yet")
            self._last = run
            claim.cover(run)
            with self._own_client() as client, listening(*cancels) as bell:
                return run.elect(client, bell)
        finally:
            claim.leave()

    def _own_client(self) -> Client:
        """Nobody else's requests hold up a renewal (B164)."""
        given = self._client or default_client()
        return Client(given.cluster, session_of(given).credential)

    def _abandon(self) -> None:
        if self._last is not None:
            self._last.give_up()
        self._last = None
        self._claims = {}
        self._candidate = Candidate(self._rules)
        self._announcer.abandon()


def _nothing(leadership: Leadership) -> None:
    """In place of a callback."""


def _forget_after_fork() -> None:
    for elector in list(_electors):
        elector._abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
