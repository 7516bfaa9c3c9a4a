"""Every order of the steps of two candidates, up to a bound: begin, arrive, answer, lose, arrive too late, time."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import attrs

from kwsync._election._candidate import Candidate, Moment, Step
from kwsync._election._lease import record_of
from kwsync._events import resource_version_of
from tests.election.model import Document, Stored, rules_of, run_round, tell

NOTHING = Stored()


@attrs.frozen
class Player:
    """A candidate, its request that is under way, its answer that is, and one that it has given up."""

    candidate: Candidate
    sent: Step | None = None
    answer: Document | int | None = None
    lost: Step | None = None

    def key(self) -> object:
        """What tells it from others."""
        own = self.candidate
        stored = own._stored and resource_version_of(own._stored)
        parts = (own.term, own.claimed, own._resigning, own._seen, stored, own._last_micros)
        answer = resource_version_of(self.answer) if isinstance(self.answer, dict) else self.answer
        return (*parts, step_key(self.sent), answer, step_key(self.lost))


@attrs.frozen
class State:
    """Everything, at one moment."""

    players: tuple[Player, ...]
    stored: Stored = NOTHING
    time: int = 0

    def key(self) -> object:
        """What tells it from others."""
        record = self.stored.lease and record_of(self.stored.lease)
        return (self.time, self.stored.version, record, *(player.key() for player in self.players))

    def put(self, number: int, player: Player, stored: Stored | None = None) -> State:
        """One of them has done something."""
        players = tuple(player if index == number else each for index, each in enumerate(self.players))
        return attrs.evolve(self, players=players, stored=self.stored if stored is None else stored)


def step_key(step: Step | None) -> object:
    """Of a request."""
    if step is None:
        return None
    return (step.purpose, step.begun, step.is_new, step.is_fast, step.is_second, step.document and str(step.document))


def following(state: State) -> Iterator[State]:
    """All that may happen next. A candidate may also begin a round at any time, and one that leads resign."""
    yield attrs.evolve(state, time=state.time + 1)
    for number, player in enumerate(state.players):
        if player.lost is not None:  # it arrives after all
            yield state.put(number, attrs.evolve(player, lost=None), state.stored.handle(player.lost)[0])
        if player.sent is None:
            yield from began(state, number, player)
        elif player.answer is None:
            yield from under_way(state, number, player, player.sent)
        else:
            yield heard(state, number, player, player.sent, player.answer)


def began(state: State, number: int, player: Player) -> Iterator[State]:
    """A round begins, of a candidate that leads on, or has noticed that it does not, or resigns."""
    for resigns in (False, True):
        candidate = copy.copy(player.candidate)
        if candidate._resigning and candidate.claimed is None:
            candidate.stand()
        if candidate.term is not None and not candidate.leads(state.time):
            candidate.give_up()
        if resigns:
            if candidate.term is None:
                return
            candidate.resign()
        step = candidate.begin(Moment(state.time, 0.0))
        yield state.put(number, attrs.evolve(player, candidate=candidate, sent=step))


def under_way(state: State, number: int, player: Player, step: Step) -> Iterator[State]:
    """It arrives, or arrives and nobody hears of it, or is given up and may arrive later; reading changes nothing."""
    stored, answer = state.stored.handle(step)
    yield state.put(number, attrs.evolve(player, answer=answer), stored)
    yield state.put(number, attrs.evolve(player, answer=0), stored)
    if player.lost is None and step.document is not None:
        yield state.put(number, attrs.evolve(player, answer=0, lost=step))


def heard(state: State, number: int, player: Player, step: Step, answer: Document | int) -> State:
    """It has come, and the next request of the round goes out."""
    candidate = copy.copy(player.candidate)
    after = tell(candidate, step, answer, Moment(state.time, 0.0))
    return state.put(number, attrs.evolve(player, candidate=candidate, sent=after, answer=None))


def explore(first: State, depth: int) -> set[str]:
    """Go through all that may happen, so many steps far; who has led?"""
    states, led, seen = {first.key(): first}, set(), 0
    for _ in range(depth):
        states = {after.key(): after for state in states.values() for after in following(state)}
        seen += len(states)
        for state in states.values():
            leaders = [each.candidate.rules.identity for each in state.players if each.candidate.leads(state.time)]
            assert len(leaders) <= 1, state
            led.update(leaders)
    print(f"{seen} states")
    return led


def candidates() -> list[Candidate]:
    """Two, with the shortest times there are in whole seconds."""
    rules = [rules_of(name, lease_duration=3, renew_deadline=2, retry_period=1) for name in "ab"]
    return [Candidate(each) for each in rules]


def test_never_two_from_nothing() -> None:
    """No Lease yet: in every order of the first steps one leads at most, and either may."""
    players = tuple(Player(each) for each in candidates())
    assert explore(State(players), 11) == {"a", "b"}


def test_never_two_from_one() -> None:
    """One leads and the other has seen it: in every order of what comes next one leads at most, and either may."""
    first, second = candidates()
    stored = run_round(second, run_round(first, Stored(), 0, 0), 0, 0)
    assert explore(State((Player(first), Player(second)), stored), 11) == {"a", "b"}
