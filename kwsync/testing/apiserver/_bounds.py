"""How much is kept of what would otherwise grow for ever. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Bounds(NamedTuple):
    """At most so many things, and at most so many bytes of them; the bytes are those on the wire."""

    number: int
    size: int

    def exceeded(self, number: int, size: int) -> bool:
        """Whether that is more than may be kept."""
        return number > self.number or size > self.size
