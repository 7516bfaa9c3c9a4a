"""The subresource `scale`: how many replicas a workload is to have, without the rest of it."""

from __future__ import annotations

from typing import Any

from kwsync.testing.apiserver._collection import Version
from kwsync.testing.apiserver._go_types import type_error
from kwsync.testing.apiserver._reply import Reply, json_reply
from kwsync.testing.apiserver._schemas_meta import SCALE
from kwsync.testing.apiserver._status import bad_request

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_document(version: Version) -> dict[str, Any]:
    """The Scale of a workload (recorded: scale-put)."""
    spec, status = version.object.get("spec") or {}, version.object.get("status") or {}
    selector = spec.get("selector") or {}
    labels = selector.get("matchLabels", selector)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: version.metadata[name] for name in _KEPT if name in version.metadata},
        "spec": {"replicas": spec.get("replicas", 0)},
        "status": {
            "replicas": status.get("replicas", 0),
            "selector": ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
        },
    }


def scale_of(version: Version) -> Reply:
    """The same as an answer."""
    return json_reply(200, scale_document(version))


def checked_scale(body: Any) -> dict[str, Any]:
    """The body as a Scale, 400 for what is none."""
    if not isinstance(body, dict):
        raise bad_request("the object provided is unrecognized (must be of type Scale)")
    if error := type_error(SCALE, body):
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {error}')
    return body


def scaled(version: Version, scale: dict[str, Any]) -> dict[str, Any]:
    """The workload with the replicas that a Scale asks for."""
    metadata = scale.get("metadata") or {}
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    given = {"resourceVersion": metadata.get("resourceVersion"), "uid": metadata.get("uid")}
    return {
        **version.object,
        "metadata": {**version.metadata, **given},
        "spec": {**(version.object.get("spec") or {}), "replicas": replicas},
    }
