"""One server program as a child process: started, waited for, ended by its own process id."""

import http.client
import os
import random
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

START_LIMIT = 45.0  # seconds; three are usual, and a test has no more than sixty
STOP_LIMIT = 15.0
POLL_INTERVAL = 0.05


class StartError(Exception):
    """A server ended or stayed silent instead of getting ready; the message holds the end of its log."""


class ServerProcess:
    """A program with a log file; it can be started again after its end."""

    def __init__(self, command: Sequence[str], log_file: Path) -> None:
        self.command = command
        self.log_file = log_file
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id while the program runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        """Start the program in the caller's process group, so that what ends the tests ends it too."""
        # etcd takes options from the environment, and those of the user are not meant for it.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self.command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def wait_until(self, ready: Callable[[], bool], what: str, limit: float = START_LIMIT) -> None:
        """Poll until *ready* says so; raise when the program ends before that or the time is up."""
        deadline = time.monotonic() + limit
        while not _answers_yes(ready):
            if self.pid is None:
                raise StartError(f"{self._name} ended before {what}; {self.log_tail()}")
            if time.monotonic() > deadline:
                raise StartError(f"{self._name} gave no {what} in {limit:.0f} s; {self.log_tail()}")
            time.sleep(POLL_INTERVAL)

    def end(self, *, kill: bool = False) -> None:
        """Ask the program to end (or kill it), wait, and kill it when the wait was in vain."""
        process, self._process = self._process, None
        if process is None:
            return
        if kill:
            process.kill()
        else:
            process.terminate()
        try:
            process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_LIMIT)

    def log_tail(self, lines: int = 15) -> str:
        """Return the last lines of the log, for the end of an error message."""
        return "\n".join(["its log ends:", *self.log_file.read_text(errors="replace").splitlines()[-lines:]])

    @property
    def _name(self) -> str:
        return Path(self.command[0]).name


def free_port() -> int:
    """Choose a free loopback port below the range that the system gives to outgoing connections.

    In that range a client that retries against a stopped server can be given the server's own port,
    connect to itself and so keep the server from starting again.
    """
    for _ in range(100):
        port = random.randrange(20000, 32000)
        with socket.socket() as candidate:
            try:
                candidate.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise StartError("no free port on the loopback interface")


def _answers_yes(ready: Callable[[], bool]) -> bool:
    try:
        return ready()
    except (OSError, http.client.HTTPException):
        return False
