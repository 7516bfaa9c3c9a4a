"""What a server keeps is bounded, however long it runs and whoever does not read."""

from __future__ import annotations

import contextlib
import gc
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from kwsync.testing import ApiServer
from kwsync.testing._headers import Headers
from kwsync.testing._request import Request
from kwsync.testing.apiserver._bounds import Bounds
from kwsync.testing.apiserver._recent import RecentRequests
from tests.testing.apiserver.wire import MAPS, Http, config_map, stalled

MEBIBYTE = 1 << 20
VALUE = "x" * 50_000


@pytest.fixture
def traced() -> Iterator[Callable[[], float]]:
    """Tells how many MiB Python holds that were allocated since the beginning of the test."""

    def held() -> float:
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / MEBIBYTE

    tracemalloc.start()
    try:
        yield held
    finally:
        tracemalloc.stop()


def request(body: bytes = b"") -> Request:
    """One request."""
    return Request("GET", "/api", "/api", {}, "", Headers(), body)


class TestRequests:
    def test_number(self) -> None:
        """The last ones are kept, in order; it is known how many came before them."""
        recent, made = RecentRequests(Bounds(100, MEBIBYTE)), [request() for _ in range(1_000)]
        for one in made:
            recent.append(one)
            assert len(recent) <= 100
        assert len(recent) >= 75
        assert list(recent) == made[recent.forgotten :]

    def test_bytes(self) -> None:
        """Large bodies count; the last request is kept whatever its size."""
        recent = RecentRequests(Bounds(100, 1_000))
        for _ in range(50):
            recent.append(request(b"x" * 300))
            assert sum(len(one.body) for one in recent) <= 1_000
        recent.append(request(b"x" * 5_000))
        assert [len(one.body) for one in recent] == [5_000]

    def test_taken_out(self) -> None:
        """The list is the user's: what was taken out of it does not count any more."""
        recent = RecentRequests(Bounds(100, 1_000))
        for _ in range(10):
            recent.append(request(b"x" * 300))
            recent.clear()
        assert (len(recent), recent.forgotten) == (0, 0)
        recent.extend(request(b"x" * 300) for _ in range(2))
        recent.append(request(b"x" * 300))
        assert (len(recent), recent.forgotten) == (3, 0)

    def test_waited_for(self, api_server: ApiServer, http: Http) -> None:
        """Those that are forgotten count when requests are waited for."""
        api_server._recent._bounds = Bounds(4, MEBIBYTE)
        for _ in range(10):
            http.list_maps()
        found = api_server.wait_for_requests(10)
        assert api_server.requests[: len(found)] == found
        assert len(found) + api_server._recent.forgotten == 10


class TestWriter:
    def test_long_running(self, traced: Callable[[], float]) -> None:
        """A writer may go on for ever: history, requests and objects do not grow, also with a watch that reads."""
        with ApiServer(history_bytes=MEBIBYTE) as server, contextlib.closing(Http(server)) as http:
            server._recent._bounds = Bounds(10_000, MEBIBYTE)
            path = f"{MAPS}/a"
            server.create(config_map("a", k=VALUE))

            def write(times: int) -> float:
                for number in range(times):
                    body = config_map("a", k=f"{VALUE}{number}")
                    assert http("PUT", path, body).status == 200
                    server.patch("configmaps", "a", {"data": {"k": f"{number}{VALUE}"}})
                return traced()

            write(50)
            # Two copies of each change are kept, of MiB each: the object and its JSON.
            before = write(50)
            assert write(200) < before + 1
        assert before < 8

    def test_pages(self, traced: Callable[[], float]) -> None:
        """Pages that nobody asks for any more hold nothing once their version is forgotten."""
        with ApiServer(history=10) as server, contextlib.closing(Http(server)) as http:
            for number in range(20):
                server.create(config_map(f"m{number:02}", k=VALUE))
            before = traced()
            for number in range(20):
                token = http.list_maps(limit=1).body["metadata"]["continue"]
                server.patch("configmaps", f"m{number:02}", {"data": {"k": f"{number}{VALUE}"}})
                http.list_maps(**{"limit": 1, "continue": token})
            for _ in range(20):
                server.patch("configmaps", "m00", {"data": {"k": f"{number}"}})
                server.patch("configmaps", "m00", {"data": {"k": f"{number} "}})
            assert traced() < before + 2


class TestReaders:
    def test_stalled(self, traced: Callable[[], float]) -> None:
        """Readers that stall cost no more than one buffer and what is on its way to each."""
        with ApiServer(history_bytes=MEBIBYTE, watch_buffer_bytes=MEBIBYTE) as server, stalled(server, 40):
            most = 0.0
            for number in range(300):
                server.create(config_map("a", k=f"{number}{VALUE}"))
                server.delete("configmaps", "a")
                most = max(most, tracemalloc.get_traced_memory()[0] / MEBIBYTE)
        # Each has at most 64 KiB and an event on its way.
        assert most < 40 * 0.25 + 10

    def test_stalled_at_the_beginning(self, traced: Callable[[], float]) -> None:
        """A large state goes out piece by piece: it is not put together for each watch."""
        with ApiServer() as server:
            for number in range(400):
                server.create(config_map(f"m{number:03}", k=VALUE))
            before = traced()
            with stalled(server, 20):
                server.create(config_map("z"))
                assert traced() < before + 20
        assert before > 19

    def test_beginning_is_let_go(self, traced: Callable[[], float]) -> None:
        """An open watch does not hold the objects that it began with."""
        with ApiServer(history=2) as server, contextlib.ExitStack() as stack:
            before = traced()
            for number in range(200):
                server.create(config_map(f"m{number:03}", k=VALUE))
            stream = stack.enter_context(contextlib.closing(Http(server)))
            stream.connection.request("GET", f"{MAPS}?watch=1")
            answer = stream.connection.getresponse()
            for _ in range(200):
                answer.readline()
            for number in range(200):
                server.delete("configmaps", f"m{number:03}")
            for _ in range(200):
                answer.readline()
            assert traced() < before + 3
            answer.close()
