"""What is left of many streams, one after another, sharing one long-lived event and one token: nothing, one hopes."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator

from kwsync import CancelToken, Client, _cancel, watch_resource

from .children import running
from .clients import client_for
from .imported import resident_mib
from .report import Figure, Settings, at_most

SECTION = "streams"
CASES = {"clean end": "/events/1", "closed early": "/idle"}
SECONDS_TO_SETTLE = 0.3

COUNTED = {"threads": ("", 0), "descriptors": ("", 0), "registrations": ("", 0), "traced memory": ("KiB", 100)}
"""Unit, and how much of it the second half may add; 100 KiB would be 20 bytes a stream."""


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """Growth in the second half of the streams."""
    count = settings.pick(10_000, 100)
    for case, path in CASES.items():
        with running("streams", url + path, str(count), case) as child:
            half, end = json.loads(child.hear())
        for name, (unit, limit) in COUNTED.items():
            details = {"at half": half[name], "at the end": end[name], "streams": count}
            growth = end[name] - half[name]
            yield Figure(SECTION, f"{case}: more {name}", growth, unit, at_most(limit), details)
        yield Figure(SECTION, f"{case}: more resident memory", end["resident"] - half["resident"], "MiB")


def _snapshot(token: CancelToken) -> dict[str, float]:
    gc.collect()
    time.sleep(SECONDS_TO_SETTLE)
    return {
        "threads": threading.active_count(),
        "descriptors": len(os.listdir("/dev/fd")),
        "registrations": _cancel.poller.registered + len(token._guards),
        "traced memory": tracemalloc.get_traced_memory()[0] / 1024,
        "resident": resident_mib(),
    }


def _run(client: Client, count: int, early: bool, token: CancelToken, event: threading.Event) -> None:
    for number in range(count):
        stream = watch_resource("pods", client=client, cancel=token if number % 2 else event)
        first = next(stream)
        assert first.error is None, first.error
        if early:
            stream.close()
        assert next(stream, None) is None


def main(url: str, count: int, case: str) -> None:
    """Print what the process holds after the first half and after the second."""
    token, event = CancelToken(), threading.Event()
    client = client_for(url)
    tracemalloc.start()
    snapshots = []
    for _ in range(2):
        _run(client, count // 2, case == "closed early", token, event)
        snapshots.append(_snapshot(token))
    print(json.dumps(snapshots), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
