"""Every sequence of changes and outcomes up to a depth, over two objects, and that a mistake would be found.

The invariants are those of `driver` (each told state is one that the object had, in order; no deletion that did not
happen, none of what was never told; never on from a version that was not seen, nor after a possible loss) and of
`explore` (whatever happened: without further faults the reader has what the server has).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import attrs
import pytest

from kwsync import _course, _ledger, _resume
from kwsync._records import transition
from kwsync._resume import Action, Do
from tests.following.driver import Violation
from tests.following.explore import VARIANTS, explore, start, walk

DEPTHS = {"lists": (5, 500_000), "watch-lists": (4, 160_000), "lists without a version": (5, 270_000)}
"""Of each variant the depth, and the sequences that there are at least."""


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_sequence(variant: str) -> None:
    """Whatever the server and the wire do: nothing false is told, and in the end all is told."""
    depth, sequences = DEPTHS[variant]
    report = explore(start(**VARIANTS[variant]), depth)
    assert report.depth == depth
    assert report.sequences >= sequences


def _deaf(*_: object, **__: object) -> list[Any]:
    return []


def _forgetful(self: _ledger.Ledger, page: Any) -> Any:
    self._present.clear()
    yield from ()


def _hasty(self: _ledger.Ledger, page: Any) -> Any:
    yield from self_page(self, page)
    if not page.last:
        yield from self._complete(page)


self_page = _ledger.Ledger._page


next_action = _resume.Rules.next_action


def _later(rules: _resume.Rules, state: _resume.State, outcome: _resume.Outcome) -> _resume.State:
    found = next_action(rules, state, outcome)
    if state.action.do is Do.LIST and found.action.do is Do.WATCH:
        return _resume.State(Action(Do.WATCH, str(int(outcome.version or 0) + 1)))
    return found


class Mistake(NamedTuple):
    """What is made wrong, and where it shows."""

    where: Any
    name: str
    wrong: Any
    variant: str = "lists"
    begin: tuple[str, ...] = ()
    depth: int = 4


MISTAKES = {
    "deletions are not looked for": Mistake(_ledger.Ledger, "_complete", _forgetful),
    "a page is taken for the list": Mistake(_ledger.Ledger, "_page", _hasty),
    "deletions are not told": Mistake(_ledger.Ledger, "_deleted", _deaf),
    "versions are trusted after a restore": Mistake(
        _ledger,
        "transition",
        lambda old, new, **_: transition(old, new),
        begin=("create 0", "change 0", "create 1", "change 1", "LIST one page", "restore"),
        depth=2,
    ),
    "goes on after an error": Mistake(_resume.Rules, "_watched", _resume.Rules._same_version),
    "goes on after a list without a version": Mistake(
        _resume,
        "_can_go_on",
        lambda action, outcome: outcome.version is not None,
        variant="lists without a version",
        begin=("create 0", "LIST one page", "delete 0", "create 1"),
        depth=2,
    ),
    "never listens to silence": Mistake(
        _resume.Rules,
        "next_action",
        lambda rules, state, outcome: next_action(rules, attrs.evolve(state, silent=0.0), outcome),
        begin=("create 0", "LIST one page", "restore"),
        depth=1,
    ),
    "lists that broke off are forgotten": Mistake(
        _course,
        "_newer",
        lambda one, other: one,
        begin=("create 0", "change 0", "create 1", "change 1", "LIST first page 500", "restore", "change 0"),
        depth=1,
    ),
    "a watch-list counts at once": Mistake(
        _course.Course,
        "_initial_page",
        lambda self, changes, last: self._page(changes, first=True, last=True),
        variant="watch-lists",
    ),
    "begins after the list": Mistake(_resume.Rules, "next_action", _later),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these mistakes in the real code breaks the promise within a few steps."""
    mistake = MISTAKES[name]
    explore(walk(start(**VARIANTS[mistake.variant]), *mistake.begin), mistake.depth)  # without it all is well
    monkeypatch.setattr(mistake.where, mistake.name, mistake.wrong)
    with pytest.raises(Violation):
        explore(walk(start(**VARIANTS[mistake.variant]), *mistake.begin), mistake.depth)
