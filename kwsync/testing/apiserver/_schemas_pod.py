"""The types of pods, and of what has a template of one (k8s.io/api 1.36). Pure data."""

from __future__ import annotations

from kwsync.testing.apiserver._go_types import (
    FLAG,
    INT32,
    INT64,
    LABELS,
    QUANTITY,
    TEXT,
    TEXTS,
    Each,
    Named,
    Scalar,
    Schema,
    Struct,
)
from kwsync.testing.apiserver._schemas_meta import METADATA, conditions

AMOUNTS = Named("v1.ResourceList", QUANTITY)
_RESOURCES = Struct("v1.ResourceRequirements", {"limits": AMOUNTS, "requests": AMOUNTS})
_PROBE = Struct(
    "v1.Probe",
    {
        "httpGet": Struct("v1.HTTPGetAction", {"path": TEXT, "scheme": Scalar("v1.URIScheme")}),
        **dict.fromkeys(("timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"), INT32),
    },
)
_CONTAINER = Struct(
    "v1.Container",
    {
        "resources": _RESOURCES,
        **dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe"), _PROBE),
        **dict.fromkeys(("name", "image", "imagePullPolicy", "workingDir"), TEXT),
        **dict.fromkeys(("command", "args"), TEXTS),
        "env": Each("[]v1.EnvVar", Struct("v1.EnvVar", {"name": TEXT, "value": TEXT})),
        "ports": Each("[]v1.ContainerPort", Struct("v1.ContainerPort", {"name": TEXT, "containerPort": INT32})),
        "volumeMounts": Each("[]v1.VolumeMount", Struct("v1.VolumeMount", {"name": TEXT, "mountPath": TEXT})),
    },
)
_CONTAINERS = Each("[]v1.Container", _CONTAINER)
POD_SPEC = Struct(
    "v1.PodSpec",
    {
        **dict.fromkeys(("nodeName", "schedulerName", "serviceAccountName", "hostname"), TEXT),
        "restartPolicy": Scalar("v1.RestartPolicy"),
        "dnsPolicy": Scalar("v1.DNSPolicy"),
        "hostNetwork": FLAG,
        "terminationGracePeriodSeconds": INT64,
        "activeDeadlineSeconds": INT64,
        "nodeSelector": LABELS,
        "containers": _CONTAINERS,
        "initContainers": _CONTAINERS,
        "volumes": Each("[]v1.Volume", Struct("v1.Volume", {"name": TEXT})),
        "tolerations": Each("[]v1.Toleration", Struct("v1.Toleration", {"key": TEXT, "value": TEXT})),
        "securityContext": Struct("v1.PodSecurityContext"),
    },
    kept=frozenset(["containers"]),
)
_TEMPLATE = Struct("v1.PodTemplateSpec", {"metadata": METADATA, "spec": POD_SPEC})
_SELECTOR = Struct("v1.LabelSelector", {"matchLabels": LABELS})


def _strategy(name: str, rolling: str) -> Struct:
    return Struct(f"v1.{name}", {"type": Scalar(f"v1.{name}Type"), "rollingUpdate": Struct(f"v1.{rolling}")})


_STRATEGIES: dict[str, dict[str, Schema]] = {
    "Deployment": {"strategy": _strategy("DeploymentStrategy", "RollingUpdateDeployment")},
    "StatefulSet": {"updateStrategy": _strategy("StatefulSetUpdateStrategy", "RollingUpdateStatefulSetStrategy")},
    "DaemonSet": {"updateStrategy": _strategy("DaemonSetUpdateStrategy", "RollingUpdateDaemonSet")},
}


def status_of(kind: str, *counts: str) -> Struct:
    """The status of a workload, with these numbers in it."""
    fields: dict[str, Schema] = {"conditions": conditions(kind), **dict.fromkeys(counts, INT32)}
    return Struct(f"v1.{kind}Status", fields)


def workload(kind: str, selector: Schema = _SELECTOR) -> dict[str, Schema]:
    """The fields of a workload."""
    spec = {"replicas": INT32, "selector": selector, "template": _TEMPLATE, **_STRATEGIES.get(kind, {})}
    counts = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas")
    return {"spec": Struct(f"v1.{kind}Spec", spec), "status": status_of(kind, *counts)}


JOB = Struct(
    "v1.JobSpec",
    {
        **dict.fromkeys(("parallelism", "completions", "backoffLimit"), INT32),
        **dict.fromkeys(("manualSelector", "suspend"), FLAG),
        "selector": _SELECTOR,
        "template": _TEMPLATE,
    },
)
CRON_JOB = Struct(
    "v1.CronJobSpec",
    {
        "schedule": TEXT,
        "suspend": FLAG,
        "jobTemplate": Struct("v1.JobTemplateSpec", {"metadata": METADATA, "spec": JOB}),
    },
)

POD_STATUS = Struct(
    "v1.PodStatus",
    {
        "phase": Scalar("v1.PodPhase"),
        **dict.fromkeys(("podIP", "hostIP", "reason", "message", "nominatedNodeName"), TEXT),
        "podIPs": Each("[]v1.PodIP", Struct("v1.PodIP", {"ip": TEXT})),
        "conditions": conditions("Pod"),
        "containerStatuses": Each("[]v1.ContainerStatus", Struct("v1.ContainerStatus", {"name": TEXT})),
    },
)
