"""Whom an election tells: the user's callbacks, the thread each is called on, and what becomes of what they raise."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from kwsync._callbacks import callback_error
from kwsync._single import SingleThread
from kwsync.errors import ErrorOrigin, WatchError

log = logging.getLogger("kwsync.election")

Callback = Callable[..., object]


class Announcer:
    """Calls the callbacks of one elector; what they raise goes no further, but for Ctrl-C, which is none of theirs."""

    def __init__(self, name: str, callbacks: dict[str, Callback | None]) -> None:
        for key, callback in callbacks.items():
            if callback is not None and not callable(callback):
                raise TypeError(f"{key} must be callable, not {type(callback).__name__}")
        self._name = name
        self._callbacks = {key: callback for key, callback in callbacks.items() if callback is not None}
        self._leaders: deque[str] = deque()
        self._thread = SingleThread(f"kwsync-new-leader-{name}", self._wake)

    def stopped(self, led: bool) -> None:
        """A campaign is over; called here."""
        self._call("on_stopped", led)

    def new_leader(self, identity: str) -> None:
        """Another leads; called on a thread of its own, one after another."""
        if "on_new_leader" in self._callbacks:
            self._leaders.append(identity)
            with suppress(OSError):  # the system has no thread to give: then with the next one
                self._wake()

    def report(self, error: WatchError) -> None:
        """Something went wrong; told here, or to the log."""
        with suppress(Exception):  # what a handler of the user's logging raises ends nothing either
            self._report(error)

    def abandon(self) -> None:
        """In a forked child: there is nothing to tell."""
        self._leaders = deque()
        self._thread.abandon()

    def _call(self, key: str, argument: object) -> None:
        callback = self._callbacks.get(key)
        if callback is None:
            return
        try:
            callback(argument)
        except KeyboardInterrupt:  # the election may run on the main thread
            raise
        except BaseException as raised:  # noqa: BLE001 - SystemExit, too: it is told, and ends nothing
            self.report(callback_error(key, raised))

    def _report(self, error: WatchError) -> None:
        on_error = self._callbacks.get("on_error")
        if on_error is None:
            raised = error.__cause__ if error.origin is ErrorOrigin.CALLBACK else None
            log.warning("election of %s: %s", self._name, error, exc_info=raised)
            return
        try:
            on_error(error)
        except KeyboardInterrupt:
            raise
        except BaseException:
            log.exception("election of %s: on_error raised", self._name)

    def _wake(self) -> None:
        if self._leaders:
            self._thread.start(self._tell_leaders)

    def _tell_leaders(self) -> None:
        while self._leaders:
            self._call("on_new_leader", self._leaders.popleft())
