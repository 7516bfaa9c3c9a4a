"""Ctrl-C at any moment, also before the command line can catch anything, ends it with 130 and without a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kwsync import _starting
from tests.cli.support import LIMIT, ROOT, Environment

HOOK = """
import os, signal, sys

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            print("interrupted", flush=True)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
"""
"""Presses Ctrl-C when a module is loaded."""

SCRIPT = """
import sys
from kwsync.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""
"""What pip makes of the package's entry point."""

MODULES = [
    *("kwsync._cancel", "attrs", "urllib3", "kwsync._client", "kwsync._watch", "kwsync._thread"),
    *("kwsync.cli", "kwsync.cli._main", "click", "kwsync.cli._options", "yaml", "kwsync.testing"),
]
"""From the first to the last that the demo loads; kwsync.testing is loaded when the command runs already."""


@pytest.fixture(params=["module", "script"])
def command(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """``python -m kwsync``, and the script ``kwsync``."""
    environment = Environment(monkeypatch, tmp_path)
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    environment.set("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    if request.param == "module":
        return [sys.executable, "-m", "kwsync"]
    script = tmp_path / "kwsync"
    script.write_text(SCRIPT)
    return [sys.executable, str(script)]


@pytest.mark.parametrize("module", MODULES)
def test_while_it_starts(module: str, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever module is being loaded, there is no traceback, and the exit code is the documented one."""
    monkeypatch.setenv("INTERRUPT_AT", module)
    done = subprocess.run([*command, "demo"], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (done.returncode, done.stderr) == (130, "")
    assert "interrupted" in done.stdout


def test_library_is_left_alone(command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A program of another name that imports kwsync gets its KeyboardInterrupt."""
    monkeypatch.setenv("INTERRUPT_AT", "kwsync._client")
    program = tmp_path / "other.py"
    program.write_text("try:\n    import kwsync\nexcept KeyboardInterrupt:\n    print('caught')\n")
    for arguments in ([str(program)], ["-m", "other"], ["-c", program.read_text(), "kwsync"]):
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=LIMIT, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\ncaught\n", "")


def test_others_plans_are_kept(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A Ctrl-C that is ignored, as in the background of a script, stays so."""
    monkeypatch.setenv("INTERRUPT_AT", "kwsync._client")
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    done = subprocess.run(
        [*ignoring, *command, "--version"], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("interrupted\nkwsync ")


@pytest.mark.parametrize(
    ("arguments", "original", "expected"),
    [
        (["-m", "watch"], ["python", "-m", "kwsync", "watch"], True),
        (["-m"], ["python", "-Werror", "-m", "kwsync"], True),
        (["-m", "-m", "kwsync"], ["python", "-m", "other", "-m", "kwsync"], False),
        (["-m", "watch"], ["python", "-mkwsync", "watch"], True),
        (["/usr/local/bin/kwsync", "watch"], ["python", "/usr/local/bin/kwsync", "watch"], True),
        (["kwsync.py"], ["python", "kwsync.py"], False),
        (["-c"], ["python", "-c", "import kwsync"], False),
        ([""], ["python"], False),
        ([], [], False),
    ],
)
def test_is_command(arguments: list[str], original: list[str], expected: bool) -> None:
    """What counts is what is run, not what its arguments are."""
    assert _starting.is_command(arguments, original) == expected


def test_loud_changes_nothing_of_others() -> None:
    """Only what was made quiet is made loud."""
    before = signal.getsignal(signal.SIGINT)
    _starting.loud()
    assert signal.getsignal(signal.SIGINT) is before
