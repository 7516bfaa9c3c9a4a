"""Scanning with msgspec: it checks that an object is JSON, reads its metadata, and makes nothing of the rest.

It does not look into strings that it skips, so that their encoding is checked here, and it lets integers be as long as
they like.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, MsgspecError, Raw, Struct, UnsetType
from msgspec.json import Decoder

from kwsync._scan import _plain
from kwsync._scan._named import (
    NO_KIND,
    NO_VERSION,
    Listed,
    Named,
    Strategy,
    check_encoding,
    key_of_words,
    may_have_long_number,
)


class _Metadata(Struct, gc=False):
    name: str
    namespace: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None  # noqa: N815 - as it is written there


class _Object(Struct, gc=False):
    metadata: _Metadata
    kind: str | UnsetType | None = UNSET
    apiVersion: str | UnsetType | None = UNSET  # noqa: N815


class _ListMetadata(Struct, rename={"token": "continue", "version": "resourceVersion"}):
    version: str | None = None
    token: str | None = None


class _List(Struct):
    kind: str
    apiVersion: str  # noqa: N815
    metadata: _ListMetadata
    items: list[Raw] | None


_decode_object = Decoder(_Object).decode
_decode_list = Decoder(_List).decode


def read_object(raw: bytes) -> tuple[Named, dict[str, Any] | None] | None:
    """The object, not decoded."""
    try:
        check_encoding(raw)
    except UnicodeDecodeError:
        return None
    named = _named(raw)
    return named and (named, None)


def _named(raw: bytes | memoryview) -> Named | None:
    try:
        found = _decode_object(raw)
    except (MsgspecError, ValueError, RecursionError):
        return None
    metadata = found.metadata
    if not metadata.name or found.kind == "Table" or may_have_long_number(raw):
        return None
    missing = NO_KIND * (found.kind is UNSET) + NO_VERSION * (found.apiVersion is UNSET)
    key = key_of_words(metadata.namespace, metadata.name)
    return Named(raw, key, metadata.uid or "", metadata.resourceVersion or "", missing)


def read_list(body: bytes) -> Listed | None:
    """The list, whose items are read as they are asked for."""
    try:
        found = _decode_list(body)
    except MsgspecError:
        return None
    except RecursionError:
        return _plain.read_list(body)
    check_encoding(body)
    return Listed(found.kind, found.apiVersion, found.metadata.version, found.metadata.token, _items(found.items or []))


def _items(items: list[Raw]) -> Iterator[Named | memoryview]:
    for item in items:
        raw = memoryview(item)
        yield _named(raw) or raw


STRATEGY = Strategy(read_object, read_list)
