"""The controller of the README does what is said of it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kwsync import WatchError
from kwsync.testing import ApiServer
from tests.keeping.support import LIMIT, wait_until

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
)
CONTROLLERS = [block for block in BLOCKS if "kwsync.Controller(" in block]


@pytest.mark.parametrize("block", CONTROLLERS, ids=range(len(CONTROLLERS)))
def test_the_controller_of_the_readme(block: str, api_server: ApiServer, tmp_path: Path) -> None:
    """In under 30 lines: every namespace gets its config map, and gets it back; a signal ends it cleanly."""
    assert block.count("\n") < 30
    config = tmp_path / "config"
    config.write_text(json.dumps(api_server.kubeconfig()))
    environment = {**os.environ, "KUBECONFIG": str(config), "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    program = subprocess.Popen(
        [sys.executable, "-c", block], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with api_server.client() as client, program:

        def greeting(namespace: str) -> object:
            try:
                return client.get("configmaps", "greeting", namespace)["data"]
            except WatchError as error:
                return error.status_code

        try:
            client.create("namespaces", {"metadata": {"name": "new"}})
            for namespace in ("default", "new"):
                wait_until(lambda: greeting(namespace) == {"hello": namespace}, f"that of {namespace}")  # noqa: B023
            client.delete("configmaps", "greeting", "default")
            wait_until(lambda: greeting("default") == {"hello": "default"}, "it to come back")
            program.send_signal(signal.SIGTERM)
            assert program.wait(LIMIT) == 0
        finally:
            program.kill()
        assert program.stdout is not None
        assert program.stdout.read() == ""
