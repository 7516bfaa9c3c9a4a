"""How many requests a follower sends to a server that always fails, in ten seconds of real time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

from kwsync import Client, Cluster, list_and_watch
from kwsync.testing import End, Event, Head, Http, List, Rst, ScriptedServer, Step, pod, status

from .report import Figure, Settings, at_most

SECTION = "failing"
SECONDS = 10
MOST = 9

NO_EVENT = [Head(), End()]
ONE_EVENT = [Head(), Event("ADDED", pod("a", "11")), Rst()]
SERVERS: dict[str, tuple[list[Step], list[Step]]] = {
    "403": ([Http(403, status(403))], []),
    "429": ([Http(429, "slow down")], []),
    "500": ([Http(500, status(500))], []),
    "reset": ([Rst()], []),
    "410 of each watch": ([List("10", [])], [Http(410, status(410, "Expired"))]),
    "watches that end at once": ([List("10", [])], NO_EVENT),
    "watches that break after an event": ([List("10", [])], ONE_EVENT),
    "429 of each watch": ([List("10", [])], [Http(429, "slow down")]),
}


def measure(settings: Settings, _url: str) -> Iterator[Figure]:
    """One follower for each kind of failure, all at once, with the ordinary waits."""
    seconds = settings.pick(SECONDS, 1)
    with ExitStack() as stack:
        servers = {name: stack.enter_context(_serving(*steps)) for name, steps in SERVERS.items()}
        for server in servers.values():
            _follow(stack, server.url)
        refusals = _Refusals(stack)
        threading.Event().wait(seconds)
        counts = {name: len(server.requests) for name, server in servers.items()} | {"refused": refusals.count}
    for name, count in counts.items():
        yield Figure(SECTION, f"requests in {seconds} s, {name}", count, "", at_most(MOST))


class _Refusals:
    """A port where nobody listens; what is tried there is told as an error each time."""

    def __init__(self, stack: ExitStack) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        self.count = 0
        _follow(stack, url, self._error)

    def _error(self) -> None:
        self.count += 1


def _serving(lists: list[Step], watches: list[Step]) -> ScriptedServer:
    server = ScriptedServer(default=lists)
    if watches:
        server.on(lambda request: "watch" in request.query, *watches)
    return server


def _follow(stack: ExitStack, url: str, on_error: object = None) -> None:
    client = stack.enter_context(Client(Cluster(url)))
    stream = stack.enter_context(list_and_watch("pods", client=client))

    def read() -> None:
        for event in stream:
            if event.error is not None and callable(on_error):
                on_error()

    threading.Thread(target=read, name="kwsync-bench-failing", daemon=True).start()
