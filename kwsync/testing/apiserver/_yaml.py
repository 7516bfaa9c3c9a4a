"""YAML without a library, in the form that the server writes it: blocks, keys in alphabetical order. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*")
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))


def as_yaml(value: Any) -> bytes:
    """A document of JSON's types."""
    return ("\n".join(_lines(value)) + "\n").encode("utf-8", "surrogatepass")


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _entry(f"{_scalar(key)}:", value[key])
    elif isinstance(value, list) and value:
        for item in value:
            first, *rest = _lines(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    else:
        yield _scalar(value)


def _entry(key: str, value: Any) -> Iterator[str]:
    if not value or not isinstance(value, dict | list):
        yield f"{key} {_scalar(value)}"
        return
    yield key
    # A list stands as far to the left as its key.
    indent = "" if isinstance(value, list) else "  "
    yield from (indent + line for line in _lines(value))


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    # JSON's strings, numbers and empty collections are YAML as they are.
    return json.dumps(value, ensure_ascii=False)
