"""The heap of times, against a dict that is sorted each time."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kwsync._delays import NEVER, Delays

THINGS = st.sampled_from("abcdef")
TIMES = st.integers(0, 12).map(float)


class DelaysMachine(RuleBasedStateMachine):
    """The model is a dict of times, and the order in which they were said."""

    def __init__(self) -> None:
        super().__init__()
        self.delays: Delays[str] = Delays()
        self.model: dict[str, tuple[float, int]] = {}
        self.said = 0
        self.now = 0.0

    @rule(thing=THINGS, due=TIMES, replace=st.booleans())
    def put(self, thing: str, due: float, replace: bool) -> None:
        self.said += 1
        before = self.model.get(thing, (NEVER, 0))[0]
        if due != before and (replace or due < before):
            self.model[thing] = (due, self.said)
        self.delays.put(thing, due, replace=replace)

    @rule(thing=THINGS)
    def remove(self, thing: str) -> None:
        assert self.delays.remove(thing) == (self.model.pop(thing, None) is not None)

    @rule(now=TIMES)
    def due(self, now: float) -> None:
        expected = sorted((due, said, thing) for thing, (due, said) in self.model.items() if due <= now)
        assert list(self.delays.due(now)) == [(thing, due) for due, _, thing in expected]
        for _, _, thing in expected:
            del self.model[thing]

    @precondition(lambda self: len(self.model) > 1)
    @rule(now=TIMES)
    def first_due(self, now: float) -> None:
        """Whoever stops in the middle leaves the rest there; the one at hand may come again."""
        for thing, _ in self.delays.due(now):
            self.delays.remove(thing)
            del self.model[thing]
            break

    @invariant()
    def same(self) -> None:
        assert len(self.delays) == len(self.model)
        assert all(thing in self.delays for thing in self.model)
        assert self.delays.next_due == min((due for due, _ in self.model.values()), default=NEVER)


TestDelays = DelaysMachine.TestCase
TestDelays.settings = settings(max_examples=60, deadline=None)


def test_postponed_again_and_again() -> None:
    """A thing that is postponed for ever takes the room of one thing: the times it had do not pile up."""
    delays: Delays[str] = Delays()
    for number in range(10_000):
        delays.put("a", float(number), replace=True)
    assert len(delays._heap) < 200
    assert list(delays.due(9_998.0)) == []
    assert list(delays.due(9_999.0)) == [("a", 9_999.0)]


def test_things_are_not_compared() -> None:
    """Things that cannot be ordered may be due at one time; they come in the order in which they were said."""
    delays: Delays[object] = Delays()
    things = [object(), 7, "seven", None, (1, None), (1, "a")]
    for thing in things:
        delays.put(thing, 1.0)
    assert [thing for thing, _ in delays.due(1.0)] == things


def test_many_at_one_time() -> None:
    """100,000 things at one time are taken back one by one without a search."""
    delays: Delays[int] = Delays()
    for number in range(100_000):
        delays.put(number, 1.0)
    assert all(delays.remove(number) for number in range(99_999))
    assert list(delays.due(1.0)) == [(99_999, 1.0)]


class Key:
    """Something that a weak reference can look at."""


@pytest.mark.parametrize("ending", ["remove", "due"])
def test_keeps_nothing(ending: str) -> None:
    """What has come or was taken back is not referenced any more, and an empty heap is small again."""
    delays: Delays[Key] = Delays()
    keys = [Key() for _ in range(1000)]
    for number, key in enumerate(keys):
        delays.put(key, float(number))
    if ending == "remove":
        for key in keys:
            delays.remove(key)
    else:
        assert sum(1 for _ in delays.due(1000.0)) == 1000
    watched = [weakref.ref(key) for key in keys]
    del key, keys
    gc.collect()
    assert [one for one in watched if one() is not None] == []
    assert sys.getsizeof(delays._due) + sys.getsizeof(delays._at) < 1000
