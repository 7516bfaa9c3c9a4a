"""The row of a Pod, after printPod in kube-apiserver's pkg/printers/internalversion/printers.go."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from kwsync.testing.apiserver._age import age, human_age, parse_time
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._lookup import at, mapping, records, text, whole

_MESSAGES = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}
_NONE = "<none>"


class _Restarts(NamedTuple):
    times: int = 0
    last: datetime | None = None

    def plus(self, container: JSON) -> _Restarts:
        ended = parse_time(at(container, "lastState.terminated.finishedAt"))
        last = max((moment for moment in (self.last, ended) if moment), default=None)
        return _Restarts(self.times + whole(container, "restartCount"), last)

    def shown(self, now: datetime) -> str:
        if self.times and self.last:
            return f"{self.times} ({human_age((now - self.last).total_seconds())} ago)"
        return str(self.times)


class _Seen(NamedTuple):
    """What was learnt from a group of containers; *reason* is empty where they have nothing to say."""

    reason: str
    ready: int
    restarts: _Restarts


def pod_cells(pod: JSON, now: datetime) -> list[Any]:
    """Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates."""
    sidecars = {text(each, "name") for each in records(pod, "spec.initContainers") if _is_sidecar(each)}
    seen, restarts = _initial(pod, sidecars), _sidecar_restarts(pod, sidecars)
    ready, reason = seen.ready, seen.reason
    if not reason or _is_true(pod, "Initialized"):
        main = _main(pod, restarts, reason or _phase(pod))
        reason, ready, restarts = main.reason, ready + main.ready, main.restarts
    else:
        restarts = seen.restarts
    total = len(records(pod, "spec.containers")) + len(sidecars)
    shown = [text(pod, "metadata.name"), f"{ready}/{total}", _ending(pod) or reason, restarts.shown(now)]
    return [*shown, age(at(pod, "metadata.creationTimestamp"), now), *_wide(pod)]


def pod_conditions(pod: JSON) -> list[JSON]:
    """Of the row, so that kubectl can tell the pods that are done."""
    phase = text(pod, "status.phase")
    if phase not in _MESSAGES:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _MESSAGES[phase]}]


def _phase(pod: JSON) -> str:
    for condition in records(pod, "status.conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return text(pod, "status.reason") or text(pod, "status.phase")


def _ending(pod: JSON) -> str:
    if at(pod, "metadata.deletionTimestamp") is None:
        return ""
    if text(pod, "status.reason") == "NodeLost":
        return "Unknown"
    return "" if text(pod, "status.phase") in _MESSAGES else "Terminating"


def _is_sidecar(container: JSON) -> bool:
    return container.get("restartPolicy") == "Always"


def _sidecar_restarts(pod: JSON, sidecars: set[str]) -> _Restarts:
    restarts = _Restarts()
    for container in _reached(pod, sidecars):
        if text(container, "name") in sidecars:
            restarts = restarts.plus(container)
    return restarts


def _reached(pod: JSON, sidecars: set[str]) -> Iterable[JSON]:
    """The init containers up to the first that holds the others up."""
    for container in records(pod, "status.initContainerStatuses"):
        yield container
        if not _is_past(container, sidecars):
            return


def _is_past(container: JSON, sidecars: set[str]) -> bool:
    return _is_done(container) or (text(container, "name") in sidecars and container.get("started") is True)


def _is_done(container: JSON) -> bool:
    ended = at(container, "state.terminated")
    return isinstance(ended, dict) and whole(ended, "exitCode") == 0


def _initial(pod: JSON, sidecars: set[str]) -> _Seen:
    reason, ready, restarts = "", 0, _Restarts()
    for index, container in enumerate(_reached(pod, sidecars)):
        restarts = restarts.plus(container)
        if not _is_past(container, sidecars):
            reason = _init_reason(container, f"{index}/{len(records(pod, 'spec.initContainers'))}")
        elif not _is_done(container) and container.get("ready") is True:
            ready += 1
    return _Seen(reason, ready, restarts)


def _init_reason(container: JSON, progress: str) -> str:
    ended, waiting = at(container, "state.terminated"), text(container, "state.waiting.reason")
    if isinstance(ended, dict):
        return f"Init:{_end_reason(ended)}"
    return f"Init:{waiting}" if waiting not in ("", "PodInitializing") else f"Init:{progress}"


def _end_reason(ended: JSON) -> str:
    if reason := text(ended, "reason"):
        return reason
    signal = whole(ended, "signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{whole(ended, 'exitCode')}"


def _main(pod: JSON, restarts: _Restarts, reason: str) -> _Seen:
    running, ready, failed = False, 0, ""
    for container in reversed(records(pod, "status.containerStatuses")):
        restarts = restarts.plus(container)
        ended = at(container, "state.terminated")
        if waiting := text(container, "state.waiting.reason"):
            reason = waiting
        elif isinstance(ended, dict):
            reason = _end_reason(ended)
            failed = reason if whole(ended, "exitCode") else failed
        elif container.get("ready") is True and isinstance(at(container, "state.running"), dict):
            running, ready = True, ready + 1
    if reason == "Completed":
        reason = _completed(pod, running, failed)
    return _Seen(reason, ready, restarts)


def _completed(pod: JSON, running: bool, failed: str) -> str:
    """A pod of which some containers have ended well is not over while others go on."""
    if running and any(_is(each, "Ready") for each in records(pod, "status.conditions")):
        return "Running"
    return failed or ("NotReady" if running else "Completed")


def _is(condition: JSON, kind: str) -> bool:
    return condition.get("type") == kind and condition.get("status") == "True"


def _is_true(pod: JSON, kind: str) -> bool:
    """Whether the first condition of this type is true."""
    states = [each.get("status") for each in records(pod, "status.conditions") if each.get("type") == kind]
    return states[:1] == ["True"]


def _wide(pod: JSON) -> list[str]:
    address = next((text(each, "ip") for each in records(pod, "status.podIPs")), "") or text(pod, "status.podIP")
    node, nominated = text(pod, "spec.nodeName", _NONE), text(pod, "status.nominatedNodeName", _NONE)
    return [address or _NONE, node, nominated, _readiness_gates(pod)]


def _readiness_gates(pod: JSON) -> str:
    gates = records(mapping(pod, "spec"), "readinessGates")
    fulfilled = sum(_is_true(pod, text(gate, "conditionType")) for gate in gates)
    return f"{fulfilled}/{len(gates)}" if gates else _NONE
