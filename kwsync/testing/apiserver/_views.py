"""How an object looks on the wire: whole, or its metadata alone; Tables are next door. What is encoded once is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from kwsync.testing.apiserver._collection import Version, trimmed
from kwsync.testing.apiserver._encode import dumps
from kwsync.testing.apiserver._events_api import to_new
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._partial import partial

META = "meta.k8s.io/v1"
INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}

_EMPTY_PARTS: dict[tuple[str, str], dict[str, Any]] = {
    ("", "pods"): {"spec": {"containers": None}, "status": {}},
    ("", "services"): {"spec": {}, "status": {"loadBalancer": {}}},
    ("apps", "statefulsets"): {"spec": {"replicas": 0, "selector": None, "serviceName": ""}, "status": {"replicas": 0}},
    ("apps", "deployments"): {"spec": {"selector": None, "template": {"metadata": {}}}, "status": {}},
}
"""What Go's zero values look like in the bookmark of a kind: a client must not validate it (A3)."""


class View(Protocol):
    """One way to show the objects of one kind."""

    shared: object
    """The key under which its encodings may be kept and shared between watches; None for not at all."""

    def single(self, version: Version) -> bytes:
        """An answer that is one object, and the object of a watch event."""

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        """The object of a bookmark."""

    def list(self, versions: Iterable[Version], metadata: dict[str, Any]) -> bytes:
        """A list; *metadata* is its own."""


class ObjectView:
    """The whole object, as the version of the request's path has it."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.shared: object = kind
        self._head = dumps({"kind": kind.name, "apiVersion": kind.api_version})[:-1] + b","
        self._converts = kind.group == "events.k8s.io"

    def single(self, version: Version) -> bytes:
        return self._head + self._body(version)[1:]

    def _body(self, version: Version) -> bytes:
        if not self._converts:
            return version.json
        found = version.parts.get("events.k8s.io")
        if found is None:
            found = version.parts["events.k8s.io"] = trimmed(dumps(to_new(version.object)))
        return found

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        if initial_end:
            metadata["annotations"] = INITIAL_EVENTS_END
        parts = _EMPTY_PARTS.get((self._kind.group, self._kind.plural), {})
        return self._head + dumps({"metadata": metadata, **parts})[1:]

    def list(self, versions: Iterable[Version], metadata: dict[str, Any]) -> bytes:
        kind = self._kind
        # Trap 12: items of built-in kinds do not say what they are.
        items = b",".join([self.single(each) if kind.custom else self._body(each) for each in versions])
        if kind.custom:
            metadata = {"continue": "", **metadata}
        head = dumps({"kind": kind.list_name, "apiVersion": kind.api_version, "metadata": metadata})
        return b'%b,"items":[%b]}' % (head[:-1], items)


class MetadataView:
    """PartialObjectMetadata."""

    shared: object = "metadata"

    def single(self, version: Version) -> bytes:
        found = version.parts.get("metadata")
        if found is None:
            found = version.parts["metadata"] = trimmed(dumps(partial(version.object)))
        return found

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        if initial_end:
            metadata["annotations"] = INITIAL_EVENTS_END
        return dumps(partial({"metadata": metadata}))

    def list(self, versions: Iterable[Version], metadata: dict[str, Any]) -> bytes:
        items = b",".join([self.single(each) for each in versions])
        head = dumps({"kind": "PartialObjectMetadataList", "apiVersion": META, "metadata": metadata})
        # Unlike other lists this one has null for nothing.
        return b'%b,"items":%b}' % (head[:-1], b"[%b]" % items if items else b"null")
