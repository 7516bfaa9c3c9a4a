"""Text for people: nothing in it may move the cursor, colour the terminal, or hide or reorder what is read. Pure."""

from __future__ import annotations

import re
import unicodedata

UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""Control characters, what is invisible or turns the writing direction (CVE-2021-42574), and halves of surrogates."""

_UNSAFE_BUT_NEWLINE = re.compile(rf"(?!\n){UNSAFE.pattern}")
_SURROGATES = re.compile("[\ud800-\udfff]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escaped(text: str) -> str:
    """The text with what is unsafe written as in Python's strings: ``\\n``, ``\\x1b``, ``\\u202e``."""
    return UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    return _SHORT.get(match[0]) or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")


def escaped_json(text: str) -> str:
    """The same for a JSON document in which what is unsafe can stand in strings only: it stays the same document."""
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate, as Go reads them."""
    return _SURROGATES.sub("\ufffd", text)


def is_safe_but_for_lines(text: str) -> bool:
    """Whether the text holds nothing unsafe but the ends of its lines."""
    return _UNSAFE_BUT_NEWLINE.search(text) is None


def width(text: str) -> int:
    """The columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """The text, or its beginning and dots, so that it takes no more than so many columns."""
    if width(text) <= columns:
        return text
    while width(text) > columns - 3:
        text = text[: min(len(text) - 1, columns)]
    return f"{text}..."


def padded(text: str, columns: int) -> str:
    """The text with spaces behind it, so that it takes so many columns."""
    return text + " " * (columns - width(text))
