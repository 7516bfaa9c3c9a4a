"""The one seam to JSON: orjson or msgspec where the extra ``kwsync[fast]`` is installed, else the standard library."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class _Parser(NamedTuple):
    loads: Callable[[bytes], Any]
    dumps: Callable[[object], bytes]
    error: type[Exception]
    name: str


def _slow_loads(data: bytes) -> Any:
    # json.loads guesses UTF-16 and UTF-32 from bytes; the API speaks UTF-8 alone.
    try:
        return json.loads(str(data, "utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _slow_dumps(value: object) -> bytes:
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    # The replacement of a lone surrogate is its JSON escape.
    return text.encode("utf-8", "backslashreplace")


def _choose() -> _Parser:
    try:
        import orjson
    except ImportError:
        pass
    else:
        return _Parser(orjson.loads, orjson.dumps, ValueError, "orjson")
    try:
        import msgspec.json
    except ImportError:
        return _Parser(_slow_loads, _slow_dumps, ValueError, "json")
    # Its error became a ValueError only in later versions.
    return _Parser(msgspec.json.decode, msgspec.json.encode, msgspec.MsgspecError, "msgspec")


def _load_parser() -> str:
    """Import the fast parser, which costs milliseconds, when the first document comes; the name of what is in use."""
    global _loads, _dumps, _error
    _loads, _dumps, _error, name = _choose()
    return name


def _first_loads(data: bytes) -> Any:
    _load_parser()
    return _loads(data)


def _first_dumps(value: object) -> bytes:
    _load_parser()
    return _dumps(value)


_loads: Callable[[bytes], Any] = _first_loads
_dumps: Callable[[object], bytes] = _first_dumps
_error: type[Exception] = ValueError


def loads(data: bytes) -> Any:
    """Decode one JSON document; ValueError where it is none.

    What the fast parser refuses is tried with the standard library before it counts as malformed: the fast ones refuse
    lone surrogates and very large numbers, which servers written in Go do send. (Integers beyond 64 bits are floats
    with orjson, as they are in Go; the others keep every digit.)
    """
    try:
        return _loads(data)
    except (ValueError, RecursionError, _error):
        if _loads is _slow_loads:
            raise
    return _slow_loads(data)


def why_not(error: ValueError) -> str:
    """Why `loads` has failed: ``is not JSON``, or what in it is too much for Python. Nothing of the bytes is in it."""
    if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)):
        return "is not JSON"
    return f"cannot be decoded: {error}"


def dumps(value: object) -> bytes:
    """Encode as UTF-8 without spaces; TypeError or ValueError where JSON cannot hold it.

    What `loads` gives can be encoded again, so the standard library is asked here too before it counts as a failure.
    NaN and infinity are a ValueError there, and null with the fast libraries: never bad JSON.
    """
    try:
        return _dumps(value)
    except (TypeError, ValueError, RecursionError, _error):
        if _dumps is _slow_dumps:
            raise
    return _slow_dumps(value)
