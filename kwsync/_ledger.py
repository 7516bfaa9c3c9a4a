"""What a follower has been told, by keys, uids and versions alone: full states and changes to the events that tell what
is different. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwsync._events import EventType, ObjectKey, WatchEvent
from kwsync._records import Change, Page, Record, RecordEvent, Transition, transition


class Ledger:
    """The events of one follower. An event counts as told when it has been taken from the iterator."""

    def __init__(self, *, emit_initial: bool = True) -> None:
        self._known: dict[ObjectKey, Record] = {}
        """Records without their bytes."""
        self._present: set[ObjectKey] = set()
        """Of the full state that is being read."""
        self._emit_initial = emit_initial
        self._synced = False

    def __len__(self) -> int:
        return len(self._known)

    def events(self, step: Page | Change) -> Iterator[WatchEvent]:
        """What is to be told of a step."""
        if isinstance(step, Page):
            yield from self._page(step)
        elif step.type is EventType.ERROR:
            yield WatchEvent(EventType.ERROR, error=step.error)
        elif step.record is None:
            yield WatchEvent(EventType.BOOKMARK, step.decoded, step.version)
        elif step.type is EventType.DELETED:
            yield from self._deleted(step, step.record)
        else:
            yield from self._upserted(step, step.record, initial=False, trusted=True)

    def _page(self, page: Page) -> Iterator[WatchEvent]:
        if page.first:
            self._present.clear()
        for change in page.changes:
            record = change.record
            if record is None:
                continue
            if change.type is EventType.DELETED:
                self._present.discard(record.key)
                continue
            self._present.add(record.key)
            events = self._upserted(change, record, initial=not self._synced, trusted=not page.rewound)
            if self._synced or self._emit_initial:
                yield from events
            else:
                self._known[record.key] = record.without_bytes()
        if page.last:
            yield from self._complete(page)

    def _complete(self, page: Page) -> Iterator[WatchEvent]:
        for key in [key for key in self._known if key not in self._present]:
            yield _tombstone(self._known.pop(key))
        self._present.clear()
        self._synced = True
        yield WatchEvent(EventType.SYNCED, resource_version=page.version)

    def _upserted(self, change: Change, record: Record, *, initial: bool, trusted: bool) -> Iterator[WatchEvent]:
        old = self._known.get(record.key)
        what = transition(old, record, trusted=trusted)
        if what is Transition.RECREATED and old is not None:
            del self._known[record.key]
            yield _tombstone(old)
        if what is not Transition.NOTHING:
            self._known[record.key] = record.without_bytes()
            kind = EventType.MODIFIED if what is Transition.MODIFIED else EventType.ADDED
            yield RecordEvent(kind, record, decoded=change.decoded, initial=initial)

    def _deleted(self, change: Change, record: Record) -> Iterator[WatchEvent]:
        old = self._known.get(record.key)
        if old is None or record.is_older_than(old):
            return
        del self._known[record.key]
        if record.replaces(old):
            yield _tombstone(old)
        else:
            yield RecordEvent(EventType.DELETED, record, decoded=change.decoded)


def _tombstone(record: Record) -> WatchEvent:
    """A deletion that nobody saw: the key is all that is known."""
    namespace = {"namespace": record.key.namespace} if record.key.namespace else {}
    marks = {"uid": record.uid, "resourceVersion": record.version}
    metadata = {"name": record.key.name, **namespace, **{name: mark for name, mark in marks.items() if mark}}
    return RecordEvent(EventType.DELETED, record, decoded={"metadata": metadata}, final_state_unknown=True)
