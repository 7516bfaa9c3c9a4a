"""The defaults that clients look at. A real server has hundreds. Pure."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from kwsync.testing.apiserver._defaults_pod import complete_pod, complete_pod_status
from kwsync.testing.apiserver._defaults_service import complete_service
from kwsync.testing.apiserver._defaults_workload import (
    complete_controller,
    complete_cron_job,
    complete_daemon_set,
    complete_deployment,
    complete_job,
    complete_job_labels,
    complete_stateful_set,
    complete_workload,
)

Object = dict[str, Any]
Filler = Callable[[Object], None]

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_SYSTEM = dict.fromkeys(
    [
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    ],
    "",
)


def complete(resource: tuple[str, str], object: Object, *, creating: bool = False) -> None:
    """Fill in what is missing, in place; nested dictionaries are replaced, never changed.

    The status is filled in when an object is created, and is its controllers' from then on.
    """
    fill = _FILLERS.get(resource)
    if fill is not None:
        fill(object)
    if creating:
        _complete_new(resource, object)


def _complete_new(resource: tuple[str, str], object: Object) -> None:
    fill = _NEW.get(resource)
    if fill is not None:
        fill(object)
    status = _STATUS.get(resource)
    if status is not None:
        _set(object, "status", status)
        complete_status(resource, object)


def complete_status(resource: tuple[str, str], object: Object) -> None:
    """Fill in what a status has whoever writes it, in place."""
    fill = _STATUS_FILLERS.get(resource)
    if fill is not None:
        fill(object)


def _set(object: Object, field: str, values: Object) -> None:
    object[field] = {**values, **(object.get(field) or {})}


def _namespace(object: Object) -> None:
    metadata = object["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
    object["metadata"] = {**metadata, "labels": labels}
    _set(object, "spec", {"finalizers": ["kubernetes"]})


def _secret(object: Object) -> None:
    object.setdefault("type", "Opaque")
    texts = object.pop("stringData", None)
    if texts:
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
        object["data"] = {**(object.get("data") or {}), **encoded}


def _node(object: Object) -> None:
    spec = object.get("spec") or {}
    if spec.get("podCIDR"):
        spec = {"podCIDRs": [spec["podCIDR"]], **spec}
    object["spec"] = spec


def _new_node(object: Object) -> None:
    # It has to say that it is ready.
    spec = object["spec"]
    object["spec"] = {**spec, "taints": [*(spec.get("taints") or ()), _NOT_READY]}


def _node_status(object: Object) -> None:
    status = object.get("status") or {}
    if "capacity" in status:
        status = {"allocatable": status["capacity"], **status}
    inner = {**_SYSTEM, **(status.get("nodeInfo") or {})}
    object["status"] = {"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, **status, "nodeInfo": inner}


def _event(object: Object) -> None:
    nothing: Object = {"involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None}
    nothing |= {"eventTime": None, "reportingComponent": "", "reportingInstance": ""}
    for name, value in nothing.items():
        object.setdefault(name, value)


def _definition(object: Object) -> None:
    spec = object.get("spec") or {}
    names = spec.get("names") or {}
    if kind := names.get("kind"):
        names = {"singular": kind.lower(), "listKind": f"{kind}List", **names}
        object["spec"] = {"conversion": {"strategy": "None"}, **spec, "names": names}


def _rules(object: Object) -> None:
    object["rules"] = object.get("rules") or None


_FILLERS: dict[tuple[str, str], Filler] = {
    ("", "pods"): complete_pod,
    ("", "namespaces"): _namespace,
    ("", "nodes"): _node,
    ("", "secrets"): _secret,
    ("", "services"): complete_service,
    ("", "events"): _event,
    ("", "replicationcontrollers"): complete_controller,
    ("apps", "deployments"): complete_deployment,
    ("apps", "replicasets"): complete_workload,
    ("apps", "statefulsets"): complete_stateful_set,
    ("apps", "daemonsets"): complete_daemon_set,
    ("batch", "jobs"): complete_job,
    ("batch", "cronjobs"): complete_cron_job,
    ("coordination.k8s.io", "leases"): lambda lease: _set(lease, "spec", {}),
    ("rbac.authorization.k8s.io", "roles"): _rules,
    ("rbac.authorization.k8s.io", "clusterroles"): _rules,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _definition,
}
_NEW: dict[tuple[str, str], Filler] = {("", "nodes"): _new_node, ("batch", "jobs"): complete_job_labels}
_STATUS: dict[tuple[str, str], Object] = {
    ("", "pods"): {"phase": "Pending"},
    ("", "namespaces"): {"phase": "Active"},
    ("", "nodes"): {},
    ("", "services"): {"loadBalancer": {}},
    ("", "persistentvolumes"): {"phase": "Pending"},
    ("", "persistentvolumeclaims"): {"phase": "Pending"},
    ("", "replicationcontrollers"): {"replicas": 0},
    ("apps", "deployments"): {},
    ("apps", "replicasets"): {"replicas": 0},
    ("apps", "statefulsets"): {"replicas": 0, "availableReplicas": 0},
    ("apps", "daemonsets"): {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
    ("batch", "jobs"): {},
    ("batch", "cronjobs"): {},
}
_STATUS_FILLERS: dict[tuple[str, str], Filler] = {("", "pods"): complete_pod_status, ("", "nodes"): _node_status}
