"""What is known of a kind, so that a second list can be told as changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from kwsync import EventType, ObjectKey, WatchEvent
from kwsync.cli._documents import identity_of, metadata_of

_NAMES = ("name", "namespace", "uid", "resourceVersion")


class Known:
    """The objects of before, so that a second list can be told as the changes that it holds."""

    def __init__(self) -> None:
        self._events: dict[ObjectKey, WatchEvent] = {}

    def take(self, event: WatchEvent) -> bool:
        """Note a change; False for what was told before (a watch without a version begins with the state)."""
        before = self._events.get(event.key)
        if event.type is EventType.DELETED:
            self._events.pop(event.key, None)
            return True
        self._events[event.key] = _kept(event)
        return before is None or identity_of(before) != identity_of(event)

    def replace(self, found: list[WatchEvent]) -> Iterator[WatchEvent]:
        """Note a whole state, and give what is different from the one of before."""
        gone, self._events = self._events, {event.key: _kept(event) for event in found}
        for event in found:
            before = gone.pop(event.key, None)
            if before is None:
                yield event
            elif identity_of(before)[0] != identity_of(event)[0]:
                yield attrs.evolve(before, type=EventType.DELETED, initial=False, final_state_unknown=True)
                yield event
            elif identity_of(before) != identity_of(event):
                yield attrs.evolve(event, type=EventType.MODIFIED)
        for before in gone.values():
            yield attrs.evolve(before, type=EventType.DELETED, initial=False, final_state_unknown=True)


def _kept(event: WatchEvent) -> WatchEvent:
    """What is kept: a row as it is, of an object no more than says which one it is, for there may be many."""
    found = event.object
    if found is None or found.get("kind") == "Table":
        return event
    metadata = metadata_of(found)
    short: dict[str, Any] = {name: found[name] for name in ("kind", "apiVersion") if name in found}
    short["metadata"] = {name: metadata[name] for name in _NAMES if name in metadata}
    return attrs.evolve(event, object=short)
