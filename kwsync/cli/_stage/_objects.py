"""The objects of the demo, as small as a Kubernetes API takes them. Pure."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

NAMESPACE = "default"


def pod(name: str, image: str, node: str, restart: str) -> Object:
    """A Pod that has a node and does not run yet."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": name.split("-", maxsplit=1)[0]}},
        "spec": {"nodeName": node, "restartPolicy": restart, "containers": [{"name": "main", "image": image}]},
    }


def pod_status(phase: str, state: Object, *, ready: bool, restarts: int, ip: str) -> Object:
    """The status of a Pod with one container in a state, as ``{"waiting": {"reason": …}}``."""
    # A patch merges: a state that is over has to be named.
    states = {**dict.fromkeys(("running", "waiting", "terminated")), **state}
    container = {"name": "main", "image": "", "imageID": "", "ready": ready, "restartCount": restarts, "state": states}
    conditions = [{"type": "Ready", "status": str(ready)}, {"type": "Initialized", "status": "True"}]
    status: Object = {"phase": phase, "conditions": conditions, "containerStatuses": [container]}
    return {**status, "podIP": ip, "podIPs": [{"ip": ip}]} if ip else status


def deployment(name: str, image: str, replicas: int) -> Object:
    """A Deployment."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def template_patch(image: str) -> Object:
    """What changes the image of a Deployment."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}}


def deployment_status(replicas: int, updated: int) -> Object:
    """The status of a Deployment whose Pods are all ready."""
    counts = ("replicas", "readyReplicas", "availableReplicas")
    return {**dict.fromkeys(counts, replicas), "updatedReplicas": updated}


def job(name: str, image: str) -> Object:
    """A Job of one Pod."""
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"completions": 1, "parallelism": 1, "template": {"spec": spec}},
    }


def job_done(begun: str, ended: str) -> Object:
    """The status of a Job that is complete."""
    conditions = [{"type": "Complete", "status": "True"}]
    return {"active": 0, "succeeded": 1, "startTime": begun, "completionTime": ended, "conditions": conditions}


def backup_definition() -> Object:
    """A kind of our own."""
    text = {"type": "string"}
    fields = {"phase": text, "progress": text}
    columns = [
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Progress", "type": "string", "jsonPath": ".status.progress"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    properties = {"spec": {"type": "object"}, "status": {"type": "object", "properties": fields}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "additionalPrinterColumns": columns,
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "backups.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "backups", "singular": "backup", "kind": "Backup", "listKind": "BackupList"},
            "versions": [version],
        },
    }


def backup(name: str) -> Object:
    """An object of our own kind."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": metadata, "spec": {}}


def old_event(name: str, about: tuple[str, str], reason: str, message: str, type_: str, moment: str) -> Object:
    """An Event as the kubelet and the controllers write it."""
    kind, target = about
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "involvedObject": {"kind": kind, "name": target, "namespace": NAMESPACE},
        "reason": reason,
        "message": message,
        "type": type_,
        "count": 1,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "source": {"component": "kwsync-demo"},
    }


def new_event(name: str, about: tuple[str, str], reason: str, note: str, moment: str) -> Object:
    """An Event as the scheduler writes it, through the newer API."""
    kind, target = about
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "regarding": {"kind": kind, "name": target, "namespace": NAMESPACE},
        "reason": reason,
        "note": note,
        "action": reason,
        "type": "Normal",
        "eventTime": moment,
        "reportingController": "example.com/kwsync-demo",
        "reportingInstance": "kwsync-demo-1",
    }
