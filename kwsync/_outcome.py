"""What a controller's `reconcile` may say, and what it means for the key. Pure.

    ===========================  ============================================  ==========
    it                           the key                                       counted as
    ===========================  ============================================  ==========
    returns None                 is well                                       a success
    returns ``Requeue(s)``       is well, and comes again in *s* seconds       a requeue
    raises `RetryAfter`          comes again in exactly so many seconds        an error
    raises `TerminalError`       does not come again by itself                 an error
    raises anything else         comes again, the more often the later         an error
    returns anything else        as for `TerminalError`                        an error
    ===========================  ============================================  ==========

(controller-runtime drops a requested delay when there is an error too; here one value says one thing, see E20.)
"""

from __future__ import annotations

import math

import attrs

from kwsync.errors import KwsyncError


def checked_seconds(value: float, what: str) -> float:
    """A delay that is a number, not negative, and finite; TypeError and ValueError for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be a number of seconds, not {type(value).__name__}")
    if not 0 <= value < math.inf:
        raise ValueError(f"{what} must be 0 or more seconds and finite, not {value!r}")
    return float(value)


def _checked_after(value: float) -> float:
    return checked_seconds(value, "after")


@attrs.frozen
class Requeue:
    """What `reconcile` returns to be called again for the same key *after* so many seconds; it counts as a success.

    Where the key is due sooner anyway (by an event, or by a delay that is still running), it comes sooner.
    """

    after: float = attrs.field(converter=_checked_after)


class RetryAfter(KwsyncError):
    """Raised by `reconcile`: it failed, and is to be called again in exactly *seconds*, whatever the rate limiter says.

    It takes the place of a delay that the key may have. An event of the key calls it sooner. The failures that the rate
    limiter has counted stay what they were.
    """

    def __init__(self, seconds: float, message: str = "") -> None:
        super().__init__(seconds, message)
        self.seconds = checked_seconds(seconds, "seconds")
        self.message = message

    def __str__(self) -> str:
        return f"{self.message or 'to be tried again'} (in {self.seconds:g} s)"


class TerminalError(KwsyncError):
    """Raised by `reconcile`: it failed, and trying again would not help. The next event of the key calls it again."""


@attrs.frozen
class Outcome:
    """What became of a key, and what is to be done with it."""

    error: BaseException | None = None
    """To be reported."""
    is_well: bool = False
    """Its failures are to be forgotten."""
    after: float | None = None
    """It comes again in so many seconds."""
    exactly: bool = False
    """Not sooner, whatever was said before."""
    limited: bool = False
    """It comes again when the rate limiter says so."""

    @property
    def comes_again(self) -> bool:
        """Without a further event."""
        return self.limited or self.after is not None


SUCCESS = Outcome(is_well=True)


def of_result(result: object) -> Outcome:
    """What a returned value means."""
    if result is None:
        return SUCCESS
    if isinstance(result, Requeue):
        return Outcome(is_well=True, after=result.after)
    wrong = TerminalError(f"reconcile must return None or a kwsync.Requeue, not {type(result).__name__}")
    return of_error(wrong)


def of_error(error: BaseException) -> Outcome:
    """What a raised exception means."""
    if isinstance(error, TerminalError):
        return Outcome(error, is_well=True)
    if isinstance(error, RetryAfter):
        return Outcome(error, after=error.seconds, exactly=True)
    return Outcome(error, limited=True)
