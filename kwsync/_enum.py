"""String enums that print as their value on every Python (``enum.StrEnum`` came with 3.11)."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 11):
    from enum import StrEnum
else:
    from enum import Enum

    class StrEnum(str, Enum):
        """A member is its string: ``f"{member}"`` and ``str(member)`` give the value."""

        __str__ = str.__str__

        def __format__(self, format_spec: str) -> str:
            return str.__format__(self, format_spec)


__all__ = ["StrEnum"]
