"""More requests for two servers, after those of `corpus` and `mistakes`: about parts of objects, and of collections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.testing.apiserver.corpus import (
    CORE,
    DEPLOYMENTS,
    MAPS,
    MERGE,
    STEPS,
    STRATEGIC,
    WIDGETS,
    Asked,
    config_map,
    delete,
    deployment,
    get,
    patch,
    post,
    put,
    widget,
)

YAML = "application/yaml"


def scales() -> Iterator[Asked]:
    """The subresource of a custom kind, and of a built-in one."""
    for path, body in ((WIDGETS, widget("s", a=1)), (DEPLOYMENTS, {**deployment(), "metadata": {"name": "s"}})):
        yield post(path, body)
        yield from _one_scale(f"{path}/s/scale")
    yield get(f"{WIDGETS}/none/scale")
    yield patch(f"{WIDGETS}/s/status", {"status": {"replicas": 2, "selector": "a=b"}})
    yield get(f"{WIDGETS}/s/scale")
    for spec in ({"replicas": "x"}, {"replicas": -1}, None):
        yield patch(f"{WIDGETS}/s", {"spec": spec})
        yield get(f"{WIDGETS}/s/scale")
    for status in ({"replicas": -1}, {"selector": 1}):
        yield patch(f"{WIDGETS}/s/status", {"status": status})


def _one_scale(scale: str) -> Iterator[Asked]:
    yield get(scale)
    for metadata in (
        {"name": "s"},
        {},
        {"name": "x"},
        {"name": "s", "resourceVersion": "1"},
        {"name": "s", "uid": "x"},
    ):
        yield put(scale, {"metadata": metadata, "spec": {"replicas": 5}})
    for replicas in (7, -1, 0):
        yield patch(scale, {"spec": {"replicas": replicas}})
    yield patch(scale, [{"op": "add", "path": "/spec/replicas", "value": 9}], STEPS)
    yield patch(scale, {"metadata": None})


def collections() -> Iterator[Asked]:
    """A few of many are deleted."""
    for name in "tuvw":
        yield post(MAPS, config_map(name, labels={"t": "1"}))
    yield delete(f"{MAPS}?limit=2&labelSelector=t")
    yield delete(f"{MAPS}?continue=x")
    yield get(f"{MAPS}?labelSelector=t")
    yield delete(f"{MAPS}?labelSelector=t")
    yield delete(f"{MAPS}?limit=1")


def namespaces() -> Iterator[Asked]:
    """Some are needed."""
    for name in ("default", "kube-system", "kube-public"):
        yield delete(f"/api/v1/namespaces/{name}")
        yield delete(f"/api/v1/namespaces/{name}?dryRun=All")


def beginnings() -> Iterator[Asked]:
    """Of names."""
    for beginning in ("Bad_", "a.b.", "-a", "a-", "x" * 300):
        yield post(MAPS, {"metadata": {"name": "named", "generateName": beginning}})
        yield delete(f"{MAPS}/named")
    yield post("/api/v1/namespaces", {"metadata": {"name": "named", "generateName": "a.b-"}})
    yield post(
        f"{CORE}/services", {"metadata": {"name": "Bad", "generateName": "A-"}, "spec": {"ports": [{"port": 1}]}}
    )


def twice() -> Iterator[Asked]:
    """Fields that are there two times."""
    head = b'"apiVersion":"v1","kind":"ConfigMap"'
    labels = b'{%b,"metadata":{"name":"tw","labels":{"a":"1","a":"2"},"name":"tw","zz":1},"oops":1,"oops":2}' % head
    owners = b'"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","name":"x","uid":"1"}]'
    for body in (
        b'{%b,"metadata":{"name":"tw"},"data":{"a":"1","a":"2","b":"","b":""},"kind":"ConfigMap"}' % head,
        labels,
        b'{%b,"metadata":{"name":"tw",%b},"Metadata":{"name":"a"}}' % (head, owners),
    ):
        for validation in ("Strict", "Ignore", "Warn"):
            yield post(f"{MAPS}?fieldValidation={validation}&dryRun=All", body)
    yield post(MAPS, config_map("tw"))
    plain = b'{%b,"metadata":{"name":"tw"},"data":{"a":"1","a":"2"}}' % head
    yield put(f"{MAPS}/tw?fieldValidation=Strict", plain)
    yield put(f"{MAPS}/tw?fieldValidation=Warn", plain)
    for media_type, body in (
        (MERGE, b'{"data":{"a":"3","a":"4"}}'),
        (STRATEGIC, b'{"data":{"a":"5","a":"6"}}'),
        (STEPS, b'[{"op":"add","path":"/data/z","value":"1","value":"2"}]'),
    ):
        yield patch(f"{MAPS}/tw?fieldValidation=Warn", body, media_type)


def nameless() -> Iterator[Asked]:
    """Patches that take away what an object is called, or what it need not say."""
    bodies: list[Any] = [{"metadata": None}, {"metadata": {"name": None}}, {"metadata": {"name": ""}}]
    bodies += [{"metadata": {name: None}} for name in ("resourceVersion", "uid", "namespace", "creationTimestamp")]
    yield post(MAPS, config_map("n"))
    for body in bodies:
        yield patch(f"{MAPS}/n", body)
        yield patch(f"{MAPS}/n", body, STRATEGIC)
    for path in ("/metadata", "/metadata/name"):
        yield patch(f"{MAPS}/n", [{"op": "remove", "path": path}], STEPS)
    for value in (None, {}, {"name": "n"}):
        yield patch(f"{MAPS}/n", [{"op": "replace", "path": "/metadata", "value": value}], STEPS)


def times() -> Iterator[Asked]:
    """What is a moment, and what is none."""
    for time in ("x", "", "2020-01-01", "2020-01-01T00:00:00", "2020-01-01T00:00:00.5Z", "2020-01-01T00:00:00+01:00"):
        for field in ("creationTimestamp", "deletionTimestamp"):
            yield post(f"{MAPS}?dryRun=All", config_map("time", **{field: time}))


def documents() -> Iterator[Asked]:
    """Several in one body, and several values of one parameter."""
    for second in (b"metadata: {name: y}", b"{bad"):
        yield Asked("POST", f"{MAPS}?dryRun=All", b"metadata: {name: doc}\n---\n" + second, content_type=YAML)
    yield get(f"{MAPS}?limit=1&limit=x")
    yield get(f"{MAPS}?limit=x&limit=1")
    yield get(f"{MAPS}?watch=false&watch=true&labelSelector=none")
    yield get(
        f"{MAPS}?watch=true&watch=false&labelSelector=none&timeoutSeconds=1&resourceVersion=0&allowWatchBookmarks=0"
    )


def strategies() -> Iterator[Asked]:
    """How a workload is renewed."""
    apps = DEPLOYMENTS.rpartition("/")[0]
    for plural, field in (("deployments", "strategy"), ("statefulsets", "updateStrategy")):
        other = "Recreate" if plural == "deployments" else "OnDelete"
        found: list[Any] = [None, {}, {"type": "RollingUpdate"}, {"type": other}, {"rollingUpdate": {}}]
        for index, strategy in enumerate(found):
            body = {**deployment(), "kind": None, "metadata": {"name": f"strategy-{index}", "annotations": {"a": "b"}}}
            body["spec"] = {**body["spec"], field: strategy}
            yield post(f"{apps}/{plural}?dryRun=All", body)


TOPICS = (scales, collections, namespaces, beginnings, twice, nameless, times, documents, strategies)
