"""What all ways have in common that never give anything new."""

from __future__ import annotations

from kwsync.credentials._protocol import Authorization


class Fixed:
    """A 401 changes nothing: the same would be sent again."""

    __slots__ = ()

    def refresh(self, rejected: Authorization) -> bool:  # noqa: ARG002 - there is nothing to compare it with
        """Always False: there is nothing else to give."""
        return False
