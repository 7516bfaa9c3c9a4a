"""What is stored, one counter of versions, and the two things that can happen to an object. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._collection import DELETED, Change, Collection, Version
from kwsync.testing.apiserver._kind import Catalog, Kind, Resource, builtin_kinds

Object = dict[str, Any]


class Storage:
    """All objects, and the kinds they may be of. Not locked: its owner lets one thread in at a time.

    Args:
        now: gives the time, in UTC.
        new_uid: gives a uid that was never given before.
        history: how many changes of each kind are kept.
    """

    def __init__(self, now: Callable[[], datetime], new_uid: Callable[[], str], history: int) -> None:
        self.revision = 0
        """The version of the last write, of whatever kind."""
        self.now = now
        self.new_uid = new_uid
        self.history = history
        self.catalog = Catalog(builtin_kinds())
        self.collections: dict[Resource, Collection] = {}
        self.silent = False
        """Whether open watches are not told of writes: what they get wrong is to be found out by a list."""

    def collection(self, resource: Resource) -> Collection:
        """The objects of a resource."""
        found = self.collections.get(resource)
        if found is None:
            # Built-in resources have been there since version 0; custom ones begin with their definition.
            found = self.collections[resource] = Collection(self.history, 0)
        return found

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
        self.collection(kind.stored_as).record(Change(what, version, before), tell=not self.silent)
        return version

    def take_away(self, kind: Kind, old: Version) -> Version:
        """Delete an object at the next version, and nothing besides; its last state at that version."""
        self.revision += 1
        change = Change(DELETED, old.at(self.revision), old)
        self.collection(kind.stored_as).record(change, tell=not self.silent)
        return change.after


def key_of(namespace: str, name: str) -> str:
    """Where an object stands among those of its resource, in the order of etcd."""
    return f"{namespace}/{name}" if namespace else name
