"""Strategic merge patch, after apimachinery's strategicpatch/patch.go.

A real server knows from the type of an object which of its lists are merged, and by what; here the name of the list
tells, which is enough for what kubectl sends (the patchMergeKey tags of k8s.io/api 1.36). Other lists are replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kwsync.testing.apiserver._copies import copied
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._go_types import word_for
from kwsync.testing.apiserver._patch_error import PatchError

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_REMOVE = "$deleteFromPrimitiveList/"
_SCALAR = ""
"""The merge key of a list of scalars that is merged."""

_MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "addresses": ("type",),
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "finalizers": (_SCALAR,),
    "hostAliases": ("ip",),
    "hostIPs": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "matchConditions": ("name",),
    "ownerReferences": ("uid",),
    "podCIDRs": (_SCALAR,),
    "podIPs": ("ip",),
    # Of a container, of a service.
    "ports": ("containerPort", "port"),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "variables": ("name",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "webhooks": ("name",),
}


def strategic_merge(target: JSON, patch: Any) -> JSON:
    """The object after the patch; PatchError for a patch that contradicts itself."""
    if patch is None:
        return copied(target)
    if not isinstance(patch, dict):
        why = f"json: cannot unmarshal {word_for(patch)} into Go value of type map[string]interface {{}}"
        raise PatchError(400, why)
    return _merge_maps(copied(target), copied(patch))


def _merge_maps(original: JSON, patch: JSON) -> JSON:
    # Both are copies, which may be changed and become part of the result.
    if _DIRECTIVE in patch:
        return _directed(patch)
    _retain(original, patch)
    _set_orders(original, patch)
    for key, value in patch.items():
        if key.startswith(_REMOVE):
            _remove_scalars(original, key.removeprefix(_REMOVE), value)
        elif value is None:
            original.pop(key, None)
        else:
            _merge_member(original, key, value)
    return original


def _directed(patch: JSON) -> JSON:
    directive = patch.pop(_DIRECTIVE)
    if directive == "delete":
        return {}
    if directive != "replace":
        raise PatchError(500, f"unknown patch type: {directive} in map: {patch}")
    return patch


def _merge_member(original: JSON, key: str, value: Any) -> None:
    current = original.get(key)
    if isinstance(current, dict) and isinstance(value, dict):
        original[key] = _merge_maps(current, value)
    elif isinstance(current, list) and isinstance(value, list) and key in _MERGE_KEYS:
        original[key] = _merge_lists(current, value, _merge_key(key, value))
    elif isinstance(value, dict) and _DIRECTIVE in value:
        # A directive about what is not there: nothing of it is taken over.
        original.pop(key, None)
    elif isinstance(current, list) and isinstance(value, list):
        original[key] = value
    else:
        original[key] = _without_directives(value)


def _without_directives(value: Any) -> Any:
    """What is taken over as it is: nulls, and parts that only say what to do, are left out."""
    if isinstance(value, dict):
        return {
            key: _without_directives(item)
            for key, item in value.items()
            if item is not None and not _is_directive(key, item)
        }
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not (isinstance(item, dict) and _DIRECTIVE in item)]
    return value


def _is_directive(key: str, value: Any) -> bool:
    return key == _RETAIN or key.startswith((_ORDER, _REMOVE)) or (isinstance(value, dict) and _DIRECTIVE in value)


def _retain(original: JSON, patch: JSON) -> None:
    """`$retainKeys` names all members that may stay: how kubectl changes the one member that a union has."""
    if _RETAIN not in patch:
        return
    keys = patch.pop(_RETAIN)
    named = keys if isinstance(keys, list) else ()
    strange = [key for key, value in patch.items() if not (value is None or key in named or _is_directive(key, None))]
    if strange or not isinstance(keys, list):
        raise PatchError(400, "invalid patch format of retainKeys")
    for key in [key for key in original if key not in keys]:
        del original[key]


def _remove_scalars(original: JSON, key: str, values: Any) -> None:
    if not isinstance(values, list):
        raise PatchError(400, "invalid patch format of primitive list")
    if isinstance(original.get(key), list):
        original[key] = [item for item in original[key] if item not in values]


def _set_orders(original: JSON, patch: JSON) -> None:
    """`$setElementOrder/NAME` gives the order of the list NAME, whose own part in the patch is merged with it."""
    for directive in [key for key in patch if key.startswith(_ORDER)]:
        key, order = directive.removeprefix(_ORDER), patch.pop(directive)
        if not isinstance(order, list):
            raise PatchError(400, "invalid patch format of setElementOrder list")
        current, items = original.get(key), patch.pop(key, None)
        if isinstance(current, list) or isinstance(items, list):
            merge_key = _merge_key(key, order)
            original[key] = _in_order(current or [], items or [], order, merge_key)


def _in_order(current: list[Any], items: list[Any], order: list[Any], merge_key: str) -> list[Any]:
    if not items:
        return _ordered(list(current), order, current, merge_key)
    kept, joined, plain = _join(current, items, merge_key)
    # A delete and an append share their memory in the server, so that what is new takes the place of what is gone.
    before = joined[: len(current)] if len(kept) < len(current) and plain else current
    return _ordered(_ordered(joined, plain, kept, merge_key), order, before, merge_key)


def _merge_key(key: str, items: Iterable[Any]) -> str:
    names = _MERGE_KEYS.get(key, (_SCALAR,))
    return next((name for name in names if any(name in item for item in items if isinstance(item, dict))), names[0])


def _merge_lists(current: list[Any], items: list[Any], merge_key: str) -> list[Any]:
    kept, joined, plain = _join(current, items, merge_key)
    return _ordered(joined, plain, kept, merge_key)


def _join(current: list[Any], items: list[Any], merge_key: str) -> tuple[list[Any], list[Any], list[Any]]:
    """What stays of the list, that with the items merged into it or appended, and the items that are no directives."""
    if merge_key == _SCALAR:
        return current, [*current, *(item for item in items if item not in current)], items
    kept, plain = _carry_out(current, items, merge_key)
    joined = [*kept]
    for item in plain:
        index = _find(joined, _identity(item, merge_key, required=True), merge_key)
        if index < 0:
            joined.append(_without_directives(item))
        else:
            joined[index] = _merge_maps(joined[index], item)
    return kept, joined, plain


def _carry_out(current: list[Any], items: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Follow the `$patch` of single items: delete the item, or (`replace`) let the patch be the whole list."""
    directives = [item for item in items if isinstance(item, dict) and _DIRECTIVE in item]
    plain = [item for item in items if item not in directives]
    for item in directives:
        if item[_DIRECTIVE] not in ("delete", "replace"):
            raise PatchError(500, f"unknown patch type: {item[_DIRECTIVE]} in map: {item}")
        if item[_DIRECTIVE] == "delete":
            gone = _identity(item, merge_key, required=True)
            current = [each for each in current if _identity(each, merge_key) != gone]
    if any(item[_DIRECTIVE] == "replace" for item in directives):
        return [_without_directives(item) for item in plain], []
    return current, plain


def _identity(item: Any, merge_key: str, *, required: bool = False) -> Any:
    if merge_key == _SCALAR:
        return item
    if required and not (isinstance(item, dict) and merge_key in item):
        raise PatchError(500, f"map: {item} does not contain declared merge key: {merge_key}")
    return item.get(merge_key) if isinstance(item, dict) else None


def _find(items: Sequence[Any], identity: Any, merge_key: str) -> int:
    found = (index for index, item in enumerate(items) if isinstance(item, dict) and item.get(merge_key) == identity)
    return next(found, -1)


def _ordered(merged: list[Any], order: list[Any], before: list[Any], merge_key: str) -> list[Any]:
    """Those of the patch in its order; those of the server keep theirs, and stand before what they stood before.

    An item that is new to the server therefore comes before all that the patch does not mention.
    """
    names = [_identity(item, merge_key) for item in order]
    known = [_identity(item, merge_key) for item in before]
    ours = [item for item in merged if _identity(item, merge_key) not in names]
    theirs = [item for item in merged if _identity(item, merge_key) in names]
    theirs.sort(key=lambda item: names.index(_identity(item, merge_key)))
    result: list[Any] = []
    for item in theirs:
        while ours and _stood_before(ours[0], item, known, merge_key):
            result.append(ours.pop(0))
        result.append(item)
    return result + ours


def _stood_before(left: Any, right: Any, known: list[Any], merge_key: str) -> bool:
    first, second = _identity(left, merge_key), _identity(right, merge_key)
    return first in known and second in known and known.index(first) < known.index(second)
