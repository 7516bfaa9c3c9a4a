"""What changed in an object, line by line, for people. Pure.

``~ status.phase: Pending → Running``, ``+ metadata.labels.app: web``, ``- metadata.finalizers[0]: example.com/x``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import SequenceMatcher, unified_diff
from typing import Any

import attrs

from kwsync.cli._documents import mapping, objects
from kwsync.cli._text import escaped

ARROW, ASCII_ARROW = "→", "->"

MASKED = "***"
"""In place of what a Secret holds."""

_QUIET_METADATA = ("managedFields", "resourceVersion", "generation", "selfLink")
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""It repeats what is seen elsewhere, and of a Secret it holds the data."""

_KEYS = ("name", "type", "mountPath", "key", "uid", "ip", "containerPort", "port", "id")
"""By which the items of a list are known, as Kubernetes merges them; the first counts that all of them have."""

_LONGEST = 160
"""Characters of a value."""
_MOST_LINES = 40
"""Of a text of several lines."""


def changed_lines(old: dict[str, Any] | None, new: dict[str, Any] | None, *, arrow: str = ARROW) -> list[str]:
    """What is different in *new*: one line for each field, sign and path first, safe for a terminal.

    Where one of them is not known there is nothing to compare, and no line. Left out is what changes by itself:
    managedFields, resourceVersion, generation, the heartbeats of conditions and Leases. What a Secret holds is masked.
    """
    if old is None or new is None:
        return []
    secret = "Secret" in (old.get("kind"), new.get("kind"))
    try:
        return list(_Comparer(arrow, secret).fields("", _told(old), _told(new)))
    except RecursionError:
        return ["~ it is nested too deeply to be compared"]


def _told(document: dict[str, Any]) -> dict[str, Any]:
    """The object without what changes by itself."""
    told = dict(document)
    told["metadata"] = _without(mapping(document.get("metadata")), *_QUIET_METADATA)
    if _APPLIED in mapping(told["metadata"].get("annotations")):
        told["metadata"]["annotations"] = _without(told["metadata"]["annotations"], _APPLIED)
    conditions = mapping(document.get("status")).get("conditions")
    if conditions and isinstance(conditions, list) and len(objects(conditions)) == len(conditions):
        quiet = [_without(condition, "lastHeartbeatTime") for condition in conditions]
        told["status"] = {**document["status"], "conditions": quiet}
    if (
        document.get("kind") == "Lease"
    ):  # whoever holds it renews it every few seconds; who holds it, and since when, stays
        told["spec"] = _without(mapping(document.get("spec")), "renewTime")
    return told


def _without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


@attrs.frozen
class _Comparer:
    arrow: str
    secret: bool

    def fields(self, path: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
        """Those of *new* in their order, then those that are gone."""
        for name in [*new, *(name for name in old if name not in new)]:
            below = _below(path, name)
            if name not in old:
                yield self._one("+", below, new[name])
            elif name not in new:
                yield self._one("-", below, old[name])
            else:
                yield from self._value(below, old[name], new[name])

    def _value(self, path: str, old: Any, new: Any) -> Iterator[str]:
        if isinstance(old, dict) and isinstance(new, dict):
            yield from self.fields(path, old, new)
        elif isinstance(old, list) and isinstance(new, list) and not self._is_masked(path):
            yield from self._items(path, old, new)
        elif not _same(old, new):
            yield from self._changed(path, old, new)

    def _items(self, path: str, old: list[Any], new: list[Any]) -> Iterator[str]:
        key = _key_of(old, new)
        if key is None:
            yield from self._places(path, old, new)
            return
        before, after = ({_word(item[key]): item for item in items} for items in (old, new))
        for name, item in after.items():
            if name in before:
                yield from self._value(f"{path}[{name}]", before[name], item)
            else:
                yield self._one("+", f"{path}[{name}]", item)
        yield from (self._one("-", f"{path}[{name}]", item) for name, item in before.items() if name not in after)
        kept = [[name for name in one if name in other] for one, other in ((before, after), (after, before))]
        if kept[0] != kept[1]:
            yield f"~ {path}: {', '.join(kept[0])} {self.arrow} {', '.join(kept[1])} (their order)"

    def _places(self, path: str, old: list[Any], new: list[Any]) -> Iterator[str]:
        """Items that only their place tells apart."""
        before, after = ([_json(item) for item in items] for items in (old, new))
        for tag, start, end, first, last in SequenceMatcher(None, before, after).get_opcodes():
            if tag == "equal":
                continue
            paired = min(end - start, last - first)
            for place in range(paired):
                yield from self._value(f"{path}[{first + place}]", old[start + place], new[first + place])
            yield from (self._one("-", f"{path}[{place}]", old[place]) for place in range(start + paired, end))
            yield from (self._one("+", f"{path}[{place}]", new[place]) for place in range(first + paired, last))

    def _one(self, sign: str, path: str, value: Any) -> str:
        return f"{sign} {path}: {_cut(self._shown(path, value))}"

    def _changed(self, path: str, old: Any, new: Any) -> Iterator[str]:
        if self._is_masked(path):
            yield f"~ {path}: {MASKED} {self.arrow} {MASKED}"
        elif isinstance(old, str) and isinstance(new, str) and ("\n" in old or "\n" in new):
            yield f"~ {path}:"
            yield from _text_lines(old, new)
        else:
            before, after = _cut_both(_word(old), _word(new))
            yield f"~ {path}: {before} {self.arrow} {after}"

    def _shown(self, path: str, value: Any) -> str:
        if self._is_masked(path):
            return _json(dict.fromkeys(value, MASKED)) if isinstance(value, dict) else MASKED
        return _word(value)

    def _is_masked(self, path: str) -> bool:
        return self.secret and path.startswith(("data", "stringData"))


def _below(path: str, name: str) -> str:
    """``metadata.labels.app``; names that hold dots and the like stand in brackets."""
    plain = name.replace("-", "").replace("_", "").isalnum()
    if not plain:
        return f"{path}[{escaped(_json(name))}]"
    return f"{path}.{name}" if path else name


def _key_of(old: list[Any], new: list[Any]) -> str | None:
    for key in _KEYS:
        if all(_are_told_apart(items, key) for items in (old, new)):
            return key
    return None


def _are_told_apart(items: list[Any], key: str) -> bool:
    if not all(isinstance(item, dict) and isinstance(item.get(key), (str, int)) for item in items):
        return False
    return len({_word(item[key]) for item in items}) == len(items)


def _same(old: Any, new: Any) -> bool:
    """True is 1 for Python, and not for Kubernetes."""
    return old is new or (bool(old == new) and isinstance(old, bool) == isinstance(new, bool))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _word(value: Any) -> str:
    """A value on one line: a text that cannot be taken for something else without quotes."""
    if not isinstance(value, str) or not value or value != value.strip() or escaped(value) != value:
        return escaped(_json(value))
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return value
    return _json(value)


def _cut(shown: str, start: int = 0) -> str:
    cut = shown[start : start + _LONGEST]
    return f"{'...' if start else ''}{cut}{'...' if start + _LONGEST < len(shown) else ''}"


def _cut_both(old: str, new: str) -> tuple[str, str]:
    """Both so that the first difference is seen."""
    if max(len(old), len(new)) <= _LONGEST:
        return old, new
    same = next((place for place, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
    start = max((same or min(len(old), len(new))) - 20, 0)
    return _cut(old, start), _cut(new, start)


def _text_lines(old: str, new: str) -> Iterator[str]:
    """Of a text of several lines those that changed."""
    before, after = old.split("\n"), new.split("\n")
    found = [line for line in unified_diff(before, after, n=0, lineterm="") if not line.startswith("@@")][2:]
    for line in found[:_MOST_LINES]:
        yield f"    {line[0]} {_cut(escaped(line[1:]))}"
    if len(found) > _MOST_LINES:
        yield f"    ... and {len(found) - _MOST_LINES} more lines"
