"""The types of what people write most, and of all that the server itself looks at (k8s.io/api 1.36). Pure data.

What is not named here may hold anything.
"""

from __future__ import annotations

from kwsync.testing.apiserver._go_types import (
    BYTES,
    FLAG,
    INT32,
    LABELS,
    TEXT,
    TEXTS,
    Each,
    Named,
    Scalar,
    Schema,
    Struct,
)
from kwsync.testing.apiserver._kind import Resource
from kwsync.testing.apiserver._schemas_definition import DEFINITION, DEFINITION_STATUS
from kwsync.testing.apiserver._schemas_meta import UID, conditions
from kwsync.testing.apiserver._schemas_pod import AMOUNTS, CRON_JOB, JOB, POD_SPEC, POD_STATUS, status_of, workload

_DATA = Named("map[string][]uint8", BYTES)
_REFERENCE = Struct(
    "v1.ObjectReference",
    {
        **dict.fromkeys(("kind", "namespace", "name", "apiVersion", "resourceVersion", "fieldPath"), TEXT),
        "uid": UID,
    },
)
_SOURCE = Struct("v1.EventSource", {"component": TEXT, "host": TEXT})
_SERIES = Struct("v1.EventSeries", {"count": INT32, "lastObservedTime": TEXT})
_SERVICE_PORT = Struct("v1.ServicePort", {"name": TEXT, "port": INT32, "nodePort": INT32})
_SERVICE = Struct(
    "v1.ServiceSpec",
    {
        **dict.fromkeys(("clusterIP", "externalName"), TEXT),
        "type": Scalar("v1.ServiceType"),
        **dict.fromkeys(("clusterIPs", "externalIPs"), TEXTS),
        "selector": LABELS,
        "ports": Each("[]v1.ServicePort", _SERVICE_PORT),
    },
)
_LEASE = Struct(
    "v1.LeaseSpec",
    {
        **dict.fromkeys(("holderIdentity", "acquireTime", "renewTime"), TEXT),
        **dict.fromkeys(("leaseDurationSeconds", "leaseTransitions"), INT32),
    },
)
_ADDRESSES = Each("[]v1.NodeAddress", Struct("v1.NodeAddress", {"type": TEXT, "address": TEXT}))
_NODE = Struct(
    "v1.NodeSpec",
    {
        **dict.fromkeys(("podCIDR", "providerID"), TEXT),
        "unschedulable": FLAG,
        "podCIDRs": TEXTS,
        "taints": Each("[]v1.Taint", Struct("v1.Taint", {"key": TEXT, "value": TEXT})),
    },
)
_NODE_STATUS: dict[str, Schema] = {
    "addresses": _ADDRESSES,
    "conditions": conditions("Node"),
    "nodeInfo": Struct("v1.NodeSystemInfo", {"kubeletVersion": TEXT, "osImage": TEXT}),
    **dict.fromkeys(("capacity", "allocatable"), AMOUNTS),
}
_ATTRIBUTES = Struct(
    "v1.ResourceAttributes",
    dict.fromkeys(("namespace", "verb", "group", "version", "resource", "subresource", "name"), TEXT),
)


_SUBJECT = Struct("v1.Subject", dict.fromkeys(("kind", "apiGroup", "name", "namespace"), TEXT))
_RULE = Struct("v1.PolicyRule", dict.fromkeys(("verbs", "apiGroups", "resources", "resourceNames"), TEXTS))
_RULES = Each("[]v1.PolicyRule", _RULE)
_BINDING: dict[str, Schema] = {
    "subjects": Each("[]v1.Subject", _SUBJECT),
    "roleRef": Struct("v1.RoleRef", dict.fromkeys(("apiGroup", "kind", "name"), TEXT)),
}


def _review(kind: str, **fields: Schema) -> dict[str, Schema]:
    return {"spec": Struct(f"v1.{kind}Spec", fields)}


FIELDS: dict[Resource, dict[str, Schema]] = {
    ("", "configmaps"): {"data": LABELS, "binaryData": _DATA, "immutable": FLAG},
    ("", "secrets"): {"data": _DATA, "stringData": LABELS, "type": Scalar("v1.SecretType"), "immutable": FLAG},
    ("", "pods"): {"spec": POD_SPEC, "status": POD_STATUS},
    ("", "services"): {"spec": _SERVICE, "status": Struct("v1.ServiceStatus")},
    ("", "namespaces"): {
        "spec": Struct("v1.NamespaceSpec", {"finalizers": Each("[]v1.FinalizerName", Scalar("v1.FinalizerName"))}),
        "status": Struct("v1.NamespaceStatus", {"phase": Scalar("v1.NamespacePhase")}),
    },
    ("", "nodes"): {
        "spec": _NODE,
        "status": Struct("v1.NodeStatus", _NODE_STATUS),
    },
    ("", "events"): {
        **dict.fromkeys(("reason", "message", "type", "reportingComponent", "reportingInstance", "action"), TEXT),
        **dict.fromkeys(("firstTimestamp", "lastTimestamp", "eventTime"), TEXT),
        "involvedObject": _REFERENCE,
        "related": _REFERENCE,
        "series": _SERIES,
        "source": _SOURCE,
        "count": INT32,
    },
    ("events.k8s.io", "events"): {
        **dict.fromkeys(("reason", "note", "type", "reportingController", "reportingInstance", "action"), TEXT),
        **dict.fromkeys(("deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime"), TEXT),
        "regarding": _REFERENCE,
        "related": _REFERENCE,
        "series": _SERIES,
        "deprecatedSource": _SOURCE,
        "deprecatedCount": INT32,
    },
    ("", "serviceaccounts"): {
        **dict.fromkeys(("secrets", "imagePullSecrets"), Each("[]v1.ObjectReference", _REFERENCE)),
        "automountServiceAccountToken": FLAG,
    },
    ("", "replicationcontrollers"): workload("ReplicationController", LABELS),
    ("apps", "deployments"): workload("Deployment"),
    ("apps", "replicasets"): workload("ReplicaSet"),
    ("apps", "statefulsets"): workload("StatefulSet"),
    ("apps", "daemonsets"): workload("DaemonSet"),
    ("batch", "jobs"): {
        "spec": JOB,
        "status": status_of("Job", "active", "succeeded", "failed"),
    },
    ("batch", "cronjobs"): {"spec": CRON_JOB, "status": Struct("v1.CronJobStatus")},
    ("coordination.k8s.io", "leases"): {"spec": _LEASE},
    ("rbac.authorization.k8s.io", "roles"): {"rules": _RULES},
    ("rbac.authorization.k8s.io", "clusterroles"): {"rules": _RULES, "aggregationRule": Struct("v1.AggregationRule")},
    ("rbac.authorization.k8s.io", "rolebindings"): _BINDING,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _BINDING,
    ("apiextensions.k8s.io", "customresourcedefinitions"): {"spec": DEFINITION, "status": DEFINITION_STATUS},
    ("authentication.k8s.io", "tokenreviews"): _review("TokenReview", token=TEXT, audiences=TEXTS),
    ("authorization.k8s.io", "localsubjectaccessreviews"): _review(
        "SubjectAccessReview", user=TEXT, groups=TEXTS, resourceAttributes=_ATTRIBUTES
    ),
    ("authorization.k8s.io", "selfsubjectaccessreviews"): _review(
        "SelfSubjectAccessReview", resourceAttributes=_ATTRIBUTES
    ),
    ("authorization.k8s.io", "subjectaccessreviews"): _review(
        "SubjectAccessReview", user=TEXT, groups=TEXTS, resourceAttributes=_ATTRIBUTES
    ),
}
"""All the fields at the top of an object, beside its metadata."""
