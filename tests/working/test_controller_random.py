"""Eight workers, an API server that fails, and chance, over many seeds: what `test_workers` holds of a queue alone.

Objects of a few names come, change and go, while watches break and expire. Each call of reconcile notes the version
that it sees; some fail, some ask to come again. In the end every key has been seen as the server has it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from random import Random
from typing import Any

import pytest

from kwsync import Backoff, Client, Controller, Informer, ObjectKey, Requeue, RetryAfter, WatchError
from kwsync.testing import ApiServer, Fault
from tests.working.support import LIMIT, in_background, wait_until
from tests.working.test_workers import Noting

WORKERS = 8
PRODUCERS = 2
CHANGES = 30
SEEDS = 48
KINDS = ("configmaps", "secrets")

FAULTS: list[Callable[[ApiServer], object]] = [
    lambda server: server.end_watches(),
    lambda server: server.forget_history(),
    lambda server: server.fail_next(Fault.error_event(410), verb="watch"),
    lambda server: server.fail_next(Fault.reset(1), verb="watch"),
    lambda server: server.fail_next(Fault.answer(500), verb="list"),
]


class Expected(Exception):
    """What reconcile raises on purpose."""


class Run:
    """Two kinds of objects mapped to one space of keys, their names."""

    def __init__(self, seed: int, server: ApiServer, client: Client) -> None:
        random = Random(seed)
        self.server, self.client = server, client
        self.names = [f"n{number}" for number in range(random.choice([1, 3, 10]))]
        self.random = Random(f"reconcile {seed}")
        self.hands = {name: threading.Lock() for name in self.names}
        self.seen: dict[str, tuple[Any, ...]] = {}
        self.calls: list[str] = []
        self.wrong: list[object] = []
        self.limiter = Noting()
        quick = Backoff(initial=0.001, cap=0.01)
        self.informers = [Informer(kind, client=client, backoff=quick, on_error=lambda _: None) for kind in KINDS]
        self.controller: Controller[str] = Controller(
            self.reconcile, workers=WORKERS, rate_limiter=self.limiter, on_error=self.note
        )
        for informer in self.informers:
            self.controller.watch(informer, map=lambda event: event.key.name)

    def state(self, name: str) -> tuple[Any, ...]:
        """The versions of this name's objects, as the caches have them."""
        found = [informer.store.get(ObjectKey("default", name)) for informer in self.informers]
        return tuple(each and each["metadata"]["resourceVersion"] for each in found)

    def reconcile(self, name: str) -> Requeue | None:
        """Note what there is, or fail."""
        if not self.hands[name].acquire(blocking=False):
            raise AssertionError(f"{name} is in two hands")
        self.calls.append(name)
        try:
            chance = self.random.random()
            if chance < 0.2:
                raise Expected
            if chance < 0.25:
                raise RetryAfter(1e-4)
            if chance < 0.27:
                raise SystemExit
            self.seen[name] = self.state(name)
            return Requeue(1e-4) if chance < 0.4 else None
        finally:
            self.hands[name].release()

    def note(self, key: object, error: BaseException) -> None:
        """Only what was raised on purpose may be told."""
        if not isinstance(error, Expected | RetryAfter | SystemExit):
            self.wrong.append((key, error))

    def produce(self, seed: str) -> None:
        """Create, change and delete; now and then the server fails."""
        random = Random(seed)
        for number in range(CHANGES):
            kind, name = random.choice(KINDS), random.choice(self.names)
            with suppress(WatchError):  # it is there, or it is not
                if random.random() < 0.3:
                    self.client.create(kind, {"metadata": {"name": name}}, "default")
                elif random.random() < 0.3:
                    self.client.delete(kind, name, "default")
                else:
                    self.client.patch(kind, name, {"metadata": {"labels": {"n": str(number)}}}, "default")
            if random.random() < 0.15:
                random.choice(FAULTS)(self.server)

    def wanted(self) -> dict[str, tuple[Any, ...]]:
        """What the server has, by name."""
        versions = [
            {
                each["metadata"]["name"]: each["metadata"]["resourceVersion"]
                for each in self.client.list(kind, "default")
            }
            for kind in KINDS
        ]
        return {name: tuple(each.get(name) for each in versions) for name in self.names}

    def is_settled(self, wanted: dict[str, tuple[Any, ...]]) -> bool:
        """Was each key that there is, or that was worked on, last seen as it is?"""
        return all(self.seen.get(name, (None, None)) == state for name, state in wanted.items())


@pytest.mark.parametrize("first", range(0, SEEDS, 12))
def test_eight_workers(first: int) -> None:
    """Per key one call at a time, no key lost whatever breaks, waits that only grow, and an end without remains."""
    for seed in range(first, first + 12):
        with ApiServer() as server, server.client() as client:
            run = Run(seed, server, client)
            with run.controller:
                with ExitStack() as stack:
                    for number in range(PRODUCERS):
                        stack.enter_context(in_background(partial(run.produce, f"{seed} {number}")))
                server.clear_faults()
                wanted = run.wanted()
                wait_until(lambda: run.is_settled(wanted), f"seed {seed}: {wanted}, seen {run.seen}", LIMIT)  # noqa: B023
                assert run.controller.stop(LIMIT)
            numbers = run.controller.metrics
        assert run.wrong == [], f"seed {seed}"
        assert numbers.errors + numbers.successes == numbers.reconciles == len(run.calls)
        unworked = numbers.queue.done - numbers.reconciles  # taken by a worker just when the stop came, and given back
        assert 0 <= unworked <= WORKERS
        assert (numbers.running, numbers.queue.processing) == (0, 0)
