"""Each statement from B174 to B190 of the conformance list has a test here whose name, or whose class's, holds it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest


def names_of(node: ast.AST, prefix: str = "") -> Iterator[str]:
    """Every test in a file, with its class."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from names_of(child, f"{child.name}.")
        elif isinstance(child, ast.FunctionDef) and child.name.startswith("test_"):
            yield prefix + child.name


@pytest.fixture(scope="module")
def names() -> list[str]:
    """Those of this folder."""
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")]
    return [name for text in texts for name in names_of(ast.parse(text))]


@pytest.mark.parametrize("number", range(174, 191))
def test_has_tests(names: list[str], number: int) -> None:
    """A statement without a test would be a promise that nobody keeps."""
    assert [name for name in names if re.search(rf"(test_b|^TestB){number}(?!\d)", name)]
