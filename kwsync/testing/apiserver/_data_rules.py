"""What the data of config maps and secrets must be like before they are stored. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kwsync.testing.apiserver._failure import Cause
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._metadata_rules import invalid, too_long

_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_WORDS = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or"
    f" 'key-name', regex used for validation is '{_KEY.pattern}')"
)
_MOST_BYTES = 1024 * 1024


def check_config_map(_kind: Kind, object: Mapping[str, Any]) -> list[Cause]:
    """Keys, and not more than a MiB; an object without a field of its own has an empty path."""
    texts, binary = object.get("data") or {}, object.get("binaryData") or {}
    causes = [*_key_causes("data", texts), *_key_causes("binaryData", binary)]
    size = sum(len((text or "").encode()) for text in texts.values()) + _decoded_size(binary)
    return [*causes, too_long("[]", _MOST_BYTES)] if size > _MOST_BYTES else causes


def check_secret(_kind: Kind, object: Mapping[str, Any]) -> list[Cause]:
    """Keys, and not more than a MiB."""
    data = object.get("data") or {}
    causes = list(_key_causes("data", data))
    return [*causes, too_long("data", _MOST_BYTES)] if _decoded_size(data) > _MOST_BYTES else causes


def _decoded_size(data: Mapping[str, Any]) -> int:
    return sum(len(text or "") * 3 // 4 - (text or "")[-2:].count("=") for text in data.values())


def _key_causes(field: str, data: Mapping[str, Any]) -> Iterator[Cause]:
    for key in data:
        if not _KEY.fullmatch(key):
            yield invalid(f"{field}[{key}]", key, _KEY_WORDS)
