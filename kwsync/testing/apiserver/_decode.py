"""The JSON of strangers: read as Go reads it, and refused where it is nested too deeply to be shown again. Pure."""

from __future__ import annotations

import json
import math
from typing import Any

from kwsync.testing.apiserver._encode import IS_STRICT, loads

MOST_LEVELS = 200
"""Objects and lists within each other, in what is sent and in what is stored.

A real server takes 10,000, but Python's own parser, and orjson, stop at some hundreds; what surrounds an object in a
list, a Table or an event comes on top.
"""
_MOST_PARTS = 2_000_000
"""Values in a document: more than fit into a body, unless YAML's aliases multiply them."""
_WORDS = {
    "Expecting property name": "looking for beginning of object key string",
    "Expecting ':'": "after object key",
    "Expecting ','": "after object key:value pair",
    "Extra data": "after top-level value",
    "Invalid control character": "in string literal",
    "Invalid \\escape": "in string escape code",
}
_OTHER_WORDS = "looking for beginning of value"
_INTEGERS = range(-(2**63), 2**63)


class DecodeError(ValueError):
    """What cannot be read; its text is in Go's words."""


class TooDeepError(DecodeError):
    """What is nested too deeply."""

    def __init__(self) -> None:
        super().__init__(f"exceeded max depth of {MOST_LEVELS}")


def read(data: bytes) -> Any:
    """What the JSON holds, or DecodeError: for what is none, for numbers that no float holds, and for depth."""
    try:
        value = _parsed(data)
    except RecursionError:
        raise TooDeepError from None
    if data.count(b"{") + data.count(b"[") > MOST_LEVELS:
        check_levels(value)
    return value


def check_levels(value: Any) -> None:
    """DecodeError for what is nested more deeply than `MOST_LEVELS`, or has no end."""
    level, size = [value], 0
    for _ in range(MOST_LEVELS + 1):
        inside = [part for part in level if isinstance(part, dict | list)]
        if not inside:
            return
        size += sum(map(len, inside))
        if size > _MOST_PARTS:
            raise DecodeError("yaml: document contains excessive aliasing")
        level = [each for part in inside for each in (part.values() if isinstance(part, dict) else part)]
    raise TooDeepError


def _parsed(data: bytes) -> Any:
    if not IS_STRICT:
        return _carefully(data)
    try:
        return loads(data)
    except ValueError:
        return _carefully(data)


def _carefully(data: bytes) -> Any:
    """By the standard library, with what orjson refuses and Go takes, and with Go's words for what both refuse."""
    text = data.decode(errors="replace")
    try:
        value = json.loads(text, parse_constant=_constant, parse_int=_integer, parse_float=_number)
    except json.JSONDecodeError as error:
        raise DecodeError(_go_words(text, error)) from None
    return _without_surrogates(value) if "\\u" in text else value


def _go_words(text: str, error: json.JSONDecodeError) -> str:
    position = error.pos + error.msg.startswith("Invalid \\escape")
    if position >= len(text.rstrip()):
        return "unexpected end of JSON input"
    words = next((words for start, words in _WORDS.items() if error.msg.startswith(start)), _OTHER_WORDS)
    return f"invalid character '{text[position]}' {words}"


def _constant(name: str) -> Any:
    raise DecodeError(f"invalid character '{name.lstrip('-')[0]}' looking for beginning of value")


def _integer(text: str) -> int | float:
    """64 bits; what is larger becomes a float."""
    if len(text) <= 20 and int(text) in _INTEGERS:
        return int(text)
    return _number(text)


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise DecodeError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return value


def _without_surrogates(value: Any) -> Any:
    """Halves of a pair become U+FFFD, as in Go: no text with them can be sent."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value
