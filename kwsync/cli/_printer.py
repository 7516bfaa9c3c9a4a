"""What is printed when: the state of each kind as one block, then changes as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import attrs

from kwsync import CancelToken, EventType, WatchError, WatchEvent
from kwsync.cli._errors import explain
from kwsync.cli._follow import Follower, Subject
from kwsync.cli._gather import gather
from kwsync.cli._output import Output


class Format(Protocol):
    """How events become lines."""

    def block(self, events: Sequence[WatchEvent]) -> list[str]:
        """The lines of the state, when it is complete."""

    def change(self, event: WatchEvent) -> list[str]:
        """The lines of one change."""


def _every(event: WatchEvent) -> bool:
    return True


@attrs.define
class Shown:
    """One kind on its way to the screen."""

    subject: Subject
    format: Format
    initial: bool = True
    """Whether the state is shown, too."""
    wants: Callable[[WatchEvent], bool] = _every
    empty: str = ""
    """What is said when there is nothing yet."""
    _state: list[WatchEvent] = attrs.field(factory=list, init=False)
    _begun: bool = attrs.field(default=False, init=False)

    def lines(self, event: WatchEvent) -> list[str]:
        """What the event makes appear; the state is held back until it is complete."""
        if event.type is EventType.SYNCED:
            return self._first()
        if not self.wants(event) or (event.initial and not self.initial):
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
        return self.format.block(state)


def show(shown: Sequence[Shown], output: Output, seconds: float | None = None) -> None:
    """Follow and print, for *seconds* or until something ends it; `CommandError` for errors."""
    cancel = CancelToken()
    sources = [Follower(each.subject, cancel).events for each in shown]

    def handle(number: int, event: WatchEvent) -> None:
        output.write(shown[number].lines(event))

    try:
        gather(sources, cancel, handle, seconds)
    except WatchError as error:
        raise explain(error, shown[0].subject.client, shown[0].subject.resource) from None
