"""Ctrl-C while the command line's modules are loaded ends it as later: without a word, and with exit code 130.

This is the first import of the package, because loading the rest takes most of the time until the command line can
catch anything. Therefore it imports as little as it can. Where kwsync is imported as a library, nothing happens here.
"""

from __future__ import annotations

import os
import signal
import sys

INTERRUPTED = 130
"""What shells make of a program that was ended by Ctrl-C."""


def is_command(arguments: list[str], original: list[str]) -> bool:
    """Whether these are the process's arguments when it runs as the script ``kwsync`` or as ``python -m kwsync``.

    While Python looks for the module of ``-m``, which imports its package, the first argument is ``-m``.
    """
    if not arguments:
        return False
    if arguments[0] == "-m":
        given = original[: len(original) - len(arguments) + 1]
        return given[-1:] == ["-mkwsync"] or given[-2:] == ["-m", "kwsync"]
    return os.path.basename(arguments[0]) in ("kwsync", "kwsync.exe")


def quiet() -> None:
    """From now on Ctrl-C ends the process at once, unless somebody has other plans for it (as ``nohup`` has)."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def loud() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt again, where `quiet` has changed that."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> None:
    os._exit(INTERRUPTED)


if is_command(getattr(sys, "argv", []), getattr(sys, "orig_argv", [])):
    quiet()
