"""Events of Kubernetes (events.k8s.io/v1) as values and as documents, within the limits that servers set. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from kwsync._micro_time import micro_time, microseconds

TYPES = ("Normal", "Warning")

NOTE_BYTES = 1024
WORD_BYTES = 128
"""What kube-apiserver takes of a note, and of an action, a reason and an instance."""

NAME_LENGTH = 253

_CUT = "…"
_QUALIFIED = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class Reference(NamedTuple):
    """An ObjectReference: which object is meant."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    field_path: str

    @property
    def identity(self) -> Reference:
        """Equal for all versions of the object, so that one that changes all the time is still the same."""
        return self._replace(resource_version="")

    def document(self) -> dict[str, str]:
        """As the API has it."""
        return {key: value for key, value in zip(_KEYS, self, strict=True) if value}


_KEYS = ("apiVersion", "kind", "namespace", "name", "uid", "resourceVersion", "fieldPath")


class Occurrence(NamedTuple):
    """Something that happened, as a recorder was told it."""

    regarding: Reference
    reason: str
    note: str
    type: str
    action: str
    related: Reference | None
    at: float
    """Seconds since 1970."""


class Source(NamedTuple):
    """Who tells: the name of a controller, and of the process that runs it."""

    component: str
    instance: str


def source(component: str, instance: str) -> Source:
    """Checked: TypeError and ValueError for names that servers refuse."""
    if not _QUALIFIED.fullmatch(_text("component", component)):
        raise ValueError(f"component must be a name such as example.com/controller, not {component!r}")
    return Source(component, _word("instance", instance))


def occurrence(
    regarding: Mapping[str, Any],
    reason: str,
    note: str,
    type: str,  # noqa: A002 - the API's name
    action: str | None,
    related: Mapping[str, Any] | None,
    at: float,
) -> Occurrence:
    """Checked: TypeError and ValueError for what servers refuse, but for the note, which is cut to what they take."""
    if type not in TYPES:
        raise ValueError(f"type must be Normal or Warning, not {type!r}")
    _word("reason", reason)
    return Occurrence(
        reference(regarding, "regarding"),
        reason,
        cut(_text("note", note)),
        type,
        reason if action is None else _word("action", action),
        None if related is None else reference(related, "related"),
        at,
    )


def reference(object: Mapping[str, Any], what: str) -> Reference:
    """To an object, or as an ObjectReference says it; ValueError where kind or name is missing."""
    if not isinstance(object, Mapping):
        raise TypeError(f"{what} must be an object or a reference to one, not {type(object).__name__}")
    inner = object.get("metadata")
    parts: Mapping[str, Any] = object
    if isinstance(inner, Mapping):
        kinds = {name: object.get(name) for name in ("apiVersion", "kind")}
        parts = {**{name: inner.get(name) for name in _KEYS[2:6]}, **kinds}
    found = Reference(*(_text(f"{what}: {key}", parts.get(key) or "") for key in _KEYS))
    if not (found.kind and found.name):
        raise ValueError(f"{what} has no kind and name")
    return found


def namespace_of(happened: Occurrence) -> str:
    """Where its event is kept: beside the object; for objects without a namespace in ``default`` (B168)."""
    return happened.regarding.namespace or "default"


def event_name(happened: Occurrence, nanoseconds: int) -> str | None:
    """The object's name and the time; None where that is no name for an event (B168)."""
    name = f"{happened.regarding.name}.{nanoseconds:x}"
    return name if len(name) <= NAME_LENGTH and _NAME.fullmatch(name) else None


def event(happened: Occurrence, who: Source, name: str, series: Mapping[str, Any] | None) -> dict[str, Any]:
    """The whole event, to be created."""
    document = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace_of(happened)},
        "eventTime": micro_time(microseconds(happened.at)),
        "reportingController": who.component,
        "reportingInstance": who.instance,
        "action": happened.action,
        "reason": happened.reason,
        "regarding": happened.regarding.document(),
        "note": happened.note,
        "type": happened.type,
    }
    related = {} if happened.related is None else {"related": happened.related.document()}
    return {**document, **related, **(series or {})}


def series(count: int, last: float) -> dict[str, Any]:
    """How often it has happened, and when the last time; also the merge patch that says so."""
    return {"series": {"count": count, "lastObservedTime": micro_time(microseconds(last))}}


def cut(note: str) -> str:
    """No longer than servers take it, without half a character, and without what is none."""
    data = note.encode("utf-8", "replace")
    if len(data) > NOTE_BYTES:
        data = data[: NOTE_BYTES - len(_CUT.encode())]
        return data.decode("utf-8", "ignore") + _CUT
    return data.decode()


def _word(what: str, value: str) -> str:
    """Not empty, and short enough."""
    size = len(_text(what, value).encode("utf-8", "replace"))
    if not 0 < size <= WORD_BYTES:
        raise ValueError(f"{what} must have 1 to {WORD_BYTES} bytes, not {size}")
    return value


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {type(value).__name__}")
    return value
