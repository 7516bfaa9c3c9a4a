"""The subresource `scale`: how many replicas a workload is to have, without the rest of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kwsync.testing.apiserver._collection import Version
from kwsync.testing.apiserver._failure import Cause
from kwsync.testing.apiserver._go_types import type_error
from kwsync.testing.apiserver._kind import Kind, ScalePaths
from kwsync.testing.apiserver._lookup import at, text, whole
from kwsync.testing.apiserver._metadata_rules import invalid
from kwsync.testing.apiserver._reply import Reply, json_reply
from kwsync.testing.apiserver._schemas_meta import SCALE
from kwsync.testing.apiserver._status import bad_request, internal_error
from kwsync.testing.apiserver._status import invalid as invalid_error

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_document(kind: Kind, version: Version) -> dict[str, Any]:
    """The Scale of a workload (recorded: scale-put); 500 for a custom one that does not say its replicas."""
    assert kind.scale is not None
    paths = kind.scale
    if kind.custom and at(version.object, paths.spec) is None:
        raise internal_error(f'the spec replicas field ".{paths.spec}" does not exist')
    replicas = whole(version.object, paths.spec)
    selector = text(version.object, paths.selector) if kind.custom else _selector(version)
    status: dict[str, Any] = {"replicas": whole(version.object, paths.status)}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: version.metadata[name] for name in _KEPT if name in version.metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {**status, "selector": selector} if selector else status,
    }


def _selector(version: Version) -> str:
    selector = at(version.object, "spec.selector") or {}
    labels = selector.get("matchLabels", selector)
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def scale_of(kind: Kind, version: Version) -> Reply:
    """The same as an answer."""
    return json_reply(200, scale_document(kind, version))


def checked_scale(body: Any) -> dict[str, Any]:
    """The body as a Scale, 400 for what is none."""
    if not isinstance(body, dict):
        raise bad_request("the object provided is unrecognized (must be of type Scale)")
    if error := type_error(SCALE, body):
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {error}')
    return body


def scaled(kind: Kind, version: Version, scale: dict[str, Any]) -> dict[str, Any]:
    """The workload with the replicas that a Scale asks for; 422 for a number that is below zero."""
    assert kind.scale is not None
    replicas = whole(scale, "spec.replicas")
    if replicas < 0 and not kind.custom:
        cause = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid_error("Scale", version.name, [cause], "autoscaling")
    metadata = scale.get("metadata") or {}
    kept = version.metadata["resourceVersion"]
    given = {"resourceVersion": metadata.get("resourceVersion") or kept, "uid": metadata.get("uid")}
    written = _with(version.object, kind.scale.spec.split("."), replicas)
    return {"apiVersion": kind.api_version, "kind": kind.name, **written, "metadata": {**version.metadata, **given}}


def _with(document: Mapping[str, Any], path: list[str], value: int) -> dict[str, Any]:
    name, *rest = path
    inner = document.get(name)
    return {**document, name: _with(inner if isinstance(inner, dict) else {}, rest, value) if rest else value}


_GO_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}"}


def _go_type(value: object) -> str:
    return _GO_TYPES.get(type(value), "map[string]interface {}")


def scale_causes(paths: ScalePaths, object: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with the replicas of a custom object, and with its selector."""
    for path in (paths.spec, paths.status):
        value = at(object, path)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            why = f".{path} accessor error: {value} is of the type {_go_type(value)}, expected int64"
            yield invalid(f".{path}", 0, why)
        elif value is not None and value < 0:
            yield invalid(f".{path}", value, "should be a non-negative integer")
    selector = at(object, paths.selector)
    if paths.selector and selector is not None and not isinstance(selector, str):
        why = f".{paths.selector} accessor error: {selector} is of the type {_go_type(selector)}, expected string"
        yield invalid(f".{paths.selector}", "", why)
