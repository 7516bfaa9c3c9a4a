"""The guide's examples, run as a reader runs them: each is a test file beside a conftest.py with the one line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kwsync
from kwsync.testing import Fault

GUIDE = Path(__file__).parents[1] / "docs" / "testing.md"
TEXT = GUIDE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
EXAMPLES = [block for block in BLOCKS if "\ndef test_" in block]
CALL = re.compile(r"`(\w+)\(").findall
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
        pytest.importorskip("kubernetes")
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


def test_faults_are_named() -> None:
    """The table has every fault there is, and no other."""
    _, _, rest = TEXT.partition("| `Fault.` |")
    named = [
        name for row in re.findall(r"^\| (`.*?) \|", rest.partition("\n\n")[0], re.MULTILINE) for name in CALL(row)
    ]
    assert sorted(named) == sorted(name for name, value in vars(Fault).items() if isinstance(value, classmethod))
