"""A queue of keys for workers, after client-go's: no key twice, no key in two hands, delays, retries, an honest end.

It knows nothing of Kubernetes, of HTTP, or of threads of its own. The rules are those of `_worklist`; this room adds
the lock and the waiting. Each waiting getter has a gate of its own, and whoever has something for it opens one. Time
is kept by the getters, too: one of those who wait, the keeper, does so only until the next delay is over.

`WorkQueue.shut_down` takes no lock at all, so that a signal handler may call it whatever the main thread is doing. The
lock is re-entrant, so that the handler may also add. In all steps a wake-up comes before what it is for: who is
woken finds the lock taken, and looks when the step is done, even if an exception has cut it short.

Who has made another wait for the lock gives way before its next step. Otherwise they pass the lock to and fro for each
single item, as each finds it taken again: one of them has the lock, and the other the interpreter.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from types import TracebackType
from typing import Generic, TypeVar

from kwsync import _clock
from kwsync._cancel import Gate
from kwsync._delays import NEVER
from kwsync._worklist import NothingReady, QueueMetrics, WorkList
from kwsync.errors import KwsyncError
from kwsync.ratelimit import RateLimiter, checked_limiter, default_rate_limiter

T = TypeVar("T", bound=Hashable)
R = TypeVar("R")


class ShutDown(KwsyncError):
    """The work queue was shut down, and nothing waits in it any more: a worker's end."""


class Processing(Generic[T]):
    """One item in the hands of a worker for the length of a ``with`` block; made by `WorkQueue.processing`."""

    __slots__ = ("_items", "_queue", "_timeout")

    def __init__(self, queue: WorkQueue[T], timeout: float | None) -> None:
        self._queue = queue
        self._timeout = timeout
        self._items: list[T] = []

    def __enter__(self) -> T:
        item = self._queue.get(self._timeout)
        self._items.append(item)
        return item

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._queue.done(self._items.pop())


class WorkQueue(Generic[T]):
    """A fair queue of hashable items (keys, mostly) for any number of threads that add and any number that work.

        queue = kwsync.WorkQueue()

        def work():
            with contextlib.suppress(kwsync.ShutDown):
                while True:
                    with queue.processing() as key:
                        reconcile(key)

    An item that waits is not added again. One that is added while a worker has it waits once more after the worker's
    `done`, so no item is ever in two hands, and no change goes unseen. Delayed items wait on one heap and cost no
    thread. `len()` counts what waits, without what is in process or delayed: as with any container, an empty queue is
    false, so ask for ``is None``.

    What makes an item wait, and what ends it:

    ====================  ===========================================================
    `add`                 waits now
    `add_after`           waits later; the earlier of two times counts
    `add_rate_limited`    waits later, the more often the longer, until `forget`
    `forget`              the next failure counts as the first; does not take it out
    `get`, then `done`    in process in between; `forget` is not `done`
    ====================  ===========================================================

    From a signal handler and from a finalizer `shut_down` without drain never blocks. `add` may be called there, too,
    which waits for another thread's lock for microseconds. A handler that raises out of `get`, as Ctrl-C does, may do
    so after an item was taken: then nobody has it and it stays in process, so let handlers shut down in place of
    raising. Make the queue after a fork, in the process that uses it.

    TypeError for arguments of another kind.

    Args:
        rate_limiter: how long `add_rate_limited` delays; see `kwsync.ratelimit`. It is asked without any lock held.
            None: client-go's (5 ms, doubled at each failure of an item up to 1,000 s; all items 10 a second, 100 at
            once).
        name: for `metrics` and ``repr()``.
        clock: gives seconds that never jump back; for tests that set the time. What waits in `get` is woken by real
            time only.
    """

    def __init__(
        self,
        rate_limiter: RateLimiter | None = None,
        *,
        name: str = "",
        clock: Callable[[], float] = _clock.monotonic,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name must be a string, not {type(name).__name__}")
        if not callable(clock):
            raise TypeError(f"clock must be callable, not {type(clock).__name__}")
        self.name = name
        self._clock = clock
        self._given_limiter = None if rate_limiter is None else checked_limiter(rate_limiter)
        self._work: WorkList[T] = WorkList()
        self._closed = False
        self.renew()

    def renew(self) -> None:
        """Strictly private: in a forked child, where nobody else is. What waits stays, whoever had the lock."""
        given = self._given_limiter
        self._limiter = default_rate_limiter(clock=self._clock) if given is None else given
        self._lock = threading.RLock()
        self._waiters: deque[Gate] = deque()
        self._keeper: Gate | None = None
        self._drainers: deque[Gate] = deque()
        self._asking: list[int] = []
        self._turn: list[None] = []
        """Of who has last come to the lock; to be compared by identity alone."""
        self._moment = Gate()

    def __repr__(self) -> str:
        now = self.metrics
        end = ", shut down" if self._closed else ""
        counts = f"{now.depth} waiting, {now.processing} in process, {now.delayed} delayed"
        return f"<WorkQueue {self.name!r}: {counts}{end}>"

    def __len__(self) -> int:
        """How many items wait to be handed out."""
        with self._lock:
            return self._work.depth(self._clock())

    # Adding

    def add(self, item: T) -> None:
        """Let *item* wait, unless it does already; after `shut_down` nothing happens."""
        turn = self._turn = []
        with self._lock:
            if not self._closed:
                if self._waiters or self._keeper is not None:
                    self._wake_for(item)
                self._work.add(item, self._clock())
        if self._turn is not turn:
            self._give_way()

    def add_after(self, item: T, delay: float, *, replace: bool = False) -> None:
        """`add` it in *delay* seconds (0 or less: now). ValueError for a delay without end.

        If it is delayed already, the earlier time counts; with *replace* the new one, also if it is later. Adding the
        item meanwhile does not end the delay: `cancel_delay` does. After `shut_down` nothing happens.
        """
        if not delay < NEVER:
            raise ValueError(f"a delay is a finite number of seconds, not {delay!r}")
        with self._lock:
            if self._closed:
                return
            self._work.count_retry()
            if delay > 0:
                self._delay(item, delay, replace)
                return
            self.add(item)
            if replace:
                self.cancel_delay(item)

    def cancel_delay(self, item: T) -> bool:
        """Take back what `add_after` and `add_rate_limited` said; False if the item was not delayed (any more)."""
        with self._lock:
            return self._work.cancel_delay(item, self._clock())

    def add_rate_limited(self, item: T) -> None:
        """`add_after` as many seconds as the rate limiter says, which counts this as one more failure of the item."""
        if not self._closed:
            self.add_after(item, self._ask(self._limiter.when, item))

    def forget(self, item: T) -> None:
        """Tell the rate limiter that the item is well: its next failure is the first. It is no `done`."""
        self._ask(self._limiter.forget, item)

    def retries(self, item: T) -> int:
        """How often the item was added rate-limited since it was forgotten."""
        return self._ask(self._limiter.retries, item)

    # Working

    def get(self, timeout: float | None = None) -> T:
        """The item that has waited longest; call `done` when it is finished, or use `processing`.

        Waits for one, *timeout* seconds at most; None: for ever. Raises `queue.Empty` when the time is over, and
        `ShutDown` when the queue was shut down and nothing waits in it any more.
        """
        turn = self._turn = []
        try:
            with self._lock:
                item = self._work.take(self._clock())
        except NothingReady:
            pass
        else:
            if self._turn is not turn:
                self._give_way()
            return item
        return self._wait_and_take(_clock.deadline(timeout))

    def done(self, item: T) -> None:
        """The item is finished: if it was added meanwhile, it waits again. ValueError if nobody has it."""
        turn = self._turn = []
        with self._lock:
            if self._waiters or self._keeper is not None:
                self._wake_for_again(item)
            self._work.finish(item, self._clock())
            if self._drainers and self._work.is_idle:
                _open_all(self._drainers)
        if self._turn is not turn:
            self._give_way()

    def processing(self, timeout: float | None = None) -> Processing[T]:
        """`get` an item for the length of a ``with`` block, whose end is its `done`, also by an exception."""
        return Processing(self, timeout)

    # Ending, and asking

    @property
    def is_shut_down(self) -> bool:
        """Has `shut_down` been called?"""
        return self._closed

    def shut_down(self, *, drain: bool = False, timeout: float | None = None) -> bool:
        """Take nothing any more. What waits is still handed out, then every `get` raises `ShutDown`.

        What is delayed is dropped. Without *drain* it returns at once. With it, it waits until all that was taken in
        is done, *timeout* seconds at most (None: for ever, if there is no worker or one never calls `done`), or until
        another `shut_down` without *drain*. True if nothing waits any more and nothing is in process.

        In a signal handler or a finalizer that runs in the middle of a call of this queue, it never waits: who works
        may need what that call holds.
        """
        self._closed = True
        self._work.drop_delays()
        _open_all(self._waiters)
        keeper = self._keeper
        if keeper is not None:
            keeper.open()
        if not drain:
            _open_all(self._drainers)
        elif not self.is_used_here():
            self._wait_until_idle(timeout)
        return self._work.is_idle

    @property
    def metrics(self) -> QueueMetrics:
        """Depth, counts and times as they are now, as plain numbers."""
        with self._lock:
            return self._work.metrics(self.name, self._clock())

    def is_used_here(self) -> bool:
        """Strictly private: is this thread in the middle of a step, or asking the rate limiter?

        That can be so in a signal handler or a finalizer alone. Whoever waits there for those who work would wait for
        ever, as they may need a lock that this thread has.
        """
        return threading.get_ident() in self._asking or _is_owned(self._lock)

    # Waiting

    def _give_way(self) -> None:
        """Let those run who have come to the lock meanwhile: nobody opens this gate."""
        self._moment.wait(1e-6)

    def _ask(self, question: Callable[[T], R], item: T) -> R:
        """What the limiter answers; it may have locks of its own."""
        me = threading.get_ident()
        try:
            self._asking.append(me)
            return question(item)
        finally:
            with suppress(ValueError):  # a handler has raised before it was there
                self._asking.remove(me)

    def _delay(self, item: T, delay: float, replace: bool) -> None:
        now = self._clock()
        if now + delay < self._work.next_due:
            self._wake_keeper()
        self._work.delay(item, now, now + delay, replace=replace)
        if self._closed:  # meanwhile, by a thread that had nothing to drop yet
            self._work.drop_delays()

    def _wait_and_take(self, end: float | None) -> T:
        while True:
            gate = Gate()
            try:
                with self._lock:
                    self._enter(gate)  # first, so that what comes from now on opens it
                    with suppress(NothingReady):
                        return self._work.take(self._clock())
                    if self._closed:
                        raise ShutDown(f"the work queue {self.name!r} was shut down")
                    seconds = self._seconds_to_wait(gate, end)
                gate.wait(seconds)
            finally:
                with self._lock:
                    self._leave(gate)

    def _enter(self, gate: Gate) -> None:
        if self._keeper is None and self._work.next_due < NEVER:
            self._keeper = gate
        else:
            self._waiters.append(gate)

    def _leave(self, gate: Gate) -> None:
        """Nobody waits at the gate any more: what else there is to take, or to keep the time of, is for the next."""
        if self._keeper is gate:
            self._keeper = None
        else:
            with suppress(ValueError):  # who opened it has removed it
                self._waiters.remove(gate)
        if self._work.has_order or (self._keeper is None and self._work.next_due < NEVER):
            self._wake_one()

    def _seconds_to_wait(self, gate: Gate, end: float | None) -> float | None:
        """How long the owner of the gate may wait, None for ever; `queue.Empty` when it is the end."""
        left = _clock.seconds_left(end)
        if left is not None and left <= 0:
            raise queue.Empty
        if self._keeper is not gate or self._work.next_due >= NEVER:
            return left
        due = self._work.next_due - self._clock()
        return due if left is None else min(left, due)

    def _wake_for(self, item: T) -> None:
        if not self._work.is_waiting(item) and not self._work.is_processing(item):
            self._wake_one()

    def _wake_for_again(self, item: T) -> None:
        if self._work.is_waiting(item) and self._work.is_processing(item):
            self._wake_one()

    def _wake_one(self) -> None:
        try:
            self._waiters.popleft().open()
        except IndexError:  # then the keeper of the time is all there is
            keeper = self._keeper
            if keeper is not None:
                keeper.open()

    def _wake_keeper(self) -> None:
        """The nearest time has changed: who keeps it has to look again, or somebody has to begin."""
        keeper = self._keeper
        if keeper is not None:
            keeper.open()
        else:
            self._wake_one()

    def _wait_until_idle(self, timeout: float | None) -> None:
        gate = Gate()
        self._drainers.append(gate)
        try:
            with self._lock:  # whoever was adding something has done so
                idle = self._work.is_idle
            if not idle:
                gate.wait(timeout)
        finally:
            with suppress(ValueError):
                self._drainers.remove(gate)


def _is_owned(lock: threading.RLock) -> bool:
    """Has this thread got it? A condition asks the lock before it does what it is told, here nothing."""
    try:
        threading.Condition(lock).notify(0)
    except RuntimeError:
        return False
    return True


def _open_all(gates: deque[Gate]) -> None:
    """Without a lock, and each gate once, whoever else takes gates out meanwhile."""
    try:
        while True:
            gates.popleft().open()
    except IndexError:
        pass
