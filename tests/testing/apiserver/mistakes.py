"""Bodies and parameters of wrong types and sizes, and objects that say little, for two servers (see `corpus`)."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tests.testing.apiserver.corpus import (
    APPLY,
    CORE,
    DEFINITIONS,
    JOBS,
    LEASES,
    MAPS,
    MERGE,
    NAMESPACE,
    NEW_EVENTS,
    PODS,
    STEPS,
    STRATEGIC,
    WIDGETS,
    Asked,
    Json,
    config_map,
    definition,
    delete,
    get,
    patch,
    pod,
    post,
    put,
    widget,
)

APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
ROLES = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}
MIB = 1024 * 1024


def texts() -> Iterator[Asked]:
    """What is no JSON, or JSON that not every parser takes."""
    for body in (
        b'{"metadata":{"name":"t1"},"data":{"k":NaN}}',
        b'{"metadata":{"name":"t2"},"data":{"k":"\\ud800"}}',
        b'{"metadata":{"name":"t3"},"data":{"k":"a\\udc00b"}}',
        b'{"a" 1}',
        b'{"a":1}x',
        b'{"a":"\\x"}',
        b"xyz",
        b"[1,]",
        b"1",
    ):
        yield post(MAPS, body)
    yield Asked("POST", MAPS, '{"metadata":{"name":"t4"},"a\rb":1}'.replace("\r", "\\r").encode())
    yield post(WIDGETS, b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":1}')


def types() -> Iterator[Asked]:
    """Fields of a wrong type in what the server looks at itself."""
    metadata: list[Json] = [
        {"labels": {"a": 1}},
        {"annotations": "x"},
        {"finalizers": "x"},
        {"finalizers": [1]},
        {"ownerReferences": "x"},
        {"ownerReferences": ["x"]},
        {"ownerReferences": [{**OWNER, "controller": "x"}]},
        {"generation": "x"},
        {"generation": 1.5},
        {"uid": 1},
        {"managedFields": {}},
    ]
    for each in metadata:
        yield post(MAPS, {"metadata": {"name": "t", **each}})
        yield post(WIDGETS, {**widget("t"), "metadata": {"name": "t", **each}})
    fields: list[Json] = [{"data": {"k": 1}}, {"data": []}, {"binaryData": {"k": "!"}}, {"immutable": "x"}]
    for each in fields:
        yield post(MAPS, {"metadata": {"name": "t"}, **each})
    yield post(f"{CORE}/secrets", {"metadata": {"name": "t"}, "data": {"k": "!!"}})
    for spec in (
        {"containers": "x"},
        {"containers": ["x"]},
        {"containers": [{"name": 1}]},
        {"terminationGracePeriodSeconds": "x"},
        {"nodeName": 1},
        {"nodeSelector": {"a": 1}},
    ):
        yield post(PODS, {"metadata": {"name": "t"}, "spec": spec})
    yield post(f"{APPS}/deployments", {"metadata": {"name": "t"}, "spec": {"replicas": "x"}})
    yield post(f"{APPS}/deployments", {"metadata": {"name": "t"}, "spec": {"replicas": 2**40}})
    for body in (b"1", b"null", b'"x"', b"{}"):
        yield patch(f"{MAPS}/t", body, STEPS)


def empties() -> Iterator[Asked]:
    """Nulls, and what is empty."""
    for name, more in (
        ("e1", {"data": {}}),
        ("e2", {"data": {"k": None}, "binaryData": {}}),
        ("e3", {"data": None, "immutable": False}),
    ):
        yield post(MAPS, {"metadata": {"name": name}, **more})
    metadata = {"name": "e4", "labels": {"a": None}, "annotations": {}, "finalizers": [], "generation": 7}
    yield post(MAPS, {"metadata": metadata})
    yield put(f"{MAPS}/e4", {"metadata": {"name": "e4", "generation": 9}})
    yield patch(f"{MAPS}/e1", b"null", STRATEGIC)
    yield patch(f"{MAPS}/e1", b"null", STEPS)
    yield patch(f"{MAPS}/e1", b'"x"', STRATEGIC)
    yield post(f"{ROLES}/rolebindings", {"metadata": {"name": "e"}, "roleRef": _role("x"), "subjects": []})
    yield post(f"{ROLES}/roles", {"metadata": {"name": "e"}})


def _role(name: str) -> Json:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}


def limits() -> Iterator[Asked]:
    """What is too long, too large or too much."""
    yield post(MAPS, config_map("l1", annotations={"k": "x" * 262144}))
    yield post(MAPS, config_map("l2", annotations={"bad key!": "x"}))
    yield post(MAPS, {"metadata": {"name": "l3"}, "data": {"k": "x" * (MIB + 1)}})
    yield post(MAPS, {"metadata": {"name": "l4"}, "data": {"k": "x" * 3 * MIB}})
    yield post(MAPS, {"metadata": {"name": "l5"}, "data": {"bad key!": "x"}})
    yield post(f"{CORE}/secrets", {"metadata": {"name": "l6"}, "data": {"k": "AAAA" * (MIB // 3 + 1)}})
    yield post(WIDGETS, widget("l7", text="x" * 1600 * 1024))
    lists: tuple[list[dict[str, Any]], ...] = (
        [{}],
        [{**OWNER, "kind": "Event"}],
        [{**OWNER, "controller": True}, {**OWNER, "controller": True, "name": "m"}],
    )
    for owners in lists:
        yield post(MAPS, config_map("l8", ownerReferences=owners))
    yield post(MAPS, config_map("l9", ownerReferences=[OWNER, OWNER]))
    for query in (f"fieldManager={'x' * 129}", "fieldManager=a%0Ab", f"fieldManager={'x' * 128}"):
        yield post(f"{MAPS}?{query}", config_map("l10"))
        yield put(f"{MAPS}/l10?{query}", config_map("l10"))
    yield patch(f"{MAPS}/l10?force=true", {"data": {}})
    doubled = [{"op": "copy", "from": "/data", "path": f"/data/{index}"} for index in range(40)]
    yield patch(f"{MAPS}/l10", [{"op": "add", "path": "/data", "value": {"k": "x" * 100_000}}, *doubled], STEPS)
    many = "9" * 30
    for query in (f"limit={many}", f"timeoutSeconds={many}", f"resourceVersion={many}", "limit=%2B1", "limit=1_0"):
        yield get(f"{MAPS}?{query}")
    for query in (f"timeoutSeconds={many}", f"resourceVersion={'9' * 5000}"):
        yield get(f"{MAPS}?watch=1&{query}")
    yield get(f"{MAPS}?limit=1&continue=e30")


def deletions() -> Iterator[Asked]:
    """Options of a wrong type, none of which may delete anything."""
    yield post(MAPS, config_map("d"))
    bodies: list[Any] = [
        {"gracePeriodSeconds": "abc"},
        {"gracePeriodSeconds": 1.5},
        {"preconditions": "x"},
        {"preconditions": {"uid": 1}},
        {"preconditions": {"resourceVersion": 1}},
        {"propagationPolicy": 1},
        {"propagationPolicy": ""},
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        {"orphanDependents": "x"},
        {"dryRun": ["x"]},
        {"dryRun": "All"},
        {"kind": 1},
        b'"x"',
    ]
    for body in bodies:
        yield delete(f"{MAPS}/d", body)
        yield delete(f"{MAPS}?labelSelector=none", body)
    for query in ("dryRun=x", "dryRun=", f"gracePeriodSeconds={'9' * 30}"):
        yield delete(f"{MAPS}/d?{query}")
    yield get(f"{MAPS}/d")
    yield delete(f"{MAPS}/d", b"null")


def _gizmos(**version: Any) -> Json:
    """Another definition, with something in its version."""
    found = copy.deepcopy(definition("gizmos.example.com"))
    found["spec"]["names"] = {"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList"}
    found["spec"]["versions"][0].update(version)
    return found


def definitions() -> Iterator[Asked]:
    """Definitions of which no kind can be made."""
    column = {"name": "a", "type": "string", "jsonPath": ".a"}
    versions: list[Json] = [
        {"additionalPrinterColumns": "x"},
        {"additionalPrinterColumns": ["x"]},
        {"additionalPrinterColumns": [{}]},
        {"additionalPrinterColumns": [{**column, "name": 1}]},
        {"additionalPrinterColumns": [{**column, "type": "foo"}]},
        {"additionalPrinterColumns": [{**column, "jsonPath": "a[[["}]},
        {"additionalPrinterColumns": [{**column, "priority": "x"}]},
        {"subresources": "x"},
        {"subresources": {"status": "x"}},
        {"subresources": {"scale": {}}},
        {"selectableFields": "x"},
        {"selectableFields": [{}]},
        {"selectableFields": [{"jsonPath": 1}]},
        {"name": 1},
        {"served": "x"},
        {"deprecated": 1},
        {"deprecationWarning": 1},
    ]
    for version in versions:
        yield post(DEFINITIONS, _gizmos(**version))
    specs: list[Json] = [{"scope": None}, {"scope": "x"}, {"scope": 1}, {"versions": {}}, {"versions": ["x"]}]
    specs += [{"names": []}, {"group": "apps"}, {"group": "x.k8s.io"}, {"conversion": "x"}]
    for spec in specs:
        found = _gizmos()
        found["spec"].update(spec)
        yield post(DEFINITIONS, found)
    widgets = f"{DEFINITIONS}/widgets.example.com"
    yield patch(widgets, {"spec": {"scope": "Cluster"}})
    yield patch(widgets, {"spec": {"names": {"kind": "Foo"}}})


def defaults() -> Iterator[Asked]:
    """Objects that say little, and get the rest."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    for plural in ("deployments", "replicasets", "statefulsets", "daemonsets"):
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        yield post(f"{APPS}/{plural}", {"metadata": {"name": "w"}, "spec": spec})
    yield post(f"{CORE}/replicationcontrollers", {"metadata": {"name": "w"}, "spec": {"template": template}})
    job = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
    yield post(JOBS, {"metadata": {"name": "w"}, "spec": job})
    cron_jobs = f"/apis/batch/v1/namespaces/{NAMESPACE}/cronjobs"
    cron_job = {"schedule": "* * * * *", "jobTemplate": {"spec": job}}
    yield post(cron_jobs, {"metadata": {"name": "w"}, "spec": cron_job})
    yield post(LEASES, {"metadata": {"name": "w"}})
    yield post(NEW_EVENTS, {"metadata": {"name": "w"}, "regarding": {"namespace": "x"}})
    yield from _services()
    yield from _pods()
    node = {"spec": {"unschedulable": True, "podCIDR": "10.1.0.0/24"}, "status": {"capacity": {"cpu": "1"}}}
    yield post("/api/v1/nodes", {"metadata": {"name": "w"}, **node})


def _services() -> Iterator[Asked]:
    ports = [{"port": 80}]
    specs: list[Json] = [
        {"ports": ports, "selector": {"a": "b"}},
        {"ports": ports, "clusterIP": "None", "selector": {"a": "b"}},
        {"type": "ExternalName", "externalName": "x.y"},
        {"type": "NodePort", "ports": [{"port": 80, "name": "p"}]},
        {"type": "LoadBalancer", "ports": ports},
    ]
    for index, spec in enumerate(specs):
        yield post(f"{CORE}/services", {"metadata": {"name": f"w{index}"}, "spec": spec})
    yield post(f"{CORE}/services", {"metadata": {"name": "Bad"}, "spec": {"ports": ports}})


def _pods() -> Iterator[Asked]:
    amounts = {"cpu": "1", "memory": "1Mi"}
    resources: list[Json] = [{"requests": {"cpu": "1"}}, {"limits": amounts}, {"requests": amounts, "limits": amounts}]
    for index, each in enumerate(resources):
        container = {"name": "c", "image": "i", "resources": each, "ports": [{"containerPort": 80}]}
        container["livenessProbe"] = {"httpGet": {"port": 80}}
        yield post(PODS, {**pod(f"w{index}"), "spec": {"containers": [container], "terminationGracePeriodSeconds": -1}})
    condition = {"type": "Ready", "status": "True"}
    yield patch(f"{PODS}/w1/status", {"status": {"podIP": "1.2.3.4", "conditions": [condition]}}, MERGE)
    yield put(f"{PODS}/w1/status", {**pod("w1"), "status": {"phase": "Running"}})
    yield patch(f"{MAPS}/w?fieldManager=m", b"null", APPLY)


TOPICS = (texts, types, empties, limits, deletions, definitions, defaults)
