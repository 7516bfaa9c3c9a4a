"""Several streams at once, handed on one by one to the thread that prints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, Full, Queue
from typing import Protocol

import attrs

from kwsync import CancelToken, WatchEvent
from kwsync._clock import monotonic
from kwsync._threads import make_thread

_WAITING = 1000
"""Events that wait for the printer; then the streams wait, and their servers' windows fill."""

_POLL_SECONDS = 0.1
_JOIN_SECONDS = 2.0

Source = Callable[[], Iterator[WatchEvent]]


@attrs.frozen
class _Failed:
    error: Exception


_Queue = Queue["tuple[int, WatchEvent | _Failed]"]


class Handler(Protocol):
    """Who takes the events."""

    def handle(self, number: int, event: WatchEvent) -> None:
        """One event of the source of this number."""

    def tick(self) -> float:
        """Do what is due by the clock; the seconds until something may be due again. Called before each wait."""

    def finish(self) -> None:
        """The time is over."""


def gather(sources: Sequence[Source], cancel: CancelToken, handler: Handler, seconds: float | None) -> None:
    """Hand each event of each source to *handler*, on this thread, for *seconds* or for ever.

    Each source runs on a thread of its own. What one of them raises ends all. *cancel* is set at the end.
    """
    queue: _Queue = Queue(_WAITING)
    runs = [_runner(number, source, queue, cancel) for number, source in enumerate(sources)]
    threads = [make_thread(run, f"kwsync-cli-{number}") for number, run in enumerate(runs)]
    try:
        for thread in threads:
            thread.start()
        _hand_on(queue, handler, seconds)
    finally:
        cancel.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join(_JOIN_SECONDS)


def _runner(number: int, source: Source, queue: _Queue, cancel: CancelToken) -> Callable[[], None]:
    def run() -> None:
        try:
            for event in source():
                if not _put(queue, (number, event), cancel):
                    return
        except Exception as error:  # noqa: BLE001 - the main thread raises it
            _put(queue, (number, _Failed(error)), cancel)

    return run


def _put(queue: _Queue, item: tuple[int, WatchEvent | _Failed], cancel: CancelToken) -> bool:
    """False when nobody will take it any more."""
    while not cancel.is_set():
        try:
            queue.put(item, timeout=_POLL_SECONDS)
        except Full:
            continue
        return True
    return False


def _hand_on(queue: _Queue, handler: Handler, seconds: float | None) -> None:
    end = math.inf if seconds is None else monotonic() + seconds
    while (remaining := end - monotonic()) > 0:
        try:
            number, item = queue.get(timeout=min(remaining, handler.tick()))
        except Empty:
            continue
        if isinstance(item, _Failed):
            raise item.error
        handler.handle(number, item)
    handler.finish()
