"""Discovery is, member for member, that of a real server, but for the subresources that this one does not have."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from kwsync.testing.apiserver import _aggregated, _discovery, _openapi
from kwsync.testing.apiserver._kind import Kind, builtin_kinds, custom_kinds
from tests.testing.apiserver import recorded

KINDS = builtin_kinds()
SERVED = ("status", "scale")
"""The subresources that the documents list; a real server has logs, exec, eviction and others besides."""

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
BETA = AGGREGATED.replace("v2", "v2beta1")


def widgets(*versions: str) -> list[Kind]:
    """A custom kind in these versions."""
    served: list[dict[str, Any]] = [{"name": name, "served": True, "subresources": {"status": {}}} for name in versions]
    names = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]}
    return custom_kinds({"spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": served}})


def without_subresources(document: Any) -> Any:
    """A recorded aggregated document without the subresources that this server lacks."""
    for version in (version for item in document["items"] for version in item["versions"]):
        for resource in version["resources"]:
            kept = [each for each in resource.pop("subresources", []) if each["subresource"] in SERVED]
            if kept:
                resource["subresources"] = kept
    return document


def same(left: Any, right: Any) -> bool:
    """Equal, with the members in the same order."""
    return json.dumps(left) == json.dumps(right)


def test_api_names_the_version_and_the_address() -> None:
    """`/api`."""
    assert same(_discovery.api_versions("192.0.2.2:31443"), recorded.body("discovery-api"))


def test_apis_lists_the_groups_in_the_order_of_a_real_server() -> None:
    """`/apis`: the order is that of priority, in which clients look for a name; autoscaling/v2 stands before v1."""
    assert same(_discovery.group_list(KINDS), recorded.body("discovery-apis"))


def test_one_group() -> None:
    """`/apis/apps`, and nothing for a group that is not served."""
    assert same(_discovery.group(KINDS, "apps"), recorded.body("discovery-group"))
    assert _discovery.group(KINDS, "nosuch.example.com") is None


def test_resources_of_a_group() -> None:
    """`/apis/apps/v1`, with the hash of the stored version, and nothing for a version that is not served."""
    assert same(_discovery.resource_list(KINDS, "apps", "v1"), recorded.body("discovery-apps"))
    assert _discovery.resource_list(KINDS, "apps", "v9") is None


def test_resources_of_the_core_group() -> None:
    """`/api/v1` says no apiVersion of its own."""
    expected = recorded.body("discovery-core")
    expected["resources"] = [
        each for each in expected["resources"] if "/" not in each["name"] or each["name"].split("/")[1] in SERVED
    ]
    assert same(_discovery.resource_list(KINDS, "", "v1"), expected)


@pytest.mark.parametrize(("core", "name"), [(True, "discovery-aggregated-api"), (False, "discovery-aggregated-apis")])
def test_aggregated_documents(core: bool, name: str) -> None:
    """All groups in one answer."""
    assert same(_aggregated.aggregated(KINDS, core=core), without_subresources(recorded.body(name)))


def test_a_group_whose_server_is_down_is_stale_and_shows_no_kinds() -> None:
    """Unknown, not empty."""
    items = recorded.body("aggregated-stale-discovery")["items"]
    name, version = next(
        (item["metadata"]["name"], each) for item in items for each in item["versions"] if "resources" not in each
    )
    kind = dataclasses.replace(widgets(version["version"])[0], group=name)
    document = _aggregated.aggregated([kind], core=False, stale=[name])
    assert document["items"] == [{"metadata": {"name": name}, "versions": [version]}]


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (f"{AGGREGATED},{BETA},application/json", True),
        (f"{AGGREGATED}", True),
        ("application/json; g=apidiscovery.k8s.io; v=v2; as=APIGroupDiscoveryList; q=0.9", True),
        (f"{BETA},application/json", False),
        (f"application/json,{AGGREGATED}", False),
        ("application/json, */*", False),
        (f"application/json;q=0.1,{AGGREGATED}", True),
        (f"{AGGREGATED};q=0.1,application/json", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_who_gets_the_aggregated_document(accept: str, wanted: bool) -> None:
    """v2 only, and only if it is named before plain JSON (recorded: discovery-aggregated-v2beta1)."""
    assert _aggregated.accepts_aggregated(accept) is wanted


def test_the_content_type_says_what_it_is() -> None:
    """With the parameters in the order of a real server."""
    answer = recorded.transcript("discovery-aggregated-apis")
    assert answer.answer_headers.get("Content-Type") == _aggregated.CONTENT_TYPE


def test_etags_are_quoted_and_follow_the_body() -> None:
    """SHA-512 in capital letters, as long as a real one."""
    real = recorded.transcript("discovery-aggregated-apis").answer_headers.get("Etag") or ""
    assert len(_aggregated.etag(b"{}")) == len(real)
    assert _aggregated.etag(b"{}") != _aggregated.etag(b"[]")


def test_custom_kinds_come_last_and_say_their_group() -> None:
    """In the aggregated document a built-in kind leaves its group empty, a custom one does not."""
    kinds = [*widgets("v1"), *KINDS]
    assert _discovery.group_list(kinds)["groups"][-1]["name"] == "example.com"
    resource = _aggregated.aggregated(kinds, core=False)["items"][-1]["versions"][0]["resources"][0]
    assert resource["responseKind"] == {"group": "example.com", "version": "v1", "kind": "Widget"}
    assert (resource["shortNames"], resource["categories"]) == (["wd"], ["all"])
    assert [each["subresource"] for each in resource["subresources"]] == ["status"]


def test_versions_are_ordered_by_stability_then_number() -> None:
    """The preferred one first: Kubernetes' version priority."""
    group = _discovery.group(widgets("v1beta1", "v2", "v1", "foo", "v10", "v1alpha1", "v1beta2"), "example.com")
    assert group is not None
    versions = [each["version"] for each in group["versions"]]
    assert versions == ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "foo"]
    assert group["preferredVersion"]["version"] == "v10"


def test_version_looks_like_a_real_one() -> None:
    """The same members in the same order."""
    assert list(_discovery.version_info()) == list(recorded.body("version"))


def test_openapi_names_a_document_for_each_version_of_a_group() -> None:
    """kubectl reads the root, then the one document it needs."""
    paths = _openapi.openapi_root(KINDS)["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/autoscaling/v2"} <= paths.keys()
    assert paths["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")


def test_openapi_hashes_follow_what_is_served() -> None:
    """So that nobody keeps a document that is out of date."""
    few, more = _openapi.openapi_root(KINDS[:5])["paths"], _openapi.openapi_root(KINDS[:6])["paths"]
    assert few["api/v1"] != more["api/v1"]


def test_openapi_has_a_patch_with_field_validation_for_each_kind() -> None:
    """What kubectl looks for before it creates or applies an object (cli-runtime, query_param_verifier_v3.go)."""
    document = _openapi.openapi_document(KINDS, "apps", "v1")
    assert document is not None
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert ("fieldValidation", "query") in [(each["name"], each["in"]) for each in patch["parameters"]]


def test_openapi_of_a_version_that_is_not_served() -> None:
    """There is none."""
    assert _openapi.openapi_document(KINDS, "apps", "v9") is None
