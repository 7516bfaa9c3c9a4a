"""Tables: the columns and cells that a real server prints."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync.testing.apiserver._age import age, human_age, parse_time
from kwsync.testing.apiserver._columns import columns
from kwsync.testing.apiserver._jsonpath import PathError, find
from kwsync.testing.apiserver._kind import Kind, builtin_kinds
from kwsync.testing.apiserver._status import ApiError
from kwsync.testing.apiserver._table import cells, include_object, object_table, row, table
from tests.testing.apiserver import recorded
from tests.values import json_objects, json_values

NOW = datetime(2026, 1, 2, 12, 0, 0, tzinfo=timezone.utc)
KINDS = {(kind.group, kind.name): kind for kind in builtin_kinds()}
WIDGET = Kind("example.com", "v1", "widgets", "Widget", True, custom=True)


def ago(**past: float) -> str:
    """A timestamp that long before now."""
    return (NOW - timedelta(**past)).strftime("%Y-%m-%dT%H:%M:%SZ")


def named(name: str, **more: Any) -> dict[str, Any]:
    """An object of this name, an hour and a half old."""
    return {"metadata": {"name": name, "creationTimestamp": ago(minutes=90)}, **more}


def printed(group: str, kind: str, document: dict[str, Any]) -> list[Any]:
    """The cells of a built-in kind."""
    return cells(KINDS[group, kind], document, NOW)


# Against the recordings.


@pytest.mark.parametrize(
    ("name", "include"),
    [
        ("list-table", ""),
        ("list-table-none", "None"),
        ("list-table-metadata", "Metadata"),
        ("list-table-object", "Object"),
        ("crd-table", ""),
    ],
)
def test_lists_are_the_tables_of_a_real_server(name: str, include: str) -> None:
    """Columns, cells with their ages, and as much of each object as was asked for."""
    answer, expected = recorded.transcript(name), recorded.body(name)
    now = parsedate_to_datetime(answer.answer_headers.get("Date") or "")
    kind = WIDGET if name.startswith("crd") else KINDS["", "ConfigMap"]
    objects = [whole(each, name) for each in expected["rows"]]
    assert json.dumps(table(kind, objects, now, expected["metadata"], include_object(include))) == json.dumps(expected)


def whole(row: dict[str, Any], name: str) -> dict[str, Any]:
    """An object that a recorded row could have been made of."""
    if row["object"] is None:
        return {"metadata": recorded.body("list-table")["rows"][0]["object"]["metadata"], "data": {"k": "2"}}
    return row["object"] if name == "list-table-object" else {"metadata": row["object"]["metadata"], "data": {"k": "2"}}


@pytest.mark.parametrize(
    ("name", "include"),
    [("watch-table", "Metadata"), ("watch-table-object", "Object"), ("watch-table-bookmark", "Metadata")],
)
def test_watch_events_are_tables_of_one_row(name: str, include: str) -> None:
    """The first says the columns, the others null; the Table's own metadata has the version of the object."""
    now = parsedate_to_datetime(recorded.transcript(name).answer_headers.get("Date") or "")
    for index, event in enumerate(recorded.transcript(name).events):
        expected = event["object"]
        document = expected["rows"][0]["object"]
        data = {"k": "v"} if event["type"] != "BOOKMARK" else {}
        answer = object_table(
            KINDS["", "ConfigMap"],
            document if include == "Object" else {"metadata": document["metadata"], "data": data},
            max(now, parse_time(document["metadata"].get("creationTimestamp")) or now),
            include,
            with_columns=index == 0,
        )
        answer["rows"][0]["cells"][2] = expected["rows"][0]["cells"][2] if data else answer["rows"][0]["cells"][2]
        assert json.dumps(answer) == json.dumps(expected)


def test_without_objects_only_the_marked_bookmark_keeps_its_metadata() -> None:
    """Its annotation could not be seen otherwise (apiserver's response.go)."""
    end = {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}}
    kind = KINDS["", "ConfigMap"]
    assert row(kind, end, NOW, "None")["object"]["metadata"] == end["metadata"]
    assert row(kind, {"metadata": {"resourceVersion": "1"}}, NOW, "None")["object"] is None


def test_include_object_takes_three_words() -> None:
    """Recorded: list-table-bad-include."""
    assert [include_object(value) for value in ("", "None", "Object")] == ["Metadata", "None", "Object"]
    with pytest.raises(ApiError) as caught:
        include_object("Bad")
    assert caught.value.status == recorded.body("list-table-bad-include")


# Ages.


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (10860, "3h1m"),
        (28799, "7h59m"),
        (28800, "8h"),
        (172799, "47h"),
        (172800, "2d"),
        (176400, "2d1h"),
        (691199, "7d23h"),
        (691200, "8d"),
        (63071999, "729d"),
        (63072000, "2y"),
        (63158400, "2y1d"),
        (252288000, "8y"),
    ],
)
def test_human_ages(seconds: float, text: str) -> None:
    """duration.HumanDuration, at each of its borders."""
    assert human_age(seconds) == text


@given(st.floats(-1e9, 1e12))
def test_any_age_is_short(seconds: float) -> None:
    """Two figures at most."""
    assert len(human_age(seconds)) <= 10


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-01-02T11:59:00Z", 60),
        ("2026-01-02T11:59:00.5Z", 59.5),
        ("2026-01-02T11:59:00.123456789Z", 59.876544),
        ("2026-01-02T13:59:00+02:00", 60),
        ("2026-01-02T06:29:00-05:30", 60),
    ],
)
def test_times(text: str, seconds: float) -> None:
    """RFC 3339 with and without fractions and offsets."""
    moment = parse_time(text)
    assert moment is not None
    assert (NOW - moment).total_seconds() == pytest.approx(seconds)


@pytest.mark.parametrize("value", [None, "", "yesterday", 3, "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+23:59", {}])
def test_what_is_no_time_has_no_age(value: object) -> None:
    """As a bookmark's creationTimestamp."""
    assert age(value, NOW) == "<unknown>"


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


# Custom kinds.


def test_a_custom_kind_without_columns_has_name_and_age() -> None:
    """The age is a date there."""
    assert [(column["name"], column["type"]) for column in columns(WIDGET)] == [("Name", "string"), ("Age", "date")]
    assert cells(WIDGET, named("w"), NOW) == ["w", "90m"]


def custom(*wanted: dict[str, Any]) -> Kind:
    """A custom kind with these additionalPrinterColumns."""
    return dataclasses.replace(WIDGET, columns=wanted)


def test_columns_of_a_custom_kind() -> None:
    """In the order of the definition; a description is made up where there is none."""
    size = {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1}
    note = {"name": "Note", "type": "string", "jsonPath": ".n", "description": "d", "format": "f"}
    made = "Custom resource definition column (in JSONPath format): .spec.size"
    assert columns(custom(size, note))[1:] == [
        {"name": "Size", "type": "integer", "format": "", "description": made, "priority": 1},
        {"name": "Note", "type": "string", "format": "f", "description": "d", "priority": 0},
    ]


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("string", "x", "x"),
        ("string", 3, "3"),
        ("string", True, "true"),
        ("string", {"a": [1]}, '{"a":[1]}'),
        ("integer", 3, 3),
        ("integer", 3.7, 3),
        ("integer", "3", None),
        ("integer", True, None),
        ("number", 1.5, 1.5),
        ("boolean", False, False),
        ("boolean", "true", None),
        ("date", ago(minutes=2), "2m"),
        ("date", "soon", "<invalid>"),
        ("date", 3, None),
        ("strange", 3, None),
    ],
)
def test_cells_of_a_custom_kind(kind: str, value: object, cell: object) -> None:
    """A value of another type than the column's is left out (apiextensions' tableconvertor.go)."""
    column = {"name": "X", "type": kind, "jsonPath": ".spec.x"}
    assert cells(custom(column), named("w", spec={"x": value}), NOW) == ["w", cell]
    assert cells(custom(column), named("w"), NOW) == ["w", None]


TREE = {
    "a": {"b": 1, "c.d": 2, "e f": 3},
    "l": [{"t": "x", "v": 1}, {"t": "y", "v": 2}, {"v": 3}],
    "n": [10, 20, 30],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b", [1]),
        ("a.b", [1]),
        ("['a']['b']", [1]),
        ('["a"].b', [1]),
        (r".a.c\.d", [2]),
        (r".a['c\.d']", [2]),
        (".a['e f']", [3]),
        (".n[0]", [10]),
        (".n[-1]", [30]),
        (".n[9]", []),
        (".n[*]", [10, 20, 30]),
        (".l[*].v", [1, 2, 3]),
        ('.l[?(@.t=="y")].v', [2]),
        (".l[?(@.t == 'x')].v", [1]),
        ('.l[?(@.t!="y")].v', [1]),
        (".l[?(@.v==3)].v", [3]),
        (".absent.x", []),
        (".a.b.c", []),
        (".", [TREE]),
    ],
)
def test_json_paths(path: str, found: list[Any]) -> None:
    """The simple forms that definitions use."""
    assert find(TREE, path) == found


@pytest.mark.parametrize("path", [".a[", "..a", ".a[?(@.x>1)]", ".a{", ".a..b"])
def test_json_paths_that_are_not_understood(path: str) -> None:
    """Their column stays empty."""
    with pytest.raises(PathError):
        find(TREE, path)
    assert cells(custom({"name": "X", "type": "string", "jsonPath": path}), TREE, NOW)[1] is None


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


@given(
    json_objects,
    st.sampled_from(["string", "integer", "number", "boolean", "date"]),
    st.text(".[]*?@=ab'\"\\0", max_size=8),
)
def test_no_custom_column_trips(document: dict[str, Any], kind: str, path: str) -> None:
    """Whatever its path says."""
    column = {"name": "X", "type": kind, "jsonPath": path}
    assert len(cells(custom(column), document, NOW)) == 2
