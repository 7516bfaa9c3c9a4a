"""What credentials with settings have in common: absent paths, checked arguments, and values that nobody may see."""

from __future__ import annotations

import threading
from typing import Any

import attrs

from kwsync._cluster import hide
from kwsync.credentials._files import optional_path

__all__ = ["check_flag", "check_kind", "check_optional_text", "check_seconds", "check_text", "hide", "optional_path"]


def check_text(_instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """A validator: TypeError for what is no text. Those of attrs would show it, and it may be a secret."""
    check_kind(value, str, f"{attribute.name} must be text")


def check_optional_text(_instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """The same for what may be absent."""
    check_kind(value, (str, type(None)), f"{attribute.name} must be text")


def check_flag(_instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """A validator: TypeError for what is neither True nor False."""
    check_kind(value, bool, f"{attribute.name} must be True or False")


def check_kind(value: object, kind: type | tuple[type, ...], demand: str) -> None:
    """TypeError, which says the demand and the value's class alone."""
    if not isinstance(value, kind):
        raise TypeError(f"{demand}, not {type(value).__name__}")


def check_seconds(value: float, what: str, *, zero: bool = False) -> float:
    """A time that is one; TypeError and ValueError for another."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be seconds, not {type(value).__name__}")
    if not (0 < value <= threading.TIMEOUT_MAX or (zero and value == 0)):
        raise ValueError(f"{what} must be {'at least' if zero else 'more than'} 0 seconds, and not for ever")
    return float(value)
