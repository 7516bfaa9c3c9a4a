"""What a work queue keeps: the items that wait, those in process, and those that are delayed. Pure: times are given.

Each method is one step of a queue, and its caller lets no other thread do a step at the same time. A signal handler or
a finalizer may still run in the middle of a step, add items there, or raise: therefore each change is one operation on
one container, in an order that leaves no item in none of them, and what a deque or a dict says too much is passed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

import attrs

from kwsync._delays import Delays

T = TypeVar("T", bound=Hashable)


class NothingReady(Exception):
    """No item can be handed out now."""


@attrs.frozen(kw_only=True)
class QueueMetrics:
    """What a work queue has done and is doing, at one moment. Times are in seconds.

    Attributes:
        name: the queue's.
        depth: items that wait to be handed out; those in process or delayed do not count.
        delayed: items that wait for their time.
        processing: items in the hands of a worker.
        adds: how often an item was added, without the times when it was waiting already.
        taken: how often an item was handed out.
        done: how often one was given back.
        retries: how often one was added with a delay, rate-limited or not (client-go's count).
        latency: the sum of what the items handed out had waited since they were added, or since their delay was over.
        longest_latency: the longest of these waits.
        work: the sum of the times that the items given back were in process.
        longest_work: the longest of these times.
        unfinished: the sum of the times since which the items in process are so.
        longest_running: the longest of these times; it grows while a worker is stuck.
    """

    name: str
    depth: int
    delayed: int
    processing: int
    adds: int
    taken: int
    done: int
    retries: int
    latency: float
    longest_latency: float
    work: float
    longest_work: float
    unfinished: float
    longest_running: float


class WorkList(Generic[T]):
    """The rules of the queue: each item waits once, and is in the hands of one worker at a time."""

    __slots__ = (
        "_adds",
        "_delays",
        "_done",
        "_latency",
        "_longest_latency",
        "_longest_work",
        "_order",
        "_processing",
        "_retries",
        "_since",
        "_taken",
        "_work",
    )

    def __init__(self) -> None:
        # An item waits if it is in _since, which tells since when, and not in process. _order may name it twice, or
        # name what does not wait any more; who takes passes that over. In _since and in process: once more afterwards.
        self._order: deque[T] = deque()
        self._since: dict[T, float] = {}
        self._processing: dict[T, float] = {}
        self._delays: Delays[T] = Delays()
        self._adds = self._taken = self._done = self._retries = 0
        self._latency = self._longest_latency = self._work = self._longest_work = 0.0

    @property
    def next_due(self) -> float:
        """When the next delay will be over."""
        return self._delays.next_due

    @property
    def delayed(self) -> int:
        """How many items wait for their time."""
        return len(self._delays)

    @property
    def has_order(self) -> bool:
        """May there be something to take? False is certain, but for delays that are over; True is not."""
        return bool(self._order)

    @property
    def is_idle(self) -> bool:
        """Nothing waits and nothing is in process."""
        return not self._since and not self._processing

    def depth(self, now: float) -> int:
        """How many items wait."""
        self.ripen(now)
        return len(self._since) - sum(item in self._since for item in self._processing)

    def is_waiting(self, item: T) -> bool:
        """Has the item been added, and not been handed out since?"""
        return item in self._since

    def is_processing(self, item: T) -> bool:
        """Is it in the hands of a worker?"""
        return item in self._processing

    def add(self, item: T, now: float) -> None:
        """Let the item wait, unless it does; what is in process will wait afterwards.

        This is what a signal handler may do in the middle of any step, and so it leaves the delays alone.
        """
        if item in self._since:
            return
        if item not in self._processing:
            self._order.append(item)
        self._since[item] = now
        self._adds += 1

    def take(self, now: float) -> T:
        """The item that has waited longest, which is in process from now on; NothingReady if there is none."""
        if now >= self._delays.next_due:
            self.ripen(now)
        order, since, processing = self._order, self._since, self._processing
        while order:
            item = order[0]
            if item in since and item not in processing:
                processing[item] = now
                waited = now - since.pop(item)
                order.popleft()
                self._taken += 1
                self._latency += waited
                if waited > self._longest_latency:
                    self._longest_latency = waited
                return item
            order.popleft()
        raise NothingReady

    def finish(self, item: T, now: float) -> None:
        """The item is not in process any more, and waits if it was added meanwhile; ValueError if it was not."""
        if now >= self._delays.next_due:
            self.ripen(now)
        if item not in self._processing:
            raise ValueError(f"{item!r} is not in process: done() is called once for each item that get() gave")
        again = item in self._since
        if again:
            self._order.append(item)
        worked = now - self._processing.pop(item)
        if not again and item in self._since:  # a signal handler has added it just now
            self._order.append(item)
        self._done += 1
        self._work += worked
        if worked > self._longest_work:
            self._longest_work = worked

    def delay(self, item: T, now: float, due: float, *, replace: bool) -> None:
        """Add the item when its time has come; with *replace* also at a later time than was said before."""
        if now >= self._delays.next_due:
            self.ripen(now)
        self._delays.put(item, due, replace=replace)

    def cancel_delay(self, item: T, now: float) -> bool:
        """Take a delay back; False if there was none, or if it is over."""
        self.ripen(now)
        return self._delays.remove(item)

    def count_retry(self) -> None:
        """An item was added with a delay, be it none."""
        self._retries += 1

    def drop_delays(self) -> None:
        """Forget all that is delayed. One assignment, so that any thread may do it at any moment."""
        self._delays = Delays()

    def ripen(self, now: float) -> None:
        """Add what is due by now, with its own time; all other steps do so first, and so does who asks."""
        for item, due in self._delays.due(now):
            self.add(item, due)

    def metrics(self, name: str, now: float) -> QueueMetrics:
        """All numbers as they are now."""
        self.ripen(now)
        running = [now - start for start in self._processing.values()]
        return QueueMetrics(
            name=name,
            depth=self.depth(now),
            delayed=self.delayed,
            processing=len(running),
            adds=self._adds,
            taken=self._taken,
            done=self._done,
            retries=self._retries,
            latency=self._latency,
            longest_latency=self._longest_latency,
            work=self._work,
            longest_work=self._longest_work,
            unfinished=sum(running),
            longest_running=max(running, default=0.0),
        )
