"""Running a program for its standard output: with a limit in time and size, whatever it and its children do."""

from __future__ import annotations

import atexit
import os
import selectors
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO

from kwsync import _clock
from kwsync.credentials._protocol import CredentialError

OUTPUT_LIMIT = 1 << 20
"""Bytes; a credential has a few thousand."""

LOOK_SECONDS = 0.05
"""How often to look whether the program has ended that has left its output open to a child of its own."""

_PIECE_BYTES = 1 << 16
_DEATH_SECONDS = 5.0

Ended = tuple[int, bytes]
"""The exit code (below zero: the signal that ended it) and what was written to standard output."""

_running: dict[tuple[int, int], _Running] = {}
"""By this process and the program's, since a forked child has a copy of this, and must end nothing."""


class _Running:
    """A program, and how to end it."""

    def __init__(self, process: subprocess.Popen[bytes], with_children: bool) -> None:
        self.process = process
        self._with_children = with_children

    @property
    def output(self) -> IO[bytes]:
        assert self.process.stdout is not None, "it was started with a pipe"
        return self.process.stdout

    def kill(self) -> None:
        """End it and, where they are apart from us, all that it has started."""
        with suppress(OSError):
            self.process.kill()  # does nothing where the end was seen already, and its number may be another's
        if self._with_children and self.process.returncode is None:
            with suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)


def run_program(
    arguments: Sequence[str], environment: Mapping[str, str], *, interactive: bool, timeout: float | None
) -> Ended:
    """Run it to its end. It has our standard error, and our standard input where it is *interactive*.

    One that is not gets a session of its own: it cannot take the terminal, and its children end with it after
    *timeout* seconds. An interactive one stays in ours, so that Ctrl-C reaches it. Children that outlive it (an agent
    that keeps a login) are let live. OSError and ValueError where it cannot be started, CredentialError for too much
    output or too much time.
    """
    deadline = None if timeout is None else _clock.monotonic() + timeout
    with _started(arguments, environment, interactive) as program:
        output = (_read_slowly if os.name == "nt" else _read)(program, deadline)
        return _wait(program.process, deadline), output


@contextmanager
def _started(arguments: Sequence[str], environment: Mapping[str, str], interactive: bool) -> Iterator[_Running]:
    apart = not interactive and os.name != "nt"
    process = subprocess.Popen(  # noqa: S603 - whoever wrote the kubeconfig has chosen it
        arguments,
        env=environment,
        stdin=None if interactive else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        bufsize=0,
        start_new_session=apart,
    )
    program = _Running(process, apart)
    key = (os.getpid(), process.pid)
    _running[key] = program
    try:
        yield program
    finally:
        if process.returncode is None:
            program.kill()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_DEATH_SECONDS)
        program.output.close()
        del _running[key]


def _read(program: _Running, deadline: float | None) -> bytes:
    """All that it writes until it ends, or closes its output: a child of its own may hold that for ever."""
    output, descriptor = bytearray(), program.output.fileno()
    os.set_blocking(descriptor, False)
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            has_ended = program.process.poll() is not None  # looked at first: what it wrote is there by now
            remaining = _remaining(deadline)
            if selector.select(0 if has_ended else min(LOOK_SECONDS, remaining)):
                piece = os.read(descriptor, _PIECE_BYTES)
                output += piece
                _check_size(output)
                if not piece:
                    return bytes(output)
            elif has_ended:
                return bytes(output)


def _read_slowly(program: _Running, deadline: float | None) -> bytes:
    """The same where pipes cannot be looked at: the limit of size counts at the end only."""
    try:
        output, _ = program.process.communicate(timeout=None if deadline is None else _remaining(deadline))
    except subprocess.TimeoutExpired:
        raise _too_late() from None
    _check_size(output)
    return output


def _wait(process: subprocess.Popen[bytes], deadline: float | None) -> int:
    try:
        return process.wait(None if deadline is None else _remaining(deadline))
    except subprocess.TimeoutExpired:
        raise _too_late() from None


def _remaining(deadline: float | None) -> float:
    remaining = LOOK_SECONDS if deadline is None else deadline - _clock.monotonic()
    if remaining <= 0:
        raise _too_late()
    return remaining


def _too_late() -> CredentialError:
    return CredentialError("gave no credential in time")


def _check_size(output: bytes | bytearray) -> None:
    if len(output) > OUTPUT_LIMIT:
        raise CredentialError("wrote more than 1 MiB to standard output")


@atexit.register
def _end_all() -> None:
    """What runs in a session of its own does not hear of Ctrl-C, and nobody is left to end it in time."""
    for (owner, _), program in list(_running.items()):
        if owner == os.getpid():
            program.kill()
