"""Kinds with rules of their own: leases, events, secrets, namespaces."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from kwsync import Client
from tests.contract.servers import ContractServer
from tests.contract.support import Place, error_of, failure, names, new_object, object_of, told, types, version_of

NOW = "2024-05-06T07:08:09.000010Z"


def lease(name: str, **spec: Any) -> dict[str, Any]:
    return {**new_object(name), "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, **spec}}


class TestLeases:
    @pytest.fixture
    def leases(self, admin: Client, namespace: str) -> Place:
        return Place(
            admin, namespace, "leases", lambda name, **metadata: {**lease(name), "metadata": {"name": name, **metadata}}
        )

    def test_renewed(self, leases: Place) -> None:
        """A lease is created, renewed and taken over; each is an event."""
        start = leases.version()
        created = leases.client.create("leases", lease("a", renewTime=NOW, acquireTime=NOW), leases.namespace)
        assert created["spec"]["renewTime"] == NOW
        renewed = {
            **created,
            "spec": {**created["spec"], "renewTime": "2024-05-06T07:08:10.000010Z", "leaseTransitions": 1},
        }
        after = leases.client.replace("leases", renewed)
        found = leases.first(2, resource_version=start)
        assert told(found) == [("ADDED", "a", version_of(created)), ("MODIFIED", "a", version_of(after))]
        assert object_of(found[1])["spec"]["leaseTransitions"] == 1

    def test_two_candidates(self, leases: Place) -> None:
        """A4: of two who replace the same version one gets 409, so one leader is made, not two."""
        held = leases.create("a")
        first = leases.client.replace("leases", {**held, "spec": {**held["spec"], "holderIdentity": "one"}})
        error = failure(
            lambda: leases.client.replace("leases", {**held, "spec": {**held["spec"], "holderIdentity": "two"}})
        )
        assert (error.status_code, error.reason) == (409, "Conflict")
        assert leases.get("a") == first

    @pytest.mark.parametrize(
        ("given", "stored"),
        [
            (NOW, NOW),
            ("2024-05-06T09:08:09.000010+02:00", NOW),
            ("2024-05-06T07:08:09Z", None),
            ("2024-05-06T07:08:09.01Z", None),
            ("2024-05-06T07:08:09.0000100Z", None),
        ],
    )
    def test_times(self, leases: Place, given: str, stored: str | None) -> None:
        """A8: a time has exactly six digits behind the second, else 400; another zone is turned to Z."""
        if stored is None:
            error = failure(lambda: leases.client.create("leases", lease("a", renewTime=given), leases.namespace))
            assert (error.status_code, error.is_permanent) == (400, True)
        else:
            created = leases.client.create("leases", lease("a", renewTime=given), leases.namespace)
            assert created["spec"]["renewTime"] == stored


class TestEvents:
    def test_two_apis(self, events: Place) -> None:
        """A8: an event is one object in two APIs: the same uid and version, other words."""
        old = events.create("a")
        new = events.client.get("events.k8s.io/v1/events", "a", events.namespace)
        assert new["metadata"]["uid"] == old["metadata"]["uid"]
        assert version_of(new) == version_of(old)
        assert new["regarding"] == old["involvedObject"]
        assert new["apiVersion"] == "events.k8s.io/v1"

    @pytest.mark.parametrize(
        ("resource", "selector", "good"),
        [
            ("events", "involvedObject.kind=Pod,reason=Tested,type=Normal", True),
            ("events", "regarding.kind=Pod", False),
            ("events.k8s.io/v1/events", "regarding.kind=Pod,reason=Tested,type=Normal", True),
            ("events.k8s.io/v1/events", "involvedObject.kind=Pod", False),
        ],
    )
    def test_fields(self, events: Place, resource: str, selector: str, good: bool) -> None:
        """D12: each API has its own names for the fields; those of the other are 400, in lists and in watches."""
        events.create("a")
        place = Place(events.client, events.namespace, resource)
        if good:
            assert names(place.objects(field_selector=selector)) == ["a"]
            assert types(place.first(1, field_selector=selector)) == ["ADDED"]
        else:
            assert failure(lambda: place.objects(field_selector=selector)).status_code == 400
            assert error_of(list(place.watch(field_selector=selector))).status_code == 400

    def test_no_bookmarks(self, contract_server: ContractServer, events: Place) -> None:
        """D5: a watch of events is never told how far it has come, even when something came."""
        contract_server.need("uncached events")
        start = events.version()
        stream = events.watch(resource_version=start, timeout_seconds=3, allow_watch_bookmarks=True)
        events.create("a")
        next(stream)
        events.create("b")
        assert types(list(stream)) == ["ADDED"]


class TestOthers:
    def test_secrets(self, admin: Client, namespace: str) -> None:
        """A10: secrets can be selected by type; their data is base64."""
        for name, kind in (("a", "Opaque"), ("b", "example.com/own")):
            admin.create("secrets", {**new_object(name), "type": kind, "stringData": {"x": "ä"}}, namespace)
        place = Place(admin, namespace, "secrets")
        (found,) = place.objects(field_selector={"type": "example.com/own"})
        assert (found["metadata"]["name"], found["data"]) == ("b", {"x": "w6Q="})
        assert [event.key.name for event in place.first(1, field_selector="type=Opaque")] == ["a"]

    def test_namespaces(self, admin: Client) -> None:
        """A8, A10: a namespace that is deleted is Terminating first, and seen so by a watch of its phase."""
        created = admin.create("namespaces", {"metadata": {"generateName": "contract-"}})
        name = created["metadata"]["name"]
        assert created["status"]["phase"] == "Active"
        watching = Place(admin, "", "namespaces")
        gone = admin.delete("namespaces", name)
        assert gone["status"]["phase"] == "Terminating"
        field = {"metadata.name": name, "status.phase": "Active"}
        found = watching.first(1, resource_version=version_of(created), field_selector=field)
        assert types(found) == ["DELETED"]

    def test_created(self, maps: Place) -> None:
        """A8: a new object has a uid, a version and the time of its creation, to the second."""
        before = datetime.now(timezone.utc).replace(microsecond=0)
        metadata = maps.create("a")["metadata"]
        assert datetime.fromisoformat(metadata["creationTimestamp"].replace("Z", "+00:00")) >= before
        assert len(metadata["uid"]) == 36
        assert int(metadata["resourceVersion"]) > 0
