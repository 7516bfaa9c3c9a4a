"""Standard output: whole lines, flushed, and a quiet end when nobody reads them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from typing import TextIO

from kwsync.cli._errors import ReaderGone


class Output:
    """Lines for standard output."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stdout if stream is None else stream
        if isinstance(self.stream, io.TextIOWrapper):
            self.stream.reconfigure(errors="backslashreplace")  # LANG=C knows no umlauts

    def write(self, lines: Iterable[str]) -> None:
        """Write the lines in one piece, at once. `ReaderGone` where nobody reads."""
        text = "".join(f"{line}\n" for line in lines)
        if not text:
            return
        try:
            self.stream.write(text)
            self.stream.flush()
        except BrokenPipeError:
            silence(self.stream)
            raise ReaderGone from None


def silence(stream: TextIO) -> None:
    """What is still in the buffer goes nowhere, so that Python does not complain of it at its end."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
