"""Controllers over informers whose steps are made by hand, and a reconcile that does what a test says."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kwsync import Controller, ObjectKey
from kwsync.ratelimit import Exponential
from tests.keeping.support import LIMIT, wait_until


class Reconciler:
    """Notes each key; gives, raises or calls one answer after another, then succeeds."""

    def __init__(self, *answers: Any) -> None:
        self.answers = deque(answers)
        self.keys: list[Any] = []
        self.threads: list[threading.Thread] = []

    def __call__(self, key: Any) -> Any:
        """Reconcile a key."""
        self.threads.append(threading.current_thread())
        self.keys.append(key)
        answer = self.answers.popleft() if self.answers else None
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer

    def wait(self, count: int) -> list[Any]:
        """Wait until so many calls have begun."""
        wait_until(lambda: len(self.keys) >= count, f"{count} calls; there are {self.keys}")
        return list(self.keys)


class Held:
    """An answer that holds a call up until the test lets it go on."""

    def __init__(self, then: Any = None) -> None:
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self._then = then

    def __call__(self) -> Any:
        """Wait."""
        self.entered.set()
        assert self.go_on.wait(LIMIT), "nobody let the call go on"
        if isinstance(self._then, BaseException):
            raise self._then
        return self._then

    def wait(self) -> None:
        """Wait until the call is held up."""
        assert self.entered.wait(LIMIT), "it was never called"


class Failed:
    """An on_error that notes."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, BaseException]] = []
        self.threads: list[str] = []

    def __call__(self, key: Any, error: BaseException) -> None:
        """Note a failure."""
        self.told.append((key, error))
        self.threads.append(threading.current_thread().name)

    def wait(self, count: int) -> list[tuple[Any, BaseException]]:
        """Wait until so many were told."""
        wait_until(lambda: len(self.told) >= count, f"{count} failures; there are {self.told}")
        return list(self.told)


def key(name: str, namespace: str = "default") -> ObjectKey:
    """The key of a pod."""
    return ObjectKey(namespace, name)


def quick(reconcile: Callable[[Any], Any], **options: Any) -> Controller[Any]:
    """A controller whose retries take milliseconds."""
    if "queue" not in options:
        options.setdefault("rate_limiter", Exponential(0.001, 0.01))
    return Controller(reconcile, **{"name": "test", **options})


@contextmanager
def started(controller: Controller[Any]) -> Iterator[Controller[Any]]:
    """A controller that runs; it has to end well."""
    controller.start()
    try:
        yield controller
    finally:
        ended = controller.stop(LIMIT)
    assert ended, f"{controller!r} did not end: {controller.running}"
    assert not controller.is_alive()
    assert controller.running == []


def idle(controller: Controller[Any]) -> None:
    """Wait until nothing waits and nothing is in work."""
    wait_until(
        lambda: (controller.queue.metrics.depth, controller.queue.metrics.processing) == (0, 0),
        f"{controller!r} to be idle",
    )
