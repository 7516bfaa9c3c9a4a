"""The README says what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


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
    """The first two blocks are one line each: one shows the demo, one passes the tests."""
    blocks = re.findall(r"^```sh\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    demo, tests = (block.splitlines() for block in blocks[:2])

    assert (len(demo), "kwsync demo" in demo[0]) == (1, True)
    assert (len(tests), "pytest" in tests[0]) == (1, True)


def test_names() -> None:
    """Every kwsync name in the README's code exists."""
    for path in re.findall(r"\bkwsync((?:\.\w+)+)", "\n".join(BLOCKS)):
        thing: object = __import__("kwsync")
        for name in path.split(".")[1:]:
            if name != "testing":
                thing = getattr(thing, name)


def test_examples_are_named() -> None:
    """Every example that the README names is there."""
    text = README.read_text(encoding="utf-8")
    for name in re.findall(r"examples/(\w+\.py)", text):
        assert (README.parent / "examples" / name).is_file(), name
