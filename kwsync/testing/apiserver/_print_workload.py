"""The cells of a row for the kinds that run Pods; see `_printers`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kwsync.testing.apiserver._age import human_age, parse_time
from kwsync.testing.apiserver._cells import NONE, containers, created, name_of, pairs, selector
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._lookup import at, mapping, records, text, whole


def job(job: JSON, now: datetime) -> list[Any]:
    """Name, Status, Completions, Duration, Age, Containers, Images, Selector."""
    start, end = parse_time(at(job, "status.startTime")), parse_time(at(job, "status.completionTime"))
    duration = human_age(((end or now) - start).total_seconds()) if start else ""
    shown = [name_of(job), _job_status(job), _completions(job), duration, created(job, now)]
    return [*shown, *containers(job), selector(job, NONE)]


def _completions(job: JSON) -> str:
    done, wanted = whole(job, "status.succeeded"), whole(job, "spec.completions", -1)
    parallelism = whole(job, "spec.parallelism")
    if wanted >= 0:
        return f"{done}/{wanted}"
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_status(job: JSON) -> str:
    states: JSON = {}
    for condition in records(job, "status.conditions"):
        states.setdefault(text(condition, "type"), condition.get("status"))
    for status in ("Complete", "Failed", "Terminating", "Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if states.get(status) == "True" and status != "Terminating":
            return status
        if status == "Terminating" and at(job, "metadata.deletionTimestamp") is not None:
            return status
    return "Running"


def _counts(document: JSON, now: datetime, *paths: str) -> list[Any]:
    numbers = [whole(document, path, 1 if path == "spec.replicas" else 0) for path in paths]
    return [name_of(document), *numbers, created(document, now), *containers(document)]


def replica_set(document: JSON, now: datetime) -> list[Any]:
    """Name, Desired, Current, Ready, Age, Containers, Images, Selector."""
    cells = _counts(document, now, "spec.replicas", "status.replicas", "status.readyReplicas")
    return [*cells, selector(document, NONE)]


def replication_controller(document: JSON, now: datetime) -> list[Any]:
    """The same columns, with another kind of selector."""
    cells = _counts(document, now, "spec.replicas", "status.replicas", "status.readyReplicas")
    return [*cells, pairs(mapping(document, "spec.selector"))]


def _ready(document: JSON) -> str:
    return f"{whole(document, 'status.readyReplicas')}/{whole(document, 'spec.replicas', 1)}"


def deployment(document: JSON, now: datetime) -> list[Any]:
    """Name, Ready, Up-to-date, Available, Age, Containers, Images, Selector."""
    name, *rest = _counts(document, now, "status.updatedReplicas", "status.availableReplicas")
    return [name, _ready(document), *rest, selector(document, "", "<invalid>")]


def stateful_set(document: JSON, now: datetime) -> list[Any]:
    """Name, Ready, Age, Containers, Images."""
    name, *rest = _counts(document, now)
    return [name, _ready(document), *rest]


def daemon_set(document: JSON, now: datetime) -> list[Any]:
    """Name, five numbers, Node Selector, Age, Containers, Images, Selector."""
    counted = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    numbers = [whole(document, f"status.{name}") for name in counted]
    nodes = pairs(mapping(document, "spec.template.spec.nodeSelector"))
    return [name_of(document), *numbers, nodes, created(document, now), *containers(document), selector(document, NONE)]
