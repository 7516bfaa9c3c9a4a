"""What is printed when: the state of each kind as one block, then changes as they come."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import attrs

from kwsync import CancelToken, EventType, WatchError, WatchEvent
from kwsync._clock import monotonic
from kwsync.cli._documents import plural_of
from kwsync.cli._errors import TimeOver, explain
from kwsync.cli._follow import Follower, Subject
from kwsync.cli._gather import Source, gather
from kwsync.cli._goal import Goal, Reached
from kwsync.cli._output import Output

log = logging.getLogger("kwsync.cli.printer")

HELD_SECONDS = 1.0
"""So long a kind waits for those before it, which may be in trouble, counted from the first event that waits."""

TICK_SECONDS = 0.5
"""So often somebody looks whether the reader is still there; so long may Ctrl-C take where waits cannot be broken."""


class Format(Protocol):
    """How events become lines."""

    def block(self, events: Sequence[WatchEvent], /) -> list[str]:
        """The lines of the state, when it is complete."""

    def change(self, event: WatchEvent) -> list[str]:
        """The lines of one change."""

    def measure(self, event: WatchEvent) -> None:
        """Make room for the like of an object that is there, but not shown."""


@attrs.define
class Shown:
    """One kind on its way to the screen."""

    subject: Subject
    format: Format
    initial: bool = True
    """Whether the state is shown, too."""
    wants: Callable[[WatchEvent], bool] | None = None
    """Which events are shown; None for all."""
    goal: Goal | None = None
    """What ends everything."""
    tells_absence: bool = True
    """Whether it is said that there is nothing yet, where somebody might wonder."""
    _state: list[WatchEvent] = attrs.field(factory=list, init=False)
    _begun: bool = attrs.field(default=False, init=False)

    def lines(self, event: WatchEvent) -> list[str]:
        """What the event makes appear; the state is held back until it is complete."""
        if event.type is EventType.SYNCED:
            return self._first()
        if self.wants is not None and not self.wants(event):
            return []
        if event.initial and not self.initial:
            self.format.measure(event)
            return []
        if event.initial and not self._begun:
            self._state.append(event)
            return []
        return self.format.change(event)

    def _first(self) -> list[str]:
        if self._begun:
            return []
        self._begun = True
        state, self._state = self._state, []
        if self.initial and self.tells_absence and not state:
            log.warning("no %s there yet: waiting for some", plural_of(self.subject.resource))
        return self.format.block(state)


class Screen:
    """Several kinds on one output: their states in the order of the command line, then changes as they come."""

    def __init__(
        self,
        shown: Sequence[Shown],
        output: Output,
        clock: Callable[[], float] = monotonic,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        self._shown = shown
        self._output = output
        self._look_around = look
        self._clock = clock
        self._held: dict[int, list[WatchEvent]] = {}
        self._missing = list(range(len(shown)))
        self._untold = set(self._missing)
        self._deadline: float | None = None
        self._reached: Reached | None = None

    def handle(self, number: int, event: WatchEvent) -> None:
        """Print what the event makes appear, unless a kind that comes before it has not shown its state yet."""
        self._held.setdefault(number, []).append(event)
        if event.type is EventType.SYNCED:
            self._untold.discard(number)
        if event.type is EventType.SYNCED and number in self._missing:
            self._missing.remove(number)
        self._release(self._missing[0] if self._missing else len(self._shown))
        self._look(self._shown[number].goal, event)
        if self._held and self._deadline is None:
            self._deadline = self._clock() + HELD_SECONDS

    @property
    def untold(self) -> list[str]:
        """The kinds of which no full state has come."""
        return list(dict.fromkeys(plural_of(self._shown[number].subject.resource) for number in sorted(self._untold)))

    def tick(self) -> float:
        """A kind that is in trouble holds up no other for long, and a reader who has gone ends all."""
        self._output.check_reader()
        self._look_around()
        if self._deadline is None:
            return TICK_SECONDS
        remaining = self._deadline - self._clock()
        if remaining <= 0:
            self.finish()
            self._end_at_goal()
            return TICK_SECONDS
        return min(remaining, TICK_SECONDS)

    def _look(self, goal: Goal | None, event: WatchEvent) -> None:
        if goal is not None and self._reached is None:
            try:
                goal.look(event)
            except Reached as reached:
                self._reached = reached
                self._deadline = self._deadline or self._clock() + HELD_SECONDS
        self._end_at_goal()

    def _end_at_goal(self) -> None:
        """What was asked to be shown is shown first, as far as it comes in time."""
        if self._reached is not None and not self._missing:
            self.finish()
            raise self._reached

    def finish(self) -> None:
        """Nobody waits any more for those before it."""
        self._missing.clear()
        self._release(len(self._shown))

    def _release(self, end: int) -> None:
        ready = sorted(number for number in self._held if number < end)
        held = [(self._shown[number], self._held.pop(number)) for number in ready]
        if not self._held:
            self._deadline = None
        self._output.write([line for shown, events in held for event in events for line in shown.lines(event)])


def show(shown: Sequence[Shown], output: Output, seconds: float | None = None) -> None:
    """Follow and print, for *seconds* or until something ends it; `CommandError` for errors, and `TimeOver` where
    something has not shown its state by then.
    """
    output.limit(seconds)
    cancel = CancelToken()
    followers = [Follower(each.subject, cancel) for each in shown]

    def look() -> None:
        for follower in followers:
            follower.look()

    sources = [_source(*pair) for pair in zip(shown, followers, strict=True)]
    screen = Screen(shown, output, look=look)
    gather(sources, cancel, screen, seconds)
    if screen.untold:
        raise TimeOver(shown[0].subject.client, f"told of {', '.join(screen.untold)}")


def _source(shown: Shown, follower: Follower) -> Source:
    def events() -> Iterator[WatchEvent]:
        subject = shown.subject
        try:
            yield from follower.events()
        except WatchError as error:
            raise explain(error, subject.client, subject.resource) from None

    return events
