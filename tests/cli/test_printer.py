"""Several kinds on one output, and the threads behind it."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kwsync import CancelToken, Client, Cluster, EventType, Resource, WatchEvent
from kwsync.cli._follow import Subject
from kwsync.cli._gather import Source, gather
from kwsync.cli._output import Output
from kwsync.cli._printer import HELD_SECONDS, Screen, Shown


class Plain:
    """A format that shows what it was called with."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.measured: list[WatchEvent] = []

    def block(self, events: Sequence[WatchEvent], /) -> list[str]:
        return [f"{self.name} state {len(events)}"]

    def change(self, event: WatchEvent) -> list[str]:
        return [f"{self.name} {event.type}"]

    def measure(self, event: WatchEvent) -> None:
        self.measured.append(event)


def event(verb: str, *, initial: bool = False) -> WatchEvent:
    return WatchEvent(EventType(verb), {"kind": "Pod"}, initial=initial)


SYNCED = event("SYNCED")


class Two:
    """A screen for two kinds, a and b."""

    def __init__(self, **options: Any) -> None:
        self.stream = io.StringIO()
        subject = Subject(client=Client(Cluster("http://127.0.0.1:1")), resource=Resource.parse("pods"))
        self.formats = [Plain(name) for name in "ab"]
        self.now = 0.0
        shown = [Shown(subject, form, tells_absence=False, **options) for form in self.formats]
        self.screen = Screen(shown, Output(self.stream), lambda: self.now)

    def give(self, *numbered: tuple[int, WatchEvent]) -> list[str]:
        for number, one in numbered:
            self.screen.handle(number, one)
        return self.lines

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


def test_states_come_whole_and_in_order() -> None:
    """A state is held back until it is complete, and until the kinds named before it have shown theirs."""
    two = Two()
    assert two.give((1, event("ADDED", initial=True)), (1, SYNCED), (1, event("MODIFIED"))) == []
    assert two.give((0, event("ADDED", initial=True)), (0, event("ADDED", initial=True))) == []
    assert two.give((0, SYNCED)) == ["a state 2", "b state 1", "b MODIFIED"]
    assert two.give((0, event("DELETED")))[3:] == ["a DELETED"]


def test_nobody_waits_for_long() -> None:
    """A kind in trouble holds up the others for a moment only, counted from the first event, however many follow."""
    two = Two()
    for two.now in (5.0, 5.3, 5.6, 5.9):
        assert two.give((1, SYNCED if two.now == 5.0 else event("MODIFIED"))) == []
        assert two.screen.tick() <= 5.0 + HELD_SECONDS - two.now
    two.now = 5.0 + HELD_SECONDS
    two.screen.tick()
    assert two.lines == ["b state 0"] + 3 * ["b MODIFIED"]
    assert two.give((1, event("DELETED")))[4:] == ["b DELETED"]
    assert two.give((0, SYNCED))[5:] == ["a state 0"]


def test_the_wait_begins_with_what_waits() -> None:
    """Time in which nothing waits does not count: a slow first state still comes first."""
    two = Two()
    two.screen.tick()
    two.now = 60.0
    assert two.give((1, SYNCED)) == []
    two.screen.tick()
    assert two.give((0, SYNCED)) == ["a state 0", "b state 0"]


def test_the_end_shows_what_waits() -> None:
    """When the time is over, nobody waits for those before it."""
    two = Two()
    two.give((1, SYNCED))
    two.screen.finish()
    assert two.lines == ["b state 0"]


def test_without_the_state() -> None:
    """--no-initial shows nothing of the state, and takes its measure."""
    two = Two(initial=False)
    first = event("ADDED", initial=True)
    assert two.give((0, first), (0, SYNCED), (0, event("ADDED"))) == ["a state 0", "a ADDED"]
    assert two.formats[0].measured == [first]


def test_second_state() -> None:
    """A later list is told by its changes alone."""
    two = Two()
    two.give((0, SYNCED), (1, SYNCED))
    assert two.give((0, event("MODIFIED")), (0, SYNCED))[2:] == ["a MODIFIED"]


def test_unwanted() -> None:
    """What is not wanted is neither state nor change."""
    two = Two(wants=lambda one: one.type is not EventType.DELETED)
    assert two.give((0, SYNCED), (1, SYNCED), (0, event("DELETED")))[2:] == []


def test_says_that_nothing_is_there(caplog: pytest.LogCaptureFixture) -> None:
    """An empty state is said on the side, so that nobody wonders at an empty screen."""
    subject = Subject(client=Client(Cluster("http://127.0.0.1:1")), resource=Resource.parse("deploy"))
    Shown(subject, Plain("a")).lines(SYNCED)
    assert [record.getMessage() for record in caplog.records] == ["no deployments.apps there yet: waiting for some"]


class Taker:
    """Notes what it is handed."""

    def __init__(self) -> None:
        self.taken: list[tuple[int, str]] = []
        self.threads: set[int] = set()
        self.finished = False

    def handle(self, number: int, event: WatchEvent) -> None:
        self.taken.append((number, str(event.type)))
        self.threads.add(threading.get_ident())

    def tick(self) -> float:
        return 0.05

    def finish(self) -> None:
        self.finished = True


def source(*events: WatchEvent, error: Exception | None = None, until: CancelToken | None = None) -> Source:
    def run() -> Iterator[WatchEvent]:
        yield from events
        if error is not None:
            raise error
        if until is not None:
            until.wait(20)

    return run


def test_gathers_on_one_thread() -> None:
    """Events of all sources are handed on by the calling thread, those of one source in their order."""
    cancel, taker = CancelToken(), Taker()
    sources = [source(event("ADDED"), event("DELETED"), until=cancel), source(event("MODIFIED"), until=cancel)]
    gather(sources, cancel, taker, 0.2)
    assert taker.threads == {threading.get_ident()}
    assert [kind for number, kind in taker.taken if number == 0] == ["ADDED", "DELETED"]
    assert (1, "MODIFIED") in taker.taken
    assert cancel.is_set()
    assert taker.finished


def test_an_error_ends_all() -> None:
    """What one source raises is raised here, and the others are cancelled and waited for."""
    cancel, taker = CancelToken(), Taker()
    with pytest.raises(LookupError, match="no"):
        gather([source(until=cancel), source(error=LookupError("no"))], cancel, taker, None)
    assert cancel.is_set()


def test_a_slow_reader_slows_the_sources() -> None:
    """A source that is ahead of the printer waits, and still ends when it is over."""
    produced = 0

    def endless() -> Iterator[WatchEvent]:
        nonlocal produced
        while True:
            produced += 1
            yield event("ADDED")

    class Slow(Taker):
        def handle(self, number: int, event: WatchEvent) -> None:
            super().handle(number, event)
            if len(self.taken) == 5:
                raise InterruptedError

    with pytest.raises(InterruptedError):
        gather([endless], CancelToken(), Slow(), None)
    assert produced <= 1100
