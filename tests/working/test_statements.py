"""Each statement B122 to B148, and each row of C1, has a test of its name, or a line in the README here that says why
not.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
README = (HERE / "README.md").read_text(encoding="utf-8")
TESTS = set(
    re.findall(
        r"def (test_\w+)",
        "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py")),
    )
)

ROWS = {
    "reconciler contract",
    "fetch wrapper",
    "concurrency, panics",
    "start order",
    "missing kind",
    "priority queue",
    "predicates",
    "mapping",
    "owner references",
    "finalizers",
    "create-or-update",
    "cache options",
    "metadata-only",
    "live reader",
    "leader election",
    "external sources",
    "metrics",
    "cert watcher",
}
"""Of the table C1: what controller-runtime has."""


def test_every_statement() -> None:
    """No statement is forgotten, and none is excused that has a test."""
    every = {f"B{number}" for number in range(122, 149)}
    tested = {statement for statement in every if any(statement.lower() in name for name in TESTS)}
    (excuse,) = re.findall(r"^(B\d+, [^:]*) have no test: \w", README, re.MULTILINE)
    assert every - tested == set(re.findall(r"B\d+", excuse))


def test_every_row() -> None:
    """Each row is in the table, with tests that there are, or with the reason why there is none."""
    _, _, text = README.partition("| C1 |")
    table = [line.strip("| ").split(" | ") for line in text.partition("\n\n")[0].splitlines()[2:]]
    assert {row[0] for row in table} == ROWS
    for name, _, tests in table:
        named = re.findall(r"`(test_\w+)(…?)`", tests)
        assert named or re.match(r"no test: \w", tests), name
        for test, more in named:
            assert any(each == test or (more and each.startswith(test)) for each in TESTS), (name, test)
    unnamed = {test for test in TESTS if test.startswith("test_c1_")}
    unnamed -= {test for test in unnamed for row in table if any(test.startswith(each) for each in _stems(row[2]))}
    assert unnamed == set(), "tests of no row"


def _stems(tests: str) -> list[str]:
    return re.findall(r"`(test_\w+)…?`", tests)
