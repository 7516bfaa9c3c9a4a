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
        """What was told, without its bytes."""
        self._present: set[ObjectKey] = set()
        """Of the full state that is being read."""
        self._untold: dict[ObjectKey, Record] = {}
        """Of the first full state, where that is not to be told."""
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
        else:
            yield from self._changed(step, step.record)

    # Full states

    def _page(self, page: Page) -> Iterator[WatchEvent]:
        if page.first:
            self._present.clear()
            self._untold.clear()
        for change in page.changes:
            if change.record is not None:
                yield from self._listed(change, change.record, page)
        if page.last:
            yield from self._complete(page)

    def _listed(self, change: Change, record: Record, page: Page) -> Iterator[WatchEvent]:
        if change.type is EventType.DELETED:
            self._present.discard(record.key)
            self._untold.pop(record.key, None)
            return
        self._present.add(record.key)
        if self._synced or self._emit_initial or record.key in self._known:
            yield from self._upserted(change, record, initial=not self._synced, trusted=not page.rewound)
        else:
            self._untold[record.key] = record.without_bytes()

    def _complete(self, page: Page) -> Iterator[WatchEvent]:
        for key in [key for key in self._known if key not in self._present]:
            yield _tombstone(self._known.pop(key))
        self._known.update(self._untold)
        self._present.clear()
        self._untold.clear()
        self._synced = True
        yield WatchEvent(EventType.SYNCED, resource_version=page.version)

    # Changes

    def _changed(self, change: Change, record: Record) -> Iterator[WatchEvent]:
        old = self._known.get(record.key)
        if old is None and not self._synced:  # what was there before is not known, but the server knows it
            if change.type is not EventType.DELETED:
                self._known[record.key] = record.without_bytes()
            yield RecordEvent.of(change.type, record, decoded=change.decoded)
        elif old is not None and record.is_older_than(old):
            return
        elif change.type is EventType.DELETED:
            yield from self._deleted(change, record)
        else:
            yield from self._upserted(change, record, initial=False, trusted=True)

    def _upserted(self, change: Change, record: Record, *, initial: bool, trusted: bool) -> Iterator[WatchEvent]:
        old = self._known.get(record.key)
        what = transition(old, record, trusted=trusted)
        if what is Transition.RECREATED and old is not None:
            del self._known[record.key]
            yield _tombstone(old)
        if what is not Transition.NOTHING:
            self._known[record.key] = record.without_bytes()
            kind = EventType.MODIFIED if what is Transition.MODIFIED else EventType.ADDED
            initial = initial and kind is EventType.ADDED
            yield RecordEvent.of(kind, record, decoded=change.decoded, initial=initial)

    def _deleted(self, change: Change, record: Record) -> Iterator[WatchEvent]:
        old = self._known.pop(record.key, None)
        if old is None:
            return
        if record.replaces(old):
            yield _tombstone(old)
        else:
            yield RecordEvent.of(EventType.DELETED, record, decoded=change.decoded)


def _tombstone(record: Record) -> WatchEvent:
    """A deletion that nobody saw: the key is all that is known."""
    namespace = {"namespace": record.key.namespace} if record.key.namespace else {}
    marks = {"uid": record.uid, "resourceVersion": record.version}
    metadata = {"name": record.key.name, **namespace, **{name: mark for name, mark in marks.items() if mark}}
    return RecordEvent.of(EventType.DELETED, record, decoded={"metadata": metadata}, final_state_unknown=True)
