"""The only user of ``time``, and what is left of a wait: tests replace `monotonic` and `wall`."""

from __future__ import annotations

import time

_FOR_EVER = 1e9
"""Seconds: thirty years, and no more than any lock can wait."""


def monotonic() -> float:
    """Seconds on a clock that never jumps; only differences mean something."""
    return time.monotonic()


def deadline(seconds: float | None) -> float | None:
    """When a wait that begins now and takes so many seconds is over, on the clock of `monotonic`; None for never.

    Infinity is never, too.
    """
    return None if seconds is None or seconds > _FOR_EVER else monotonic() + seconds


def seconds_left(end: float | None) -> float | None:
    """Of a wait that is over at *end*, never less than 0; None for no end."""
    return None if end is None else max(0.0, end - monotonic())


def wall() -> float:
    """Seconds since 1970, as the system's clock says."""
    return time.time()
