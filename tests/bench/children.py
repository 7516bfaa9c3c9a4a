"""Python processes of ours: each serves its standard input, so that it ends with the one that started it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS_TO_END = 10.0

DIRECT = {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
"""For the environment: whatever proxy the machine has, loopback is reached without it."""


class Child:
    """A process that answers each line of its input with one line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def say(self, line: str) -> None:
        """Give it a line."""
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        """Wait for its next line; RuntimeError when it has died."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended early; what it wrote stands above")
        return line.rstrip("\n")

    def ask(self, line: str = "") -> str:
        """Both."""
        self.say(line)
        return self.hear()


@contextmanager
def running(module: str, *arguments: str) -> Iterator[Child]:
    """``python -m tests.bench.MODULE``, ended with the block."""
    command = [sys.executable, "-m", f"tests.bench.{module}", *arguments]
    environment = {**os.environ, **DIRECT}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode, too
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    ) as process:
        try:
            yield Child(process)
            assert process.stdin
            process.stdin.close()
            process.wait(SECONDS_TO_END)
        finally:
            process.kill()
