"""`kwsync.testing.ApiServer`: in a process of its own, where its writers are, too; the readers are here.

The readers only count lines, so that it is the server that is measured.
"""

from __future__ import annotations

import http.client
import json
import re
import selectors
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

from kwsync.testing import ApiServer

from .children import Child, running
from .report import Figure, Settings, at_least, at_most, percentile, spread

SECTION = "server"
LIMIT_SECONDS = 120.0
PATH = "/api/v1/namespaces/default/configmaps"
WATCHES = 200
PAGE = 500
STALLED = 50
TICK_SECONDS = 0.005


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """Writes into one watch and many, past stalled ones, over HTTP; pages; from a write to its event; start, stop."""
    with running("apiserver") as child:
        port = int(child.hear())
        count = settings.pick(50_000, 500)
        seconds = _into_watches(child, port, 1, f"create {count}", count)
        yield Figure(SECTION, "creations into one watch", count / seconds, "1/s", at_least(10_000), {"writes": count})
        yield _pages(port, count)
        count = settings.pick(50_000, 500)
        seconds = _into_watches(child, port, 1, f"change {count}", count)
        yield Figure(SECTION, "changes into one watch", count / seconds, "1/s", at_least(10_000), {"writes": count})
        count = settings.pick(500, 5)
        seconds = _into_watches(child, port, WATCHES, f"change {count}", count)
        events = {"watches": WATCHES, "writes": count}
        name = "events out of changes into many watches"
        yield Figure(SECTION, name, WATCHES * count / seconds, "1/s", at_least(10_000), events)
        count = settings.pick(10_000, 500)
        seconds = float(child.ask(f"stall {count}"))
        about = {"writes": count, "stalled": STALLED}
        yield Figure(SECTION, "changes, many readers stalled", count / seconds, "1/s", at_least(500), about)
        count = settings.pick(5_000, 100)
        seconds = _over_http(port, count)
        yield Figure(
            SECTION, "creations over one connection", count / seconds, "1/s", at_least(1_000), {"writes": count}
        )
        times = _ticks(child, port, settings.pick(2_000, 50))
        yield Figure(SECTION, "write to event", percentile(times, 99), "ms p99", at_most(10), spread(times))
        times = [float(word) for word in child.ask(f"cycle {settings.pick(100, 5)}").split()]
        yield Figure(SECTION, "start and stop", percentile(times, 50), "ms p50", at_most(20), spread(times))


class _Reader:
    """An open watch from now on, whose lines are counted."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_SECONDS)
        version = _get(port, f"{PATH}?limit=1").decode()
        start = re.search(r'"resourceVersion":"(\d+)"', version)
        assert start, version
        self.socket.sendall(f"GET {PATH}?watch=1&resourceVersion={start[1]} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.socket.recv(1)
        assert head.startswith(b"HTTP/1.1 200 "), head
        self.lines = 0

    def read(self) -> bytes:
        """What has come."""
        data = self.socket.recv(1 << 20)
        assert data, f"the watch ended after {self.lines} events"
        self.lines += data.count(b"}\n")
        return data

    def close(self) -> None:
        """Go away."""
        self.socket.close()


def _get(port: int, path: str) -> bytes:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_SECONDS)) as connection:
        connection.request("GET", path)
        return connection.getresponse().read()


def _into_watches(child: Child, port: int, watches: int, command: str, count: int) -> float:
    """Seconds from the first write until each watch has had all events."""
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        for _ in range(watches):
            reader = stack.enter_context(closing(_Reader(port)))
            selector.register(reader.socket, selectors.EVENT_READ, reader)
        start = time.perf_counter()
        child.say(command)
        while selector.get_map():
            for key, _ in selector.select(LIMIT_SECONDS):
                key.data.read()
                if key.data.lines >= count:
                    selector.unregister(key.fileobj)
        seconds = time.perf_counter() - start
        child.hear()
    return seconds


def _over_http(port: int, count: int) -> float:
    """Seconds of so many creations, one after the other."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_SECONDS)) as connection:
        start = time.perf_counter()
        for number in range(count):
            body = json.dumps(_config_map(f"h-{number:06}", key="value"))
            connection.request("POST", PATH, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            assert response.status == 201, response.status
        return time.perf_counter() - start


def _pages(port: int, count: int) -> Figure:
    """A list of everything, page by page over one connection."""
    pages, token = 0, ""
    start = time.perf_counter()
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_SECONDS)) as connection:
        while pages == 0 or token:
            connection.request("GET", f"{PATH}?limit={PAGE}&continue={token}")
            found = re.search(rb'"continue":"([^"]+)"', connection.getresponse().read())
            token = found[1].decode() if found else ""
            pages += 1
    seconds = time.perf_counter() - start
    assert pages >= count / PAGE, pages
    return Figure(SECTION, "list in pages", seconds, "s", at_most(5), {"objects": count, "pages": pages})


def _ticks(child: Child, port: int, count: int) -> list[float]:
    """Milliseconds from before each write until its line has come."""
    times: list[float] = []
    with closing(_Reader(port)) as reader:
        child.say(f"tick {count}")
        while reader.lines < count:
            data = reader.read()
            now = time.monotonic_ns()
            times += [(now - int(sent)) / 1e6 for sent in re.findall(rb'"sent":"(\d+)"', data)]
        child.hear()
    return times


def _config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _create(server: ApiServer, count: int) -> str:
    for number in range(count):
        server.create(_config_map(f"m-{number:06}", key="value"))
    return "done"


def _change(server: ApiServer, count: int) -> str:
    for number in range(count):
        server.patch("configmaps", f"m-{number % 100:06}", {"data": {"key": f"value {time.monotonic_ns()}"}})
    return "done"


def _tick(server: ApiServer, count: int) -> str:
    for _ in range(count):
        time.sleep(TICK_SECONDS)
        server.patch("configmaps", "m-000000", {"data": {"sent": str(time.monotonic_ns())}})
    return "done"


def _stall(_: ApiServer, count: int) -> str:
    """Seconds that the writes take when watches have been begun and are not read, until they are cut and after."""
    with ApiServer() as server, ExitStack() as stack:
        server.create(_config_map("m"))
        for _watch in range(STALLED):
            stack.enter_context(closing(_Reader(server.port)))
        start = time.perf_counter()
        for number in range(count):
            server.patch("configmaps", "m", {"data": {"key": f"{number:02000}"}})
        return str(time.perf_counter() - start)


def _cycle(server: ApiServer, count: int) -> str:
    times = []
    for _ in range(count):
        start = time.perf_counter()
        with ApiServer():
            pass
        times.append((time.perf_counter() - start) * 1000)
    return " ".join(map(str, times))


COMMANDS = {"create": _create, "change": _change, "tick": _tick, "stall": _stall, "cycle": _cycle}


def main() -> None:
    """Print the port, then do what each line of the input says."""
    with ApiServer(watch_buffer=100_000) as server:
        print(server.port, flush=True)
        for line in sys.stdin:
            command, count = line.split()
            print(COMMANDS[command](server, int(count)), flush=True)


if __name__ == "__main__":
    main()
