"""What ``import kwsync`` costs above ``import urllib3``: seconds and memory, each the least of some fresh processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from .children import running
from .report import Figure, Settings, at_most

SECTION = "imports"
UNWANTED = ("yaml", "orjson", "msgspec", "http.server", "kwsync.testing", "kwsync.cli")
PAGE_KIB = 4


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """The difference of the best processes, and which of the modules that nobody asked for were imported."""
    rounds = settings.pick(10, 2)
    bare = [_import("urllib3") for _ in range(rounds)]
    ours = [_import("kwsync") for _ in range(rounds)]
    seconds = [min(each[0] for each in group) for group in (bare, ours)]
    memory = [min(each[1] for each in group) for group in (bare, ours)]
    details = {"urllib3": seconds[0], "kwsync": seconds[1]}
    yield Figure(SECTION, "time above urllib3", seconds[1] - seconds[0], "s", at_most(0.08), details)
    if memory[1]:
        details = {"urllib3": memory[0], "kwsync": memory[1]}
        yield Figure(SECTION, "memory above urllib3", memory[1] - memory[0], "MiB", at_most(8), details)
    loaded = ours[0][2]
    yield Figure(SECTION, "unwanted modules", len(loaded), "", at_most(0), note=" ".join(loaded))


def _import(package: str) -> tuple[float, float, list[str]]:
    with running("imports", package) as child:
        seconds, memory, *loaded = child.hear().split()
    return float(seconds), float(memory), loaded


def _resident_mib() -> float:
    """0 where the system does not tell. (ru_maxrss is no use: it begins with what the parent process had.)"""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:"))
    except OSError:
        return 0.0


def main(package: str) -> None:
    """Import one package; print seconds, MiB and the unwanted modules."""
    import time

    start = time.perf_counter()
    __import__(package)
    seconds = time.perf_counter() - start
    print(seconds, _resident_mib(), *(name for name in UNWANTED if name in sys.modules))


if __name__ == "__main__":
    main(sys.argv[1])
