"""Some hundred requests, good and bad, for two servers, in this order: each topic builds on those before it.

Left out is what a real server answers now so, now so: a watch with a negative timeout.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

NAMESPACE = "demo"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
MAPS = f"{CORE}/configmaps"
PODS = f"{CORE}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
EVENTS = f"{CORE}/events"
NEW_EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = f"/apis/example.com/v1/namespaces/{NAMESPACE}/widgets"

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
STEPS = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIALS = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
SHORT = {
    MERGE: "merge",
    STRATEGIC: "strategic",
    STEPS: "json",
    APPLY: "apply",
    TABLE: "Table",
    PARTIAL: "PartialObjectMetadata",
    PARTIALS: "PartialObjectMetadataList",
}

Json = dict[str, Any]


class Asked(NamedTuple):
    """One request."""

    method: str
    path: str
    body: Any = None
    """Bytes as they are, all else as JSON."""
    accept: str = "application/json"
    content_type: str = "application/json"

    def __str__(self) -> str:
        path = self.path.removeprefix(f"{CORE}/")
        media_types = [SHORT.get(value, value) for value in (self.accept, self.content_type)]
        media_types = [value for value in media_types if value != "application/json"]
        return " ".join([self.method, path, *media_types, *self._content()])

    def _content(self) -> Iterator[str]:
        if isinstance(self.body, bytes):
            yield self.body.decode()
        elif self.body is not None:
            content = json.dumps(self.body, separators=(",", ":")).replace('"', "")
            yield content if len(content) <= 80 else content[:77] + "..."

    @property
    def data(self) -> bytes | None:
        """What goes over the wire."""
        return self.body if isinstance(self.body, bytes | None) else json.dumps(self.body).encode()


def get(path: str, accept: str = "application/json") -> Asked:
    return Asked("GET", path, accept=accept)


def post(path: str, body: Any) -> Asked:
    return Asked("POST", path, body)


def put(path: str, body: Any) -> Asked:
    return Asked("PUT", path, body)


def patch(path: str, body: Any, content_type: str = MERGE) -> Asked:
    return Asked("PATCH", path, body, content_type=content_type)


def delete(path: str, body: Any = None) -> Asked:
    return Asked("DELETE", path, body)


def requests(topics: Iterable[Callable[[], Iterator[Asked]]]) -> Iterator[tuple[str, Asked]]:
    """All of them, each with a name of its own."""
    seen: Counter[str] = Counter()
    for asked in itertools.chain.from_iterable(topic() for topic in topics):
        name = str(asked)
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name} (again, {seen[name]})", asked


# Objects.


def config_map(name: str, **metadata: Any) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"k": "v"}}


def pod(name: str, **spec: Any) -> Json:
    containers = [{"name": "c", "image": "i"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def event(name: str, **more: Any) -> Json:
    about = {"kind": "Pod", "name": "p", "namespace": NAMESPACE}
    said = {"involvedObject": about, "reason": "R", "message": "m", "type": "Normal"}
    return {"metadata": {"name": name}, **said, **more}


def lease(**spec: Any) -> Json:
    return {"metadata": {"name": "l"}, "spec": spec}


def widget(name: str, **spec: Any) -> Json:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def deployment() -> Json:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def definition(name: str = "widgets.example.com") -> Json:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    paths = ("specReplicasPath", ".spec.replicas"), ("statusReplicasPath", ".status.replicas")
    scale = {**dict(paths), "labelSelectorPath": ".status.selector"}
    parts = {"status": {}, "scale": scale}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": parts}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


# Topics.


def _words(text: str) -> list[str]:
    return text.split()


def creations() -> Iterator[Asked]:
    yield post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    bodies: list[Any] = [
        config_map("a"),
        config_map("a"),
        config_map("b", labels={"x": "y"}),
        config_map("B"),
        config_map("x" * 260),
        config_map("c", labels={"bad key": "v"}),
        config_map("c", labels={"k": "bad value!"}),
        config_map("c", annotations={"k": 1}),
        {"metadata": {}},
        [],
        b"null",
        b"",
        b"{]",
        b'"x"',
        {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "z"}},
        {"metadata": {"name": "nokind"}},
        {"metadata": {"name": "c", "namespace": "other"}},
    ]
    for body in bodies:
        yield post(MAPS, body)
    yield post("/api/v1/namespaces/none/configmaps", config_map("x"))
    for query in (
        "dryRun=All",
        "dryRun=x",
        "fieldValidation=Strict",
        "fieldValidation=Bad",
        "fieldManager=me",
        "dryRun=",
    ):
        yield post(f"{MAPS}?{query}", config_map("q1"))


_LIST_QUERIES = _words("""
limit=1 limit=0 limit=-1 limit=x resourceVersion=0 resourceVersion=0&limit=1 resourceVersion=1 resourceVersion=x
resourceVersion=-1 resourceVersion=1&resourceVersionMatch=NotOlderThan resourceVersionMatch=Exact
resourceVersion=0&resourceVersionMatch=Exact continue=x sendInitialEvents=true sendInitialEvents=false labelSelector=x
labelSelector=x%3Dy labelSelector=x!%3Dy labelSelector=x+in+(y,z) labelSelector=x+in labelSelector=%21x labelSelector=,
labelSelector=x%3E1 fieldSelector=metadata.name%3Da fieldSelector=metadata.name!%3Da fieldSelector=metadata.name
fieldSelector=x%3Dy fieldSelector=metadata.namespace%3Ddemo watch=0 watch=false timeoutSeconds=x timeoutSeconds=1
allowWatchBookmarks=1 pretty=true foo=bar resourceVersionMatch=x resourceVersion=1&resourceVersionMatch=x
""")

_WATCH_QUERIES = _words("""
resourceVersion=x resourceVersion=99999999999999999999999 timeoutSeconds=x continue=x resourceVersionMatch=NotOlderThan
resourceVersionMatch=NotOlderThan&resourceVersion=1 sendInitialEvents=true sendInitialEvents=false
sendInitialEvents=true&resourceVersionMatch=Exact sendInitialEvents=true&resourceVersionMatch=x labelSelector=a+b
fieldSelector=a%3Db limit=x
""")

_ACCEPTS = (
    "text/html",
    "*/*",
    "application/yaml",
    "application/cbor",
    "application/json;as=Table;g=meta.k8s.io;v=v1beta1",
    "application/json;as=Foo;g=meta.k8s.io;v=v1",
    "application/json;as=Foo;g=meta.k8s.io;v=v1,application/json",
    PARTIAL,
    "",
    "application/json;q=0.1,application/yaml",
    "application/json; charset=utf-8",
    "application/json;stream=watch",
)


def reads() -> Iterator[Asked]:
    for path in (MAPS, *(f"{MAPS}?{query}" for query in _LIST_QUERIES)):
        yield get(path)
        if "Version" not in path:
            yield get(path, TABLE)
            yield get(path, PARTIALS)
    silent = "watch=1&timeoutSeconds=1&resourceVersion=1&fieldSelector=metadata.name%3Dnothing"
    for accept in _ACCEPTS:
        for path in (MAPS, f"{MAPS}/a", f"{MAPS}/none", f"{MAPS}?{silent}"):
            yield get(path, accept)
    yield get(f"{MAPS}/a", TABLE)
    yield get(f"{MAPS}/a", PARTIALS)
    for query in ("resourceVersion=0", "resourceVersion=x", "watch=1"):
        yield get(f"{MAPS}/a?{query}")
    yield get(f"{MAPS}/a?includeObject=None", TABLE)
    yield get(f"{MAPS}?includeObject=Object&limit=1", TABLE)
    yield get(f"{MAPS}?includeObject=Bad", TABLE)
    for query in _WATCH_QUERIES:
        yield get(f"{MAPS}?watch=1&{query}")


def replacements() -> Iterator[Asked]:
    a = f"{MAPS}/a"
    yield put(a, config_map("a"))
    yield put(a, {**config_map("a"), "data": {"k": "2"}})
    yield put(a, config_map("b"))
    yield put(f"{MAPS}/none", config_map("none"))
    for metadata in ({"resourceVersion": "1"}, {"resourceVersion": "x"}, {"uid": "x"}, {"namespace": "x"}):
        yield put(a, config_map("a", **metadata))
    yield put(a, {"data": {"k": "3"}})
    yield put(f"{a}?dryRun=All", {**config_map("a"), "data": {"k": "9"}})
    yield put(MAPS, config_map("a"))
    yield post(a, config_map("a"))
    yield put(f"{a}/status", config_map("a"))


def patches() -> Iterator[Asked]:
    a, none, applied = (f"{MAPS}/{name}" for name in ("a", "none", "ap"))
    yield patch(MAPS, {})
    bodies: list[Any] = [
        {"data": {"n": "1"}},
        {"data": None},
        {"metadata": {"labels": {"l": "1"}}},
        {"metadata": {"name": "zzz"}},
        {"metadata": {"uid": "zzz"}},
        {"metadata": {"resourceVersion": "1"}},
        {"kind": "Secret"},
        {"bogus": 1},
        {"metadata": {"labels": "x"}},
        [],
        b"{",
        b"null",
        {},
    ]
    for body in bodies:
        yield patch(a, body, MERGE)
        yield patch(a, body, STRATEGIC)
    steps: list[Any] = [
        [],
        [{"op": "add", "path": "/data", "value": {"k": "v"}}],
        [{"op": "add", "path": "/data/z", "value": "1"}],
        [{"op": "test", "path": "/data/z", "value": "2"}],
        [{"op": "remove", "path": "/data/none"}],
        [{"op": "replace", "path": "/nosuch/x", "value": 1}],
        [{"op": "bad", "path": "/data"}],
        [{"op": "remove"}],
        [{"op": "copy", "from": "/data/z", "path": "/data/y"}],
        [{"op": "move", "from": "/data/y", "path": "/data/w"}],
        {},
        b"[",
    ]
    for body in steps:
        yield patch(a, body, STEPS)
    yield patch(a, [{"op": "replace", "path": "/data", "value": {}}], STEPS)
    yield patch(a, {"data": {}}, "application/json")
    yield patch(a, {"data": {}}, "text/plain")
    yield patch(none, {"data": {}})
    yield patch(none, [], STEPS)
    yield patch(applied, config_map("ap"), APPLY)
    for query, body in (
        ("fieldManager=m", config_map("ap")),
        ("fieldManager=m", config_map("ap")),
        ("fieldManager=m&force=true", {**config_map("ap"), "data": {"k": "2"}}),
        ("fieldManager=m", config_map("other")),
        ("fieldManager=m", {"data": {}}),
        ("fieldManager=m&force=true", {"apiVersion": "v1", "kind": "ConfigMap"}),
    ):
        yield patch(f"{applied}?{query}", body, APPLY)


def pods() -> Iterator[Asked]:
    p, q = f"{PODS}/p", f"{PODS}/q"
    yield post(PODS, pod("p"))
    yield post(PODS, {"metadata": {"name": "p0"}, "spec": {}})
    yield get(f"{p}/status")
    yield patch(f"{p}/status", {"status": {"phase": "Succeeded"}})
    for selector in ("status.phase%3DSucceeded", "spec.nodeName%3D", "spec.foo%3D"):
        yield get(f"{PODS}?fieldSelector={selector}")
    yield get(PODS, TABLE)
    yield get(p, TABLE)
    yield get(f"{p}/scale")
    yield get(f"{p}/nosuch")
    yield put(f"{p}/status", {**pod("p"), "status": {"phase": "Running"}})
    yield delete(p)
    yield get(p)
    yield post(PODS, pod("q", nodeName="n"))
    yield delete(q)
    yield delete(q)
    yield delete(f"{q}?gracePeriodSeconds=0")
    yield get(q)


def deployments() -> Iterator[Asked]:
    web = f"{DEPLOYMENTS}/web"
    yield post(DEPLOYMENTS, deployment())
    yield get(web)
    yield get(DEPLOYMENTS, TABLE)
    yield put(web, deployment())
    yield patch(web, {"spec": {"replicas": 3}}, STRATEGIC)
    containers = [{"name": "c", "image": "x:1"}, {"name": "d", "image": "y"}]
    yield patch(web, {"spec": {"template": {"spec": {"containers": containers}}}}, STRATEGIC)
    yield patch(f"{web}/status", {"status": {"replicas": 2}})
    yield get(f"{web}/scale")
    yield patch(f"{web}/scale", {"spec": {"replicas": 5}})
    yield get(web, TABLE)
    yield delete(web)
    yield get("/apis/apps/v1/replicasets?fieldSelector=status.replicas%3D1")


def deletions() -> Iterator[Asked]:
    b, f = f"{MAPS}/b", f"{MAPS}/f"
    yield post(MAPS, config_map("f", finalizers=["x/y"]))
    yield post(MAPS, config_map("g", finalizers=["bad"]))
    yield delete(f)
    yield delete(f)
    yield put(f, config_map("f", finalizers=["x/y", "x/z"]))
    yield patch(f, {"metadata": {"finalizers": None}})
    yield get(f)
    yield delete(f"{MAPS}/none")
    for body in (
        {"preconditions": {"uid": "x"}},
        {"preconditions": {"resourceVersion": "1"}},
        {"propagationPolicy": "Bad"},
        b"{",
        b"[]",
        {"kind": "Pod", "apiVersion": "v1"},
    ):
        yield delete(b, body)
    for query in ("propagationPolicy=Bad", "dryRun=All", "gracePeriodSeconds=x"):
        yield delete(f"{b}?{query}")
    yield delete(b, {"propagationPolicy": "Background"})
    yield delete(f"{MAPS}?labelSelector=none%3D1")
    yield delete(f"{MAPS}?labelSelector=l")


def leases() -> Iterator[Asked]:
    yield post(LEASES, lease(holderIdentity="a", renewTime="2026-01-01T00:00:00.000000Z"))
    yield put(f"{LEASES}/l", lease(holderIdentity="b"))
    yield put(f"{LEASES}/l2", {"metadata": {"name": "l2"}})
    for time in ("2026", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.1Z"):
        yield post(LEASES, lease(renewTime=time))
    yield patch(f"{LEASES}/l", {"spec": {"renewTime": "x"}})
    yield get(LEASES, TABLE)


def events() -> Iterator[Asked]:
    yield post(EVENTS, event("e1"))
    yield post(EVENTS, event("e2", involvedObject={"namespace": "x"}))
    yield get(f"{EVENTS}/e1")
    yield get(f"{NEW_EVENTS}/e1")
    yield get(EVENTS, TABLE)
    yield get(f"{EVENTS}?fieldSelector=involvedObject.name%3Dp")
    yield get(f"{EVENTS}?fieldSelector=regarding.name%3Dp")
    yield get(f"{NEW_EVENTS}?fieldSelector=regarding.name%3Dp")
    yield post(NEW_EVENTS, {"metadata": {"name": "e3"}, "regarding": {"namespace": NAMESPACE}})
    yield patch(f"{EVENTS}/e1", {"count": 2})


def other_kinds() -> Iterator[Asked]:
    yield post(f"{CORE}/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    yield get(f"{CORE}/secrets", TABLE)
    for name in ("s", "9bad.x"):
        yield post(f"{CORE}/services", {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}})
    yield get(f"{CORE}/services", TABLE)
    yield delete(f"{CORE}/services/s")
    yield post(f"{CORE}/serviceaccounts", {"metadata": {"name": "sa"}})
    yield delete(f"{CORE}/serviceaccounts/sa")
    yield get(f"{CORE}/serviceaccounts")
    yield post("/api/v1/nodes", {"metadata": {"name": "n1"}})
    yield get("/api/v1/nodes", TABLE)
    yield get("/api/v1/nodes/n1")
    yield delete("/api/v1/nodes/n1")
    yield get("/api/v1/componentstatuses?watch=1")
    yield get(f"{CORE}/endpoints")
    yield post("/api/v1/namespaces", {"metadata": {"name": "Bad"}})
    yield get(f"/api/v1/namespaces/{NAMESPACE}")
    yield get(f"/api/v1/namespaces?fieldSelector=metadata.name%3D{NAMESPACE}", TABLE)
    yield delete("/api/v1/namespaces")
    roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/roles"
    yield post(roles, {"metadata": {"name": "r:x"}, "rules": []})
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    yield post(JOBS, {"metadata": {"name": "j"}, "spec": {"template": template}})


def definitions() -> Iterator[Asked]:
    yield post(DEFINITIONS, definition())
    yield post(DEFINITIONS, definition("x.y"))


def custom_objects() -> Iterator[Asked]:
    w = f"{WIDGETS}/w"
    yield post(WIDGETS, widget("w", a=1))
    yield post(WIDGETS, {"metadata": {"name": "w2"}})
    yield post(WIDGETS, {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "w2"}})
    yield post(WIDGETS, widget("Bad"))
    for accept in ("application/json", TABLE, PARTIAL, PARTIALS, "text/html"):
        yield get(WIDGETS, accept)
    yield get(w)
    yield get(f"{WIDGETS}?fieldSelector=spec.a%3D1")
    yield put(w, widget("w", a=2))
    yield patch(w, {"spec": {"a": 3}, "status": {"x": 1}})
    yield patch(f"{w}/status", {"status": {"x": 1}})
    yield patch(w, {}, STRATEGIC)
    yield get(f"{w}/scale")
    yield get("/apis/example.com/v1/widgets")
    yield post("/apis/example.com/v1/widgets", widget("x"))
    yield get("/apis/example.com/v1/nosuch")
    yield get("/apis/example.com/v9/widgets")
    yield delete(f"{WIDGETS}/none")
    yield delete(w)
    yield get("/apis/example.com/v1")
    yield get("/apis/example.com")


_PATHS = _words("""
/ /api /apis /api/v1 /apis/apps /apis/apps/v1 /apis/apps/v9 /apis/nosuch /api/v9 /healthz /readyz /livez /version
/nosuch /api/v1/nosuch /api/v1/namespaces/demo/nodes /api/v1/pods/x /apis/apps/v1/deployments/x
/api/v1/namespaces/demo/configmaps/ /api/ /apis/
""")


def paths() -> Iterator[Asked]:
    yield from map(get, _PATHS)
    yield delete("/version")
    yield post("/api/v1", {})
    yield Asked("OPTIONS", MAPS)
    yield Asked("HEAD", MAPS)
    about = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}}
    yield post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", about)
    yield post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    yield get("/apis/authentication.k8s.io/v1/tokenreviews")


TOPICS = (
    creations,
    reads,
    replacements,
    patches,
    pods,
    deployments,
    deletions,
    leases,
    events,
    other_kinds,
    definitions,
    custom_objects,
    paths,
)
