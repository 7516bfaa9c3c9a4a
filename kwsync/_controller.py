"""Informers that fill a queue with keys, and workers that make the world so as each key wants it."""

from __future__ import annotations

import logging
import threading
from types import TracebackType
from typing import Generic

from kwsync._cancel import CancelToken, check_cancel
from kwsync._crew import Crew
from kwsync._informer import EXIT_SECONDS, Informer
from kwsync._outcome import checked_seconds
from kwsync._queue import WorkQueue
from kwsync._worker import ControllerMetrics, Reconcile, metrics_of
from kwsync._working import FailureCallback, Failures, Feed, T
from kwsync.mapping import Mapper, Predicate
from kwsync.ratelimit import RateLimiter

log = logging.getLogger("kwsync.controller")

GRACE_SECONDS = 30.0
"""How long `Controller.stop` waits for running work, as controller-runtime's manager does."""

SYNC_SECONDS = 120.0
"""How long the caches may take to be filled, as in controller-runtime."""


class Controller(Generic[T]):
    """Calls *reconcile* for the key of whatever has changed, again and again until it succeeds.

        pods = kwsync.Informer("pods")

        def reconcile(key):
            pod = pods.store.get(key)  # None where it is gone
            ...

        controller = kwsync.Controller(reconcile, workers=2)
        controller.watch(pods)
        controller.run(cancel)

    *reconcile* gets a key and not an event: it looks what there is, and does what is missing. It has to bear being
    called once too often, and sees two changes in short order as one. Of one key there is one call at a time. The first
    call comes when all caches are filled, and then each key there is comes once.

    What it returns or raises says what comes next:

    - None: all is well.
    - `Requeue` ``(after=seconds)``: all is well; call again then, if nothing else calls sooner.
    - raising `RetryAfter` ``(seconds)``: it failed; call again in exactly so many seconds.
    - raising `TerminalError`: it failed, and is called again only when there is a further event.
    - raising anything else, even SystemExit: it failed; call again, the more often the later, as the rate limiter says.

    What fails is told to *on_error*, once each time. Returning anything else counts as a terminal error.

    Its threads (``kwsync-controller-NAME-N``) are daemons that wait for work and are woken by nothing else. A call that
    hangs is not ended by force, as no thread can be: give ``cancel=controller.stopping`` to the calls of a client, and
    see `ControllerMetrics.longest_running`.

    Args:
        reconcile: called with a key on one of the controller's threads.
        workers: how many threads there are, and so how many calls at a time.
        queue: the queue to use. The controller shuts it down when it ends, and so can be started once only. None: a new
            one for each start.
        rate_limiter: of the queue that it makes, see `WorkQueue`.
        name: for the names of threads and for the log; None for that of *reconcile*.
        on_error: gets the key and the exception as it was raised, on the thread where that happened: a worker's, where
            it is called before the key can come again. For what a mapper or predicate raised, on the thread of the
            informer's handler, and for caches that are not filled, the key is None. Without it, errors are logged.
        sync_timeout: seconds in which the caches have to be filled after a start, else the controller ends, with a
            `WatchError` that names the informer and its last error. None: it waits for ever.

    **Informers** that do not run are started by `start`, and stopped at the end. One that others read too had better be
    started by you (see `SharedInformers`).

    **Restarts.** After `stop` or `join` has returned True, `start` may be called again.

    **Forks.** In a forked child nothing runs, and `start` raises. One that had not been started may be started there,
    with the keys that were enqueued before the fork; a *queue* that it was given is better made in the child.
    """

    def __init__(
        self,
        reconcile: Reconcile[T],
        *,
        workers: int = 1,
        queue: WorkQueue[T] | None = None,
        rate_limiter: RateLimiter | None = None,
        name: str | None = None,
        on_error: FailureCallback | None = None,
        sync_timeout: float | None = SYNC_SECONDS,
    ) -> None:
        if not callable(reconcile):
            raise TypeError(f"reconcile must be callable, not {type(reconcile).__name__}")
        if isinstance(workers, bool) or not isinstance(workers, int):
            raise TypeError(f"workers must be a whole number, not {workers!r}")
        if workers < 1:
            raise ValueError(f"workers must be 1 or more, not {workers}")
        if queue is not None and not isinstance(queue, WorkQueue):
            raise TypeError(f"queue must be a kwsync.WorkQueue, not {type(queue).__name__}")
        if queue is not None and rate_limiter is not None:
            raise ValueError("a queue has its rate limiter: give one of the two")
        self._name = getattr(reconcile, "__name__", "controller") if name is None else name
        self._sync_timeout = None if sync_timeout is None else checked_seconds(sync_timeout, "sync_timeout")
        failures = Failures(f"controller {self._name}", on_error)
        self._crew: Crew[T] = Crew(self._name, reconcile, workers, queue, rate_limiter, failures)

    def __repr__(self) -> str:
        now = self.metrics
        state = "running" if now.workers else "not running"
        return f"<Controller {self._name!r} {state}: {now.running} in work, {now.queue.depth} waiting>"

    # What there is to do

    def watch(self, informer: Informer, *, map: Mapper | None = None, when: Predicate | None = None) -> None:  # noqa: A002
        """Work on what changes in the objects of *informer*; to be called before `start` (RuntimeError after it).

        *map* gives the keys of an event, None for the object's own; *when* says whether the event counts. Both are
        called on the thread of a handler of the informer; see `kwsync.mapping`, which has the usual ones. They get
        every event that an informer's handler gets, so a deletion nobody saw (``final_state_unknown``) too, and for an
        object that was made anew under its name a DELETED and an ADDED. *map* is asked about the state of the event and
        about the one before. What either raises is told to *on_error*: the keys of an event whose *map* raised are
        lost, while a *when* that raised counts as true.
        """
        feed = Feed.checked(informer, map, when)
        if self.is_alive():
            raise RuntimeError("a Controller that runs takes no further informers: watch() comes before start()")
        self._crew.feeds.append(feed)

    def enqueue(self, key: T, *, after: float = 0.0) -> None:
        """Work on this key, now or *after* some seconds, whether or not anything has changed. For any thread.

        Before the first `start` it waits for that; after a `stop` nothing happens until there is another. TypeError
        and ValueError for *after* as for that of `Requeue`.
        """
        seconds = checked_seconds(after, "after")
        if seconds > 0:
            self.queue.add_after(key, seconds)
        else:
            self.queue.add(key)  # which is no retry

    @property
    def queue(self) -> WorkQueue[T]:
        """The queue of the present run."""
        return self._crew.run.queue

    # Life

    def start(self) -> None:
        """Start the informers that do not run, then the workers, and return at once.

        RuntimeError while it runs, and in a child of the process that started it; what `Informer.start` raises.
        """
        self._crew.begin(self._crew.take_run(), self._sync_timeout)

    def run(self, cancel: threading.Event | None = None, *, deadline: float | None = GRACE_SECONDS) -> bool:
        """`start`, wait until *cancel* is set or another ends it, then `stop` within *deadline* seconds.

        The result is that of `stop`. It raises the `WatchError` for which the controller ended by itself. Ctrl-C, and
        whatever a signal handler raises, passes through after the `stop`; a second one ends that, too.
        """
        check_cancel(cancel)
        if cancel is not None and cancel.is_set():
            return True
        run, ended = None, False
        try:
            run = self._crew.take_run()
            self._crew.begin(run, self._sync_timeout)
            run.wait(cancel)
        finally:
            if run is not None:
                ended = self.stop(deadline)
        if run.failure is not None:
            raise run.failure
        return ended

    def stop(self, deadline: float | None = GRACE_SECONDS) -> bool:
        """Take up no new work, and wait for what is running, at most *deadline* seconds (None: for ever; 0 is no wait).

        True when nothing of it runs any more. False when something does: see `running`; it may be called again. What
        waits in the queue is dropped, and comes again with a `start` as all that there is does.

        It sets `stopping` first of all. From any thread, a signal handler, or in a callback. It does not wait inside of
        *reconcile*, where it is False, nor in a signal handler that runs in the middle of this thread's `enqueue` or
        another call of the queue, which the workers may have to wait for: False if any of them has not ended yet.
        Before a start it does nothing.
        """
        run = self._crew.run
        if not run.has_begun or not run.is_ours:
            return True
        run.end()
        return not self._crew.is_own_thread() and self._crew.join(run, deadline)

    def join(self, timeout: float | None = None) -> bool:
        """Wait, at most *timeout* seconds, until nothing of it runs any more, after a `stop` or an end by itself.

        True when that is so. RuntimeError inside of *reconcile*, which would wait for itself.
        """
        if self._crew.is_own_thread():
            raise RuntimeError("a worker cannot wait for its own end")
        run = self._crew.run
        return not run.has_begun or not run.is_ours or self._crew.join(run, timeout)

    def __enter__(self) -> Controller[T]:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self.stop(EXIT_SECONDS) and not self._crew.is_own_thread():
            log.warning("controller %s: still busy %s s after stop(), with %s", self._name, EXIT_SECONDS, self.running)

    # How it is

    @property
    def stopping(self) -> CancelToken:
        """Is set when the controller is to end; for ``cancel=`` and ``wait`` in *reconcile*. Each start has its own.

        A `CancelledError` out of *reconcile* while it is set counts as no error.
        """
        return self._crew.run.stopping

    @property
    def running(self) -> list[T]:
        """The keys in the hands of workers at this moment."""
        return self._crew.keys

    def wait_synced(self, timeout: float | None = None) -> bool:
        """Wait until all caches are filled, so that work begins. False after *timeout* seconds, and when it ends."""
        run = self._crew.run
        return run.has_begun and run.is_ours and run.ready.wait(timeout) and not run.stopping.is_set()

    def is_alive(self) -> bool:
        """Does a worker run in this process?"""
        return self._crew.alive > 0

    def healthy(self) -> bool:
        """Does it work (all workers, all caches filled, all informers healthy)? For a probe."""
        return self._crew.is_healthy()

    @property
    def metrics(self) -> ControllerMetrics:
        """What it has done and is doing, as plain numbers."""
        return metrics_of(self._crew.workers, self.queue.metrics)
