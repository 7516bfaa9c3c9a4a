"""A program under gevent, run by test_gevent.py: ``python -m tests.cancel.gevent_program CASE URL [CA file]``.

It prints a JSON object of what it saw.
"""

from __future__ import annotations

import gevent.monkey

gevent.monkey.patch_all()

import json  # noqa: E402 - everything is imported after the patch
import sys  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
from typing import Any  # noqa: E402

import gevent  # noqa: E402

import kwsync  # noqa: E402
from kwsync import CancelToken, Client, Cluster, WatchThread  # noqa: E402

LIMIT = 10.0


def read(client: Client) -> dict[str, Any]:
    """Read a stream to its end, while another greenlet goes on."""
    ticks: list[float] = []

    def tick() -> None:
        while True:
            ticks.append(time.monotonic())
            gevent.sleep(0.005)

    ticking = gevent.spawn(tick)
    stream = kwsync.watch_resource("pods", client=client)
    names = [event.key.name for event in stream]
    ticking.kill()
    return {"names": names, "end": stream.end and stream.end.reason, "ticks": len(ticks)}


def end(client: Client, way: str) -> dict[str, Any]:
    """End a stream that waits, by one greenlet what another reads."""
    cancel = {"token": CancelToken, "event": threading.Event}.get(way, lambda: None)()
    stream = kwsync.watch_resource("pods", client=client, cancel=cancel)
    names: list[str] = []
    reader = gevent.spawn(lambda: names.extend(event.key.name for event in stream))
    with gevent.Timeout(LIMIT):
        while not names:
            gevent.sleep(0.001)
        gevent.sleep(0.01)  # so that it waits
        began = time.perf_counter()
        (stream.close if cancel is None else cancel.set)()
        reader.get()
    return {"names": names, "end": stream.end and stream.end.reason, "seconds": time.perf_counter() - began}


def thread(client: Client) -> dict[str, Any]:
    """A WatchThread, which is a greenlet here; its callbacks, its stop."""
    names: list[str] = []
    got = threading.Event()
    watch = WatchThread("pods", client=client, reconnect=False)

    @watch.on_event
    def note(event: kwsync.WatchEvent) -> None:
        names.append(event.key.name)
        got.set()

    with watch:
        came = got.wait(LIMIT)
        healthy = watch.healthy()
    return {"names": names, "came": came, "healthy": healthy, "end": watch.end and watch.end.reason}


def many(client: Client) -> dict[str, Any]:
    """Twenty streams at once, ended by one token."""
    token = CancelToken()
    streams = [kwsync.watch_resource("pods", client=client, cancel=token) for _ in range(20)]
    first = gevent.pool.Pool(20).map(next, streams)
    readers = [gevent.spawn(list, stream) for stream in streams]
    gevent.sleep(0.05)
    token.set()
    with gevent.Timeout(LIMIT):
        rest = [reader.get() for reader in readers]
    return {
        "first": len(first),
        "rest": sum(map(len, rest)),
        "ends": sorted({str(one.end and one.end.reason) for one in streams}),
    }


def main(case: str, url: str, ca_file: str | None = None) -> None:
    """Run one case."""
    with Client(Cluster(url, ca_file=ca_file)) as client:
        name, _, argument = case.partition(":")
        result = globals()[name](client, argument) if argument else globals()[name](client)
    print(json.dumps(result))


if __name__ == "__main__":
    import gevent.pool

    main(*sys.argv[1:])
