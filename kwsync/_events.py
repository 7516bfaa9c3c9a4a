"""The values a watch gives: events, and the reason of its end. Pure words: no I/O, no threads, no clock."""

from __future__ import annotations

from typing import Any, NamedTuple

import attrs

from kwsync._enum import StrEnum
from kwsync.errors import WatchError

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation of the bookmark that ends the initial events (Kubernetes, KEP 3157); only the value "true" counts."""


class EventType(StrEnum):
    """The type of an event: Kubernetes' five, and SYNCED, which only `list_and_watch` gives."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"
    SYNCED = "SYNCED"


class EndReason(StrEnum):
    """Why a stream ended; the first cause wins."""

    SERVER_CLOSED = "SERVER_CLOSED"
    """A clean close, also after an ERROR inside the stream (`WatchEnd.error` then holds it)."""
    CANCELLED = "CANCELLED"
    """The cancel event was set."""
    CLOSED = "CLOSED"
    """``close()``, ``stop()``, or nobody held the stream any longer."""
    ERROR = "ERROR"
    """HTTP, network, configuration or decoding trouble."""
    TIMEOUT = "TIMEOUT"
    """A deadline of ours passed."""


class ObjectKey(NamedTuple):
    """Namespace and name of an object; the namespace is empty for what has none. ``str()`` is ``namespace/name``."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def metadata_of(document: object) -> dict[str, Any]:
    """The metadata that names an object: its own, or that of a Table's first row; never fails."""
    if not isinstance(document, dict):
        return {}
    if document.get("kind") == "Table":
        rows = document.get("rows")
        row = rows[0] if isinstance(rows, list) and rows else None
        document = row.get("object") if isinstance(row, dict) else None
    metadata = document.get("metadata") if isinstance(document, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def key_of(document: object) -> ObjectKey:
    """Namespace and name of an object (of a Table: of its first row); never fails, and is empty where there is none."""
    metadata = metadata_of(document)
    return ObjectKey(_string(metadata.get("namespace")), _string(metadata.get("name")))


def uid_of(document: object) -> str:
    """``metadata.uid`` (of a Table: of its first row); empty where there is none."""
    return _string(metadata_of(document).get("uid"))


def labels_of(document: object) -> dict[str, str]:
    """``metadata.labels`` (of a Table: of its first row); empty where there are none."""
    labels = metadata_of(document).get("labels")
    return labels if isinstance(labels, dict) else {}


def _short(document: object) -> str:
    """An object in a repr: its kind and key, not four kilobytes."""
    if not isinstance(document, dict):
        return repr(document)
    return f"<{_string(document.get('kind')) or 'object'} {key_of(document)}>"


@attrs.frozen(slots=False)  # one is made for every event, and a frozen class with slots takes twice the time
class WatchEvent:
    """One event of a watch: a frozen value.

    Attributes:
        type: what happened, an `EventType`.
        object: as the server sent it (or as an informer's transform made it); None for ERROR and SYNCED.
        resource_version: the object's ``metadata.resourceVersion``.
        error: for ERROR only, a `WatchError`.
        old_object: for MODIFIED and DELETED of an informer, the state before.
        initial: part of the initial state, not a change: of `list_and_watch`, of an informer, and of a watch that was
            given ``send_initial_events``. (Without that nothing tells a watch's first ADDED events from later ones.)
        final_state_unknown: for a DELETED that a relist found. Its object is the last one known to an informer; of
            `list_and_watch` it holds name, namespace, uid and version alone.
    """

    type: EventType
    object: dict[str, Any] | None = attrs.field(default=None, repr=_short)
    resource_version: str | None = None
    error: WatchError | None = None
    old_object: dict[str, Any] | None = attrs.field(default=None, repr=_short)
    initial: bool = False
    final_state_unknown: bool = False

    @property
    def key(self) -> ObjectKey:
        """Namespace and name of the object (of a Table: of its first row), empty strings where there is none."""
        return key_of(self.object)

    def __hash__(self) -> int:
        """Objects are dicts, which have none; type, key and version tell most events apart."""
        return hash((self.type, self.key, self.resource_version))


@attrs.frozen
class WatchEnd:
    """Why a stream ended, and the error that ended it (or that stood in the stream before a clean close)."""

    reason: EndReason
    error: WatchError | None = None


_KIND_OF_LINE = {kind.value: kind for kind in EventType if kind is not EventType.SYNCED}


def line_type(document: object) -> EventType | None:
    """The type of a decoded line; None where it is no event by the rules of the stream.

    An event is an object with one of Kubernetes' five types and, except for ERROR, an object in ``object``.
    """
    if type(document) is not dict:
        return None
    kind = document.get("type")
    known = _KIND_OF_LINE.get(kind) if type(kind) is str else None
    if known is EventType.ERROR or type(document.get("object")) is dict:
        return known
    return None


def resource_version_of(document: dict[str, Any]) -> str | None:
    """``metadata.resourceVersion`` of an object, or of a Table's first row where the Table itself has none."""
    metadata = document.get("metadata")
    version = metadata.get("resourceVersion") if type(metadata) is dict else None
    if not version and document.get("kind") == "Table":
        version = metadata_of(document).get("resourceVersion")
    return sendable_version(version)


def sendable_version(value: object) -> str | None:
    """A resource version, if it is one that a request could carry: half a surrogate pair could not be sent."""
    if type(value) is not str or not value:
        return None
    return value if value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value) else None


def ends_initial_events(document: dict[str, Any]) -> bool:
    """Does this bookmark carry the annotation that ends the initial events? (In a Table it sits in the row.)"""
    annotations = metadata_of(document).get("annotations")
    return isinstance(annotations, dict) and annotations.get(INITIAL_EVENTS_END) == "true"
