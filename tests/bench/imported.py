"""Imports one package and prints what that took: seconds, MiB, and the unwanted modules it brought.

It imports next to nothing itself, for that would not be counted any more.
"""

import sys
import time

UNWANTED = ("yaml", "orjson", "msgspec", "http.server", "kwsync.testing", "kwsync.cli")


def resident_mib() -> float:
    """Memory in use; 0 where the system does not tell. (ru_maxrss begins with what the parent process had.)"""
    try:
        with open("/proc/self/status", encoding="utf-8") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:"))
    except OSError:
        return 0.0


def main(package: str) -> None:
    """Import and print."""
    memory = resident_mib()
    start = time.perf_counter()
    __import__(package)
    seconds = time.perf_counter() - start
    print(seconds, resident_mib() - memory, *(name for name in UNWANTED if name in sys.modules))


if __name__ == "__main__":
    main(sys.argv[1])
