"""Times as RFC 3339 writes them. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def seconds_of(text: str) -> float:
    """Seconds since 1970; ValueError for anything else than a time with its zone, which does not show it."""
    match = _MOMENT.fullmatch(text)
    try:
        if match is not None:
            return _seconds(*match.groups())
    except ValueError:
        pass  # a thirteenth month
    raise ValueError("no time as RFC 3339 has it")


def _seconds(day: str, clock: str, fraction: str | None, zone: str) -> float:
    moment = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if zone in 'Zz' else zone}")
    return (moment - _EPOCH).total_seconds() + float(f"0.{fraction or 0}")
