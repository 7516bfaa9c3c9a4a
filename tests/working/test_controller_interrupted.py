"""Signal handlers strike anywhere: here at each line of a controller's start and run, one after another."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from kwsync import (
    CancelToken,
    Controller,
    WorkQueue,
    _controller,
    _crew,
    _delays,
    _queue,
    _worker,
    _working,
    _worklist,
    ratelimit,
)
from kwsync.testing import pod
from tests.keeping.support import AT_ONCE, LIMIT, ByHand, in_background, page, wait_until
from tests.keeping.test_interrupted import Interruption
from tests.working.controllers import Held, Reconciler, quick, started

FILES = {module.__file__ for module in (_controller, _crew, _worker, _working)}
QUEUE_FILES = {module.__file__ for module in (_queue, _worklist, _delays, ratelimit)}


class Alarm(Exception):
    """What a handler raises."""


def interrupt() -> None:
    """Such a handler."""
    raise Alarm


class Scene:
    """A controller of two informers, one of which runs already."""

    def __init__(self) -> None:
        self.reconciler = Reconciler()
        self.theirs, self.own = ByHand(), ByHand()
        self.theirs.start()
        self.controller: Controller[Any] = quick(self.reconciler, workers=2)
        self.controller.watch(self.theirs)
        self.controller.watch(self.own)

    def check(self) -> None:
        """It has ended, and nothing is left but what was there before; and it may be started again."""
        assert self.controller.join(LIMIT), f"{self.controller!r}, {self.controller.running}"
        assert not self.controller.is_alive()
        assert self.theirs.is_alive()
        assert not self.own.is_alive()
        assert self.theirs._hub.handlers == self.own._hub.handlers == ()
        with started(self.controller):
            self.theirs.give(page("1", pod("a")))
            self.own.give(page("1", pod("b")))
            self.reconciler.wait(2)
        self.theirs.stop()
        assert self.theirs.join(LIMIT)


def each_line(call: Callable[[Scene], object], act: Callable[[Scene], object]) -> int:
    """Let *act* happen at one line of *call* after another, each time with a new scene; how many there are."""
    number = 0
    while True:
        scene = Scene()
        interruption = Interruption(FILES, "line", number, lambda: act(scene))  # noqa: B023
        broken = True
        with suppress(Alarm), interruption:
            call(scene)
            broken = False
        if broken or not scene.controller.stopping.is_set():  # a stop that is broken off, too, may be called again
            scene.controller.stop(LIMIT)
        scene.check()
        if not interruption.happened:
            return number
        number += 1


def test_start_is_interrupted() -> None:
    """A handler that raises in a start: what was begun is ended, and a later start is a whole one."""
    assert each_line(lambda scene: scene.controller.start(), lambda scene: interrupt()) > 30


def test_stop_in_a_handler_while_it_starts() -> None:
    """A handler that stops it, and waits: it ends, whatever had been begun; before the start it does nothing."""
    assert each_line(lambda scene: scene.controller.start(), lambda scene: scene.controller.stop(LIMIT)) > 30


@pytest.mark.parametrize("act", ["raises", "sets the event"])
def test_run_is_interrupted(act: str) -> None:
    """So in run(): nothing goes on behind the back of who was interrupted."""
    tokens: list[CancelToken] = []

    def run(scene: Scene) -> None:
        token = CancelToken()
        tokens.append(token)

        def cancel() -> None:
            wait_until(lambda: token.is_set() or scene.own.is_alive(), "the start")
            token.set()

        try:
            with in_background(cancel):
                scene.controller.run(token)
        finally:
            token.set()

    def end(scene: Scene) -> None:
        tokens[-1].set()
        if act == "raises":
            interrupt()

    assert each_line(run, end) > 30


STEPS: dict[str, Callable[[WorkQueue[Any]], object]] = {
    "add": lambda work: work.add("new"),
    "add_after": lambda work: work.add_after("new", 100),
    "add_after no time": lambda work: work.add_after("new", 0, replace=True),
    "cancel_delay": lambda work: work.cancel_delay("later"),
    "add_rate_limited": lambda work: work.add_rate_limited("new"),
    "forget": lambda work: work.forget("new"),
    "retries": lambda work: work.retries("new"),
    "len": len,
    "metrics": lambda work: work.metrics,
    "repr": repr,
}


@pytest.mark.parametrize("step", STEPS)
def test_stop_in_a_handler_while_the_queue_is_used(step: str) -> None:
    """A handler stops it, for ever if need be, in the middle of what this thread does with the queue: where the worker
    needs what this thread holds it does not wait, and is False; and the controller ends afterwards.
    """
    number, happened, answers = 0, True, set()
    while happened:
        held = Held(ValueError("it needs the limiter and the queue"))
        controller = quick(Reconciler(held), on_error=lambda name, error: None)
        controller.enqueue("later", after=100)
        controller.enqueue("busy")
        controller.start()
        held.wait()

        def stop() -> None:
            held.go_on.set()  # noqa: B023
            start = time.monotonic()
            answers.add(controller.stop(LIMIT))  # noqa: B023
            assert time.monotonic() - start < AT_ONCE

        with Interruption(QUEUE_FILES, "line", number, stop) as interruption:
            STEPS[step](controller.queue)
        happened = interruption.happened
        held.go_on.set()
        assert controller.stop(LIMIT), f"line {number}"
        number += 1
    assert answers >= {False}
    assert number > 1
