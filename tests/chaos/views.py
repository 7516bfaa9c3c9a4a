"""What somebody has been told, and whether it was told as it is promised."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from kwsync import EventType, ObjectKey, WatchEvent


class State(NamedTuple):
    """One state of one object."""

    uid: str
    token: int
    """Tokens grow with each write of an object."""


States = dict[ObjectKey, State]


def state_of(document: dict[str, Any]) -> State:
    """The state that an object is in."""
    return State(document["metadata"]["uid"], int(document["data"]["token"]))


def key_of(document: dict[str, Any]) -> ObjectKey:
    """Its key."""
    return ObjectKey(document["metadata"].get("namespace", ""), document["metadata"]["name"])


class View:
    """The state that one reader of events believes in. A promise that is broken is noted, and ends the run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.states: States = {}
        self.events = 0
        self.broken: list[str] = []
        self.travels = 0
        """How often the server has gone back in time: after that tokens may be lower once."""
        self._travelled: dict[ObjectKey, int] = {}
        self._lock = threading.Lock()

    def take(self, event: WatchEvent) -> None:
        """One event, on whatever thread it comes."""
        if event.type in (EventType.ADDED, EventType.MODIFIED, EventType.DELETED):
            with self._lock:
                self.events += 1
                getattr(self, f"_{event.type.lower()}")(event)

    def snapshot(self) -> States:
        """The states now."""
        with self._lock:
            return dict(self.states)

    def _added(self, event: WatchEvent) -> None:
        if event.key in self.states:
            self._break(event, f"ADDED twice, without DELETED: {self.states[event.key]}")
        self._note(event)

    def _modified(self, event: WatchEvent) -> None:
        known = self.states.get(event.key)
        if known is None or event.object is None:
            self._break(event, "MODIFIED, but never ADDED")
            return
        if state_of(event.object).uid != known.uid:
            self._break(event, f"MODIFIED is of another object than {known}")
        if event.old_object is not None and state_of(event.old_object) != known:
            self._break(event, f"its old state is {state_of(event.old_object)}, not what was told last: {known}")
        self._note(event)

    def _deleted(self, event: WatchEvent) -> None:
        known = self.states.pop(event.key, None)
        if known is None:
            self._break(event, "DELETED, but never ADDED")
        elif event.object is not None and event.object["metadata"].get("uid") != known.uid:
            self._break(event, f"DELETED is of another object than {known}")

    def _note(self, event: WatchEvent) -> None:
        assert event.object is not None
        new, old = state_of(event.object), self.states.get(event.key)
        if old is not None and new.token <= old.token and self._travelled.get(event.key, 0) == self.travels:
            self._break(event, f"goes back from {old} to {new}")
        self._travelled[event.key] = self.travels
        self.states[event.key] = new

    def _break(self, event: WatchEvent, why: str) -> None:
        self.broken.append(f"{self.name}: {event.type} {event.key} {event.resource_version}: {why}")
