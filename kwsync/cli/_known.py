"""The last row that was seen of each object: a deletion that nobody saw is told with it. Pure."""

from __future__ import annotations

from kwsync import EventType, ObjectKey, WatchEvent
from kwsync.cli._documents import is_table


class LastSeen:
    """Rows of Tables are kept, whose columns cannot be made again; of other objects the names will do."""

    def __init__(self) -> None:
        self._rows: dict[ObjectKey, WatchEvent] = {}

    def completed(self, event: WatchEvent) -> WatchEvent:
        """The event, where it is a deletion whose object is not known with the last row that was."""
        if event.type is EventType.DELETED:
            row = self._rows.pop(event.key, None)
            if event.final_state_unknown and row is not None:
                return WatchEvent(EventType.DELETED, row.object, row.resource_version, final_state_unknown=True)
        elif is_table(event.object):
            self._rows[event.key] = event
        return event
