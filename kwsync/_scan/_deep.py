"""A walk through JSON that no parser has read: nested too deeply for their stacks, or with integers that are too long.

It takes many times as long as a parser, and is for what the parsers have refused. Nothing in it calls itself: all that
it needs is one byte for each level. What is JSON, and what is not, is as with the standard library. The encoding is
checked by nobody here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, NoReturn

from kwsync import _json

_NAMES = ("kind", "apiVersion")
_WORDS = ("name", "namespace", "uid", "resourceVersion")
"""Of the metadata."""

_BRACE, _CLOSING_BRACE, _BRACKET, _CLOSING_BRACKET, _COMMA, _COLON, _QUOTE = b'{}[],:"'
_CLOSING = {_BRACE: _CLOSING_BRACE, _BRACKET: _CLOSING_BRACKET}
_END = -1

Skip = Callable[[bytes | memoryview, int], "re.Match[bytes] | None"]


class _Skips(NamedTuple):
    """What goes behind something. None is repeated without a limit where each time is remembered, to go back to, since
    that takes memory.
    """

    space: Skip
    word: Skip
    text: Skip
    """Some of a string."""
    elements: Skip
    """Some that are flat, with the commas behind them."""
    members: Skip


@functools.cache
def _skips() -> _Skips:
    """Compiled when the first is needed, which hardly ever happens."""
    plain = rb'"[^"\\\x00-\x1f]*"'  # without escapes, as nearly all strings are
    text = rb'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*){0,99}'
    word = rb"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null|NaN|-?Infinity)"
    element = b"_(?:%b|%b)_," % (word, plain)
    elements, members = b"(?:%b){0,99}" % element, b"(?:_%b_:%b){0,99}" % (plain, element)
    patterns = (b"_", word, text, elements, members)
    return _Skips(*(re.compile(each.replace(b"_", rb"[ \t\r\n]*")).match for each in patterns))


def end_of(body: bytes | memoryview, start: int) -> int:
    """Where the value ends that begins at *start*; ValueError where none does."""
    walk = _Walk(body, start)
    walk.value()
    return walk.at


def members(raw: bytes | memoryview, keys: Collection[str]) -> dict[str, memoryview]:
    """The bytes of an object's values that have one of these keys; of equal ones the last, which counts for parsers.

    ValueError for what is no object, and nothing but it.
    """
    walk, found, view = _Walk(raw), dict[str, memoryview](), memoryview(raw)
    walk.expect(_BRACE)
    more = walk.peek() != _CLOSING_BRACE
    while more:
        key = _json.loads(bytes(view[slice(*walk.key())]))
        walk.peek()
        start = walk.at
        walk.value()
        if key in keys:
            found[key] = view[start : walk.at]
        more = walk.take(_COMMA)
    walk.expect(_CLOSING_BRACE)
    walk.expect(_END)
    return found


def outline(raw: bytes | memoryview) -> dict[str, Any] | None:
    """Of an object no more than the words that name it, each None where it is no text; None for another value.

    Not even its metadata can be read as a whole: ``managedFields`` are nested as deeply as the object. ValueError for
    what is no JSON.
    """
    walk = _Walk(raw)
    if walk.peek() != _BRACE:
        walk.value()
        walk.expect(_END)
        return None
    found = members(raw, (*_NAMES, "metadata"))
    metadata = found.pop("metadata", b"")
    words = members(metadata, _WORDS) if metadata[:1] == b"{" else {}
    return {**_texts(found), "metadata": _texts(words)}


def text_of(raw: bytes | memoryview | None) -> str | None:
    """The text that a value is; None for any other."""
    found = _json.loads(bytes(raw)) if raw and raw[0] == _QUOTE else None
    return found if isinstance(found, str) else None


def _texts(found: dict[str, memoryview]) -> dict[str, str | None]:
    return {key: text_of(raw) for key, raw in found.items()}


class _Walk:
    """A place in the bytes, which moves on. Each method is a ValueError where it does not find what it is for."""

    __slots__ = ("_raw", "_skips", "at")

    def __init__(self, raw: bytes | memoryview, at: int = 0) -> None:
        self._raw = raw
        self._skips = _skips()
        self.at = at

    def value(self) -> None:
        """Go behind the value that comes next, whatever it is."""
        closing = bytearray()
        self._enter(closing)
        while closing:
            if self.take(closing[-1]):
                closing.pop()
            else:
                self.expect(_COMMA)
                self._to_value(in_object=closing[-1] == _CLOSING_BRACE)
                self._enter(closing)

    def _enter(self, closing: bytearray) -> None:
        """Go into all objects and arrays that begin here, up to the first value that is none or the first end."""
        while (mark := self.peek()) in _CLOSING:
            closing.append(_CLOSING[mark])
            self.at += 1
            if self.peek() == closing[-1]:
                return
            self._to_value(in_object=mark == _BRACE)
        if mark == _QUOTE:
            self._text()
        else:
            self._word()

    def _to_value(self, *, in_object: bool) -> None:
        """Go to the next value that has to be looked at: behind its key, and all that is flat before it."""
        self._skip_while(self._skips.members if in_object else self._skips.elements)
        if in_object:
            self.key()

    def key(self) -> tuple[int, int]:
        """Go behind the key and its colon; where the key began, and where it ended."""
        if self.peek() != _QUOTE:
            self._fail()
        start = self.at
        self._text()
        end = self.at
        self.expect(_COLON)
        return start, end

    def peek(self) -> int:
        """Go to what comes next and is no space."""
        space = self._skips.space(self._raw, self.at)
        self.at = space.end() if space else self.at
        return self._raw[self.at] if self.at < len(self._raw) else _END

    def take(self, mark: int) -> bool:
        """Go behind the mark if it comes next."""
        is_next = self.peek() == mark
        self.at += is_next
        return is_next

    def expect(self, mark: int) -> None:
        """Go behind the mark, which must come next."""
        if not self.take(mark):
            self._fail()

    def _text(self) -> None:
        self.at += 1
        self._skip_while(self._skips.text)
        if self._raw[self.at : self.at + 1] != b'"':
            self._fail()
        self.at += 1

    def _skip_while(self, skip: Skip) -> None:
        before = -1
        while self.at > before:
            before, piece = self.at, skip(self._raw, self.at)
            self.at = piece.end() if piece else before

    def _word(self) -> None:
        word = self._skips.word(self._raw, self.at)
        if word is None:
            self._fail()
        self.at = word.end()

    def _fail(self) -> NoReturn:
        raise ValueError(f"no JSON at byte {self.at}")
