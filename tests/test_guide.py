"""The guide's examples, run as a reader runs them: each is a test file beside a conftest.py with the one line."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kwsync
from kwsync.testing import ApiServer, Fault
from kwsync.testing._head import MAX_HEAD_BYTES, MAX_HEADERS
from kwsync.testing._server import LoopbackServer
from kwsync.testing.apiserver._objects import Objects
from kwsync.testing.apiserver._target import VERBS
from kwsync.testing.apiserver._users import Users, What
from tests.testing.apiserver.required import required_module

GUIDE = Path(__file__).parents[1] / "docs" / "testing.md"
TEXT = GUIDE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
EXAMPLES = [block for block in BLOCKS if "\ndef test_" in block]
CALL = re.compile(r"`(\w+)\((.*?)\)`").findall
LIMIT = 40  # seconds: an example that takes longer hangs


def test_blocks() -> None:
    """There are three examples, and beside them only the one line that opts in."""
    assert len(EXAMPLES) == 3
    [line] = [block for block in BLOCKS if block not in EXAMPLES]
    assert line == 'pytest_plugins = ["kwsync.testing.pytest_plugin"]\n'


@pytest.mark.parametrize("example", EXAMPLES, ids=["function", "thread", "pytest"])
def test_example(example: str, tmp_path: Path) -> None:
    """Each example is a whole file of tests, which pass without a warning."""
    if "import kubernetes" in example:
        required_module("kubernetes")
    (tmp_path / "conftest.py").write_text(*[block for block in BLOCKS if block not in EXAMPLES])
    (tmp_path / "test_example.py").write_text(example)
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "--color=no", "."]
    path = os.pathsep.join([str(Path(kwsync.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout


def calls_in(table: str) -> list[tuple[str, list[str]]]:
    """The functions that the first column of a table names, given its head, and the arguments that each is shown with.

    An argument that is shown by a value in quotes, or as the ellipsis, has no name.
    """
    _, _, rest = TEXT.partition(table)
    cells = re.findall(r"^\| (`.*?) \|", rest.partition("\n\n")[0], re.MULTILINE)
    return [(name, re.findall(r"\b([a-z_]+)(?=[,=]|$)", text)) for cell in cells for name, text in CALL(cell)]


def arguments(function: Callable[..., object]) -> set[str]:
    """The names of what a function takes."""
    found = set(inspect.signature(function).parameters)
    return found | What.__annotations__.keys() if "what" in found else found


def test_faults_are_named() -> None:
    """The table has every fault there is, and no other, with the arguments that there are."""
    made = [name for name, value in vars(Fault).items() if isinstance(value, classmethod)]
    named = calls_in("| `Fault.` |")
    assert sorted(name for name, _ in named) == sorted(made)
    for name, given in named:
        assert set(given) == arguments(getattr(Fault, name)), name


def test_methods_are_named() -> None:
    """Whatever the server can do is named, and whatever is named it can do."""
    public = {name for part in (Objects, Users, ApiServer) for name in vars(part) if not name.startswith("_")}
    inherited = vars(LoopbackServer).keys() | Users.__annotations__.keys()
    missing = [name for name in public - inherited if f"{name}(" not in TEXT and f"`server.{name}`" not in TEXT]
    assert missing == []
    for table in ("| method | what clients meet |", "| | |\n|---|---|"):
        for name, given in calls_in(table):
            assert set(given) <= arguments(ApiServer if name == "ApiServer" else getattr(ApiServer, name)), name


def test_arguments_are_named() -> None:
    """The defaults and limits that it tells are those of the code."""
    defaults = {name: each.default for name, each in inspect.signature(ApiServer).parameters.items()}
    told = re.findall(r"`ApiServer\((\w+)=(\d+)\)`", TEXT)
    assert told == [(name, str(defaults[name])) for name in ("history", "watch_buffer")]
    assert (defaults["history_bytes"], defaults["watch_buffer_bytes"]) == (64 << 20, 16 << 20)
    assert (ApiServer.body_limit, ApiServer.request_seconds) == (3 << 20, 32.0)
    assert (MAX_HEAD_BYTES, MAX_HEADERS) == (1 << 20, 1000)
    verbs = TEXT.partition("`verb` one of ")[2].partition(".")[0]
    assert re.findall(r"`([a-z]+)`", verbs) == list(VERBS)
