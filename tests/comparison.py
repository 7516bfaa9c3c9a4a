"""What the README says of other clients, tried against a scripted server: ``python -m tests.comparison lightkube``.

A client runs in a process of its own, since some leave blocked threads behind; its findings are printed as JSON, by the
names of the README's rows.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import kwsync
from kwsync import _watch
from kwsync.testing import (
    Blackhole,
    End,
    Event,
    Fin,
    Gzip,
    Head,
    Head1,
    Http,
    List,
    NoHead,
    Raw,
    ScriptedServer,
    Stall,
    pod,
    status,
)

SOON = 1.0
"""Seconds within which a client does at once what it does at all; the server keeps its streams open for longer."""

BUSY = 20
"""Watches within `SOON` that are no backoff any more."""


class Driver(Protocol):
    """A client that watches pods."""

    def events(self, url: str, seconds: int | None) -> Iterator[Any]:
        """What its loop gives; *seconds* is when the server is asked to end the stream."""

    def stop(self) -> None:
        """What its documentation has to end the loop from another thread."""


class Kwsync:
    """Ours: one stream, or as many as it takes."""

    def __init__(self) -> None:
        self._stream: kwsync.WatchStream | None = None

    def follow(self, url: str) -> Iterator[Any]:
        """What `kwsync.list_and_watch` gives, but for SYNCED and errors, which others do not have as values."""
        stream = kwsync.list_and_watch("pods", client=kwsync.Client(kwsync.Cluster(url)), namespace="default")
        return (event for event in stream if event.object is not None)

    def events(self, url: str, seconds: int | None) -> Iterator[Any]:
        self._stream = kwsync.watch_resource(
            "pods", client=kwsync.Client(kwsync.Cluster(url)), namespace="default", timeout_seconds=seconds
        )
        return self._stream

    def stop(self) -> None:
        assert self._stream is not None
        self._stream.close()


class Official:
    """kubernetes, with its default models."""

    def __init__(self) -> None:
        self._kubernetes: Any = importlib.import_module("kubernetes")
        self._watch = self._kubernetes.watch.Watch()

    def events(self, url: str, seconds: int | None) -> Iterator[Any]:
        client = self._kubernetes.client
        api = client.CoreV1Api(client.ApiClient(client.Configuration(host=url)))
        options = {} if seconds is None else {"timeout_seconds": seconds}  # with it, even None, it would not go on
        return self._watch.stream(api.list_namespaced_pod, "default", **options)  # type: ignore[no-any-return]

    def stop(self) -> None:
        self._watch.stop()


class Lightkube:
    """lightkube."""

    def __init__(self) -> None:
        self._lightkube: Any = importlib.import_module("lightkube")
        self._pod: Any = importlib.import_module("lightkube.resources.core_v1").Pod
        self._models: Any = importlib.import_module("lightkube.config.models")
        self._loop: Any = None

    def events(self, url: str, seconds: int | None) -> Iterator[Any]:
        cluster, user = self._models.Cluster(server=url), self._models.User()
        config = self._lightkube.KubeConfig.from_one(cluster=cluster, user=user)
        client = self._lightkube.Client(config=config, trust_env=False)
        self._loop = client.watch(self._pod, namespace="default", server_timeout=seconds)
        return self._loop  # type: ignore[no-any-return]

    def stop(self) -> None:
        self._loop.close()


DRIVERS: dict[str, Callable[[], Driver]] = {"kwsync": Kwsync, "official": Official, "lightkube": Lightkube}


class Run:
    """One loop over a client's events, on a thread of its own."""

    def __init__(
        self,
        driver: Driver,
        *scripts: list[Any],
        default: list[Any] | None = None,
        seconds: int | None = None,
        follow: bool = False,
    ) -> None:
        self.server = ScriptedServer(*scripts, default=default or [Head(), Stall()])
        self.server.start()
        self.given: list[Any] = []
        self.error: Exception | None = None
        self._news = threading.Condition()
        self._over = False
        self._follow = follow
        self._thread = threading.Thread(target=self._loop, args=(driver, seconds), daemon=True)
        self._thread.start()

    def _loop(self, driver: Driver, seconds: int | None) -> None:
        try:
            for event in self._events(driver, seconds):
                with self._news:
                    self.given.append(event)
                    self._news.notify_all()
        except Exception as error:  # noqa: BLE001 - it is what is asked for
            self.error = error
        with self._news:
            self._over = True
            self._news.notify_all()

    def _events(self, driver: Driver, seconds: int | None) -> Iterator[Any]:
        if self._follow and isinstance(driver, Kwsync):
            return driver.follow(self.server.url)
        return driver.events(self.server.url, seconds)

    def has_given(self, count: int, seconds: float = SOON) -> bool:
        """Whether so many events come in time."""
        with self._news:
            self._news.wait_for(lambda: self._over or len(self.given) >= count, seconds)
            return len(self.given) >= count

    def has_ended(self, seconds: float = SOON) -> bool:
        """Whether the loop ends in time."""
        with self._news:
            return self._news.wait_for(lambda: self._over, seconds)


def one(name: str = "a", version: str = "1") -> Event:
    return Event("ADDED", pod(name, version))


def line(name: str, **annotations: str) -> bytes:
    document = pod(name, "2")
    document["metadata"]["annotations"] = annotations
    return json.dumps({"type": "ADDED", "object": document}, ensure_ascii=False).encode() + b"\n"


def errors_are_values(driver: Driver) -> str:
    run = Run(driver, default=[Http(403, status(403, "Forbidden", "no"))])
    run.has_ended()
    return "no" if run.error else "yes" if run.given else "nothing"


def ended_while_idle(driver: Driver) -> str:
    run = Run(driver, [Head(), one(), Stall()])
    assert run.has_given(1), run.error
    return _stopped(driver, run)


def ended_without_headers(driver: Driver) -> str:
    run = Run(driver, [NoHead()], default=[NoHead()])
    run.server.wait_for_requests(1)
    return _stopped(driver, run)


def _stopped(driver: Driver, run: Run) -> str:
    try:
        driver.stop()
    except ValueError:  # a generator that runs cannot be closed
        return "no"
    if not run.has_ended():
        return "no"
    return "raises" if run.error else "at once"


def silent_peer(driver: Driver) -> str:
    _watch.GRACE_SECONDS = 0.2
    run = Run(driver, [Head(), one(), Blackhole()], default=[Blackhole()], seconds=1)
    return "noticed at the deadline" if run.has_ended(1 + 2 * SOON) else "hangs"


def blank_line(driver: Driver) -> str:
    run = Run(driver, [Head(), one(), Raw(b"\n"), one("b", "2"), Stall()])
    run.has_given(3)
    if run.error:
        return "dies"
    return "yields None" if None in run.given else "nothing" if len(run.given) == 2 else "loses"


def next_line_character(driver: Driver) -> str:
    run = Run(driver, [Head(), Raw(line("a", text="one\x85two")), Stall()])
    return "fine" if run.has_given(1) else "dies" if run.error else "loses"


def gzip_members(driver: Driver) -> str:
    head = Head(headers={"Content-Encoding": "gzip"})
    run = Run(driver, [head, Gzip(line("a")), Gzip(line("b")), Gzip(line("c")), Stall()])
    [request, *_] = run.server.wait_for_requests(1)
    count = 3 if run.has_given(3) else len(run.given)
    # What asks for no compression gets none from a real server, but kwsync reads it all the same.
    if count < 3 and "gzip" not in request.headers.get("Accept-Encoding", ""):
        return "not asked for"
    return {3: "fine", 1: "first only"}.get(count, f"{count} of 3")


def not_chunked(driver: Driver) -> str:
    run = Run(driver, [Head1(), Raw(line("a")), Stall()])
    return "as it comes" if run.has_given(1) else "at its end"


def reconnects(driver: Driver) -> str:
    """After a clean end, and after one that is none."""
    clean, cut = (_goes_on(driver, end) for end in (End(), Fin()))
    return {(True, True): "yes", (False, False): "no"}.get((clean, cut), "partly")


def _goes_on(driver: Driver, end: Any) -> bool:
    """The list is for those alone who ask for one."""
    state = [[List("1", [])]] if isinstance(driver, Kwsync) else []
    run = Run(type(driver)(), *state, [Head(), one(), end], default=[Head(), one("b", "2"), Stall()], follow=True)
    return run.has_given(2, 3 * SOON)


def odd_error(driver: Driver) -> str:
    """An ERROR whose object is no Status."""
    run = Run(driver, [Head(), Raw(b'{"type":"ERROR","object":{"kind":"Status"}}\n'), End()])
    run.has_ended()
    return type(run.error).__name__ if run.error else "a value"


def expired(driver: Driver) -> str:
    """A stream that says 410, again and again."""
    gone = Event("ERROR", status(410, "Expired", "too old"))
    run = Run(driver, default=[Head(), one(), gone, End()])
    time.sleep(SOON)
    return "hot loop" if len(run.server.requests) > BUSY else "ends" if run.has_ended(0) else "backs off"


ROWS = {
    "errors are values": errors_are_values,
    "ended from another thread while idle": ended_while_idle,
    "ended while headers are awaited": ended_without_headers,
    "a peer that has gone silent": silent_peer,
    "a blank line": blank_line,
    "U+0085 inside a string": next_line_character,
    "one gzip member for each event": gzip_members,
    "a body that is not chunked": not_chunked,
    "reconnects by itself": reconnects,
}
"""As the README names them."""

MORE = {"an odd ERROR": odd_error, "a 410 in the stream": expired}
"""What the README says elsewhere."""


def main(name: str) -> None:
    """Try all with one client, which has loaded before what it loads late."""
    assert Run(DRIVERS[name](), [Head(), one(), Stall()]).has_given(1, 30), "the client does not work at all"
    found = {row: check(DRIVERS[name]()) for row, check in {**ROWS, **MORE}.items()}
    print(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)  # whatever still blocks


if __name__ == "__main__":
    main(sys.argv[1])
