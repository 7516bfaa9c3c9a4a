"""What may go to a terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync.cli._text import UNSAFE, escaped, escaped_json, is_safe_but_for_lines, padded, width


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("plain ümläut 日本", "plain ümläut 日本"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("bell\x07 del\x7f", "bell\\x07 del\\x7f"),
        ("line\nfeed\ttab\r", "line\\nfeed\\ttab\\r"),
        ("turned\u202e", "turned\\u202e"),
        ("hidden\u200b", "hidden\\u200b"),
        ("half\ud800", "half\\ud800"),
    ],
)
def test_escapes(raw: str, safe: str) -> None:
    """Nothing moves the cursor, colours, hides or reorders; letters of every language stay."""
    assert escaped(raw) == safe


@given(st.text(st.characters()))
def test_escapes_everything(raw: str) -> None:
    """Whatever a text holds, nothing unsafe is left, and escaping twice changes nothing."""
    assert UNSAFE.search(escaped(raw)) is None
    assert escaped(escaped(raw)) == escaped(raw)


@given(st.text(st.characters()))
def test_json_keeps_its_meaning(raw: str) -> None:
    """JSON that is escaped is the same document."""
    line = escaped_json(json.dumps({"text": raw}, ensure_ascii=False))
    assert UNSAFE.search(line) is None
    assert json.loads(line) == {"text": raw}


@pytest.mark.parametrize(("text", "safe"), [("a\nb", True), ("a\x1bb", False), ("a\u202eb", False), ("a\tb", False)])
def test_tells_whether_lines_are_safe(text: str, safe: bool) -> None:
    """The ends of lines alone may stand in a document of several lines."""
    assert is_safe_but_for_lines(text) is safe


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("", 0)])
def test_width(text: str, columns: int) -> None:
    """Wide letters take two columns and accents none, so that what is padded stands in line."""
    assert width(text) == columns
    assert width(padded(text, 6)) == 6
