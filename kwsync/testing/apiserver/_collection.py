"""All objects of one resource, every change of the last while, and the state at any version in between. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict, deque
from typing import Any, Protocol

from kwsync.testing.apiserver._bounds import Bounds
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
            self._json = trimmed(dumps(self.object))
        return self._json

    @property
    def size(self) -> int:
        """Bytes of that."""
        return len(self.json)

    def at(self, revision: int) -> Version:
        """The same content at another version: what DELETED events carry (trap 8)."""
        metadata = {**self.metadata, "resourceVersion": str(revision)}
        return Version(self.key, {**self.object, "metadata": metadata}, revision)


class Change:
    """One write: what it left, and what was there before. For a deletion `after` is the last state, at its version."""

    __slots__ = ("_gone", "after", "before", "lines", "revision", "size", "type")

    def __init__(self, what: str, after: Version, before: Version | None) -> None:
        self.type = what
        self.after = after
        self.before = before
        self.revision = after.revision
        # That of a deletion is taken from what was there, which has been encoded before.
        self.size = (before or after).size if what == DELETED else after.size
        """About as many bytes as its event has."""
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

    A real server keeps two histories: its cache has one for watches, which a restart empties, and etcd has one for
    lists, which a compaction empties. Here it is one history with two ends.

    Args:
        bounds: how many changes are kept, and of how many bytes.
        oldest: the version at which a watch may start.
        oldest_list: the version of which a list may be.
    """

    def __init__(self, bounds: Bounds, oldest: int, oldest_list: int) -> None:
        self.objects: dict[str, Version] = {}
        self.listeners: list[Listener] = []
        self.oldest = oldest
        """A watch may start at this version; below it everything is forgotten."""
        self.oldest_list = oldest_list
        """A list may be of this version; the history begins behind it."""
        self._bounds = bounds
        self._history: deque[Change] = deque()
        self._size = 0
        self._rows: list[Row] = []
        self._snapshots: OrderedDict[int, list[Row]] = OrderedDict()

    def record(self, change: Change, *, tell: bool) -> None:
        """Store what a write left, and tell the watches of it."""
        self._store(change)
        self._history.append(change)
        self._size += change.size
        while self._bounds.exceeded(len(self._history), self._size):
            self._forget_one()
        for listener in self.listeners if tell else ():
            listener.offer(change)

    def _store(self, change: Change) -> None:
        key, rows = change.after.key, self._rows
        if change.type != DELETED:
            self.objects[key] = change.after
        # Most objects are created in order.
        if change.type == ADDED and (not rows or rows[-1][0] < key):
            return rows.append((key, change.after))
        place = bisect_left(rows, (key,))
        if change.type == DELETED:
            del self.objects[key], rows[place]
        elif change.before is None:
            rows.insert(place, (key, change.after))
        else:
            rows[place] = (key, change.after)
        return None

    def _forget_one(self) -> None:
        change = self._history.popleft()
        self._size -= change.size
        self.oldest = max(self.oldest, change.revision)
        self.oldest_list = max(self.oldest_list, change.revision)
        if self._snapshots:
            self._drop_snapshots()

    def _drop_snapshots(self) -> None:
        for revision in [each for each in self._snapshots if each < self.oldest_list]:
            del self._snapshots[revision]

    def since(self, revision: int) -> list[Change]:
        """The changes after a version, which must not be below `oldest_list`."""
        found: list[Change] = []
        for change in reversed(self._history):
            if change.revision <= revision:
                break
            found.append(change)
        return found[::-1]

    def rows(self) -> list[Row]:
        """Every object, in the order of keys; not to be changed, and only good until the next write."""
        return self._rows

    def rows_at(self, revision: int) -> list[Row] | None:
        """Every object as it was at a version, as `rows`; None when that is forgotten."""
        if revision < self.oldest_list:
            return None
        if not self._history or self._history[-1].revision <= revision:
            return self._rows
        found = self._snapshots.get(revision)
        return self._rebuild(revision) if found is None else found

    def _rebuild(self, revision: int) -> list[Row]:
        # The pages of one list all ask for the same state.
        self._snapshots[revision] = rows = sorted(self._objects_at(revision).items())
        while len(self._snapshots) > _SNAPSHOTS:
            self._snapshots.popitem(last=False)
        return rows

    def _objects_at(self, revision: int) -> dict[str, Version]:
        objects = dict(self.objects)
        for change in reversed(self.since(revision)):
            if change.before is None:
                objects.pop(change.after.key, None)
            else:
                objects[change.after.key] = change.before
        return objects

    def end_watches(self) -> None:
        """End every watch cleanly."""
        for listener in self.listeners:
            listener.end()

    def forget(self, revision: int) -> None:
        """Forget the changes up to a version: no watch can start below it, no list can be of an older state."""
        self.restart(revision, revision)

    def restart(self, revision: int, compacted: int) -> None:
        """Let no watch start below a version, as a new cache does; older lists are had from etcd, if it has them."""
        while self._history and self._history[0].revision <= compacted:
            self._forget_one()
        self.oldest = max(self.oldest, revision)
        self.oldest_list = max(self.oldest_list, compacted)
        self._drop_snapshots()

    def turn_back(self, revision: int) -> None:
        """Become what it was at a version, which must not be below `oldest_list`, and tell the watches nothing more."""
        self.objects = self._objects_at(revision)
        self._rows = sorted(self.objects.items())
        while self._history and self._history[-1].revision > revision:
            self._size -= self._history.pop().size
        self._snapshots.clear()
        self.oldest = min(self.oldest, revision)
        self.listeners.clear()


def trimmed(data: bytes) -> bytes:
    """The same bytes, for keeping: orjson gives them in a buffer that is several times as large."""
    return bytes(memoryview(data))


def within(rows: list[Row], prefix: str, after: str = "") -> tuple[int, int]:
    """Where the keys of a prefix begin and end; with *after*, from the first key that is larger."""
    # A key is a plain text, as in etcd: "a-b/x" comes before "a/x".
    start = bisect_left(rows, (max(prefix, after and after + "\0"),))
    end = bisect_left(rows, (prefix[:-1] + chr(ord(prefix[-1]) + 1),)) if prefix else len(rows)
    return start, max(start, end)
