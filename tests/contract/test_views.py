"""Tables and metadata alone, in lists and watches."""

from __future__ import annotations

from typing import Any

import pytest

from kwsync import ErrorOrigin
from tests.contract.servers import ContractServer
from tests.contract.support import Place, error_of, failure, names, object_of, told, types, version_of


class TestMetadata:
    def test_get(self, maps: Place) -> None:
        """A6: one object's metadata alone, in its own form."""
        created = maps.create("a", labels={"x": "y"})
        found = maps.client.get("configmaps", "a", maps.namespace, view="metadata")
        assert (found["kind"], found["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
        assert found["metadata"] == created["metadata"]
        assert "data" not in found

    def test_list(self, maps: Place) -> None:
        """D4: a list is asked for in the form for lists; each item has its kind."""
        for name in "ab":
            maps.create(name)
        found = maps.objects(view="metadata", page_size=1)
        assert names(found) == ["a", "b"]
        assert {item["kind"] for item in found} == {"PartialObjectMetadata"}
        assert found.resource_version is not None

    def test_watch(self, either: Place) -> None:
        """D4, A6: events and bookmarks of a watch are metadata alone, and their versions count."""
        created = version_of(either.create("a"))
        with either.watch(view="metadata", send_initial_events=True) as stream:
            added, bookmark = next(stream), next(stream)
            changed = version_of(either.change("a"))
            modified = next(stream)
        assert told([added, modified]) == [("ADDED", "a", created), ("MODIFIED", "a", changed)]
        assert (added.initial, bookmark.type, modified.initial) == (True, "BOOKMARK", False)
        for event in (added, bookmark, modified):
            assert object_of(event)["kind"] == "PartialObjectMetadata"
        assert stream.resource_version == changed


class TestTable:
    def columns(self, found: list[dict[str, Any]] | None) -> list[str]:
        assert found is not None, "a Table without columns"
        return [column["name"] for column in found]

    def test_get(self, contract_server: ContractServer, pods: Place) -> None:
        """A6: one object as kubectl shows it, with the metadata beside its cells."""
        contract_server.need("table columns")
        pods.create("a")
        found = pods.client.get("pods", "a", pods.namespace, view="table")
        assert self.columns(found["columnDefinitions"])[:3] == ["Name", "Ready", "Status"]
        (row,) = found["rows"]
        assert row["cells"][:3] == ["a", "0/1", "Pending"]
        assert row["object"]["metadata"]["name"] == "a"

    def test_list(self, contract_server: ContractServer, pods: Place) -> None:
        """A6: of a list the items are rows, over all pages, and the columns stand beside them."""
        contract_server.need("table columns")
        for name in "abc":
            pods.create(name)
        found = pods.objects(view="table", page_size=2)
        assert [row["cells"][0] for row in found] == ["a", "b", "c"]
        assert self.columns(found.column_definitions)[0] == "Name"
        assert found.resource_version is not None

    def test_watch(self, contract_server: ContractServer, either: Place) -> None:
        """A6: each event is a Table of one row; only the first has columns; a bookmark's annotation sits in its row."""
        contract_server.need("table columns")
        created = version_of(either.create("a"))
        with either.watch(view="table", send_initial_events=True) as stream:
            added, bookmark = next(stream), next(stream)
            assert bookmark.resource_version is not None
            assert stream.resource_version == bookmark.resource_version
            changed = version_of(either.change("a"))
            modified = next(stream)
        assert told([added, modified]) == [("ADDED", "a", created), ("MODIFIED", "a", changed)]
        assert (added.initial, bookmark.type, modified.initial) == (True, "BOOKMARK", False)
        assert added.key == (either.namespace, "a")
        assert object_of(added)["columnDefinitions"]
        assert object_of(modified)["columnDefinitions"] is None

    def test_deleted(self, contract_server: ContractServer, maps: Place) -> None:
        """A3: a deletion is a row as well, with the version of the deletion."""
        contract_server.need("table columns")
        start = maps.version()
        created = version_of(maps.create("a"))
        maps.delete("a")
        added, deleted = maps.first(2, view="table", resource_version=start)
        assert types([added, deleted]) == ["ADDED", "DELETED"]
        assert int(deleted.resource_version or 0) > int(created)


@pytest.mark.parametrize("view", ["table", "metadata"])
class TestErrors:
    def test_in_a_stream(self, contract_server: ContractServer, events: Place, view: str) -> None:
        """A6: an ERROR event holds a plain Status, whatever the view."""
        contract_server.need("compaction")
        start = events.version()
        for name in "ab":
            events.create(name)
        contract_server.compact()
        error = error_of(events.first(1, resource_version=start, view=view))
        assert (error.is_expired, error.origin) == (True, ErrorOrigin.STREAM)
        assert error.status is not None

    def test_of_a_verb(self, maps: Place, view: str) -> None:
        """A6: and so is the body of an error."""
        error = failure(lambda: maps.client.get("configmaps", "a", maps.namespace, view=view))
        assert (error.status_code, error.reason) == (404, "NotFound")
