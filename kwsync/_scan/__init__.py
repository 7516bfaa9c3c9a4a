"""Bytes of watch lines and of list bodies to records, decoding no more than has to be. Pure.

With the extra ``kwsync[fast]`` an object that nobody looks at is never decoded: msgspec checks its bytes and reads its
metadata. Without it the standard library decodes one object at a time and says where it ends.
"""

from __future__ import annotations

import re

import attrs

from kwsync import _json
from kwsync._events import EventType, sendable_version
from kwsync._records import Change, PlainRecord, Record
from kwsync._scan import _deep, _plain
from kwsync._scan._named import Listed, Named, Strategy, check_encoding, named_otherwise

_TYPES = {kind.value.encode(): kind for kind in (EventType.ADDED, EventType.MODIFIED, EventType.DELETED)}

_SPACE = b" \t\r\n"

_HEAD = re.compile(rb'_\{_"type"_:_"(ADDED|MODIFIED|DELETED)"_,_"object"_:_(?=\{)'.replace(b"_", rb"[ \t\r\n]*"))
"""Where nearly every line of every server begins. What comes next up to the last brace is the object, and nothing but
it, exactly if it is one JSON document: no other key can be hidden there, before or behind it."""

_NO_LISTS = ("APIGroupDiscoveryList",)
"""Kinds that look like a list of objects, but are none."""


@attrs.frozen
class ScannedList:
    """One page of a list."""

    changes: list[Change]
    """Each of type ADDED. The bytes of an object have ``kind`` and ``apiVersion``, which servers leave out in lists."""
    resource_version: str | None
    continue_token: str | None
    nameless: int = 0
    """Items that have no name, which nobody could keep."""


def scan_line(line: bytes) -> Change | None:
    """The change that a line of a watch tells; None for whatever is not plainly one of ADDED, MODIFIED, DELETED with a
    named object: the caller reads it the long way.

    The record of a change can be decoded, and gives what decoding the line would give. (An object that is nested
    nearly as deeply as Python's stack allows, a thousand levels, may be too deep for who is further up that stack.)
    What cannot be decoded is left to `scan_undecodable`.
    """
    head = _HEAD.match(line)
    body = line.rstrip(_SPACE)
    if head is None or not body.endswith(b"}"):
        return None
    found = (_strategy or _load_strategy()).read_object(body[head.end() : -1].rstrip(_SPACE))
    if found is None:
        return None
    named, decoded = found
    return Change(_TYPES[head[1]], _record(named, bytes(named.raw)), decoded)


def scan_undecodable(line: bytes) -> Change | None:
    """As `scan_line`, for a line that cannot be decoded because its object is nested too deeply, or holds too long an
    integer. It is slow: for what everything else has refused. None for what is no JSON, too.

    The record of the change cannot be decoded. It is there nevertheless, so that the object is not taken for another
    state of itself, or for one that is not there.
    """
    try:
        check_encoding(line)
        found = _deep.members(line, ("type", "object"))
        kind = _TYPES.get((_deep.text_of(found.get("type")) or "").encode())
        named = named_otherwise(found["object"]) if kind and "object" in found else None
    except ValueError:
        return None
    return Change(kind, _record(named, bytes(named.raw))) if kind and named else None


def scan_list(body: bytes) -> ScannedList | None:
    """The page of a list; None where it is none (another document, another shape, not JSON).

    An object that cannot be decoded, since it is nested too deeply or holds too long an integer, is there nevertheless.
    """
    try:
        listed = (_strategy or _load_strategy()).read_list(body)
        return _scanned(listed) if listed and _is_list(listed) else None
    except ValueError:
        return None


def _choose() -> Strategy:
    try:
        from kwsync._scan import _fast
    except ImportError:
        return _plain.STRATEGY
    return _fast.STRATEGY


_strategy: Strategy | None = None


def _load_strategy() -> Strategy:
    """Import the fast way, which costs milliseconds, when the first object comes."""
    global _strategy
    _strategy = _choose()
    return _strategy


def _is_list(listed: Listed) -> bool:
    """Is it a list of objects, whose token for the next page can be sent back?"""
    return listed.kind.endswith("List") and listed.kind not in _NO_LISTS and (listed.token or "").isprintable()


def _scanned(listed: Listed) -> ScannedList:
    fronts, changes, nameless = _fronts(listed), list[Change](), 0
    for item in listed.items:
        named = item if isinstance(item, Named) else named_otherwise(item)
        if named is None:
            nameless += 1
        else:
            changes.append(Change(EventType.ADDED, _record(named, _filled(named, fronts))))
    return ScannedList(changes, sendable_version(listed.version), listed.token or None, nameless)


def _record(named: Named, raw: bytes) -> Record:
    return PlainRecord(named.key, named.uid, sendable_version(named.version) or "", raw)


def _fronts(listed: Listed) -> list[bytes]:
    """How objects begin that lack nothing, ``kind``, ``apiVersion``, or both: `Named.missing` is the index."""
    kind = listed.kind.removesuffix("List")
    if not kind:
        return [b"{"] * 4  # a list of anything, whose items tell their own
    kind_too, version_too = (
        _json.dumps({key: value})[1:-1] + b"," for key, value in (("kind", kind), ("apiVersion", listed.api_version))
    )
    # In the order of a watch's lines, so that a list of what has not changed has the very same bytes.
    return [b"{", b"{" + kind_too, b"{" + version_too, b"{" + kind_too + version_too]


def _filled(named: Named, fronts: list[bytes]) -> bytes:
    """The bytes in a copy of their own, so that the whole page can go."""
    return b"".join((fronts[named.missing], named.raw[1:])) if named.missing else bytes(named.raw)
