"""Standard output in every state: closed, full, in other encodings, and with nobody at its other end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kwsync.cli._errors import CommandError, ReaderGone
from kwsync.cli._output import Output
from kwsync.testing import ApiServer
from tests.cli.support import LIMIT, Environment, config_map, create_all, event, pod, started

pytestmark = pytest.mark.usefixtures("environment")

COMMANDS = [["watch", "pods", "-o", form] for form in ("table", "json", "yaml")] + [["events"]]

TEXTS = ("ü 日本 😀", "ü 😀 \x1b \u202e", "plain")
"""What YAML can leave as it is, what it must escape, and what needs nothing."""


def run(stdout: Any, *arguments: str, redirection: str = "") -> subprocess.CompletedProcess[str]:
    """The command with that standard output, and what it writes to standard error."""
    command = ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "kwsync", *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("redirection", "sentence"),
    [
        (">&-", "kwsync: standard output is closed: there is nowhere to write to\n"),
        ("> /dev/full", "kwsync: cannot write to standard output: No space left on device\n"),
        ("1< /dev/null", "kwsync: cannot write to standard output: Bad file descriptor\n"),
    ],
)
def test_nowhere_to_write(api: ApiServer, arguments: list[str], redirection: str, sentence: str) -> None:
    """A closed, full or wrong standard output: one sentence, exit code 1, and not a word more at the end."""
    if "/dev/full" in redirection and not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")
    create_all(api, pod("a"), event("a", "2026-01-01T00:00:00Z"))
    done = run(subprocess.DEVNULL, *arguments, redirection=redirection)
    assert (done.returncode, done.stderr) == (1, sentence)


def json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1", "shift_jis"])
@pytest.mark.parametrize(("form", "load"), [("json", json_lines), ("yaml", yaml.safe_load_all)])
def test_programs_read_the_same(
    api: ApiServer, environment: Environment, tmp_path: Path, encoding: str, form: str, load: Any
) -> None:
    """In every encoding of standard output, what programs read is UTF-8 and what the server has."""
    environment.set("PYTHONIOENCODING", encoding)
    create_all(api, *(config_map(f"c{number}", text=text) for number, text in enumerate(TEXTS)))
    path = tmp_path / "out"
    with path.open("wb") as file:
        done = run(file, "watch", "cm", "-o", form, "--timeout", "1")
    assert (done.returncode, done.stderr) == (0, "")
    found = load(path.read_bytes().decode("utf-8"))
    assert [document["object"]["data"]["text"] for document in found] == [*TEXTS]


def test_events_for_programs_in_ascii(api: ApiServer, environment: Environment, tmp_path: Path) -> None:
    """Events are written for programs in the same way."""
    environment.set("PYTHONIOENCODING", "ascii")
    create_all(api, event("a", "2026-01-01T00:00:00Z", message=TEXTS[0]))
    path = tmp_path / "out"
    with path.open("wb") as file:
        assert run(file, "events", "-o", "json", "--timeout", "1").returncode == 0
    assert json.loads(path.read_bytes())["object"]["message"] == TEXTS[0]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_who_leaves(api: ApiServer, tmp_path: Path, arguments: list[str]) -> None:
    """When the reader has gone, it ends with 141 and without a word, though nothing happens any more."""
    create_all(api, pod("a"), event("a", "2026-01-01T00:00:00Z"))
    with started(tmp_path, *arguments) as command:
        assert command.process.stdout is not None
        assert command.process.stdout.readline()
        command.process.stdout.close()
        assert command.process.wait(LIMIT) == 141
    assert command.errors == ""


def test_a_reader_who_leaves_before_anything_is_there(tmp_path: Path) -> None:
    """The same while there is nothing yet."""
    with started(tmp_path, "watch", "pods") as command:
        assert command.process.stdout is not None
        command.process.stdout.close()
        assert command.process.wait(LIMIT) == 141


def test_a_reader_who_stays(api: ApiServer, tmp_path: Path) -> None:
    """A reader who is slow has not gone."""
    create_all(api, pod("a"))
    with started(tmp_path, "watch", "pods", "-o", "name", "--timeout", "1.5") as command:
        assert command.process.wait(LIMIT) == 0
        assert command.end(None) == 0
    assert command.lines == ["pod/a"]


class TestReader:
    """Whose other end is looked at."""

    def test_pipe(self) -> None:
        """A pipe tells when it is closed, and is not disturbed before."""
        reader, writer = os.pipe()
        with os.fdopen(writer, "w") as stream:
            output = Output(stream)
            output.check_reader()
            os.close(reader)
            with pytest.raises(ReaderGone):
                output.check_reader()

    def test_socket(self) -> None:
        """So does a socket, which some programs start others with."""
        ours, theirs = socket.socketpair()
        with theirs, theirs.makefile("w") as stream:
            output = Output(stream)
            output.check_reader()
            ours.close()
            with pytest.raises(ReaderGone):
                output.check_reader()

    def test_file(self, tmp_path: Path) -> None:
        """A file has no reader to lose."""
        with (tmp_path / "out").open("w") as stream:
            Output(stream).check_reader()

    def test_terminal(self) -> None:
        """A terminal that is closed tells by a signal of its own."""
        ours, theirs = os.openpty()
        with os.fdopen(theirs, "w") as stream:
            output = Output(stream)
            os.close(ours)
            output.check_reader()


def test_no_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has None for a standard output that is closed."""
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(CommandError, match="closed"):
        Output()


@pytest.mark.parametrize(
    ("encoding", "takes"), [("utf-8", True), ("UTF8", True), ("ascii", False), ("latin-1", False), ("utf-16", False)]
)
def test_takes_unicode(tmp_path: Path, encoding: str, takes: bool) -> None:
    """Programs get any character in UTF-8 alone, under whatever name."""
    with (tmp_path / "out").open("w", encoding=encoding) as stream:
        assert Output(stream).takes_unicode is takes


def test_interrupt_while_nobody_reads(api: ApiServer, tmp_path: Path) -> None:
    """Ctrl-C ends it at once also between two looks at the reader."""
    create_all(api, pod("a"))
    with started(tmp_path, "watch", "pods", "-o", "name") as command:
        command.until("pod/a")
        assert command.end(signal.SIGINT) == 130
