"""The rate limiters: B135 to B141 of the conformance list."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from random import Random

import pytest

from kwsync import WorkQueue
from kwsync.ratelimit import (
    AtMost,
    Exponential,
    FastThenSlow,
    LongestOf,
    RateLimiter,
    TokenBucket,
    default_rate_limiter,
)
from tests.working.support import Clock

LIMITERS: dict[str, Callable[[Clock], RateLimiter]] = {
    "Exponential": lambda clock: Exponential(),
    "FastThenSlow": lambda clock: FastThenSlow(0.005, 10, 3),
    "TokenBucket": lambda clock: TokenBucket(clock=clock),
    "LongestOf": lambda clock: LongestOf(Exponential(), TokenBucket(clock=clock)),
    "AtMost": lambda clock: AtMost(Exponential(), 1.0),
    "default": lambda clock: default_rate_limiter(clock=clock),
}


def waits(limiter: RateLimiter, count: int, item: Hashable = "a") -> list[float]:
    """What the limiter says so many times."""
    return [limiter.when(item) for _ in range(count)]


def test_b135_default() -> None:
    """The default is the longer of 5 ms doubled per failure up to 1000 s, and a bucket of 10/s with 100 at once."""
    limiter = default_rate_limiter(clock=Clock())
    assert waits(limiter, 20)[-1] == 1000.0
    for number in range(80):
        assert limiter.when(number) == 0.005
    assert [limiter.when(f"more {number}") for number in range(3)] == pytest.approx([0.1, 0.2, 0.3])


def test_b135_default_of_a_queue() -> None:
    """A queue that is given no limiter has that one, on the queue's own clock."""
    clock = Clock()
    queue: WorkQueue[int] = WorkQueue(clock=clock)
    for number in range(101):
        queue.add_rate_limited(number)
    clock.advance(0.0999)
    assert len(queue) == 100
    clock.advance(0.0002)
    assert len(queue) == 101


def test_b136_sequence() -> None:
    """The waits of an item double from 5 ms; the 18th is 655.36 s, from the 19th on they are 1000 s."""
    found = waits(Exponential(), 25)
    assert found[:5] == pytest.approx([0.005, 0.01, 0.02, 0.04, 0.08])
    assert found[17] == pytest.approx(655.36)
    assert set(found[18:]) == {1000.0}


def test_b136_no_overflow() -> None:
    """After 5,000 failures an item still waits the longest wait."""
    assert waits(Exponential(), 5_000)[-1] == 1000.0
    assert waits(Exponential(1e300, 1e308), 5_000)[-1] == 1e308


@pytest.mark.parametrize("name", ["Exponential", "FastThenSlow", "LongestOf", "AtMost", "default"])
def test_b137_forget(name: str) -> None:
    """The failures of an item are counted until it is forgotten; other items do not matter."""
    limiter = LIMITERS[name](Clock())
    first = limiter.when("a")
    waits(limiter, 6)
    assert (limiter.retries("a"), limiter.retries("b")) == (7, 0)
    assert limiter.when("b") == first
    limiter.forget("a")
    assert limiter.retries("a") == 0
    assert limiter.when("a") == first
    assert limiter.retries("b") == 1
    limiter.forget("never seen")


def test_b137_maximum_of_the_limiters() -> None:
    """Several limiters count what the one that counts most does; a bucket counts nothing."""
    one, two = Exponential(), Exponential()
    limiter = LongestOf(one, two, TokenBucket(clock=Clock()))
    one.when("a")
    waits(limiter, 2)
    assert (limiter.retries("a"), two.retries("a")) == (3, 2)


def test_b138_bucket_reserves() -> None:
    """The first 100 go at once, the 101st waits 100 ms, the next one 200 ms, whichever items they are."""
    limiter = TokenBucket(10, 100, clock=Clock())
    assert waits(limiter, 100) == [0.0] * 100
    assert [limiter.when(number) for number in range(3)] == pytest.approx([0.1, 0.2, 0.3])


def test_b138_bucket_fills() -> None:
    """It fills by its rate up to the burst, and a clock that steps back takes nothing away."""
    clock = Clock()
    limiter = TokenBucket(10, 5, clock=clock)
    waits(limiter, 7)
    clock.advance(0.2)
    assert limiter.when("a") == pytest.approx(0.1)
    clock.advance(1000)
    assert waits(limiter, 6) == pytest.approx([0.0] * 5 + [0.1])
    clock.advance(-500)
    assert limiter.when("a") == pytest.approx(0.2)
    clock.advance(0.3)
    assert limiter.when("a") == pytest.approx(0.0)


@pytest.mark.parametrize("seed", range(20))
def test_b138_rate_is_kept(seed: int) -> None:
    """Whoever waits as told is never part of more than burst + rate * seconds, in any stretch of time."""
    random, clock = Random(seed), Clock()
    limiter, starts = TokenBucket(4, 3, clock=clock), []
    for _ in range(200):
        clock.advance(random.choice([0, 0, 0.05, 0.4]))
        starts.append(clock.now + limiter.when("a"))
    for first, start in enumerate(starts):
        for last in range(first, len(starts)):
            assert last - first + 1 <= 3 + 4 * (starts[last] - start) + 1e-6


def test_b139_fast_then_slow() -> None:
    """The first attempts wait the fast time, all further ones the slow one."""
    assert waits(FastThenSlow(0.005, 10, attempts=3), 5) == [0.005, 0.005, 0.005, 10, 10]


def test_b139_at_most() -> None:
    """A wrapper cuts the wait, and lets the counting to what it wraps."""
    assert waits(AtMost(Exponential(), 0.03), 5) == pytest.approx([0.005, 0.01, 0.02, 0.03, 0.03])


@pytest.mark.parametrize("make", [Exponential, lambda remember: FastThenSlow(1, 2, 1, remember=remember)])
def test_b140_memory_is_bounded(make: Callable[..., RateLimiter]) -> None:
    """Of more items than are remembered the one that failed least recently is forgotten, and no other."""
    limiter = make(remember=3)
    for item in ("a", "b", "c", "a", "d"):
        limiter.when(item)
    assert [limiter.retries(item) for item in "abcd"] == [2, 0, 1, 1]


def test_b141_item_only() -> None:
    """The item's limiter alone can begin with 1 ms, as client-go's queue without a limiter does."""
    assert waits(Exponential(0.001), 3) == pytest.approx([0.001, 0.002, 0.004])


@pytest.mark.parametrize("name", LIMITERS)
def test_is_a_rate_limiter(name: str) -> None:
    """Each of them is what a queue takes, and never says less than nothing."""
    limiter = LIMITERS[name](Clock())
    assert isinstance(limiter, RateLimiter)
    assert min(waits(limiter, 300)) >= 0


BAD: list[Callable[[], object]] = [
    lambda: Exponential(-1),
    lambda: Exponential(1, float("inf")),
    lambda: Exponential(remember=0),
    lambda: FastThenSlow(-1, 1, 1),
    lambda: FastThenSlow(1, float("nan"), 1),
    lambda: FastThenSlow(1, 2, -3),
    lambda: TokenBucket(0),
    lambda: TokenBucket(float("inf")),
    lambda: TokenBucket(1, 0),
    lambda: AtMost(Exponential(), -1),
    LongestOf,
]


@pytest.mark.parametrize("make", BAD)
def test_bad_arguments(make: Callable[[], object]) -> None:
    """What makes no sense is a ValueError at once."""
    with pytest.raises(ValueError, match=r"must be|needs"):
        make()


NO_NUMBERS: list[Callable[[], object]] = [
    lambda: FastThenSlow(1, 2, "3"),  # type: ignore[arg-type]
    lambda: FastThenSlow(1, 2, 1.5),  # type: ignore[arg-type]
    lambda: FastThenSlow("1", 2, 3),  # type: ignore[arg-type]
    lambda: Exponential(remember="5"),  # type: ignore[arg-type]
    lambda: Exponential("1"),  # type: ignore[arg-type]
    lambda: TokenBucket("1"),  # type: ignore[arg-type]
    lambda: TokenBucket(1, "5"),  # type: ignore[arg-type]
    lambda: LongestOf("x"),  # type: ignore[arg-type]
    lambda: LongestOf(Exponential),  # type: ignore[arg-type]
    lambda: AtMost("x", 1),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("make", NO_NUMBERS)
def test_arguments_of_another_type(make: Callable[[], object]) -> None:
    """What is no number or no limiter is a TypeError at once."""
    with pytest.raises(TypeError):
        make()
