"""How long to wait before an item of a work queue is tried again, after client-go's limiters.

    limiter = ratelimit.LongestOf(ratelimit.Exponential(initial=0.1), ratelimit.TokenBucket(5, burst=20))
    queue = kwsync.WorkQueue(limiter)

Each is asked with `when`, which counts one more failure of the item and gives the seconds to wait. All may be used by
several threads and queues at once. A limiter of your own needs three methods: `RateLimiter`.

What is remembered of failures is bounded: of more than *remember* items the one that failed least recently is
forgotten, and its next failure counts as its first. (client-go remembers for ever what nobody forgets.) An item
remembered costs about 150 bytes and what the item itself takes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Protocol, runtime_checkable

from kwsync import _clock
from kwsync._backoff import Backoff

__all__ = ["AtMost", "Exponential", "FastThenSlow", "LongestOf", "RateLimiter", "TokenBucket", "default_rate_limiter"]

REMEMBERED = 100_000
"""Items whose failures a limiter remembers, unless it is told otherwise."""


@runtime_checkable
class RateLimiter(Protocol):
    """How long a `kwsync.WorkQueue` delays what is added to it rate-limited. Any thread may ask; it holds no lock."""

    def when(self, item: Hashable, /) -> float:
        """Count one more failure of the item; the seconds to wait."""
        ...

    def forget(self, item: Hashable, /) -> None:
        """The item is well."""
        ...

    def retries(self, item: Hashable, /) -> int:
        """How often it has failed since it was forgotten."""
        ...


class _Failures:
    """How often each item has failed, of the items that failed last."""

    def __init__(self, remember: int) -> None:
        if remember < 1:
            raise ValueError(f"remember must be 1 or more, not {remember!r}")
        self._remember = remember
        self._counts: OrderedDict[Hashable, int] = OrderedDict()
        # Re-entrant, because a signal handler may ask in the middle of this.
        self._lock = threading.RLock()

    def count(self, item: Hashable) -> int:
        """Count one more; how many there were before."""
        with self._lock:
            before = self._counts.get(item, 0)
            self._counts[item] = before + 1
            self._counts.move_to_end(item)
            if len(self._counts) > self._remember:
                self._counts.popitem(last=False)
            return before

    def forget(self, item: Hashable, /) -> None:
        with self._lock:
            self._counts.pop(item, None)

    def of(self, item: Hashable) -> int:
        with self._lock:
            return self._counts.get(item, 0)


class _Counting:
    """What the limiters that count failures have in common."""

    def __init__(self, remember: int) -> None:
        self._failures = _Failures(remember)

    def forget(self, item: Hashable, /) -> None:
        """The item's next failure is its first."""
        self._failures.forget(item)

    def retries(self, item: Hashable, /) -> int:
        """How often it has failed."""
        return self._failures.of(item)


class Exponential(_Counting):
    """Each failure of an item doubles its wait, from *initial* up to *cap* seconds; items do not matter to each other.

    client-go's defaults are those of its controllers (B135, B136); its queue without a limiter begins with 1 ms (B141).
    """

    def __init__(self, initial: float = 0.005, cap: float = 1000.0, *, remember: int = REMEMBERED) -> None:
        super().__init__(remember)
        self._backoff = Backoff(initial=initial, cap=cap, jitter=0)

    def when(self, item: Hashable, /) -> float:
        """Count a failure; the seconds to wait."""
        return self._backoff.delay(self._failures.count(item), chance=0)


class FastThenSlow(_Counting):
    """The first *attempts* failures of an item wait *fast* seconds each, all further ones *slow* (B139)."""

    def __init__(self, fast: float, slow: float, attempts: int, *, remember: int = REMEMBERED) -> None:
        super().__init__(remember)
        if isinstance(attempts, bool) or not isinstance(attempts, int):
            raise TypeError(f"attempts must be a whole number, not {attempts!r}")
        if attempts < 0:
            raise ValueError(f"attempts must be 0 or more, not {attempts}")
        self._fast, self._slow = _seconds(fast), _seconds(slow)
        self._attempts = attempts

    def when(self, item: Hashable, /) -> float:
        """Count a failure; the seconds to wait."""
        return self._fast if self._failures.count(item) < self._attempts else self._slow


class TokenBucket:
    """At most *rate* items a second in the long run, *burst* of them at once, whichever they are (B138).

    Each wait reserves its place: the first *burst* items wait 0 s, the next one 1/*rate*, the one after it 2/*rate*.
    """

    def __init__(self, rate: float = 10.0, burst: int = 100, *, clock: Callable[[], float] = _clock.monotonic) -> None:
        if not 0 < rate < float("inf") or burst < 1:
            raise ValueError(f"rate must be above 0 and finite, and burst 1 or more, not {rate!r} and {burst!r}")
        self._rate, self._burst = rate, burst
        self._clock = clock
        self._tokens = float(burst)
        self._at = clock()
        self._lock = threading.RLock()

    def when(self, _item: Hashable, /) -> float:
        """Take a token, or one of those to come; the seconds until it is there."""
        with self._lock:
            now = self._clock()
            gained = max(0.0, now - self._at) * self._rate
            self._at = now
            self._tokens = min(float(self._burst), self._tokens + gained) - 1
            return max(0.0, -self._tokens / self._rate)

    def forget(self, _item: Hashable, /) -> None:
        """Nothing: a bucket does not know items."""

    def retries(self, _item: Hashable, /) -> int:
        """0: a bucket does not know items."""
        return 0


class LongestOf:
    """The longest wait that any of several limiters asks for; each of them counts."""

    def __init__(self, *limiters: RateLimiter) -> None:
        if not limiters:
            raise ValueError("LongestOf needs at least one limiter")
        self._limiters = tuple(map(checked_limiter, limiters))

    def when(self, item: Hashable, /) -> float:
        """Ask all; the longest of their waits, in seconds."""
        return max([limiter.when(item) for limiter in self._limiters])

    def forget(self, item: Hashable, /) -> None:
        """All of them forget."""
        for limiter in self._limiters:
            limiter.forget(item)

    def retries(self, item: Hashable, /) -> int:
        """The most failures that any of them has counted."""
        return max([limiter.retries(item) for limiter in self._limiters])


class AtMost:
    """What another limiter says, but never more than *cap* seconds (B139)."""

    def __init__(self, limiter: RateLimiter, cap: float) -> None:
        self._limiter = checked_limiter(limiter)
        self._cap = _seconds(cap)

    def when(self, item: Hashable, /) -> float:
        """Ask it; the seconds to wait."""
        return min(self._limiter.when(item), self._cap)

    def forget(self, item: Hashable, /) -> None:
        """It forgets."""
        self._limiter.forget(item)

    def retries(self, item: Hashable, /) -> int:
        """As it says."""
        return self._limiter.retries(item)


def default_rate_limiter(*, clock: Callable[[], float] = _clock.monotonic) -> RateLimiter:
    """client-go's default for controllers (B135): an item's own growing wait, or the turn of a shared bucket."""
    return LongestOf(Exponential(), TokenBucket(clock=clock))


def checked_limiter(value: RateLimiter) -> RateLimiter:
    """TypeError for what is no limiter, such as a class of them."""
    if isinstance(value, type) or not isinstance(value, RateLimiter):
        raise TypeError(f"a rate limiter has the methods when, forget and retries; {value!r} does not")
    return value


def _seconds(value: float) -> float:
    if not 0 <= value < float("inf"):
        raise ValueError(f"a wait must be 0 or more seconds and finite, not {value!r}")
    return value
