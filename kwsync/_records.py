"""Objects as they came: their bytes, and the few words of metadata that everything is decided by. Pure.

What is kept of an object is its JSON, decoded when somebody looks: that is a tenth of the dicts' size, and nobody can
change what is kept by changing what they got.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from kwsync import _json
from kwsync._enum import StrEnum
from kwsync._events import EventType, ObjectKey, WatchEvent, key_of, resource_version_of, uid_of
from kwsync.errors import WatchError


class Record:
    """One state of one object. Never changed. How it is kept is the matter of the classes below it."""

    __slots__ = ()

    @property
    def key(self) -> ObjectKey:
        """Which object."""
        raise NotImplementedError

    @property
    def uid(self) -> str:
        """Empty where the server gives none."""
        raise NotImplementedError

    @property
    def version(self) -> str:
        """``metadata.resourceVersion``; empty where the server gives none."""
        raise NotImplementedError

    @property
    def raw(self) -> bytes:
        """Its JSON."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<Record {self.key} {self.version} {len(self.raw)} bytes>"

    def decode(self) -> dict[str, Any]:
        """The object, a fresh one each time; ValueError that names it where Python cannot: it is nested too deeply, or
        holds too long an integer.
        """
        try:
            found: dict[str, Any] = _json.loads(self.raw)
        except ValueError as error:
            raise ValueError(f"{self.key} {_json.why_not(error)}") from error
        return found

    @property
    def source(self) -> int:
        """The hash of the bytes that the server sent; in this process alone."""
        return hash(self.raw)

    def was_sent_as(self, raw: bytes) -> bool:
        """Were these the bytes that the server sent?"""
        return self.raw == raw

    def is_state_of(self, other: Record) -> bool:
        """The same state of the same object, as far as the server's own marks tell; without a version nothing is."""
        return self.version == other.version != "" and self.uid == other.uid

    def replaces(self, other: Record) -> bool:
        """Another object under the same name: it was deleted and made again."""
        return self.uid != other.uid

    def is_older_than(self, other: Record) -> bool:
        """By their versions, where those can be compared."""
        return is_older(self.version, other.version)

    def without_bytes(self) -> Record:
        """For those who only need to know what it was."""
        return PlainRecord(self.key, self.uid, self.version, b"")


class PlainRecord(Record):
    """A record that holds its words and its bytes as they are."""

    __slots__ = ("key", "raw", "uid", "version")

    key: ObjectKey
    uid: str
    version: str
    raw: bytes

    def __init__(self, key: ObjectKey, uid: str, version: str, raw: bytes) -> None:
        self.key = key
        self.uid = uid
        self.version = version
        self.raw = raw


def record_of(document: dict[str, Any], raw: bytes | None = None) -> Record | None:
    """The record of a decoded object; None where it has no name, and so cannot be told from others."""
    key = key_of(document)
    if not key.name:
        return None
    version = resource_version_of(document) or ""
    return PlainRecord(key, uid_of(document), version, _json.dumps(document) if raw is None else raw)


class Transition(StrEnum):
    """What a state means to somebody who knows an older one."""

    NOTHING = "NOTHING"
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    RECREATED = "RECREATED"
    """Another object under the same name: a deletion that nobody saw, then an addition."""


def transition(old: Record | None, new: Record, *, trusted: bool = True) -> Transition:
    """What *new* means to who knows *old*: told by what is known, not by the type of an event (B087).

    Equal versions mean equal states as long as they can be *trusted*: after a restore of the server's database it gives
    the same versions again, to other states.
    """
    if old is None:
        return Transition.ADDED
    if new.replaces(old):
        return Transition.RECREATED
    return Transition.NOTHING if trusted and new.is_state_of(old) else Transition.MODIFIED


def is_older(version: str, other: str) -> bool:
    """Is a resource version older than another of the same resource? False where they cannot be compared.

    They compare as numbers if both are decimal without a leading zero (Kubernetes' KEP 5504); else only equality means
    something. Longer ones are larger, so no number has to be made of what may have any length.
    """
    if not (is_comparable(version) and is_comparable(other)):
        return False
    return (len(version), version) < (len(other), other)


def is_comparable(version: str) -> bool:
    """Can a version be compared with others of its kind?"""
    return version.isascii() and version.isdigit() and version[0] != "0"


class Change:
    """What a stream of records gives, in the place of a `WatchEvent`."""

    __slots__ = ("decoded", "error", "record", "type", "version")

    def __init__(
        self,
        kind: EventType,
        record: Record | None,
        decoded: dict[str, Any] | None = None,
        *,
        error: WatchError | None = None,
        version: str | None = None,
    ) -> None:
        self.type = kind
        self.record = record
        """None for ERROR, and for a BOOKMARK, which tells of no object."""
        self.decoded = decoded
        """The object, where it had to be decoded anyway: for one user, who may change it."""
        self.error = error
        self.version = version
        """Of a BOOKMARK."""

    def __repr__(self) -> str:
        return f"<Change {self.type} {self.record or self.error}>"


@attrs.frozen
class Page:
    """A piece of a full state: a page of a list, or some of a watch's initial events.

    A full state counts only when its last page has come. One that breaks off is just never completed: the next page is
    the first of another, and whatever was collected is void.
    """

    changes: Sequence[Change]
    """ADDED: is there. DELETED (of a watch's initial events alone): is not there after all."""
    first: bool
    last: bool
    version: str | None = None
    """Of the last page: how fresh the full state is. A lower one than before: the server has gone back in time."""
    rewound: bool = False
    """Of the last page: the server has gone back in time, so that equal versions do not mean equal states."""


class RecordEvent(WatchEvent):
    """A `WatchEvent` whose objects are decoded when they are first looked at; then it is the same dict each time.

    To look at one that cannot be decoded is a ValueError: see `Record.decode`. That goes for ``==`` and for pickling,
    too. The other attributes, `key` above all, can be read as always.
    """

    _record: Record
    _old: Record | None

    @classmethod
    def of(
        cls,
        kind: EventType,
        record: Record,
        *,
        decoded: dict[str, Any] | None = None,
        old: Record | None = None,
        initial: bool = False,
        final_state_unknown: bool = False,
    ) -> RecordEvent:
        """The event of a record; *decoded* where the object had to be decoded anyway."""
        event: RecordEvent = cls.__new__(cls)
        event.__dict__.update(
            type=kind,
            resource_version=record.version or None,
            error=None,
            initial=initial,
            final_state_unknown=final_state_unknown,
            _record=record,
            _old=old,
        )
        if decoded is not None:
            event.__dict__["_decoded"] = decoded
        return event

    def __new__(cls, *fields: Any, **named: Any) -> Any:
        """With fields, as ``attrs.evolve`` and ``copy.replace`` make one, it is an ordinary event."""
        return WatchEvent(*fields, **named) if fields or named else super().__new__(cls)

    # Two threads that look first at one time get the same dict: setdefault is atomic.

    @property
    def object(self) -> dict[str, Any]:
        """The object."""
        found: dict[str, Any] | None = self.__dict__.get("_decoded")
        if found is None:
            found = self.__dict__.setdefault("_decoded", self._record.decode())
        return found

    @property
    def old_object(self) -> dict[str, Any] | None:
        """The state before, where an informer knows it."""
        found: dict[str, Any] | None = self.__dict__.get("_decoded_old")
        if found is None and self._old is not None:
            found = self.__dict__.setdefault("_decoded_old", self._old.decode())
        return found

    @property
    def key(self) -> ObjectKey:
        """Namespace and name; nothing is decoded for it."""
        return self._record.key

    def __repr__(self) -> str:
        try:
            return super().__repr__()
        except ValueError as error:
            return f"<WatchEvent {self.type} {error}>"

    def __eq__(self, other: Any) -> bool:
        return _fields(self) == _fields(other) if isinstance(other, WatchEvent) else NotImplemented

    __hash__ = WatchEvent.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return WatchEvent, _fields(self)  # the bytes are of no use elsewhere


def _fields(event: WatchEvent) -> tuple[Any, ...]:
    return (
        event.type,
        event.object,
        event.resource_version,
        event.error,
        event.old_object,
        event.initial,
        event.final_state_unknown,
    )
