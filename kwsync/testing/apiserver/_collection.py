"""All objects of one resource, every change of the last while, and the state at any version in between. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict, deque
from typing import Any, Protocol

from kwsync.testing.apiserver._encode import dumps

Row = tuple[str, "Version"]

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"

_SNAPSHOTS = 8
"""Lists whose pages are being read at the same time, before the state has to be worked out anew for a page."""


class Version:
    """One object as one write left it; never changed afterwards, and encoded once.

    `object` has neither kind nor apiVersion: they depend on the version that a request comes through.
    """

    __slots__ = ("_json", "key", "name", "namespace", "object", "parts", "revision")

    def __init__(self, key: str, object: dict[str, Any], revision: int) -> None:
        self.key = key
        self.namespace, _, self.name = key.rpartition("/")
        self.object = object
        self.revision = revision
        self.parts: dict[str, bytes] = {}
        """What a view has encoded, by view. Two threads may do the same work twice, no more."""
        self._json: bytes | None = None

    @property
    def metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = self.object["metadata"]
        return metadata

    @property
    def json(self) -> bytes:
        """The object without kind and apiVersion; always begins with `{"metadata":`."""
        if self._json is None:
            self._json = dumps(self.object)
        return self._json

    def at(self, revision: int) -> Version:
        """The same content at another version: what DELETED events carry (trap 8)."""
        metadata = {**self.metadata, "resourceVersion": str(revision)}
        return Version(self.key, {**self.object, "metadata": metadata}, revision)


class Change:
    """One write: what it left, and what was there before. For a deletion `after` is the last state, at its version."""

    __slots__ = ("_gone", "after", "before", "lines", "revision", "type")

    def __init__(self, what: str, after: Version, before: Version | None) -> None:
        self.type = what
        self.after = after
        self.before = before
        self.revision = after.revision
        self.lines: dict[object, bytes] = {}
        """What watches have encoded, by view and type; as the parts of a version."""
        self._gone: Version | None = None

    @property
    def gone(self) -> Version:
        """The state before at the version of this change, for a watch whose selector it no longer matches."""
        if self.type == DELETED or self.before is None:
            return self.after
        if self._gone is None:
            self._gone = self.before.at(self.revision)
        return self._gone


class Listener(Protocol):
    """A watch, as a collection sees it; both may be called by any thread, under the state's lock."""

    def offer(self, change: Change) -> None:
        """Take one more change."""

    def end(self) -> None:
        """There will be no more: end cleanly after what was offered."""


class Collection:
    """The objects of one resource. Not locked: the state's owner lets one thread in at a time.

    Args:
        limit: how many changes are kept.
        started: versions below this one are unknown here.
    """

    def __init__(self, limit: int, started: int) -> None:
        self.objects: dict[str, Version] = {}
        self.listeners: list[Listener] = []
        self.oldest = started
        """A watch may start at this version, and a list may be of it; below it everything is forgotten."""
        self._limit = limit
        self._history: deque[Change] = deque()
        self._sorted: list[Row] | None = []
        self._snapshots: OrderedDict[int, list[Row]] = OrderedDict()

    def record(self, change: Change, *, tell: bool) -> None:
        """Store what a write left, and tell the watches of it."""
        self._store(change)
        self._history.append(change)
        while len(self._history) > self._limit:
            self.oldest = self._history.popleft().revision
        for listener in self.listeners if tell else ():
            listener.offer(change)

    def _store(self, change: Change) -> None:
        key, rows = change.after.key, self._sorted
        if change.type == DELETED:
            del self.objects[key]
            self._sorted = None
            return
        self.objects[key] = change.after
        # Most objects are created in order; anything else is sorted when somebody asks.
        appends = change.type == ADDED and rows is not None and (not rows or rows[-1][0] < key)
        if appends and rows is not None:
            rows.append((key, change.after))
        else:
            self._sorted = None

    def since(self, revision: int) -> list[Change]:
        """The changes after a version, which must not be below `oldest`."""
        found: list[Change] = []
        for change in reversed(self._history):
            if change.revision <= revision:
                break
            found.append(change)
        return found[::-1]

    def rows(self) -> list[Row]:
        """Every object, in the order of keys; not to be changed."""
        if self._sorted is None:
            self._sorted = sorted(self.objects.items())
        return self._sorted

    def rows_at(self, revision: int) -> list[Row] | None:
        """Every object as it was at a version; None when that is forgotten."""
        if revision < self.oldest:
            return None
        if not self._history or self._history[-1].revision <= revision:
            return self.rows()
        found = self._snapshots.get(revision)
        return self._rebuild(revision) if found is None else found

    def _rebuild(self, revision: int) -> list[Row]:
        objects = dict(self.objects)
        for change in reversed(self.since(revision)):
            if change.before is None:
                objects.pop(change.after.key, None)
            else:
                objects[change.after.key] = change.before
        # The pages of one list all ask for the same state.
        self._snapshots[revision] = rows = sorted(objects.items())
        while len(self._snapshots) > _SNAPSHOTS:
            self._snapshots.popitem(last=False)
        return rows

    def end_watches(self) -> None:
        """End every watch cleanly."""
        for listener in self.listeners:
            listener.end()

    def forget(self, revision: int) -> None:
        """Forget the changes up to a version: no watch can start below it, no list can be of an older state."""
        while self._history and self._history[0].revision <= revision:
            self._history.popleft()
        self.oldest = max(self.oldest, revision)

    def turn_back(self, revision: int) -> bool:
        """Become what it was at a version, with no history; False, and nothing done, when that is forgotten."""
        rows = self.rows_at(revision)
        if rows is None:
            return False
        self.objects = dict(rows)
        self.oldest = revision
        self._history.clear()
        self._snapshots.clear()
        self._sorted = None
        return True


def within(rows: list[Row], prefix: str, after: str = "") -> tuple[int, int]:
    """Where the keys of a prefix begin and end; with *after*, from the first key that is larger."""
    # A key is a plain text, as in etcd: "a-b/x" comes before "a/x".
    start = bisect_left(rows, (max(prefix, after and after + "\0"),))
    end = bisect_left(rows, (prefix[:-1] + chr(ord(prefix[-1]) + 1),)) if prefix else len(rows)
    return start, max(start, end)
