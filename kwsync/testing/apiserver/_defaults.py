"""The few defaults that clients look at: phases, types, replicas, policies. A real server has hundreds. Pure."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

Object = dict[str, Any]

_POD_STATUS = {"phase": "Pending", "qosClass": "BestEffort"}
_POD_SPEC = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_CONTAINER = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_CLUSTER_IP = "10.0.0.1"


def complete(resource: tuple[str, str], object: Object, *, creating: bool = False) -> None:
    """Fill in what is missing, in place; nested dictionaries are replaced, never changed.

    The status is filled in when an object is created, and is its controllers' from then on.
    """
    fill = _FILLERS.get(resource)
    if fill is not None:
        fill(object)
    status = _STATUS.get(resource)
    if creating and status is not None:
        _set(object, "status", status)


def _set(object: Object, field: str, values: Object) -> None:
    given = object.get(field)
    if given is None or isinstance(given, dict):
        object[field] = {**values, **(given or {})}


def _pod(object: Object) -> None:
    spec = object.get("spec")
    if not isinstance(spec, dict):
        return
    spec = {**_POD_SPEC, **spec}
    for name in ("initContainers", "containers"):
        if isinstance(spec.get(name), list):
            spec[name] = [_container(one) for one in spec[name]]
    object["spec"] = spec


def _container(container: Any) -> Any:
    if not isinstance(container, dict):
        return container
    image = str(container.get("image", ""))
    tag = image.rpartition("/")[2].partition(":")[2] or "latest"
    policy = "Always" if tag == "latest" and "@" not in image else "IfNotPresent"
    return {**_CONTAINER, "imagePullPolicy": policy, **container}


def _namespace(object: Object) -> None:
    metadata = object["metadata"]
    labels = {**metadata.get("labels", {}), "kubernetes.io/metadata.name": metadata["name"]}
    object["metadata"] = {**metadata, "labels": labels}
    _set(object, "spec", {"finalizers": ["kubernetes"]})


def _secret(object: Object) -> None:
    object.setdefault("type", "Opaque")
    texts = object.pop("stringData", None)
    if isinstance(texts, dict):
        encoded = {name: base64.b64encode(str(text).encode()).decode() for name, text in texts.items()}
        object["data"] = {**(object.get("data") or {}), **encoded}


def _service(object: Object) -> None:
    _set(object, "spec", {"type": "ClusterIP", "clusterIP": _CLUSTER_IP, "sessionAffinity": "None"})


def _workload(object: Object) -> None:
    _set(object, "spec", {"replicas": 1})


def _event(object: Object) -> None:
    nothing: Object = {"involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None}
    nothing |= {"eventTime": None, "reportingComponent": "", "reportingInstance": ""}
    for name, value in nothing.items():
        object.setdefault(name, value)


def _definition(object: Object) -> None:
    spec = object.get("spec")
    names = spec.get("names") if isinstance(spec, dict) else None
    if isinstance(spec, dict) and isinstance(names, dict) and isinstance(kind := names.get("kind"), str):
        names = {"singular": kind.lower(), "listKind": f"{kind}List", **names}
        object["spec"] = {"conversion": {"strategy": "None"}, **spec, "names": names}


_FILLERS: dict[tuple[str, str], Callable[[Object], None]] = {
    ("", "pods"): _pod,
    ("", "namespaces"): _namespace,
    ("", "secrets"): _secret,
    ("", "services"): _service,
    ("", "events"): _event,
    ("", "replicationcontrollers"): _workload,
    ("apps", "deployments"): _workload,
    ("apps", "replicasets"): _workload,
    ("apps", "statefulsets"): _workload,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _definition,
}
_STATUS: dict[tuple[str, str], Object] = {
    ("", "pods"): _POD_STATUS,
    ("", "namespaces"): {"phase": "Active"},
    ("", "services"): {"loadBalancer": {}},
    ("", "persistentvolumes"): {"phase": "Pending"},
    ("", "persistentvolumeclaims"): {"phase": "Pending"},
    ("apps", "deployments"): {},
    ("apps", "replicasets"): {"replicas": 0},
    ("apps", "statefulsets"): {"replicas": 0},
    ("batch", "jobs"): {},
}
