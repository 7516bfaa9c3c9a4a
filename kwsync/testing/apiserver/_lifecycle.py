"""What one write makes the server write besides: the end of namespaces, of custom kinds, and of pods. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._collection import MODIFIED, Version, within
from kwsync.testing.apiserver._kind import Kind, Resource, custom_kinds, stored_kind
from kwsync.testing.apiserver._metadata import is_terminating, stamp, terminating
from kwsync.testing.apiserver._storage import Storage

PODS: Resource = ("", "pods")
NAMESPACES: Resource = ("", "namespaces")
DEFINITIONS: Resource = ("apiextensions.k8s.io", "customresourcedefinitions")

_GRACE_SECONDS = 30
_IMMORTAL = ("default", "kube-system", "kube-public")
_MOST_GRACE_SECONDS = 100 * 365 * 24 * 3600
"""A real server takes more, and loses count of it."""
_DONE = ("Succeeded", "Failed")


# Before a create.


def check_open(state: Storage, kind: Kind, namespace: str, name: str) -> None:
    """404 without the namespace, 403 while it or the kind's definition is going away."""
    if kind.namespaced:
        found = state.collection(NAMESPACES).objects.get(namespace)
        if found is None:
            raise _status.namespace_not_found(namespace)
        if is_terminating(found.metadata):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise _status.forbidden_because(kind.plural, name, why, kind.group)
    definition = _definition_of(state, kind)
    if definition is not None and is_terminating(definition.metadata):
        why = "create not allowed while custom resource definition is terminating"
        raise _status.forbidden_because(kind.plural, name, why, kind.group)


def _definition_of(state: Storage, kind: Kind) -> Version | None:
    if not kind.custom:
        return None
    return state.collection(DEFINITIONS).objects.get(f"{kind.plural}.{kind.group}")


# After a write.


def after_write(state: Storage, kind: Kind, old: Version | None, new: Version) -> Version:
    """Serve a custom kind as its definition says; a change of that ends the watches and their history (D3).

    The object as it is after all.
    """
    if kind.stored_as != DEFINITIONS or (old is not None and old.object["spec"] == new.object["spec"]):
        return new
    if old is None:
        new = state.commit(kind, MODIFIED, new.key, _established(new, stamp(state.now())), new)
    spec = new.object["spec"]
    resource = (spec["group"], spec["names"]["plural"])
    state.catalog.define(resource, custom_kinds(new.object))
    _restart(state, resource)
    return new


def _restart(state: Storage, resource: Resource) -> None:
    collection = state.collection(resource)
    collection.restart(state.revision, state.compacted)
    collection.end_watches()


def _established(version: Version, now: str) -> dict[str, Any]:
    """Established at once, where a real server takes some hundredths of a second and two writes more."""
    conditions = [
        _condition("NamesAccepted", "NoConflicts", "no conflicts found", now),
        _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", now),
    ]
    spec = version.object["spec"]
    stored = [one["name"] for one in spec["versions"] if one.get("storage")]
    status = {"conditions": conditions, "acceptedNames": spec["names"], "storedVersions": stored}
    return {**version.object, "status": status}


def _condition(what: str, reason: str, message: str, now: str) -> dict[str, str]:
    return {"type": what, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}


# A deletion.


def check_mortal(kind: Kind, name: str) -> None:
    """403 for the namespaces that a cluster needs."""
    if kind.stored_as == NAMESPACES and name in _IMMORTAL:
        raise _status.forbidden_because(kind.plural, name, "this namespace may not be deleted")


def dies_in_two_steps(kind: Kind) -> bool:
    """Whether even an object without finalizers is first marked; a pod that is killed makes two writes."""
    return kind.stored_as in (PODS, NAMESPACES, DEFINITIONS)


def holds_others(kind: Kind) -> bool:
    """Whether it holds other objects, which go first."""
    return kind.stored_as in (NAMESPACES, DEFINITIONS)


def grace_of(kind: Kind, old: Version, wanted: int | None) -> int:
    """The seconds before an object goes: for pods alone, and none for one that runs nowhere."""
    if kind.stored_as != PODS:
        return 0
    spec = old.object.get("spec") or {}
    if not spec.get("nodeName") or (old.object.get("status") or {}).get("phase") in _DONE:
        return 0
    default = spec.get("terminationGracePeriodSeconds", _GRACE_SECONDS)
    return min(max(0, default if wanted is None else wanted), _MOST_GRACE_SECONDS)


def dying(kind: Kind, old: Version, now: datetime, grace: int) -> dict[str, Any]:
    """The object with the mark of its deletion."""
    marked = {**old.object, "metadata": terminating(old.metadata, now, grace)}
    if kind.stored_as == NAMESPACES:
        marked["status"] = {**marked.get("status", {}), "phase": "Terminating"}
    return marked


def members(state: Storage, kind: Kind, holder: Version) -> list[tuple[Kind, Version]]:
    """What is in a namespace, or of a custom kind."""
    if kind.stored_as == NAMESPACES:
        inside = {each.stored_as: each for each in state.catalog.kinds if each.namespaced}
        return [(each, one) for each in inside.values() for one in _inside(state, each.stored_as, holder.name)]
    spec = holder.object["spec"]
    resource = (spec["group"], spec["names"]["plural"])
    if resource not in state.catalog.defined:
        return []
    # Also what no version is served of any more: it is as it was when one is served again.
    custom = stored_kind(holder.object)
    return [(custom, one) for _, one in state.collection(resource).rows()]


def _inside(state: Storage, resource: Resource, namespace: str) -> list[Version]:
    collection = state.collections.get(resource)
    rows = collection.rows() if collection else []
    start, end = within(rows, f"{namespace}/")
    return [version for _, version in rows[start:end]]


def after_removal(state: Storage, kind: Kind, old: Version) -> None:
    """End the namespace, or the definition, that was waiting for this object to go."""
    if old.namespace:
        finish(state, NAMESPACES, old.namespace)
    if kind.custom:
        finish(state, DEFINITIONS, f"{kind.plural}.{kind.group}")


def finish(state: Storage, resource: Resource, key: str) -> None:
    """Remove a holder that is on its way out, once it is empty."""
    holder = state.collection(resource).objects.get(key)
    if holder is None or not is_terminating(holder.metadata) or holder.metadata.get("finalizers"):
        return
    kind = next(kind for kind in state.catalog.kinds if kind.stored_as == resource)
    if members(state, kind, holder):
        return
    if resource == DEFINITIONS:
        _unserve(state, holder)
    state.take_away(kind, holder)


def _unserve(state: Storage, definition: Version) -> None:
    spec = definition.object["spec"]
    resource = (spec["group"], spec["names"]["plural"])
    state.catalog.drop(resource)
    # It stays, empty, for whoever goes back in time.
    if resource in state.collections:
        state.collections[resource].end_watches()
