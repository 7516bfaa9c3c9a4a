"""Objects as bytes, and the events that decode them when somebody looks."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import attrs
import pytest

from kwsync import EventType, ObjectKey, WatchEvent
from kwsync._records import Record, RecordEvent, Transition, is_older, record_of, transition

POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "5"},
}


def record(name: str = "a", uid: str = "u", version: str = "5") -> Record:
    made = record_of({"metadata": {"name": name, "namespace": "n", "uid": uid, "resourceVersion": version}})
    assert made is not None
    return made


def event(**options: Any) -> RecordEvent:
    made = record_of(POD)
    assert made is not None
    return RecordEvent.of(EventType.ADDED, made, **options)


class TestEvent:
    def test_is_an_event(self) -> None:
        """It has all that a WatchEvent has, and equals the one with the same fields."""
        assert event() == WatchEvent(EventType.ADDED, POD, "5")
        assert WatchEvent(EventType.ADDED, POD, "5") == event()
        assert event().key == ObjectKey("n", "a")
        assert repr(event()) == repr(WatchEvent(EventType.ADDED, POD, "5")).replace("WatchEvent", "RecordEvent")

    def test_old_object(self) -> None:
        """The state before is another object."""
        found = event(old=record(version="4"))
        assert found.old_object is not None
        assert found.old_object["metadata"]["resourceVersion"] == "4"
        assert event().old_object is None

    def test_same_dict(self) -> None:
        """Looked at from many threads at once, it is the same dict for all, so that a change is seen by all."""
        for _ in range(50):
            found, seen = event(), list[int]()
            start = threading.Barrier(4)

            def look(found: RecordEvent = found, seen: list[int] = seen, start: threading.Barrier = start) -> None:
                start.wait(10)
                seen.append(id(found.object))

            threads = [threading.Thread(target=look) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(10)
            assert len(set(seen)) == 1

    def test_frozen(self) -> None:
        """No field can be set."""
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            event().initial = True  # type: ignore[misc]

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
    def test_copies(self, copied: Any) -> None:
        """Copies are equal, whatever the way."""
        assert copied(event(old=record())) == event(old=record())

    def test_evolve(self) -> None:
        """attrs.evolve gives an event with other fields, as of any frozen value."""
        found = attrs.evolve(event(), type=EventType.DELETED, final_state_unknown=True)
        assert found == WatchEvent(EventType.DELETED, POD, "5", final_state_unknown=True)


@pytest.mark.parametrize(
    ("version", "other", "older"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("10", "10", False),
        ("99999999999999999999", "100000000000000000000", True),
        ("", "1", False),
        ("0", "1", False),
        ("01", "2", False),
        ("a", "b", False),
        ("٣", "4", False),
    ],
)
def test_is_older(version: str, other: str, older: bool) -> None:
    """Versions compare as whole numbers where both are decimal without a leading zero (KEP 5504), else not at all."""
    assert is_older(version, other) is older


@pytest.mark.parametrize(
    ("old", "new", "trusted", "expected"),
    [
        (None, record(), True, Transition.ADDED),
        (record(), record(), True, Transition.NOTHING),
        (record(), record(), False, Transition.MODIFIED),
        (record(), record(version="6"), True, Transition.MODIFIED),
        (record(), record(uid="v"), True, Transition.RECREATED),
        (record(version=""), record(version=""), True, Transition.MODIFIED),
    ],
)
def test_transition(old: Record | None, new: Record, trusted: bool, expected: Transition) -> None:
    """What a state means to who knows an older one: told by uid and version, not by the type of an event (B087)."""
    assert transition(old, new, trusted=trusted) is expected


def test_nameless() -> None:
    """What has no name can be told from nothing, so it is no record."""
    assert record_of({"metadata": {"namespace": "n"}}) is None
