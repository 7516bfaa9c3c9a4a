"""The subresource scale of custom kinds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwsync.testing import ApiServer
from tests.testing.apiserver.wire import WIDGETS, Http, definition, widget

SCALE = f"{WIDGETS}/w/scale"
MERGE = "application/merge-patch+json"


@pytest.fixture
def scalable(api_server: ApiServer) -> ApiServer:
    """A server with a kind that keeps its replicas, and the rest, below other names than built-in kinds."""
    paths = {"specReplicasPath": ".spec.size.wanted", "statusReplicasPath": ".status.size"}
    parts = {"status": {}, "scale": {**paths, "labelSelectorPath": ".status.selector"}}
    api_server.create(definition(versions=[{"name": "v1", "served": True, "storage": True, "subresources": parts}]))
    return api_server


def wanted(server: ApiServer) -> Any:
    """The replicas that are stored."""
    return server.get("widgets", "w")["spec"]["size"]["wanted"]


class TestScale:
    def test_read(self, scalable: ApiServer, http: Http) -> None:
        """It shows what stands at the paths of the definition; what is zero is left out but in the status."""
        scalable.create(widget(size={"wanted": 3}))
        assert http.get(SCALE).body["spec"] == {"replicas": 3}
        assert http.get(SCALE).body["status"] == {"replicas": 0}
        scalable.patch("widgets", "w", {"status": {"size": 2, "selector": "a=b"}}, subresource="status")
        assert http.get(SCALE).body["status"] == {"replicas": 2, "selector": "a=b"}

    def test_write(self, scalable: ApiServer, http: Http) -> None:
        """A PUT and a PATCH change the replicas and nothing else; the generation counts on."""
        scalable.create(widget(size={"wanted": 3, "unit": "m"}, colour="red"))
        assert http("PUT", SCALE, {"metadata": {"name": "w"}, "spec": {"replicas": 5}}).body["spec"] == {"replicas": 5}
        assert http("PATCH", SCALE, {"spec": {"replicas": 7}}, Content_Type=MERGE).status == 200
        found = scalable.get("widgets", "w")
        assert found["spec"] == {"size": {"wanted": 7, "unit": "m"}, "colour": "red"}
        assert found["metadata"]["generation"] == 3

    def test_nothing_there(self, scalable: ApiServer, http: Http) -> None:
        """Without replicas there is no scale to read (500), but one to write."""
        scalable.create(widget())
        answer = http.get(SCALE)
        assert answer.status == 500
        assert 'the spec replicas field ".spec.size.wanted" does not exist' in answer.body["message"]
        assert http("PUT", SCALE, {"metadata": {"name": "w"}, "spec": {"replicas": 5}}).status == 200
        assert wanted(scalable) == 5
        assert http.get(SCALE.replace("/w/", "/none/")).status == 404

    @pytest.mark.parametrize("value", [-1, "x", 1.5, True, ["x"]])
    @pytest.mark.parametrize(
        ("path", "start", "end"),
        [
            (SCALE, b'{"spec":{"replicas":', b"}}"),
            (f"{WIDGETS}/w", b'{"spec":{"size":{"wanted":', b"}}}"),
            (f"{WIDGETS}/w/status", b'{"status":{"size":', b"}}"),
        ],
    )
    def test_values(self, scalable: ApiServer, http: Http, path: str, start: bytes, end: bytes, value: object) -> None:
        """What is no number of replicas is refused, by whatever way it comes."""
        scalable.create(widget(size={"wanted": 3}))
        before = scalable.get("widgets", "w")
        sent = start + json.dumps(value).encode() + end
        assert http("PATCH", path, sent, Content_Type=MERGE).status == 422
        assert scalable.get("widgets", "w") == before

    @pytest.mark.parametrize(
        ("metadata", "code"), [({}, 400), ({"name": "x"}, 400), ({"name": "w", "resourceVersion": "1"}, 409)]
    )
    def test_other_object(self, scalable: ApiServer, http: Http, metadata: dict[str, str], code: int) -> None:
        """A Scale of another name, of none, or of an older state is refused."""
        scalable.create(widget(size={"wanted": 3}))
        assert http("PUT", SCALE, {"metadata": metadata, "spec": {"replicas": 5}}).status == code
        assert wanted(scalable) == 3

    @pytest.mark.usefixtures("scalable")
    def test_discovery(self, http: Http) -> None:
        """Discovery names it, where there is one."""
        resources = http.get("/apis/example.com/v1").body["resources"]
        assert [each["name"] for each in resources] == ["widgets", "widgets/status", "widgets/scale"]
        assert resources[2]["kind"] == "Scale"

    def test_kind_without(self, api_server: ApiServer, http: Http) -> None:
        """A kind whose definition does not speak of it has none."""
        api_server.create(definition())
        api_server.create(widget())
        assert http.get(SCALE).status == 404
