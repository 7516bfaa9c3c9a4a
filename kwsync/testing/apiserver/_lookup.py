"""Reading documents that may hold anything: what is not there, or not of the type, is empty."""

from __future__ import annotations

from typing import Any


def at(document: object, path: str) -> Any:
    """What is below the names of the path, which points separate; None where there is nothing."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, dict) else None
    return document


def text(document: object, path: str, default: str = "") -> str:
    """A string; an empty one counts as absent, as it does in Go."""
    value = at(document, path)
    return value if isinstance(value, str) and value else default


def whole(document: object, path: str, default: int = 0) -> int:
    """An integer, also where it came as 1.0."""
    value = at(document, path)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return default
    return int(value) if abs(value) < 2**63 else default


def records(document: object, path: str) -> list[dict[str, Any]]:
    """The objects in a list."""
    value = at(document, path)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(document: object, path: str) -> list[str]:
    """The strings in a list."""
    value = at(document, path)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def mapping(document: object, path: str) -> dict[str, Any]:
    """An object."""
    value = at(document, path)
    return value if isinstance(value, dict) else {}
