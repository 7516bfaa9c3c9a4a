"""``--until``: what ends the command once an object is in the state that is waited for."""

from __future__ import annotations

from collections.abc import Sequence

from kwsync import EventType, ObjectKey, WatchEvent
from kwsync.cli._until import Until


class Reached(Exception):
    """An object is in the state that was waited for; with its key, where there is one."""

    def __init__(self, key: ObjectKey | None) -> None:
        super().__init__(key)
        self.key = key


class Goal:
    """Looks at the events of one kind, which must hold whole objects."""

    def __init__(self, until: Until, *, initial: bool = True) -> None:
        """Without *initial*, what was there before is not looked at, and only changes count."""
        self._until = until
        self._initial = initial
        self._present: set[ObjectKey] = set()

    def look(self, event: WatchEvent) -> None:
        """`Reached` where the event shows it."""
        if event.type is EventType.SYNCED:
            if self._until.by_absence and not self._present:
                raise Reached(None)
            return
        if event.type is EventType.DELETED:
            self._present.discard(event.key)
        else:
            self._present.add(event.key)
        if self._counts(event) and self._until.holds(event):
            raise Reached(event.key)

    def _counts(self, event: WatchEvent) -> bool:
        """A change of what was there before is no creation."""
        if self._initial:
            return True
        return not event.initial and (event.type is EventType.ADDED or not self._until.by_presence)


class Nothing:
    """The format of events that are looked at and not shown."""

    def block(self, _events: Sequence[WatchEvent], /) -> list[str]:
        """No line."""
        return []

    def change(self, _event: WatchEvent) -> list[str]:
        """No line."""
        return []

    def measure(self, _event: WatchEvent) -> None:
        """There is nothing to align."""
