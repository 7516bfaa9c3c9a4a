"""A worker of a controller: a thread that takes one key after another; and what all of them have done, in numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic

import attrs

from kwsync._outcome import Outcome, Requeue, of_error, of_result
from kwsync._queue import ShutDown
from kwsync._single import SingleThread
from kwsync._working import ControllerRun, Failures, T
from kwsync._worklist import QueueMetrics
from kwsync.errors import CancelledError

Reconcile = Callable[[T], "Requeue | None"]

SECONDS_WITHOUT_LIMITER = 60.0
"""When a key comes again whose rate limiter has raised."""


@attrs.define
class Tally:
    """What one worker has done; nobody else writes it, so that it needs no lock."""

    reconciles: int = 0
    requeues: int = 0
    errors: int = 0
    terminal_errors: int = 0

    def count(self, outcome: Outcome) -> None:
        """One more."""
        self.reconciles += 1
        self.requeues += outcome.error is None and outcome.comes_again
        self.errors += outcome.error is not None
        self.terminal_errors += outcome.error is not None and not outcome.comes_again


@attrs.frozen(kw_only=True)
class ControllerMetrics:
    """What a controller has done since it was made, and is doing.

    Attributes:
        workers: threads that work or wait for work; 0 when it does not run.
        running: keys in the hands of a worker.
        reconciles: calls of ``reconcile`` that have ended.
        successes: those that returned.
        requeues: those that returned a `Requeue`, which are successes too.
        errors: those that raised.
        retries: errors after which the key comes again by itself.
        terminal_errors: errors after which it does not.
        longest_running: seconds for which the longest of the present calls has been running; it grows while one hangs.
        queue: the numbers of the queue, which begin anew with each start.
    """

    workers: int
    running: int
    reconciles: int
    successes: int
    requeues: int
    errors: int
    retries: int
    terminal_errors: int
    longest_running: float
    queue: QueueMetrics


def metrics_of(workers: Sequence[Worker[Any]], queue: QueueMetrics) -> ControllerMetrics:
    """The numbers of all of them."""
    tallies = [worker.tally for worker in workers]
    errors = sum(each.errors for each in tallies)
    terminal = sum(each.terminal_errors for each in tallies)
    reconciles = sum(each.reconciles for each in tallies)
    return ControllerMetrics(
        workers=sum(worker.thread.is_alive for worker in workers),
        running=sum(len(worker.keys) for worker in workers),
        reconciles=reconciles,
        successes=reconciles - errors,
        requeues=sum(each.requeues for each in tallies),
        errors=errors,
        retries=errors - terminal,
        terminal_errors=terminal,
        longest_running=queue.longest_running,
        queue=queue,
    )


class Worker(Generic[T]):
    """One thread, through all runs of its controller."""

    def __init__(self, name: str, reconcile: Reconcile[T], failures: Failures) -> None:
        self.thread = SingleThread(name)
        self.tally = Tally()
        self.keys: list[T] = []
        """The key that it has, or none."""
        self._reconcile = reconcile
        self._failures = failures

    def start(self, run: ControllerRun[T], prepare: Callable[[], None] = lambda: None) -> None:
        """Call *prepare* on the thread, then work until the run is stopping."""
        self.thread.start(lambda: self._work(run, prepare))

    def _work(self, run: ControllerRun[T], prepare: Callable[[], None]) -> None:
        try:
            self._prepare(run, prepare)
            run.ready.wait()
            with suppress(ShutDown):
                while not run.stopping.is_set():
                    self._take_one(run)
        finally:
            run.leave(self)

    def _prepare(self, run: ControllerRun[T], prepare: Callable[[], None]) -> None:
        try:
            prepare()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the others must not wait for ever
            self._failures(None, error)
            run.fail(error)

    def _take_one(self, run: ControllerRun[T]) -> None:
        try:
            with run.queue.processing() as key:
                if not run.stopping.is_set():
                    self._handle(run, key)
        except ShutDown:
            raise
        except BaseException as raised:  # noqa: BLE001 - say, the user has called done(): the worker lives on
            self._failures(None, raised)

    def _handle(self, run: ControllerRun[T], key: T) -> None:
        self.keys.append(key)
        try:
            outcome = self._outcome(run, key)
            if outcome is not None:
                self.tally.count(outcome)
                self._settle(run, key, outcome)
                if outcome.error is not None:
                    self._failures(key, outcome.error)
        finally:
            self.keys.clear()

    def _outcome(self, run: ControllerRun[T], key: T) -> Outcome | None:
        """None for a call that `ControllerRun.stopping` has cancelled: that is no failure, and nothing comes again."""
        try:
            return of_result(self._reconcile(key))
        except BaseException as raised:  # noqa: BLE001 - SystemExit, too: only stop() ends a worker
            if isinstance(raised, CancelledError) and run.stopping.is_set():
                return None
            return of_error(raised)

    def _settle(self, run: ControllerRun[T], key: T, outcome: Outcome) -> None:
        """Forget the key's failures, or let it come again. What a limiter of the user's raises loses no key."""
        queue: Any = run.queue
        try:
            if outcome.is_well:
                queue.forget(key)
            if outcome.after is not None:
                queue.add_after(key, outcome.after, replace=outcome.exactly)
            if outcome.limited:
                queue.add_rate_limited(key)
        except BaseException as raised:  # noqa: BLE001 - as above
            self._failures(key, raised)
            queue.add_after(key, SECONDS_WITHOUT_LIMITER)
