"""Everything at once: writers, watches, and all that may happen to the history, from many threads."""

from __future__ import annotations

import contextlib
import http.client
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwsync.testing import ApiError, ApiServer
from tests.testing.apiserver.wire import MAPS, WIDGETS, Http, Stream, config_map, definition, stalled, widget

STORM_SECONDS = 2.0
LIMIT_SECONDS = 10.0
EVENTS = "/api/v1/namespaces/default/events"
NAMES = [f"m{number}" for number in range(30)]
LARGE = "x" * 100_000
LAST = "the-last"
"""The name of the objects by which a watch knows that it has seen everything."""

Object = dict[str, Any]


class Storm:
    """Threads that do things over and over until they are told to stop; what they must not raise is kept."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.over = threading.Event()
        self.errors: list[BaseException] = []
        self.turns: dict[str, int] = {}
        self._threads: list[threading.Thread] = []

    def add(self, name: str, turn: Callable[[random.Random], object], *expected: type[Exception]) -> None:
        """Another thread; *expected* is what a turn may well raise."""
        self.turns[name] = 0
        thread = threading.Thread(target=self._run, args=(name, turn, expected), name=name, daemon=True)
        self._threads.append(thread)

    def _run(self, name: str, turn: Callable[[random.Random], object], expected: tuple[type[Exception], ...]) -> None:
        chance = random.Random(name)
        try:
            while not self.over.is_set():
                self.turns[name] += 1
                try:
                    turn(chance)
                except expected:
                    # Refused: without a pause this thread alone would have the processor.
                    self.over.wait(0.001)
        except BaseException as error:  # noqa: BLE001 - the test is to hear of it
            self.errors.append(error)

    def rage(self, seconds: float) -> None:
        """Let all of them run for some time; AssertionError when one does not end or has failed."""
        for thread in self._threads:
            thread.start()
        stopped = self.over.wait(seconds)
        self.over.set()
        deadline = time.monotonic() + LIMIT_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        assert not stopped
        assert [thread.name for thread in self._threads if thread.is_alive()] == []
        assert self.errors == []


def event(name: str, message: str = "") -> Object:
    """An Event, which is of the kind without a cache."""
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "message": message}


def write(server: ApiServer, make: Callable[..., Object], plural: str) -> Callable[[random.Random], None]:
    """Create, change or delete an object from Python."""

    def turn(chance: random.Random) -> None:
        name, what = chance.choice(NAMES), chance.random()
        if what < 0.4:
            server.create(make(name))
        elif what < 0.8:
            server.patch(plural, name, {"metadata": {"labels": {"x": str(chance.random())}}})
        else:
            server.delete(plural, name)

    return turn


def send(server: ApiServer, stack: contextlib.ExitStack) -> Callable[[random.Random], None]:
    """The same over one connection, which is made anew when it was cut."""
    client = stack.enter_context(contextlib.closing(Http(server)))

    def turn(chance: random.Random) -> None:
        name = chance.choice(NAMES)
        try:
            client("POST", MAPS, config_map(name))
            client("PUT", f"{MAPS}/{name}", config_map(name, k=str(chance.random())))
            client("DELETE", f"{MAPS}/{name}")
        except (OSError, http.client.HTTPException):
            client.close()
            raise

    return turn


def follow(stream: Stream, known: dict[str, str]) -> Iterator[str]:
    """Note what a watch tells, and give each name; what it tells must be possible and in order."""
    last = 0
    while True:
        one = stream.event()
        if one["type"] in ("ERROR", "BOOKMARK"):
            assert one["object"].get("code") in (None, 410), one
            continue
        metadata = one["object"]["metadata"]
        name, version = metadata["name"], int(metadata["resourceVersion"])
        assert (name in known) is (one["type"] != "ADDED"), (one["type"], name, known)
        if one["type"] == "DELETED":
            del known[name]
        else:
            known[name] = metadata["resourceVersion"]
        # The state at the beginning is in the order of names.
        assert version > last or one["type"] == "ADDED"
        last = max(last, version)
        yield name


class Follower:
    """A watch that begins anew whenever it ends; what it knows in the end must be what there is."""

    def __init__(self, server: ApiServer, path: str) -> None:
        self.known: dict[str, str] = {}
        self.streams = 0
        self._server = server
        self._path = path
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.error: BaseException | None = None
        self._thread.start()

    def _run(self) -> None:
        deadline = time.monotonic() + STORM_SECONDS + LIMIT_SECONDS
        try:
            while time.monotonic() < deadline and not self._seen_all():
                pass
        except BaseException as error:  # noqa: BLE001
            self.error = error

    def _seen_all(self) -> bool:
        self.known = {}
        # It was cut, or could not connect; or the path is not served now.
        with (
            contextlib.suppress(OSError, http.client.HTTPException, IndexError, Broken),
            contextlib.ExitStack() as stack,
        ):
            stream = stack.enter_context(contextlib.closing(Stream(self._server, self._path)))
            self.streams += 1
            stack.enter_context(broken())
            return stream.status == 200 and LAST in follow(stream, self.known)
        return False

    def join(self) -> dict[str, str]:
        """Wait until it has seen the last object, and give all that it knows."""
        self._thread.join(LIMIT_SECONDS)
        assert not self._thread.is_alive(), f"{self._path}: has not seen the end, but {sorted(self.known)}"
        if self.error is not None:
            raise self.error
        return self.known


class Broken(Exception):
    """A stream is over."""


@contextlib.contextmanager
def broken() -> Iterator[None]:
    """Tell the end of a stream, which `Stream` asserts against, from what this test asserts."""
    try:
        yield
    except AssertionError as error:
        if error.args and error.args[0] in ("the body broke off", "the chunk broke off", "the stream has ended"):
            raise Broken from None
        raise


def listed(server: ApiServer, path: str) -> dict[str, str]:
    """What a fresh list has, page by page."""
    found: dict[str, str] = {}
    with contextlib.closing(Http(server)) as client:
        token = ""
        while True:
            body = client.get(path, **{"limit": 7, "continue": token}).body
            found.update((one["metadata"]["name"], one["metadata"]["resourceVersion"]) for one in body["items"])
            token = body["metadata"].get("continue", "")
            if not token:
                return found


def redefine(server: ApiServer) -> Callable[[random.Random], None]:
    """Define a kind, write some of it, and take it all away."""

    def turn(chance: random.Random) -> None:
        server.create(definition())
        for number in range(20):
            server.create(widget(f"m{number}", size=chance.random()))
        server.delete("crd", "widgets.example.com")

    return turn


def stall(server: ApiServer) -> Callable[[random.Random], None]:
    """Begin watches and do not read them, while there is much to be read."""

    def turn(_: random.Random) -> None:
        with stalled(server, 3):
            with contextlib.suppress(ApiError):
                server.create(config_map("large"))
            for number in range(60):
                server.patch("configmaps", "large", {"data": {"k": f"{number}{LARGE}"}})

    return turn


def forget(server: ApiServer) -> Callable[[random.Random], None]:
    """Forget history, in one way or another."""
    ways = [server.forget_history, server.compact, lambda: server.compact(cached=True), server.end_watches]

    def turn(chance: random.Random) -> None:
        with contextlib.suppress(TimeoutError):
            server.wait_for_requests(len(server.requests) + 10, 0.02)
        chance.choice(ways)()

    return turn


def cut(server: ApiServer) -> Callable[[random.Random], None]:
    """Restart, or go back in time, each time after a few more requests."""

    def turn(chance: random.Random) -> None:
        with contextlib.suppress(TimeoutError):
            server.wait_for_requests(len(server.requests) + 50, 0.2)
        if chance.random() < 0.5:
            server.restart()
        else:
            server.go_back(max(1, int(server.resource_version) - chance.randrange(200)))

    return turn


@pytest.fixture
def many_switches() -> Iterator[None]:
    """Let threads take turns more often, for more ways in which they can meet."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(before / 20)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("many_switches")
@pytest.mark.parametrize("seed", range(2))
def test_everything_at_once(seed: int) -> None:
    """No deadlock, no exception in a thread; and then lists, watches and Python agree on what there is.

    A watch that is not cut tells each change once and in order, whatever becomes of the history meanwhile.
    """
    kinds = {"configmaps": MAPS, "events": EVENTS, "widgets": WIDGETS}
    with ApiServer(history=500, watch_buffer=50) as server, contextlib.ExitStack() as stack:
        storm = Storm(server)
        for number in range(2):
            storm.add(f"maps {seed} {number}", write(server, config_map, "configmaps"), ApiError)
            storm.add(f"events {seed} {number}", write(server, event, "events"), ApiError)
            storm.add(f"client {seed} {number}", send(server, stack), OSError, http.client.HTTPException)
        storm.add(f"widgets {seed}", write(server, widget, "widgets"), ApiError, ValueError)
        storm.add(f"definitions {seed}", redefine(server), ApiError, ValueError)
        storm.add(f"stall {seed}", stall(server), ApiError, OSError, AssertionError)
        storm.add(f"forget {seed}", forget(server))
        storm.add(f"cut {seed}", cut(server), ValueError)
        followers = [(plural, Follower(server, path)) for plural, path in kinds.items() for _ in range(3)]
        storm.rage(STORM_SECONDS)
        with contextlib.suppress(ApiError):
            server.create(definition())
        for make in (config_map, event, widget):
            server.create(make(LAST))
        for plural, follower in followers:
            state = {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in server.list(plural)}
            assert follower.join() == state == listed(server, kinds[plural])
        # That it was a storm; a busy machine does not get far.
        assert min(storm.turns.values()) > 0, storm.turns
        assert max(follower.streams for _, follower in followers) > 1
