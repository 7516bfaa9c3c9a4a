"""One run on the server in memory."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import attrs

from kwsync import _following, _watch
from kwsync.testing import ApiServer

from .faults import Faults
from .observers import Observers
from .views import States, key_of, state_of
from .writers import Writers

QUIET_LIMIT = 60.0
"""Seconds until everybody must believe what the server has, once nobody writes and nothing fails."""

TRAVEL = 40
"""Versions by which the server goes back."""

SHORT = {(_watch, "GRACE_SECONDS"): 0.3, (_following, "SILENT_SECONDS"): 1.5, (_following, "PATIENCE_SECONDS"): 0.5}
"""Limits of real time that a run shortens, so that it need not wait for minutes."""


@attrs.frozen
class Plan:
    """How much of everything."""

    events: int
    faults: int
    seed: int
    rounds: int = 20
    travels: int = 3
    tell: Callable[[str], None] = lambda _: None


class InMemory:
    """The verbs of the server in memory."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def create(self, document: dict[str, Any]) -> None:
        self._server.create(document)

    def replace(self, document: dict[str, Any]) -> None:
        self._server.replace(document)

    def delete(self, namespace: str, name: str) -> None:
        self._server.delete("configmaps", name, namespace)

    def list(self) -> list[dict[str, Any]]:
        return self._server.list("configmaps", label_selector="chaos=true")


@contextmanager
def short_limits() -> Iterator[None]:
    """Limits of real time, shortened for as long as the block lasts."""
    with ExitStack() as stack:
        for (module, name), seconds in SHORT.items():
            stack.callback(setattr, module, name, getattr(module, name))
            setattr(module, name, seconds)
        yield


def wait_until_equal(observers: Observers, documents: list[dict[str, Any]], when: str) -> float:
    """Wait until everybody believes what the server has; seconds. AssertionError where that does not come to be."""
    wanted: States = {key_of(document): state_of(document) for document in documents}
    began, pause = time.monotonic(), threading.Event()
    while difference := observers.different(wanted):
        assert time.monotonic() - began < QUIET_LIMIT, f"{when}: {difference}; errors {observers.errors}"
        observers.check()
        pause.wait(0.01)
    observers.check()
    return time.monotonic() - began


def run(plan: Plan) -> str:
    """Run it; what was done, in words. AssertionError where something is not as it is promised."""
    with nothing_left():
        return _run(plan)


@contextmanager
def nothing_left() -> Iterator[None]:
    """After the block there are no more threads and descriptors than before."""
    before = _alive()
    yield
    end, pause = time.monotonic() + 10, threading.Event()
    while more := [f"{name}: {now} after, {then} before" for name, then, now in _compared(before) if now > then]:
        assert time.monotonic() < end, ", ".join(more)
        gc.collect()
        pause.wait(0.05)


def _alive() -> dict[str, int]:
    return {"threads": threading.active_count(), "descriptors": len(os.listdir("/dev/fd"))}


def _compared(before: dict[str, int]) -> list[tuple[str, int, int]]:
    after = _alive()
    return [(name, before[name], after[name]) for name in before]


def _run(plan: Plan) -> str:
    with ExitStack() as stack:
        stack.enter_context(short_limits())
        server = stack.enter_context(ApiServer(history=2000))
        client = stack.enter_context(server.client())
        faults, writers = Faults(server, plan.seed), Writers(InMemory(server), seed=plan.seed)
        observers = stack.enter_context(Observers(client, seed=plan.seed))
        stack.callback(writers.stop)
        writers.start()
        return _Run(plan, server, faults, writers, observers).all_rounds()


@attrs.define
class _Run:
    plan: Plan
    server: ApiServer
    faults: Faults
    writers: Writers
    observers: Observers

    def all_rounds(self) -> str:
        began = time.monotonic()
        for number in range(self.plan.rounds):
            self._round(number)
            if number < self.plan.travels:
                self._travel()
        seconds = time.monotonic() - began
        return (
            f"{self.writers.written} writes and {sum(self.faults.struck.values())} faults in {seconds:.0f} s,"
            f" {self.observers.events} events told; faults {dict(self.faults.struck)};"
            f" errors told {self.observers.errors}"
        )

    def _round(self, number: int) -> None:
        writes = self.plan.events // self.plan.rounds
        wanted = self.plan.faults * (number + 1) // self.plan.rounds
        first, begun = sum(self.faults.struck.values()), self.writers.written
        pause = threading.Event()

        def strike() -> None:
            done = (self.writers.written - begun) / writes
            while sum(self.faults.struck.values()) < first + (wanted - first) * done:
                self.faults.strike()
            pause.wait(0.001)

        self.writers.write(writes, strike)
        self.observers.change_handlers()
        self.faults.clear()
        self._quiet(f"round {number}")

    def _travel(self) -> None:
        """The server goes back while nobody writes: what is written at once would get the versions that were seen, and
        no client could tell those states from others (see tests/following/README.md)."""
        self.writers.write(2 * TRAVEL, lambda: None)  # there must be a past to go back to
        self._quiet("before a travel")
        self.observers.travel()
        self.faults.go_back(TRAVEL)
        self.writers.look()
        self._quiet("travel")

    def _quiet(self, when: str) -> None:
        seconds = wait_until_equal(self.observers, InMemory(self.server).list(), when)
        self.plan.tell(f"{when}: equal after {seconds:.2f} s")
