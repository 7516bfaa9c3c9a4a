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


def test_scripted_server() -> None:
    """The block about tests without a cluster runs, and what it asserts holds."""
    [block] = [block for block in BLOCKS if "ScriptedServer" in block]

    exec(compile(block, "README.md", "exec"), {"kwsync": __import__("kwsync")})


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
