"""A list that does not grow for ever."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")

_MOST = 1000


class FirstOnes(list[T]):
    """Keeps the first 1,000 of what is appended: the first of many equal troubles tells most."""

    def append(self, item: T) -> None:
        """One more, or not."""
        if len(self) < _MOST:
            super().append(item)
