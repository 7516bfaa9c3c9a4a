"""Standard output: whole lines, flushed, and a quiet end when nobody reads them."""

from __future__ import annotations

import codecs
import io
import math
import os
import select
import stat
import sys
from collections.abc import Iterable
from typing import TextIO

from kwsync._clock import monotonic
from kwsync.cli._errors import CommandError, ExitCode, ReaderGone

PIECE = 4096
"""Bytes that a pipe takes whole when it says that it takes any (PIPE_BUF of Linux), so that no write waits."""

_LOOK_SECONDS = 3600.0
"""A wait that every system can be told."""

GRACE_SECONDS = 1.0
"""So long behind the end of the command a reader may take for what is still to be written."""


class Output:
    """Lines for standard output. `CommandError` where there is none."""

    def __init__(self, stream: TextIO | None = None) -> None:
        found = sys.stdout if stream is None else stream
        if found is None:  # what Python makes of `>&-`
            raise CommandError("standard output is closed: there is nowhere to write to", ExitCode.FAILED)
        self.stream: TextIO = found
        if isinstance(self.stream, io.TextIOWrapper):
            self.stream.reconfigure(errors="backslashreplace")  # LANG=C knows no umlauts
        self._reader = _Reader.of(self.stream)
        self._encoder = codecs.getincrementalencoder(getattr(self.stream, "encoding", None) or "utf-8")(
            getattr(self.stream, "errors", None) or "strict"
        )
        self._end = math.inf

    @property
    def takes_unicode(self) -> bool:
        """Whether programs may be given any character: in other encodings than UTF-8 they would get question marks."""
        encoding = getattr(self.stream, "encoding", None)
        return not encoding or codecs.lookup(encoding).name == "utf-8"

    def limit(self, seconds: float | None) -> None:
        """After so many seconds nobody waits any more for a reader who does not read."""
        self._end = math.inf if seconds is None else monotonic() + seconds + GRACE_SECONDS

    def write(self, lines: Iterable[str]) -> None:
        """Write the lines in one piece, at once. `ReaderGone` where nobody reads, `CommandError` where it fails."""
        text = "".join(f"{line}\n" for line in lines)
        if not text:
            return
        try:
            self._put(text)
        except BrokenPipeError:
            silence(self.stream)
            raise ReaderGone from None
        except OSError as error:
            silence(self.stream)
            reason = error.strerror or str(error)
            raise CommandError(f"cannot write to standard output: {reason}", ExitCode.FAILED) from None

    def _put(self, text: str) -> None:
        if self._reader is None:
            self.stream.write(text)
            self.stream.flush()
            return
        rest = memoryview(self._encoder.encode(text))
        while rest:
            self._wait_for(self._reader)
            rest = rest[os.write(self._reader.descriptor, rest[:PIECE]) :]

    def _wait_for(self, reader: _Reader) -> None:
        while not reader.takes(min(self._end - monotonic(), _LOOK_SECONDS)):
            if monotonic() >= self._end:
                sentence = "the time was over while nobody read standard output: its end is missing"
                raise CommandError(sentence, ExitCode.FAILED)

    def check_reader(self) -> None:
        """`ReaderGone` as soon as the other end of a pipe is closed, also while there is nothing to write."""
        if self._reader is not None and self._reader.is_gone():
            silence(self.stream)
            raise ReaderGone


class _Reader:
    """The other end of a pipe or a socket."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, 0)  # POLLERR and POLLHUP come unasked
        self._writing = select.poll()
        self._writing.register(descriptor, select.POLLOUT)

    @classmethod
    def of(cls, stream: TextIO) -> _Reader | None:
        """None for files, terminals and systems that cannot tell."""
        try:
            descriptor = stream.fileno()
            mode = os.fstat(descriptor).st_mode
        except (OSError, ValueError):
            return None
        can_tell = hasattr(select, "poll") and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
        return cls(descriptor) if can_tell else None

    def takes(self, seconds: float) -> bool:
        """Wait until a piece can be written, at most so long. (Where nobody can read any more, writing tells.)"""
        return bool(self._writing.poll(1000 * max(0.0, seconds)))

    def is_gone(self) -> bool:
        """Whether nobody can read any more."""
        return any(events & (select.POLLERR | select.POLLHUP) for _, events in self._poll.poll(0))


def silence(stream: TextIO | None) -> None:
    """What is still in the buffer goes nowhere, so that Python does not complain of it at its end."""
    try:
        number = stream.fileno() if stream is not None else -1
    except (OSError, ValueError):
        return
    if number < 0:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
