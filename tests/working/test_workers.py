"""Eight workers and chance, over many seeds: no key in two hands, none lost, and retries that wait ever longer."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Hashable
from contextlib import ExitStack, suppress
from functools import partial
from random import Random

import pytest

from kwsync import ShutDown, WorkQueue
from kwsync.ratelimit import Exponential
from tests.working.support import LIMIT, in_background

WORKERS = 8
PRODUCERS = 2
SEEDS = 60


class Noting(Exponential):
    """Waits of microseconds, all of them noted."""

    def __init__(self) -> None:
        super().__init__(1e-6, 2e-3)
        self.waits: defaultdict[Hashable, list[float]] = defaultdict(list)

    def when(self, item: Hashable, /) -> float:
        wait = super().when(item)
        self.waits[item].append(wait)
        return wait

    def forget(self, item: Hashable, /) -> None:
        self._check(item)
        super().forget(item)

    def _check(self, item: Hashable) -> None:
        waits = self.waits.pop(item, [])
        assert waits == sorted(waits), f"{item} waited {waits}"


class Run:
    """Keys have versions that only grow; a worker notes the one that it saw, as a controller does with objects."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.limiter = Noting()
        self.work: WorkQueue[int] = WorkQueue(self.limiter, name=f"seed {seed}")
        self.wanted = [0] * random.choice([1, 3, 20])
        self.seen = [0] * len(self.wanted)
        self.holders = [threading.Lock() for _ in self.wanted]
        self.producers = PRODUCERS
        self.changes = random.choice([20, 100])
        self.finished = threading.Event()
        self._counting = threading.Lock()

    def produce(self, seed: str) -> None:
        random = Random(seed)
        for _ in range(self.changes):
            key = random.randrange(len(self.wanted))
            with self._counting:
                self.wanted[key] += 1
            if random.random() < 0.5:
                self.work.add(key)
            else:
                self.work.add_after(key, random.choice([0, 1e-5, 1e-3]))
        with self._counting:
            self.producers -= 1
        self.look()

    def consume(self, seed: str) -> None:
        random = Random(seed)
        with suppress(ShutDown):
            while True:
                with self.work.processing(random.choice([None, LIMIT])) as key:
                    self.reconcile(key, random)
                self.look()

    def reconcile(self, key: int, random: Random) -> None:
        assert self.holders[key].acquire(blocking=False), f"{key} is in two hands"
        try:
            wanted = self.wanted[key]
            if random.random() < 0.3:
                self.work.add_rate_limited(key)
                return
            if random.random() < 0.2:
                self.work.add_after(key, 1e-4, replace=random.random() < 0.5)
            self.seen[key] = wanted
            self.work.forget(key)
        finally:
            self.holders[key].release()

    def look(self) -> None:
        with self._counting:
            if self.producers == 0 and self.seen == self.wanted:
                self.finished.set()


@pytest.mark.parametrize("first", range(0, SEEDS, 20))
def test_eight_workers(first: int) -> None:
    """Whatever the order of things: each key is in one hand at a time, its last change is seen, and the drain ends."""
    for seed in range(first, first + 20):
        run = Run(seed)
        threads = [partial(run.consume, f"worker {seed} {number}") for number in range(WORKERS)]
        threads += [partial(run.produce, f"producer {seed} {number}") for number in range(PRODUCERS)]
        with ExitStack() as stack:
            for thread in threads:
                stack.enter_context(in_background(thread))
            done = run.finished.wait(LIMIT)
            drained = run.work.shut_down(drain=True, timeout=LIMIT)
        assert done, f"seed {seed}: saw {run.seen} of {run.wanted}, {run.work!r}"
        assert drained, f"seed {seed}: {run.work!r}"
        metrics = run.work.metrics
        assert (metrics.taken, metrics.done, metrics.depth, metrics.processing) == (metrics.adds, metrics.adds, 0, 0)
        assert (len(run.work._waiters), run.work._keeper) == (0, None)
