"""The README says what is so."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kwsync
from tests import comparison

README = Path(__file__).parents[1] / "README.md"
CI = README.parent / ".ci" / "run"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
COMMANDS = re.findall(r"^```sh\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def table(corner: str) -> list[list[str]]:
    """The rows of the table whose first line begins so, the headings first."""
    lines = TEXT[TEXT.index(f"\n| {corner}".rstrip()) :].strip().partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in (lines[0], *lines[2:])]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0])
def test_python_compiles(block: str) -> None:
    """Each Python block of the README is Python."""
    compile(block, "README.md", "exec")


@pytest.mark.parametrize("server", ["ApiServer", "ScriptedServer"])
def test_without_a_cluster(server: str) -> None:
    """The blocks about tests without a cluster run, and what they assert holds."""
    [block] = [block for block in BLOCKS if f"with {server}(" in block]

    exec(compile(block, "README.md", "exec"), {})


def test_imports() -> None:
    """Each block imports what it uses, so that it can be pasted alone."""
    for block in BLOCKS:
        assert "import kwsync" in block, block
        assert ("signal." in block) == ("import signal" in block), block


def test_two_commands() -> None:
    """The first two blocks of all are one line each: one shows the demo, one passes the tests."""
    assert re.findall(r"^```(.+)$", TEXT, re.MULTILINE)[:2] == ["sh", "sh"]
    demo, tests = (block.splitlines() for block in COMMANDS[:2])

    assert (len(demo), "kwsync demo" in demo[0]) == (1, True)
    assert (len(tests), "pytest" in tests[0]) == (1, True)


def test_ci_runs_the_two_commands() -> None:
    """The scripts of CI find these very lines, the demo's with a nearer end."""
    script = CI.read_text(encoding="utf-8")
    functions = re.findall(r"^(?:demo|readme)_command\(\) \{.*?^\}", script, re.DOTALL | re.MULTILINE)
    program = "\n".join(["root=$1", *functions, "demo_command", "readme_command"])
    done = subprocess.run(
        ["bash", "-euc", program, "bash", str(README.parent)], capture_output=True, text=True, timeout=30, check=True
    )
    demo, tests = done.stdout.splitlines()

    assert demo.replace("--seconds 5", "--seconds 30") == COMMANDS[0].strip()
    assert tests == COMMANDS[1].strip()
    for step in ("run_demo", "run_readme"):
        assert re.search(rf"^step .* {step}$", script, re.MULTILINE)


@functools.cache
def seen_in_the_demo() -> tuple[list[str], ...]:
    """The lines of a demo, told apart by their cells; ages differ from machine to machine."""
    demo = [sys.executable, "-m", "kwsync", "demo", "--seconds", "6"]
    environment = {**os.environ, "PYTHONPATH": str(README.parent)}
    done = subprocess.run(demo, env=environment, capture_output=True, text=True, timeout=40, check=True)
    return tuple(cells(line) for line in done.stdout.splitlines())


def cells(line: str) -> list[str]:
    return re.split(r" {2,}", re.sub(r"\b\d+s$", "<age>", line.rstrip()))


@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("click", "yaml")), reason="the command line is not installed"
)
def test_picture() -> None:
    """The picture of the command line has lines of the demo, in the demo's order within each object."""
    [picture] = re.findall(r"^```console\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    command, *lines = picture.splitlines()
    seen = seen_in_the_demo()

    assert command == "$ kwsync demo"
    assert [line for line in lines if cells(line) not in seen] == []
    for name in {cells(line)[1] for line in lines}:
        positions = [seen.index(cells(line)) for line in lines if cells(line)[1] == name]
        assert positions == sorted(positions), name


def test_picture_is_aligned() -> None:
    """A cell of the picture stands no further left than the same column stood before."""
    [picture] = re.findall(r"^```console\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    names = [re.search(r"(?<=  )\S", line) for line in picture.splitlines()[1:]]

    assert {match.start() for match in names if match} == {11}


@functools.cache
def measured(client: str) -> dict[str, str]:
    """What a client does, tried in a process of its own."""
    command = [sys.executable, "-m", "tests.comparison", client]
    done = subprocess.run(command, cwd=README.parent, capture_output=True, text=True, timeout=55, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def installed(package: str, version: str) -> bool:
    """Whether this very release is here; what others do is another matter."""
    try:
        return importlib.metadata.version(package).startswith(f"{version}.")
    except importlib.metadata.PackageNotFoundError:
        return False


COMPARED = {"kwsync": "kwsync", "official": "kubernetes", "lightkube": "lightkube"}
"""The columns that can be tried, and their packages; the others are no dependencies of the tests."""


@pytest.mark.slow
@pytest.mark.parametrize("client", COMPARED)
@pytest.mark.parametrize("row", comparison.ROWS)
def test_comparison(row: str, client: str) -> None:
    """Each cell of the comparison is what the client does against a scripted server."""
    [_, *headings], *rows = table("| kwsync |")
    [heading] = [heading for heading in headings if heading.partition(" ")[0] == client]
    [told] = [cells_[1 + headings.index(heading)] for cells_ in rows if cells_[0] == row]
    version = heading.partition(" ")[2]
    if version and not installed(COMPARED[client], version):
        pytest.skip(f"{COMPARED[client]} {version} is not installed")

    assert measured(client)[row] == told.partition(", with ")[0]


def test_comparison_is_complete() -> None:
    """No row of the comparison is left untried, and the versions are named."""
    [_, *headings], *rows = table("| kwsync |")
    assert [row[0] for row in rows] == list(comparison.ROWS)
    assert all(re.search(r" \d", heading) for heading in headings if heading != "kwsync")


@pytest.mark.slow
@pytest.mark.skipif(not installed("kubernetes", "37"), reason="kubernetes 37 is not installed")
def test_what_the_official_client_does() -> None:
    """What is said of it beside the names: an odd ERROR, the end from outside, and a 410."""
    told = dict(table("`kubernetes.watch.Watch`"))

    assert measured("official")["an odd ERROR"] == "KeyError"
    assert "`KeyError` for an odd ERROR" in str(told)
    assert measured("official")["ended from another thread while idle"] == "raises"
    assert "which makes an idle stream raise" in str(told)
    assert measured("official")["a 410 in the stream"] == "hot loop"
    assert "in a hot loop after a 410" in str(told)


def test_from_the_official_client() -> None:
    """Every name in the table from the official client to ours exists on its side."""
    kubernetes = pytest.importorskip("kubernetes")
    theirs = {
        "v1": kubernetes.client.CoreV1Api,
        "config": kubernetes.config,
        "w": kubernetes.watch.Watch(),
        "Watch()": kubernetes.watch.Watch(),
    }
    ours = {
        "kwsync": kwsync,
        "Client": kwsync.Client,
        "event": kwsync.WatchEvent(kwsync.EventType.SYNCED),
        "event.key": kwsync.ObjectKey("", "a"),
        "stream": kwsync.WatchStream,
    }
    [_, *rows] = table("`kubernetes.watch.Watch`")
    for side, owners in enumerate((theirs, ours)):
        code = " ".join(re.findall(r"`([^`]+)`", " ".join(row[side] for row in rows)))
        for owner, thing in owners.items():
            names = re.findall(rf"(?<![\w.]){re.escape(owner)}\.([a-zA-Z]\w*)", code)
            assert names or owner == "Watch()", owner
            assert [name for name in names if not hasattr(thing, name)] == []
        for option in re.findall(r"(?<![\w])(cancel|label_selector|namespace)=", code):
            assert side == 0 or option in inspect.signature(kwsync.watch_resource).parameters


def test_names() -> None:
    """Every kwsync name in the README's code exists."""
    for path in re.findall(r"\bkwsync((?:\.\w+)+)", "\n".join(BLOCKS)):
        thing: object = kwsync
        for name in path.split(".")[1:]:
            if name != "testing":
                thing = getattr(thing, name)


def test_examples_are_named() -> None:
    """Every example that the README names is there."""
    for name in re.findall(r"examples/(\w+\.py)", TEXT):
        assert (README.parent / "examples" / name).is_file(), name
