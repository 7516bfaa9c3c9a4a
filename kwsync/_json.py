"""The one seam to JSON: orjson or msgspec where the extra ``kwsync[fast]`` is installed, else the standard library."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


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


def _choose() -> tuple[Callable[[bytes], Any], Callable[[object], bytes], str]:
    try:
        import orjson
    except ImportError:
        pass
    else:
        return orjson.loads, orjson.dumps, "orjson"
    try:
        import msgspec.json
    except ImportError:
        return _slow_loads, _slow_dumps, "json"
    return msgspec.json.decode, msgspec.json.encode, "msgspec"


def _load_parser() -> str:
    """Import the fast parser, which costs milliseconds, when the first document comes; the name of what is in use."""
    global _loads, _dumps
    _loads, _dumps, name = _choose()
    return name


def _first_loads(data: bytes) -> Any:
    _load_parser()
    return _loads(data)


def _first_dumps(value: object) -> bytes:
    _load_parser()
    return _dumps(value)


_loads: Callable[[bytes], Any] = _first_loads
_dumps: Callable[[object], bytes] = _first_dumps


def loads(data: bytes) -> Any:
    """Decode one JSON document; ValueError where it is none.

    What the fast parser refuses is tried with the standard library before it counts as malformed: the fast ones refuse
    lone surrogates and very large numbers, which servers written in Go do send. (Integers beyond 64 bits are floats
    with orjson, as they are in Go; the others keep every digit.)
    """
    try:
        return _loads(data)
    except (ValueError, RecursionError):
        if _loads is _slow_loads:
            raise
    return _slow_loads(data)


def dumps(value: object) -> bytes:
    """Encode as UTF-8 without spaces; TypeError or ValueError where JSON cannot hold it.

    What `loads` gives can be encoded again, so the standard library is asked here too before it counts as a failure.
    """
    try:
        return _dumps(value)
    except (TypeError, ValueError, RecursionError):
        if _dumps is _slow_dumps:
            raise
    return _slow_dumps(value)
