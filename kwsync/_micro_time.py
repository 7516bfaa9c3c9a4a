"""A MicroTime of the API: a moment in UTC with exactly six digits behind the second. Pure."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def microseconds(seconds: float) -> int:
    """Whole ones of seconds since 1970, cut off: what has not happened yet is not written down."""
    return math.floor(seconds * 1_000_000)


def micro_time(micros: int) -> str:
    """Of microseconds since 1970; servers take no other number of digits (400)."""
    return (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
