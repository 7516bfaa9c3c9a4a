"""What an object gets that does not say it, and what is not kept of it; `mistakes` compares with a real server."""

from __future__ import annotations

from typing import Any

import pytest

from kwsync.testing import ApiServer
from kwsync.testing.apiserver import _bodies
from tests.testing.apiserver.wire import MAPS, PODS, Http

CORE = "/api/v1/namespaces/default"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def named(name: str = "a", **more: Any) -> dict[str, Any]:
    """An object of a kind that the path tells."""
    return {"metadata": {"name": name}, **more}


def pod(**resources: Any) -> dict[str, Any]:
    """A pod of one container."""
    return named(spec={"containers": [{"name": "c", "image": "i", "resources": resources}]})


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"data": {}}, {}),
        ({"data": None, "binaryData": {}}, {}),
        ({"data": {"k": None}}, {"data": {"k": ""}}),
        ({"immutable": False}, {"immutable": False}),
    ],
)
def test_empty_fields(http: Http, given: dict[str, Any], kept: dict[str, Any]) -> None:
    """What is null or empty is not there afterwards, a false is, and null in a map of texts is the empty text."""
    made = http("POST", MAPS, named(**given)).body
    assert {name: value for name, value in made.items() if name not in ("kind", "apiVersion", "metadata")} == kept


def test_emptied_by_a_patch(http: Http) -> None:
    """The same for what a patch makes."""
    http("POST", MAPS, named(data={"k": "v"}))
    assert "data" not in http("PATCH", f"{MAPS}/a", {"data": {"k": None}}, Content_Type=_bodies.MERGE).body


def test_a_lease_has_a_spec(http: Http) -> None:
    """If an empty one."""
    assert http("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", named()).body["spec"] == {}


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"requests": {"cpu": "0"}}, "BestEffort"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Mi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Mi"}, "requests": {"cpu": "1m"}}, "Burstable"),
    ],
)
def test_quality_of_service(http: Http, resources: dict[str, Any], quality: str) -> None:
    """A pod's class comes from what its containers ask for, and stays whoever writes the status."""
    assert http("POST", PODS, pod(**resources)).body["status"]["qosClass"] == quality
    answer = http("PUT", f"{PODS}/a/status", {**pod(**resources), "status": {"phase": "Running"}})
    assert answer.body["status"] == {"phase": "Running", "qosClass": quality}


def test_writing_the_same_status_again(http: Http) -> None:
    """What is filled in does not make a change of none."""
    http("POST", PODS, pod())
    body = {**pod(), "status": {"podIP": "10.1.1.1", "conditions": [{"type": "Ready", "status": "True"}]}}
    versions = [http("PUT", f"{PODS}/a/status", body).version for _ in range(2)]
    assert versions[0] == versions[1]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ports": [{"port": 80}]}, {"type": "ClusterIP", "internalTrafficPolicy": "Cluster"}),
        ({"ports": [{"port": 80}], "clusterIP": "None"}, {"clusterIPs": ["None"], "ipFamilies": ["IPv4"]}),
        ({"type": "ExternalName", "externalName": "x.y"}, {"sessionAffinity": "None"}),
        ({"type": "LoadBalancer", "ports": [{"port": 80}]}, {"allocateLoadBalancerNodePorts": True}),
    ],
)
def test_services(http: Http, spec: dict[str, Any], expected: dict[str, Any]) -> None:
    """A service gets what its type has."""
    made = http("POST", f"{CORE}/services", named(spec=spec)).body["spec"]
    assert {name: made[name] for name in expected} == expected
    assert ("clusterIP" in made) == (spec.get("type") != "ExternalName")


def test_addresses_and_ports_of_services(http: Http) -> None:
    """Each service gets its own, and keeps them when it is written without."""
    spec = {"type": "NodePort", "ports": [{"port": 80}, {"port": 81}]}
    made = [http("POST", f"{CORE}/services", named(name, spec=spec)).body["spec"] for name in ("a", "b")]
    again = http("PUT", f"{CORE}/services/a", named("a", spec=spec)).body["spec"]
    assert again == made[0]
    assert made[0]["clusterIP"] != made[1]["clusterIP"]
    ports = [port["nodePort"] for port in made[0]["ports"]]
    assert len(set(ports)) == 2
    assert all(30000 <= port < 32768 for port in ports)


def test_jobs(http: Http) -> None:
    """A job is tied to its pods by labels, and is not changed by being written as it was."""
    path = "/apis/batch/v1/namespaces/default/jobs"
    made = http("POST", path, named(spec={"template": TEMPLATE})).body
    uid = made["metadata"]["uid"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert made["metadata"]["labels"]["job-name"] == "a"
    assert http("PUT", f"{path}/a", made).version == made["metadata"]["resourceVersion"]


@pytest.mark.parametrize("plural", ["deployments", "replicasets", "statefulsets", "daemonsets"])
def test_workloads(http: Http, plural: str) -> None:
    """A template has the defaults of a pod, and writing the answer changes nothing."""
    path = f"/apis/apps/v1/namespaces/default/{plural}"
    made = http("POST", path, named(spec={"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE})).body
    assert made["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    assert http("PUT", f"{path}/a", made).version == made["metadata"]["resourceVersion"]


def test_bare_objects(api_server: ApiServer) -> None:
    """An object that says nothing but its name can be made of every kind that takes objects at all."""
    kinds = api_server._api.state.catalog.kinds
    definitions = "customresourcedefinitions"
    for index, kind in enumerate(kinds):
        if {"create", "get"} <= set(kind.verbs) and kind.plural != definitions:
            body = named(
                f"bare-{index}", apiVersion=kind.api_version, kind=kind.name, eventTime="2026-01-01T00:00:00.000000Z"
            )
            made = api_server.create({**body, "type": "Normal"})
            assert api_server.get(f"{kind.api_version}/{kind.plural}", f"bare-{index}") == made
