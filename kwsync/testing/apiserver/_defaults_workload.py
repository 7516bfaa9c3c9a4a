"""The defaults of what makes pods. Pure."""

from __future__ import annotations

from typing import Any

from kwsync.testing.apiserver._defaults_pod import filled, template

Object = dict[str, Any]

_ROLLING_TYPE = "RollingUpdate"
_ROLLING: Object = {"maxUnavailable": "25%", "maxSurge": "25%"}
_ROLLING_SET: Object = {"maxUnavailable": 1, "maxSurge": 0}
_DEPLOYMENT = {"revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
_STATEFUL_SET = {
    "serviceName": "",
    "podManagementPolicy": "OrderedReady",
    "revisionHistoryLimit": 10,
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
}
_DAEMON_SET = {"revisionHistoryLimit": 10}
_JOB = {
    "parallelism": 1,
    "completions": 1,
    "backoffLimit": 6,
    "manualSelector": False,
    "completionMode": "NonIndexed",
    "suspend": False,
    "podReplacementPolicy": "TerminatingOrFailed",
}
_CRON_JOB = {
    "concurrencyPolicy": "Allow",
    "suspend": False,
    "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1,
}


def complete_workload(object: Object) -> None:
    """One replica, and the defaults of the template."""
    object["spec"] = _with_template({"replicas": 1, **(object.get("spec") or {})})


def _with_template(spec: Object) -> Object:
    given = spec.get("template")
    return {**spec, "template": template(given)} if isinstance(given, dict) else spec


def complete_controller(object: Object) -> None:
    """A replication controller selects what its template makes, unless it says something else."""
    complete_workload(object)
    labels = ((object["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        object["spec"] = {"selector": labels, **object["spec"]}
        object["metadata"] = {"labels": labels, **object["metadata"]}


def complete_deployment(object: Object) -> None:
    """A rolling update."""
    complete_workload(object)
    _fill(object, _DEPLOYMENT, strategy=_rolling(object, "strategy", _ROLLING))


def complete_stateful_set(object: Object) -> None:
    """One after the other."""
    complete_workload(object)
    given = object["spec"].get("updateStrategy") or {}
    # One that says its type and nothing else is left alone, other than those of the other kinds.
    rolling = given if given == {"type": _ROLLING_TYPE} else _rolling(object, "updateStrategy", {"partition": 0})
    _fill(object, _STATEFUL_SET, updateStrategy=rolling)


def _rolling(object: Object, field: str, defaults: Object) -> Object:
    """A strategy, which is a rolling update with these numbers unless it says otherwise."""
    strategy = {"type": _ROLLING_TYPE, **(object["spec"].get(field) or {})}
    if strategy["type"] != _ROLLING_TYPE:
        return strategy
    return {**strategy, "rollingUpdate": {**defaults, **(strategy.get("rollingUpdate") or {})}}


def _fill(object: Object, defaults: Object, **strategy: Object) -> None:
    """Defaults for an object that has a template: others are not worth it."""
    if "template" in object["spec"]:
        object["spec"] = {**filled(object["spec"], defaults), **strategy}


def complete_daemon_set(object: Object) -> None:
    """A pod at a time."""
    object["spec"] = _with_template(object.get("spec") or {})
    _fill(object, _DAEMON_SET, updateStrategy=_rolling(object, "updateStrategy", _ROLLING_SET))


def complete_job(object: Object) -> None:
    """The labels and the selector that tie a job to its pods are made of its uid."""
    spec = _with_template(object.get("spec") or {})
    object["spec"] = spec
    if not isinstance(spec.get("template"), dict):
        return
    _fill(object, _JOB)
    if not spec.get("manualSelector"):
        _tie(object)


def _tie(object: Object) -> None:
    metadata, spec = object["metadata"], object["spec"]
    own = {"controller-uid": metadata["uid"], "job-name": metadata["name"]}
    labels = {**own, **{f"batch.kubernetes.io/{name}": value for name, value in own.items()}}
    inner = spec["template"].get("metadata") or {}
    made = {**spec["template"], "metadata": {**inner, "labels": {**(inner.get("labels") or {}), **labels}}}
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": metadata["uid"]}}
    object["spec"] = {"selector": selector, **spec, "template": made}


def complete_job_labels(object: Object) -> None:
    """A job that is created carries the labels of its template itself."""
    labels = ((object["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        metadata = object["metadata"]
        object["metadata"] = {**metadata, "labels": {**labels, **(metadata.get("labels") or {})}}


def complete_cron_job(object: Object) -> None:
    """Down to the template in the template."""
    spec = object.get("spec") or {}
    job = spec.get("jobTemplate")
    if isinstance(job, dict):
        made = {"metadata": {}, **job, "spec": _with_template(job.get("spec") or {})}
        object["spec"] = filled({**spec, "jobTemplate": made}, _CRON_JOB)
