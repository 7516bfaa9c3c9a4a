"""Pods as a cluster has them: about 4 kB each, no two alike, the same in every run."""

from __future__ import annotations

from random import Random
from typing import Any

APPS = ("checkout", "billing", "search-indexer", "ingest", "web-frontend", "auth-proxy", "ledger", "media-resizer")
TEAMS = ("payments", "platform", "growth", "data")
REASONS = ("Completed", "Error", "OOMKilled", "ContainerCannotRun")
CONDITIONS = ("Initialized", "Ready", "ContainersReady", "PodScheduled")


def make_pod(random: Random, number: int) -> dict[str, Any]:
    """One pod with one to three containers; what it holds and how long that is varies."""
    app = random.choice(APPS)
    names = [app, "istio-proxy", "log-shipper"][: random.choice((1, 1, 1, 1, 1, 2, 3))]
    containers = [_container(random, name) for name in names]
    node = f"ip-10-{random.randrange(256)}-{random.randrange(256)}-17.eu-central-1.compute.internal"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(random, number, app, names),
        "spec": {
            "containers": containers,
            "nodeName": node,
            "restartPolicy": "Always",
            "serviceAccountName": app,
            "terminationGracePeriodSeconds": random.choice((30, 60, 120)),
            "tolerations": [_toleration(state) for state in ("not-ready", "unreachable")],
            "volumes": [{"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": [_token()]}}],
        },
        "status": _status(random, containers),
    }


def _metadata(random: Random, number: int, app: str, containers: list[str]) -> dict[str, Any]:
    digest = f"{random.getrandbits(40):010x}"
    return {
        "name": f"{app}-{digest}-{number:05x}",
        "generateName": f"{app}-{digest}-",
        "namespace": random.choice(TEAMS),
        "uid": _uid(random),
        "resourceVersion": str(4_711_000 + number),
        "creationTimestamp": _moment(random),
        "labels": {"app.kubernetes.io/name": app, "team": random.choice(TEAMS), "pod-template-hash": digest},
        "annotations": {
            "example.com/config-checksum": f"{random.getrandbits(256):064x}",
            "example.com/note": "geprüft \u2013 " + "ok " * random.randrange(12),
        },
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app}-{digest}", "uid": _uid(random),
             "controller": True, "blockOwnerDeletion": True},
        ],
        "managedFields": [_managed(random, "kube-controller-manager", containers), _managed(random, "kubelet", [])],
    }  # fmt: skip


def _managed(random: Random, manager: str, containers: list[str]) -> dict[str, Any]:
    fields: dict[str, dict[str, Any]] = {
        f'k:{{"name":"{name}"}}': {".": {}, "f:env": {}, "f:image": {}, "f:name": {}, "f:ports": {}, "f:resources": {}}
        for name in containers
    } or {f'k:{{"type":"{kind}"}}': {".": {}, "f:status": {}, "f:type": {}} for kind in CONDITIONS}
    whole = {"f:spec": {"f:containers": fields}} if containers else {"f:status": {"f:conditions": fields}}
    return {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": _moment(random),
            "fieldsType": "FieldsV1", "fieldsV1": whole}  # fmt: skip


def _container(random: Random, name: str) -> dict[str, Any]:
    port = random.randrange(1024, 65536)
    return {
        "name": name,
        "image": f"registry.example.com/{random.choice(TEAMS)}/{name}:{random.randrange(100)}.{random.randrange(30)}",
        "env": [
            {"name": f"SETTING_{index}", "value": "x" * random.randrange(40)} for index in range(random.randrange(8))
        ],
        "ports": [{"containerPort": port, "name": "http", "protocol": "TCP"}],
        "resources": {
            "requests": {"cpu": f"{random.randrange(50, 2000)}m", "memory": f"{random.randrange(64, 4096)}Mi"}
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": port}, "periodSeconds": 10, "failureThreshold": 3},
        "volumeMounts": [
            {"name": "kube-api-access", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
        ],
        "imagePullPolicy": "IfNotPresent",
    }


def _status(random: Random, containers: list[dict[str, Any]]) -> dict[str, Any]:
    address = f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}"
    return {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": random.choice(("True", "True", "False")), "lastProbeTime": None,
             "lastTransitionTime": _moment(random)} for kind in CONDITIONS
        ],
        "hostIP": f"10.0.{random.randrange(256)}.17",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "qosClass": "Burstable",
        "startTime": _moment(random),
        "containerStatuses": [_container_status(random, container) for container in containers],
    }  # fmt: skip


def _container_status(random: Random, container: dict[str, Any]) -> dict[str, Any]:
    ended = {"exitCode": random.randrange(256), "reason": random.choice(REASONS), "finishedAt": _moment(random)}
    return {
        "name": container["name"],
        "ready": random.random() < 0.9,
        "restartCount": random.randrange(5),
        "image": container["image"],
        "imageID": f"{container['image'].partition(':')[0]}@sha256:{random.getrandbits(256):064x}",
        "containerID": f"containerd://{random.getrandbits(256):064x}",
        "state": {"running": {"startedAt": _moment(random)}},
        "lastState": {"terminated": ended} if random.random() < 0.3 else {},
    }


def _toleration(state: str) -> dict[str, Any]:
    key = f"node.kubernetes.io/{state}"
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


def _token() -> dict[str, Any]:
    return {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}


def _uid(random: Random) -> str:
    text = f"{random.getrandbits(128):032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _moment(random: Random) -> str:
    day, hour, minute, second = (random.randrange(limit) for limit in (28, 24, 60, 60))
    return f"2026-03-{day + 1:02}T{hour:02}:{minute:02}:{second:02}Z"
