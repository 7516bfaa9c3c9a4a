"""The examples, run as a user runs them, against a real API server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.controlplane.server import ControlPlane

EXAMPLES = Path(__file__).parents[1] / "examples"
LIMIT = 30  # seconds: an example that takes longer hangs


class Running:
    """An example in a process of its own, whose lines are read one by one."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []

    def until(self, text: str) -> None:
        """Read on to a line that holds *text*; fails at the end of the output. The test's own limit bounds the wait."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if text in line:
                return
        pytest.fail(f"no line with {text!r}; it wrote {self.lines}")

    def end(self, number: signal.Signals | None = None) -> int:
        """Its exit code, after a signal if one is given."""
        if number is not None:
            self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=LIMIT)
        self.lines += rest.splitlines()
        return self.process.returncode


@pytest.fixture
def environment(control_plane: ControlPlane, tmp_path: Path) -> dict[str, str]:
    """A user's environment: a kubeconfig, which is JSON so that no extra is needed."""
    path = tmp_path / "config"
    path.write_text(json.dumps(control_plane.kubeconfig()))
    return {**os.environ, "KUBECONFIG": str(path), "PYTHONPATH": str(EXAMPLES.parent), "PYTHONWARNINGS": "error"}


@contextmanager
def running(environment: dict[str, str], name: str, *arguments: str) -> Iterator[Running]:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


def config_map(name: str, **data: str) -> dict[str, object]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": data}


def collection(namespace: str, plural: str = "configmaps") -> str:
    return f"/api/v1/namespaces/{namespace}/{plural}"


def pod(name: str) -> dict[str, object]:
    container = {"name": "main", "image": "none.invalid/none"}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": {"containers": [container]}}


def test_prints_pods(control_plane: ControlPlane, real_namespace: str, environment: dict[str, str]) -> None:
    """01 prints a pod that is there and one that comes, and Ctrl-C ends it without a traceback."""
    control_plane.request("POST", collection(real_namespace, "pods"), pod("first")).checked()
    with running(environment, "01_print_pods.py", real_namespace) as example:
        example.until(f"ADDED {real_namespace}/first")
        control_plane.request("POST", collection(real_namespace, "pods"), pod("second")).checked()
        example.until(f"ADDED {real_namespace}/second")

        assert example.end(signal.SIGINT) == 0
    assert not any("Traceback" in line for line in example.lines)


def test_calls_back(control_plane: ControlPlane, real_namespace: str, environment: dict[str, str]) -> None:
    """02 tells changes and deletions while the main thread is free, and a signal stops it."""
    with running(environment, "02_callbacks.py", real_namespace) as example:
        example.until("the main thread is free")
        control_plane.request("POST", collection(real_namespace), config_map("one", k="v")).checked()
        example.until(f"now {real_namespace}/one {{'k': 'v'}}")
        control_plane.request("DELETE", f"{collection(real_namespace)}/one").checked()
        example.until(f"gone {real_namespace}/one")

        assert example.end(signal.SIGTERM) == 0
    assert example.lines[-1] == "end CLOSED"


def test_cancels_after_seconds(environment: dict[str, str]) -> None:
    """03 is ended by its token, though the server would go on."""
    with running(environment, "03_cancel_after_30_seconds.py", "0.5") as example:
        assert example.end() == 0
    assert example.lines[-1] == "ended: CANCELLED"


def test_resumes_by_hand(control_plane: ControlPlane, real_namespace: str, environment: dict[str, str]) -> None:
    """04 gives each change once across the ends of its streams."""
    with running(environment, "04_resume_by_hand.py", real_namespace, "3") as example:
        example.until("state")
        for number in range(3):
            control_plane.request("POST", collection(real_namespace), config_map(f"m{number}")).checked()
            example.until(f"ADDED {real_namespace}/m{number}")

        assert example.end() == 0
    added = [line for line in example.lines if line.startswith("ADDED")]
    assert added == [f"ADDED {real_namespace}/m{number}" for number in range(3)]


@pytest.mark.parametrize("change", ["runs already", "runs later", "deleted"])
def test_waits_for_a_phase(
    control_plane: ControlPlane, real_namespace: str, environment: dict[str, str], change: str
) -> None:
    """05 looks at the object and not at the verb: a pod may run already, come to run, or vanish."""
    path = collection(real_namespace, "pods")
    control_plane.request("POST", path, pod("it")).checked()

    def become_running() -> None:
        control_plane.request("PATCH", f"{path}/it/status", {"status": {"phase": "Running"}}).checked()

    if change == "runs already":
        become_running()
    with running(environment, "05_wait_for_phase.py", real_namespace, "it", "Running", "20") as example:
        example.until(f"{real_namespace}/it")
        if change == "runs later":
            become_running()
        elif change == "deleted":
            control_plane.request("DELETE", f"{path}/it", {"gracePeriodSeconds": 0}).checked()
        code = example.end()

    assert (example.lines[-1], code) == (("deleted", 1) if change == "deleted" else ("Running", 0))


def test_serves_wsgi(control_plane: ControlPlane, real_namespace: str, environment: dict[str, str]) -> None:
    """06 answers requests from what its watch has seen, and its probe says that it watches."""
    control_plane.request("POST", collection(real_namespace), config_map("seen")).checked()
    with running(environment, "06_wsgi_application.py", "0") as example:
        example.until("http://")
        url = example.lines[-1]
        wanted = f"{real_namespace}/seen"
        found = any(wanted in read(url) for _ in range(500))

        assert found, "the config map never came"
        assert read(url + "healthz") == "ok\n"
        assert example.end(signal.SIGINT) == 0


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=LIMIT) as response:
        return str(response.read(), "utf-8")
