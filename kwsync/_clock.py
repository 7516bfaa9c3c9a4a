"""The only user of ``time``: tests replace `monotonic` and `wall`."""

from __future__ import annotations

import time


def monotonic() -> float:
    """Seconds on a clock that never jumps; only differences mean something."""
    return time.monotonic()


def wall() -> float:
    """Seconds since 1970, as the system's clock says."""
    return time.time()
