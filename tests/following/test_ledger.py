"""The ledger: full states and changes to the events that tell what is different. No I/O."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync import EventType, WatchEvent
from kwsync._ledger import Ledger
from kwsync._records import Change, Page, PlainRecord, Record, record_of
from kwsync.errors import ErrorOrigin, local_error
from kwsync.testing import bookmark, pod

ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED


def record(name: str, version: str = "1", uid: str | None = None, **more: Any) -> Record:
    found = record_of(pod(name, version, uid, **more))
    assert found is not None
    return found


def told(kind: EventType, name: str, version: str = "1", uid: str | None = None) -> Change:
    """A change of a watch, or (ADDED) an object of a full state."""
    return Change(kind, record(name, version, uid))


def page(*changes: Change, first: bool = True, last: bool = True, version: str = "10", rewound: bool = False) -> Page:
    return Page(changes, first, last, version, rewound)


def tell(ledger: Ledger, *steps: Page | Change) -> list[str]:
    """What the ledger makes of the steps: type, name, version; and marks for initial and for a lost final state."""
    return [show(event) for step in steps for event in ledger.events(step)]


def show(event: WatchEvent) -> str:
    marks = " initial" * event.initial + " lost" * event.final_state_unknown
    return f"{event.type} {event.key.name} {event.resource_version or ''}".strip() + marks


def synced(*changes: Change, **options: Any) -> Ledger:
    """A ledger after a full state."""
    ledger = Ledger(**options)
    tell(ledger, page(*changes))
    return ledger


class TestFullStates:
    def test_first(self) -> None:
        """Each object is ADDED and initial, then SYNCED with the version of the state."""
        steps = page(told(ADDED, "a", "5"), told(ADDED, "b", "3"))
        assert tell(Ledger(), steps) == ["ADDED a 5 initial", "ADDED b 3 initial", "SYNCED  10"]

    def test_second(self) -> None:
        """Told by key and uid: unchanged, changed, new, gone, made anew."""
        ledger = synced(*(told(ADDED, name, "5") for name in ("same", "changed", "gone", "again")))
        now = [told(ADDED, "same", "5"), told(ADDED, "changed", "7"), told(ADDED, "new", "8")]
        now.append(told(ADDED, "again", "9", "another"))
        expected = ["MODIFIED changed 7", "ADDED new 8", "DELETED again 5 lost", "ADDED again 9", "DELETED gone 5 lost"]
        assert tell(ledger, page(*now, version="20")) == [*expected, "SYNCED  20"]
        assert len(ledger) == 4

    def test_pages(self) -> None:
        """A state counts when its last page has come; before that nothing is gone."""
        ledger = synced(told(ADDED, "a"), told(ADDED, "b"), told(ADDED, "c"))
        assert tell(ledger, page(told(ADDED, "a"), last=False)) == []
        assert tell(ledger, page(told(ADDED, "c"), first=False)) == ["DELETED b 1 lost", "SYNCED  10"]

    @pytest.mark.parametrize("emit_initial", [True, False])
    def test_a_state_that_breaks_off(self, emit_initial: bool) -> None:
        """Its pages are void: the next first page begins anew, and what only they held is gone if it was told."""
        ledger = Ledger(emit_initial=emit_initial)
        begun = tell(ledger, page(told(ADDED, "a"), told(ADDED, "b"), last=False))
        then = tell(ledger, page(told(ADDED, "b")))
        if emit_initial:
            assert (begun, then) == (["ADDED a 1 initial", "ADDED b 1 initial"], ["DELETED a 1 lost", "SYNCED  10"])
        else:
            assert (begun, then) == ([], ["SYNCED  10"])
        assert tell(ledger, told(MODIFIED, "b", "2")) == ["MODIFIED b 2"]

    def test_changed_on_the_way_to_the_first(self) -> None:
        """Only what is ADDED is part of the initial state; what a second try finds changed is a change."""
        ledger = Ledger()
        tell(ledger, page(told(ADDED, "a"), last=False))
        assert tell(ledger, page(told(ADDED, "a", "2"))) == ["MODIFIED a 2", "SYNCED  10"]

    @pytest.mark.parametrize("emit_initial", [True, False])
    def test_initial_events(self, emit_initial: bool) -> None:
        """A watch-list's changes are pages of one: MODIFIED is there, DELETED is not (B034)."""
        ledger = Ledger(emit_initial=emit_initial)
        pages = [
            page(told(ADDED, "a"), last=False),
            page(told(ADDED, "b"), first=False, last=False),
            page(told(MODIFIED, "a", "2"), first=False, last=False),
            page(told(DELETED, "b", "3"), first=False, last=False),
            page(first=False),
        ]
        expected = ["ADDED a 1 initial", "ADDED b 1 initial", "MODIFIED a 2", "DELETED b 1 lost", "SYNCED  10"]
        assert tell(ledger, *pages) == (expected if emit_initial else ["SYNCED  10"])
        assert tell(ledger, told(DELETED, "b", "4"), told(DELETED, "a", "5")) == ["DELETED a 5"]

    def test_an_empty_state(self) -> None:
        """Nothing is there: all that was told is gone."""
        assert tell(synced(told(ADDED, "a")), page()) == ["DELETED a 1 lost", "SYNCED  10"]

    def test_rewound(self) -> None:
        """Where the server has gone back in time equal versions say nothing: all counts as changed, older too."""
        ledger = synced(told(ADDED, "a", "5"), told(ADDED, "b", "6"), told(ADDED, "c", "7"))
        now = page(told(ADDED, "a", "5"), told(ADDED, "b", "4"), version="8", rewound=True)
        assert tell(ledger, now) == ["MODIFIED a 5", "MODIFIED b 4", "DELETED c 7 lost", "SYNCED  8"]
        assert tell(ledger, told(MODIFIED, "b", "5"), told(DELETED, "a", "6")) == ["MODIFIED b 5", "DELETED a 6"]

    def test_a_list_is_the_truth(self) -> None:
        """An older version in a list is told all the same, where nobody knows better (A9: lists without a version)."""
        assert tell(synced(told(ADDED, "a", "5")), page(told(ADDED, "a", "4")))[0] == "MODIFIED a 4"

    @pytest.mark.parametrize("version", ["", "abc", "007"])
    def test_versions_that_cannot_be_compared(self, version: str) -> None:
        """C8, A11: equality is all; without a version each state counts as another."""
        ledger = synced(told(ADDED, "a", version))
        again = tell(ledger, page(told(ADDED, "a", version)))
        assert again == (["SYNCED  10"] if version else ["MODIFIED a", "SYNCED  10"])
        assert tell(ledger, told(MODIFIED, "a", "5"))[0] == "MODIFIED a 5"

    def test_without_uids(self) -> None:
        """A server that gives no uid has its objects told by name alone."""
        bare = Change(ADDED, PlainRecord(record("a").key, "", "1", b"{}"))
        changed = Change(ADDED, PlainRecord(record("a").key, "", "2", b"{}"))
        assert tell(synced(bare), page(changed)) == ["MODIFIED a 2", "SYNCED  10"]


class TestQuietStart:
    def test_only_the_first_state_is_left_out(self) -> None:
        """emit_initial=False is about the first full state; what changes later is told."""
        ledger = Ledger(emit_initial=False)
        assert tell(ledger, page(told(ADDED, "a"), told(ADDED, "b"), told(ADDED, "c"))) == ["SYNCED  10"]
        assert len(ledger) == 3
        now = page(told(ADDED, "a", "2"), told(ADDED, "b"))
        assert tell(ledger, now) == ["MODIFIED a 2", "DELETED c 1 lost", "SYNCED  10"]

    def test_what_was_told_before(self) -> None:
        """A stream that began at a version has told changes before its first list: those objects are known."""
        ledger = Ledger(emit_initial=False)
        tell(ledger, told(ADDED, "a", "5"), told(ADDED, "b", "6"), told(ADDED, "c", "7"))
        now = page(told(ADDED, "a", "8"), told(ADDED, "b", "6"), told(ADDED, "old", "1"))
        assert tell(ledger, now) == ["MODIFIED a 8", "DELETED c 7 lost", "SYNCED  10"]


class TestChanges:
    def test_of_what_is_known(self) -> None:
        """ADDED, MODIFIED, DELETED with the final state as it came."""
        ledger = synced(told(ADDED, "a"))
        steps = [told(MODIFIED, "a", "2"), told(ADDED, "b", "3"), told(DELETED, "a", "4")]
        assert tell(ledger, *steps) == ["MODIFIED a 2", "ADDED b 3", "DELETED a 4"]

    def test_b087_what_is_known_decides(self) -> None:
        """B087: not the type of an event, but what was told before it."""
        ledger = synced(told(ADDED, "a"))
        assert tell(ledger, told(ADDED, "a", "2"), told(MODIFIED, "b", "3")) == ["MODIFIED a 2", "ADDED b 3"]

    def test_twice_and_too_late(self) -> None:
        """The same state again, and an older one, are nothing to tell; nor is a deletion of what is not there."""
        ledger = synced(told(ADDED, "a", "5"))
        late = [told(MODIFIED, "a", "5"), told(MODIFIED, "a", "4"), told(DELETED, "a", "4"), told(DELETED, "b", "9")]
        assert tell(ledger, *late) == []
        assert tell(ledger, told(MODIFIED, "a", "10")) == ["MODIFIED a 10"]

    def test_another_uid(self) -> None:
        """E22: one event that shows another uid is a deletion that nobody saw, and an addition."""
        ledger = synced(told(ADDED, "a", "5"))
        assert tell(ledger, told(MODIFIED, "a", "6", "other")) == ["DELETED a 5 lost", "ADDED a 6"]

    def test_the_end_of_another_uid(self) -> None:
        """What is deleted was never told; what was told is gone as well, and nobody saw how."""
        ledger = synced(told(ADDED, "a", "5"))
        assert tell(ledger, told(DELETED, "a", "9", "other"), told(DELETED, "a", "9", "other")) == ["DELETED a 5 lost"]

    def test_before_any_full_state(self) -> None:
        """E20: a stream that begins at a version does not know what was there, but the server does, and is believed.

        Who saved the version knows the objects; their changes and deletions are theirs to hear of.
        """
        ledger = Ledger()
        steps = [told(MODIFIED, "a", "6"), told(DELETED, "b", "7"), told(DELETED, "a", "8"), told(ADDED, "a", "9", "2")]
        assert tell(ledger, *steps) == ["MODIFIED a 6", "DELETED b 7", "DELETED a 8", "ADDED a 9"]

    def test_bookmarks_and_errors(self) -> None:
        """They pass, and change nothing."""
        ledger, error = synced(told(ADDED, "a")), local_error(ErrorOrigin.NETWORK, "x")
        mark = Change(EventType.BOOKMARK, None, bookmark("7"), version="7")
        (first,) = ledger.events(mark)
        assert (first.type, first.object, first.resource_version) == (EventType.BOOKMARK, bookmark("7"), "7")
        (second,) = ledger.events(Change(EventType.ERROR, None, error=error))
        assert second == WatchEvent(EventType.ERROR, error=error)
        assert len(ledger) == 1


def test_nothing_is_kept_but_names() -> None:
    """Keys, uids and versions are kept, and no object."""
    ledger = synced(Change(ADDED, record("a", spec={"x": "y" * 1000})))
    assert [known.raw for known in ledger._known.values()] == [b""]


def test_objects_are_decoded_when_looked_at() -> None:
    """An event has the object of its record; a tombstone has the names."""
    (event, _) = Ledger().events(page(Change(ADDED, record("a", "5", spec={"x": 1}))))
    assert event.object == pod("a", "5", spec={"x": 1})


# Whatever comes

names = st.sampled_from("abc")
states = st.dictionaries(names, st.tuples(st.integers(1, 3), st.integers(1, 30)), max_size=3)
"""Of each object that is there its uid and version."""


def objects(state: dict[str, tuple[int, int]]) -> list[Change]:
    return [told(ADDED, name, str(version), str(uid)) for name, (uid, version) in state.items()]


@given(st.lists(st.tuples(states, st.booleans(), st.integers(0, 3)), min_size=1, max_size=8), st.booleans())
def test_in_the_end_all_is_told(full_states: list[tuple[dict[str, Any], bool, int]], rewound: bool) -> None:
    """Whatever full states come, whole or cut off: who only reads the events has what the last whole one had."""
    ledger, reader = Ledger(), dict[str, tuple[int, int]]()
    last: dict[str, tuple[int, int]] | None = None
    for state, whole, cut in full_states:
        every = objects(state)
        pages = [page(*every[:cut], last=False, rewound=rewound)]
        pages += [page(*every[cut:], first=False, rewound=rewound)] if whole else []
        for step in pages:
            for event in ledger.events(step):
                apply(reader, event)
        last = state if whole else last
        if whole:
            assert reader == last


def apply(reader: dict[str, tuple[int, int]], event: WatchEvent) -> None:
    """One event to who knows nothing else; each type must fit what was told before."""
    if event.type is EventType.SYNCED:
        return
    found = event.object
    assert found is not None
    name, uid = event.key.name, int(found["metadata"]["uid"])
    if event.type is DELETED:
        assert reader.pop(name)[0] == uid
        return
    assert (event.type is ADDED) == (name not in reader)
    assert name not in reader or reader[name][0] == uid
    reader[name] = (uid, int(event.resource_version or 0))
