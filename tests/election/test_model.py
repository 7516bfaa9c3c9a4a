"""Candidates against a stored Lease: whatever happens, no two lead at one time, and soon one does."""

from __future__ import annotations

import pytest

from tests.election.model import World

SEEDS = 40


@pytest.mark.parametrize("trouble", [0.05, 0.2, 0.5])
def test_never_two(trouble: float) -> None:
    """Requests are lost, done late, done without an answer; processes crash, stop and resign: one leads at most.

    Each term has a greater token than those before. It is no hollow victory: there are many terms.
    """
    terms = 0
    for seed in range(SEEDS):
        world = World(seed, trouble=trouble)
        world.run(600)
        terms += len(world.terms)
    assert terms > 2 * SEEDS


def test_never_two_though_it_is_deleted() -> None:
    """The Lease is deleted once, under those who have seen it: still one leads at most."""
    deleted = 0
    for seed in range(2 * SEEDS):
        world = World(seed, trouble=0.4, deletes=True)
        world.run(200)
        deleted += world.deleted
    assert deleted > SEEDS


def test_one_leads_soon() -> None:
    """When the trouble is over and the leader dies, another leads within the lease, 2.2 retry periods and a request."""
    for seed in range(SEEDS):
        world = World(seed, trouble=0.3)
        world.run(300)
        world.trouble = 0.0
        world.run(400)  # those who were stopped are back
        assert len(world.leaders) == 1
        (leader,) = world.leaders
        leader.is_alive = False
        world.run(world.time + 15 + 2.2 * 2 + 1)
        assert [each.candidate.rules.identity for each in world.leaders] == [world.holder()]


def test_stays() -> None:
    """Without trouble the first to lead goes on."""
    world = World(1, trouble=0.0)
    world.run(600)
    assert len(world.terms) == 1
    assert len(world.leaders) == 1
