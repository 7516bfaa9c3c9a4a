"""From the server's write to the handler of a WatchThread, over loopback and between two processes: milliseconds."""

from __future__ import annotations

import time
from collections.abc import Iterator

from kwsync import WatchEvent, WatchThread

from .clients import client_for
from .report import Figure, Settings, at_most, percentile, spread

SECTION = "latency"
LIMIT_SECONDS = 60.0


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """The 99th percentile of events that come every few milliseconds."""
    count = settings.pick(2_000, 50)
    times: list[float] = []

    def handle(event: WatchEvent) -> None:
        now = time.monotonic_ns()
        assert event.object
        times.append((now - int(event.object["metadata"]["annotations"]["sent"])) / 1e6)

    with WatchThread("pods", client=client_for(f"{url}/ticks/{count}"), reconnect=False, on_event=handle) as thread:
        thread.join(LIMIT_SECONDS)
    assert len(times) == count, f"{len(times)} of {count} events came: {thread.end}"
    yield Figure(SECTION, "write to handler", percentile(times, 99), "ms p99", at_most(10), spread(times))
