"""One run of a controller, from a start to its end: its queue, what fills it, and what ends it.

Ending takes no lock that a signal handler could find taken. Whoever is last cleans up: it does not matter who that is,
nor if two think so.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import attrs

from kwsync import _clock
from kwsync._cancel import POLL_SECONDS, CancelToken, Gate, Guard, Interrupted, cancelled_by
from kwsync._events import WatchEvent
from kwsync._handlers import HandlerRegistration
from kwsync._informer import Informer
from kwsync._queue import WorkQueue
from kwsync.errors import ErrorOrigin, WatchError, local_error
from kwsync.mapping import Mapper, Predicate, keys_for, own_key

log = logging.getLogger("kwsync.controller")

T = TypeVar("T", bound=Hashable)
FailureCallback = Callable[[Any, BaseException], object]


class Failures:
    """Tells failures to *on_error*, or to the log where there is none; never fails. From any thread."""

    def __init__(self, name: str, on_error: FailureCallback | None) -> None:
        if on_error is not None and not callable(on_error):
            raise TypeError(f"on_error must be callable, not {type(on_error).__name__}")
        self._name = name
        self._on_error = on_error

    def __call__(self, key: object, error: BaseException) -> None:
        """Report one; *key* is None where it has none."""
        with suppress(Exception):  # what a handler of the user's logging raises ends nothing
            self._tell(key, error)

    def _tell(self, key: object, error: BaseException) -> None:
        if self._on_error is None:
            log.warning("%s: %s", self._name, "failed" if key is None else f"{key} failed", exc_info=error)
            return
        try:
            self._on_error(key, error)
        except BaseException:  # SystemExit, too: nothing that it raises ends a worker
            log.exception("%s: on_error raised", self._name)


@attrs.frozen(eq=False)
class Feed:
    """An informer, and what of it is whose work."""

    informer: Informer
    mapper: Mapper
    when: Predicate | None

    @classmethod
    def checked(cls, informer: Informer, mapper: Mapper | None, when: Predicate | None) -> Feed:
        """As the user gives it, with None for an object's own key; TypeError for what is of another kind."""
        if not isinstance(informer, Informer):
            raise TypeError(f"watch takes a kwsync.Informer, not {type(informer).__name__}")
        for name, function in (("map", mapper), ("when", when)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} must be callable, not {type(function).__name__}")
        return cls(informer, mapper or own_key, when)

    def fill(self, queue: WorkQueue[Any], failures: Failures, event: WatchEvent) -> None:
        """Add the keys of an event. A predicate that raises counts as true, so that nothing is lost by it."""
        try:
            if self._counts(event, failures):
                for key in keys_for(event, self.mapper):
                    queue.add(key)
        except BaseException as raised:  # noqa: BLE001 - SystemExit, too: a function of the user's ends no handler
            failures(None, raised)

    def _counts(self, event: WatchEvent, failures: Failures) -> bool:
        try:
            return self.when is None or bool(self.when(event))
        except BaseException as raised:  # noqa: BLE001 - as above
            failures(None, raised)
            return True


class ControllerRun(Generic[T]):
    """From one start to its end."""

    def __init__(self, queue: WorkQueue[T], workers: Sequence[object]) -> None:
        self.queue = queue
        self.stopping = CancelToken()
        """Take up nothing new."""
        self.ready = CancelToken()
        """All caches are there, or are not waited for any more."""
        self.over = CancelToken()
        """Nothing is worked on any more."""
        self.failure: BaseException | None = None
        """Why it has ended by itself."""
        self.watched: list[tuple[Informer, HandlerRegistration]] = []
        self._started: list[Informer] = []
        self._working = dict.fromkeys(workers)
        self._chances = [True]
        self._next: dict[str, ControllerRun[T]] = {}
        self._pid = os.getpid()

    @property
    def is_ours(self) -> bool:
        """Does it belong to this process, and not to one that this was forked from?"""
        return self._pid == os.getpid()

    @property
    def has_begun(self) -> bool:
        """Has somebody taken it, if only to begin it?"""
        return not self._chances

    @property
    def has_ended(self) -> bool:
        """Is it told to end, or over?"""
        return self.stopping.is_set() or self.over.is_set()

    def wait(self, cancel: threading.Event | None) -> None:
        """Until *cancel* is set, or nothing is worked on any more."""
        guard = Guard()
        with suppress(Interrupted), cancelled_by(guard, cancel), cancelled_by(guard, self.over):
            guard.wait(Gate())

    def take(self) -> bool:
        """True for the first who asks, which is atomic, and who then begins it."""
        self._pid = os.getpid()
        try:
            return self._chances.pop()
        except IndexError:
            return False

    def following(self, run: ControllerRun[T]) -> ControllerRun[T]:
        """The one after it: *run*, or that of who has asked before."""
        return self._next.setdefault("run", run)

    def watch(self, feed: Feed, failures: Failures) -> None:
        """Fill the queue from it, and start its informer if it does not run."""

        def fill(event: WatchEvent) -> None:
            feed.fill(self.queue, failures, event)

        informer = feed.informer
        self.watched.append((informer, informer.add_handler(fill, fill, fill)))
        if not informer.status.running:
            self._started.append(informer)  # before it is so, for what is started must be ended
            if not informer._start():  # atomic: of two controllers that begin at once one has started it
                self._started.remove(informer)

    def wait_for_caches(self, timeout: float | None) -> None:
        """Until the queue has all keys there are, or it is stopping; `WatchError` naming what does not come."""
        end = _clock.deadline(timeout)
        if self.stopping.is_set():
            return  # from now on, whoever ends it finds all registrations, and lets go of who waits for them
        for informer, registration in self.watched:
            if not (registration.wait_synced(_clock.seconds_left(end)) and self._wait_for_state(informer, end)):
                if not self.stopping.is_set():
                    raise _not_synced(informer, timeout)
                return
        self.ready.set()

    def _wait_for_state(self, informer: Informer, end: float | None) -> bool:
        """A handler is content with what an earlier run of the informer has left; what counts is this run's list.

        As a rule it is there. Where somebody else has started the informer anew, nothing but time wakes us.
        """
        while not informer.wait_synced(POLL_SECONDS):
            if self.stopping.is_set() or not informer.status.running or _clock.seconds_left(end) == 0:
                return False
        return True

    def end(self) -> None:
        """Take up nothing new, and let those go who wait. From any thread, a callback or a signal handler."""
        self.stopping.set()
        self.ready.set()
        self.queue.shut_down()
        self._listen_no_more()

    def _listen_no_more(self) -> None:
        for _, registration in self.watched.copy():
            registration.remove()

    def fail(self, error: BaseException) -> None:
        """End by itself."""
        self.failure = error
        self.end()

    def leave(self, worker: object) -> None:
        """It works no more; who leaves last cleans up."""
        self._working.pop(worker, None)
        if not self._working:
            self.finish()

    def finish(self) -> None:
        """Nobody works any more. The informers go last, so that what was working could still read."""
        self._listen_no_more()  # once more, for what was begun while it was being ended
        for informer in self._started.copy():
            informer.stop()
        self.over.set()

    def join(self, end: float | None) -> bool:
        """Wait until no informer of its own runs and none of its handlers is being called; False in one of these."""
        try:
            handlers = [registration.join(_clock.seconds_left(end)) for _, registration in self.watched.copy()]
            return all(handlers) and all([informer.join(_clock.seconds_left(end)) for informer in self._started.copy()])  # noqa: C419 - each is asked
        except RuntimeError:
            return False

    def abandon(self, queue: WorkQueue[T]) -> None:
        """In a forked child, where nobody works: *queue* is one whose lock nobody held."""
        self.queue = queue
        if self.has_begun:
            self.stopping.set()
        self._working.clear()


def _not_synced(informer: Informer, timeout: float | None) -> WatchError:
    is_late, last = informer.status.running, informer.last_error
    why = f"has no full state after {timeout} s" if is_late else "does not run (any more)"
    because = "" if last is None else f"; its last error: {last}"
    error = local_error(ErrorOrigin.TIMEOUT if is_late else ErrorOrigin.CONFIG, f"{informer!r} {why}{because}")
    error.__cause__ = last
    return error
