"""How long a watch takes to end: milliseconds from the call in another thread to the return of ``next()``."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import NamedTuple

from kwsync import Client
from kwsync.testing._listener import DeafListener

from .blocked import WAYS, Watch
from .clients import client_for
from .report import Figure, Settings, Target, at_most, percentile, spread

SECTION = "cancel"
POLL_SECONDS = 0.05
"""A plain event is set at a random moment of its poller's period."""


class Phase(NamedTuple):
    """Where a watch hangs: what it connects to, and how many events come before."""

    name: str
    client: Client
    events: int = 0


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """The 99th percentile for each phase and each way of ending, without and with a busy thread beside."""
    with ExitStack() as stack:
        deaf = DeafListener(full=True)
        stack.callback(deaf.close)
        phases = _phases(url, deaf.port)
        yield from _latencies(phases, settings.pick(1_000, 5), "")
        stack.enter_context(_busy_thread())
        yield from _latencies(phases, settings.pick(100, 1), ", busy")


def _phases(url: str, deaf_port: int) -> list[Phase]:
    return [
        Phase("connecting", client_for(f"http://127.0.0.1:{deaf_port}")),
        Phase("TLS handshake", client_for(url.replace("http:", "https:"))),
        Phase("proxy's CONNECT", client_for("https://127.0.0.1:1", proxy_url=url)),
        Phase("headers", client_for(f"{url}/silent")),
        Phase("between chunks", client_for(f"{url}/idle"), 1),
        Phase("in a line", client_for(f"{url}/half"), 1),
    ]


def _latencies(phases: list[Phase], tries: int, suffix: str) -> Iterator[Figure]:
    random = Random(0)
    for phase in phases:
        _try(phase, "close()", random)  # the first of a client makes the TLS context, which takes long
        for way in WAYS:
            times = [_try(phase, way, random) * 1000 for _ in range(tries)]
            value = percentile(times, 99)
            yield Figure(SECTION, f"{phase.name}, {way}{suffix}", value, "ms p99", _target(way, suffix), spread(times))


def _target(way: str, suffix: str) -> Target | None:
    if way == "Event":
        return None if suffix else at_most(100)
    return at_most(50 if suffix else 5)


def _try(phase: Phase, way: str, random: Random) -> float:
    watch = Watch(phase.client, way)
    watch.wait_until_blocked(phase.events)
    if way == "Event":
        time.sleep(random.uniform(0, POLL_SECONDS))
    start = time.perf_counter()
    watch.cancel()
    watch.join()
    return watch.returned - start


@contextmanager
def _busy_thread() -> Iterator[None]:
    """A thread that computes in Python all the time, and so holds the interpreter whenever it may."""
    done = False

    def compute() -> None:
        while not done:
            pass

    thread = threading.Thread(target=compute, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done = True
        thread.join()
