"""Records by key, with their indexes and a version: written by one thread, read by all.

No reader ever sees half a list: a full state is built aside and swapped in. Nothing of a user's is called under the
lock; but a finalizer or a signal handler that runs there may read, so it is re-entrant, and nothing else is asked for
under it (see `_hub` for the order of all locks). What such code reads is the state before or after the change.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from kwsync._cancel import Gate
from kwsync._events import ObjectKey
from kwsync._indexes import Indexes, Values
from kwsync._records import Record, is_older


class State:
    """What there is at one moment."""

    __slots__ = ("_is_indexed", "indexes", "records")

    def __init__(self, index_names: tuple[str, ...]) -> None:
        self.records: dict[ObjectKey, Record] = {}
        self.indexes = Indexes(index_names)
        self._is_indexed = bool(index_names)

    # A finalizer may read in the middle of these: whatever the indexes name is then among the records.

    def put(self, record: Record, values: Values) -> None:
        """It is there, in this state."""
        self.records[record.key] = record
        if self._is_indexed:
            self.indexes.put(record.key, values)

    def remove(self, key: ObjectKey) -> None:
        """It is not there."""
        if self._is_indexed:
            self.indexes.remove(key)
        self.records.pop(key, None)


class _Wait:
    """Somebody waits for a version."""

    __slots__ = ("gate", "reached", "version")

    def __init__(self, version: str) -> None:
        self.version = version
        self.gate = Gate()
        self.reached = False

    def reach(self) -> None:
        """It has come; may be done twice."""
        self.reached = True
        self.gate.open()


class Cache:
    """The present state, and how fresh it is."""

    def __init__(self, index_names: Iterable[str] = ()) -> None:
        self._index_names = tuple(index_names)
        self._lock = threading.RLock()
        self._state = State(self._index_names)
        self._waits: list[_Wait] = []
        self._live = False
        self.version: str | None = None
        """Of the last full state, change or bookmark; None before the first full state."""
        self.full_states = 0
        """How many have come."""

    def set_indexes(self, names: Iterable[str]) -> None:
        """Have other indexes; before anybody has written."""
        self._index_names = tuple(names)
        self._state = State(self._index_names)

    # For the one thread that writes

    def live(self) -> None:
        """From now on somebody writes."""
        self._live = True

    def end(self) -> None:
        """Nobody writes any more, so nobody need wait."""
        with self._lock:
            self._live = False
            waits, self._waits = self._waits, []
        for wait in waits:
            wait.gate.open()

    def new_state(self) -> State:
        """An empty one, to be filled aside and swapped in."""
        return State(self._index_names)

    def swap(self, state: State, version: str | None) -> None:
        """This is the full state now; it may be older than the one before, where the server has gone back in time."""
        with self._lock:
            self._state = state
            self.full_states += 1
            self._set_version(version)
            self._look_at_objects()

    def put(self, record: Record, values: Values) -> None:
        """An object has come or changed."""
        with self._lock:
            self._state.put(record, values)
            self._set_version(record.version)

    def remove(self, key: ObjectKey, version: str) -> None:
        """An object is gone since *version*."""
        with self._lock:
            self._state.remove(key)
            self._set_version(version)

    def advance(self, version: str) -> None:
        """Nothing has changed until *version*."""
        with self._lock:
            self._set_version(version)

    # Who waits: a change has brought its own version and no other, so that no object has to be looked at for it

    def _set_version(self, version: str | None) -> None:
        self.version = version or self.version
        for wait in self._waits:
            if self._has_reached(wait.version):
                wait.reach()

    def _look_at_objects(self) -> None:
        """A full state has brought all its objects' versions."""
        waits = [wait for wait in self._waits if not wait.reached and self._may_be_of_object(wait.version)]
        versions = {record.version for record in self._state.records.values()} if waits else set()
        for wait in waits:
            if wait.version in versions:
                wait.reach()

    def _has_reached(self, version: str) -> bool:
        return self.version is not None and (version == self.version or is_older(version, self.version))

    def _may_be_of_object(self, version: str) -> bool:
        """Might an object have it, though it is not known to be reached? Not where it is known to be newer."""
        return self.version is not None and not is_older(self.version, version)

    # For all

    @property
    def state(self) -> State:
        """The present one, for the thread that writes."""
        return self._state

    def record(self, key: ObjectKey) -> Record | None:
        """The object's present state."""
        with self._lock:
            return self._state.records.get(key)

    def records(self) -> list[Record]:
        """All objects of one moment, in no order."""
        with self._lock:
            return list(self._state.records.values())

    def indexed(self, name: str, value: str) -> list[Record]:
        """The objects of one moment that have this value; KeyError for an index that there is not."""
        with self._lock:
            records = self._state.records
            return [records[key] for key in self._state.indexes.keys(name, value)]

    def values(self, name: str) -> list[str]:
        """The values that some object has; KeyError for an index that there is not."""
        with self._lock:
            return self._state.indexes.values(name)

    def __len__(self) -> int:
        return len(self._state.records)

    def wait_until(self, version: str, timeout: float | None) -> bool:
        """Wait until everything up to *version* is in it; False after *timeout* seconds, or when nobody writes.

        What cannot be compared must be the version of the whole, or of an object.
        """
        wait = _Wait(version)
        with self._lock:
            if self._has_reached(version):
                return True
            records = list(self._state.records.values()) if self._may_be_of_object(version) else []
            is_live = self._live
            if is_live:
                self._waits.append(wait)
        try:
            if any(record.version == version for record in records):  # once; not under the lock, for it takes a while
                return True
            if is_live:
                del records
                wait.gate.wait(timeout)
        finally:
            self._give_up(wait)
        return wait.reached

    def _give_up(self, wait: _Wait) -> None:
        with self._lock:
            if wait in self._waits:
                self._waits.remove(wait)

    def abandon(self) -> None:
        """In a forked child: stay as it is, and wait for nobody who was not forked along."""
        self._lock = threading.RLock()
        self._live = False
        self._waits = []
