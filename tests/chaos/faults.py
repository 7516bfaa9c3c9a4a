"""What strikes: each fault is one function of the server, chosen by chance."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

from kwsync.testing import ApiServer, Fault

LISTS = "/api/v1/*configmaps"


def _watch_faults(chance: random.Random) -> list[Fault]:
    after = chance.randrange(5)
    return [
        Fault.drop(after),
        Fault.reset(after),
        Fault.reset(None),
        Fault.cut_line(after),
        Fault.cut_chunk(after),
        Fault.end(after),
        Fault.duplicate(after),
        Fault.gzip(),
        Fault.stall(0.05, after),
        Fault.stall(None, after),
        Fault.late_headers(0.05),
        Fault.answer(410),
        Fault.answer(429, retry_after=0),
        Fault.answer(429, text=True),
        Fault.answer(500),
        Fault.answer(503, text=True),
        Fault.answer(403),
        Fault.answer(401),
        Fault.answer(404),
        Fault.error_event(410, after=after),
        Fault.error_event(410, reason="Gone", after=after),
        Fault.error_event(429, after=after),
        Fault.error_event(500, after=after),
    ]


def _list_faults() -> list[Fault]:
    return [
        Fault.drop(0),
        Fault.reset(0),
        Fault.cut_line(0),
        Fault.cut_chunk(0),
        Fault.gzip(),
        Fault.late_headers(0.05),
        Fault.answer(410),
        Fault.answer(429, retry_after=0),
        Fault.answer(500),
        Fault.answer(503, text=True),
    ]


class Faults:
    """Strikes the server, and counts."""

    def __init__(self, server: ApiServer, seed: int) -> None:
        self.struck: Counter[str] = Counter()
        self._server = server
        self._chance = random.Random(f"{seed}-faults")
        self._ways: list[tuple[Callable[[], None], int]] = [
            (self._spoil_a_watch, 60),
            (self._spoil_a_list, 15),
            (self._end_watches, 6),
            (self._drop_connections, 6),
            (self._forget_history, 5),
            (self._compact, 5),
            (self._restart, 3),
        ]

    def strike(self) -> None:
        """One fault."""
        ways, weights = zip(*self._ways, strict=True)
        self._chance.choices(ways, weights)[0]()

    def clear(self) -> None:
        """Let everything succeed again."""
        self._server.clear_faults()

    def go_back(self, count: int) -> None:
        """Turn the server back by so many versions, as the restore of a backup does."""
        self._count("go back")
        self._server.go_back(str(int(self._server.resource_version) - count))

    def _count(self, name: str) -> None:
        self.struck[name] += 1

    def _spoil_a_watch(self) -> None:
        fault = self._chance.choice(_watch_faults(self._chance))
        self._count(f"watch: {fault.what}")
        self._server.fail_next(fault, path=LISTS, verb="watch")
        self._server.end_watches()  # so that there is a next one

    def _spoil_a_list(self) -> None:
        fault = self._chance.choice(_list_faults())
        self._count(f"list: {fault.what}")
        self._server.fail_next(fault, path=LISTS, verb="list")
        self._server.fail_next(Fault.error_event(410), path=LISTS, verb="watch")
        self._server.end_watches()

    def _end_watches(self) -> None:
        self._count("watches end")
        self._server.end_watches()

    def _drop_connections(self) -> None:
        self._count("connections dropped")
        self._server.drop_connections()

    def _forget_history(self) -> None:
        self._count("history forgotten")
        self._server.forget_history()
        self._server.end_watches()

    def _compact(self) -> None:
        self._count("compaction")
        self._server.compact(cached=True)
        self._server.end_watches()

    def _restart(self) -> None:
        self._count("restart")
        self._server.restart()
