"""The workers of a controller through all its runs: who may begin one, what ends it, and what is left after a fork."""

from __future__ import annotations

import os
import weakref
from typing import Any, Generic

from kwsync import _clock
from kwsync._queue import WorkQueue
from kwsync._worker import Reconcile, Worker
from kwsync._working import ControllerRun, Failures, Feed, T
from kwsync.ratelimit import RateLimiter

_crews: weakref.WeakSet[Crew[Any]] = weakref.WeakSet()
"""So that a forked child can let go of their threads."""


class Crew(Generic[T]):
    """So many workers, and the run that they are in, were in, or will begin."""

    def __init__(
        self,
        name: str,
        reconcile: Reconcile[T],
        count: int,
        queue: WorkQueue[T] | None,
        limiter: RateLimiter | None,
        failures: Failures,
    ) -> None:
        self._name = name
        self._given_queue = queue
        self._limiter = limiter
        self._failures = failures
        self.feeds: list[Feed] = []
        threads = [f"kwsync-controller-{name}-{number}" for number in range(1, count + 1)]
        self.workers = [Worker(thread, reconcile, failures) for thread in threads]
        self.run = self._new_run()
        _crews.add(self)

    @property
    def keys(self) -> list[T]:
        """Those in the hands of workers."""
        return [key for worker in self.workers for key in worker.keys.copy()]

    @property
    def alive(self) -> int:
        """How many work, or wait for work, in this process."""
        return sum(worker.thread.is_alive for worker in self.workers)

    def is_own_thread(self) -> bool:
        """Is this called on a worker's thread?"""
        return any(worker.thread.is_current() for worker in self.workers)

    def is_healthy(self) -> bool:
        """Do all work, with all caches filled and all informers healthy?"""
        run = self.run
        works = run.ready.is_set() and not run.stopping.is_set() and run.is_ours
        return works and self.alive == len(self.workers) and all(feed.informer.healthy() for feed in self.feeds)

    def begin(self, run: ControllerRun[T], sync_timeout: float | None) -> None:
        """Begin a run that was taken; where that fails, nothing is left of it."""
        try:
            for feed in self.feeds:
                run.watch(feed, self._failures)
            first, *others = self.workers
            first.start(run, lambda: run.wait_for_caches(sync_timeout))
            for worker in others:
                worker.start(run)
        except BaseException:
            run.end()
            for worker in self.workers:
                if not worker.thread.is_alive:
                    run.leave(worker)
            raise

    def join(self, run: ControllerRun[T], timeout: float | None) -> bool:
        """Wait until nothing of the run runs any more.

        Where this thread has in its hands what a worker may need to end, since this is a handler or a finalizer that
        came over it there, nothing is waited for.
        """
        end = _clock.deadline(0.0 if run.queue.is_used_here() else timeout)
        if not all([worker.thread.join(_clock.seconds_left(end)) for worker in self.workers]):  # noqa: C419 - each is asked
            return False
        if run.stopping.is_set():
            run.finish()  # where it was stopped in the middle of its start, nobody has done it yet
        return run.join(end)

    def _new_run(self) -> ControllerRun[T]:
        return ControllerRun(self._given_queue if self._given_queue is not None else self._new_queue(), self.workers)

    def _new_queue(self) -> WorkQueue[T]:
        return WorkQueue(self._limiter, name=self._name)

    def take_run(self) -> ControllerRun[T]:
        """A run that nobody has begun; RuntimeError where it is not the time for one."""
        run = self.run
        if run.has_begun:
            self._check_restart(run)
            run = self.run = run.following(self._new_run())
        if not run.take():
            raise RuntimeError("this Controller is being started already")
        return run

    def _check_restart(self, run: ControllerRun[T]) -> None:
        if not run.is_ours:
            raise RuntimeError("this Controller was started before a fork: make a new one in the child")
        if self.alive or not run.has_ended:
            ending = f"is still ending, busy with {self.keys}: join() it first"
            raise RuntimeError(f"this Controller {ending if run.has_ended else 'runs already'}")
        if self._given_queue is not None and self._given_queue.is_shut_down:
            raise RuntimeError("the queue that this Controller was given is shut down: make a new Controller")

    def abandon(self) -> None:
        """In a forked child, where nobody works. What was to be begun may be begun here, with the keys that wait."""
        for worker in self.workers:
            worker.thread.abandon()
            worker.keys.clear()
        if self.run.has_begun:
            self.run.abandon(self._new_queue())
        elif self._given_queue is None:
            self.run.queue.renew()


def _forget_after_fork() -> None:
    for crew in list(_crews):
        crew.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
