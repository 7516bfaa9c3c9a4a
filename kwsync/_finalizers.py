"""Finalizers: names in an object's metadata that keep it from going before somebody has cleaned up after it.

They are added and removed by a JSON patch that says what it takes for granted (``test`` operations, the way kube-rs
does it): that it is still the same object, and that its list is as it was, or the name still at its place in it. Where
that is not so the server changes nothing, and the object is read and the patch made anew. So no finalizer of anybody
else is lost, and a patch fails for what concerns it only: status writes of others do not matter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kwsync._client import Client
from kwsync._resources import Resource
from kwsync._writes import ATTEMPTS, BACKOFF, Object, Tries, is_conflict, metadata_of, resource_of
from kwsync.errors import ErrorOrigin, WatchError, local_error

_Operations = list[dict[str, Any]]


def is_deleting(object: Mapping[str, Any]) -> bool:
    """Was its deletion asked for, so that it only waits for its finalizers (or its grace period)?"""
    return bool(metadata_of(object).get("deletionTimestamp"))


def has_finalizer(object: Mapping[str, Any], finalizer: str) -> bool:
    """Does the object wait for this finalizer before it goes?"""
    return finalizer in finalizers_of(object)


def finalizers_of(object: Mapping[str, Any]) -> list[str]:
    """All of them, in their order."""
    return list(metadata_of(object).get("finalizers") or ())


def add_finalizer(
    client: Client,
    object: Mapping[str, Any],
    finalizer: str,
    *,
    resource: str | Resource | None = None,
    attempts: int = ATTEMPTS,
    timeout: float | None = None,
    cancel: threading.Event | None = None,
) -> Object:
    """See that the object has the finalizer, before anything is made that has to be cleaned up.

        if not kwsync.is_deleting(object):
            object = kwsync.add_finalizer(client, object, "example.com/bucket")

    Args:
        client: who writes.
        object: as it was read, from a store mostly; it may be old. Nothing is sent where it has the finalizer.
        finalizer: a name with a domain, ``example.com/what``; others are refused by the server.
        resource: what the kind is called in paths; None: found by the object's ``apiVersion`` and ``kind``.
        attempts: how often it is tried at the most where others write the list as well.
        timeout: seconds for all of it; None: those of the client for each request.
        cancel: ends it with `CancelledError`.

    The object as stored. `WatchError` 422 for an object that is being deleted (the server takes no new finalizers
    then), 404 for one that is gone, also when another has its name now. ValueError for an object that was
    never read.
    """
    found = _patched(client, object, resource, lambda now: _adding(now, finalizer), attempts, timeout, cancel)
    if found is None:
        raise local_error(ErrorOrigin.HTTP, "the object is gone, so it gets no finalizer", code=404, reason="NotFound")
    return found


def remove_finalizer(
    client: Client,
    object: Mapping[str, Any],
    finalizer: str,
    *,
    resource: str | Resource | None = None,
    attempts: int = ATTEMPTS,
    timeout: float | None = None,
    cancel: threading.Event | None = None,
) -> Object | None:
    """See that the object does not have the finalizer, after cleaning up. The arguments are those of `add_finalizer`.

    The object as the server answers; if that was the last finalizer of one that is being deleted, it is gone, although
    the answer still shows it. None for an object that was gone already, also when another has its name now.
    """
    return _patched(client, object, resource, lambda now: _removing(now, finalizer), attempts, timeout, cancel)


def _patched(
    client: Client,
    object: Mapping[str, Any],
    resource: str | Resource | None,
    operations_for: Callable[[Mapping[str, Any]], _Operations],
    attempts: int,
    timeout: float | None,
    cancel: threading.Event | None,
) -> Object | None:
    """Patch the object, first as it was given, then as it is; None where it is gone."""
    known = resource_of(object) if resource is None else resource
    metadata = metadata_of(object)
    name, namespace, uid = (metadata.get(each) for each in ("name", "namespace", "uid"))
    if not (name and uid):
        raise ValueError("the object has no metadata.name and uid: give it as it was read from the server")
    tries = Tries.of(attempts, BACKOFF, timeout, cancel)
    seen: list[Mapping[str, Any]] = [object]

    def attempt() -> Object | None:
        now = seen.pop() if seen else client.get(known, name, namespace, **tries.options())
        if metadata_of(now).get("uid") != uid:
            return None
        operations = operations_for(now)
        if not operations:
            return dict(now)
        return client.patch(known, name, operations, namespace, patch_type="json", **tries.options())

    try:
        return tries.run(attempt, _is_stale)
    except WatchError as error:
        if error.status_code == 404:
            return None
        raise


def _adding(object: Mapping[str, Any], finalizer: str) -> _Operations:
    there = finalizers_of(object)
    if finalizer in there:
        return []
    path = "/metadata/finalizers"
    if not there:  # a test for null holds where there is nothing
        return [*_same(object), _test(path, None), {"op": "add", "path": path, "value": [finalizer]}]
    return [*_same(object), _test(path, there), {"op": "add", "path": f"{path}/-", "value": finalizer}]


def _removing(object: Mapping[str, Any], finalizer: str) -> _Operations:
    there = finalizers_of(object)
    paths = [f"/metadata/finalizers/{place}" for place, name in enumerate(there) if name == finalizer]
    steps = [(_test(path, finalizer), {"op": "remove", "path": path}) for path in reversed(paths)]
    return [*_same(object), *(one for step in steps for one in step)] if steps else []


def _same(object: Mapping[str, Any]) -> _Operations:
    """It must be the same object, and not another of its name."""
    return [_test("/metadata/uid", metadata_of(object).get("uid"))]


def _test(path: str, value: str | Sequence[str] | None) -> dict[str, Any]:
    return {"op": "test", "path": path, "value": value}


def _is_stale(error: WatchError) -> bool:
    """Was the patch made for another state? A test that fails is a 422 without causes (kube-apiserver 1.36); a name
    that is refused has some."""
    details = (error.status or {}).get("details")
    causes = details.get("causes") if isinstance(details, Mapping) else None
    return is_conflict(error) or (error.status_code == 422 and not causes)
