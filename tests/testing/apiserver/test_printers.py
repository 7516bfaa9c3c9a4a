"""The cells of the built-in kinds: what a real server shows of them in a Table."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync.testing.apiserver._columns import columns
from kwsync.testing.apiserver._kind import builtin_kinds
from kwsync.testing.apiserver._table import cells, row
from tests.testing.apiserver.objects import NOW, ago, named
from tests.values import json_objects, json_values

KINDS = {(kind.group, kind.name): kind for kind in builtin_kinds()}


def printed(group: str, kind: str, document: dict[str, Any]) -> list[Any]:
    """The cells of a built-in kind."""
    return cells(KINDS[group, kind], document, NOW)


# Pods.


def pod(*, spec: Any = None, status: Any = None, containers: int = 1, **metadata: Any) -> dict[str, Any]:
    """A Pod with that many containers."""
    document = named("p", spec={"containers": [{"name": f"c{n}"} for n in range(containers)], **(spec or {})})
    document["metadata"].update(metadata)
    return {**document, "status": status or {}}


def container(name: str = "c0", *, ready: bool = False, restarts: int = 0, **state: Any) -> dict[str, Any]:
    """One container's status."""
    return {"name": name, "ready": ready, "restartCount": restarts, "state": state}


RUNNING = container(ready=True, running={})
DONE = container(terminated={"exitCode": 0, "reason": "Completed"})
READY = [{"type": "Ready", "status": "True"}]
INIT = {"initContainers": [{"name": "i0"}, {"name": "i1"}]}
SIDECAR = {"initContainers": [{"name": "s", "restartPolicy": "Always"}]}


@pytest.mark.parametrize(
    ("document", "ready", "status"),
    [
        (pod(status={"phase": "Pending"}), "0/1", "Pending"),
        (pod(status={"phase": "Running", "containerStatuses": [RUNNING]}), "1/1", "Running"),
        (pod(status={"phase": "Failed", "reason": "Evicted"}), "0/1", "Evicted"),
        (
            pod(status={"phase": "Pending", "containerStatuses": [container(waiting={"reason": "ImagePullBackOff"})]}),
            "0/1",
            "ImagePullBackOff",
        ),
        (
            pod(
                status={
                    "phase": "Running",
                    "containerStatuses": [RUNNING, container("c1", waiting={"reason": "CrashLoopBackOff"})],
                },
                containers=2,
            ),
            "1/2",
            "CrashLoopBackOff",
        ),
        (pod(status={"phase": "Succeeded", "containerStatuses": [DONE]}), "0/1", "Completed"),
        (
            pod(status={"phase": "Failed", "containerStatuses": [container(terminated={"exitCode": 3})]}),
            "0/1",
            "ExitCode:3",
        ),
        (
            pod(
                status={"phase": "Failed", "containerStatuses": [container(terminated={"exitCode": 137, "signal": 9})]}
            ),
            "0/1",
            "Signal:9",
        ),
        (
            pod(status={"phase": "Running", "containerStatuses": [DONE, RUNNING], "conditions": READY}, containers=2),
            "1/2",
            "Running",
        ),
        (pod(status={"phase": "Running", "containerStatuses": [DONE, RUNNING]}, containers=2), "1/2", "NotReady"),
        (
            pod(
                status={
                    "phase": "Failed",
                    "containerStatuses": [DONE, container("c1", terminated={"exitCode": 1, "reason": "Error"})],
                },
                containers=2,
            ),
            "0/2",
            "Error",
        ),
        (
            pod(
                status={
                    "phase": "Pending",
                    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
                }
            ),
            "0/1",
            "SchedulingGated",
        ),
        (
            pod(status={"phase": "Running", "containerStatuses": [RUNNING]}, deletionTimestamp=ago(seconds=1)),
            "1/1",
            "Terminating",
        ),
        (pod(status={"phase": "Succeeded"}, deletionTimestamp=ago(seconds=1)), "0/1", "Succeeded"),
        (pod(status={"phase": "Running", "reason": "NodeLost"}, deletionTimestamp=ago(seconds=1)), "0/1", "Unknown"),
        (
            pod(spec=INIT, status={"phase": "Pending", "initContainerStatuses": [container("i0", running={})]}),
            "0/1",
            "Init:0/2",
        ),
        (
            pod(
                spec=INIT,
                status={
                    "phase": "Pending",
                    "initContainerStatuses": [DONE, container("i1", waiting={"reason": "PodInitializing"})],
                },
            ),
            "0/1",
            "Init:1/2",
        ),
        (
            pod(
                spec=INIT,
                status={"phase": "Pending", "initContainerStatuses": [container("i0", terminated={"exitCode": 2})]},
            ),
            "0/1",
            "Init:ExitCode:2",
        ),
        (
            pod(
                spec=INIT,
                status={
                    "phase": "Pending",
                    "initContainerStatuses": [container("i0", waiting={"reason": "CrashLoopBackOff"})],
                },
            ),
            "0/1",
            "Init:CrashLoopBackOff",
        ),
        (
            pod(
                spec=SIDECAR,
                status={
                    "phase": "Running",
                    "initContainerStatuses": [{**container("s", ready=True, running={}), "started": True}],
                    "containerStatuses": [RUNNING],
                },
            ),
            "2/2",
            "Running",
        ),
    ],
)
def test_ready_and_status_of_a_pod(document: dict[str, Any], ready: str, status: str) -> None:
    """printPod: what kubectl shows instead of the bare phase."""
    assert printed("", "Pod", document)[1:3] == [ready, status]


def test_restarts_say_when_the_last_was() -> None:
    """Of all containers; only if there was one whose end is known."""
    ended = {"lastState": {"terminated": {"finishedAt": ago(minutes=5)}}}
    older = {"lastState": {"terminated": {"finishedAt": ago(hours=5)}}}
    statuses = [{**container(restarts=2), **ended}, {**container("c1", restarts=1), **older}]
    assert printed("", "Pod", pod(status={"containerStatuses": statuses}))[3] == "3 (5m ago)"
    assert printed("", "Pod", pod(status={"containerStatuses": [container(restarts=2)]}))[3] == "2"
    assert printed("", "Pod", pod())[3] == "0"


def test_wide_columns_of_a_pod() -> None:
    """All columns are always sent; kubectl hides those of priority 1."""
    status = {"podIPs": [{"ip": "10.0.0.9"}], "conditions": [{"type": "gate", "status": "True"}]}
    spec = {"nodeName": "n1", "readinessGates": [{"conditionType": "gate"}, {"conditionType": "other"}]}
    assert printed("", "Pod", pod(spec=spec, status=status))[4:] == ["90m", "10.0.0.9", "n1", "<none>", "1/2"]
    assert printed("", "Pod", pod())[5:] == ["<none>", "<none>", "<none>", "<none>"]


def test_rows_of_pods_that_are_done_say_so() -> None:
    """A condition of the row, by which clients may hide them."""
    done = row(KINDS["", "Pod"], pod(status={"phase": "Succeeded"}), NOW)
    assert done["conditions"] == [
        {"type": "Completed", "status": "True", "reason": "Succeeded", "message": "The pod has completed successfully."}
    ]
    assert "conditions" not in row(KINDS["", "Pod"], pod(status={"phase": "Running"}), NOW)


# Other kinds.

TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j:2"}]}}
SELECTOR = {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["2", "1"]}]}


@pytest.mark.parametrize(
    ("group", "kind", "document", "expected"),
    [
        ("", "ConfigMap", named("c", data={"a": "1"}, binaryData={"b": "Yg=="}), ["c", 2, "90m"]),
        ("", "Secret", named("s", type="kubernetes.io/tls", data={"a": "MQ=="}), ["s", "kubernetes.io/tls", 1, "90m"]),
        ("", "Namespace", named("n", status={"phase": "Terminating"}), ["n", "Terminating", "90m"]),
        ("", "ServiceAccount", named("default"), ["default", "90m"]),
        ("coordination.k8s.io", "Lease", named("l", spec={"holderIdentity": "me"}), ["l", "me", "90m"]),
        (
            "apps",
            "Deployment",
            named(
                "d",
                spec={"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
                status={"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
            ),
            ["d", "1/3", 2, 1, "90m", "a,b", "i:1,j:2", "a in (1,2),app=x"],
        ),
        (
            "apps",
            "ReplicaSet",
            named("r", spec={"replicas": 2, "template": TEMPLATE}, status={"replicas": 2, "readyReplicas": 1}),
            ["r", 2, 2, 1, "90m", "a,b", "i:1,j:2", "<none>"],
        ),
        ("apps", "StatefulSet", named("s", spec={"template": TEMPLATE}), ["s", "0/1", "90m", "a,b", "i:1,j:2"]),
        (
            "apps",
            "DaemonSet",
            named("d", spec={"template": {"spec": {"nodeSelector": {"os": "linux"}}}}, status={"numberReady": 2}),
            ["d", 0, 0, 2, 0, 0, "os=linux", "90m", "", "", "<none>"],
        ),
        (
            "",
            "ReplicationController",
            named("r", spec={"selector": {"b": "2", "a": "1"}}),
            ["r", 1, 0, 0, "90m", "", "", "a=1,b=2"],
        ),
        (
            "",
            "Service",
            named("s", spec={"clusterIP": "10.0.0.1", "ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}]}),
            ["s", "ClusterIP", "10.0.0.1", "<none>", "80/TCP,53/UDP", "90m", "<none>"],
        ),
        (
            "",
            "Service",
            named(
                "s", spec={"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080}], "selector": {"a": "b"}}
            ),
            ["s", "LoadBalancer", "<none>", "<pending>", "80:30080/TCP", "90m", "a=b"],
        ),
        (
            "",
            "Service",
            named(
                "s",
                spec={"type": "LoadBalancer", "externalIPs": ["3.3.3.3"]},
                status={"loadBalancer": {"ingress": [{"hostname": "h"}, {"ip": "1.1.1.1"}]}},
            ),
            ["s", "LoadBalancer", "<none>", "1.1.1.1,h,3.3.3.3", "<none>", "90m", "<none>"],
        ),
        (
            "",
            "Service",
            named("s", spec={"type": "ExternalName", "externalName": "example.com"}),
            ["s", "ExternalName", "<none>", "example.com", "<none>", "90m", "<none>"],
        ),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            named("widgets.example.com"),
            ["widgets.example.com", "2026-01-02T10:30:00Z"],
        ),
    ],
)
def test_cells_of_built_in_kinds(group: str, kind: str, document: dict[str, Any], expected: list[Any]) -> None:
    """The printers of kube-apiserver 1.36."""
    assert printed(group, kind, document) == expected


def test_cells_of_a_node() -> None:
    """Roles come from labels; the architecture stands behind the kernel."""
    node = named(
        "n",
        spec={"unschedulable": True},
        status={
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.1.1.1"}],
            "nodeInfo": {"kubeletVersion": "v1.36.0", "kernelVersion": "6.1", "architecture": "arm64"},
        },
    )
    node["metadata"]["labels"] = {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}
    expected = ["n", "Ready,SchedulingDisabled", "edge,worker", "90m", "v1.36.0", "10.1.1.1", "<none>", "<unknown>"]
    assert printed("", "Node", node) == [*expected, "6.1 (arm64)", "<unknown>"]
    assert printed("", "Node", named("m"))[1:3] == ["Unknown", "<none>"]


def test_cells_of_an_event() -> None:
    """The same through both APIs."""
    about = {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"}
    source, times = (
        {"component": "kubelet", "host": "n1"},
        {"firstTimestamp": ago(hours=4), "lastTimestamp": ago(minutes=2)},
    )
    core = named(
        "e", involvedObject=about, reason="Pulled", message=" done\n", type="Normal", count=3, source=source, **times
    )
    expected = ["2m", "Normal", "Pulled", "pod/p", "spec.containers{c}", "kubelet, n1", "done", "4h", 3, "e"]
    assert printed("", "Event", core) == expected
    old = {"deprecatedSource": source, "deprecatedCount": 3, "deprecatedFirstTimestamp": ago(hours=4)}
    new = named("e", regarding=about, reason="Pulled", note="done", type="Normal", **old)
    assert printed("events.k8s.io", "Event", {**new, "deprecatedLastTimestamp": ago(minutes=2)}) == expected


def test_an_event_of_the_new_api_has_its_time_elsewhere() -> None:
    """eventTime, and a series for what comes again."""
    event = named("e", eventTime=ago(minutes=3), regarding={"kind": "Node"}, reportingController="c")
    assert printed("events.k8s.io", "Event", event) == ["3m", "", "", "node", "", "c", "", "3m", 1, "e"]
    again = {**event, "series": {"count": 7, "lastObservedTime": ago(seconds=5)}}
    assert printed("events.k8s.io", "Event", again)[0] == "5s"
    assert printed("events.k8s.io", "Event", again)[8] == 7


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"completions": 3}, {"succeeded": 1, "startTime": ago(minutes=3)}, ["Running", "1/3", "3m"]),
        ({"parallelism": 2}, {}, ["Running", "0/1 of 2", ""]),
        (
            {},
            {
                "succeeded": 1,
                "startTime": ago(minutes=3),
                "completionTime": ago(minutes=2),
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            ["Complete", "1/1", "60s"],
        ),
        ({}, {"conditions": [{"type": "Failed", "status": "True"}]}, ["Failed", "0/1", ""]),
        ({}, {"conditions": [{"type": "Suspended", "status": "True"}]}, ["Suspended", "0/1", ""]),
    ],
)
def test_cells_of_a_job(spec: dict[str, Any], status: dict[str, Any], expected: list[str]) -> None:
    """Status, Completions and Duration."""
    assert printed("batch", "Job", named("j", spec=spec, status=status))[1:4] == expected


# Whatever comes.


@given(json_objects, st.sampled_from(sorted(KINDS)))
def test_any_object_has_as_many_cells_as_its_kind_has_columns(document: dict[str, Any], kind: tuple[str, str]) -> None:
    """Never an error: an object may hold anything."""
    assert len(cells(KINDS[kind], document, NOW)) == len(columns(KINDS[kind]))


NAMES = """
metadata spec status conditions containerStatuses initContainerStatuses initContainers containers podIPs state name
lastState terminated waiting running exitCode reason type ports addresses nodeInfo selector matchLabels labels series
matchExpressions source creationTimestamp deletionTimestamp restartCount ingress loadBalancer template
"""
parts = st.sampled_from(NAMES.split())
objects = st.recursive(
    json_values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(parts, inner, max_size=4), max_leaves=20
)


@given(st.dictionaries(parts, objects, max_size=5), st.sampled_from(sorted(KINDS)))
def test_no_printer_trips_over_the_right_names_with_the_wrong_values(
    document: dict[str, Any], kind: tuple[str, str]
) -> None:
    """A string where an object should be, a list of numbers where one of objects should be."""
    assert len(cells(KINDS[kind], document, NOW)) == len(columns(KINDS[kind]))
