"""What is stored, one counter of versions, and the two things that can happen to an object. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._bounds import Bounds
from kwsync.testing.apiserver._catalog import Catalog
from kwsync.testing.apiserver._collection import DELETED, Change, Collection, Version
from kwsync.testing.apiserver._kind import EVENTS, Kind, Resource, builtin_kinds

Object = dict[str, Any]


class Storage:
    """All objects, and the kinds they may be of. Not locked: its owner lets one thread in at a time.

    Args:
        now: gives the time, in UTC.
        new_uid: gives a uid that was never given before.
        history: how many changes of each kind are kept.
    """

    def __init__(self, now: Callable[[], datetime], new_uid: Callable[[], str], history: Bounds) -> None:
        self.revision = 0
        """The version of the last write, of whatever kind."""
        self.now = now
        self.new_uid = new_uid
        self.history = history
        self.catalog = Catalog(builtin_kinds())
        self.builtin = self.catalog.resources
        self.collections: dict[Resource, Collection] = {}
        self.started = 0
        """The version at which the cache began: no watch of a cached kind starts below it."""
        self.compacted = 0
        """The version up to which etcd has forgotten everything; about kinds without a cache, this is all there is."""
        self.compacted_cached = 0
        """The same for lists of cached kinds, which the cache may still have (D18)."""
        self.unseen = 0
        """How many want open watches not to be told of writes: what those get wrong is to be found out by a list."""

    def collection(self, resource: Resource) -> Collection:
        """The objects of a resource; 404 where that is a custom one, and not served any more."""
        found = self.collections.get(resource)
        if found is None or resource not in self.builtin:
            if resource not in self.catalog.resources:
                raise _status.text_404()
            if found is None:
                found = self.collections[resource] = self._new_collection(resource)
        return found

    def _new_collection(self, resource: Resource) -> Collection:
        """One that has been there all the time, without a write; but the cache of a custom one begins only now."""
        if resource == EVENTS:
            return Collection(self.history, self.compacted, self.compacted)
        started = self.started if resource in self.builtin else self.revision
        return Collection(self.history, started, self.compacted_cached)

    def find(self, kind: Kind, namespace: str, name: str) -> Version | None:
        """One object, or None."""
        return self.collection(kind.stored_as).objects.get(key_of(namespace, name))

    def get(self, kind: Kind, namespace: str, name: str) -> Version:
        """One object; 404 where there is none."""
        found = self.find(kind, namespace, name)
        if found is None:
            raise _status.not_found(kind.plural, name, kind.group)
        return found

    def commit(self, kind: Kind, what: str, key: str, new: Object, before: Version | None) -> Version:
        """Store an object at the next version; *new* becomes the storage's own, except for its metadata."""
        self.revision += 1
        new["metadata"] = {**new["metadata"], "resourceVersion": str(self.revision)}
        version = Version(key, new, self.revision)
        self.collection(kind.stored_as).record(Change(what, version, before), tell=not self.unseen)
        return version

    def take_away(self, kind: Kind, old: Version) -> Version:
        """Delete an object at the next version, and nothing besides; its last state at that version."""
        self.revision += 1
        change = Change(DELETED, old.at(self.revision), old)
        self.collection(kind.stored_as).record(change, tell=not self.unseen)
        return change.after


def key_of(namespace: str, name: str) -> str:
    """Where an object stands among those of its resource, in the order of etcd."""
    return f"{namespace}/{name}" if namespace else name
