"""Each statement B179 to B186 of the conformance list has tests in a class of its number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DIFFERENT = {
    "B182": "ten seconds before the expiry a token is not used any more; client-go uses it until then exactly",
    "B183": "the request that got the 401 is sent once more; and a plugin does not run twice within ten seconds",
    "B184": "a run without a terminal has a time limit, and output has one of size",
    "B186": "the hint is a part of the error, at most one each ten seconds; no list of allowed commands",
}
"""Where kwsync does something else than client-go, on purpose; the tests are about that."""


@pytest.mark.parametrize("number", range(179, 187))
def test_has_tests(number: int) -> None:
    """A statement without a test would be a promise that nobody keeps."""
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_exec*.py"))
    assert re.search(rf"^class TestB{number}\w*:", tests, re.MULTILINE)


def test_differences_are_statements() -> None:
    """What is said to be different is one of them."""
    assert all(179 <= int(statement[1:]) <= 186 for statement in DIFFERENT)
