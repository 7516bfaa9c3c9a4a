"""Lists: pages, views, compression, and that half a list is never taken for one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from kwsync import Client, ErrorOrigin, ObjectList, Resource, WatchError
from kwsync.testing import (
    ApiServer,
    CutChunk,
    End,
    Fault,
    Fin,
    Gzip,
    Head,
    Head1,
    Http,
    List,
    Raw,
    ScriptedServer,
    Split,
    Step,
    pod,
    status,
)
from tests.client.support import failure
from tests.testing.apiserver.wire import definition, widget
from tests.values import json_objects, json_values

EXPIRED = Http(410, status(410, "Expired", "too old", metadata={"continue": "fresh"}))
TABLE = {
    "kind": "Table",
    "apiVersion": "meta.k8s.io/v1",
    "metadata": {"resourceVersion": "5", "continue": "next"},
    "columnDefinitions": [{"name": "Name"}],
    "rows": [{"cells": ["a"], "object": {"metadata": {"name": "a"}}}],
}


def names(objects: Sequence[dict[str, Any]] | ObjectList) -> list[str]:
    """The names of objects, in their order."""
    return [item["metadata"]["name"] for item in objects]


def queries(server: ScriptedServer) -> list[dict[str, str]]:
    """What each request asked for."""
    return [request.query for request in server.requests]


class TestRequest:
    def test_path(self, server: ScriptedServer, client: Client) -> None:
        """Without a namespace a list is of all namespaces; pages of 500 are asked for."""
        server.default = (List("1", []),)
        client.list("pods")
        client.list("deploy", "ns")
        client.list(Resource("example.com", "v1", "widgets"))
        assert [request.target for request in server.requests] == [
            "/api/v1/pods?limit=500",
            "/apis/apps/v1/namespaces/ns/deployments?limit=500",
            "/apis/example.com/v1/widgets?limit=500",
        ]

    def test_options(self, server: ScriptedServer, client: Client) -> None:
        """Every option is one parameter, encoded; None is none, and without a page size there is no limit."""
        server.default = (List("1", []),)
        client.list("pods", "ns", name="a", label_selector={"app": ["x", "y"]}, field_selector="spec.nodeName!=n 1",
                    resource_version="7", resource_version_match="Exact", page_size=3)  # fmt: skip
        client.list("pods", page_size=None)
        assert queries(server) == [
            {
                "labelSelector": "app in (x,y)",
                "fieldSelector": "metadata.name=a,spec.nodeName!=n 1",
                "limit": "3",
                "resourceVersion": "7",
                "resourceVersionMatch": "Exact",
            },
            {},
        ]
        assert "app%20in%20%28x%2Cy%29" in server.requests[0].raw_query

    @pytest.mark.parametrize(
        ("view", "accepted"),
        [
            ("object", "application/json"),
            ("metadata", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;q=0.9"),
            ("table", "application/json;as=Table;g=meta.k8s.io;v=v1"),
        ],
    )
    def test_view(self, server: ScriptedServer, client: Client, view: str, accepted: str) -> None:
        """A view is asked for in its form for lists: the form for one object is a 406."""
        server.add(List("1", []))
        client.list("pods", view=view)
        assert server.requests[0].headers["Accept"] == accepted


class TestItems:
    def test_kind(self, server: ScriptedServer, client: Client) -> None:
        """Objects get the kind and apiVersion that servers leave out in lists; what they have stays."""
        bare, full = {"metadata": {"name": "a"}}, {"kind": "Own", "apiVersion": "x/v1", "metadata": {"name": "b"}}
        server.add(List("9", [bare, full], kind="DeploymentList", api_version="apps/v1"))
        found = client.list("deployments")
        assert found.items == [{**bare, "kind": "Deployment", "apiVersion": "apps/v1"}, full]
        assert (found.resource_version, found.continue_token, found.column_definitions) == ("9", None, None)
        assert (len(found), list(found)) == (2, found.items)

    def test_null(self, server: ScriptedServer, client: Client) -> None:
        """An empty list that Go writes as null is an empty list, and no resource version is None."""
        server.add(List(None, None))
        found = client.list("pods")
        assert (found.items, found.resource_version) == ([], None)

    def test_metadata(self, server: ScriptedServer, client: Client) -> None:
        """Items of a PartialObjectMetadataList are PartialObjectMetadata."""
        bare = {"metadata": {"name": "a"}}
        server.add(List("1", [bare], kind="PartialObjectMetadataList", api_version="meta.k8s.io/v1"))
        (item,) = client.list("pods", view="metadata")
        assert (item["kind"], item["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")

    def test_table(self, server: ScriptedServer, client: Client) -> None:
        """Of a Table the items are its rows, page by page, and the first page tells the columns."""
        last = {**TABLE, "metadata": {"resourceVersion": "5"}, "columnDefinitions": None}
        server.add(Http(200, TABLE))
        server.add(Http(200, last))
        found = client.list("pods", view="table")
        assert found.items == TABLE["rows"] * 2  # type: ignore[operator]
        assert (found.column_definitions, found.resource_version) == ([{"name": "Name"}], "5")

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param({"kind": "Pod", "metadata": {}}, id="object"),
            pytest.param({"kind": "PodList", "items": {}}, id="items-object"),
            pytest.param({"kind": "PodList", "items": [None]}, id="null-item"),
            pytest.param({"kind": "Table", "rows": ["a"]}, id="no-row"),
            pytest.param({"items": []}, id="no-kind"),
            pytest.param({"kind": ["PodList"], "items": []}, id="odd-kind"),
            pytest.param(status(200), id="success-status"),
        ],
    )
    def test_no_list(self, server: ScriptedServer, client: Client, body: dict[str, Any]) -> None:
        """An answer that is no list of objects is an error DECODE."""
        server.add(Http(200, body))
        assert failure(lambda: client.list("pods")).origin is ErrorOrigin.DECODE

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(body=json_objects, metadata=json_values, items=json_values)
    def test_any_shape(self, server: ScriptedServer, client: Client, body: Any, metadata: Any, items: Any) -> None:
        """A list of any shape gives objects or a WatchError, nothing else."""
        server.default = (Http(200, {"kind": "PodList", "metadata": metadata, "items": items, **body}),)
        try:
            found = next(client.list_pages("pods"))
        except WatchError:
            return
        assert all(isinstance(item, dict) for item in found)
        assert isinstance(found.resource_version, str | None)
        assert isinstance(found.continue_token, str | None)


class TestPages:
    def test_joined(self, server: ScriptedServer, client: Client) -> None:
        """Pages are read until there is no token, and make one list with the version of the first."""
        for number, token in enumerate(["one", "t w&o", None]):
            server.add(List("9", [pod(f"p{number}")], cont=token))
        found = client.list("pods", page_size=1, resource_version="0", label_selector="x")
        assert names(found) == ["p0", "p1", "p2"]
        assert (found.resource_version, found.continue_token) == ("9", None)
        common = {"limit": "1", "labelSelector": "x"}
        assert queries(server) == [
            {**common, "resourceVersion": "0"},
            {**common, "continue": "one"},
            {**common, "continue": "t w&o"},
        ]
        assert server.connections_accepted == 1

    def test_empty_page(self, server: ScriptedServer, client: Client) -> None:
        """A page may be empty and not be the last; a token may be the empty string and mean none."""
        server.add(List("9", None, cont="more"))
        server.add(List("9", [pod("a")], cont=""))
        assert names(client.list("pods", page_size=1)) == ["a"]

    def test_one_by_one(self, api_server: ApiServer, api_client: Client) -> None:
        """list_pages asks for a page when it is wanted, not before."""
        for name in "ab":
            api_server.create(pod(name))
        pages = api_client.list_pages("pods", page_size=1)
        assert len(api_server.requests) == 0
        first = next(pages)
        assert (names(first), bool(first.continue_token), len(api_server.requests)) == (["a"], True, 1)
        assert [names(page) for page in pages] == [["b"]]
        assert len(api_server.requests) == 2

    def test_expired(self, server: ScriptedServer, client: Client) -> None:
        """When the pages expire the list is read once more in one piece, not on from the server's fresh token."""
        server.add(List("9", [pod("old")], cont="more"))
        server.add(EXPIRED)
        server.add(List("12", [pod("a"), pod("b")]))
        found = client.list("pods", "ns", page_size=1, resource_version="9", resource_version_match="NotOlderThan")
        assert (names(found), found.resource_version) == (["a", "b"], "12")
        assert queries(server)[2] == {"resourceVersion": "9", "resourceVersionMatch": "NotOlderThan"}

    def test_expired_twice(self, server: ScriptedServer, client: Client) -> None:
        """When that expires, too, it is told."""
        server.add(List("9", [pod("old")], cont="more"))
        server.default = (EXPIRED,)
        assert failure(lambda: client.list("pods")).is_expired
        assert len(server.requests) == 3

    def test_expired_at_once(self, server: ScriptedServer, client: Client) -> None:
        """A version that is gone already at the first page is told: in one piece it would mean another version."""
        server.default = (EXPIRED,)
        assert failure(lambda: client.list("pods", resource_version="1")).is_expired
        assert len(server.requests) == 1

    def test_expired_pages(self, api_server: ApiServer, api_client: Client) -> None:
        """list_pages has handed out its pages already, so it tells that they expired."""
        for name in "ab":
            api_server.create(pod(name))
        pages = api_client.list_pages("pods", page_size=1)
        next(pages)
        api_server.create(pod("c"))
        api_server.compact(cached=True)
        assert failure(lambda: next(pages)).is_expired
        assert len(api_server.requests) == 2

    def test_error_on_the_way(self, api_server: ApiServer, api_client: Client) -> None:
        """Any other error on a later page ends the list: what came before is no list."""
        for name in "ab":
            api_server.create(pod(name))
        api_server.fail_next(Fault.answer(500), path=lambda request: "continue" in request.query)
        assert failure(lambda: api_client.list("pods", page_size=1)).status_code == 500

    def test_discovered_once(self, api_server: ApiServer, api_client: Client) -> None:
        """A name that only the server can explain is asked for once, not for each page."""
        api_server.create(definition())
        for name in "ab":
            api_server.create(widget(name))
        assert names(api_client.list("wd", page_size=1)) == ["a", "b"]
        paths = [request.path for request in api_server.requests]
        assert paths == ["/api", "/apis", *["/apis/example.com/v2/widgets"] * 2]


LARGE = [pod(f"pod-{number:04}", text="x" * 1000) for number in range(2000)]
BODY = json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": LARGE}).encode()
ZIPPED = gzip.compress(BODY)
GZIP = {"Content-Encoding": "gzip", "Content-Type": "application/json"}


class TestSize:
    @pytest.mark.parametrize(
        "script",
        [
            pytest.param([Http(200, BODY)], id="length"),
            pytest.param([Head1(), Raw(BODY), Fin()], id="until-close"),
            pytest.param([Head(), Raw(BODY), End()], id="one-chunk"),
            pytest.param([Head(), Split(BODY, 2048), End()], id="chunks"),
            pytest.param([Http(200, ZIPPED, GZIP)], id="gzip-length"),
            pytest.param([Head(headers=GZIP), Split(ZIPPED, 7), End()], id="gzip-chunks"),
            pytest.param([Head(headers=GZIP), Gzip(BODY[:-5]), Gzip(BODY[-5:]), End()], id="gzip-members"),
            pytest.param([Head1(headers=GZIP), Raw(ZIPPED), Fin()], id="gzip-until-close"),
        ],
    )
    def test_large(self, server: ScriptedServer, client: Client, script: list[Step]) -> None:
        """A list of more than a mebibyte comes whole, in every framing and compressed or not."""
        assert len(BODY) > 2 * 1024 * 1024
        server.add(*script)
        assert client.list("pods").items == LARGE

    @pytest.mark.parametrize(
        "script",
        [
            pytest.param([Http(200, BODY, {"Content-Length": str(len(BODY) + 1)}), Fin()], id="length"),
            pytest.param([Http(200, BODY[:-1])], id="json"),
            pytest.param([Head(), Raw(BODY), Fin()], id="no-zero-chunk"),
            pytest.param([Head(), CutChunk(BODY, len(BODY) + 1), Fin()], id="chunk"),
            pytest.param([Head1(), Raw(BODY[:-1]), Fin()], id="until-close"),
            pytest.param([Head(headers=GZIP), Raw(ZIPPED), Fin()], id="gzip-no-zero-chunk"),
            pytest.param([Head(headers=GZIP), Raw(ZIPPED[:-100]), End()], id="gzip-cut"),
            pytest.param([Http(200, ZIPPED[:-100], GZIP)], id="gzip-cut-length"),
        ],
    )
    def test_truncated(self, server: ScriptedServer, client: Client, script: list[Step]) -> None:
        """A list that breaks off is an error, never a shorter list; also where what came could be decoded."""
        server.add(*script)
        assert failure(lambda: client.list("pods")).origin in (ErrorOrigin.NETWORK, ErrorOrigin.DECODE)


def test_many_pages(api_server: ApiServer, api_client: Client) -> None:
    """Two hundred pages go over one connection."""
    expected = [api_server.create(pod(f"p{number:03}")) for number in range(200)]
    assert names(api_client.list("pods", page_size=1)) == names(expected)
    assert (len(api_server.requests), api_server.connections_accepted) == (200, 1)


def test_same_place_twice(server: ScriptedServer, client: Client) -> None:
    """A server that says twice to continue at one place is an error: the pages would never end."""
    server.default = (List("1", [pod("a")], cont="again"),)

    error = failure(lambda: client.list("pods"))
    assert (error.origin, "told twice" in error.message) == (ErrorOrigin.DECODE, True)
    assert len(server.requests) == 2
