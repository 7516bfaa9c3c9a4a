"""Copies of JSON documents, faster than `copy.deepcopy` since nothing in them is shared or has a class of its own."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def copied(value: T) -> T:
    """A copy that shares no list and no dict with the original."""
    return _copied(value)  # type: ignore[no-any-return]


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value
