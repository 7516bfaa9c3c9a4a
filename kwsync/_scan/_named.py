"""What both ways of scanning give: an object's bytes with what names it, and a list's words about itself."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kwsync import _json
from kwsync._events import ObjectKey
from kwsync._records import record_of
from kwsync._scan._deep import outline

NO_KIND, NO_VERSION = 1, 2
"""Bits of `Named.missing`."""

_DIGITS = min(getattr(sys, "get_int_max_str_digits", int)() or 4300, 4300)
"""Python reads no integer that is longer than its limit. (The oldest of 3.10 have none.)"""

_STEP = _DIGITS // 5
_FEW_DIGITS, _MANY_DIGITS = (re.compile(b"[0-9]{%d}" % count) for count in (5, _DIGITS))

_PIECE = 16 * 1024


class Named(NamedTuple):
    """An object that has a name. Its bytes begin with the brace."""

    raw: bytes | memoryview
    key: ObjectKey
    uid: str
    version: str
    missing: int
    """Which of ``kind`` and ``apiVersion`` are not there at all."""


class Listed(NamedTuple):
    """A list, whatever its kind."""

    kind: str
    api_version: str
    version: str | None
    token: str | None
    items: Iterable[Named | memoryview]
    """Bytes alone for what is no plain object with a name."""


class Strategy(NamedTuple):
    """A way of scanning."""

    read_object: Callable[[bytes], tuple[Named, dict[str, Any] | None] | None]
    """Bytes that begin with a brace to the object, and what it was decoded to, if it was; None for what is unusual.
    Never raises."""
    read_list: Callable[[bytes], Listed | None]
    """The body of a list; None or ValueError for what is none."""


def key_of_words(namespace: str | None, name: str) -> ObjectKey:
    """The key; one namespace is one string, however many objects it has."""
    return ObjectKey(sys.intern(namespace or ""), name)


def named_of(document: object, raw: bytes | memoryview) -> Named | None:
    """The object that was decoded from these bytes; None where its metadata is not as it should be."""
    if type(document) is not dict or document.get("kind") == "Table":
        return None
    metadata = document.get("metadata")
    if type(metadata) is not dict:
        return None
    name, namespace, uid, version = map(metadata.get, ("name", "namespace", "uid", "resourceVersion"))
    if not (name and type(name) is str and are_words(namespace, uid, version)):
        return None
    return Named(raw, key_of_words(namespace, name), uid or "", version or "", missing_from(document))


def are_words(*values: object) -> bool:
    """Is each of them text, or null?"""
    return all(value is None or type(value) is str for value in values)


def missing_from(document: dict[str, Any]) -> int:
    """The bits for `Named.missing`."""
    return NO_KIND * ("kind" not in document) + NO_VERSION * ("apiVersion" not in document)


def named_otherwise(raw: memoryview) -> Named | None:
    """An item that is not plainly an object with a name, read by the rules of `record_of`; None where it has none.

    One that cannot be decoded, since it is nested too deeply or holds too long an integer, has a name nevertheless.
    """
    try:
        document = _json.loads(bytes(raw))
    except ValueError:
        document = outline(raw)
    record = record_of(document, b"") if type(document) is dict else None
    if record is None:
        return None
    return Named(raw, record.key, record.uid, record.version, missing_from(document))


def check_encoding(body: bytes) -> None:
    """UnicodeDecodeError for what is not UTF-8; in pieces, since the text of all may take four times the memory."""
    if body.isascii():
        return
    if len(body) <= _PIECE:
        str(body, "utf-8")
        return
    decode = codecs.getincrementaldecoder("utf-8")().decode
    for start in range(0, len(body), _PIECE):
        decode(body[start : start + _PIECE])
    decode(b"", True)


def may_have_long_number(raw: bytes | memoryview) -> bool:
    """Could there be an integer that Python refuses to read? A look at a few bytes tells nearly always."""
    if len(raw) < _DIGITS or not _FEW_DIGITS.search(bytes(raw[::_STEP])):
        return False
    return _MANY_DIGITS.search(raw) is not None
