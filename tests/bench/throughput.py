"""How long an event takes: microseconds, and ratios between contestants that read the same feed in turns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from .children import Child, running
from .contestants import CONTESTANTS
from .feed import event_lines
from .machine import version_of
from .report import Figure, Settings, Target, at_least, at_most

SECTION = "throughput"

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
            details = {"worst round": max(rounds[name]), "events": counts[name]}
            yield Figure(SECTION, name, min(rounds[name]), "us/event", details=details)
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


def _race(url: str, counts: dict[str, int], rounds: int) -> dict[str, list[float]]:
    """One after another, again and again, so that what disturbs the machine disturbs all; the first round warms up."""
    with ExitStack() as stack:
        runners: dict[str, Child] = {
            name: stack.enter_context(running("contestants", name, f"{url}/events/{count}", str(count)))
            for name, count in counts.items()
        }
        times = [{name: float(runner.ask()) for name, runner in runners.items()} for _ in range(rounds + 1)]
    return {name: [time[name] for time in times[1:]] for name in counts}


def _ratio(one: str, other: str, rounds: dict[str, list[float]], target: Target | None) -> Figure:
    """Of the best rounds; the spread is that of the rounds run next to each other."""
    pairs = [first / second for first, second in zip(rounds[one], rounds[other], strict=True)]
    value = min(rounds[one]) / min(rounds[other])
    return Figure(SECTION, f"{one} : {other}", value, "x", target, {"least": min(pairs), "most": max(pairs)})


def _mean_size(count: int) -> float:
    sizes = [len(line) for line in event_lines(count)]
    return sum(sizes) / len(sizes)
