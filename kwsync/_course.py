"""The course that a follower takes: what it does next, and what becomes of what that brings. Pure.

`kwsync._following` sends the requests; everything is decided here, so that a model of a server can try it out.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kwsync._events import EventType
from kwsync._records import Change, Page, is_older
from kwsync._resume import Action, Do, Outcome, Rules
from kwsync.errors import ErrorOrigin, WatchError, local_error


class Course:
    """One follower's, for one thread: `begin`, then what comes (`page`, `change`, `failed`), then `end`, and so on."""

    def __init__(self, rules: Rules, version: str | None = None, *, watch_list: bool = False) -> None:
        self._rules = rules
        self._state = rules.start(version, watch_list=watch_list)
        self._request = _Request(0.0)
        self.version = version
        """What to resume from as far as it is known here: a watch knows better while it lasts."""
        self.rewound = False
        """The server has gone back in time, and no full state has come since."""
        self._seen: str | None = None
        """Of full states that broke off, but were told as far as they had come."""

    @property
    def action(self) -> Action:
        """What to do now."""
        return self._state.action

    @property
    def is_over(self) -> bool:
        """Is nothing more wanted of the present request?"""
        return self._request.ended is not None

    def begin(self, now: float) -> None:
        """The action is being done, from *now* on (seconds on a clock that never jumps)."""
        self._request = _Request(now, is_full=self.action.do is Do.WATCH)

    def page(self, changes: Sequence[Change], *, first: bool, last: bool, version: str | None) -> Page:
        """A page of a list; the version of the first one counts."""
        request = self._request
        if first:
            request.version = request.seen = version
            self._look_back(version)
        return self._page(changes, first=first, last=last)

    def probed(self, version: str | None) -> bool:
        """The server has told how far it is; is that behind what was seen?"""
        request = self._request
        request.is_full = request.alive = True
        request.rewound = self._look_back(version)
        return request.rewound

    def change(self, change: Change, *, initial: bool, now: float) -> Page | Change | None:
        """A change that a watch tells; *initial* while initial events are still to come behind it."""
        request = self._request
        if change.error is not None:
            return self.failed(change.error, now)
        if request.is_full:
            request.alive = True
            return change
        if not initial:
            return self._all_initial(change, now)
        if change.record is None:
            return None
        request.seen = _newer(request.seen, change.record.version or None)
        return self._initial_page((change,), last=False)

    def failed(self, error: WatchError, now: float) -> Change:
        """The request has failed; nothing that comes behind this can be trusted."""
        self._request.ended, self._request.error = now, error
        return _failed(error)

    def end(self, now: float, *, connected: bool = False) -> Change | None:
        """The request is over, and the next action is decided. What has failed without an error is told as one."""
        outcome = self._request.outcome(now, self.version, connected=connected)
        self._state = self._rules.next_action(self._state, outcome)
        if not outcome.complete:
            self._seen = _newer(self._seen, self._request.seen)
        if outcome.error is not None or outcome.rewound:
            return None
        if not outcome.complete:
            return _failed(local_error(ErrorOrigin.NETWORK, "the watch ended before its initial events were complete"))
        if outcome.is_very_short:
            return _failed(local_error(ErrorOrigin.NETWORK, "the server ended the watch at once, and told nothing"))
        return None

    def _all_initial(self, change: Change, now: float) -> Page | None:
        """The end of the initial events; they have to come again where they were taken for newer than they are."""
        request = self._request
        request.version, known = change.version, self.rewound
        if self._look_back(change.version) and not known:
            request.ended, request.rewound = now, True
            return None
        return self._initial_page((), last=True)

    def _initial_page(self, changes: Sequence[Change], *, last: bool) -> Page:
        first, self._request.is_begun = not self._request.is_begun, True
        return self._page(changes, first=first, last=last)

    def _page(self, changes: Sequence[Change], *, first: bool, last: bool) -> Page:
        request = self._request
        page = Page(changes, first, last, request.version, self.rewound)
        if last:
            request.is_full = request.alive = True
            self.version, self.rewound, self._seen = request.version, False, None
        return page

    def _look_back(self, version: str | None) -> bool:
        """Is a full state older than what was seen before? Then the server's database has been restored (E6)."""
        if version is not None and any(known and is_older(version, known) for known in (self.version, self._seen)):
            self.rewound = True
            return True
        return False


@attrs.define
class _Request:
    """What is found out about a request while it lasts."""

    began: float
    is_full: bool = False
    """A full state has come, or none is to come."""
    is_begun: bool = False
    """Some of the initial events have come."""
    version: str | None = None
    """Of the full state."""
    seen: str | None = None
    """The newest version that is known of it."""
    alive: bool = False
    rewound: bool = False
    ended: float | None = None
    error: WatchError | None = None

    def outcome(self, now: float, version: str | None, *, connected: bool) -> Outcome:
        at = now if self.ended is None else self.ended
        return Outcome(
            at,
            at - self.began,
            version,
            complete=self.is_full,
            alive=self.alive,
            connected=connected,
            rewound=self.rewound,
            error=self.error,
        )


def _newer(one: str | None, other: str | None) -> str | None:
    """The newer of two versions; the first one where they cannot be compared."""
    return other if one is None or (other is not None and is_older(one, other)) else one


def _failed(error: WatchError) -> Change:
    return Change(EventType.ERROR, None, error=error)
