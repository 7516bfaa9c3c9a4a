"""Whatever is sent, the answer is no failure of the server, and everything can still be listed and watched."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwsync.testing import ApiServer
from kwsync.testing.apiserver import _bodies
from tests.testing.apiserver.wire import Http, Stream, definition, widget
from tests.values import json_values

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIALS = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
CORE = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
POD_SPEC = {"restartPolicy": "Always", "containers": [{"name": "c", "image": "i:1"}]}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}
WORKLOAD = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}


class Resource(NamedTuple):
    """Where objects of a kind are, and a good one."""

    path: str
    object: dict[str, Any]
    parts: tuple[str, ...] = ()
    """Its subresources."""


def named(name: str = "a", **more: Any) -> dict[str, Any]:
    """An object with everything in its metadata that a client may write."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": True}
    metadata = {
        "name": name,
        "labels": {"l": "1"},
        "annotations": {"n": "1"},
        "finalizers": ["x/y"],
        "ownerReferences": [owner],
        "resourceVersion": "",
        "generation": 1,
    }
    return {"metadata": metadata, **more}


def a_definition() -> dict[str, Any]:
    """A definition with everything in it that the server looks at."""
    found = copy.deepcopy(definition())
    version = found["spec"]["versions"][0]
    version["subresources"]["scale"] = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version["additionalPrinterColumns"] = [{"name": "C", "type": "string", "jsonPath": ".spec.c", "priority": 1}]
    version["selectableFields"] = [{"jsonPath": ".spec.c"}]
    found["spec"]["names"].update(categories=["all"], singular="widget", listKind="WidgetList")
    return found


RESOURCES = {
    "configmaps": Resource(f"{CORE}/configmaps", named(data={"k": "v"}, binaryData={"b": "eA=="}, immutable=False)),
    "secrets": Resource(f"{CORE}/secrets", named(data={"k": "eA=="}, stringData={"s": "t"}, type="Opaque")),
    "pods": Resource(
        f"{CORE}/pods",
        named(
            spec={**POD_SPEC, "nodeName": "n", "terminationGracePeriodSeconds": 1, "hostNetwork": True},
            status={"phase": "Running", "podIPs": [{"ip": "1.2.3.4"}], "conditions": [{"type": "Ready"}]},
        ),
        ("status",),
    ),
    "services": Resource(
        f"{CORE}/services",
        named(spec={"ports": [{"port": 80}], "selector": {"a": "b"}, "type": "ClusterIP"}),
        ("status",),
    ),
    "namespaces": Resource(
        "/api/v1/namespaces", named(spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"}), ("status",)
    ),
    "nodes": Resource(
        "/api/v1/nodes",
        named(spec={"unschedulable": True}, status={"addresses": [{"type": "InternalIP"}]}),
        ("status",),
    ),
    "events": Resource(
        f"{CORE}/events",
        named(involvedObject={"kind": "Pod", "namespace": "default"}, source={"component": "c"}, count=1, reason="R"),
    ),
    "events.events.k8s.io": Resource(
        "/apis/events.k8s.io/v1/namespaces/default/events",
        named(regarding={"kind": "Pod"}, eventTime="2026-01-02T03:04:05.000000Z", reportingController="c", note="n"),
    ),
    "deployments": Resource(f"{APPS}/deployments", named(spec=WORKLOAD, status={"replicas": 1}), ("status", "scale")),
    "replicasets": Resource(f"{APPS}/replicasets", named(spec=WORKLOAD, status={"replicas": 1}), ("status", "scale")),
    "replicationcontrollers": Resource(
        f"{CORE}/replicationcontrollers", named(spec={**WORKLOAD, "selector": {"app": "web"}}), ("status", "scale")
    ),
    "jobs": Resource(
        "/apis/batch/v1/namespaces/default/jobs",
        named(spec={"template": TEMPLATE}, status={"succeeded": 1}),
        ("status",),
    ),
    "leases": Resource(
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        named(spec={"holderIdentity": "h", "leaseDurationSeconds": 1, "renewTime": "2026-01-02T03:04:05.000000Z"}),
    ),
    "customresourcedefinitions": Resource(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", a_definition(), ("status",)
    ),
    "widgets": Resource("/apis/example.com/v1/namespaces/default/widgets", widget("a", c="red"), ("status",)),
    "reviews": Resource(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}},
    ),
}
LISTED = [resource.path for name, resource in RESOURCES.items() if name != "reviews"]
PATCHES = (_bodies.MERGE, _bodies.STRATEGIC, _bodies.JSON_PATCH, _bodies.APPLY)
OPTIONS = {
    "kind": "DeleteOptions",
    "apiVersion": "v1",
    "gracePeriodSeconds": 0,
    "propagationPolicy": "Orphan",
    "preconditions": {"uid": "u", "resourceVersion": "1"},
    "dryRun": ["All"],
    "orphanDependents": True,
}


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where in a document there is anything."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from paths_of(inner, (*path, key))


def with_value(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The document with something else in one place."""
    if not path:
        return value
    changed = copy.copy(document)
    changed[path[0]] = with_value(changed[path[0]], path[1:], value)
    return changed


def spoilt(document: Any) -> st.SearchStrategy[Any]:
    """The document with anything in one place, or anything at all."""
    places = st.sampled_from(list(paths_of(document)))
    return st.builds(with_value, st.just(document), places, json_values) | json_values


def steps(document: Any) -> st.SearchStrategy[Any]:
    """JSON patches of such a document."""
    pointers = ["".join(f"/{key}" for key in path) for path in paths_of(document)]
    pointer = st.sampled_from([*pointers, "/metadata/finalizers/-"]) | st.text(max_size=5)
    operations = st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]) | json_values
    step = st.fixed_dictionaries(
        {"op": operations, "path": pointer | json_values, "from": pointer, "value": json_values}
    )
    return st.lists(step, max_size=4) | json_values


class Sent(NamedTuple):
    """One request."""

    resource: Resource
    method: str
    path: str
    body: Any
    content_type: str = "application/json"


@st.composite
def writes(draw: st.DrawFn) -> Sent:
    """Any write to any of these kinds."""
    resource = RESOURCES[draw(st.sampled_from(sorted(RESOURCES)))]
    method = draw(st.sampled_from(["POST", "PUT", "PATCH", "PATCH", "DELETE"]))
    name = resource.object.get("metadata", {}).get("name", "a")
    path = resource.path if method == "POST" else f"{resource.path}/{name}"
    if method == "DELETE":
        return Sent(resource, method, path, draw(spoilt(OPTIONS)))
    if method != "POST" and resource.parts and draw(st.booleans()):
        path = f"{path}/{draw(st.sampled_from(resource.parts))}"
    if method != "PATCH":
        return Sent(resource, method, path, draw(spoilt(resource.object)))
    content_type = draw(st.sampled_from(PATCHES))
    bodies = steps(resource.object) if content_type == _bodies.JSON_PATCH else spoilt(resource.object)
    return Sent(resource, method, f"{path}?fieldManager=m", draw(bodies), content_type)


def prepare(client: Http) -> None:
    """See that there is one object of each kind; all but the definition may be there."""
    for name in ("customresourcedefinitions", *RESOURCES):
        resource = RESOURCES[name]
        client("POST", resource.path, resource.object)


def check_readable(server: ApiServer, client: Http, path: str) -> None:
    """Each view of a list, and a watch with its initial events."""
    for accept in ("application/json", "application/yaml", TABLE, PARTIALS):
        answer = client("GET", path, Accept=accept)
        assert answer.status in (200, 404), answer
    if client("GET", path).status == 200:
        with contextlib.closing(Stream(server, path, allowWatchBookmarks=1, timeoutSeconds=10)) as stream:
            while stream.event()["type"] != "BOOKMARK":
                pass


@pytest.mark.timeout(180)
def test_any_write(api_server: ApiServer, http: Http) -> None:
    """A write of anything gets an answer that is no failure of the server, and breaks no list and no watch."""

    @settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(sent=writes())
    def write(sent: Sent) -> None:
        prepare(http)
        data = json.dumps(sent.body).encode("utf-8", "surrogatepass")
        answer = http(sent.method, sent.path, data, Content_Type=sent.content_type)
        assert answer.status < 500 or answer.reason != "InternalError", answer.body
        if sent.resource.path in LISTED:
            check_readable(api_server, http, sent.resource.path)

    write()
    for path in LISTED:
        check_readable(api_server, http, path)
