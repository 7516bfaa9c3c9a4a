"""One long line in chunks of 4 KiB: milliseconds, and that ten times the length takes ten times as long."""

from __future__ import annotations

import time
from collections.abc import Iterator

from kwsync import watch_resource

from .clients import client_for
from .report import Figure, Settings, at_most

SECTION = "lines"
MIB = 1024 * 1024


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """The time of a line of 1, 10 and 50 MiB, and the ratio of the first two."""
    sizes = (1, 10) if settings.quick else (1, 10, 50)
    rounds = [{size: _read(url, size) for size in sizes} for _ in range(settings.pick(5, 1) + 1)]
    best = {size: min(each[size] for each in rounds[1:]) for size in sizes}
    for size in sizes:
        worst = max(each[size] for each in rounds[1:])
        yield Figure(SECTION, f"one line of {size} MiB", best[size] * 1000, "ms", details={"worst": worst * 1000})
    yield Figure(SECTION, "10 MiB : 1 MiB", best[10] / best[1], "x", at_most(12))


def _read(url: str, size: int) -> float:
    stream = watch_resource("pods", client=client_for(f"{url}/line/{size * MIB}"))
    start = time.perf_counter()
    (event,) = stream
    seconds = time.perf_counter() - start
    assert event.error is None, event.error
    return seconds
