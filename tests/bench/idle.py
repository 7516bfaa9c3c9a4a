"""What watches cost while nothing happens: context switches of a process that has ten of them, and extra threads."""

from __future__ import annotations

import resource
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

from .blocked import Watch
from .children import running
from .clients import client_for
from .report import Figure, Settings, at_most

SECTION = "idle"
STREAMS = 10


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """With a CancelToken no timer wakes anything; with a plain event one shared thread polls."""
    seconds = settings.pick(60, 5)
    token, plain = _idle(url, seconds, ("CancelToken", "Event"))
    details = {"streams": STREAMS, "seconds": seconds}
    # One switch is the measuring thread's own; each of the others would come many times if it came from a timer.
    name = "context switches"
    yield Figure(SECTION, f"{name}, CancelToken", token[0], "", at_most(STREAMS), details, "0 wake-ups by timers")
    yield Figure(SECTION, f"{name}, Event", plain[0] / seconds, "1/s", None, details)
    yield Figure(SECTION, "extra threads, CancelToken", token[1], "", at_most(0), details)
    yield Figure(SECTION, "extra threads, Event", plain[1], "", at_most(1), details)


def _idle(url: str, seconds: int, ways: tuple[str, ...]) -> list[list[int]]:
    """Context switches and threads for each way, all measured at the same time, each in a process of its own."""
    with ExitStack() as stack:
        children = [stack.enter_context(running("idle", f"{url}/idle", str(seconds), way)) for way in ways]
        return [[int(word) for word in child.hear().split()] for child in children]


def _switches() -> int:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw + usage.ru_nivcsw


def main(url: str, seconds: int, way: str) -> None:
    """Watch for some time; print context switches, and threads beside the main one and one reader for each stream."""
    client = client_for(url)
    watches = [Watch(client, way) for _ in range(STREAMS)]
    for watch in watches:
        watch.wait_until_blocked(1)
    before = _switches()
    time.sleep(seconds)
    switches = _switches() - before
    print(switches, threading.active_count() - 1 - STREAMS, flush=True)
    for watch in watches:
        watch.cancel()
        watch.join()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
