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
}
_ADMITTED = {
    "tolerations": [
        {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for state in ("not-ready", "unreachable")
    ],
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
"""What a pod gets that is created, and a template does not have."""
_ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
_DEPLOYMENT = {"strategy": _ROLLING, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
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
    if isinstance(spec, dict):
        object["spec"] = {**_pod_spec(spec), **{name: spec.get(name, value) for name, value in _ADMITTED.items()}}


def _pod_spec(spec: Object) -> Object:
    spec = {**spec, **{name: spec.get(name, value) for name, value in _POD_SPEC.items()}}
    for name in ("initContainers", "containers"):
        if isinstance(spec.get(name), list):
            spec[name] = [_container(one) for one in spec[name]]
    return spec


def _container(container: Any) -> Any:
    if not isinstance(container, dict):
        return container
    image = str(container.get("image", ""))
    tag = image.rpartition("/")[2].partition(":")[2] or "latest"
    policy = "Always" if tag == "latest" and "@" not in image else "IfNotPresent"
    defaults = {**_CONTAINER, "imagePullPolicy": policy}
    return {**container, **{name: container.get(name, value) for name, value in defaults.items()}}


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
    spec = object["spec"]
    if isinstance(spec, dict) and isinstance(spec.get("ports"), list):
        object["spec"] = {**spec, "ports": [_port(port) for port in spec["ports"]]}


def _port(port: Any) -> Any:
    if not isinstance(port, dict):
        return port
    return {"protocol": "TCP", "targetPort": port.get("port"), **port}


def _workload(object: Object) -> None:
    _set(object, "spec", {"replicas": 1})
    spec = object["spec"]
    template = spec.get("template") if isinstance(spec, dict) else None
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        object["spec"] = {**spec, "template": {**template, "spec": _pod_spec(template["spec"])}}


def _deployment(object: Object) -> None:
    _workload(object)
    spec = object["spec"]
    if isinstance(spec, dict) and "template" in spec:
        object["spec"] = {**spec, **{name: spec.get(name, value) for name, value in _DEPLOYMENT.items()}}


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
    ("apps", "deployments"): _deployment,
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
