"""The pure rules of the queue, against lists and sets that say the same in the simplest way."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kwsync._worklist import NothingReady, WorkList

ITEMS = st.sampled_from("abcde")
SECONDS = st.integers(0, 5).map(float)


class WorkListMachine(RuleBasedStateMachine):
    """Somebody asks after each step, so that a delay that is over is over at its time."""

    def __init__(self) -> None:
        super().__init__()
        self.list: WorkList[str] = WorkList()
        self.now = 0.0
        self.waiting: list[str] = []
        self.again: list[str] = []
        self.processing: dict[str, float] = {}
        self.delayed: dict[str, tuple[float, int]] = {}
        self.since: dict[str, float] = {}
        self.said = self.adds = self.taken = self.done = 0
        self.latencies: list[float] = [0.0]
        self.works: list[float] = [0.0]

    def ripen(self) -> None:
        due = sorted((due, said, item) for item, (due, said) in self.delayed.items() if due <= self.now)
        for at, _, item in due:
            del self.delayed[item]
            self.let_wait(item, at)

    def let_wait(self, item: str, since: float) -> None:
        if item in self.waiting or item in self.again:
            return
        (self.again if item in self.processing else self.waiting).append(item)
        self.since[item] = since
        self.adds += 1

    @rule(seconds=SECONDS)
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(item=ITEMS)
    def add(self, item: str) -> None:
        self.list.add(item, self.now)
        self.let_wait(item, self.now)

    @rule(item=ITEMS, seconds=SECONDS, replace=st.booleans())
    def delay(self, item: str, seconds: float, replace: bool) -> None:
        self.ripen()
        self.said += 1
        due = self.now + seconds
        before = self.delayed.get(item)
        if before is None or (due != before[0] and (replace or due < before[0])):
            self.delayed[item] = (due, self.said)
        self.list.delay(item, self.now, due, replace=replace)

    @rule(item=ITEMS)
    def cancel(self, item: str) -> None:
        self.ripen()
        assert self.list.cancel_delay(item, self.now) == (self.delayed.pop(item, None) is not None)

    @rule()
    def take(self) -> None:
        self.ripen()
        if not self.waiting:
            with pytest.raises(NothingReady):
                self.list.take(self.now)
            return
        item = self.waiting.pop(0)
        assert item not in self.processing
        assert self.list.take(self.now) == item
        self.processing[item] = self.now
        self.latencies.append(self.now - self.since.pop(item))
        self.taken += 1

    @rule(item=ITEMS)
    def finish(self, item: str) -> None:
        if item not in self.processing:
            with pytest.raises(ValueError, match="not in process"):
                self.list.finish(item, self.now)
            self.ripen()
            return
        self.ripen()
        self.list.finish(item, self.now)
        self.works.append(self.now - self.processing.pop(item))
        self.done += 1
        if item in self.again:
            self.again.remove(item)
            self.waiting.append(item)

    @invariant()
    def same(self) -> None:
        self.ripen()
        found = self.list.metrics("m", self.now)
        running = [self.now - start for start in self.processing.values()]
        assert (found.depth, found.delayed) == (len(self.waiting), len(self.delayed))
        assert (found.adds, found.taken, found.done) == (self.adds, self.taken, self.done)
        assert (found.latency, found.longest_latency) == (sum(self.latencies), max(self.latencies))
        assert (found.work, found.longest_work) == (sum(self.works), max(self.works))
        assert (found.processing, found.unfinished) == (len(running), sum(running))
        assert found.longest_running == max(running, default=0.0)
        assert self.list.is_idle == (not self.waiting and not self.processing)


class LazyMachine(WorkListMachine):
    """Nobody asks in between, so that delays are over long before anybody notices."""

    @invariant()
    def same(self) -> None:
        assert self.list.has_order or not self.waiting

    def teardown(self) -> None:
        super().same()


TestWorkList = WorkListMachine.TestCase
TestWorkList.settings = settings(max_examples=60, deadline=None)
TestLazyWorkList = LazyMachine.TestCase
TestLazyWorkList.settings = settings(max_examples=60, deadline=None)
