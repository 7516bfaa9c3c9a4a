"""Custom resources: defined, discovered, watched, changed and gone."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from kwsync import Client, EndReason, ErrorOrigin, ErrorType, Resource, WatchEnd, watch_resource
from tests.contract.servers import ContractServer
from tests.contract.support import (
    Place,
    error_of,
    failure,
    names,
    new_object,
    object_of,
    patiently,
    told,
    types,
    version_of,
)

DEFINITIONS = "customresourcedefinitions"


@attrs.frozen
class Definition:
    """A custom resource definition that was made for a test."""

    group: str
    names: dict[str, Any]
    namespaced: bool = True

    @property
    def name(self) -> str:
        return f"{self.resource.plural}.{self.group}"

    @property
    def resource(self) -> Resource:
        return Resource(self.group, "v1", self.names["plural"])

    def manifest(self) -> dict[str, Any]:
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
        columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
        scope = "Namespaced" if self.namespaced else "Cluster"
        spec = {
            "group": self.group,
            "scope": scope,
            "names": self.names,
            "versions": [{**version, "additionalPrinterColumns": columns}],
        }
        return {"metadata": {"name": self.name}, "spec": spec}

    def new(self, name: str, **metadata: Any) -> dict[str, Any]:
        """An object of it."""
        return {"apiVersion": f"{self.group}/v1", "kind": self.names["kind"], **new_object(name, **metadata)}


def defined(client: Client, word: str, *, namespaced: bool = True) -> Definition:
    """Make a definition with names that nothing else has, and wait until it is served and discovered."""
    mark = uuid.uuid4().hex[:6]
    singular = f"{word}{mark}"
    kind = {
        "plural": f"{singular}s",
        "singular": singular,
        "kind": singular.capitalize(),
        "shortNames": [f"x{mark}"],
    }
    made = Definition(f"{mark}.kwsync.test", kind, namespaced)
    client.create(DEFINITIONS, made.manifest())
    for ready in (lambda: client.list(made.resource), lambda: client.discover(made.name)):
        patiently(ready, unless=404)
    return made


@pytest.fixture(scope="module")
def widgets(contract_server: ContractServer) -> Iterator[Definition]:
    """A namespaced one, for the tests that leave it alone: making the first object of a definition takes seconds."""
    contract_server.need("custom resources")
    with contract_server.client() as client:
        made = defined(client, "widget")
    yield made
    with contract_server.client() as client:
        client.delete(DEFINITIONS, made.name)


@pytest.fixture
def place(admin: Client, namespace: str, widgets: Definition) -> Place:
    """Its objects in a fresh namespace."""
    return Place(admin, namespace, widgets.resource, widgets.new)


class TestDiscovery:
    def test_names(self, admin: Client, widgets: Definition) -> None:
        """A custom resource is found by its plural, singular, kind and short name, also with group and version."""
        plural, group = widgets.resource.plural, widgets.group
        every = [plural, widgets.names["singular"], widgets.names["kind"], *widgets.names["shortNames"]]
        every += [f"{plural}.{group}", f"{plural}.v1.{group}", f"{group}/v1/{plural}"]
        for name in every:
            found = admin.discover(name)
            assert (found, found.namespaced, found.kind) == (widgets.resource, True, widgets.names["kind"]), name

    def test_built_in(self, admin: Client) -> None:
        """Built-in kinds are found as the table of kwsync has them."""
        for name in ("pods", "po", "Deployment", "leases", "crd", "nodes", "networkpolicies", "roles", "ev", "hpa"):
            found, known = admin.discover(name), Resource.parse(name)
            assert (found, found.namespaced, found.kind) == (known, known.namespaced, known.kind), name

    def test_unknown(self, admin: Client) -> None:
        """What no group has is NOT_FOUND 404; in a watch it is an ERROR event."""
        error = failure(lambda: admin.discover("nothings"))
        assert (error.error_type, error.status_code) == (ErrorType.NOT_FOUND, 404)
        told_by_watch = error_of(list(watch_resource("nothings", client=admin, timeout_seconds=5)))
        assert (told_by_watch.error_type, told_by_watch.origin) == (ErrorType.NOT_FOUND, ErrorOrigin.CONFIG)

    def test_in_use(self, place: Place, widgets: Definition) -> None:
        """A short name works in every verb and in a watch."""
        (short,) = widgets.names["shortNames"]
        created = place.client.create(short, widgets.new("a"), place.namespace)
        assert place.client.get(short, "a", place.namespace) == created
        assert names(place.client.list(short, place.namespace)) == ["a"]
        (event,) = Place(place.client, place.namespace, short).first(1)
        assert event.object == created


class TestObjects:
    def test_life(self, place: Place) -> None:
        """A3: the objects of a custom resource are watched like any other."""
        start = place.version()
        created, changed = version_of(place.create("a")), version_of(place.change("a"))
        place.delete("a")
        found = place.first(3, resource_version=start)
        assert told(found)[:2] == [("ADDED", "a", created), ("MODIFIED", "a", changed)]
        assert types(found)[2] == "DELETED"

    def test_initial(self, place: Place) -> None:
        """A2: their state is told and marked."""
        place.create("a")
        place.version()
        assert types(place.first(2, send_initial_events=True)) == ["ADDED", "BOOKMARK"]

    def test_items(self, place: Place) -> None:
        """A6: their items have kind and apiVersion of their own, and a list of one page ends with an empty token."""
        created = place.create("a")
        found = place.objects()
        assert (found.items, found.continue_token) == ([created], None)

    def test_pages(self, place: Place) -> None:
        """A2: their lists come in pages as well."""
        for name in "abc":
            place.create(name)
        assert names(place.objects(page_size=1)) == ["a", "b", "c"]

    def test_generation(self, place: Place) -> None:
        """A8: generation counts changes of the spec, not of status or metadata."""
        created = place.create("a")
        assert created["metadata"]["generation"] == 1
        assert place.change("a")["metadata"]["generation"] == 1
        patch: dict[str, Any] = {"status": {"x": 1}}
        status = place.client.patch(place.resource, "a", patch, place.namespace, subresource="status")
        assert (status["metadata"]["generation"], status["status"]) == (1, {"x": 1})
        spec = place.client.patch(place.resource, "a", {"spec": {"size": 3}}, place.namespace)
        assert (spec["metadata"]["generation"], spec["status"]) == (2, {"x": 1})

    def test_table(self, contract_server: ContractServer, place: Place) -> None:
        """A6: a Table has the columns of the definition."""
        contract_server.need("table columns")
        place.client.create(place.resource, {**place.make("a"), "spec": {"size": 7}}, place.namespace)
        found = place.objects(view="table")
        assert found.column_definitions is not None
        assert [column["name"] for column in found.column_definitions] == ["Name", "Size"]
        assert [row["cells"] for row in found] == [["a", 7]]
        (event,) = place.first(1, view="table")
        assert object_of(event)["rows"][0]["cells"] == ["a", 7]

    def test_metadata(self, place: Place) -> None:
        """A6: metadata alone works for them."""
        created = place.create("a")
        assert place.objects(view="metadata").items[0]["metadata"] == created["metadata"]
        (event,) = place.first(1, view="metadata")
        assert object_of(event)["kind"] == "PartialObjectMetadata"

    def test_unparsable_version(self, place: Place) -> None:
        """D1: a version that is no number is HTTP 500 with an empty reason for them as well, and permanent."""
        error = error_of(list(place.watch(resource_version="x")))
        assert (error.status_code, error.reason, error.is_permanent) == (500, "", True)


class TestChanges:
    def test_deleted(self, contract_server: ContractServer, admin: Client, namespace: str) -> None:
        """A3, A9: when the definition goes each object is DELETED, the watch ends cleanly; then it is 404 in text."""
        contract_server.need("custom resources")
        gadgets = defined(admin, "gadget")
        place = Place(admin, namespace, gadgets.resource, gadgets.new)
        start = place.version()
        for name in "ab":
            place.create(name)
        stream = place.watch(resource_version=start)
        assert types([next(stream), next(stream)]) == ["ADDED", "ADDED"]
        admin.delete(DEFINITIONS, gadgets.name)
        assert sorted((event.type.value, event.key.name) for event in stream) == [("DELETED", "a"), ("DELETED", "b")]
        assert stream.end == WatchEnd(EndReason.SERVER_CLOSED)
        error = failure(place.objects)
        assert (error.status_code, error.status) == (404, None)
        assert error_of(list(place.watch())).error_type is ErrorType.NOT_FOUND
        assert failure(lambda: admin.discover(gadgets.name)).status_code == 404

    def test_changed(self, contract_server: ContractServer, admin: Client) -> None:
        """D3: a change of the definition ends its watches cleanly; the last version seen is then 410 Expired.

        For a moment before that it is 429: the storage is being made anew.
        """
        contract_server.need("custom resources")
        gadgets = defined(admin, "gadget", namespaced=False)
        found = admin.discover(gadgets.name)
        assert found.namespaced is False
        created = admin.create(found, gadgets.new("a"))
        stream = watch_resource(found, client=admin, timeout_seconds=20)
        assert next(stream).object == created
        changed = version_of(admin.patch(found, "a", {"spec": {"size": 1}}))
        assert next(stream).resource_version == changed
        admin.patch(DEFINITIONS, gadgets.name, {"spec": {"names": {"categories": ["all"]}}})
        assert (list(stream), stream.end) == ([], WatchEnd(EndReason.SERVER_CLOSED))
        assert stream.resource_version == changed

        def resume() -> None:
            raise error_of(list(watch_resource(found, client=admin, resource_version=changed, timeout_seconds=5)))

        error = failure(lambda: patiently(resume, unless=429))
        assert (error.is_expired, error.reason, error.origin) == (True, "Expired", ErrorOrigin.STREAM)
        admin.delete(DEFINITIONS, gadgets.name)

    def test_metadata_only(self, place: Place, widgets: Definition) -> None:
        """D3: a label on the definition does nothing to its watches."""
        place.create("a")
        with place.watch() as stream:
            next(stream)
            place.client.patch(DEFINITIONS, widgets.name, {"metadata": {"labels": {"x": uuid.uuid4().hex}}})
            changed = version_of(place.change("a"))
            assert next(stream).resource_version == changed
