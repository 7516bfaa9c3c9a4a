"""What strict decoding finds in a body: fields that nobody knows, and fields that are there twice. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any


class _Pairs(list[tuple[str, Any]]):
    """An object with all its fields."""


def strict_warnings(body: bytes, unknown: Collection[str]) -> list[str]:
    """In the order of the document; what is no JSON, such as YAML, has only its *unknown* fields."""
    if not body:
        return [f'unknown field "{path}"' for path in unknown]
    try:
        document = json.loads(body, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        document = None
    found = list(_found(document, "", frozenset(unknown)))
    rest = (f'unknown field "{path}"' for path in unknown)
    return list(dict.fromkeys([*found, *rest]))


def _found(value: Any, path: str, unknown: Collection[str]) -> Iterator[str]:
    if isinstance(value, _Pairs):
        yield from _in_object(value, f"{path}." if path else "", unknown)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _found(item, f"{path}[{index}]", unknown)


def _in_object(pairs: _Pairs, start: str, unknown: Collection[str]) -> Iterator[str]:
    seen = set()
    for key, item in pairs:
        path = f"{start}{key}"
        if path in unknown:
            yield f'unknown field "{path}"'
            continue
        if key in seen:
            yield f'duplicate field "{path}"'
        seen.add(key)
        yield from _found(item, path, unknown)
