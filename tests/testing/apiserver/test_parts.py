"""Smaller rules of a real server, each found by asking one."""

from __future__ import annotations

from typing import Any

import pytest

from kwsync.testing import ApiError, ApiServer
from tests.testing.apiserver.wire import MAPS, WIDGETS, Http, Open, config_map, definition, labelled, told, widget

DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
STEPS = "application/json-patch+json"


def only_version(served: bool = True) -> dict[str, Any]:
    """A definition with one version."""
    return definition(versions=[{"name": "v1", "served": served, "storage": True}])


class TestUnserved:
    """A definition of which no version is served any more."""

    @pytest.fixture
    def unserved(self, api_server: ApiServer, http: Http) -> ApiServer:
        """A server with such a definition, and an object of it."""
        api_server.create(only_version())
        api_server.create(widget())
        steps = [{"op": "replace", "path": "/spec/versions/0/served", "value": False}]
        assert http("PATCH", DEFINITION, steps, Content_Type=STEPS).status == 200
        return api_server

    def test_not_served(self, unserved: ApiServer, http: Http) -> None:
        """Its objects are not to be had, and not in discovery; it itself is."""
        assert http.get(WIDGETS).status == http.get("/apis/example.com/v1").status == 404
        assert http.get(DEFINITION).status == 200
        with pytest.raises(ValueError, match="no resource"):
            unserved.list("widgets")

    def test_served_again(self, unserved: ApiServer) -> None:
        """The objects are still there."""
        unserved.patch("customresourcedefinitions", "widgets.example.com", {"spec": only_version()["spec"]})
        assert [each["metadata"]["name"] for each in unserved.list("widgets")] == ["w"]

    def test_deleted(self, unserved: ApiServer, http: Http) -> None:
        """With the definition the objects go, and do not come back with another one."""
        assert http("DELETE", DEFINITION).status == 200
        assert http.get(DEFINITION).status == 404
        unserved.create(only_version())
        assert unserved.list("widgets") == []

    def test_back_in_time(self, unserved: ApiServer) -> None:
        """Both states of it can be had again."""
        version = unserved.resource_version
        unserved.delete("customresourcedefinitions", "widgets.example.com")
        unserved.go_back(version)
        unserved.patch("customresourcedefinitions", "widgets.example.com", {"spec": only_version()["spec"]})
        assert len(unserved.list("widgets")) == 1

    def test_from_the_start(self, api_server: ApiServer, http: Http) -> None:
        """It may be so from the start."""
        api_server.create(only_version(served=False))
        assert http.get(WIDGETS).status == 404
        assert http("DELETE", DEFINITION).status == 200


class TestDeleteCollection:
    def test_limit(self, api_server: ApiServer, http: Http) -> None:
        """So many go, those of the first page, and the rest by its token, which is good for that list alone."""
        for name in "abcde":
            api_server.create(config_map(name))
        answer = http("DELETE", MAPS, query={"limit": 2})
        assert answer.names == ["a", "b"]
        assert answer.body["metadata"]["remainingItemCount"] == 3
        assert http.list_maps().names == ["c", "d", "e"]
        answer = http("DELETE", MAPS, query={"limit": 2, "continue": answer.body["metadata"]["continue"]})
        assert answer.names == ["c", "d"]
        assert http.list_maps().names == ["e"]

    def test_selector(self, api_server: ApiServer, http: Http) -> None:
        """The limit counts what matches."""
        for name in "abcd":
            api_server.create(labelled(name, odd=str(name in "ac")))
        answer = http("DELETE", MAPS, query={"limit": 1, "labelSelector": "odd=True"})
        assert answer.names == ["a"]
        assert "remainingItemCount" not in answer.body["metadata"]
        assert http.list_maps().names == ["b", "c", "d"]

    def test_bad_token(self, api_server: ApiServer, http: Http) -> None:
        """A token that is none deletes nothing."""
        api_server.create(config_map("a"))
        assert http("DELETE", MAPS, query={"continue": "x"}).status == 400
        assert http.list_maps().names == ["a"]


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_namespaces_that_stay(api_server: ApiServer, http: Http, name: str) -> None:
    """A cluster needs them: 403, by whatever way, and nothing in them is lost."""
    api_server.create(config_map(), name)
    answer = http("DELETE", f"/api/v1/namespaces/{name}")
    assert (answer.status, answer.reason) == (403, "Forbidden")
    assert answer.body["message"] == f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    with pytest.raises(ApiError, match="may not be deleted"):
        api_server.delete("namespaces", name)
    assert api_server.get("configmaps", "a", name)


class TestGeneratedNames:
    @pytest.mark.parametrize("length", [1, 57, 58, 59, 200, 253])
    def test_length(self, http: Http, length: int) -> None:
        """Of a long beginning 58 letters are used, so that there is room for five more; it itself stays as it was."""
        beginning = "x" * length
        metadata = http("POST", MAPS, {"metadata": {"generateName": beginning}}).body["metadata"]
        assert metadata["name"][:-5] == beginning[:58]
        assert metadata["generateName"] == beginning

    @pytest.mark.parametrize(
        ("beginning", "fields"),
        [
            ("Bad_", ["metadata.generateName", "metadata.name"]),
            ("-a", ["metadata.generateName", "metadata.name"]),
            ("a.", ["metadata.generateName"]),
            ("x" * 254, ["metadata.generateName"]),
        ],
    )
    def test_bad(self, http: Http, beginning: str, fields: list[str]) -> None:
        """A bad beginning is spoken of by itself, also if the name that it makes would do."""
        answer = http("POST", MAPS, {"metadata": {"generateName": beginning}})
        assert answer.status == 422
        assert [cause["field"] for cause in answer.body["details"]["causes"]] == fields

    def test_hyphen(self, http: Http) -> None:
        """It may end with a hyphen, as most do."""
        assert http("POST", MAPS, {"metadata": {"generateName": "a-"}}).status == 201


class TestNameless:
    @pytest.mark.parametrize(
        ("media_type", "body"),
        [
            *(
                (media_type, body)
                for media_type in (MERGE, STRATEGIC)
                for body in (
                    {"metadata": None},
                    {"metadata": {"name": None}},
                    {"metadata": {"name": ""}},
                )
            ),
            (STEPS, [{"op": "remove", "path": "/metadata"}]),
            (STEPS, [{"op": "remove", "path": "/metadata/name"}]),
            (STEPS, [{"op": "replace", "path": "/metadata", "value": None}]),
            (STEPS, [{"op": "replace", "path": "/metadata", "value": {}}]),
        ],
    )
    def test_refused(self, api_server: ApiServer, http: Http, media_type: str, body: Any) -> None:
        """A patch that leaves an object without a name is refused, and nothing is lost."""
        before = api_server.create(labelled("a", x="y"))
        answer = http("PATCH", f"{MAPS}/a", body, Content_Type=media_type)
        assert answer.status == 400
        words = "the name of the object (a based on URL) was undeterminable: name must be provided"
        assert answer.body["message"] == words
        assert api_server.get("configmaps", "a") == before

    @pytest.mark.parametrize("field", ["uid", "resourceVersion", "namespace", "creationTimestamp"])
    @pytest.mark.parametrize("media_type", [MERGE, STRATEGIC])
    def test_not_needed(self, api_server: ApiServer, http: Http, media_type: str, field: str) -> None:
        """What else the server knows by itself may go, and does not."""
        before = api_server.create(config_map("a"))
        answer = http("PATCH", f"{MAPS}/a", {"metadata": {field: None}}, Content_Type=media_type)
        assert (answer.status, answer.body) == (200, before)


class TestFirstOnes:
    def test_parameters(self, http: Http, watch: Open) -> None:
        """Of a parameter that is there twice the first counts."""
        assert http.get(f"{MAPS}?watch=false&watch=true").status == 200
        assert http.get(f"{MAPS}?limit=1&limit=x").status == 200
        assert http.get(f"{MAPS}?limit=x&limit=1").status == 400
        http("POST", MAPS, config_map("a"))
        assert told(watch(f"{MAPS}?watch=1&watch=0&rest=").events(1)) == [("ADDED", "a")]

    @pytest.mark.parametrize("second", [b"metadata: {name: b}", b"{bad", b""])
    def test_documents(self, http: Http, second: bytes) -> None:
        """Of several YAML documents the first counts, whatever the others are."""
        pytest.importorskip("yaml")
        body = b"metadata: {name: a}\n---\n" + second
        answer = http("POST", MAPS, body, Content_Type="application/yaml")
        assert (answer.status, answer.body["metadata"]["name"]) == (201, "a")
        assert http.list_maps().names == ["a"]


class TestTimes:
    @pytest.mark.parametrize("time", ["x", "", "2020-01-01", "2020-01-01T00:00:00", "2020-01-01 00:00:00Z"])
    @pytest.mark.parametrize("field", ["creationTimestamp", "deletionTimestamp"])
    def test_none(self, http: Http, field: str, time: str) -> None:
        """A text that is no moment is refused, although the server sets the moment itself."""
        answer = http("POST", MAPS, {"metadata": {"name": "a", field: time}})
        assert answer.status == 400
        assert f'parsing time "{time}" as "2006-01-02T15:04:05Z07:00": cannot parse' in answer.body["message"]

    @pytest.mark.parametrize(
        "time", [None, "2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5Z", "2020-01-01T00:00:00+01:00"]
    )
    def test_moments(self, http: Http, time: str | None) -> None:
        """A moment is taken, and not looked at."""
        answer = http("POST", MAPS, {"metadata": {"name": "a", "creationTimestamp": time}})
        assert answer.status == 201
        assert answer.body["metadata"]["creationTimestamp"] > "2020-02"


ROLLING: dict[str, tuple[str, dict[str, Any]]] = {
    "deployments": ("strategy", {"maxUnavailable": "25%", "maxSurge": "25%"}),
    "daemonsets": ("updateStrategy", {"maxUnavailable": 1, "maxSurge": 0}),
}


@pytest.mark.parametrize("plural", ROLLING)
@pytest.mark.parametrize("given", [None, {}, {"type": "RollingUpdate"}, {"rollingUpdate": {}}, {"type": "OnDelete"}])
def test_strategies(http: Http, plural: str, given: dict[str, Any] | None) -> None:
    """A strategy that says little gets the rest; one of another type gets nothing."""
    field, defaults = ROLLING[plural]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, field: given}
    answer = http("POST", f"/apis/apps/v1/namespaces/default/{plural}", {"metadata": {"name": "w"}, "spec": spec})
    rolling = {"type": "RollingUpdate", "rollingUpdate": defaults}
    assert answer.body["spec"][field] == (given if given == {"type": "OnDelete"} else rolling)
