"""Moments as Kubernetes writes them, and how people like to read them. Pure but for the time zone."""

from __future__ import annotations

from datetime import datetime, timezone, tzinfo

from kwsync._clock import wall
from kwsync.cli._documents import text

_NEVER = datetime.min.replace(tzinfo=timezone.utc)
"""Go's zero time: a field that nobody has set."""


def now() -> datetime:
    """The time now, in UTC."""
    return datetime.fromtimestamp(wall(), timezone.utc)


def first_time(*values: object) -> datetime | None:
    """The first that is a time, with its zone; Python 3.10 reads no ``Z``."""
    for value in values:
        try:
            found = datetime.fromisoformat(text(value).replace("Z", "+00:00"))
        except ValueError:
            continue
        moment = found if found.tzinfo else found.replace(tzinfo=timezone.utc)
        if moment != _NEVER:
            return moment
    return None


def local(moment: datetime, zone: tzinfo | None) -> datetime:
    """The moment in a zone (None: this machine's own); as it is where the calendar ends before that zone's day."""
    try:
        return moment.astimezone(zone)
    except (OverflowError, ValueError, OSError):  # the years 1 and 9999, and what the system's own calendar lacks
        return moment


def duration(seconds: float) -> str:
    """Roughly, as kubectl tells ages: ``45s``, ``12m``, ``3h``, ``5d``."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size or (seconds >= size and unit != "m"):
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


def age(created: object, moment: datetime) -> str:
    """How old something is at a moment, as a cell of a table; what lies ahead is new."""
    since = first_time(created)
    return duration(max((moment - since).total_seconds(), 0)) if since else "<unknown>"


def written(seconds: float) -> str:
    """Seconds since 1970 as Kubernetes writes moments; the last year where the calendar ends before."""
    try:
        moment = datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, ValueError, OSError):
        moment = datetime.max
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
