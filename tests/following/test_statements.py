"""Each statement of the conformance list about following has a test of its name, or a line that says why not."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
STATEMENTS = {f"B{number:03}" for number in range(1, 46)}


def have_tests() -> set[str]:
    """The statements that tests of this folder are named after."""
    names = (name for path in HERE.glob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text()))
    return {found.upper() for name in names for found in re.findall(r"b\d{3}", name)}


def explained() -> set[str]:
    """The statements that the README has a line for."""
    return set(re.findall(r"^\| (B\d{3}) \| \w", (HERE / "README.md").read_text(), re.MULTILINE))


def test_every_statement() -> None:
    """B001 to B045: none is forgotten, and none is explained away that has a test."""
    assert have_tests() | explained() >= STATEMENTS, sorted(STATEMENTS - have_tests() - explained())
    assert not have_tests() & explained() & STATEMENTS
