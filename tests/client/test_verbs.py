"""The verbs: what is on the wire, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from kwsync import Client, Cluster, ErrorOrigin, Resource
from kwsync.testing import ApiServer, Http, ScriptedServer, pod, status
from tests.client.support import client_of, document, failure
from tests.testing.apiserver.wire import definition, widget

POD = pod("a", namespace="ns")
NAMELESS = {"kind": "Pod", "metadata": {"namespace": "ns"}}
WIDGETS = Resource("example.com", "v1", "widgets")
JSON = "application/json"
MERGE = "application/merge-patch+json"
PODS = "/api/v1/namespaces/ns/pods"

Verb = Callable[[Client], Any]


class Sent(NamedTuple):
    """What a verb should send."""

    line: str
    body: object = None
    content_type: str | None = None


WIRE: list[tuple[str, Verb, Sent]] = [
    ("get", lambda c: c.get("pods", "a", "ns"), Sent(f"GET {PODS}/a")),
    ("get-short-name", lambda c: c.get("deploy", "a", "ns"), Sent("GET /apis/apps/v1/namespaces/ns/deployments/a")),
    ("get-cluster-scoped", lambda c: c.get("nodes", "a"), Sent("GET /api/v1/nodes/a")),
    ("get-subresource", lambda c: c.get("pods", "a", "ns", subresource="status"), Sent(f"GET {PODS}/a/status")),
    ("get-resource", lambda c: c.get(WIDGETS, "a", "ns"), Sent("GET /apis/example.com/v1/namespaces/ns/widgets/a")),
    ("get-odd-name", lambda c: c.get("clusterroles", "system:a b?"),
     Sent("GET /apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aa%20b%3F")),
    ("create", lambda c: c.create("pods", POD), Sent(f"POST {PODS}", POD, JSON)),
    ("create-elsewhere", lambda c: c.create("pods", POD, "other"),
     Sent("POST /api/v1/namespaces/other/pods", POD, JSON)),
    ("create-nameless", lambda c: c.create("pods", NAMELESS), Sent(f"POST {PODS}", NAMELESS, JSON)),
    ("create-query", lambda c: c.create("pods", POD, query={"dryRun": "All"}),
     Sent(f"POST {PODS}?dryRun=All", POD, JSON)),
    ("create-subresource", lambda c: c.create("pods", POD, subresource="eviction"),
     Sent(f"POST {PODS}/a/eviction", POD, JSON)),
    ("replace", lambda c: c.replace("pods", POD), Sent(f"PUT {PODS}/a", POD, JSON)),
    ("replace-status", lambda c: c.replace("pods", POD, subresource="status", query={"fieldManager": "me & you"}),
     Sent(f"PUT {PODS}/a/status?fieldManager=me%20%26%20you", POD, JSON)),
    ("patch", lambda c: c.patch("pods", "a", {"x": None}, "ns"), Sent(f"PATCH {PODS}/a", {"x": None}, MERGE)),
    ("patch-own-namespace", lambda c: c.patch("pods", "a", NAMELESS), Sent(f"PATCH {PODS}/a", NAMELESS, MERGE)),
    ("patch-list", lambda c: c.patch("pods", "a", [{"op": "remove"}], "ns"),
     Sent(f"PATCH {PODS}/a", [{"op": "remove"}], "application/json-patch+json")),
    ("patch-json", lambda c: c.patch("pods", "a", (), "ns", patch_type="json"),
     Sent(f"PATCH {PODS}/a", [], "application/json-patch+json")),
    ("patch-merge", lambda c: c.patch("pods", "a", {}, "ns", patch_type="merge"), Sent(f"PATCH {PODS}/a", {}, MERGE)),
    ("patch-strategic", lambda c: c.patch("pods", "a", {}, "ns", patch_type="strategic"),
     Sent(f"PATCH {PODS}/a", {}, "application/strategic-merge-patch+json")),
    ("patch-apply", lambda c: c.patch("pods", "a", POD, patch_type="apply", field_manager="me", force=True),
     Sent(f"PATCH {PODS}/a?fieldManager=me&force=true", POD, "application/apply-patch+yaml")),
    ("patch-options", lambda c: c.patch("pods", "a", {}, "ns", subresource="scale", force=False, query={"x": "1"}),
     Sent(f"PATCH {PODS}/a/scale?force=false&x=1", {}, MERGE)),
    ("delete", lambda c: c.delete("pods", "a", "ns"), Sent(f"DELETE {PODS}/a")),
    ("delete-options",
     lambda c: c.delete("pods", "a", "ns", grace_period_seconds=0, propagation_policy="Orphan",
                        preconditions={"uid": "u"}, query={"dryRun": "All"}),
     Sent(f"DELETE {PODS}/a?dryRun=All",
          {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Orphan",
           "preconditions": {"uid": "u"}}, JSON)),
    ("request", lambda c: c.request("OPTIONS", "/x/y", query={"a": "b c"}, body=[1]),
     Sent("OPTIONS /x/y?a=b%20c", [1], JSON)),
    ("request-bytes", lambda c: c.request("PUT", "/x", body=b"{}", headers={"Content-Type": "text/x"}),
     Sent("PUT /x", {}, "text/x")),
]  # fmt: skip

VERBS = [pytest.param(call, id=name) for name, call, _ in WIRE]


class TestWire:
    @pytest.mark.parametrize(("call", "sent"), [pytest.param(call, sent, id=name) for name, call, sent in WIRE])
    def test_request(self, server: ScriptedServer, client: Client, call: Verb, sent: Sent) -> None:
        """Each verb is one request: method, path, query, body and its media type; the answer is given as it came."""
        server.add(Http(200, {"kind": "Answer", "x": [None, 1.5]}))
        assert call(client) == {"kind": "Answer", "x": [None, 1.5]}
        (request,) = server.requests
        assert f"{request.method} {request.target}" == sent.line
        assert document(request) == sent.body
        assert request.headers.get("Content-Type") == sent.content_type
        assert request.headers.all("Accept") == [JSON]

    def test_headers(self, server: ScriptedServer, client: Client) -> None:
        """Every request names kwsync; only lists and discovery ask for compression, which a watch could not take."""
        server.default = (Http(200, {"kind": "PodList", "items": []}),)
        client.get("pods", "a", "ns")
        client.list("pods")
        get, listed = server.requests
        assert get.headers["User-Agent"].startswith("kwsync/")
        assert get.headers.all("Accept-Encoding") == ["identity"]
        assert listed.headers.all("Accept-Encoding") == ["gzip"]
        assert "Authorization" not in get.headers

    @pytest.mark.parametrize(
        ("view", "accepted"),
        [
            ("object", JSON),
            ("metadata", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.9"),
            ("table", "application/json;as=Table;g=meta.k8s.io;v=v1"),
        ],
    )
    def test_view(self, server: ScriptedServer, client: Client, view: str, accepted: str) -> None:
        """A view of one object is asked for by the Accept header, in its form for one object."""
        server.add(Http(200, {"kind": "Any"}))
        client.get("pods", "a", "ns", view=view)
        assert server.requests[0].headers["Accept"] == accepted

    def test_base_path(self, server: ScriptedServer) -> None:
        """The base path of the cluster's URL stands before every path on the wire, and in no error."""
        server.add(Http(404, status(404, "NotFound")))
        with Client(Cluster(f"{server.url}/k8s/c-1/")) as client:
            error = failure(lambda: client.get("pods", "a", "ns"))
        assert server.requests[0].target == f"/k8s/c-1{PODS}/a"
        assert error.resource_path == f"{PODS}/a"

    def test_large_body(self, server: ScriptedServer, client: Client) -> None:
        """Objects of megabytes go out and come back whole, in UTF-8."""
        server.add(Http(200, big := pod("a", namespace="ns", text="ä\u2028😀" * 300_000)))
        assert client.replace("pods", big) == big
        assert document(server.requests[0]) == big


class TestScope:
    @pytest.mark.parametrize(
        "call",
        [
            pytest.param(lambda c: c.get("pods", "a"), id="get"),
            pytest.param(lambda c: c.create("pods", {"metadata": {"name": "a"}}), id="create"),
            pytest.param(lambda c: c.replace("pods", {"metadata": {"name": "a"}}), id="replace"),
            pytest.param(lambda c: c.patch("pods", "a", {"metadata": {}}), id="patch"),
            pytest.param(lambda c: c.patch("pods", "a", []), id="patch-list"),
            pytest.param(lambda c: c.delete("pods", "a"), id="delete"),
        ],
    )
    def test_namespace_needed(self, server: ScriptedServer, client: Client, call: Verb) -> None:
        """One namespaced object without a namespace, given or its own, is a ValueError and no request."""
        with pytest.raises(ValueError, match=r"pods\.v1 are namespaced"):
            call(client)
        assert server.connections_accepted == 0

    @pytest.mark.parametrize(
        "call",
        [
            pytest.param(lambda c: c.get("nodes", "a", "ns"), id="get"),
            pytest.param(lambda c: c.create("nodes", POD), id="create"),
            pytest.param(lambda c: c.list("nodes", "ns"), id="list"),
            pytest.param(lambda c: list(c.list_pages("nodes", "ns")), id="list_pages"),
        ],
    )
    def test_namespace_refused(self, server: ScriptedServer, client: Client, call: Verb) -> None:
        """A namespace for cluster-scoped objects is a ValueError and no request."""
        with pytest.raises(ValueError, match=r"nodes\.v1 are not namespaced"):
            call(client)
        assert server.connections_accepted == 0

    def test_unknown_scope_with_namespace(self, server: ScriptedServer, client: Client) -> None:
        """With a namespace the server need not be asked what scope a custom resource has."""
        server.add(Http(200, {"kind": "Widget"}))
        client.get(WIDGETS, "a", "ns")
        assert [request.path for request in server.requests] == ["/apis/example.com/v1/namespaces/ns/widgets/a"]

    def test_unknown_scope(self, api_server: ApiServer, api_client: Client) -> None:
        """Without one it is asked: cluster-scoped objects are found."""
        api_server.create(definition(scope="Cluster"))
        created = api_server.create(widget("a"))
        assert api_client.get(WIDGETS, "a") == created
        paths = [request.path for request in api_server.requests]
        assert paths == ["/api", "/apis", "/apis/example.com/v1/widgets/a"]

    def test_unknown_scope_namespaced(self, api_server: ApiServer, api_client: Client) -> None:
        """Without one it is asked: namespaced objects are a ValueError, and no request for them."""
        api_server.create(definition())
        with pytest.raises(ValueError, match="give a namespace"):
            api_client.get(WIDGETS, "a")
        assert [request.path for request in api_server.requests] == ["/api", "/apis"]


class TestArguments:
    @pytest.mark.parametrize(
        ("call", "kind", "words"),
        [
            pytest.param(lambda c: c.get("", "a", "ns"), ValueError, "names no resource", id="resource"),
            pytest.param(lambda c: c.get(5, "a", "ns"), TypeError, "string or a Resource", id="resource-type"),
            pytest.param(lambda c: c.get("pods", "", "ns"), ValueError, "name '' cannot", id="name"),
            pytest.param(lambda c: c.get("pods", "a", "n/s"), ValueError, "namespace 'n/s'", id="namespace"),
            pytest.param(lambda c: c.get("pods", "a", "ns", view="x"), ValueError, "view 'x'", id="view"),
            pytest.param(lambda c: c.list("pods", view="x"), ValueError, "view must be", id="list-view"),
            pytest.param(lambda c: c.list("pods", page_size=0), ValueError, "limit must be 1", id="page-size"),
            pytest.param(lambda c: c.list_pages("pods", page_size=0), ValueError, "limit must be 1", id="pages"),
            pytest.param(lambda c: c.list("pods", label_selector=5), TypeError, "label_selector", id="selector"),
            pytest.param(lambda c: c.list(5), TypeError, "string or a Resource", id="list-resource"),
            pytest.param(lambda c: c.create("pods", {}, "ns", subresource="x"), ValueError, "name", id="nameless"),
            pytest.param(lambda c: c.replace("pods", NAMELESS), ValueError, "metadata.name", id="replace-nameless"),
            pytest.param(lambda c: c.create("pods", {"x": {1, 2}}, "ns"), TypeError, "set", id="no-json"),
            pytest.param(lambda c: c.patch("pods", "a", {}, "ns", patch_type="x"), ValueError, "one of", id="patch"),
            pytest.param(lambda c: c.request("GET", "x"), ValueError, "begin with a slash", id="path"),
            pytest.param(lambda c: c.request("GET", "/x y"), ValueError, "percent-encoded", id="path-space"),
            pytest.param(lambda c: c.request("GE T", "/x"), ValueError, "a word like GET", id="method"),
            pytest.param(lambda c: c.patch("pods", "a", "{}", "ns"), TypeError, "list of operations", id="patch-text"),
            pytest.param(lambda c: c.discover(5), TypeError, "string", id="discover"),
            pytest.param(lambda c: c.get("pods", "a", "ns", timeout=0), ValueError, "more than 0", id="timeout"),
            pytest.param(lambda c: c.list("pods", timeout=True), TypeError, "number of seconds", id="timeout-bool"),
            pytest.param(lambda c: c.list("pods", timeout=float("nan")), ValueError, "more than 0", id="timeout-nan"),
            pytest.param(lambda c: c.get("pods", "a", "ns", cancel=5), TypeError, "threading.Event", id="cancel"),
            pytest.param(lambda c: c.list_pages("pods", cancel=5), TypeError, "threading.Event", id="pages-cancel"),
        ],
    )  # fmt: skip
    def test_bad(self, server: ScriptedServer, client: Client, call: Verb, kind: type[Exception], words: str) -> None:
        """A bad argument raises ValueError or TypeError from the call itself, before any connection."""
        with pytest.raises(kind, match=words):
            call(client)
        assert server.connections_accepted == 0


class TestRequest:
    @pytest.mark.parametrize(
        ("answer", "value"),
        [
            pytest.param(Http(200, [1, None]), [1, None], id="json"),
            pytest.param(Http(201, b"5", {"Content-Type": "application/problem+json; x=y"}), 5, id="json-suffix"),
            pytest.param(Http(200, "ok ä"), "ok ä", id="text"),
            pytest.param(Http(200, b"\xff"), "\ufffd", id="no-utf-8"),
            pytest.param(Http(204), "", id="empty"),
        ],
    )
    def test_answer(self, server: ScriptedServer, client: Client, answer: Http, value: object) -> None:
        """The answer of a free request is what its JSON holds, or text where its content type is no JSON."""
        server.add(answer)
        assert client.request("GET", "/healthz") == value

    @pytest.mark.parametrize("body", [b"", b"{", b"\xff"])
    def test_broken_json(self, server: ScriptedServer, client: Client, body: bytes) -> None:
        """An answer that calls itself JSON and is none is an error DECODE."""
        server.add(Http(200, body, {"Content-Type": JSON}))
        assert failure(lambda: client.request("GET", "/x")).origin is ErrorOrigin.DECODE

    def test_headers(self, server: ScriptedServer, client: Client) -> None:
        """Headers that are given replace those that would be sent, whatever their letter case."""
        server.add(Http(200, "ok"))
        client.request("GET", "/x", headers={"accept": "text/plain", "user-agent": "me", "x-own": "1"})
        (request,) = server.requests
        sent = [request.headers.all(name) for name in ("Accept", "User-Agent", "X-Own")]
        assert sent == [["text/plain"], ["me"], ["1"]]


@pytest.mark.parametrize("call", VERBS)
def test_every_verb_raises(server: ScriptedServer, client: Client, call: Verb) -> None:
    """Each verb raises what the server refuses, as a WatchError with its path and Status."""
    refusal = status(403, "Forbidden", "no")
    server.add(Http(403, refusal))
    error = failure(lambda: call(client))
    assert (error.status_code, error.reason, error.message) == (403, "Forbidden", "no")
    assert error.status == refusal
    assert error.resource_path == server.requests[0].target.partition("?")[0]


def test_timeout_of_client(server: ScriptedServer) -> None:
    """A client takes seconds for its limits, and nothing else."""
    for name in ("connect_timeout", "request_timeout"):
        for value, kind in ((0, ValueError), (-1, ValueError), ("5", TypeError), (None, TypeError)):
            options: dict[str, Any] = {name: value}
            with pytest.raises(kind, match=name):
                client_of(server, **options)
    with pytest.raises(TypeError, match="Cluster"):
        Client("https://example.test")  # type: ignore[arg-type]
