"""A signal handler runs anywhere: here it runs at each instruction of each step of the queue, one after another."""

from __future__ import annotations

import linecache
import queue
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

from kwsync import ShutDown, WorkQueue, _delays, _queue, _worklist
from kwsync._cancel import Gate
from tests.working.support import LIMIT, Clock, drained, in_background

FILES = {module.__file__ for module in (_queue, _worklist, _delays)}


class Interruption:
    """Run something in the middle of the queue's code, at the instruction or line with a number; count them all."""

    def __init__(self, event: str, number: int, handler: Callable[[], object]) -> None:
        self._event, self._left, self._handler = event, number, handler
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
        if frame.f_code is Gate.wait.__code__ and not self.happened:
            self.waits = True
            self._happen()
        if frame.f_code.co_filename not in FILES:
            return None
        frame.f_trace_opcodes = self._event == "opcode"
        if event == self._event and not self.happened and self._counts(frame):
            self._left -= 1
            if self._left < 0:
                self._happen()
        return self._trace

    def _happen(self) -> None:
        self.happened = True
        sys.settrace(None)
        self._handler()

    def _counts(self, frame: FrameType) -> bool:
        """Python looks for signals after calls, never between a lock and its block, where a tracer does look."""
        if self._event == "opcode":
            return True
        text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        return not text.startswith(("with ", "return", "finally"))


def prepared() -> tuple[WorkQueue[str], Clock]:
    """A queue with something in each state: waiting, in process, added again, delayed, and due before anybody asks."""
    clock = Clock()
    work: WorkQueue[str] = WorkQueue(clock=clock)
    for item in ("busy", "again"):
        work.add(item)
        work.get()
    work.add("again")
    work.add("waiting")
    work.add_after("due", 1)
    work.add_after("due too", 1)
    clock.advance(1)
    work.add_after("later", 10)
    work._work._delays.put("overdue", clock.now - 0.5)
    return work, clock


STEPS: dict[str, Callable[[WorkQueue[str]], object]] = {
    "add": lambda work: work.add("new"),
    "add again": lambda work: work.add("busy"),
    "get": lambda work: work.get(timeout=0),
    "done": lambda work: work.done("busy"),
    "done again": lambda work: work.done("again"),
    "add_after": lambda work: work.add_after("new", 5),
    "earlier": lambda work: work.add_after("later", 5),
    "postpone": lambda work: work.add_after("later", 20, replace=True),
    "cancel_delay": lambda work: work.cancel_delay("later"),
    "len": len,
    "metrics": lambda work: work.metrics,
}
HANDLED = ["busy", "again", "due", "new"]
KEPT = {"again", "waiting", "due", "due too", "overdue"}
"""What waits, or will wait in 0 s, in a queue that is prepared; interruptions must not change that."""


def finish(work: WorkQueue[str], clock: Clock, in_hand: set[str]) -> list[str]:
    """Take all that waits, adding each again meanwhile; give all back, let time pass, and do what waits then."""
    taken = []
    with suppress(queue.Empty, ShutDown):
        while True:
            taken.append(work.get(timeout=0))
            work.add(taken[-1])
    hands = [*in_hand, *taken]
    assert len(hands) == len(set(hands)), f"in two hands: {hands}"
    for item in hands:
        work.done(item)
    again = drained(work)
    for item in taken:
        assert work.is_shut_down or again.count(item) == 1
    clock.advance(100)
    return taken + [item for item in again if item not in taken] + drained(work)


def in_process(work: WorkQueue[str]) -> set[str]:
    """The items in process."""
    return set(work._work._processing)


@pytest.mark.parametrize("item", HANDLED)
@pytest.mark.parametrize("step", STEPS)
def test_add_in_a_handler(step: str, item: str) -> None:
    """What a handler adds in the middle of any step is handed out afterwards, once, and nothing else is lost."""
    number, happened = 0, True
    while happened:
        work, clock = prepared()
        with Interruption("opcode", number, lambda work=work: work.add(item)) as interruption:  # type: ignore[misc]
            taken = STEPS[step](work)
        happened = interruption.happened
        in_hand = in_process(work)
        found = finish(work, clock, in_hand)
        where = f"{item} added at instruction {number} of {step}"
        assert not happened or item in found or taken == item, where
        assert set(found) | in_hand >= KEPT, where
        assert max(found.count(one) for one in found) <= 2, where
        assert len(work) == 0
        assert work._work.is_idle, where
        number += 1
    assert number > 20


@pytest.mark.parametrize("step", STEPS)
def test_shut_down_in_a_handler(step: str) -> None:
    """A handler may shut down in the middle of any step; what waited is handed out, then it has ended."""
    number, happened = 0, True
    while happened:
        work, clock = prepared()
        with Interruption("opcode", number, work.shut_down) as interruption:
            try:
                STEPS[step](work)
            except ShutDown:
                pytest.fail("something waits")
        happened = interruption.happened
        in_hand = in_process(work)
        found = finish(work, clock, in_hand)
        assert set(found) | in_hand >= {"again", "waiting"}
        assert not happened or work.metrics.delayed == 0
        number += 1


@pytest.mark.parametrize("delayed", [True, False])
@pytest.mark.parametrize("shuts_down", [True, False])
def test_before_waiting(shuts_down: bool, delayed: bool) -> None:
    """A handler that shuts down, or adds, at any instruction before `get` waits, ends the wait at once."""
    number, waits = 0, False
    while not waits:
        work: WorkQueue[str] = WorkQueue()
        if delayed:
            work.add_after("later", 1000)
        start = time.monotonic()
        with Interruption("opcode", number, work.shut_down if shuts_down else lambda work=work: work.add("a")) as one:  # type: ignore[misc]
            try:
                found = work.get(LIMIT)
            except ShutDown:
                found = "ShutDown"
        assert (found, one.happened) == ("ShutDown" if shuts_down else "a", True), f"instruction {number}"
        assert time.monotonic() - start < LIMIT / 2, f"slept after instruction {number}"
        waits = one.waits
        number += 1
    assert number > 50


@pytest.mark.parametrize("step", [step for step in STEPS if step != "get"])
def test_a_handler_that_raises(step: str) -> None:
    """An exception at any line of a step, `get` apart, loses no item, and leaves the lock free."""
    number, happened = 0, True
    while happened:
        work, clock = prepared()
        with Interruption("line", number, _raise) as interruption:
            try:
                STEPS[step](work)
            except KeyboardInterrupt:
                pass
        happened = interruption.happened
        with in_background(lambda work=work: len(work)):  # type: ignore[misc]
            pass
        found = finish(work, clock, in_process(work))
        where = f"line {number} of {step}"
        assert set(found) >= KEPT, where
        assert "later" in found or step == "cancel_delay", where
        number += 1
    assert number > 3


def _raise() -> None:
    raise KeyboardInterrupt


def test_the_first_delay_raises() -> None:
    """What is delayed, if only by half, is looked for in time: no later time than its own is called the nearest."""
    number, happened = 0, True
    while happened:
        delays: _delays.Delays[str] = _delays.Delays()
        with Interruption("line", number, _raise) as interruption, suppress(KeyboardInterrupt):
            delays.put("a", 1.0)
        happened = interruption.happened
        assert "a" not in delays or delays.next_due <= 1.0, f"line {number}"
        assert list(delays.due(2.0)) in ([], [("a", 1.0)])
        number += 1
    assert number > 5
