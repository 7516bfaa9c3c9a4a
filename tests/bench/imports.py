"""What ``import kwsync`` costs above ``import urllib3``: seconds and MiB, each the least of some fresh processes."""

from __future__ import annotations

from collections.abc import Iterator

from .children import running
from .report import Figure, Settings, at_most

SECTION = "imports"


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """The difference of the best processes, and which of the modules that nobody asked for were imported."""
    rounds = [{name: _import(name) for name in ("urllib3", "kwsync")} for _ in range(settings.pick(10, 2))]
    seconds = {name: min(each[name][0] for each in rounds) for name in rounds[0]}
    memory = {name: min(each[name][1] for each in rounds) for name in rounds[0]}
    yield Figure(SECTION, "time above urllib3", seconds["kwsync"] - seconds["urllib3"], "s", at_most(0.08), seconds)
    if memory["kwsync"]:
        yield Figure(SECTION, "memory above urllib3", memory["kwsync"] - memory["urllib3"], "MiB", at_most(8), memory)
    else:
        yield Figure(SECTION, "memory above urllib3", None, note="skipped: this system has no /proc")
    loaded = rounds[0]["kwsync"][2]
    yield Figure(SECTION, "modules not asked for", len(loaded), "", at_most(0), note=" ".join(loaded))


def _import(package: str) -> tuple[float, float, list[str]]:
    with running("imported", package) as child:
        seconds, memory, *loaded = child.hear().split()
    return float(seconds), float(memory), loaded
