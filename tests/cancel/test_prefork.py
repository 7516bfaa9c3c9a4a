"""Servers that load the application once and fork their workers: gunicorn, and pools as Celery's."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kwsync.testing import Event, Head, Http, ScriptedServer, Stall, pod
from tests.cancel.support import LIMIT, serving, wait_until

ROOT = Path(__file__).parents[2]
SECONDS = 3 * LIMIT


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server that tells its version, and one pod to every watch."""
    with serving(default=[Head(), Event("ADDED", pod("a")), Stall()]) as (started, _):
        started.on("/version", Http(200, {"gitVersion": "v1.99.0"}))
        yield started


def check(answer: dict[str, Any]) -> None:
    """What every worker has to tell."""
    pid = answer.pop("pid")
    assert pid != os.getpid()
    assert answer == {
        "came": True,
        "names": ["a"],
        "alive": True,
        "healthy": True,
        "master's": False,
        "version": {"gitVersion": "v1.99.0"},
    }


@contextmanager
def gunicorn(server: ScriptedServer, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A running gunicorn, and its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        command = [sys.executable, "-m", "gunicorn", "-c", "python:tests.cancel.prefork_program"]
        command += ["-b", f"fd://{listener.fileno()}"]
        environment = {**os.environ, "KWSYNC_TEST_SERVER": server.url, "HOME": str(folder)}
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, pass_fds=[listener.fileno()], stdout=log, stderr=log
            )
    try:
        yield process, port
    finally:
        process.kill()
        process.wait(LIMIT)


def get(port: int) -> dict[str, Any]:
    """Ask one worker, whichever takes it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", "/")
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
        return answer
    finally:
        connection.close()


def test_gunicorn(server: ScriptedServer, tmp_path: Path) -> None:
    """Two workers of a preloaded application each watch on a thread of their own, and end with their worker."""
    pytest.importorskip("gunicorn", reason="needs gunicorn: pip install 'kwsync[test]'")
    with gunicorn(server, tmp_path) as (process, port):
        answers: dict[int, dict[str, Any]] = {}

        def ask() -> bool:
            answer = get(port)
            answers[answer["pid"]] = answer
            return len(answers) == 2

        wait_until(ask, "an answer of each worker", SECONDS)
        watches = [request for request in server.requests if request.is_watch]
        assert len(watches) == 3  # the master's and the workers'
        assert len({request.connection_id for request in watches}) == 3
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0, (tmp_path / "log").read_text()
        for answer in answers.values():
            check(answer)
        server.wait_until_idle(LIMIT)
        log = (tmp_path / "log").read_text()
        assert "Traceback" not in log, log


def test_pool(server: ScriptedServer) -> None:
    """The same with a pool of processes, whose initializer starts the thread; the parent's watch goes on meanwhile."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.cancel.prefork_program"],
        cwd=ROOT,
        env={**os.environ, "KWSYNC_TEST_SERVER": server.url},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["running"], told["ended"]) == (True, True)
    assert len({answer["pid"] for answer in told["answers"]}) == 2
    for answer in told["answers"]:
        check(answer)
    server.wait_until_idle(LIMIT)
