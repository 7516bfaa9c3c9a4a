"""The cells of a Table's row for the kinds that have columns of their own (`_columns`), Pods apart.

After the functions of the same kinds in kube-apiserver's pkg/printers/internalversion/printers.go. What a real server
fills in when an object is created (one replica, ClusterIP, Opaque) is shown where it is absent.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from kwsync.testing.apiserver._age import age
from kwsync.testing.apiserver._cells import NONE, created, name_of, pairs, plain
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._lookup import at, mapping, records, text, texts, whole
from kwsync.testing.apiserver._print_pod import pod_cells
from kwsync.testing.apiserver._print_workload import (
    daemon_set,
    deployment,
    job,
    replica_set,
    replication_controller,
    stateful_set,
)

_ROLE = "node-role.kubernetes.io/"


def printed(group: str, kind: str, document: JSON, now: datetime) -> list[Any]:
    """The cells, as many as the kind has columns; name and age for a kind without printer."""
    return _PRINTERS.get((group, kind), _named)(document, now)


def _named(document: JSON, now: datetime) -> list[Any]:
    return [name_of(document), created(document, now)]


def _definition(document: JSON, _now: datetime) -> list[Any]:
    # Go's zero time for a bookmark, which was never created.
    return [name_of(document), text(document, "metadata.creationTimestamp", "0001-01-01T00:00:00Z")]


def _config_map(document: JSON, now: datetime) -> list[Any]:
    count = len(mapping(document, "data")) + len(mapping(document, "binaryData"))
    return [name_of(document), count, created(document, now)]


def _secret(document: JSON, now: datetime) -> list[Any]:
    return [name_of(document), text(document, "type", "Opaque"), len(mapping(document, "data")), created(document, now)]


def _namespace(document: JSON, now: datetime) -> list[Any]:
    return [name_of(document), text(document, "status.phase", "Active"), created(document, now)]


def _lease(document: JSON, now: datetime) -> list[Any]:
    return [name_of(document), text(document, "spec.holderIdentity"), created(document, now)]


def _node(node: JSON, now: datetime) -> list[Any]:
    info = mapping(node, "status.nodeInfo")
    architecture = text(info, "architecture")
    kernel = text(info, "kernelVersion", "<unknown>") + (f" ({architecture})" if architecture else "")
    return [
        name_of(node),
        _node_status(node),
        ",".join(_roles(node)) or NONE,
        created(node, now),
        text(info, "kubeletVersion"),
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        text(info, "osImage", "<unknown>"),
        kernel,
        text(info, "containerRuntimeVersion", "<unknown>"),
    ]


def _node_status(node: JSON) -> str:
    states = [each.get("status") for each in records(node, "status.conditions") if each.get("type") == "Ready"]
    status = ("Ready" if states[-1] == "True" else "NotReady") if states else "Unknown"
    return f"{status},SchedulingDisabled" if at(node, "spec.unschedulable") is True else status


def _roles(node: JSON) -> list[str]:
    labels = mapping(node, "metadata.labels")
    roles = {label.removeprefix(_ROLE) for label in labels if label.startswith(_ROLE)}
    roles.add(plain(labels.get("kubernetes.io/role")))
    return sorted(roles - {""})


def _address(node: JSON, kind: str) -> str:
    found = (text(each, "address") for each in records(node, "status.addresses") if each.get("type") == kind)
    return next(found, NONE)


def _event(event: JSON, now: datetime) -> list[Any]:
    """From an event of either API, whose names differ."""
    about = mapping(event, "involvedObject") or mapping(event, "regarding")
    kind, name = text(about, "kind").lower(), text(about, "name")
    first = age(_either(event, "firstTimestamp", "deprecatedFirstTimestamp") or event.get("eventTime"), now)
    last_time = _either(event, "lastTimestamp", "deprecatedLastTimestamp")
    last, count = age(last_time, now) if last_time else first, _count(event)
    if isinstance(event.get("series"), dict):
        last, count = age(at(event, "series.lastObservedTime"), now), whole(event, "series.count")
    return [
        last,
        text(event, "type"),
        text(event, "reason"),
        f"{kind}/{name}" if name else kind,
        text(about, "fieldPath"),
        _event_source(event),
        plain(_either(event, "message", "note")).strip(),
        first,
        count,
        name_of(event),
    ]


def _either(event: JSON, name: str, other: str) -> Any:
    return event.get(name) or event.get(other)


def _count(event: JSON) -> int:
    return whole(event, "count") or whole(event, "deprecatedCount") or 1


def _event_source(event: JSON) -> str:
    source = mapping(event, "source") or mapping(event, "deprecatedSource")
    controller = plain(_either(event, "reportingComponent", "reportingController"))
    component = text(source, "component") or controller
    instance = text(source, "host") or text(event, "reportingInstance")
    return f"{component}, {instance}" if instance else component


def _service(service: JSON, now: datetime) -> list[Any]:
    address = next(iter(texts(service, "spec.clusterIPs")), "") or text(service, "spec.clusterIP", NONE)
    ports = ",".join(_port(port) for port in records(service, "spec.ports")) or NONE
    kind = text(service, "spec.type", "ClusterIP")
    shown = [name_of(service), kind, address, _external(service, kind), ports]
    return [*shown, created(service, now), pairs(mapping(service, "spec.selector"))]


def _port(port: JSON) -> str:
    node_port = whole(port, "nodePort")
    number = f"{whole(port, 'port')}:{node_port}" if node_port > 0 else f"{whole(port, 'port')}"
    return f"{number}/{text(port, 'protocol', 'TCP')}"


def _external(service: JSON, kind: str) -> str:
    if kind == "ExternalName":
        return text(service, "spec.externalName")
    own = texts(service, "spec.externalIPs")
    if kind == "LoadBalancer":
        ingress = records(service, "status.loadBalancer.ingress")
        found = sorted({text(each, "ip") or text(each, "hostname") for each in ingress} - {""})
        return ",".join(found + own) or "<pending>"
    return ",".join(own) or NONE if kind in ("ClusterIP", "NodePort") else "<unknown>"


_PRINTERS: dict[tuple[str, str], Callable[[JSON, datetime], list[Any]]] = {
    ("", "ConfigMap"): _config_map,
    ("", "Event"): _event,
    ("", "Namespace"): _namespace,
    ("", "Node"): _node,
    ("", "Pod"): pod_cells,
    ("", "ReplicationController"): replication_controller,
    ("", "Secret"): _secret,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("apps", "DaemonSet"): daemon_set,
    ("apps", "Deployment"): deployment,
    ("apps", "ReplicaSet"): replica_set,
    ("apps", "StatefulSet"): stateful_set,
    ("batch", "Job"): job,
    ("coordination.k8s.io", "Lease"): _lease,
    ("events.k8s.io", "Event"): _event,
}
