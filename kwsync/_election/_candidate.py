"""What a candidate of an election does next, from what it has seen: the rules, without I/O, time or chance. Pure.

Why no two lead at one time, as long as all clocks run at one rate (they may show whatever they like):

- Whoever leads counts from a moment *before* the request that took or renewed the Lease, and only ``renew_deadline``
  seconds. After these it leads no more, whatever the answers were, and an answer that comes later revives nothing.
- Whoever wants to take over counts from a moment *after* it has seen the last change of the Lease, and the whole
  duration that stands in it, which is longer. It has seen the change after it was made, so it counts to a later end.
- Each write names the version that it was decided on, so of two only one is stored; and what was sent and given up,
  and is stored late, is stored only if nobody has written since.

Each time that somebody begins to lead counts as a transition, so that this number is the term's own: a fencing token.
(client-go counts none when it finds its own identity there. Here that is another term, with another token, as its
earlier self may have been another process.) Times are seconds on one clock that never jumps; the wall clock is only
written down for people.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import attrs

from kwsync._election._lease import (
    JITTER_FACTOR,
    Document,
    Record,
    Rules,
    changed_lease,
    held_spec,
    new_lease,
    record_of,
    released_spec,
    renewed_spec,
)
from kwsync._events import resource_version_of
from kwsync._micro_time import microseconds

_OUTDATED = (404, 409, 500)
"""HTTP statuses of a renewal of what is not there any more: looking again helps at once. (500 is what kube-apiserver
says where the Lease was deleted, since the update, which names a version, would have to create it.)"""


class Moment(NamedTuple):
    """Now, on two clocks."""

    now: float
    """Seconds on a clock that never jumps."""
    wall: float
    """Seconds since 1970."""


class Purpose(Enum):
    """What a request is for."""

    LOOK = "look"
    TAKE = "take"
    RENEW = "renew"
    RELEASE = "release"


@attrs.frozen
class Step:
    """One request, to be sent at once."""

    purpose: Purpose
    begun: float
    """Before it is sent: from here on counts what it achieves."""
    document: dict[str, Any] | None = None
    """What is to be written; None to read."""
    is_new: bool = False
    """Is it to be created?"""
    is_fast: bool = False
    """Was it decided without looking (B156)?"""
    is_second: bool = False
    """Is it of a second try in the same round? There is no third, whatever the answers."""
    transitions: int = 0
    """That are written."""


@attrs.frozen
class Term:
    """A time of leading."""

    transitions: int
    """The fencing token."""
    until: float
    """The belief ends here, unless the Lease is renewed."""


@attrs.frozen
class Sighting:
    """The Lease as it was last seen to change."""

    record: Record
    since: float
    """When this was seen first: what stands in it counts from here (B153)."""
    is_missing: bool = False
    """It was deleted; the record is the last one."""


class Candidate:
    """One candidate. Its owner calls `begin`, sends the step, tells what came of it, and sends the next, until None.

    One thread does that; `term`, `leader` and `renewed` may be read by any.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.term: Term | None = None
        """While it leads; it may be over by now: see `leads`."""
        self.renewed = 0.0
        """From when the last renewal counts."""
        self.claimed: int | None = None
        """The transitions with which the Lease may be ours, for all that is known: there is something to release."""
        self._resigning = False
        self._seen: Sighting | None = None
        self._stored: Document | None = None
        self._last_micros = 0

    @property
    def leader(self) -> str:
        """The identity that was last seen to hold the Lease; empty: none."""
        seen = self._seen
        return "" if seen is None or seen.is_missing else seen.record.holder

    def leads(self, now: float) -> bool:
        """Does it hold the Lease, for all that it may believe?"""
        term = self.term
        return term is not None and now < term.until

    def until(self, transitions: int) -> float:
        """When the belief to lead in this term ends; 0.0 if it is over."""
        term = self.term
        return term.until if term is not None and term.transitions == transitions else 0.0

    def stand(self) -> None:
        """Campaign (again), with what it has seen before."""
        self.give_up()
        self.claimed = None
        self._resigning = False

    def give_up(self) -> None:
        """Lead no more; the Lease stays as it is."""
        self.term = None
        self._stored = None

    def resign(self) -> None:
        """Lead no more; the steps from now on give the Lease back, until `claimed` is None."""
        self.give_up()
        self._resigning = True

    def pause(self, now: float, chance: float, retry_after: float = 0.0) -> float:
        """Seconds until the next `begin`; *chance* is from 0 to 1, *retry_after* what the server asked for.

        A candidate is there at the moment at which it may take over.
        """
        period = self.rules.retry_period
        if self.term is not None:
            return max(0.0, min(period, self.term.until - now))
        wait = max(period * (1 + JITTER_FACTOR * chance), min(retry_after, self.rules.lease_duration))
        left = self._seconds_held(now)
        return min(wait, left) if left > retry_after else wait

    def begin(self, moment: Moment) -> Step:
        """The first request of a round."""
        if self.leads(moment.now) and self._stored is not None:
            return self._renewal(self._stored, moment, is_fast=True)
        return Step(Purpose.LOOK, moment.now)

    def answered(self, step: Step, document: Document, moment: Moment) -> Step | None:
        """It has succeeded, with this Lease as it is stored now; the moment is that of the answer."""
        self._see(document, moment.now)
        if step.purpose is Purpose.LOOK:
            after = self._decide(document, moment) if resource_version_of(document) else None
            return after and attrs.evolve(after, is_second=step.is_second)
        if step.purpose is Purpose.RELEASE:
            self.claimed = None
        elif step.purpose is Purpose.TAKE or self.leads(moment.now):
            self._hold(step, document, moment.now)
        else:
            self.give_up()  # it came too late: the work has been told to end
        return None

    def failed(self, step: Step, code: int, moment: Moment) -> Step | None:
        """It has failed with this HTTP status, 0 for none: then it may have been done all the same."""
        if step.purpose is Purpose.LOOK:
            after = self._missing(moment) if code == 404 else None
            return after and attrs.evolve(after, is_second=step.is_second)
        if step.purpose is Purpose.TAKE and 400 <= code < 500:
            self.claimed = None  # surely not done
        if not step.is_fast or code in _OUTDATED:
            self._stored = None
        return Step(Purpose.LOOK, moment.now, is_second=True) if self._tries_again(step, code, moment.now) else None

    def _tries_again(self, step: Step, code: int, now: float) -> bool:
        """In the same round, from a new look? Other failures are left to the next round, as long as there is one."""
        if step.is_second:
            return False
        if step.purpose is Purpose.RELEASE:
            return code == 409
        is_last = self.term is not None and now + self.rules.retry_period >= self.term.until
        return step.is_fast and (code in _OUTDATED or is_last)

    # What was seen

    def _see(self, document: Document, now: float) -> None:
        record = record_of(document)
        if self._seen is None or self._seen.is_missing or self._seen.record != record:
            self._seen = Sighting(record, now)

    def _seconds_held(self, now: float) -> float:
        """For so long it may be another's; a deleted one is anybody's, who leads and does not know it yet."""
        seen, ours = self._seen, self.rules.lease_duration
        if seen is None or (seen.record.holder in ("", self.rules.identity) and not seen.is_missing):
            return 0.0
        duration = seen.record.duration or ours
        return max(0.0, seen.since + (max(duration, ours) if seen.is_missing else duration) - now)

    def _is_ours(self, record: Record) -> bool:
        """Written by us: another with our identity has other transitions."""
        return record.holder == self.rules.identity and record.transitions == self.claimed

    # What to do

    def _decide(self, document: Document, moment: Moment) -> Step | None:
        record = record_of(document)
        if self._resigning:
            return self._release(document, record, moment)
        if self.term is None:
            may_take = not self._seconds_held(moment.now)
            return self._take(record.transitions + 1, moment, document) if may_take else None
        if self.leads(moment.now) and self._is_ours(record):
            return self._renewal(document, moment)
        self.give_up()  # and no more in this round, for the work has to end first
        return None

    def _missing(self, moment: Moment) -> Step | None:
        seen = self._seen
        if self._resigning:
            self.claimed = None
            return None
        if self.term is not None:
            return self._restoration(self.term, moment) if self.leads(moment.now) else None
        if seen is None:
            return self._take(0, moment)
        if not seen.is_missing:
            self._seen = seen = Sighting(seen.record, moment.now, is_missing=True)
        return None if self._seconds_held(moment.now) else self._take(seen.record.transitions + 1, moment)

    def _take(self, transitions: int, moment: Moment, stored: Document | None = None) -> Step:
        self.claimed = transitions
        self._last_micros = microseconds(moment.wall)
        spec = held_spec(self.rules, self._last_micros, transitions)
        return self._write(Purpose.TAKE, spec, moment, stored, transitions)

    def _restoration(self, term: Term, moment: Moment) -> Step:
        """Somebody has deleted it under us: we still lead, and say so again."""
        spec = held_spec(self.rules, self._next_micros(moment), term.transitions)
        return self._write(Purpose.RENEW, spec, moment, None, term.transitions)

    def _renewal(self, stored: Document, moment: Moment, *, is_fast: bool = False) -> Step:
        spec = renewed_spec(self.rules, self._next_micros(moment))
        step = self._write(Purpose.RENEW, spec, moment, stored, record_of(stored).transitions)
        return attrs.evolve(step, is_fast=is_fast)

    def _release(self, stored: Document, record: Record, moment: Moment) -> Step | None:
        if not self._is_ours(record):
            self.claimed = None
            return None
        spec = released_spec(self._next_micros(moment))
        return self._write(Purpose.RELEASE, spec, moment, stored, record.transitions)

    def _write(
        self, purpose: Purpose, spec: dict[str, Any], moment: Moment, stored: Document | None, transitions: int
    ) -> Step:
        document = new_lease(self.rules, spec) if stored is None else changed_lease(self.rules, stored, spec)
        return Step(purpose, moment.now, document, is_new=stored is None, transitions=transitions)

    def _hold(self, step: Step, document: Document, now: float) -> None:
        until = step.begun + self.rules.renew_deadline
        if now < until:
            self.renewed = step.begun
            self.term = Term(step.transitions, until)
            self._stored = document if resource_version_of(document) else None

    def _next_micros(self, moment: Moment) -> int:
        """The time of a renewal, never one that was written before: others see a renewal by what has changed."""
        self._last_micros = max(microseconds(moment.wall), self._last_micros + 1)
        return self._last_micros
