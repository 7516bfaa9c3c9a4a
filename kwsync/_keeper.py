"""The rules of keeping: what each step of a stream means to the cache and to the handlers.

What is kept decides, not the type of an event (B087):

    kept           the stream tells                         what becomes of it
    nothing        a state                                  ADDED
    the object     a state of it                            MODIFIED; nothing where it is the same, or older
    another uid    a state                                  DELETED of the old one, whose end nobody saw; ADDED  (B089)
    the object     its deletion                             DELETED, with the final state
    another uid    a deletion                               DELETED, and nobody saw the end of what was kept
    nothing        a deletion                               nothing
    the object     a full state without it                  DELETED, with the last state known                   (B090)

A state that the user's transform refuses cannot be kept. Nor must an old one stay, as if the object had not changed: it
counts as gone, until there is one that is not refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kwsync._cache import Cache, State
from kwsync._callbacks import ErrorCallback
from kwsync._deliveries import Delivery, added, deleted, missed, modified
from kwsync._events import EventType, ObjectKey
from kwsync._hub import Hub
from kwsync._intake import Intake, Taken
from kwsync._records import Change, Page, Record


class Keeper:
    """Applies the steps of a stream. For one thread, the only one that writes."""

    def __init__(self, cache: Cache, hub: Hub, intake: Intake, report: ErrorCallback) -> None:
        self._cache = cache
        self._hub = hub
        self._intake = intake
        self._report = report
        self._next: State | None = None
        """The full state that is being read."""

    def take(self, step: Page | Change) -> None:
        """Apply one step."""
        if isinstance(step, Page):
            self._read(step)
        elif step.error is not None:
            self._report(step.error)
        elif step.record is None:
            self._cache.advance(step.version or "")
        elif step.type is EventType.DELETED:
            self._deleted(step, step.record)
        else:
            self._upserted(step, step.record)

    def forget(self) -> None:
        """The stream has ended: a full state that was being read is void."""
        self._next = None

    # Changes

    def _upserted(self, change: Change, record: Record) -> None:
        old = self._cache.state.records.get(record.key)
        if old is not None and record.is_older_than(old):
            return
        taken = self._intake.take(change, record, old)
        if taken is None:
            self._gone(record.version, old, None)
        elif taken[0] is not old:
            self._hub.change(self._cache.put, taken, differences(old, taken[0]))

    def _deleted(self, change: Change, record: Record) -> None:
        old = self._cache.state.records.get(record.key)
        if old is not None and record.is_older_than(old):
            return
        final = self._intake.take(change, record) if old is not None and not record.replaces(old) else None
        self._gone(record.version, old, final)

    def _gone(self, version: str, old: Record | None, final: Taken | None) -> None:
        if old is None:
            self._cache.advance(version)
            return
        delivery = missed(old) if final is None else deleted(final[0], old)
        self._hub.change(self._cache.remove, (old.key, version), (delivery,))

    # Full states

    def _read(self, page: Page) -> None:
        if page.first or self._next is None:
            self._next = self._cache.new_state()
        for change in page.changes:
            if change.record is not None:
                self._gather(self._next, change, change.record, trusted=not page.rewound)
        if page.last:
            state, self._next = self._next, None
            self._complete(state, page.version)

    def _gather(self, state: State, change: Change, record: Record, *, trusted: bool) -> None:
        """Put an object aside: the very record that is kept where nothing has changed, so as not to have it twice."""
        if change.type is EventType.DELETED:
            state.remove(record.key)
            return
        before = self._cache.state
        old = before.records.get(record.key)
        taken = self._intake.take(change, record, old, trusted=trusted)
        if taken is None:
            state.remove(record.key)
        elif taken[0] is old:
            state.put(old, before.indexes.values_at(record.key))
        else:
            state.put(*taken)

    def _complete(self, state: State, version: str | None) -> None:
        before = self._cache.state.records
        initial = not self._cache.full_states
        self._hub.change(
            self._cache.swap,
            (state, version),
            all_differences(before, state.records, initial=initial),
            full=True,
        )


def differences(old: Record | None, new: Record, *, initial: bool = False) -> tuple[Delivery, ...]:
    """What to tell of an object that is there."""
    if new is old:
        return ()
    if old is None:
        return (added(new, initial=initial),)
    if new.replaces(old):
        return (missed(old), added(new))
    return (modified(new, old),)


def all_differences(
    old: Mapping[ObjectKey, Record], new: Mapping[ObjectKey, Record], *, initial: bool = False
) -> Iterator[Delivery]:
    """What to tell of a full state: first what is gone (B077), then what is there."""
    for key, record in old.items():
        if key not in new:
            yield missed(record)
    for key, record in new.items():
        yield from differences(old.get(key), record, initial=initial)
