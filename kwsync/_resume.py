"""What to do after a list or a watch has ended: the rules of following, as a pure state machine.

`next_action` takes the state and what came of the last request, and gives the new state and the next action. There is
no I/O, no clock and no chance in it: time comes in as numbers, and a wait goes out as a request to wait.

The rules, first match first; the numbers are those of the conformance list (client-go's behaviour):

    after a LIST
        it is whole                              WATCH from its version, at once                        B006
        any error                                LIST again, after a backoff                            B014, B021
    after a WATCH, or a WATCH_LIST whose initial events are complete
        410 in any dress                         LIST, after a backoff                                  B014, B015
        429                                      WATCH from the same version, after a backoff           B012, B013
        the connection failed, or went silent    WATCH from the same version                            B010, B012
        any other error, a lost line too         LIST, after a backoff                                  B014, B016, B017
        a clean end, at once and empty           LIST, after a backoff                                  B011
        a clean end                              WATCH from the same version, at once                   B010
    after a WATCH_LIST whose initial events are not complete
        422, or twice without their end          LIST, and never again WATCH_LIST                       B037
        429, 410, too large, connection failed   WATCH_LIST again, after a backoff                      B036
        any other error                          LIST, this time                                        B035

A wait is never shorter than the Retry-After that came with the error. A watch that lasted for a second is followed at
once; so is a shorter one that told something, but only a few times in a row. After a long time without any sign of life
the list is read anew even though nothing failed: a kind that the server cannot decode just falls silent.
"""

from __future__ import annotations

from typing import Any

import attrs

from kwsync._backoff import Backoff
from kwsync._enum import StrEnum
from kwsync.errors import ErrorOrigin, WatchError

HEALTHY_SECONDS = 1.0
"""A watch that lasted so long was none that fails at once (B010, B011)."""

QUICK_RESTARTS = 3
"""So many watches in a row may be shorter than that, if each told something, before they count as failures."""

INCOMPLETE_WATCH_LISTS = 2
"""So many streams without an end of their initial events, and the server is not asked for them any more (B037)."""

_LOST_CONNECTION = (ErrorOrigin.NETWORK, ErrorOrigin.TIMEOUT)


class Do(StrEnum):
    """What can be done."""

    LIST = "LIST"
    WATCH = "WATCH"
    WATCH_LIST = "WATCH_LIST"


@attrs.frozen
class Action:
    """What to do next, and what to wait for before."""

    do: Do
    version: str | None = None
    """Where a WATCH begins; None where the server tells no versions."""
    wait: float | None = None
    """None: at once. Else one step of the backoff, and no less than so many seconds."""
    failures: int = 0
    """How many steps of the backoff came before."""


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
    told: bool = False
    """A watch told of a change."""
    alive: bool = False
    """A watch told of a change, or sent a bookmark."""
    connected: bool = False
    """A watch was answered."""
    error: WatchError | None = None


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
    watch_list: bool = False
    """Whether full states may be asked for as initial events of a watch."""


@attrs.frozen
class Rules:
    """What can be chosen."""

    backoff: Backoff = attrs.field(factory=Backoff)
    silent_seconds: float = 600.0
    """So long a watch may show no sign of life, over all its requests, before the list is read anew."""

    def start(self, version: str | None = None, *, watch_list: bool = False) -> State:
        """Before anything was done; with *version* nothing is listed."""
        if version is not None:
            return State(Action(Do.WATCH, version), watch_list=watch_list)
        return State(Action(Do.WATCH_LIST if watch_list else Do.LIST), watch_list=watch_list)

    def next_action(self, state: State, outcome: Outcome) -> State:
        """The state after *outcome*; its action is the next to be done."""
        if state.calm_since is None:
            state = attrs.evolve(state, calm_since=outcome.at - outcome.lasted)
        if not outcome.complete:
            return self._incomplete(state, outcome)
        if state.action.do is Do.LIST:
            return self._go_on(attrs.evolve(state, silent=0.0), outcome.version)
        return self._watched(attrs.evolve(state, incomplete=0), outcome)

    # Each of these is a block of the table above.

    def _incomplete(self, state: State, outcome: Outcome) -> State:
        if state.action.do is Do.LIST:
            return self._relist(state, outcome)
        error = outcome.error
        if error is not None and error.status_code == 422:
            return self._fail(state, outcome, Action(Do.LIST), watch_list=False)
        if error is None or error.origin in _LOST_CONNECTION or _tells_to_wait(error) or error.is_expired:
            return self._again(state, outcome)
        return self._fail(state, outcome, Action(Do.LIST))

    def _again(self, state: State, outcome: Outcome) -> State:
        """Another WATCH_LIST, unless the server has shown that it never tells where the initial events end."""
        incomplete = state.incomplete + outcome.connected
        if incomplete >= INCOMPLETE_WATCH_LISTS:
            return self._fail(state, outcome, Action(Do.LIST), watch_list=False)
        return self._fail(state, outcome, Action(Do.WATCH_LIST), incomplete=incomplete)

    def _watched(self, state: State, outcome: Outcome) -> State:
        error, same = outcome.error, Action(Do.WATCH, outcome.version)
        if error is not None and error.is_expired:
            return self._relist(state, outcome)
        if error is not None and error.status_code == 429:
            return self._fail(state, outcome, same)
        if error is not None and error.origin not in _LOST_CONNECTION:
            return self._relist(state, outcome)
        if outcome.lasted >= HEALTHY_SECONDS:
            return self._healthy(state, outcome)
        if outcome.told and state.quick < QUICK_RESTARTS:
            return attrs.evolve(state, action=same, quick=state.quick + 1, silent=0.0)
        if error is None and not outcome.told:
            return self._relist(state, outcome)
        return self._fail(state, outcome, same)

    def _healthy(self, state: State, outcome: Outcome) -> State:
        silent = 0.0 if outcome.alive else state.silent + outcome.lasted
        state = attrs.evolve(state, quick=0, silent=silent)
        if silent >= self.silent_seconds:
            return attrs.evolve(state, action=Action(_full_state(state)))
        return self._go_on(state, outcome.version)

    # And these are what they end in.

    def _go_on(self, state: State, version: str | None) -> State:
        if version is None and state.action.do is not Do.LIST:  # without versions nobody can tell what was missed
            return attrs.evolve(state, action=Action(_full_state(state)))
        return attrs.evolve(state, action=Action(Do.WATCH, version))

    def _relist(self, state: State, outcome: Outcome) -> State:
        return self._fail(state, outcome, Action(_full_state(state)))

    def _fail(self, state: State, outcome: Outcome, action: Action, **changes: Any) -> State:
        calm = outcome.at - (outcome.at if state.calm_since is None else state.calm_since)
        failures = 0 if calm >= self.backoff.reset_after else state.failures
        wait = (outcome.error.retry_after if outcome.error else None) or 0.0
        return attrs.evolve(
            state,
            action=attrs.evolve(action, wait=wait, failures=failures),
            failures=failures + 1,
            calm_since=None,
            **changes,
        )


def _full_state(state: State) -> Do:
    return Do.WATCH_LIST if state.watch_list else Do.LIST


def _tells_to_wait(error: WatchError) -> bool:
    """Too many requests, or a version that has not come yet (kubernetes calls it too large, with 504)."""
    return error.status_code in (429, 504)
