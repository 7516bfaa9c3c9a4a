"""Waits that grow: pure numbers."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync import Backoff

seconds = st.floats(0, 1e6)
backoffs = st.builds(
    Backoff, initial=seconds, factor=st.floats(1, 1e6), cap=seconds, jitter=st.floats(0, 10), reset_after=seconds
)
chances = st.floats(0, 1)


def test_b022_waits() -> None:
    """B022: 800 ms, doubled each time, no more than 30 s; and up to as much again by chance."""
    assert [Backoff().delay(failures, 0) for failures in range(8)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]
    assert [Backoff().delay(failures, 1) for failures in range(8)] == [1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 60, 60]


def test_b023_the_reset_is_after_two_minutes() -> None:
    """B023: two minutes without any failure count as health."""
    assert Backoff().reset_after == 120


@given(backoffs, st.integers(0, 5000), chances)
def test_grows_until_the_cap(backoff: Backoff, failures: int, chance: float) -> None:
    """One more failure never means a shorter wait, and none is longer than cap and chance allow."""
    shorter, longer = backoff.delay(failures, chance), backoff.delay(failures + 1, chance)
    assert 0 <= shorter <= longer <= backoff.cap * (1 + backoff.jitter * chance)
    assert math.isfinite(longer)


@given(backoffs, st.integers(0, 5000), chances)
def test_chance_only_adds(backoff: Backoff, failures: int, chance: float) -> None:
    """Chance makes a wait longer, never shorter than it is without."""
    assert backoff.delay(failures, 0) <= backoff.delay(failures, chance)


@pytest.mark.parametrize("failures", [10**3, 10**6, 10**100])
def test_for_ever(failures: int) -> None:
    """After any number of failures the wait is the cap, with any factor."""
    assert Backoff().delay(failures, 0) == 30
    assert Backoff(factor=1e300).delay(failures, 0) == 30


def test_a_factor_of_one() -> None:
    """The same wait each time."""
    assert [Backoff(factor=1, jitter=0).delay(failures, 1) for failures in range(3)] == [0.8] * 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (field.name, value)
        for field in attrs.fields(Backoff)
        for value in (-1, -0.001, math.inf, math.nan, *([0.5] if field.name == "factor" else []))
    ],
)
def test_refused(name: str, value: float) -> None:
    """What is no length of time is a ValueError at once, and so is a wait that would shrink."""
    options: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=name):
        Backoff(**options)


def test_a_value() -> None:
    """Equal backoffs are equal, and none can be changed."""
    assert Backoff(cap=5) == Backoff(cap=5) != Backoff()
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Backoff().cap = 5  # type: ignore[misc]
