"""What to do after a list or a watch has ended: the rules of following, as a pure state machine.

`next_action` takes the state and what came of the last request, and gives the new state and the next action. There is
no I/O, no clock and no chance in it: time comes in as numbers, and a wait goes out as a request to wait.

The rules, first match first; the numbers are those of the conformance list (client-go's behaviour):

    after a LIST
        it is whole                              WATCH from its version, at once                        B006
        any error                                LIST again                                             B014, B021
    after a WATCH, or a WATCH_LIST whose initial events are complete
        410 in any dress                         LIST                                                   B014, B015
        an error that is neither 429 nor a
            lost connection; a lost line, too    LIST                                                   B014, B016, B017
        a clean end, at once and empty           LIST                                                   B011
        no version to go on from                 LIST
        no sign of life for a long time          LIST
        429                                      WATCH from the same version, after a backoff           B012, B013
        no answer came                           WATCH from the same version, after a backoff           B012
        a clean and silent end, the first since
            a connection was lost                PROBE, at once                                         E6
        a clean end                              WATCH from the same version, at once                   B010
        a connection that broke or fell silent   WATCH from the same version, at once                   B010
    after a PROBE, which asks how far the server is
        it is behind the version: it has gone
            back in time                         LIST                                                   E6
        it is not                                WATCH from the same version, at once
        429, or a lost connection                PROBE again, after a backoff                           B012
        any other error                          LIST                                                   B014
    after a WATCH_LIST whose initial events are not complete
        the server has gone back in time         WATCH_LIST again
        422                                      LIST, and never again WATCH_LIST                       B037
        it ended, or broke off, or fell silent   WATCH_LIST again; the second time as with 422          B037
        429, 410, too large                      WATCH_LIST again                                       B036
        any other error                          LIST, this time                                        B035

Every LIST and WATCH_LIST but the first comes after a backoff (B021). No wait is shorter than the Retry-After that came
with the error, of up to an hour. "At once" is for what did not fail at once: a watch that ended cleanly after a second,
or broke after two. For one that ended before, but had told something, and for one that ended within ten seconds though
it was to last longer, and had told nothing, it is so only the first time in a row. (A server that fails again and again
gets fewer than ten requests in ten seconds.)

A watch from a version that is still to come is accepted and silent. So where a connection was lost, behind which there
may be another server now, or one whose database was restored, the next watch is a brief one, and if it stays silent a
small question follows. (Versions that cannot be compared are not asked about.)

"No version to go on from": the watch told none, or it began without one, because the list had none. Nobody can tell
then what happened between that list and that watch. "A long time": a kind that the server cannot decode falls silent.
"""

from __future__ import annotations

from typing import Any

import attrs

from kwsync._backoff import Backoff
from kwsync._enum import StrEnum
from kwsync._records import is_comparable
from kwsync.errors import ErrorOrigin, WatchError

HEALTHY_SECONDS = 1.0
"""A watch that ended cleanly after so long was none that fails at once (B010, B011)."""

STEADY_SECONDS = 2.0
"""Nor was one whose connection broke after so long."""

RESTED_SECONDS = 10.0
"""After a watch of that length a short one may be followed at once again."""

QUICK_RESTARTS = 1
"""So many watches in a row may be shorter than that, if each told something, before they count as failures."""

LONGEST_WAIT = 3600.0
"""Seconds that a Retry-After is obeyed: a proxy's clock may be wrong by years."""

INCOMPLETE_WATCH_LISTS = 2
"""So many streams without an end of their initial events, and the server is not asked for them any more (B037)."""

_LOST_CONNECTION = (ErrorOrigin.NETWORK, ErrorOrigin.TIMEOUT)

_NO_VERSION = (None, "0")
"""From these a watch tells what there is, and not what has changed."""


class Do(StrEnum):
    """What can be done."""

    LIST = "LIST"
    WATCH = "WATCH"
    WATCH_LIST = "WATCH_LIST"
    PROBE = "PROBE"


@attrs.frozen
class Action:
    """What to do next, and what to wait for before."""

    do: Do
    version: str | None = None
    """Where a WATCH begins, or what a PROBE is about; None where the server tells no versions."""
    wait: float | None = None
    """None: at once. Else one step of the backoff, and no less than so many seconds."""
    failures: int = 0
    """How many steps of the backoff came before."""
    brief: bool = False
    """Of a WATCH: if it stays silent, that is to be known soon."""


@attrs.frozen
class Outcome:
    """What came of the last action."""

    at: float
    """When it ended, in seconds on a clock that never jumps."""
    lasted: float
    """Seconds since its request."""
    version: str | None = None
    """Of a LIST: how fresh it is. Of a watch: what to resume from."""
    complete: bool = True
    """A full state has come: the whole list, or all initial events. (Also when there were none to come.)"""
    alive: bool = False
    """It told of a full state or of a change, or sent a bookmark."""
    connected: bool = False
    """A watch was answered, or its server had time enough to."""
    rewound: bool = False
    """The full state is older than what was seen before, and has to be read with that in mind."""
    error: WatchError | None = None

    @property
    def is_very_short(self) -> bool:
        """Did a watch end cleanly, at once and empty?"""
        return self.error is None and not self.alive and self.lasted < HEALTHY_SECONDS


@attrs.frozen
class State:
    """All that the rules remember."""

    action: Action
    """The one that is being done."""
    failures: int = 0
    calm_since: float | None = None
    """When the first request after the last failure began; the wait before it does not count as health."""
    quick: int = 0
    silent: float = 0.0
    incomplete: int = 0
    suspect: bool = False
    """A connection was lost, and since then there was no sign of life."""
    watch_list: bool = False
    """Whether full states may be asked for as initial events of a watch."""


@attrs.frozen
class Rules:
    """What can be chosen."""

    backoff: Backoff = attrs.field(factory=Backoff)
    silent_seconds: float = 600.0
    """So long a watch may show no sign of life, over all its requests, before the list is read anew."""
    window_seconds: float = 300.0
    """So long a watch is asked to last."""

    def start(self, version: str | None = None, *, watch_list: bool = False) -> State:
        """Before anything was done; with *version* nothing is listed."""
        if version is not None:
            return State(Action(Do.WATCH, version), watch_list=watch_list)
        return State(Action(Do.WATCH_LIST if watch_list else Do.LIST), watch_list=watch_list)

    def next_action(self, state: State, outcome: Outcome) -> State:
        """The state after *outcome*; its action is the next to be done."""
        if state.calm_since is None:
            state = attrs.evolve(state, calm_since=outcome.at - outcome.lasted)
        if state.action.do is Do.PROBE:
            return self._probed(state, outcome)
        if not outcome.complete:
            return self._incomplete(state, outcome)
        if state.action.do is Do.LIST:
            return attrs.evolve(state, action=Action(Do.WATCH, outcome.version), silent=0.0, suspect=False)
        return self._watched(attrs.evolve(state, incomplete=0), outcome)

    # Each of these is a block of the table above.

    def _incomplete(self, state: State, outcome: Outcome) -> State:
        error, again = outcome.error, Action(_full_state(state))
        if state.action.do is Do.LIST or outcome.rewound:
            return self._fail(state, outcome, again)
        if error is not None and error.status_code == 422:
            return self._fail(state, outcome, Action(Do.LIST), watch_list=False)
        if error is None or _is_lost(error):
            return self._broken_off(state, outcome)
        if error.is_expired or error.status_code in (429, 504):  # 504 tells of a version that has not come yet
            return self._fail(state, outcome, again)
        return self._fail(state, outcome, Action(Do.LIST))

    def _broken_off(self, state: State, outcome: Outcome) -> State:
        incomplete = state.incomplete + outcome.connected
        if incomplete >= INCOMPLETE_WATCH_LISTS:
            return self._fail(state, outcome, Action(Do.LIST), watch_list=False)
        return self._fail(state, outcome, Action(Do.WATCH_LIST), incomplete=incomplete)

    def _watched(self, state: State, outcome: Outcome) -> State:
        silent = 0.0 if outcome.alive else state.silent + outcome.lasted * outcome.connected
        suspect = _is_lost(outcome.error) or (state.suspect and not outcome.alive)
        state = attrs.evolve(state, silent=silent, suspect=suspect)
        if _may_have_lost(outcome) or not _can_go_on(state.action, outcome) or silent >= self.silent_seconds:
            return self._fail(state, outcome, Action(_full_state(state)))
        return self._same_version(state, outcome)

    def _same_version(self, state: State, outcome: Outcome) -> State:
        error, version = outcome.error, outcome.version
        suspect = state.suspect and is_comparable(version or "")
        probe = suspect and error is None
        action = Action(Do.PROBE if probe else Do.WATCH, version, brief=suspect and not probe)
        if error is not None and (error.status_code == 429 or not outcome.connected):
            return self._fail(state, outcome, action)
        if outcome.lasted >= self._healthy_seconds(outcome):
            quick = 0 if outcome.lasted >= RESTED_SECONDS else state.quick
            return attrs.evolve(state, action=action, quick=quick)
        if (outcome.alive or error is None) and state.quick < QUICK_RESTARTS:
            return attrs.evolve(state, action=action, quick=state.quick + 1)
        if error is None and outcome.lasted >= HEALTHY_SECONDS:  # not a failure, but no reason for haste
            return attrs.evolve(state, action=attrs.evolve(action, wait=0.0))
        return self._fail(state, outcome, action)

    def _healthy_seconds(self, outcome: Outcome) -> float:
        """So long it must have lasted not to count as one that failed at once."""
        if outcome.error is not None:
            return STEADY_SECONDS
        silent_and_early = min(RESTED_SECONDS, self.window_seconds - HEALTHY_SECONDS / 2)
        return HEALTHY_SECONDS if outcome.alive else silent_and_early

    def _probed(self, state: State, outcome: Outcome) -> State:
        error, version = outcome.error, state.action.version
        if error is None and not outcome.rewound:
            return attrs.evolve(state, action=Action(Do.WATCH, version), suspect=False)
        if error is not None and (error.status_code == 429 or _is_lost(error)):
            return self._fail(state, outcome, Action(Do.PROBE, version))
        return self._fail(state, outcome, Action(_full_state(state)))

    def _fail(self, state: State, outcome: Outcome, action: Action, **changes: Any) -> State:
        calm = outcome.at - (outcome.at if state.calm_since is None else state.calm_since)
        failures = 0 if calm >= self.backoff.reset_after else state.failures
        wait = min((outcome.error.retry_after if outcome.error else None) or 0.0, LONGEST_WAIT)
        return attrs.evolve(
            state,
            action=attrs.evolve(action, wait=wait, failures=failures),
            failures=failures + 1,
            calm_since=None,
            **changes,
        )


def _is_lost(error: WatchError | None) -> bool:
    """Was the connection lost, or none to be had?"""
    return error is not None and error.origin in _LOST_CONNECTION


def _full_state(state: State) -> Do:
    return Do.WATCH_LIST if state.watch_list else Do.LIST


def _may_have_lost(outcome: Outcome) -> bool:
    """May a change have been missed, or be missed by going on? 429 and a lost connection cost nothing."""
    error = outcome.error
    if error is None:
        return outcome.is_very_short
    return error.is_expired or not (error.status_code == 429 or _is_lost(error))


def _can_go_on(action: Action, outcome: Outcome) -> bool:
    """Is there a version from which everything follows that has not been told?"""
    began_anywhere = action.do is Do.WATCH and action.version in _NO_VERSION
    return not began_anywhere and outcome.version not in _NO_VERSION
