"""The work queue beside `queue.Queue`, which knows neither equal items nor `done`, and what a million delays take."""

from __future__ import annotations

import json
import queue
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from random import Random

from kwsync import ObjectKey, WorkQueue

from .children import running
from .imported import resident_mib
from .report import Figure, Settings, at_least, at_most

SECTION = "queue"
WORKERS = 4
MOST_SECONDS = 3_600.0

Cycle = Callable[[list[str]], None]
"""All keys once through a queue: in, out, done."""


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """Ratios of one run, in processes of their own, so that no other section's memory or threads count."""
    keys, rounds, delays = settings.pick(50_000, 2_000), settings.pick(15, 2), settings.pick(1_000_000, 20_000)
    with running("workqueue", "cycles", str(keys), str(rounds)) as child:
        cycles = json.loads(child.hear())
    for threads in ("one thread", f"{WORKERS} workers"):
        plain, ours = cycles[f"queue.Queue, {threads}"], cycles[f"WorkQueue, {threads}"]
        ratios = [one / other for one, other in zip(plain, ours, strict=True)]
        details = {"us": min(ours), "us of queue.Queue": min(plain), "worst of a round": min(ratios)}
        yield Figure(
            SECTION, f"queue.Queue : WorkQueue, {threads}", statistics.median(ratios), "x", at_least(0.6), details
        )
    for name in ("put, get, task_done : add, get, done", "str keys : ObjectKeys"):
        one, other = (cycles[part] for part in name.split(" : "))
        yield Figure(SECTION, name, min(one) / min(other), "x")
    with running("workqueue", "delays", str(delays)) as child:
        found = json.loads(child.hear())
    yield Figure(SECTION, f"{delays:,} delayed adds", found["seconds"], "s", at_most(3), {"all due": found["due"]})
    yield Figure(SECTION, "a delayed add", found["bytes"], "bytes", at_most(200))


def _plain(keys: list[str]) -> None:
    waiting: queue.Queue[str] = queue.Queue()
    for key in keys:
        waiting.put(key)
        waiting.get()


def _plain_with_done(keys: list[str]) -> None:
    waiting: queue.Queue[str] = queue.Queue()
    for key in keys:
        waiting.put(key)
        waiting.get()
        waiting.task_done()


def _ours(keys: list[str]) -> None:
    work: WorkQueue[str] = WorkQueue()
    for key in keys:
        work.add(key)
        work.done(work.get())


def _plain_workers(keys: list[str]) -> None:
    waiting: queue.Queue[str | None] = queue.Queue()

    def work() -> None:
        while waiting.get() is not None:
            pass

    _among_workers(work, waiting.put, [*keys, *[None] * WORKERS])


def _our_workers(keys: list[str]) -> None:
    waiting: WorkQueue[str | None] = WorkQueue()

    def work() -> None:
        while (key := waiting.get()) is not None:
            waiting.done(key)
        waiting.done(None)
        waiting.add(None)  # for the next worker

    _among_workers(work, waiting.add, [*keys, None])


def _among_workers(work: Callable[[], None], add: Callable[[str | None], None], keys: list[str | None]) -> None:
    threads = [threading.Thread(target=work, daemon=True) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for key in keys:
        add(key)
    for thread in threads:
        thread.join()


def _cycles(count: int, rounds: int) -> dict[str, list[float]]:
    """Microseconds of the processor a key in each round; the contestants take turns."""
    strings = [f"default/object-{number}" for number in range(count)]
    objects: list[str] = [ObjectKey("default", f"object-{number}") for number in range(count)]  # type: ignore[misc]
    runs: dict[str, tuple[Cycle, list[str]]] = {
        "queue.Queue, one thread": (_plain, strings),
        "WorkQueue, one thread": (_ours, strings),
        f"queue.Queue, {WORKERS} workers": (_plain_workers, strings),
        f"WorkQueue, {WORKERS} workers": (_our_workers, strings),
        "put, get, task_done": (_plain_with_done, strings),
        "add, get, done": (_ours, strings),
        "str keys": (_ours, strings),
        "ObjectKeys": (_ours, objects),
    }
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, (run, keys) in runs.items():
            start = time.process_time()
            run(keys)
            found[name].append((time.process_time() - start) / count * 1e6)
    return found


def _delays(count: int) -> dict[str, float]:
    """Seconds and bytes of so many delays; the keys and the delays' numbers were there before."""
    random = Random(7)
    keys = [f"default/object-{number}" for number in range(count)]
    delays = [random.uniform(1, MOST_SECONDS) for _ in range(count)]
    now = [0.0]
    work: WorkQueue[str] = WorkQueue(clock=lambda: now[0])
    before = resident_mib()
    start = time.process_time()
    for key, delay in zip(keys, delays, strict=True):
        work.add_after(key, delay)
    seconds = time.process_time() - start
    size = (resident_mib() - before) * 1024 * 1024 / count
    now[0] = MOST_SECONDS
    start = time.process_time()
    assert len(work) == count
    return {"seconds": seconds, "bytes": size, "due": time.process_time() - start}


def main(what: str, count: int, rounds: int = 1) -> None:
    """Print the numbers."""
    print(json.dumps(_cycles(count, rounds) if what == "cycles" else _delays(count)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
