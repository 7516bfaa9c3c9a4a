"""What the tests of writes share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from kwsync import Client
from kwsync.testing import ApiServer
from tests.contract.support import failure
from tests.keeping.support import AT_ONCE, LIMIT, in_background, wait_until

__all__ = ["AT_ONCE", "LIMIT", "Object", "config_map", "failure", "in_background", "sent", "together", "wait_until"]

Object = dict[str, Any]


def config_map(client: Client, namespace: str, name: str = "a", **metadata: Any) -> Object:
    """A new one, as stored, with a count of 0."""
    new = {"metadata": {"name": name, **metadata}, "data": {"count": "0"}}
    return client.create("configmaps", new, namespace)


def sent(server: ApiServer, *methods: str) -> list[str]:
    """The methods of all requests so far, or of those of some methods."""
    return [each.method for each in server.requests if not methods or each.method in methods]


def together(works: Sequence[Callable[[], object]]) -> None:
    """Do all of it at once, each on a thread of its own; what one of them raises is raised."""
    start = threading.Barrier(len(works))
    raised: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            start.wait(LIMIT)
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised again
            raised.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * LIMIT)
        assert not thread.is_alive(), "a thread hung"
    if raised:
        raise raised[0]
