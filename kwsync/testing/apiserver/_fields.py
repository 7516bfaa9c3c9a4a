"""Which fields of which kind a field selector may name, and what they are in an object.

Taken from the AddFieldLabelConversionFunc and ToSelectableFields of each kind in Kubernetes 1.36. A kind without
conversion of its own, which a ReplicaSet is, knows name and namespace only, also where it is cluster-scoped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kwsync.testing.apiserver._failure import quoted
from kwsync.testing.apiserver._lookup import at
from kwsync.testing.apiserver._selectors import FieldSelector, SelectorError

_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"
_DEFAULT = frozenset((_NAME, _NAMESPACE))
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

# group, kind: the fields beside name and namespace, as paths into the object where nothing else is said below.
_FIELDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "spec.host",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    ("", "Event"): (
        *(f"involvedObject.{name}" for name in _REFERENCE),
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    ("events.k8s.io", "Event"): (
        *(f"regarding.{name}" for name in _REFERENCE),
        "reason",
        "reportingController",
        "type",
    ),
    ("", "Namespace"): ("status.phase",),
    ("", "Node"): ("spec.unschedulable",),
    ("", "ReplicationController"): ("status.replicas",),
    ("", "Secret"): ("type",),
    ("", "Service"): ("spec.clusterIP", "spec.type"),
    ("batch", "Job"): ("status.successful",),
    ("certificates.k8s.io", "CertificateSigningRequest"): ("spec.signerName",),
    ("resource.k8s.io", "ResourceSlice"): ("spec.nodeName", "spec.driver"),
}
_WITHOUT_NAMESPACE = frozenset(("Namespace", "Node", "CertificateSigningRequest", "ResourceSlice"))


def field_labels(group: str, version: str, kind: str) -> frozenset[str]:  # noqa: ARG001 - a rule of the API
    """The fields that a selector may name for this built-in kind; the versions served today do not differ in it."""
    own = _FIELDS.get((group, kind))
    if own is None:
        return _DEFAULT
    return frozenset(own) | ({_NAME} if kind in _WITHOUT_NAMESPACE else _DEFAULT)


def custom_field_labels(namespaced: bool, selectable: Iterable[str] = ()) -> frozenset[str]:
    """The same for a custom resource; *selectable* are the JSON paths of its selectableFields (`.spec.color`)."""
    return frozenset(path.removeprefix(".") for path in selectable) | (_DEFAULT if namespaced else {_NAME})


def check_fields(selector: FieldSelector, supported: frozenset[str], *, custom: bool = False) -> None:
    """Raise SelectorError for the first field that is not supported; *custom* tells a custom resource."""
    for field, _, _ in selector.requirements:
        if field not in supported:
            raise SelectorError(_unsupported(field, supported == _DEFAULT and not custom))


def _unsupported(field: str, default: bool) -> str:
    # The kinds without conversion of their own have one in common, which speaks differently.
    if default:
        return f'{quoted(field)} is not a known field selector: only "metadata.name", "metadata.namespace"'
    return f"field label not supported: {field}"


def fields_of(group: str, kind: str, document: dict[str, Any], selectable: Sequence[str] = ()) -> dict[str, str]:
    """The values of all fields that a selector may name; what is absent is the empty string (0 and false for some)."""
    paths = (*_FIELDS.get((group, kind), ()), *(path.removeprefix(".") for path in selectable))
    fields = {path: _text(at(document, path)) for path in (_NAME, _NAMESPACE, *paths)}
    special = _SPECIAL.get((group, kind))
    return {**fields, **special(document)} if special else fields


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int, float)) else ""


def _pod(pod: dict[str, Any]) -> dict[str, str]:
    addresses = at(pod, "status.podIPs")
    first = addresses[0] if isinstance(addresses, list) and addresses else None
    return {
        "spec.host": _text(at(pod, "spec.nodeName")),
        "spec.hostNetwork": _flag(at(pod, "spec.hostNetwork")),
        "status.podIP": _text(at(first, "ip")) or _text(at(pod, "status.podIP")),
        "status.podIPs": "",
    }


def _event(event: dict[str, Any]) -> dict[str, str]:
    """Under the names of both APIs, from an event of either."""
    reference = event.get("involvedObject") or event.get("regarding")
    controller = _text(event.get("reportingComponent") or event.get("reportingController"))
    component = _text(at(event.get("source") or event.get("deprecatedSource"), "component"))
    fields = {"source": component or controller, "reportingComponent": controller, "reportingController": controller}
    for name in _REFERENCE:
        fields[f"involvedObject.{name}"] = fields[f"regarding.{name}"] = _text(at(reference, name))
    return fields


def _flag(value: object) -> str:
    return "true" if value is True else "false"


def _number(value: object) -> str:
    return _text(value) or "0"


_SPECIAL: dict[tuple[str, str], Callable[[dict[str, Any]], dict[str, str]]] = {
    ("", "Pod"): _pod,
    ("", "Event"): _event,
    ("events.k8s.io", "Event"): _event,
    ("", "Node"): lambda node: {"spec.unschedulable": _flag(at(node, "spec.unschedulable"))},
    ("", "ReplicationController"): lambda rc: {"status.replicas": _number(at(rc, "status.replicas"))},
    # The field has another name in the object.
    ("batch", "Job"): lambda job: {"status.successful": _number(at(job, "status.succeeded"))},
}
