"""The columns of a Table: those of kube-apiserver 1.36 (pkg/printers/internalversion), and those of custom kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwsync.testing.apiserver._descriptions import DESCRIPTIONS
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._kind import Kind


def _column(name: str, description: str, kind: str = "string", priority: int = 0, form: str = "") -> JSON:
    shown = DESCRIPTIONS.get(description, description)
    return {"name": name, "type": kind, "format": form, "description": shown, "priority": priority}


def _wide(name: str, description: str) -> JSON:
    """A column that kubectl shows with `-o wide` only."""
    return _column(name, description, priority=1)


def _count(name: str, description: str) -> JSON:
    return _column(name, description, "integer")


_NAME = _column("Name", "ObjectMeta.name", form="name")
_AGE = _column("Age", "ObjectMeta.creationTimestamp")
_CUSTOM_AGE = _column("Age", "ObjectMeta.creationTimestamp", "date")
_CONTAINERS = _wide("Containers", "Names of each container in the template.")
_IMAGES = _wide("Images", "Images referenced by each container in the template.")

_COLUMNS: dict[tuple[str, str], tuple[JSON, ...]] = {
    ("", "Pod"): (
        _NAME,
        _column("Ready", "The aggregate readiness state of this pod for accepting traffic."),
        _column("Status", "The aggregate status of the containers in this pod."),
        _column(
            "Restarts",
            "The number of times the containers in this pod have been restarted and when the last container in this "
            "pod has restarted.",
        ),
        _AGE,
        _wide("IP", "PodStatus.podIP"),
        _wide("Node", "PodSpec.nodeName"),
        _wide("Nominated Node", "PodStatus.nominatedNodeName"),
        _wide("Readiness Gates", "PodSpec.readinessGates"),
    ),
    ("", "Node"): (
        _NAME,
        _column("Status", "The status of the node"),
        _column("Roles", "The roles of the node"),
        _AGE,
        _column("Version", "NodeSystemInfo.kubeletVersion"),
        _wide("Internal-IP", "NodeStatus.addresses"),
        _wide("External-IP", "NodeStatus.addresses"),
        _wide("OS-Image", "NodeSystemInfo.osImage"),
        _wide("Kernel-Version", "NodeSystemInfo.kernelVersion"),
        _wide("Container-Runtime", "NodeSystemInfo.containerRuntimeVersion"),
    ),
    ("", "Event"): (
        _column("Last Seen", "Event.lastTimestamp"),
        _column("Type", "Event.type"),
        _column("Reason", "Event.reason"),
        _column("Object", "Event.involvedObject"),
        _wide("Subobject", "ObjectReference.fieldPath"),
        _wide("Source", "Event.source"),
        _column("Message", "Event.message"),
        _wide("First Seen", "Event.firstTimestamp"),
        _wide("Count", "Event.count"),
        _column("Name", "ObjectMeta.name", priority=1, form="name"),
    ),
    ("", "ConfigMap"): (_NAME, _column("Data", "ConfigMap.data"), _AGE),
    ("", "Secret"): (_NAME, _column("Type", "Secret.type"), _column("Data", "Secret.data"), _AGE),
    ("", "Namespace"): (_NAME, _column("Status", "The status of the namespace"), _AGE),
    ("", "Service"): (
        _NAME,
        _column("Type", "ServiceSpec.type"),
        _column("Cluster-IP", "ServiceSpec.clusterIP"),
        _column("External-IP", "ServiceSpec.externalIPs"),
        _column("Port(s)", "ServiceSpec.ports"),
        _AGE,
        _wide("Selector", "ServiceSpec.selector"),
    ),
    ("", "ReplicationController"): (
        _NAME,
        _count("Desired", "ReplicationControllerSpec.replicas"),
        _count("Current", "ReplicationControllerStatus.replicas"),
        _count("Ready", "ReplicationControllerStatus.readyReplicas"),
        _AGE,
        _CONTAINERS,
        _IMAGES,
        _wide("Selector", "ReplicationControllerSpec.selector"),
    ),
    ("apps", "Deployment"): (
        _NAME,
        _column("Ready", "Number of the pod with ready state"),
        _column("Up-to-date", "DeploymentStatus.updatedReplicas"),
        _column("Available", "DeploymentStatus.availableReplicas"),
        _AGE,
        _CONTAINERS,
        _IMAGES,
        _wide("Selector", "DeploymentSpec.selector"),
    ),
    ("apps", "ReplicaSet"): (
        _NAME,
        _count("Desired", "ReplicaSetSpec.replicas"),
        _count("Current", "ReplicaSetStatus.replicas"),
        _count("Ready", "ReplicaSetStatus.readyReplicas"),
        _AGE,
        _CONTAINERS,
        _IMAGES,
        _wide("Selector", "ReplicaSetSpec.selector"),
    ),
    ("apps", "StatefulSet"): (
        _NAME,
        _column("Ready", "Number of the pod with ready state"),
        _AGE,
        _CONTAINERS,
        _IMAGES,
    ),
    ("apps", "DaemonSet"): (
        _NAME,
        _count("Desired", "DaemonSetStatus.desiredNumberScheduled"),
        _count("Current", "DaemonSetStatus.currentNumberScheduled"),
        _count("Ready", "DaemonSetStatus.numberReady"),
        _count("Up-to-date", "DaemonSetStatus.updatedNumberScheduled"),
        _count("Available", "DaemonSetStatus.numberAvailable"),
        _column("Node Selector", "PodSpec.nodeSelector"),
        _AGE,
        _CONTAINERS,
        _IMAGES,
        _wide("Selector", "DaemonSetSpec.selector"),
    ),
    ("batch", "Job"): (
        _NAME,
        _column("Status", "Status of the job."),
        _column("Completions", "JobStatus.succeeded"),
        _column("Duration", "Time required to complete the job."),
        _AGE,
        _CONTAINERS,
        _IMAGES,
        _wide("Selector", "JobSpec.selector"),
    ),
    ("coordination.k8s.io", "Lease"): (_NAME, _column("Holder", "LeaseSpec.holderIdentity"), _AGE),
    # The kinds of apiextensions have no printer, so they get the columns that every registry starts with.
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        _NAME,
        _column("Created At", "ObjectMeta.creationTimestamp", "date"),
    ),
}
_COLUMNS[("events.k8s.io", "Event")] = _COLUMNS[("", "Event")]
_DEFAULT = (_NAME, _AGE)


def columns(kind: Kind) -> list[JSON]:
    """The `columnDefinitions` of a Table; a built-in kind that is not listed here gets name and age."""
    if not kind.custom:
        return [*_COLUMNS.get((kind.group, kind.name), _DEFAULT)]
    return [_NAME, *(_custom(column) for column in kind.columns)] if kind.columns else [_NAME, _CUSTOM_AGE]


def _custom(column: Mapping[str, Any]) -> JSON:
    """A column of a definition's additionalPrinterColumns (apiextensions' tableconvertor.go)."""
    path = column.get("jsonPath", "")
    description = column.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
    return {
        "name": column.get("name", ""),
        "type": column.get("type", "string"),
        "format": column.get("format", ""),
        "description": description,
        "priority": column.get("priority", 0),
    }
