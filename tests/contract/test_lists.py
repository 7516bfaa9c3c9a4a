"""Lists: what a resource version means, pages, selectors."""

from __future__ import annotations

from typing import Any

import pytest

from kwsync import Client, ErrorOrigin, ErrorType
from tests.contract.servers import ContractServer
from tests.contract.support import FUTURE, Place, failure, names, version_of


def raw(place: Place, **query: str) -> Any:
    """A list with a query of the test's own: kwsync refuses what the server would."""
    path = f"/api/v1/namespaces/{place.namespace}/{place.resource}"
    return place.client.request("GET", path, query=query)


class TestVersions:
    """A2, the matrix of the list."""

    @pytest.fixture
    def versions(self, maps: Place) -> list[str]:
        """Of two states: with one object, and with two."""
        found = [version_of(maps.create(name)) for name in ("a", "b")]
        maps.objects()  # now the cache has seen both
        return found

    @pytest.mark.parametrize(
        ("version", "match", "limit", "expected"),
        [
            pytest.param(None, None, None, "now", id="most-recent"),
            pytest.param(None, None, 1, "now", id="most-recent-in-pages"),
            pytest.param("0", None, None, "now", id="any"),
            pytest.param("0", None, 1, "now", id="any-with-limit"),
            pytest.param("0", "NotOlderThan", None, "now", id="any-not-older"),
            pytest.param("first", None, None, "now", id="not-older"),
            pytest.param("first", "NotOlderThan", None, "now", id="not-older-said"),
            pytest.param("first", "NotOlderThan", 1, "now", id="not-older-in-pages"),
            pytest.param("first", None, 1, "first", id="limit-means-exact"),
            pytest.param("first", "Exact", None, "first", id="exact"),
            pytest.param("first", "Exact", 1, "first", id="exact-in-pages"),
        ],
    )
    def test_valid(
        self, maps: Place, versions: list[str], version: str | None, match: str | None, limit: int | None, expected: str
    ) -> None:
        """A2: unset is the most recent, 0 any, another not older than, and Exact (or a limit alone) that very state."""
        given = versions[0] if version == "first" else version
        found = maps.objects(resource_version=given, resource_version_match=match, page_size=limit)
        assert found.resource_version is not None
        if expected == "first":
            assert (names(found), found.resource_version) == (["a"], versions[0])
        else:
            assert names(found) == ["a", "b"]
            assert int(found.resource_version) >= int(versions[1])

    @pytest.mark.parametrize(
        ("query", "code", "reason"),
        [
            pytest.param({"resourceVersion": "x"}, 400, "BadRequest", id="unparsable"),
            pytest.param({"resourceVersion": "-1"}, 400, "BadRequest", id="negative"),
            pytest.param({"resourceVersionMatch": "Exact"}, 422, "Invalid", id="match-alone"),
            pytest.param({"resourceVersion": "1", "resourceVersionMatch": "No"}, 422, "Invalid", id="unknown-match"),
            pytest.param({"resourceVersion": "0", "resourceVersionMatch": "Exact"}, 422, "Invalid", id="exact-0"),
            pytest.param({"sendInitialEvents": "true"}, 422, "Invalid", id="initial-events"),
            pytest.param({"continue": "nonsense", "limit": "1"}, 400, "BadRequest", id="token"),
            pytest.param({"fieldSelector": "spec.x=1"}, 400, "BadRequest", id="field"),
            pytest.param({"labelSelector": "a in"}, 400, "BadRequest", id="label"),
        ],
    )
    def test_invalid(self, maps: Place, query: dict[str, str], code: int, reason: str) -> None:
        """A1, A4: what a list cannot mean is 400 or 422, permanent, with a Status."""
        error = failure(lambda: raw(maps, **query))
        assert (error.status_code, error.reason, error.origin) == (code, reason, ErrorOrigin.HTTP)
        assert error.is_permanent
        assert error.status is not None

    def test_bookmarks(self, maps: Place) -> None:
        """A1: allowWatchBookmarks means nothing to a list, and watch=false makes one."""
        assert raw(maps, allowWatchBookmarks="true", watch="false")["items"] == []

    def test_future(self, maps: Place) -> None:
        """A2, A4: a version that has not come is 504 after three seconds, to be tried again, with its cause."""
        error = failure(lambda: maps.objects(resource_version=FUTURE, page_size=None))
        assert (error.status_code, error.reason, error.retry_after) == (504, "Timeout", 1.0)
        assert error.status is not None
        assert error.status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
        assert not error.is_permanent
        assert not error.is_expired

    def test_own_writes(self, maps: Place) -> None:
        """A2: a list without a version shows one's own write, always."""
        for number in range(20):
            maps.create(f"m{number:02}")
            assert len(maps.objects()) == number + 1

    def test_get(self, maps: Place) -> None:
        """A2: get gives the object of the write, in the same words."""
        created = maps.create("a")
        assert maps.get("a") == created
        path = f"/api/v1/namespaces/{maps.namespace}/configmaps/a"
        assert maps.client.request("GET", path, query={"resourceVersion": "0"}) == created


class TestPages:
    def test_snapshot(self, maps: Place) -> None:
        """A2: all pages show one moment, with one version; what is written meanwhile is in none of them."""
        for name in "abcde":
            maps.create(name)
        pages = maps.client.list_pages("configmaps", maps.namespace, page_size=2)
        found = [next(pages)]
        maps.create("cc")
        maps.delete("e")
        found += pages
        assert [names(page) for page in found] == [["a", "b"], ["c", "d"], ["e"]]
        assert len({page.resource_version for page in found}) == 1
        assert [page.continue_token is None for page in found] == [False, False, True]

    def test_remaining(self, maps: Place) -> None:
        """A4: a page tells how many remain, but not with a selector."""
        for name in "abc":
            maps.create(name, labels={"x": "y"})
        assert raw(maps, limit="1")["metadata"]["remainingItemCount"] == 2
        assert "remainingItemCount" not in raw(maps, limit="1", labelSelector="x=y")["metadata"]

    @pytest.mark.parametrize(("version", "code"), [("0", 200), ("1", 400)])
    def test_token_and_version(self, maps: Place, version: str, code: int) -> None:
        """A1: a token with a version beside it is 400, unless that is 0."""
        for name in "ab":
            maps.create(name)
        token = raw(maps, limit="1")["metadata"]["continue"]
        query = {"limit": "1", "continue": token, "resourceVersion": version}
        if code == 200:
            assert names(raw(maps, **query)["items"]) == ["b"]
        else:
            assert failure(lambda: raw(maps, **query)).status_code == code

    def test_any_version_and_limit(self, contract_server: ContractServer, maps: Place, events: Place) -> None:
        """A1, D8: with version 0 the limit is ignored for kinds that are cached, and honoured for events."""
        for place in (maps, events):
            for name in "abc":
                place.create(name)
            place.objects()
        assert len(raw(maps, limit="1", resourceVersion="0")["items"]) == 3
        contract_server.need("uncached events")
        assert len(raw(events, limit="1", resourceVersion="0")["items"]) == 1
        assert names(events.objects(resource_version="0", page_size=1)) == ["a", "b", "c"]

    def test_expired(self, contract_server: ContractServer, events: Place) -> None:
        """A4, D18: pages whose version is gone are 410 Expired, with a fresh token; a new list has all there is."""
        contract_server.need("compaction")
        for name in "abc":
            events.create(name)
        pages = events.client.list_pages("events", events.namespace, page_size=1)
        first = next(pages)
        events.create("d")
        events.create("e")
        contract_server.compact()
        error = failure(lambda: next(pages))
        assert (error.status_code, error.reason, error.is_expired) == (410, "Expired", True)
        assert not error.is_permanent
        assert error.status is not None
        assert error.status["metadata"]["continue"]
        exact = failure(lambda: events.objects(resource_version=first.resource_version, resource_version_match="Exact"))
        assert exact.is_expired
        assert names(events.objects(page_size=1)) == ["a", "b", "c", "d", "e"]


class TestSelection:
    def test_labels(self, maps: Place) -> None:
        """A10: label selectors in every form."""
        for name, app in (("a", "x"), ("b", "y"), ("c", "z")):
            maps.create(name, labels={"app": app, "in": name})
        maps.create("d")
        for selector, expected in [
            ("app=x", ["a"]),
            ("app!=x", ["b", "c", "d"]),
            ("app in (x,y),in!=a", ["b"]),
            ("app notin (x)", ["b", "c", "d"]),
            ("app", ["a", "b", "c"]),
            ("!app", ["d"]),
            ({"app": ["x", "z"]}, ["a", "c"]),
            ({"app": None, "in": "b"}, ["b"]),
        ]:
            assert names(maps.objects(label_selector=selector)) == expected, selector

    def test_fields(self, maps: Place) -> None:
        """A10: field selectors on metadata work for every kind."""
        for name in "abc":
            maps.create(name)
        assert names(maps.objects(name="b")) == ["b"]
        assert names(maps.objects(field_selector="metadata.name!=b")) == ["a", "c"]
        found = maps.client.list("configmaps", field_selector={"metadata.namespace": maps.namespace})
        assert names(found) == ["a", "b", "c"]

    def test_all_namespaces(self, maps: Place, other_namespace: str) -> None:
        """A7: without a namespace all are listed, with one only its own."""
        maps.create("a", labels={"mark": maps.namespace})
        maps.client.create(
            "configmaps", {"metadata": {"name": "b", "labels": {"mark": maps.namespace}}}, other_namespace
        )
        assert names(maps.objects()) == ["a"]
        found = maps.client.list("configmaps", label_selector=f"mark={maps.namespace}")
        assert sorted((item["metadata"]["namespace"], item["metadata"]["name"]) for item in found) == sorted(
            [(maps.namespace, "a"), (other_namespace, "b")]
        )

    def test_missing_namespace(self, admin: Client) -> None:
        """A3: a namespace that does not exist is an empty list with a version, no 404."""
        found = admin.list("configmaps", "nobody-made-this")
        assert found.items == []
        assert found.resource_version is not None

    def test_kind(self, maps: Place, pods: Place) -> None:
        """A6: items of built-in kinds get the kind and apiVersion that the server leaves out."""
        maps.create("a")
        assert "kind" not in raw(maps)["items"][0]
        (item,) = maps.objects()
        assert (item["kind"], item["apiVersion"]) == ("ConfigMap", "v1")
        assert item == maps.get("a")

    def test_large(self, maps: Place) -> None:
        """A6: a list of megabytes comes whole, in one piece and in pages; it is compressed where it is over 128 KiB."""
        text = "0123456789abcdef" * 16_000
        for number in range(6):
            new = {"metadata": {"name": f"m{number}"}, "data": {"text": f"{number}{text}"}}
            maps.client.create("configmaps", new, maps.namespace)
        for size in (None, 2):
            found = maps.objects(page_size=size)
            assert [item["data"]["text"] for item in found] == [f"{number}{text}" for number in range(6)]


def test_error_type(maps: Place) -> None:
    """The error of a bad request is BAD_REQUEST, and names the path."""
    error = failure(lambda: maps.objects(field_selector="spec.x=1"))
    assert error.error_type is ErrorType.BAD_REQUEST
    assert error.resource_path == f"/api/v1/namespaces/{maps.namespace}/configmaps"
    assert "spec.x" in error.message
