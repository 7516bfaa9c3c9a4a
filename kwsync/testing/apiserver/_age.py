"""Times, and how long ago they are, as people read it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII)
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def human_age(seconds: float) -> str:
    """Two or three figures of a duration (apimachinery's duration.HumanDuration); two seconds of the future are now."""
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole == -1 else "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    return _two(whole, _YEAR, "y", _DAY, "d") if whole < 8 * _YEAR else f"{whole // _YEAR}y"


def _two(seconds: int, unit: int, name: str, smaller: int, smaller_name: str) -> str:
    rest = seconds % unit // smaller
    return f"{seconds // unit}{name}" + (f"{rest}{smaller_name}" if rest else "")


def parse_time(value: object) -> datetime | None:
    """RFC 3339, as Kubernetes writes it; None for anything else."""
    match = _RFC3339.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    date, clock, fraction, sign, hours, minutes = match.groups()
    try:
        moment = datetime.strptime(f"{date} {clock}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=timezone.utc)
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        moment += timedelta(microseconds=int((fraction or "0")[:6].ljust(6, "0")))
        return moment + offset if sign == "-" else moment - offset
    except (ValueError, OverflowError):
        return None


def age(value: object, now: datetime) -> str:
    """How long ago this was; `<unknown>` where it is no time."""
    moment = parse_time(value)
    return human_age((now - moment).total_seconds()) if moment else "<unknown>"
