"""Objects that the tests of Tables print, and the moment at which they do."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

NOW = datetime(2026, 1, 2, 12, 0, 0, tzinfo=timezone.utc)


def ago(**past: float) -> str:
    """A timestamp that long before now."""
    return (NOW - timedelta(**past)).strftime("%Y-%m-%dT%H:%M:%SZ")


def named(name: str, **more: Any) -> dict[str, Any]:
    """An object of this name, an hour and a half old."""
    return {"metadata": {"name": name, "creationTimestamp": ago(minutes=90)}, **more}
