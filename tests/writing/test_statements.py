"""B120 and each statement B167 to B173 have a test of their name, or a line in the README here that says why not."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
STATEMENTS = {"B120", *(f"B{number}" for number in range(167, 174))}


def test_every_statement() -> None:
    """No statement is forgotten, and none is excused that has a test."""
    names = "".join(
        name for path in HERE.glob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    )
    tested = {statement for statement in STATEMENTS if statement.lower() in names}
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^(B\d+.*) ha(?:s|ve) no test: \w", readme, re.MULTILINE)
    excused = {each for line in lines for each in re.findall(r"B\d+", line)}
    assert STATEMENTS - tested == excused
