"""Applications that fork their workers, run by test_prefork.py; the server's URL is in ``KWSYNC_TEST_SERVER``.

For gunicorn this module is the application and, as ``python:tests.cancel.prefork_program``, its configuration. Run as
a program it is a pool of processes, as Celery's, and prints what its workers tell.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

from kwsync import Client, Cluster, WatchThread

LIMIT = 10.0

# Before the fork: all of it is made, nothing is used except for the client.
client = Client(Cluster(os.environ.get("KWSYNC_TEST_SERVER", "http://127.0.0.1:1")))
names: list[str] = []
got = threading.Event()
thread = WatchThread("pods", client=client, reconnect=False)
in_master = WatchThread("pods", client=client, reconnect=False, thread_name="in-master")


@thread.on_added
def remember(event: Any) -> None:
    """Keep the names."""
    names.append(event.key.name)
    got.set()


def state() -> dict[str, Any]:
    """What a worker tells of itself."""
    came = got.wait(LIMIT)
    return {
        "pid": os.getpid(),
        "came": came,
        "names": names,
        "alive": thread.is_alive(),
        "healthy": thread.healthy(),
        "master's": in_master.is_alive(),
        "version": client.request("GET", "/version"),
    }


# gunicorn: the application


def application(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """Answer with the worker's state."""
    start_response("200 OK", [("Content-Type", "application/json"), ("Connection", "close")])
    return [json.dumps(state()).encode()]


# gunicorn: its configuration

wsgi_app = "tests.cancel.prefork_program:application"
workers = 2
preload_app = True
graceful_timeout = 5


def when_ready(server: object) -> None:
    """In the master: the client is used, and a thread of its own started."""
    client.request("GET", "/version")
    in_master.start()


def post_fork(server: object, worker: object) -> None:
    """In each worker."""
    thread.start()


def worker_exit(server: object, worker: object) -> None:
    """In each worker, at its end."""
    thread.stop()
    assert thread.join(LIMIT)


# A pool of processes


def begin() -> None:
    """In each worker of the pool."""
    thread.start()


def ask(barrier_seconds: float) -> dict[str, Any]:
    """One task; it waits so that each worker gets one."""
    threading.Event().wait(barrier_seconds)
    return state()


def main() -> None:
    """Two workers, one task for each, as it happens to be distributed."""
    client.request("GET", "/version")
    in_master.start()
    with multiprocessing.get_context("fork").Pool(2, begin) as pool:
        answers = pool.map(ask, [0.2, 0.2], chunksize=1)
    running = in_master.is_alive()
    in_master.stop()
    print(json.dumps({"answers": answers, "running": running, "ended": in_master.join(LIMIT)}))


if __name__ == "__main__":
    main()
