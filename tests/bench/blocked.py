"""Watches on threads of their own, and the way to know that one of them waits."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from kwsync import CancelToken, Client, EndReason, WatchThread, watch_resource

LOOKS = 3
"""So often in a row a thread must be seen at one place of the code to count as waiting there."""
LOOK_SECONDS = 0.001
LIMIT_SECONDS = 30.0

WAYS = ("CancelToken", "close()", "stop()", "Event")
"""How to end a watch; ``Event`` is a plain one, which is polled."""


class Watch:
    """A watch that runs, what ends it, and when its ``next()`` returned."""

    cancel: Callable[[], None]

    def __init__(self, client: Client, way: str) -> None:
        self.seen = 0
        self.returned = 0.0
        self.reason: EndReason | None = None
        self._thread = self._begin(client, way)

    def _begin(self, client: Client, way: str) -> threading.Thread:
        if way == "stop()":
            watch = WatchThread("pods", client=client, reconnect=False, on_event=self._saw, thread_name="kwsync-bench")
            watch.on_end(lambda end: self._ended(end.reason))
            self.cancel = watch.stop
            watch.start()
            return next(thread for thread in threading.enumerate() if thread.name == "kwsync-bench")
        event = {"CancelToken": CancelToken, "Event": threading.Event}.get(way, lambda: None)()
        stream = watch_resource("pods", client=client, cancel=event)
        self.cancel = stream.close if event is None else event.set

        def read() -> None:
            for one in stream:
                self._saw(one)
            self._ended(stream.end.reason if stream.end else None)

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    def wait_until_blocked(self, seen: int) -> None:
        """Wait until *seen* events have come and the thread stays where it is; TimeoutError after half a minute."""
        limit = time.monotonic() + LIMIT_SECONDS
        place: object = None
        same = 0
        while same < LOOKS:
            if time.monotonic() > limit:
                raise TimeoutError(f"the watch did not come to a rest: {self.seen} events, ended by {self.reason}")
            time.sleep(LOOK_SECONDS)
            now = self._place()
            same = same + 1 if now == place and self.seen >= seen else 0
            place = now

    def join(self) -> None:
        """Wait until the watch has ended, as it should; else RuntimeError."""
        self._thread.join(LIMIT_SECONDS)
        if self.reason not in (EndReason.CANCELLED, EndReason.CLOSED):
            raise RuntimeError(f"the watch ended by {self.reason}")

    def _place(self) -> object:
        frame = sys._current_frames().get(self._thread.ident or 0)
        return frame and (id(frame), frame.f_lasti)

    def _saw(self, event: object) -> None:
        self.seen += 1

    def _ended(self, reason: EndReason | None) -> None:
        self.returned = time.perf_counter()
        self.reason = reason
