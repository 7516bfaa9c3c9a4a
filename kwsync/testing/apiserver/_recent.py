"""The requests that a server has had, as far as it remembers them."""

from __future__ import annotations

from kwsync.testing._request import Request
from kwsync.testing.apiserver._bounds import Bounds

_KEPT = Bounds(10_000, 64 << 20)
_LEFT = 0.75


class RecentRequests(list[Request]):
    """The last requests, in order of arrival: when there are too many, the oldest quarter is forgotten.

    At most 10,000 are kept, and 64 MiB of their bodies and targets. Touched under the server's lock.
    """

    def __init__(self, bounds: Bounds = _KEPT) -> None:
        super().__init__()
        self.forgotten = 0
        """How many came before the first that is kept."""
        self._bounds = bounds
        self._size = 0

    def append(self, request: Request) -> None:
        """One more."""
        super().append(request)
        self._size += _size(request)
        if self._bounds.exceeded(len(self), self._size):
            self._forget()

    def _forget(self) -> None:
        # Counted anew, because the list is the user's, who may have taken some out.
        sizes = list(map(_size, self))
        self._size = sum(sizes)
        least = Bounds(int(self._bounds.number * _LEFT), int(self._bounds.size * _LEFT))
        index = 0
        while index < len(self) - 1 and least.exceeded(len(self) - index, self._size):
            self._size -= sizes[index]
            index += 1
        del self[:index]
        self.forgotten += index


def _size(request: Request) -> int:
    return len(request.body) + len(request.target)
