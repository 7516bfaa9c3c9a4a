"""Electors on the server in memory, with short times, that note what they are told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kwsync import CancelToken, Client, ElectionEnd, LeaderElector, Leadership, WatchError, _call, _clock
from kwsync.testing import ApiServer
from tests.keeping.support import AT_ONCE, LIMIT, wait_until

__all__ = [
    "AT_ONCE",
    "BRIEF",
    "LIMIT",
    "PATH",
    "QUICK",
    "Later",
    "Notes",
    "Running",
    "holder",
    "running",
    "spec",
    "wait_until",
]

QUICK: dict[str, Any] = {"lease_duration": 3, "renew_deadline": 2.0, "retry_period": 0.03}
"""Many renewals in a short time, and a busy machine loses nothing."""

BRIEF: dict[str, Any] = {"lease_duration": 1, "renew_deadline": 0.4, "retry_period": 0.03}
"""A loss is soon there."""

PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases*"


def spec(server: ApiServer) -> dict[str, Any]:
    """What stands in the Lease."""
    found: dict[str, Any] = server.get("leases", "lead", "default")["spec"]
    return found


def holder(server: ApiServer) -> str:
    """Who stands in it; empty without one."""
    leases = server.list("leases", "default")
    return str(leases[0]["spec"].get("holderIdentity", "")) if leases else ""


class Later:
    """A clock that is ahead by so many seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        real = _clock.monotonic
        for room in (_clock, _call):
            monkeypatch.setattr(room, "monotonic", lambda: real() + self.seconds)


class Notes:
    """What an elector told, and work that goes on until it is told to end, or longer."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.errors: list[WatchError] = []
        self.leaderships: list[Leadership] = []
        self.threads: dict[str, str] = {}
        self.may_end = threading.Event()
        self.may_end.set()

    def work(self, leadership: Leadership) -> None:
        """Leading work."""
        self.note("started")
        self.leaderships.append(leadership)
        assert leadership.cancel.wait(LIMIT), "nobody told the work to end"
        self.note("told to end")
        assert self.may_end.wait(LIMIT), "nobody let the work end"
        self.note("ended")

    def stopped(self, led: bool) -> None:
        """A campaign is over."""
        self.note(f"stopped {led}")

    def new_leader(self, identity: str) -> None:
        """Another leads."""
        self.threads["new leader"] = threading.current_thread().name
        self.events.append(f"leader {identity}")

    def note(self, event: str) -> None:
        """Note it, and where it was told."""
        self.threads[event] = threading.current_thread().name
        self.events.append(event)

    @property
    def story(self) -> list[str]:
        """Without the leaders, who are told of beside it."""
        return [event for event in self.events.copy() if not event.startswith("leader")]

    def wait(self, event: str, count: int = 1) -> None:
        """Until it was noted so often."""
        wait_until(lambda: self.events.count(event) >= count, f"{event!r}; there are {self.events}, {self.errors}")

    def elector(self, client: Client, identity: str = "a", **more: Any) -> LeaderElector:
        """One that tells all of it here."""
        given: dict[str, Any] = {
            **QUICK,
            "namespace": "default",
            "on_started": self.work,
            "on_stopped": self.stopped,
            "on_new_leader": self.new_leader,
            "on_error": self.errors.append,
            **more,
        }
        return LeaderElector(client, name="lead", identity=identity, **given)


class Running:
    """An elector that runs on a thread of a test's."""

    def __init__(self, elector: LeaderElector, run: Callable[[threading.Event], ElectionEnd]) -> None:
        self.elector = elector
        self.cancel: threading.Event = CancelToken()
        self.ends: list[ElectionEnd] = []
        self.raised: list[BaseException] = []
        self._run = run
        self.thread = threading.Thread(target=self._go, name="election of a test", daemon=True)

    def _go(self) -> None:
        try:
            self.ends.append(self._run(self.cancel))
        except BaseException as error:  # noqa: BLE001 - the test asks for it
            self.raised.append(error)

    def end(self, limit: float = LIMIT) -> ElectionEnd:
        """Cancel it and wait for its end."""
        self.cancel.set()
        return self.join(limit)

    def join(self, limit: float = LIMIT) -> ElectionEnd:
        """Wait for its end."""
        self.thread.join(limit)
        assert not self.thread.is_alive(), f"it did not end in {limit} s: {self.elector!r}"
        if self.raised:
            raise self.raised[0]
        return self.ends[0]


@contextmanager
def running(
    elector: LeaderElector,
    run: Callable[[threading.Event], ElectionEnd] | None = None,
    cancel: threading.Event | None = None,
) -> Iterator[Running]:
    """Run it beside the block."""
    made = Running(elector, run or elector.run)
    made.cancel = cancel or made.cancel
    made.thread.start()
    try:
        yield made
    finally:
        made.cancel.set()
        made.thread.join(LIMIT)
        assert not made.thread.is_alive(), "it did not end"
