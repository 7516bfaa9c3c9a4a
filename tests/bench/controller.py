"""A controller with many objects: how long until each has been worked on once, and what it costs while nothing happens.

The floor is the same informer without a controller. Each reconcile reads its object from the store.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

from kwsync import Backoff, Controller, Informer, ObjectKey

from .children import running
from .clients import client_for
from .report import Figure, Settings, at_most

SECTION = "controller"
LIMIT_SECONDS = 120.0
WORKERS = (1, 8)
OTHERS = 3
"""Threads that may look once in a while: the main one, which measures, and the informer's two."""


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """In processes of their own; the best of some rounds."""
    count, rounds, seconds = settings.pick(10_000, 200), settings.pick(5, 1), settings.pick(60, 1)
    with running("listing", str(count), "0") as server:
        port = server.hear()
        floors, times = [], {workers: list[float]() for workers in WORKERS}
        for _ in range(rounds):
            floors.append(_once("informer", port, count, 0))
            for workers in WORKERS:
                times[workers].append(_once("steady", port, count, workers))
        for workers in WORKERS:
            details = {
                "objects": count,
                "informer alone": min(floors),
                "us an object": min(times[workers]) / count * 1e6,
            }
            yield Figure(
                SECTION,
                f"{count:,} objects to steady state, {_named(workers)}",
                min(times[workers]),
                "s",
                None,
                details,
            )
        with running("controller", "idle", port, str(count), str(max(WORKERS)), str(seconds)) as child:
            switches, processor = map(float, child.hear().split())
    details = {"objects": count, "workers": max(WORKERS), "seconds": seconds}
    note = "0 wake-ups by timers"
    yield Figure(SECTION, "context switches while idle", switches, "", at_most(max(WORKERS) + OTHERS), details, note)
    yield Figure(SECTION, "processor while idle", processor / seconds * 100, "%", None, details)


def _named(workers: int) -> str:
    return "1 worker" if workers == 1 else f"{workers} workers"


def _once(role: str, port: str, count: int, workers: int) -> float:
    with running("controller", role, port, str(count), str(workers)) as child:
        return float(child.hear())


# In processes of their own


class Counting:
    """A controller of pods that notes when each has been worked on once."""

    def __init__(self, pods: Informer, count: int, workers: int) -> None:
        self._pods, self._count = pods, count
        self._keys: set[ObjectKey] = set()
        self.done = threading.Event()
        self.controller: Controller[ObjectKey] = Controller(self.reconcile, workers=workers)
        self.controller.watch(pods)

    def reconcile(self, key: ObjectKey) -> None:
        """Look at the object."""
        assert self._pods.store.get(key) is not None
        self._keys.add(key)
        if len(self._keys) == self._count:
            self.done.set()


def _pods(port: str) -> Informer:
    client = client_for(f"http://127.0.0.1:{port}")
    return Informer("pods", client=client, backoff=Backoff(initial=0), timeout_seconds=3600)


def informer(port: str, _count: str, _workers: str) -> None:
    """Print the seconds until the cache is filled."""
    pods, start = _pods(port), time.perf_counter()
    with pods:
        assert pods.wait_synced(LIMIT_SECONDS)
        print(time.perf_counter() - start, flush=True)


def steady(port: str, count: str, workers: str) -> None:
    """Print the seconds until every object has been worked on."""
    counting, start = Counting(_pods(port), int(count), int(workers)), time.perf_counter()
    with counting.controller:
        assert counting.done.wait(LIMIT_SECONDS), counting.controller
        print(time.perf_counter() - start, flush=True)


def idle(port: str, count: str, workers: str, seconds: str) -> None:
    """Print context switches and processor seconds of a controller that has nothing to do."""
    resource = importlib.import_module("resource")
    counting = Counting(_pods(port), int(count), int(workers))
    with counting.controller as controller:
        assert counting.done.wait(LIMIT_SECONDS), controller
        pause = threading.Event()
        while not controller.healthy() or controller.metrics.running:
            pause.wait(0.01)
        pause.wait(0.2)  # the last of what has just ended
        before, processor = resource.getrusage(resource.RUSAGE_SELF), time.process_time()
        time.sleep(float(seconds))
        now = resource.getrusage(resource.RUSAGE_SELF)
        switches = now.ru_nvcsw + now.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw
        print(switches, time.process_time() - processor, flush=True)


if __name__ == "__main__":
    roles: dict[str, Callable[..., None]] = {"informer": informer, "steady": steady, "idle": idle}
    roles[sys.argv[1]](*sys.argv[2:])
