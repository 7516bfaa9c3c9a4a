"""JSON patch (RFC 6902), with the liberties of the server's library (evanphx/json-patch v4).

Negative indices count from the end, a value that is left out is null, a member that is absent passes a test for null,
and only `replace` and `test` take the empty path, which is the whole document.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kwsync.testing.apiserver._copies import copied
from kwsync.testing.apiserver._decode import DecodeError, check_levels
from kwsync.testing.apiserver._encode import dumps
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._go_types import word_for
from kwsync.testing.apiserver._patch_error import PatchError

MOST_OPERATIONS = 10_000
MOST_COPIED_BYTES = 3 * 1024 * 1024
"""Of all copies of one patch together."""


def json_patch(target: JSON, operations: Any) -> JSON:
    """The document after all operations; PatchError 422 if one of them fails, 400 if they are none."""
    document: Any = copied(target)
    left = MOST_COPIED_BYTES
    for operation in _checked(operations):
        apply = _OPERATIONS.get(operation.get("op", ""))
        if apply is None:
            raise PatchError(422, f"Unexpected kind: {operation.get('op', 'unknown')}")
        left -= _copied_bytes(document, operation)
        if left < 0:
            raise PatchError(422, "Unable to complete the copy: the accumulated size of copies is too large")
        document = apply(document, operation)
    check_depth(document)
    return document  # type: ignore[no-any-return]


def check_depth(document: Any) -> None:
    """PatchError 400 for what is nested too deeply to be stored, as where it comes in a body."""
    try:
        check_levels(document)
    except DecodeError as error:
        raise PatchError(400, str(error)) from None


def _copied_bytes(document: Any, operation: JSON) -> int:
    """What a `copy` adds; a few of them could double a document until the memory ends."""
    if operation.get("op") != "copy":
        return 0
    value = _source(document, operation)
    check_depth(value)
    return len(dumps(value))


def _checked(given: Any) -> list[JSON]:
    go_type = "[]handlers.jsonPatchOp"
    if given is not None and not isinstance(given, list):
        why = f"json: cannot unmarshal {word_for(given)} into Go value of type {go_type}"
        raise PatchError(400, f"error decoding patch: {why}")
    operations: list[Any] = given or []
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("op", ""), str):
            raise PatchError(400, "error decoding patch: json: cannot unmarshal value into Go value of that type")
    if len(operations) > MOST_OPERATIONS:
        allowed = f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(operations)}"
        raise PatchError(413, f"Request entity too large: {allowed}")
    return operations


def _add(document: Any, operation: JSON) -> Any:
    _insert(document, _path(operation), copied(operation.get("value")))
    return document


def _remove(document: Any, operation: JSON) -> Any:
    _cut(document, _path(operation))
    return document


def _replace(document: Any, operation: JSON) -> Any:
    path, value = _path(operation), copied(operation.get("value"))
    if path == "":
        if not isinstance(value, (dict, list)):
            raise PatchError(422, "replace operation value must be object or array")
        return value
    holder, key = _holder(document, path)
    _get(holder, key, path)
    # A member that is absent is added: the library sees no difference to null.
    holder[key if isinstance(holder, dict) else _index(key, len(holder))] = value
    return document


def _move(document: Any, operation: JSON) -> Any:
    value = _cut(document, _path(operation, "from"))
    _insert(document, _path(operation), value)
    return document


def _copy(document: Any, operation: JSON) -> Any:
    _insert(document, _path(operation), copied(_source(document, operation)))
    return document


def _source(document: Any, operation: JSON) -> Any:
    source = _path(operation, "from")
    return _get(*_holder(document, source), source)


def _test(document: Any, operation: JSON) -> Any:
    path = _path(operation)
    found = document if path == "" else _get(*_holder(document, path), path)
    if not _equal(found, operation.get("value")):
        raise PatchError(422, f"testing value {path} failed: test failed")
    return document


_OPERATIONS: dict[str, Callable[[Any, JSON], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _path(operation: JSON, member: str = "path") -> str:
    path = operation.get(member)
    if not isinstance(path, str):
        raise PatchError(422, f"operation missing {member} field: missing value")
    return path


def _holder(document: Any, path: str) -> tuple[Any, str]:
    """The object or list that holds what the path points to, and the key in it."""
    _, *steps = path.split("/")
    if not steps:
        raise _missing(path)
    for step in steps[:-1]:
        document = _get(document, _decoded(step), path)
    if not isinstance(document, (dict, list)):
        raise _missing(path)
    return document, _decoded(steps[-1])


def _missing(path: str) -> PatchError:
    return PatchError(422, f'operation does not apply: doc is missing path: "{path}": missing value')


def _decoded(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _get(holder: Any, key: str, path: str) -> Any:
    if isinstance(holder, dict):
        return holder.get(key)
    if not isinstance(holder, list):
        raise _missing(path)
    return holder[_index(key, len(holder))]


def _insert(document: Any, path: str, value: Any) -> None:
    holder, key = _holder(document, path)
    if isinstance(holder, dict):
        holder[key] = value
    else:
        holder.insert(len(holder) if key == "-" else _index(key, len(holder) + 1), value)


def _cut(document: Any, path: str) -> Any:
    holder, key = _holder(document, path)
    if isinstance(holder, list):
        return holder.pop(_index(key, len(holder)))
    if key not in holder:
        raise PatchError(
            422, f"error in remove for path: '{path}': Unable to remove nonexistent key: {key}: missing value"
        )
    return holder.pop(key)


def _index(key: str, size: int) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", key, re.ASCII):
        raise PatchError(422, f"value was not a proper array index: '{key}'")
    index = int(key)
    if not -size <= index < size:
        raise PatchError(422, f"Unable to access invalid index: {index}: invalid index referenced")
    return index + size if index < 0 else index


def _equal(left: Any, right: Any) -> bool:
    """As JSON: true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)
