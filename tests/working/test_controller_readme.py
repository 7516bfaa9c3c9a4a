"""The controller of the README does what is said of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kwsync import WatchError
from kwsync.testing import ApiServer, Fault
from tests.keeping.support import LIMIT, wait_until

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)
WRITING = ("POST", "PATCH", "PUT")
CONTROLLERS = [block for block in BLOCKS if "kwsync.Controller(" in block]


@pytest.mark.parametrize("block", CONTROLLERS, ids=range(len(CONTROLLERS)))
def test_the_controller_of_the_readme(block: str, api_server: ApiServer, tmp_path: Path) -> None:
    """In under 30 lines: every namespace gets its config map, and gets it back; a signal ends it cleanly."""
    assert block.count("\n") < 30
    with running(block, api_server, tmp_path), api_server.client() as client:

        def greeting(namespace: str) -> object:
            try:
                return client.get("configmaps", "greeting", namespace)["data"]
            except WatchError as error:
                return error.status_code

        client.create("namespaces", {"metadata": {"name": "new"}})
        for namespace in ("default", "new"):
            wait_until(lambda: greeting(namespace) == {"hello": namespace}, f"that of {namespace}")  # noqa: B023
        client.delete("configmaps", "greeting", "default")
        wait_until(lambda: greeting("default") == {"hello": "default"}, "it to come back")


@pytest.mark.parametrize("block", CONTROLLERS, ids=range(len(CONTROLLERS)))
def test_e13_own_write(block: str, api_server: ApiServer, tmp_path: Path) -> None:
    """What it has written and its cache does not have yet: a further call for the same key is no trouble."""
    api_server.fail_next(Fault.stall(), path="/api/v1/configmaps", verb="watch")
    with running(block, api_server, tmp_path), api_server.client() as client:

        def writes() -> int:
            path = "/api/v1/namespaces/default/configmaps"
            return sum(each.path.startswith(path) and each.method in WRITING for each in api_server.requests)

        for number in range(1, 4):  # of which the last begins when the one before has ended
            wait_until(lambda: writes() >= number, f"write {number}, as the cache has none")  # noqa: B023
            client.patch("namespaces", "default", {"metadata": {"labels": {"number": str(number)}}})


@contextmanager
def running(block: str, api_server: ApiServer, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The program, which ends well when it is told to, and says nothing."""
    config = tmp_path / "config"
    config.write_text(json.dumps(api_server.kubeconfig()))
    environment = {**os.environ, "KUBECONFIG": str(config), "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    program = subprocess.Popen(
        [sys.executable, "-c", block], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with program:
        try:
            yield program
            program.send_signal(signal.SIGTERM)
            assert program.wait(LIMIT) == 0
        finally:
            program.kill()
        assert program.stdout is not None
        assert program.stdout.read() == ""
