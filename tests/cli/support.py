"""Running the command line: in a process of its own, under a terminal, or in this one."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwsync.cli import main
from kwsync.testing import ApiServer

ROOT = Path(__file__).parents[2]
LIMIT = 20.0  # seconds: a command that takes longer to end hangs


class Environment:
    """The environment variables of a user: no kubeconfig, no colours wanted or refused, UTC."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
        self._monkeypatch = monkeypatch
        for name in ("KUBECONFIG", "NO_COLOR", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "HTTP_PROXY"):
            monkeypatch.delenv(name, raising=False)
        self.set("HOME", str(home))
        self.set("TZ", "UTC")
        self.set("TERM", "xterm")
        self.set("PYTHONPATH", str(ROOT))
        self.set("PYTHONWARNINGS", "error")

    def set(self, name: str, value: str) -> None:
        self._monkeypatch.setenv(name, value)

    def use(self, path: Path) -> Environment:
        self.set("KUBECONFIG", str(path))
        return self


class Command:
    """A command in a process of its own, whose lines are read one by one."""

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self.process = process
        self.lines: list[str] = []
        self._errors = errors

    def until(self, text: str, times: int = 1) -> None:
        """Read on to a line that holds *text*. The test's own limit bounds the wait."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            times -= text in line
            if not times:
                return
        pytest.fail(f"no line with {text!r}; it wrote {self.lines} and {self.errors}")

    def end(self, number: signal.Signals | None = signal.SIGINT) -> int:
        """Its exit code, after a signal."""
        if number is not None:
            self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=LIMIT)
        self.lines += rest.splitlines()
        return self.process.returncode

    @property
    def errors(self) -> str:
        """What it has written to standard error."""
        return self._errors.read_text()


@contextlib.contextmanager
def started(tmp_path: Path, *arguments: str) -> Iterator[Command]:
    """``python -m kwsync`` with its output in a pipe."""
    errors = tmp_path / "stderr"
    with (
        errors.open("w") as file,
        subprocess.Popen(
            [sys.executable, "-m", "kwsync", *arguments], stdout=subprocess.PIPE, stderr=file, text=True
        ) as process,
    ):
        try:
            yield Command(process, errors)
        finally:
            process.kill()


class Terminal:
    """A command whose output, and errors, go to a terminal."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self.text = ""
        self._descriptor = descriptor

    def until(self, text: str, times: int = 1) -> None:
        """Read on until *text* has come so many times. The test's own limit bounds the wait."""
        while self.text.count(text) < times:
            try:
                piece = os.read(self._descriptor, 65536)
            except OSError:  # Linux says so when the other side is closed
                piece = b""
            if not piece:
                pytest.fail(f"no {text!r} in {self.text!r}")
            self.text += piece.decode()

    @property
    def lines(self) -> list[str]:
        return self.text.replace("\r\n", "\n").splitlines()


@contextlib.contextmanager
def in_terminal(*arguments: str) -> Iterator[Terminal]:
    """``python -m kwsync`` as a person runs it."""
    ours, theirs = os.openpty()
    try:
        with subprocess.Popen(
            [sys.executable, "-m", "kwsync", *arguments], stdin=theirs, stdout=theirs, stderr=theirs
        ) as process:
            try:
                yield Terminal(process, ours)
            finally:
                process.kill()
    finally:
        os.close(ours)
        os.close(theirs)


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code and the one sentence of a command that fails at once."""
    code = main(arguments)
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith("kwsync: ")
    assert written.err.count("\n") == 1, written.err
    return code, written.err.removeprefix("kwsync: ").rstrip("\n")


class _Reader(io.StringIO):
    """A standard output whose reader presses Ctrl-C as soon as so many lines have come."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._lines = lines

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.getvalue().count("\n") >= self._lines:
            raise KeyboardInterrupt
        return written


def first_lines(monkeypatch: pytest.MonkeyPatch, count: int, *arguments: str) -> list[str]:
    """What a command writes in this process, with the write that completes *count* lines as its last."""
    reader = _Reader(count)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", reader)
        assert main([*arguments, "--timeout", str(LIMIT if count else 1)]) == (130 if count else 0)
    return reader.getvalue().splitlines()


def write_config(path: Path, server: str, *, user: Any = None, namespace: str = "", **cluster: Any) -> Path:
    """A kubeconfig for a server, as nobody unless a user is given."""
    entries = {
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": namespace}}],
    }
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "x", **entries}))
    return path


def pod(name: str, namespace: str = "default", **metadata: Any) -> dict[str, Any]:
    """A Pod that an API server takes."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"containers": [{"name": "main", "image": "none.invalid/none"}]},
    }


def deployment(name: str) -> dict[str, Any]:
    """A Deployment."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def config_map(name: str, namespace: str = "default", **data: str) -> dict[str, Any]:
    """A ConfigMap."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def event(name: str, seen: str, *, count: int = 1, since: str = "", **more: Any) -> dict[str, Any]:
    """An Event of the old kind."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default"},
        "reason": "Started",
        "message": "Started container main",
        "type": "Normal",
        "count": count,
        "firstTimestamp": since or seen,
        "lastTimestamp": seen,
        **more,
    }


def create_all(api: ApiServer, *objects: dict[str, Any]) -> None:
    for each in objects:
        api.create(each)
