"""What follows a loss, whoever sees it first: the elector, the work, or a block that goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwsync import Client, ElectionEnd, LeaderElector, Leadership, _clock
from kwsync._election._leading import Leadership as Made
from kwsync.testing import ApiServer
from tests.election.support import AT_ONCE, LIMIT, Later, Notes, running, wait_until

SLOW: dict[str, Any] = {"lease_duration": 15, "renew_deadline": 10.0, "retry_period": 5.0}
"""No renewal comes by itself during a test: the work is the first to see what the clock says."""


@pytest.fixture
def client(api_server: ApiServer) -> Iterator[Client]:
    """A client of the server in memory."""
    with api_server.client() as made:
        yield made


class Runs:
    """In place of a controller: it runs for as long as *work* does."""

    def __init__(self, work: Callable[[Leadership], object], leadership: Leadership) -> None:
        self._work, self._leadership = work, leadership

    def run(self, cancel: threading.Event, *, deadline: float | None) -> bool:
        """Work."""
        self._work(self._leadership)
        return True


FORMS: dict[str, Callable[[LeaderElector, Callable[[Leadership], object], threading.Event], ElectionEnd]] = {
    "lead": lambda elector, work, cancel: elector.lead(work, cancel),
    "run_controller": lambda elector, work, cancel: elector.run_controller(lambda own: Runs(work, own), cancel),
}

LOOKS: dict[str, Callable[[Leadership], bool]] = {
    "is_valid": lambda leadership: leadership.is_valid(),
    "until": lambda leadership: _clock.monotonic() < leadership.until,
}


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("form", FORMS)
def test_work_that_sees_the_loss_first(
    client: Client, monkeypatch: pytest.MonkeyPatch, form: str, look: str, again: bool
) -> None:
    """Work that returns the moment the term ends has not finished: it was lost, and there is another campaign."""
    clock, notes, leaderships = Later(monkeypatch), Notes(), list[Leadership]()
    elector = notes.elector(client, recampaign=again, **SLOW)

    def work(leadership: Leadership) -> None:
        leaderships.append(leadership)
        notes.note("started")
        while LOOKS[look](leadership) and not leadership.cancel.wait(0.001):
            pass

    with running(elector, lambda cancel: FORMS[form](elector, work, cancel)) as run:
        notes.wait("started")
        clock.seconds = 11.0
        if again:
            notes.wait("started", 2)
            assert run.end() is ElectionEnd.CANCELLED
        else:
            assert run.join() is ElectionEnd.LOST
    if again:
        first, second = leaderships
        assert first.fencing < second.fencing
        assert (first.is_valid(), first.until) == (False, 0.0)


def test_a_renewal_that_comes_in_just_then(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that was told once that it leads no more is told the same ever after, and its return is a loss."""
    clock, notes = Later(monkeypatch), Notes()
    elector = notes.elector(client, recampaign=False, **SLOW)
    found: list[bool] = []

    def work(leadership: Leadership) -> None:
        for clock.seconds in (0.0, 11.0, 0.0):  # as for one that looks between the end and an answer that was in time
            found.append(leadership.is_valid())

    with running(elector, lambda cancel: elector.lead(work, cancel)) as run:
        assert run.join() is ElectionEnd.LOST
    assert found == [True, False, False]


def test_a_leadership_that_is_over_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """So for each moment at which somebody looks."""
    ends = [5.0]
    leadership = Made(3, ends=lambda fencing: ends[0] + fencing)
    monkeypatch.setattr(_clock, "monotonic", lambda: 7.9)
    assert (leadership.until, leadership.is_valid()) == (8.0, True)
    monkeypatch.setattr(_clock, "monotonic", lambda: 8.0)
    assert not leadership.is_valid()
    ends[0] = 100.0
    assert (leadership.until, leadership.is_valid()) == (103.0, False)


def test_who_stops_stepping_is_not_left_leading(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was told once that it leads no more, and works on, is told to end: nobody leads without working."""
    clock, notes = Later(monkeypatch), Notes()
    elector = notes.elector(client)
    seen: list[int] = []

    def work(leadership: Leadership) -> None:
        seen.append(leadership.fencing)
        if len(seen) == 1:
            clock.seconds = 11.0
            assert not leadership.is_valid()
            clock.seconds = 0.0
        assert leadership.cancel.wait(LIMIT), "it was not told to end"

    with running(elector, lambda cancel: elector.lead(work, cancel)) as run:
        wait_until(lambda: len(seen) == 2, "another term")
        assert run.end() is ElectionEnd.CANCELLED
    assert seen[0] < seen[1]


def test_work_that_raises_at_a_loss(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the work raises is raised, also when it does so because it has lost."""
    clock, notes = Later(monkeypatch), Notes()
    elector = notes.elector(client, **SLOW)

    def work(leadership: Leadership) -> None:
        clock.seconds = 11.0
        if not leadership.is_valid():
            raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        elector.lead(work)


def test_block_that_outlives_a_loss(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block may go on after a loss for as long as it likes: after its end nothing of it runs, and the next begins."""
    clock, notes = Later(monkeypatch), Notes()
    elector = notes.elector(client, stop_timeout=0, lease_duration=15, renew_deadline=10)
    for number in range(1, 41):
        with elector.leading() as leadership:
            clock.seconds += 11.0
            assert leadership.cancel.wait(LIMIT)
            wait_until(lambda: len(notes.errors) >= number, "the word that the work goes on")  # noqa: B023
        assert elector.healthy()
        assert [each for each in threading.enumerate() if each.name.startswith("kwsync-leading")] == []
    assert {error.message for error in notes.errors} == {
        "the leading work has not ended in 0 s, so the Lease is not given back"
    }


def test_block_waits_for_on_stopped(client: Client) -> None:
    """The end of a block is after on_stopped."""
    notes, go_on = Notes(), threading.Event()

    def stopped(led: bool) -> None:
        assert go_on.wait(LIMIT)
        notes.note("stopped")

    timer = threading.Timer(AT_ONCE / 10, go_on.set)
    with notes.elector(client, stop_timeout=0, on_stopped=stopped).leading():
        timer.start()
    assert notes.story == ["stopped"]
    timer.join()
