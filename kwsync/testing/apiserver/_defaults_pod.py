"""What a pod gets that does not say it: defaults of its spec and its containers, and its class of service. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

_SPEC = {
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
_CONTAINER = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_HTTP_GET = {"path": "/", "scheme": "HTTP"}
_COUNTED = ("cpu", "memory")
_CONDITION: Object = {"lastProbeTime": None, "lastTransitionTime": None}


def filled(given: Object, defaults: Object) -> Object:
    """The object with what it does not say."""
    return {**given, **{name: given.get(name, value) for name, value in defaults.items()}}


def complete_pod(pod: Object) -> None:
    """The defaults of a pod that has a spec."""
    spec = pod.get("spec")
    if isinstance(spec, dict):
        pod["spec"] = filled(pod_spec(spec), _ADMITTED)


def complete_pod_status(pod: Object) -> None:
    """What a status keeps whoever writes it."""
    status = {**(pod.get("status") or {}), "qosClass": _class_of(pod.get("spec") or {})}
    if status.get("podIP"):
        status.setdefault("podIPs", [{"ip": status["podIP"]}])
    if isinstance(status.get("conditions"), list):
        status["conditions"] = [{**_CONDITION, **condition} for condition in status["conditions"]]
    pod["status"] = status


def template(given: Object) -> Object:
    """The template of a pod."""
    if not isinstance(given.get("spec"), dict):
        return given
    return {"metadata": {}, **given, "spec": pod_spec(given["spec"])}


def pod_spec(spec: Object) -> Object:
    """The spec of a pod or of a template."""
    spec = filled(spec, _SPEC)
    # Nobody is shot before the trigger is pulled.
    spec["terminationGracePeriodSeconds"] = _grace(spec["terminationGracePeriodSeconds"])
    for name in ("initContainers", "containers"):
        if isinstance(spec.get(name), list):
            spec[name] = [_container(one) for one in spec[name]]
    return spec


def _grace(seconds: int) -> int:
    return 1 if seconds < 0 else seconds


def _container(container: Any) -> Any:
    if not isinstance(container, dict):
        return container
    image = str(container.get("image", ""))
    tag = image.rpartition("/")[2].partition(":")[2] or "latest"
    policy = "Always" if tag == "latest" and "@" not in image else "IfNotPresent"
    container = filled(container, {**_CONTAINER, "imagePullPolicy": policy})
    if container["resources"]:
        container["resources"] = _resources(container["resources"])
    if "ports" in container:
        container["ports"] = [{"protocol": "TCP", **port} for port in container["ports"]]
    return {**container, **{name: _probe(container[name]) for name in _PROBES if name in container}}


def _resources(resources: Object) -> Object:
    """A limit is a request, too."""
    limits = resources.get("limits")
    return {**resources, "requests": {**limits, **(resources.get("requests") or {})}} if limits else resources


def _probe(probe: Object) -> Object:
    probe = filled(probe, _PROBE)
    return {**probe, "httpGet": {**_HTTP_GET, **probe["httpGet"]}} if probe.get("httpGet") else probe


def _class_of(spec: Object) -> str:
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    resources = [container.get("resources") or {} for container in containers]
    if not any(_counted(each, "requests") or _counted(each, "limits") for each in resources):
        return "BestEffort"
    return "Guaranteed" if _all_guaranteed(resources) else "Burstable"


def _all_guaranteed(resources: Iterable[Object]) -> bool:
    return all(
        len(limits := _counted(each, "limits")) == len(_COUNTED) and _counted(each, "requests") == limits
        for each in resources
    )


def _counted(resources: Object, which: str) -> Object:
    """The amounts that count; zero is as good as none."""
    amounts = resources.get(which) or {}
    return {name: amounts[name] for name in _COUNTED if amounts.get(name) not in (None, "0", 0)}
