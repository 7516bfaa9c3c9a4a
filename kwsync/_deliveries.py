"""What a handler has still to be told: at most one thing of each object, however long it takes. Pure.

A handler that keeps up is told of every state. For one that does not, what it has not been told yet is merged with what
comes after it; nothing is dropped. All that matters is whether the handler knows the object, and whether it is there:

    pending     then it is there                        then it is gone
    ADDED       ADDED, the last state                   nothing: the handler never knew it
    MODIFIED    MODIFIED, from the first old state      DELETED, from the first old state
    DELETED     MODIFIED, from the first old state      DELETED

Objects are told apart by their key and uid, so one that was made anew under the same name is another: its ADDED comes
after the DELETED of the first. (The same one is there again when it left the selection and came back.)
"""

from __future__ import annotations

from collections import OrderedDict

from kwsync._events import EventType, ObjectKey, WatchEvent
from kwsync._records import PlainRecord, Record, RecordEvent


class Delivery:
    """One thing to be told of one object. Never changed, and shared by all handlers."""

    __slots__ = ("final_state_unknown", "initial", "kind", "old", "record")

    def __init__(
        self,
        kind: EventType,
        record: Record,
        old: Record | None = None,
        *,
        initial: bool = False,
        final_state_unknown: bool = False,
    ) -> None:
        self.kind = kind
        self.record = record
        self.old = old
        """The state that the handler knows; None for ADDED."""
        self.initial = initial
        self.final_state_unknown = final_state_unknown

    def __repr__(self) -> str:
        return f"<Delivery {self.kind} {self.record}>"

    def event(self) -> WatchEvent:
        """As an event for one handler, who may do with the objects as it likes."""
        if self.kind is EventType.SYNCED:
            return WatchEvent(EventType.SYNCED, resource_version=self.record.version or None)
        return RecordEvent.of(
            self.kind,
            self.record,
            old=self.old,
            initial=self.initial,
            final_state_unknown=self.final_state_unknown,
        )


def added(record: Record, *, initial: bool = False) -> Delivery:
    """It is new."""
    return Delivery(EventType.ADDED, record, initial=initial)


def modified(record: Record, old: Record) -> Delivery:
    """It has changed; or it has not, for a resync."""
    return Delivery(EventType.MODIFIED, record, old)


def deleted(record: Record, old: Record) -> Delivery:
    """It is gone, and *record* is what the server sent."""
    return Delivery(EventType.DELETED, record, old)


def missed(old: Record) -> Delivery:
    """It is gone, and nobody saw it go: *old* is the last state that is known."""
    return Delivery(EventType.DELETED, old, old, final_state_unknown=True)


def merge(pending: Delivery, then: Delivery) -> Delivery | None:
    """Both as one, by the table above; None for nothing."""
    if pending.old is None:
        return None if then.kind is EventType.DELETED else added(then.record, initial=pending.initial)
    return Delivery(
        EventType.DELETED if then.kind is EventType.DELETED else EventType.MODIFIED,
        then.record,
        pending.old,
        final_state_unknown=then.final_state_unknown,
    )


def synced(version: str | None) -> Delivery:
    """What was told before is the initial state, as of *version*. No object has its key, for all have a name."""
    return Delivery(EventType.SYNCED, PlainRecord(ObjectKey("", ""), "", version or "", b""))


class Deliveries:
    """The queue of one handler: first come, first told. Its length is bounded by the number of objects."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[tuple[ObjectKey, str], Delivery] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def push(self, delivery: Delivery) -> None:
        """Tell this, too."""
        identity = delivery.record.key, delivery.record.uid
        pending = self._waiting.get(identity)
        merged = delivery if pending is None else merge(pending, delivery)
        if merged is not None:
            self._waiting[identity] = merged
        else:
            del self._waiting[identity]

    def pop(self) -> Delivery:
        """What is to be told next; KeyError where there is nothing."""
        return self._waiting.popitem(last=False)[1]
