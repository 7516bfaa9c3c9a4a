"""Requests over the socket: paths, lists, writes, bodies, representations, with the real server's codes and bodies."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
from typing import Any

import pytest

from kwsync.testing import ApiServer
from tests.testing.apiserver.recorded import body as recorded
from tests.testing.apiserver.wire import (
    MAPS,
    PODS,
    WIDGETS,
    Http,
    config_map,
    definition,
    labelled,
    widget,
)

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
FUTURE = "99999999"


@pytest.fixture
def abc(api_server: ApiServer) -> list[str]:
    """Three config maps; their versions."""
    return [api_server.create(config_map(name, k="1"))["metadata"]["resourceVersion"] for name in "abc"]


def details(status: Any) -> Any:
    """The details of a Status."""
    return status.get("details")


class TestPaths:
    @pytest.mark.parametrize(
        ("path", "name"),
        [
            ("/api/v1/namespaces/demo/nosuch", "404-unknown-plural"),
            ("/apis/apps/v9/namespaces/demo/deployments", "404-unknown-version"),
            ("/api/v9/namespaces/demo/pods", "404-unknown-core-version"),
            ("/api/v1/namespaces/demo/nodes", "404-namespaced-path-of-cluster-resource"),
            ("/api/v1/namespaces/demo/configmaps/w-1/status", "status-404"),
            ("/api/v1/namespaces/demo/configmaps/cm-a/nosuch", "subresource-404"),
        ],
    )
    def test_status_404(self, http: Http, path: str, name: str) -> None:
        """D14: what a built-in group does not have is 404 with a Status with empty details."""
        answer = http.get(path)
        assert (answer.status, answer.body) == (404, recorded(name))

    @pytest.mark.parametrize(
        "path", ["/apis/nosuch.example.com/v1/namespaces/demo/things", "/nosuch", WIDGETS, "/apis/example.com/v1"]
    )
    def test_text_404(self, http: Http, path: str) -> None:
        """Trap 15: an unknown group, a custom resource that is not served, and all else is a text."""
        answer = http.get(path)
        assert (answer.status, answer.body) == (404, b"404 page not found\n")
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("PUT", MAPS),
            ("POST", f"{MAPS}/a"),
            ("POST", "/api/v1/configmaps"),
            ("GET", "/apis/authentication.k8s.io/v1/tokenreviews"),
        ],
    )
    def test_405(self, http: Http, method: str, path: str) -> None:
        """A4: a method that a path does not have is 405 with a Status."""
        answer = http(method, path, None if method == "GET" else config_map())
        assert (answer.status, answer.body) == (405, recorded("405-put-collection"))

    def test_watch_not_supported(self, http: Http) -> None:
        """A kind that cannot be watched is 405 with details, and its warning comes all the same."""
        answer = http.get("/api/v1/componentstatuses", watch=1)
        assert (answer.status, answer.body) == (405, recorded("405-watch-not-supported"))
        assert answer.headers["Warning"] == '299 - "v1 ComponentStatus is deprecated in v1.19+"'

    def test_slash_at_the_end(self, http: Http, abc: list[str]) -> None:
        """A7: a slash at the end of a collection's path is accepted."""
        assert http.get(f"{MAPS}/").names == ["a", "b", "c"]

    def test_usual_headers(self, http: Http) -> None:
        """Every answer has the headers of a real one; above 2,048 bytes it is chunked (trap 1)."""
        small, big = http.list_maps(), http.get("/apis/apps/v1")
        for name in ("Audit-Id", "Cache-Control", "Date", "X-Kubernetes-Pf-Flowschema-Uid"):
            assert small.headers[name], name
        assert small.headers["Content-Length"] == str(len(json.dumps(small.body, separators=(",", ":"))))
        assert (big.headers["Content-Length"], big.headers["Transfer-Encoding"]) == (None, "chunked")

    def test_connection_close(self, http: Http) -> None:
        """A12: who wants the connection closed is told so, and it is."""
        assert http("GET", MAPS, Connection="close").headers["Connection"] == "close"

    def test_deprecated_watch_path_with_name(self, http: Http, abc: list[str]) -> None:
        """The object path ignores watch=1 (get-watch-parameter)."""
        assert http.get(f"{MAPS}/a", watch=1).body["kind"] == "ConfigMap"


class TestLists:
    def test_empty(self, http: Http) -> None:
        """An empty list has an empty array and a version; a namespace that is not there is the same (list-empty)."""
        for path in (MAPS, "/api/v1/namespaces/nowhere/configmaps"):
            body = http.get(path).body
            assert (body["kind"], body["items"], body["metadata"]) == ("ConfigMapList", [], {"resourceVersion": "4"})

    def test_items(self, http: Http, api_server: ApiServer, abc: list[str]) -> None:
        """Trap 12: items of built-in kinds do not say what they are, custom resources do."""
        api_server.create(definition())
        api_server.create(widget())
        assert list(http.list_maps().body["items"][0]) == ["metadata", "data"]
        custom = http.get(WIDGETS).body
        assert custom["items"][0]["kind"] == "Widget"
        assert custom["metadata"]["continue"] == ""

    @pytest.mark.parametrize(
        ("query", "names"),
        [
            ({}, "abcd"),
            ({"resourceVersion": "0"}, "abcd"),
            ({"resourceVersion": "0", "limit": 1}, "abcd"),
            ({"resourceVersion": "B"}, "abcd"),
            ({"resourceVersion": "B", "limit": 10}, "ab"),
            ({"resourceVersion": "B", "resourceVersionMatch": "Exact"}, "ab"),
            ({"resourceVersion": "B", "resourceVersionMatch": "NotOlderThan", "limit": 10}, "abcd"),
            ({"resourceVersion": "007"}, "abcd"),
            ({"limit": -1}, "abcd"),
        ],
    )
    def test_matrix(
        self, http: Http, api_server: ApiServer, abc: list[str], query: dict[str, object], names: str
    ) -> None:
        """A2, trap 11: a version with a limit means that very state, version 0 ignores the limit."""
        api_server.create(config_map("d"))
        given = {name: abc[1] if value == "B" else value for name, value in query.items()}
        answer = http.list_maps(**given)
        assert "".join(answer.names) == names
        assert answer.version == (abc[1] if names == "ab" else api_server.resource_version)

    @pytest.mark.parametrize(
        ("query", "name"),
        [
            ({"resourceVersionMatch": "Exact"}, "list-exact-no-rv"),
            ({"resourceVersionMatch": "Exact", "resourceVersion": 0}, "list-exact-rv0"),
            ({"resourceVersionMatch": "Nearest", "resourceVersion": 254}, "list-match-unknown"),
            ({"resourceVersionMatch": "NotOlderThan", "continue": "x"}, "list-continue-with-rvm"),
            ({"sendInitialEvents": "true"}, "list-sendinitialevents"),
            ({"resourceVersion": "abc"}, "list-rv-unparsable"),
            ({"resourceVersion": "-1"}, "list-rv-negative"),
            ({"limit": "abc"}, "list-limit-unparsable"),
            ({"labelSelector": "a===b"}, "list-label-selector-invalid"),
            ({"fieldSelector": "data.k=v"}, "list-field-selector-unsupported"),
        ],
    )
    def test_mistakes(self, http: Http, query: dict[str, object], name: str) -> None:
        """A1: contradictions are 422 on ListOptions, what cannot be read is 400, in the recorded words."""
        answer = http.list_maps(**query)
        assert answer.body == recorded(name)
        assert answer.status == answer.body["code"]

    def test_future(self, api_server: ApiServer, http: Http) -> None:
        """D6: a version that has not come is 504 after a while, with Retry-After; for events at once and without."""
        with ApiServer(too_large_wait=0.05) as server, contextlib.closing(Http(server)) as hasty:
            answer = hasty.list_maps(resourceVersion=FUTURE)
        wanted = recorded("list-rv-too-large")
        wanted["message"] = wanted["message"].replace("260", "4")
        assert (answer.status, answer.body, answer.headers["Retry-After"]) == (504, wanted, "1")
        events = http.get("/api/v1/namespaces/default/events", resourceVersion=FUTURE)
        assert (events.status, events.headers["Retry-After"]) == (504, None)

    def test_selectors(self, http: Http, api_server: ApiServer) -> None:
        """A10: labels and fields select, and the version is that of the whole collection."""
        for name, app in (("a", "x"), ("b", "y"), ("c", "x")):
            api_server.create(labelled(name, app=app))
        assert http.list_maps(labelSelector="app=x").names == ["a", "c"]
        assert http.list_maps(labelSelector="app=x", fieldSelector="metadata.name!=a").names == ["c"]
        answer = http.list_maps(fieldSelector="metadata.name=b")
        assert (answer.names, answer.version) == (["b"], api_server.resource_version)

    def test_all_namespaces(self, http: Http, api_server: ApiServer) -> None:
        """A7: the path without a namespace shows all of them."""
        api_server.create(config_map("a"), "kube-system")
        api_server.create(config_map("b"))
        assert http.get("/api/v1/configmaps").names == ["b", "a"]


class TestPages:
    def test_snapshot(self, http: Http, api_server: ApiServer, abc: list[str]) -> None:
        """A2: all pages are of one moment, whatever is written meanwhile; the token is a real server's."""
        first = http.list_maps(limit=2)
        assert (first.names, first.body["metadata"]["remainingItemCount"]) == (["a", "b"], 1)
        token = first.body["metadata"]["continue"]
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        assert json.loads(text) == {"v": "meta.k8s.io/v1", "rv": int(abc[2]), "start": "/b\0"}
        api_server.create(config_map("bb"))
        api_server.delete("configmaps", "c")
        last = http.list_maps(**{"limit": 2, "continue": token})
        assert (last.names, last.version, "continue" in last.body["metadata"]) == (["c"], abc[2], False)

    def test_selector(self, http: Http, api_server: ApiServer) -> None:
        """Trap 11: with a selector nobody counts what remains, and a last page may be empty."""
        for name, app in (("a", "x"), ("b", "y")):
            api_server.create(labelled(name, app=app))
        first = http.list_maps(limit=1, labelSelector="app=x")
        assert (first.names, "remainingItemCount" in first.body["metadata"]) == (["a"], False)
        query = {"limit": 1, "labelSelector": "app=x", "continue": first.body["metadata"]["continue"]}
        assert http.list_maps(**query).names == []

    def test_expired(self, http: Http, api_server: ApiServer, abc: list[str]) -> None:
        """A4: a token expires with the history: 410 with another that goes on at the newest state."""
        token = http.list_maps(limit=1).body["metadata"]["continue"]
        api_server.create(config_map("d"))
        api_server.compact(cached=True)
        gone = http.list_maps(**{"limit": 1, "continue": token})
        wanted = recorded("list-continue-410")
        assert gone.status == 410
        assert {**gone.body, "metadata": {}} == {**wanted, "metadata": {}}
        rest = http.list_maps(**{"continue": gone.body["metadata"]["continue"]})
        assert (rest.names, rest.version) == (["b", "c", "d"], api_server.resource_version)

    def test_exact_expired(self, http: Http, api_server: ApiServer, abc: list[str]) -> None:
        """D18: an exact list of a forgotten state is 410 by the code of the answer."""
        api_server.compact(abc[1], cached=True)
        query = {"resourceVersionMatch": "Exact"}
        assert http.list_maps(resourceVersion=abc[1], **query).status == 200
        answer = http.list_maps(resourceVersion=abc[0], **query)
        assert (answer.status, answer.body) == (410, recorded("list-exact-410"))

    def test_mistakes(self, http: Http, abc: list[str]) -> None:
        """A1: nonsense is 400, and so is a version beside a token, unless it is 0."""
        assert http.list_maps(**{"limit": 2, "continue": "abc"}).body == recorded("list-continue-invalid")
        token = http.list_maps(limit=1).body["metadata"]["continue"]
        both = {"limit": 2, "continue": token}
        assert http.list_maps(resourceVersion=5, **both).body == recorded("list-continue-with-rv")
        assert http.list_maps(resourceVersion=0, **both).names == ["b", "c"]

    def test_events_honour_the_limit(self, http: Http, api_server: ApiServer) -> None:
        """D8: events are not cached, so version 0 does not switch the limit off."""
        for name in "ab":
            api_server.create({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}})
        path = "/api/v1/namespaces/default/events"
        assert http.get(path, limit=1, resourceVersion=0).names == ["a"]


class TestGet:
    def test_versions(self, http: Http, abc: list[str]) -> None:
        """A2: any version that has come gives the newest object; nonsense is 500 without a reason, as on a watch."""
        for version in ("", "0", abc[0]):
            assert http.get(f"{MAPS}/a", resourceVersion=version).version == abc[0]
        answer = http.get(f"{MAPS}/a", resourceVersion="abc")
        assert (answer.status, answer.body) == (500, recorded("watch-rv-unparsable"))

    def test_missing(self, http: Http) -> None:
        """A4: what is not there is 404 with the name and the plural in its details (get-404)."""
        answer = http.get(f"{MAPS}/none")
        assert (answer.status, details(answer.body)) == (404, {"name": "none", "kind": "configmaps"})

    def test_two_apis_of_events(self, http: Http, api_server: ApiServer) -> None:
        """A8: an event is one object with two faces: the same uid and version, other names of fields."""
        event = recorded("event-get-core")
        event["metadata"] = {"name": "p1.2"}
        event["involvedObject"]["namespace"] = "default"
        api_server.create(event)
        old, new = (
            http.get(f"/{api}/namespaces/default/events/p1.2").body for api in ("api/v1", "apis/events.k8s.io/v1")
        )
        wanted = recorded("event-get-new-api")
        assert new["metadata"] == old["metadata"]
        assert set(new) == set(wanted)
        assert (new["note"], new["deprecatedCount"], new["regarding"]["name"]) == ("m", 2, "p1")


class TestWrites:
    def test_create(self, http: Http) -> None:
        """A create is 201 with the stored object (create-201)."""
        answer = http("POST", MAPS, config_map("w-1", k="v"))
        wanted = recorded("create-201")
        assert answer.status == 201
        assert list(answer.body) == list(wanted)
        assert set(answer.body["metadata"]) == set(wanted["metadata"]) - {"managedFields"}

    @pytest.mark.parametrize(
        ("body", "name"),
        [
            (b'{"kind":', "create-400-broken-json"),
            ({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}, "create-400-wrong-kind"),
            (config_map("Bad_Name"), "create-422-invalid"),
            ({**config_map("w-2"), "metadata": {"name": "w-2", "resourceVersion": "5"}}, "create-500-with-rv"),
        ],
    )
    def test_refused(self, http: Http, body: Any, name: str) -> None:
        """A4: what is wrong with a new object is told in the recorded words."""
        answer = http("POST", MAPS, body)
        assert answer.body == recorded(name)
        assert answer.status == answer.body["code"]

    def test_unknown_fields(self, http: Http) -> None:
        """Unknown fields are dropped with a warning, refused when Strict, and dropped in silence when Ignore."""
        new = {**config_map("w-uf", k="v"), "bogus": 1}
        strict = http("POST", MAPS, new, query={"fieldValidation": "Strict"})
        assert (strict.status, strict.body) == (400, recorded("create-unknown-field-strict"))
        warned = http("POST", MAPS, new)
        assert (warned.status, warned.headers["Warning"]) == (201, '299 - "unknown field \\"bogus\\""')
        assert "bogus" not in warned.body
        silent = http("PUT", f"{MAPS}/w-uf", new, query={"fieldValidation": "Ignore"})
        assert (silent.status, silent.headers["Warning"]) == (200, None)

    @pytest.mark.parametrize(
        ("method", "media_type", "name"),
        [("POST", "text/plain", "create-415"), ("PATCH", "application/json", "patch-415")],
    )
    def test_media_types(self, http: Http, abc: list[str], method: str, media_type: str, name: str) -> None:
        """A4: a body of the wrong type is 415."""
        path = f"{MAPS}/a" if method == "PATCH" else MAPS
        answer = http(method, path, b"x", Content_Type=media_type)
        assert (answer.status, answer.body) == (415, recorded(name))

    def test_yaml(self, http: Http) -> None:
        """A body may be YAML."""
        pytest.importorskip("yaml")
        body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata:\n  k: |\n    text\n"
        answer = http("POST", MAPS, body, Content_Type="application/yaml")
        assert (answer.status, answer.body["data"]) == (201, {"k": "text\n"})

    @pytest.mark.parametrize(
        "metadata",
        [
            {"labels": "x"},
            {"labels": {"a": 1}},
            {"annotations": []},
            {"name": 1},
            {"finalizers": "x"},
            {"finalizers": [1]},
            7,
        ],
    )
    def test_types(self, http: Http, abc: list[str], metadata: Any) -> None:
        """Values of a wrong type are 400 in an object and 422 in a patch, never a fault of the server."""
        given = {"name": "a", **metadata} if isinstance(metadata, dict) else metadata
        assert http("POST", MAPS, {**config_map(), "metadata": given}).status == 400
        for kind in ("merge-patch", "strategic-merge-patch"):
            patch = {"metadata": metadata}
            answer = http("PATCH", f"{MAPS}/a", patch, Content_Type=f"application/{kind}+json")
            assert answer.status in (400, 422)

    @pytest.mark.parametrize("body", [[], "x", 1, {"spec": 1}, {"metadata": {"name": "x"}, "spec": {"versions": [1]}}])
    def test_nonsense(self, http: Http, body: Any) -> None:
        """Whatever the body is, it is no fault of the server."""
        for path in (MAPS, PODS, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"):
            assert http("POST", path, body).status < 500

    def test_custom_types(self, http: Http, api_server: ApiServer) -> None:
        """A custom resource must say what it is, 400 without, 422 for another kind."""
        api_server.create(definition())
        assert http("POST", WIDGETS, {"metadata": {"name": "w"}}).status == 400
        wrong = http("POST", WIDGETS, {**widget(), "kind": "Other"})
        assert (wrong.status, wrong.body["details"]["causes"][0]["field"]) == (422, "kind")

    def test_too_large(self, http: Http) -> None:
        """A4: more than 3 MiB are 413."""
        assert http("POST", MAPS, b" " * (3 * 1024 * 1024 + 1)).reason == "RequestEntityTooLarge"

    def test_names(self, http: Http, abc: list[str]) -> None:
        """A body that names another object or namespace than the path is 400."""
        assert http("PUT", f"{MAPS}/a", config_map("b")).status == 400
        other = {**config_map("x"), "metadata": {"name": "x", "namespace": "other"}}
        assert http("POST", MAPS, other).status == 400

    def test_conflict(self, http: Http, abc: list[str]) -> None:
        """A stale version is 409 (update-409-conflict)."""
        stale = {**config_map("a"), "metadata": {"name": "a", "resourceVersion": "1"}}
        answer = http("PUT", f"{MAPS}/a", stale)
        wanted = json.loads(json.dumps(recorded("update-409-conflict")).replace("w-1", "a"))
        assert (answer.status, answer.body) == (409, wanted)

    @pytest.mark.parametrize(
        ("media_type", "patch", "data"),
        [
            ("application/merge-patch+json", {"data": {"k": None, "n": "2"}}, {"n": "2"}),
            ("application/json-patch+json", [{"op": "replace", "path": "/data/k", "value": "3"}], {"k": "3"}),
            ("application/strategic-merge-patch+json", {"data": {"n": "4"}}, {"k": "1", "n": "4"}),
            ("application/apply-patch+yaml", {**config_map("a"), "data": {"n": "5"}}, {"k": "1", "n": "5"}),
        ],
    )
    def test_patch(self, http: Http, abc: list[str], media_type: str, patch: Any, data: Any) -> None:
        """Each of the four kinds of patch changes the object, and the version moves on."""
        answer = http("PATCH", f"{MAPS}/a", patch, query={"fieldManager": "me"}, Content_Type=media_type)
        assert (answer.status, answer.body["data"]) == (200, data)
        assert int(answer.version) > int(abc[2])

    def test_patch_refused(self, http: Http, abc: list[str]) -> None:
        """A patch with a stale version is 409, a failed test 422, one of nothing 404, of a CRD not strategic (415)."""
        merge = "application/merge-patch+json"
        stale = http("PATCH", f"{MAPS}/a", {"metadata": {"resourceVersion": "1"}}, Content_Type=merge)
        assert stale.status == 409
        test = [{"op": "test", "path": "/data/k", "value": "no"}]
        failed = http("PATCH", f"{MAPS}/a", test, Content_Type="application/json-patch+json")
        assert (failed.status, failed.body) == (422, recorded("patch-json-422"))
        assert http("PATCH", f"{MAPS}/none", {}, Content_Type=merge).status == 404
        broken = http("PATCH", f"{MAPS}/a", b"{", Content_Type=merge)
        assert broken.status == 400

    def test_apply(self, http: Http) -> None:
        """Apply makes what is not there (201), changes nothing the second time (200), and needs a manager (422)."""
        apply = "application/apply-patch+yaml"
        new = config_map("ap-1", k="2")
        made = http("PATCH", f"{MAPS}/ap-1", new, query={"fieldManager": "me"}, Content_Type=apply)
        again = http("PATCH", f"{MAPS}/ap-1", new, query={"fieldManager": "me"}, Content_Type=apply)
        assert (made.status, again.status, again.body) == (201, 200, made.body)
        nobody = http("PATCH", f"{MAPS}/ap-1", new, Content_Type=apply)
        assert (nobody.status, nobody.body) == (422, recorded("apply-422-no-manager"))

    def test_scale(self, http: Http, api_server: ApiServer) -> None:
        """The subresource scale is a Scale, and changes the replicas (scale-put)."""
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}}
        api_server.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
        path = "/apis/apps/v1/namespaces/default/deployments/web"
        scale = http.get(f"{path}/scale").body
        assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == ("Scale", {"replicas": 1}, "app=web")
        answer = http("PUT", f"{path}/scale", {**scale, "spec": {"replicas": 3}})
        assert (answer.body["kind"], http.get(path).body["spec"]["replicas"]) == ("Scale", 3)
        patch = {"spec": {"replicas": 0}}
        assert http("PATCH", f"{path}/scale", patch, Content_Type="application/merge-patch+json").status == 200
        assert http.get(path).body["metadata"]["generation"] == 3


class TestDeletes:
    def test_answers(self, http: Http, api_server: ApiServer, abc: list[str]) -> None:
        """Trap 9: a Status for what is gone, the object while it is terminating; a pod is shown anyway."""
        gone = http("DELETE", f"{MAPS}/a").body
        assert (gone["kind"], gone["status"], gone["metadata"], gone["details"]["name"]) == (
            "Status",
            "Success",
            {},
            "a",
        )
        api_server.patch("configmaps", "b", {"metadata": {"finalizers": ["x/y"]}})
        assert http("DELETE", f"{MAPS}/b").body["metadata"]["deletionTimestamp"]
        api_server.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})
        assert http("DELETE", f"{PODS}/p").body["kind"] == "Pod"
        assert http("DELETE", f"{MAPS}/a").status == 404

    def test_options(self, http: Http, abc: list[str]) -> None:
        """Preconditions hold or are 409; a propagation is accepted, another word is 422; dryRun deletes nothing."""
        wrong = {"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}
        assert http("DELETE", f"{MAPS}/a", wrong).reason == "Conflict"
        assert http("DELETE", f"{MAPS}/a", query={"propagationPolicy": "Sideways"}).status == 422
        assert http("DELETE", f"{MAPS}/a", query={"dryRun": "All"}).status == 200
        assert http("DELETE", f"{MAPS}/a", {"propagationPolicy": "Foreground"}).body["status"] == "Success"

    def test_collection(self, http: Http, api_server: ApiServer) -> None:
        """A delete of a collection answers with the objects as they were (delete-collection)."""
        for name in "ab":
            api_server.create(labelled(name, dc="1"))
        api_server.create(config_map("c"))
        answer = http("DELETE", MAPS, query={"labelSelector": "dc=1"})
        assert (answer.status, answer.names, http.list_maps().names) == (200, ["a", "b"], ["c"])


class TestRepresentations:
    def test_partial(self, http: Http, abc: list[str]) -> None:
        """D4, trap 13: a get has the singular form, a list the other; each for the other is 406."""
        assert http("GET", f"{MAPS}/a", Accept=PARTIAL).body["kind"] == "PartialObjectMetadata"
        listed = http("GET", MAPS, Accept=PARTIAL_LIST).body
        assert (listed["kind"], listed["items"][0]["kind"]) == ("PartialObjectMetadataList", "PartialObjectMetadata")
        wrong = http("GET", MAPS, Accept=f"{PARTIAL}, application/json;q=0.9")
        assert (wrong.status, wrong.body) == (406, recorded("list-partial-singular"))
        assert http("GET", f"{MAPS}/a", Accept=PARTIAL_LIST).status == 406

    def test_nothing(self, http: Http) -> None:
        """An empty list has an empty array, unless it is one of metadata, which has null."""
        assert http.list_maps().body["items"] == []
        assert http("GET", MAPS, Accept=PARTIAL_LIST).body["items"] is None

    def test_table(self, http: Http, abc: list[str]) -> None:
        """A Table has columns and rows, and as much of the object as is asked for."""
        table = http("GET", MAPS, Accept=TABLE).body
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
        assert [row["cells"][:2] for row in table["rows"]] == [["a", 1], ["b", 1], ["c", 1]]
        for include, kind in (("Object", "ConfigMap"), ("Metadata", "PartialObjectMetadata")):
            row = http("GET", MAPS, query={"includeObject": include}, Accept=TABLE).body["rows"][0]
            assert row["object"]["kind"] == kind
        assert http("GET", f"{MAPS}/a", query={"includeObject": "None"}, Accept=TABLE).body["rows"][0]["object"] is None
        assert http("GET", MAPS, query={"includeObject": "Bad"}, Accept=TABLE).status == 400

    def test_unacceptable(self, http: Http) -> None:
        """A6: what is not to be had is 406, for text/html in the recorded words; without Accept it is JSON."""
        answer = http("GET", MAPS, Accept="text/html")
        assert (answer.status, answer.body) == (406, recorded("list-accept-unknown"))
        assert http("GET", MAPS, Accept="application/vnd.kubernetes.protobuf,application/json").status == 200
        assert http("GET", MAPS).headers["Content-Type"] == "application/json"

    def test_yaml(self, http: Http, abc: list[str]) -> None:
        """YAML is to be had of lists, and errors follow Accept (D16)."""
        answer = http("GET", MAPS, Accept="application/yaml")
        assert answer.headers["Content-Type"] == "application/yaml"
        assert answer.body.startswith(b'apiVersion: v1\nitems:\n- data:\n    k: "1"\n')
        refused = http("GET", MAPS, query={"watch": "1"}, Accept="application/yaml")
        assert (refused.status, refused.body[:24]) == (406, b"apiVersion: v1\ncode: 406")

    def test_pretty(self, http: Http) -> None:
        """A1: curl and its kind get indented JSON, and so does who asks for it."""
        for headers, query in (({"User_Agent": "curl/8"}, {}), ({}, {"pretty": "true"})):
            http.connection.request(
                "GET",
                MAPS + ("?pretty=true" if query else ""),
                headers={k.replace("_", "-"): v for k, v in headers.items()},
            )
            assert http.connection.getresponse().read().startswith(b'{\n  "kind"')

    def test_gzip(self, http: Http, api_server: ApiServer) -> None:
        """A6: lists above 128 KiB are compressed for who accepts it."""
        assert http("GET", MAPS, Accept_Encoding="gzip").headers["Content-Encoding"] is None
        api_server.create(config_map("big", k="x" * 140_000))
        http.connection.request("GET", MAPS, headers={"Accept-Encoding": "gzip"})
        response = http.connection.getresponse()
        assert response.headers["Content-Encoding"] == "gzip"
        assert json.loads(gzip.decompress(response.read()))["items"][0]["data"]["k"] == "x" * 140_000


class TestDocuments:
    def test_discovery(self, http: Http, api_server: ApiServer) -> None:
        """Every document of discovery is there, and shows custom kinds as soon as they are served."""
        api_server.create(definition())
        assert http.get("/api").body["versions"] == ["v1"]
        assert "example.com" in [group["name"] for group in http.get("/apis").body["groups"]]
        assert http.get("/apis/example.com").body["preferredVersion"]["version"] == "v2"
        names = [one["name"] for one in http.get("/apis/example.com/v1").body["resources"]]
        assert names == ["widgets", "widgets/status"]
        assert http.get("/api/v1").body["kind"] == "APIResourceList"
        assert (http.get("/apis/apps/v9").status, http.get("/apis/example.com/v9").status) == (404, 404)

    def test_aggregated(self, http: Http) -> None:
        """Aggregated discovery has a tag, by which it is not sent again (discovery-aggregated-304)."""
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
        answer = http("GET", "/apis", Accept=accept)
        assert answer.body["kind"] == "APIGroupDiscoveryList"
        again = http("GET", "/apis", Accept=accept, If_None_Match=answer.headers["Etag"])
        assert (again.status, again.body) == (304, b"")

    def test_openapi(self, http: Http) -> None:
        """The stub of OpenAPI has what kubectl looks for, behind the address that its index gives."""
        paths = http.get("/openapi/v3").body["paths"]
        for name in ("api/v1", "apis/apps/v1"):
            assert http.get(paths[name]["serverRelativeURL"]).body["openapi"] == "3.0.0"

    @pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping"])
    def test_health(self, http: Http, path: str) -> None:
        """The server is always well."""
        assert http.get(path).body == b"ok"

    def test_version(self, http: Http) -> None:
        """/version tells a version, indented."""
        assert http.get("/version").body["minor"] == "36"
        assert http("POST", "/version", {}).status == 405
