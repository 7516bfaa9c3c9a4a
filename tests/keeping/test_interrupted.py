"""Finalizers, signal handlers and Ctrl-C strike anywhere: here at each instruction or line, one after another."""

from __future__ import annotations

import gc
import linecache
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

from kwsync import Store, WatchError, _cache, _deliveries, _handlers, _hub, _indexes, _informer, _single, _threads
from kwsync._cancel import Gate
from kwsync._handlers import Handler
from kwsync._hub import Hub
from kwsync._intake import Intake
from kwsync._keeper import Keeper
from kwsync.testing import pod
from tests.keeping.support import (
    AT_ONCE,
    LIMIT,
    ByHand,
    Told,
    added,
    by_hand,
    deleted,
    in_background,
    modified,
    page,
    wait_until,
)

KEEPING = {module.__file__ for module in (_hub, _cache, _handlers, _deliveries, _indexes, _single)}
STARTING = {module.__file__ for module in (_informer, _single, _threads)}


class Interruption:
    """Run something at the instruction or line with a number, in the code of some files; count them all."""

    def __init__(self, files: set[str | None], event: str, number: int, act: Callable[[], object]) -> None:
        self._files, self._event, self._left, self._act = files, event, number, act
        self.happened = False
        self.waits = False
        """It happened just before the thread goes to sleep, since its number lies behind that."""

    def __enter__(self) -> Interruption:
        sys._getframe().f_trace_opcodes = True  # without which Python 3.12 has no instructions to trace
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        is_ours = frame.f_code.co_filename in self._files
        if frame.f_code is Gate.wait.__code__ and _caller(frame) is Handler._rest.__code__ and not self.happened:
            self.waits = self.happened = True
            sys.settrace(None)
            self._act()
        if not is_ours and frame.f_code is not threading.Thread.start.__code__:
            return None
        frame.f_trace_opcodes = is_ours and self._event == "opcode"
        if event == self._event and not self.happened and (is_ours or self._has_begun(frame)):
            self._left -= 1
            if self._left < 0:
                self.happened = True
                sys.settrace(None)
                self._act()
        return self._trace

    def _has_begun(self, frame: FrameType) -> bool:
        """In Python's own start of a thread, only the wait for what has begun."""
        return "_started.wait" in linecache.getline(frame.f_code.co_filename, frame.f_lineno)


def _caller(frame: FrameType) -> Any:
    return frame.f_back and frame.f_back.f_code


class Prepared:
    """Three objects and two handlers that were told of them; no threads, so that everything happens in one order."""

    def __init__(self) -> None:
        self.errors: list[WatchError] = []
        self.cache = _cache.Cache(("name",))
        self.cache.live()
        self.store = Store(self.cache)
        self.hub = Hub(self.cache, lambda: False)
        indexers = {"name": lambda document: [document["metadata"]["name"], "any"]}
        self.keeper = Keeper(self.cache, self.hub, Intake(None, indexers, self.errors.append), self.errors.append)
        self.handlers = [self.new() for _ in range(3)]
        self.hub.add(self.handlers[0])
        self.hub.add(self.handlers[1])
        self.keeper.take(page("3", *(pod(name, "1") for name in "abc")))

    def new(self) -> Handler:
        """A handler that has not been added."""
        return Handler("handler", {}, self.hub, self.errors.append)

    def read(self) -> None:
        """Whatever is read is a state, and what is found by an index is there."""
        keys = {str(key) for key in self.store}
        for key in keys:
            assert (self.store.get(key) or {})["metadata"]["resourceVersion"] in ("1", "4")
        assert {f"default/{each['metadata']['name']}" for each in self.store.by_index("name", "any")} <= keys
        for name in self.store.index_values("name"):
            self.store.by_index("name", name)
        assert self.store.wait_until("3", 0)
        assert not self.store.wait_until("99", 0)

    def check(self, handler: Handler) -> None:
        """What a handler is told, one after another, makes up what is kept."""
        known: dict[str, str] = {}
        synced = 0
        while (delivery := handler._pop()) is not None:
            name, version = delivery.record.key.name, delivery.record.version
            if delivery.kind == "SYNCED":
                synced += 1
            elif delivery.kind == "DELETED":
                del known[name]
            else:
                assert (name in known) == (delivery.kind == "MODIFIED"), delivery
                known[name] = version
        assert synced == 1
        assert known == {record.key.name: record.version for record in self.cache.records()}


STEPS: dict[str, Callable[[Prepared], object]] = {
    "change": lambda one: one.keeper.take(modified("a", "4")),
    "new": lambda one: one.keeper.take(added("d", "4")),
    "delete": lambda one: one.keeper.take(deleted("a", "4")),
    "list": lambda one: one.keeper.take(page("4", pod("a", "4"), pod("d", "4"))),
    "add": lambda one: one.hub.add(one.handlers[2]),
    "resync": lambda one: one.hub.resync(one.handlers[0]),
    "remove": lambda one: one.handlers[1].remove(),
    "read": lambda one: one.read(),
    "wait": lambda one: one.store.wait_until("99", 0),
}
ACTIONS: dict[str, Callable[[Prepared], object]] = {
    "add": lambda one: one.hub.add(one.new()),
    "remove": lambda one: one.handlers[1].remove(),
    "read": lambda one: one.read(),
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("step", STEPS)
def test_a_finalizer_anywhere(step: str, action: str) -> None:
    """What a finalizer does in the middle of any step waits for nobody, and happens before or after it."""

    def run() -> None:
        number, happened = 0, True
        while happened:
            one = Prepared()
            with Interruption(KEEPING, "opcode", number, lambda one=one: ACTIONS[action](one)) as interruption:  # type: ignore[misc]
                STEPS[step](one)
            happened = interruption.happened
            removed = action == "remove" or step == "remove"
            assert len(one.hub._handlers) == 2 + (step == "add") + (action == "add" and happened) - (
                removed and (happened or step == "remove")
            )
            for handler in one.hub._handlers:
                one.check(handler)
            assert (one.errors, one.hub._leaving, list(one.hub._words)) == ([], (), [])
            number += 1
        assert number > 20

    with in_background(run, limit=50):  # traced code is slow, and each of thousands of instructions has its turn
        pass


@pytest.mark.parametrize("where", ["cache", "handler"])
def test_a_finalizer_under_a_lock(where: str) -> None:
    """One that runs under a lock for which the reading thread waits does not wait for the reading thread."""
    with by_hand(page("1", pod("a", "1"))) as informer:
        registration = informer.add_handler(lambda event: None)
        assert registration.wait_synced(LIMIT)
        late = Told()

        def strike() -> None:
            with locks[where]:
                informer.script.put(modified("a", "2"))
                wait_until(lambda: informer._hub._owner != 0, "the reading thread in the middle of a change")
                started = time.monotonic()
                registration.remove()
                assert informer.store.get("default/a") is not None
                informer.add_handler(**late.callbacks)
                assert time.monotonic() - started < AT_ONCE

        locks = {"cache": informer._cache._lock, "handler": registration._handler._lock}
        with in_background(strike):
            pass
        assert late.wait(2) == ["ADDED a 2 initial", "SYNCED"]
        wait_until(lambda: len(informer._hub.handlers) == 1, "the removal")


class Striking:
    """A lock, and a signal handler that raises when so many of its operations have been done, each of which counts."""

    def __init__(self, left: int) -> None:
        self._lock = threading.RLock()
        self.left = left

    def acquire(self, blocking: bool = True) -> bool:
        return self.strike(self._lock.acquire(blocking))

    def release(self) -> None:
        self._lock.release()
        self.strike(True)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def strike(self, result: bool) -> bool:
        """CPython looks for signals after each call: its result is lost then, but what it did is done."""
        self.left -= 1
        if self.left == -1:
            raise KeyboardInterrupt
        return result


@pytest.mark.parametrize("step", ["add", "remove", "resync"])
def test_a_signal_handler_raises(step: str) -> None:
    """Wherever a step of a user's thread is interrupted, the next change is made, and then the step is done, too."""
    number = 0
    while True:
        one = Prepared()
        one.hub._lock = lock = Striking(number)  # type: ignore[assignment]
        push = one.handlers[2].push
        one.handlers[2].push = lambda delivery: (push(delivery), lock.strike(True))  # type: ignore[assignment,method-assign]  # noqa: B023
        with suppress(KeyboardInterrupt):
            STEPS[step](one)
        happened, lock.left = lock.left < 0, sys.maxsize
        with in_background(lambda one=one: one.keeper.take(modified("b", "4")), f"the change after {number}"):  # type: ignore[misc]
            pass
        assert list(one.hub._words) == [], number
        assert len(one.hub._handlers) == {"add": 3, "resync": 2, "remove": 1}[step], number
        for handler in one.hub._handlers:
            one.check(handler)
        if not happened:
            break
        number += 1
    assert number > 1


class Garbage:
    """Something that the collector finds, and what is then to be done."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act, self._itself = act, self

    def __del__(self) -> None:
        self._act()


@contextmanager
def eager_collector() -> Iterator[None]:
    """The collector runs as often as it can."""
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@pytest.mark.parametrize("action", ["remove", "get", "add", "stop"])
def test_a_finalizer_on_any_thread(action: str) -> None:
    """An informer goes on, or ends, whatever garbage does while it works."""
    informer = ByHand(transform=lambda document: (Garbage(act), document)[1])
    did: list[None] = []

    def act() -> None:
        acts[action]()
        did.append(None)

    acts: dict[str, Callable[[], object]] = {
        "remove": lambda: informer.add_handler(lambda event: None).remove(),
        "get": informer.store.list,
        "add": lambda: len(informer._hub.handlers) > 20 or informer.add_handler(lambda event: None),
        "stop": informer.stop,
    }
    told = informer.tell()
    informer.start()
    with eager_collector():
        informer.script.put(page("1"), *(added(f"n{number}", str(number + 2)) for number in range(200)))
        if action != "stop":
            assert informer.store.wait_until("201", LIMIT)
            told.wait(201)
        wait_until(lambda: len(did) > 0, "garbage")
        informer.stop()
        assert informer.join(LIMIT)
    assert {error.message for error in informer.errors} == set()


def interrupt() -> None:
    """As Ctrl-C does."""
    raise KeyboardInterrupt


def test_start_is_interrupted() -> None:
    """Ctrl-C at any line of start leaves nothing running; it may be started again, and there is one reader."""
    number, happened = 0, True
    while happened:
        informer = ByHand()
        told = informer.tell()
        with Interruption(STARTING, "line", number, interrupt) as interruption, suppress(KeyboardInterrupt):
            informer.start()
        happened = interruption.happened
        where = f"line {number}"
        informer.stop()
        assert informer.join(LIMIT), where
        assert not informer.status.running, where
        assert not informer.wait_synced(LIMIT), where
        with informer:
            informer.give(page("1", pod("a", "1")))
            assert told.wait(2) == ["ADDED a 1 initial", "SYNCED"], where
            readers = [each for each in threading.enumerate() if each.name == "kwsync-informer-pods"]
            assert len(readers) == 1, where
        number += 1
    assert number > 20


def test_rousing_is_interrupted() -> None:
    """Ctrl-C at any line where a handler's thread is started leaves it with one, at once or at the next change."""
    number, happened = 0, True
    while happened:
        with by_hand(page("1", pod("a", "1"))) as informer:
            told = Told()
            handler = Handler(
                "kwsync-handler", _handlers.checked_callbacks(told, told, told, told), informer._hub, print
            )
            informer._hub._handlers += (handler,)
            handler.push(_deliveries.synced("1"))
            files = STARTING | {_handlers.__file__}
            with Interruption(files, "line", number, interrupt) as interruption, suppress(KeyboardInterrupt):
                handler.rouse()
            happened = interruption.happened
            informer.give(added("b", "2"))
            assert told.wait(2) == ["SYNCED", "ADDED b 2"], f"line {number}"
            assert len(told.threads) == 1, f"line {number}"
        number += 1
    assert number > 10


def test_join_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who joins while another thread is starting it waits for what is started, and is not told that nothing runs."""
    informer, go_on, entered = ByHand(), threading.Event(), threading.Event()
    start = threading.Thread.start

    def slow(thread: threading.Thread) -> None:
        if thread.name == "kwsync-informer-pods":
            entered.set()
            assert go_on.wait(LIMIT)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", slow)
    with in_background(informer.start):
        assert entered.wait(LIMIT)
        assert (informer.join(0.01), informer.is_alive()) == (False, True)
        with pytest.raises(RuntimeError, match="runs already"):
            informer.start()
        found: list[bool] = []
        with in_background(lambda: found.append(informer.join(LIMIT))):
            go_on.set()
            informer.stop()
        assert found == [True]


class Full(logging.Handler):
    """Logs to a disk that is full."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Fail."""
        self.count += 1
        raise OSError(28, "No space left on device")


@contextmanager
def full_disk() -> Iterator[Full]:
    """Whatever an informer logs goes to it."""
    full, log = Full(), logging.getLogger("kwsync.informer")
    log.addHandler(full)
    try:
        yield full
    finally:
        log.removeHandler(full)


def refuse(thread: threading.Thread) -> None:
    """As Python does where the system has no thread to give."""
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("what", ["no thread", "callback", "mistake"])
def test_logging_that_fails(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a handler of the user's logging raises ends neither the reading thread nor that of a handler."""
    informer = ByHand(on_error=None)
    told = Told()

    def fail(event: Any) -> None:
        told(event)
        raise ZeroDivisionError

    with full_disk() as full, informer:
        informer.add_handler(**(dict.fromkeys(told.callbacks, fail) if what == "callback" else told.callbacks))
        with monkeypatch.context() as patch:
            if what == "no thread":
                patch.setattr(threading.Thread, "start", refuse)
            informer.give(page("1", pod("a", "1")))
        if what == "mistake":
            informer.script.put(ZeroDivisionError("of ours"))
            assert informer.join(LIMIT)
            assert "of ours" in str(informer.last_error)
        else:
            informer.give(added("b", "2"))
            assert "ADDED b 2" in told.wait(3)
        wait_until(lambda: full.count > 0, "something to log")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_handler_thread_that_dies() -> None:
    """A handler whose thread has died, by a mistake of kwsync's own, has another at the next change."""
    with by_hand(page("1", pod("a", "1"))) as informer:
        told = Told()

        def fail(error: WatchError) -> None:
            raise ZeroDivisionError("of ours")

        def callback(event: Any) -> None:
            told(event)
            raise ValueError

        handler = Handler(
            "kwsync-handler", _handlers.checked_callbacks(callback, None, None, None), informer._hub, fail
        )
        informer._hub.add(handler)
        told.wait(1)
        wait_until(lambda: not handler.is_alive, "its death")
        informer.give(added("b", "2"))
        assert told.wait(2) == ["ADDED a 1 initial", "ADDED b 2"]
        wait_until(lambda: not handler.is_alive, "its death")


@pytest.mark.parametrize("what", ["push", "stop", "remove"])
def test_before_resting(what: str) -> None:
    """A push and an end, at any instruction before a handler's thread sleeps, are not slept through."""
    number, waits = 0, False
    while not waits:
        running, found = [True], list[Any]()
        hub = Hub(_cache.Cache(), lambda running=running: bool(running))  # type: ignore[misc]
        handler = Handler("kwsync-handler", {}, hub, print)
        hub.add(handler)

        def act(handler: Handler = handler, running: list[bool] = running) -> None:
            if what == "push":
                handler.push(_deliveries.synced("1"))
                handler.rouse()
            elif what == "stop":
                running.clear()
                handler.wake()
            else:
                handler.remove()

        interruption = Interruption({_handlers.__file__}, "opcode", number, act)

        def rest(handler: Handler = handler, one: Interruption = interruption, found: list[Any] = found) -> None:
            with one:
                found.append(handler._next())

        assert handler._thread.start(rest)
        ended = handler.join(LIMIT)
        running.clear()
        handler._gate.open()
        assert ended, f"slept after instruction {number}"
        assert (found[0] is not None) == (what == "push")
        waits = interruption.waits
        number += 1
    assert number > 20
