"""A Lease that is stored somewhere, and candidates whose requests meet whatever can happen to a request. No threads."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from typing import Any

import attrs

from kwsync._election._candidate import Candidate, Moment, Step
from kwsync._election._lease import Rules, record_of
from kwsync._events import resource_version_of

Document = dict[str, Any]


def rules_of(identity: str, **more: Any) -> Rules:
    """Of a candidate."""
    given = {"lease_duration": 15, "renew_deadline": 10, "retry_period": 2, **more}
    return Rules(namespace="default", name="lead", identity=identity, **given)


@attrs.frozen
class Stored:
    """What the server has: one Lease, or none. A request gives another state, and its answer."""

    lease: Document | None = None
    version: int = 0

    def handle(self, step: Step) -> tuple[Stored, Document | int]:
        """As kube-apiserver does it: guarded by the version, a conflict is 409, a missing Lease 404."""
        if step.document is None:
            return self, 404 if self.lease is None else self.lease
        if step.is_new:
            return (self, 409) if self.lease is not None else self._write(step.document)
        if self.lease is None:
            return self, 404
        is_current = resource_version_of(step.document) == resource_version_of(self.lease)
        return self._write(step.document) if is_current else (self, 409)

    def _write(self, document: Document) -> tuple[Stored, Document]:
        version = self.version + 1
        lease = {**document, "metadata": {**document["metadata"], "resourceVersion": str(version)}}
        return Stored(lease, version), lease


def tell(candidate: Candidate, step: Step, answer: Document | int, moment: Moment) -> Step | None:
    """What came of a step."""
    if isinstance(answer, int):
        return candidate.failed(step, answer, moment)
    return candidate.answered(step, answer, moment)


def run_round(candidate: Candidate, stored: Stored, now: float, wall: float | None = None) -> Stored:
    """A round in which nothing goes wrong and no time passes."""
    moment = Moment(now, now if wall is None else wall)
    step: Step | None = candidate.begin(moment)
    while step is not None:
        stored, answer = stored.handle(step)
        step = tell(candidate, step, answer, moment)
    return stored


class Process:
    """One candidate in the world, with clocks of its own."""

    def __init__(self, candidate: Candidate, chance: random.Random) -> None:
        self.candidate = candidate
        self.offset = chance.uniform(-1000, 1000)
        self.wall_offset = chance.uniform(-1e6, 1e6)
        self.is_alive = True
        self.paused_until = 0.0

    def moment(self, time: float) -> Moment:
        """Now, as it sees it."""
        return Moment(time + self.offset, 1e9 + time + self.wall_offset)

    def leads(self, time: float) -> bool:
        """Does it believe so? The dead believe nothing; who is stopped will look at its clock."""
        return self.is_alive and self.candidate.leads(time + self.offset)


class World:
    """Time, the server, and what chance does to requests and processes. Every event checks what is promised."""

    def __init__(self, seed: int, *, trouble: float, count: int = 3, deletes: bool = False) -> None:
        self.chance = random.Random(seed)
        self.trouble = trouble
        self.deletes = deletes
        self.stored = Stored()
        self.time = 0.0
        self.terms: list[tuple[float, str, int]] = []
        self.deleted = 0
        self._number = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self.processes = [self.new_process(f"p{number}") for number in range(count)]

    def new_process(self, identity: str) -> Process:
        """One that begins soon."""
        process = Process(Candidate(rules_of(identity)), self.chance)
        self.at(self.chance.uniform(0, 5), lambda: self.begin(process))
        return process

    def at(self, delay: float, event: Callable[[], None]) -> None:
        """Let something happen later."""
        heapq.heappush(self._events, (self.time + delay, next(self._number), event))

    def run(self, until: float) -> None:
        """Let time pass."""
        while self._events and self._events[0][0] <= until:
            self.time, _, event = heapq.heappop(self._events)
            event()
            self.check()
        self.time = until
        self.check()

    @property
    def leaders(self) -> list[Process]:
        """Who believes to lead now."""
        return [process for process in self.processes if process.leads(self.time)]

    def check(self) -> None:
        """No two lead, and each term has a greater token than all before; a deletion makes forget it."""
        leaders = self.leaders
        assert len(leaders) <= 1, (self.time, [each.candidate.term for each in leaders], self.terms[-5:])
        for process in leaders:
            term = process.candidate.term
            assert term is not None
            found = (process.candidate.rules.identity, term.transitions)
            if not self.terms or self.terms[-1][1:] != found:
                is_greater = not self.terms or term.transitions > self.terms[-1][2]
                assert is_greater or self.deletes, (found, self.terms[-5:])
                self.terms.append((self.time, *found))

    # What processes do

    def later(self, process: Process, delay: float, event: Callable[[], None]) -> None:
        """It does something, unless it is dead by then; who is stopped does it when it goes on."""

        def act() -> None:
            if process.is_alive and self.time < process.paused_until:
                self.later(process, process.paused_until - self.time, event)
            elif process.is_alive:
                event()

        self.at(delay, act)

    def begin(self, process: Process) -> None:
        """A round."""
        if process.is_alive:
            self.maybe_trouble(process)
        candidate = process.candidate
        if candidate.term is not None and not candidate.leads(process.moment(self.time).now):
            candidate.give_up()
        self.send(process, candidate.begin(process.moment(self.time)))

    def send(self, process: Process, step: Step) -> None:
        """A request goes its way: it is done now or much later or never, and answered or not."""
        timeout, faulty = 5.0, self.chance.random() < self.trouble
        way = self.chance.choice(["lost", "answer lost", "late", "late", "refused"]) if faulty else "well"
        there = self.chance.uniform(0, 0.2) if way != "late" else self.chance.uniform(0, 30)
        back = self.chance.uniform(0, 0.2)

        def arrive() -> None:
            self.stored, answer = self.stored.handle(step)
            if way == "well" or (way == "late" and self.time + back < sent + timeout):
                self.later(process, back, lambda: self.hear(process, step, answer))

        sent = self.time
        if way == "refused":
            self.later(process, there, lambda: self.hear(process, step, self.chance.choice([0, 403, 429, 500])))
            return
        if way != "lost":
            self.at(there, arrive)
        if way in ("lost", "answer lost") or (way == "late" and there + back >= timeout):
            self.later(process, timeout, lambda: self.hear(process, step, 0))

    def hear(self, process: Process, step: Step, answer: Document | int) -> None:
        """An answer, or none in time."""
        following = tell(process.candidate, step, answer, process.moment(self.time))
        if following is not None:
            self.send(process, following)
            return
        self.rest(process)

    def rest(self, process: Process) -> None:
        """Until the next round; some resign, and stand again when they have."""
        candidate = process.candidate
        now = process.moment(self.time).now
        if candidate._resigning and candidate.claimed is None:
            candidate.stand()
        pause = candidate.pause(now, self.chance.random())
        self.later(process, pause, lambda: self.begin(process))

    def maybe_trouble(self, process: Process) -> None:
        """Crashes, stops, resignations, deletions."""
        if self.chance.random() >= self.trouble / 4:
            return
        crashes = ["delete", "delete"] if self.deletes else ["crash", "crash, same name"]  # a newcomer has not seen it
        what = self.chance.choice([*crashes, "stop", "resign"])
        if what == "stop":
            process.paused_until = self.time + self.chance.uniform(0, 40)
        elif what == "resign" and process.candidate.term is not None:
            process.candidate.resign()
        elif what.startswith("crash"):
            process.is_alive = False
            old = process.candidate.rules.identity
            self.processes.remove(process)
            self.processes.append(self.new_process(old if "same" in what else f"{old}'"))
        elif what == "delete" and self.all_know() and not self.deleted and self.time > 60:
            self.deleted += 1
            self.stored = Stored(None, self.stored.version)

    def all_know(self) -> bool:
        """Has every process seen the Lease once? Who has not may create it at once.

        Nor is it deleted twice, or before the first creations have come, however late: a creation is not guarded.
        """
        return all(process.candidate._seen is not None for process in self.processes)

    def holder(self) -> str:
        """Who stands in the Lease."""
        return "" if self.stored.lease is None else record_of(self.stored.lease).holder
