"""Scanning with the standard library: it decodes an object, tells where it ends, and lets it go."""

from __future__ import annotations

from typing import Any

from kwsync import _json
from kwsync._scan._named import Listed, Named, Strategy, are_words, check_encoding, named_of
from kwsync._scan._reader import Reader


def read_object(raw: bytes) -> tuple[Named, dict[str, Any] | None] | None:
    """The object, decoded."""
    try:
        document = _json.loads(raw)
    except ValueError:
        return None
    named = named_of(document, raw)
    return named and (named, document)


def read_list(body: bytes) -> Listed | None:
    """The list, each of whose items was decoded and dropped."""
    check_encoding(body)
    found: dict[str, Any] = {}
    reader = Reader(body)
    for key in reader.members():
        if key in found:
            return None  # which one counts?
        found[key] = _items(reader) if key == "items" and reader.peek() == "[" else _word(reader.value()[1])
    reader.end()
    return _listed(found)


def _word(raw: memoryview) -> Any:
    """What the reader's text cannot tell; None for what cannot be decoded, of which a list makes no use."""
    try:
        return _json.loads(bytes(raw))
    except ValueError:
        return None


def _items(reader: Reader) -> list[Named | memoryview]:
    return [_named(*reader.value()) for _ in reader.elements()]


def _named(document: object, raw: memoryview) -> Named | memoryview:
    """The object, or the bytes that tell what the reader's text cannot tell."""
    named = named_of(document, raw)
    plain = named is not None and "".join((*named.key, named.uid, named.version)).isascii()
    return named if named and plain else raw


def _listed(found: dict[str, Any]) -> Listed | None:
    kind, api_version, metadata, items = map(found.get, ("kind", "apiVersion", "metadata", "items"))
    if type(metadata) is not dict or "items" not in found or not (items is None or type(items) is list):
        return None
    version, token = metadata.get("resourceVersion"), metadata.get("continue")
    if type(kind) is type(api_version) is str and are_words(version, token):
        return Listed(kind, api_version, version, token, items or ())
    return None


STRATEGY = Strategy(read_object, read_list)
