"""Watch events as bytes: one line each, and how they are cut into chunks."""

from __future__ import annotations

from typing import Any

from kwsync.testing.apiserver._collection import ADDED, DELETED, MODIFIED, Change, Version
from kwsync.testing.apiserver._encode import dumps
from kwsync.testing.apiserver._selection import Matcher
from kwsync.testing.apiserver._views import View

_PACKED = 2048
"""The size of chunks in which everything goes out that is not sent at once (D17)."""


def line(what: str, object: bytes) -> bytes:
    """One event."""
    return b'{"type":"%b","object":%b}\n' % (what.encode(), object)


def error_line(status: dict[str, Any]) -> bytes:
    """An ERROR event, whose object stays a Status whatever the view."""
    return line("ERROR", dumps(status))


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def packed(data: bytes) -> bytes:
    """A body in chunks of 2,048 bytes, which cut whatever they meet (trap 1)."""
    return b"".join([chunk(data[start : start + _PACKED]) for start in range(0, len(data), _PACKED)])


class Lines:
    """What one watch makes of changes: its selectors decide the type, its view the object."""

    def __init__(self, view: View, matches: Matcher | None) -> None:
        self._view = view
        self._matches = matches

    def initial(self, version: Version) -> bytes:
        """The synthetic ADDED of an object that is there already."""
        return line(ADDED, self._view.single(version))

    def bookmark(self, revision: int, *, initial_end: bool = False) -> bytes:
        """A BOOKMARK."""
        return line("BOOKMARK", self._view.bookmark(revision, initial_end=initial_end))

    def line(self, change: Change) -> bytes | None:
        """The event of a change, or None where this watch does not see it."""
        what, version = self._verdict(change)
        if not what:
            return None
        shared = self._view.shared
        if shared is None:
            return line(what, self._view.single(version))
        found = change.lines.get((shared, what))
        if found is None:
            found = change.lines[(shared, what)] = line(what, self._view.single(version))
        return found

    def _verdict(self, change: Change) -> tuple[str, Version]:
        """By selector: an object that stops matching is DELETED, with the content that matched (trap 8)."""
        matches = self._matches
        if matches is None:
            return change.type, change.after
        before = change.before is not None and matches(change.before)
        if change.type != DELETED and matches(change.after):
            return MODIFIED if before else ADDED, change.after
        return (DELETED, change.gone) if before else ("", change.after)
