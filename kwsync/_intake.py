"""How a state of an object gets into the cache: transformed and indexed, once, and only if it is a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kwsync import _json
from kwsync._callbacks import ErrorCallback, callback_error
from kwsync._indexes import NOWHERE, Indexer, Values, values_of
from kwsync._records import Change, PlainRecord, Record
from kwsync.errors import ErrorOrigin, local_error

Transform = Callable[[dict[str, Any]], dict[str, Any]]


Taken = tuple[Record, Values]
"""What is to be kept, and where it is to be found."""


class _Transformed(PlainRecord):
    """A record whose bytes are not those that the server sent."""

    __slots__ = ("_source",)

    def __init__(self, record: Record, raw: bytes) -> None:
        super().__init__(record.key, record.uid, record.version, raw)
        self._source = record.source

    @property
    def source(self) -> int:
        """Of what the server sent."""
        return self._source

    def was_sent_as(self, raw: bytes) -> bool:
        """By the hash, which is all that is left of it."""
        return self._source == hash(raw)


class Intake:
    """The user's functions: what they raise is reported, and never ends anything. *pack* makes a record smaller."""

    def __init__(
        self,
        transform: Transform | None,
        indexers: Mapping[str, Indexer],
        report: ErrorCallback,
        pack: Callable[[Record], Record] | None = None,
    ) -> None:
        if transform is not None and not callable(transform):
            raise TypeError(f"transform must be callable, not {type(transform).__name__}")
        self._transform = transform
        self._indexers = indexers
        self._report = report
        self._pack = pack or _as_it_is

    def take(self, change: Change, record: Record, old: Record | None = None, *, trusted: bool = True) -> Taken | None:
        """The object as it is to be kept; the very *old* record where it is that; None where it cannot be kept (B060).

        Bytes decide whether it is the old one, and their meaning where the versions say that it is: a list and a watch
        may write one object in two ways, and a restored server may give one version to two states. Of a Table equal
        versions are enough, as long as they can be *trusted*: its cells tell ages, which change by themselves.
        """
        if old is not None and self._is_known(old, record, change, trusted=trusted):
            return old, NOWHERE
        if self._transform is None and not self._indexers:
            return self._pack(record), NOWHERE
        try:
            document = record.decode() if change.decoded is None else change.decoded
        except ValueError as error:
            self._report(local_error(ErrorOrigin.DECODE, str(error)))
            return None if self._transform is not None else (self._pack(record), NOWHERE)
        if self._transform is not None:
            transformed = self._transformed(self._transform, document)
            if transformed is None:
                return None
            document, raw = transformed
            if old is not None and old.is_state_of(record) and old.raw == raw:
                return old, NOWHERE
            record = _Transformed(record, raw)
        return self._pack(record), values_of(self._indexers, document, self._report)

    def _is_known(self, old: Record, new: Record, change: Change, *, trusted: bool) -> bool:
        if old.version != new.version or old.uid != new.uid:
            return False
        if old.was_sent_as(new.raw) or (trusted and new.is_state_of(old) and _is_table(change)):
            return True
        if self._transform is not None:
            return False  # what is kept means something else than what was sent
        try:
            return old.decode() == new.decode()
        except (ValueError, RecursionError):  # nested so deeply that it cannot be decoded, or compared, here and now
            return False

    def _transformed(self, transform: Transform, document: dict[str, Any]) -> tuple[dict[str, Any], bytes] | None:
        try:
            found = transform(document)
            if not isinstance(found, dict):
                raise TypeError(f"a transform gives the object, not {type(found).__name__}")
            return found, _json.dumps(found)
        except BaseException as raised:  # noqa: BLE001 - whatever it is, the stream goes on
            self._report(callback_error("transform", raised))
            return None


def _is_table(change: Change) -> bool:
    """A Table's bytes alone do not tell its object, so it has always been decoded."""
    return change.decoded is not None and change.decoded.get("kind") == "Table"


def _as_it_is(record: Record) -> Record:
    return record
