"""How long an event takes: microseconds, and ratios between contestants that read the same feed in turns.

The figures are by the clock. The processor's time beside them is what remains true, more or less, on a busy machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

from .children import Child, running
from .contestants import CONTESTANTS
from .feed import event_lines
from .machine import version_of
from .report import Figure, Settings, Target, at_least, at_most

SECTION = "throughput"


class Time(NamedTuple):
    """Microseconds per event in one round."""

    clock: float
    processor: float


Rounds = dict[str, list[Time]]
"""The rounds of each contestant."""

RATIOS: dict[tuple[str, str], Target | None] = {
    ("kwsync, orjson", "floor, orjson"): at_most(1.15),
    ("kwsync, json", "floor, json"): at_most(1.15),
    ("kwsync, msgspec", "floor, msgspec"): None,
    ("kubernetes, models", "kwsync, orjson"): at_least(10),
    ("kubernetes, dicts", "kwsync, orjson"): at_least(1.3),
    ("lightkube", "kwsync, orjson"): None,
}


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """The time of an event for each contestant, and what one is as a multiple of another."""
    counts = {name: _count(name, settings) for name in CONTESTANTS}
    installed = [name for name in CONTESTANTS if not _missing(name)]
    rounds = _race(url, {name: counts[name] for name in installed}, settings.pick(5, 1))
    for name in CONTESTANTS:
        if name in rounds:
            yield _time(name, rounds[name], counts[name])
        else:
            yield Figure(SECTION, name, None, note=f"skipped: {', '.join(_missing(name))} not installed")
    for (one, other), target in RATIOS.items():
        if one in rounds and other in rounds:
            yield _ratio(one, other, rounds, target)
    yield Figure(SECTION, "mean size of an event", _mean_size(counts["floor, json"]), "bytes")


def _count(name: str, settings: Settings) -> int:
    return settings.pick(2_000, 50) if CONTESTANTS[name].slow else settings.pick(20_000, 500)


def _missing(name: str) -> list[str]:
    return [package for package in CONTESTANTS[name].needs if version_of(package) is None]


def _race(url: str, counts: dict[str, int], rounds: int) -> Rounds:
    """One after another, again and again, so that what disturbs the machine disturbs all; the first round warms up."""
    with ExitStack() as stack:
        runners: dict[str, Child] = {
            name: stack.enter_context(running("contestants", name, f"{url}/events/{count}", str(count)))
            for name, count in counts.items()
        }
        times = [{name: _ask(runner) for name, runner in runners.items()} for _ in range(rounds + 1)]
    return {name: [time[name] for time in times[1:]] for name in counts}


def _ask(runner: Child) -> Time:
    clock, processor = map(float, runner.ask().split())
    return Time(clock, processor)


def _time(name: str, times: list[Time], count: int) -> Figure:
    best, worst = min(times).clock, max(times).clock
    details = {"worst round": worst, "processor": _processor(times), "events": count}
    return Figure(SECTION, name, best, "us/event", details=details)


def _ratio(one: str, other: str, rounds: Rounds, target: Target | None) -> Figure:
    """Of the best rounds; the spread is that of the rounds run next to each other."""
    pairs = [first.clock / second.clock for first, second in zip(rounds[one], rounds[other], strict=True)]
    value = min(rounds[one]).clock / min(rounds[other]).clock
    processor = _processor(rounds[one]) / _processor(rounds[other])
    details = {"least": min(pairs), "most": max(pairs), "processor": processor}
    return Figure(SECTION, f"{one} : {other}", value, "x", target, details)


def _processor(times: list[Time]) -> float:
    return min(time.processor for time in times)


def _mean_size(count: int) -> float:
    sizes = [len(line) for line in event_lines(count)]
    return sum(sizes) / len(sizes)
