"""A walk through a JSON document from value to value, of which no more than one is decoded at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kwsync._scan._deep import end_of

_ENOUGH = 64 * 1024
"""Most values are shorter. When one is not, the window grows."""

_WINDOW = 4
"""Times that."""

_TAIL = 3
"""A number may go on behind the window: behind ``1``, ``1.`` or ``1e+``."""

_decode = json.JSONDecoder().raw_decode
_skip_space = re.compile(r"[ \t\r\n]*").match


class Reader:
    """Where the walk is. ValueError for what is no JSON.

    The text is Latin-1, which has a character for every byte, so that a place in the text is a place in the bytes.
    Values end at the same place in every encoding that contains ASCII; but text that is not ASCII is not right in them.
    """

    def __init__(self, body: bytes) -> None:
        self._body = memoryview(body)
        self._start = self._at = 0
        self._text = ""
        self._enough = _ENOUGH
        self._slide()

    def members(self) -> Iterator[str]:
        """The keys of an object; the caller reads each value."""
        for _ in self._parts("{", "}"):
            key = self.value()[0]
            if type(key) is not str:
                raise ValueError("a key is no string")
            self._expect(":")
            yield key

    def elements(self) -> Iterator[None]:
        """One None for each element of an array; the caller reads it."""
        return self._parts("[", "]")

    def value(self) -> tuple[Any, memoryview]:
        """The next value, decoded, and its bytes; None in the place of one that cannot be decoded."""
        self.peek()
        if len(self._text) - self._at < self._enough:
            self._slide()
        try:
            found, end = self._decode()
            while len(self._text) - end < _TAIL and self._widen():
                found, end = self._decode()
        except json.JSONDecodeError:
            raise
        except (ValueError, RecursionError):  # it may be JSON, but is more than Python reads
            return None, self._beyond()
        raw = self._body[self._start + self._at : self._start + end]
        self._at = end
        return found, raw

    def _decode(self) -> tuple[Any, int]:
        while True:
            try:
                return _decode(self._text, self._at)
            except json.JSONDecodeError:
                if not self._widen():
                    raise

    def _beyond(self) -> memoryview:
        """Go on behind the next value, without the text."""
        start = self._start + self._at
        self._start, self._at, self._text = end_of(self._body, start), 0, ""
        self._slide()
        return self._body[start : self._start]

    def peek(self) -> str:
        """The character that is no space and comes next; empty at the end."""
        while True:
            space = _skip_space(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text) or not self._slide():
                return self._text[self._at : self._at + 1]

    def end(self) -> None:
        """ValueError if anything follows."""
        self._expect("")

    def _parts(self, opening: str, closing: str) -> Iterator[None]:
        self._expect(opening)
        if self.peek() == closing:
            return self._expect(closing)
        yield
        while self.peek() == ",":
            self._expect(",")
            yield
        return self._expect(closing)

    def _expect(self, mark: str) -> None:
        if self.peek() != mark:
            raise ValueError(f"expected {mark or 'the end'!r}")
        self._at += len(mark)

    def _widen(self) -> bool:
        self._enough *= 2
        return self._slide()

    def _slide(self) -> bool:
        """Let the window begin here; False when there is nothing behind it."""
        if self._start + len(self._text) == len(self._body):
            return False
        self._start, self._at = self._start + self._at, 0
        self._text = str(self._body[self._start : self._start + _WINDOW * self._enough], "latin-1")
        return True
