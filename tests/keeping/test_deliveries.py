"""What a handler is told, whatever happens before it is told: the coalescing queue against a model.

The rule (design 3.4): per uid a subsequence, in order, of the object's states that ends in the last one, and a DELETED
for every object that it was told of.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import attrs
import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from kwsync import EventType, ObjectKey
from kwsync._deliveries import Deliveries, Delivery, added, deleted, merge, missed, modified, synced
from kwsync._keeper import differences
from kwsync._records import PlainRecord, Record


def state(version: int, uid: str = "u", name: str = "a") -> Record:
    """One state of an object."""
    return PlainRecord(ObjectKey("default", name), uid, str(version), b"{}")


def told(deliveries: Deliveries) -> list[str]:
    """All that is told, in short."""
    return [short(deliveries.pop()) for _ in range(len(deliveries))]


def short(delivery: Delivery | None) -> str:
    """Type, uid, versions, marks."""
    if delivery is None:
        return "nothing"
    old = f"{delivery.old.version}>" if delivery.old else ""
    marks = f"{' initial' if delivery.initial else ''}{' unknown' if delivery.final_state_unknown else ''}"
    return f"{delivery.kind} {delivery.record.uid} {old}{delivery.record.version}{marks}"


def queued(*pushed: Delivery) -> Deliveries:
    """A queue to which these were given."""
    deliveries = Deliveries()
    for each in pushed:
        deliveries.push(each)
    return deliveries


ONE, TWO, THREE = state(1), state(2), state(3)


@pytest.mark.parametrize(
    ("pending", "then", "expected"),
    [
        (added(ONE), modified(TWO, ONE), "ADDED u 2"),
        (added(ONE, initial=True), modified(TWO, ONE), "ADDED u 2 initial"),
        (added(ONE), deleted(TWO, ONE), "nothing"),
        (added(ONE), missed(ONE), "nothing"),
        (modified(TWO, ONE), modified(THREE, TWO), "MODIFIED u 1>3"),
        (modified(TWO, ONE), deleted(THREE, TWO), "DELETED u 1>3"),
        (modified(TWO, ONE), missed(TWO), "DELETED u 1>2 unknown"),
        (deleted(TWO, ONE), added(THREE), "MODIFIED u 1>3"),
        (missed(ONE), added(THREE), "MODIFIED u 1>3"),
        (modified(ONE, ONE), modified(TWO, ONE), "MODIFIED u 1>2"),
        (modified(TWO, ONE), modified(TWO, TWO), "MODIFIED u 1>2"),
        (added(ONE), modified(ONE, ONE), "ADDED u 1"),
    ],
    ids=repr,
)
def test_b072_merge(pending: Delivery, then: Delivery, expected: str) -> None:
    """Two things about one object become one, by the table of the room."""
    assert short(merge(pending, then)) == expected


def test_b072_first_queued_first_told() -> None:
    """Objects are told in the order in which they were first waiting, each with its last state."""
    one, other = state(1, "u", "a"), state(2, "v", "b")
    deliveries = queued(added(one), added(other), modified(state(3, "u", "a"), one))
    assert told(deliveries) == ["ADDED u 3", "ADDED v 2"]


def test_b073_two_deletions() -> None:
    """Of two deletions in a row one is told, from the state that the handler knew."""
    assert told(queued(deleted(TWO, ONE), missed(TWO))) == ["DELETED u 1>2 unknown"]


def test_b089_another_uid() -> None:
    """The deletion of an object and the addition of another under its name stay two events, in this order."""
    fresh = state(3, "v")
    deliveries = queued(modified(TWO, ONE), missed(TWO), added(fresh), modified(state(4, "v"), fresh))
    assert told(deliveries) == ["DELETED u 1>2 unknown", "ADDED v 4"]


def test_many_of_one_name() -> None:
    """However often an object is made anew, a handler that looks away for long is told of two at most."""
    deliveries = queued(modified(TWO, ONE))
    last = TWO
    for version in range(3, 1000, 2):
        fresh = state(version, f"u{version}")
        deliveries.push(deleted(state(version - 1, last.uid), last))
        deliveries.push(added(fresh))
        last = fresh
        assert len(deliveries) <= 2
    assert told(deliveries) == ["DELETED u 1>2", "ADDED u999 999"]


def test_e10_one_object_changes_for_ever() -> None:
    """A hundred thousand changes of one object wait as one."""
    deliveries, before = Deliveries(), state(0)
    for version in range(1, 100_000):
        now = state(version)
        deliveries.push(modified(now, before))
        before = now
    assert told(deliveries) == ["MODIFIED u 0>99999"]


def test_popping_is_cheap() -> None:
    """A long queue is emptied from its front without looking at the whole of it each time."""
    deliveries = queued(*(added(state(1, f"u{number}", f"n{number}")) for number in range(50_000)))
    while len(deliveries):  # from a plain dict this takes minutes
        deliveries.pop()


def test_synced_keeps_its_place() -> None:
    """The sign that the initial state is told comes after what was waiting, and before what comes later."""
    later = state(1, "v", "b")
    deliveries = queued(added(ONE, initial=True), synced("7"), added(later), modified(TWO, ONE))
    assert told(deliveries) == ["ADDED u 2 initial", "SYNCED  7", "ADDED v 1"]


# The model: a world of names whose objects come and go, a queue, and a handler that checks what it is told.

NAMES = ("a", "b")


class World:
    """The server's truth, the queue, and what the handler knows by now."""

    def __init__(self) -> None:
        self.version = 0
        self.now: dict[str, Record] = {}
        self.left: dict[str, Record] = {}
        self.history: dict[str, list[str]] = {}
        self.deliveries = Deliveries()
        self.known: dict[tuple[ObjectKey, str], Record] = {}
        self.told: dict[str, list[str]] = {}

    def do(self, what: str, name: str) -> bool:
        """Do it; False where it cannot be done."""
        present = self.now.get(name)
        if (present is None) != (what in ("create", "return")):
            return False
        if what == "return" and name not in self.left:
            return False
        getattr(self, f"_{what}")(name, present)
        self._check_bound()
        return True

    def _next(self, name: str, uid: str) -> Record:
        self.version += 1
        record = state(self.version, uid, name)
        self.history.setdefault(uid, []).append(record.version)
        return record

    def _upsert(self, name: str, uid: str) -> None:
        old, new = self.now.get(name), self._next(name, uid)
        self.now[name] = new
        self._push(differences(old, new))

    def _create(self, name: str, _: Record | None) -> None:
        self._upsert(name, f"{name}{self.version + 1}")

    def _modify(self, name: str, present: Record) -> None:
        self._upsert(name, present.uid)

    def _recreate(self, name: str, _: Record | None) -> None:
        """Deleted and made anew, and nobody saw it."""
        self._create(name, None)

    def _resync(self, name: str, present: Record) -> None:
        self._push([modified(present, present)])

    def _delete(self, name: str, present: Record) -> None:
        """It leaves: for good, or only the selection."""
        del self.now[name]
        self.left[name] = present
        self._push([deleted(self._next(name, present.uid), present)])

    def _vanish(self, name: str, present: Record) -> None:
        """It is gone, and a list tells so."""
        del self.now[name]
        self.left[name] = present
        self._push([missed(present)])

    def _return(self, name: str, _: Record | None) -> None:
        """The same object is there again."""
        self._upsert(name, self.left.pop(name).uid)

    def _push(self, deliveries: Iterable[Delivery]) -> None:
        for delivery in deliveries:
            self.deliveries.push(delivery)

    def _check_bound(self) -> None:
        assert len(self.deliveries) <= 2 * len(NAMES)

    def pop(self) -> bool:
        """Tell the handler one thing, which it checks against what it knows."""
        if not len(self.deliveries):
            return False
        delivery = self.deliveries.pop()
        identity = delivery.record.key, delivery.record.uid
        known = self.known.get(identity)
        assert (known is None) is (delivery.kind is EventType.ADDED), f"{short(delivery)}, while it knows {known}"
        assert delivery.old is known, f"{short(delivery)} is not from {known}"
        if delivery.kind is EventType.DELETED:
            del self.known[identity]
        else:
            others = [key for key in self.known if key[0] == identity[0] and key != identity]
            assert not others, f"{short(delivery)}, while {others} have not been told to be gone"
            self.known[identity] = delivery.record
        self.told.setdefault(delivery.record.uid, []).append(delivery.record.version)
        return True

    def finish(self) -> None:
        """Tell all, and check the promise."""
        while self.pop():
            pass
        assert {record.key.name: record for record in self.known.values()} == self.now
        for uid, versions in self.told.items():
            assert is_subsequence([one for one, _ in itertools.groupby(versions)], self.history[uid])


def is_subsequence(some: Iterable[str], whole: Iterable[str]) -> bool:
    """Are these all in it, in this order?"""
    rest = iter(whole)
    return all(one in rest for one in some)


ACTIONS = ("create", "modify", "recreate", "resync", "delete", "vanish", "return")
STEPS: list[tuple[str, str]] = [("pop", ""), *itertools.product(ACTIONS, NAMES)]


def step(world: World, what: tuple[str, str]) -> bool:
    """One step of either side."""
    return world.pop() if what[0] == "pop" else world.do(*what)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=120))
def test_any_interleaving(steps: list[tuple[str, str]]) -> None:
    """Whatever the interleaving of changes and callbacks, the handler is told the truth in the end."""
    world = World()
    for what in steps:
        step(world, what)
    world.finish()


@attrs.frozen
class Tree:
    """All sequences of steps that can be done, to a depth."""

    steps: list[tuple[str, str]]
    depth: int

    def paths(self) -> Iterator[list[tuple[str, str]]]:
        """Each sequence that cannot be made longer."""
        yield from self._below([])

    def _below(self, path: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
        if len(path) == self.depth:
            yield path
            return
        for what in self.steps:
            if step(replay(path), what):
                yield from self._below([*path, what])


def replay(path: list[tuple[str, str]]) -> World:
    """The world after these steps."""
    world = World()
    for what in path:
        step(world, what)
    return world


@pytest.mark.parametrize(("names", "depth"), [(("a",), 6), (NAMES, 5)])
def test_every_interleaving(names: tuple[str, ...], depth: int) -> None:
    """The same for each sequence of steps there is, to the depth that a second allows."""
    count = 0
    for path in Tree([("pop", ""), *itertools.product(ACTIONS, names)], depth).paths():
        replay(path).finish()
        count += 1
    assert count > 1000
