"""What the four kinds of PATCH make of an object. No input is changed, and no result shares a part with one.

The failures are those of kube-apiserver's handlers/patch.go.
"""

from __future__ import annotations

from typing import Any

from kwsync.testing.apiserver._copies import copied
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._go_types import word_for
from kwsync.testing.apiserver._json_patch import json_patch
from kwsync.testing.apiserver._patch_error import PatchError
from kwsync.testing.apiserver._strategic import strategic_merge

__all__ = ["PatchError", "apply", "json_patch", "merge_patch", "strategic_merge"]


def merge_patch(target: JSON, patch: Any) -> JSON:
    """RFC 7396: null removes a member, objects are merged, everything else is put in place.

    The server's library (evanphx/json-patch v4) also takes nulls out of the objects in a list.
    """
    return {**_merged(target, checked_object(patch))}


def checked_object(patch: Any) -> JSON:
    """The patch, if it is an object; the server's words if not."""
    if isinstance(patch, dict):
        return patch
    if patch is None:
        raise PatchError(400, "Invalid JSON Patch")
    go_type = "map[string]interface {}"
    why = f"json: cannot unmarshal {word_for(patch)} into Go value of type {go_type}"
    raise PatchError(400, f"error decoding patch: {why}")


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return copied(patch) if isinstance(target, dict) else _pruned(patch)
    result = copied(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value)
    return result


def _pruned(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _pruned(item) for name, item in value.items() if item is not None}
    return [_pruned(item) for item in value] if isinstance(value, list) else value


def apply(current: JSON | None, configuration: Any) -> JSON:
    """Server-side apply as create-or-merge: lists are merged as strategic merge patches do it, nobody owns a field.

    So nothing that a former configuration had and this one leaves out is removed, and there are no conflicts.
    """
    return strategic_merge(current or {}, configuration)
