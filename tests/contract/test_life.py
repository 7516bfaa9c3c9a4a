"""Watches in use: how soon they tell, how they are ended, and on a thread of their own."""

from __future__ import annotations

import itertools
import queue
import statistics
import threading
import time
from collections.abc import Callable

import pytest

from kwsync import (
    CancelledError,
    CancelToken,
    EndReason,
    ErrorOrigin,
    WatchEnd,
    WatchError,
    WatchEvent,
    WatchStream,
    WatchThread,
)
from tests.contract.support import SECONDS, Place, told, version_of

LIMIT = 10.0


class Following:
    """A stream that is read on a thread of the test."""

    def __init__(self, stream: WatchStream) -> None:
        self.stream = stream
        self.seen: queue.Queue[tuple[float, WatchEvent]] = queue.Queue()
        self.thread = threading.Thread(target=self._run, name="test-following", daemon=True)
        self.thread.start()

    def next(self) -> tuple[float, WatchEvent]:
        """The next event, and when it came."""
        return self.seen.get(timeout=LIMIT)

    def ended(self) -> WatchEnd | None:
        """The end of the stream, which must have come by itself or be told by the test before."""
        self.thread.join(LIMIT)
        assert not self.thread.is_alive(), f"{self.stream} did not end within {LIMIT} s"
        return self.stream.end

    def _run(self) -> None:
        for event in self.stream:
            self.seen.put((time.monotonic(), event))


ENDINGS: list[tuple[str, Callable[[WatchStream, threading.Event], None], Callable[[], threading.Event], EndReason]] = [
    ("token", lambda stream, cancel: cancel.set(), CancelToken, EndReason.CANCELLED),
    ("event", lambda stream, cancel: cancel.set(), threading.Event, EndReason.CANCELLED),
    ("close", lambda stream, cancel: stream.close(), CancelToken, EndReason.CLOSED),
]


class TestEnding:
    @pytest.mark.parametrize(("end", "make", "reason"), [pytest.param(*one[1:], id=one[0]) for one in ENDINGS])
    @pytest.mark.parametrize("told_before", [False, True])
    def test_idle(
        self,
        maps: Place,
        end: Callable[[WatchStream, threading.Event], None],
        make: Callable[[], threading.Event],
        reason: EndReason,
        told_before: bool,
    ) -> None:
        """A watch that waits for the server ends within a tenth of a second when it is told to, without an event."""
        maps.create("a")
        start = maps.version()
        cancel = make()
        following = Following(maps.watch(resource_version=None if told_before else start, cancel=cancel))
        if told_before:
            following.next()
        else:
            maps.create("b")
            following.next()
        began = time.monotonic()
        end(following.stream, cancel)
        assert following.ended() == WatchEnd(reason)
        assert time.monotonic() - began < 0.5
        assert following.seen.empty()

    def test_verb(self, maps: Place) -> None:
        """A verb that waits for the server, here for a version that does not come, can be cancelled as well."""
        cancel = CancelToken()
        timer = threading.Timer(0.2, cancel.set)
        timer.start()
        began = time.monotonic()
        with pytest.raises(CancelledError):
            maps.objects(resource_version="999999999", page_size=None, cancel=cancel)
        assert time.monotonic() - began < 1.0
        timer.join()

    def test_deadline(self, maps: Place) -> None:
        """And has its own deadline."""
        with pytest.raises(WatchError) as caught:
            maps.objects(resource_version="999999999", page_size=None, timeout=0.3)
        assert caught.value.origin is ErrorOrigin.TIMEOUT


class TestLatency:
    def test_recorded(self, maps: Place, record_property: Callable[[str, object], None]) -> None:
        """How long from the start of a write to its event is recorded; only the worst, two seconds, is a failure."""
        maps.create("a")
        maps.version()
        following = Following(maps.watch())
        following.next()
        delays = []
        for _ in range(50):
            began = time.monotonic()
            version = version_of(maps.change("a"))
            came, event = following.next()
            assert event.resource_version == version
            delays.append((came - began) * 1000)
        following.stream.close()
        following.ended()
        record_property("write_to_event_ms", [round(value, 1) for value in statistics.quantiles(delays, n=4)])
        assert max(delays) < 2000

    def test_last_activity(self, maps: Place) -> None:
        """The stream tells how long ago the last byte came."""
        maps.create("a")
        maps.version()
        with maps.watch() as stream:
            assert stream.last_activity is None
            next(stream)
            assert stream.last_activity is not None
            assert 0 <= stream.last_activity < 1


class TestThread:
    def test_callbacks(self, maps: Place) -> None:
        """Each event goes to its callbacks in the server's order, and the end of the stream is the thread's end."""
        start = maps.version()
        seen: list[tuple[str, str]] = []
        ends: list[WatchEnd] = []

        def note(name: str) -> Callable[[WatchEvent], None]:
            return lambda event: seen.append((name, event.key.name))

        thread = WatchThread(
            "configmaps",
            client=maps.client,
            namespace=maps.namespace,
            resource_version=start,
            timeout_seconds=1,
            reconnect=False,
            on_event=note("event"),
            on_added=note("added"),
            on_modified=note("modified"),
            on_deleted=note("deleted"),
            on_end=ends.append,
        )
        maps.create("a")
        maps.change("a")
        maps.delete("a")
        thread.start()
        assert thread.join(LIMIT), "the thread did not end with its stream"
        kinds = ["added", "modified", "deleted"]
        assert seen == list(itertools.chain.from_iterable((("event", "a"), (kind, "a")) for kind in kinds))
        assert ends == [WatchEnd(EndReason.SERVER_CLOSED)]

    def test_stopped(self, maps: Place) -> None:
        """Leaving its block stops it at once, however long the server would go on."""
        maps.create("a")
        maps.version()
        came = threading.Event()
        thread = WatchThread(
            "configmaps",
            client=maps.client,
            namespace=maps.namespace,
            timeout_seconds=SECONDS,
            reconnect=False,
            on_added=lambda event: came.set(),
        )
        with thread:
            assert came.wait(LIMIT), "no event"
            assert thread.healthy()
        assert not thread.is_alive()
        assert thread.end == WatchEnd(EndReason.CLOSED)

    def test_error(self, maps: Place) -> None:
        """What the server refuses goes to on_error, and is the end."""
        errors: list[WatchError] = []
        thread = WatchThread(
            "configmaps",
            client=maps.client,
            namespace=maps.namespace,
            resource_version="x",
            reconnect=False,
            on_error=errors.append,
        )
        thread.start()
        assert thread.join(LIMIT), "the thread did not end"
        (error,) = errors
        assert error.is_permanent
        assert thread.end == WatchEnd(EndReason.ERROR, error)


def test_slow_consumer(maps: Place) -> None:
    """Events wait for a consumer that is slow; it may write itself between two of them."""
    start = maps.version()
    names = [f"m{number:03}" for number in range(30)]
    for name in names:
        maps.create(name)
    with maps.watch(resource_version=start) as stream:
        written = [version_of(maps.change(event.key.name)) for event in itertools.islice(stream, len(names))]
        assert told([next(stream) for _ in names]) == [
            ("MODIFIED", name, version) for name, version in zip(names, written, strict=True)
        ]
