"""What the server refuses, as verbs raise it and as watches tell it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from kwsync import Client, EndReason, ErrorOrigin, ErrorType, WatchEnd, watch_resource
from tests.contract.servers import ContractServer, User
from tests.contract.support import Place, error_of, failure, new_object, version_of

ClientAs = Callable[[User], Client]

OTHER, MISSING = ErrorType.UNKNOWN_ERROR, ErrorType.NOT_FOUND

REFUSALS: list[Any] = [
    pytest.param("viewer", "configmaps", 403, "Forbidden", OTHER, id="403"),
    pytest.param("viewer", "v1/nothings", 403, "Forbidden", OTHER, id="403-before-404"),
    pytest.param("nobody", "pods", 403, "Forbidden", OTHER, id="403-nobody"),
    pytest.param("anonymous", "pods", 403, "Forbidden", OTHER, id="403-anonymous"),
    pytest.param("stranger", "pods", 401, "Unauthorized", ErrorType.UNAUTHORIZED_ERROR, id="401"),
    pytest.param("stranger", "v1/nothings", 401, "Unauthorized", ErrorType.UNAUTHORIZED_ERROR, id="401-before-404"),
    pytest.param("admin", "v1/nothings", 404, "NotFound", MISSING, id="404-plural"),
    pytest.param("admin", "apps/v7/deployments", 404, "NotFound", MISSING, id="404-version"),
    pytest.param("admin", "example.com/v1/nothings", 404, "", MISSING, id="404-group"),
]


class TestRefusals:
    @pytest.mark.parametrize(("user", "resource", "code", "reason", "kind"), REFUSALS)
    def test_verb(
        self, client_as: ClientAs, user: User, resource: str, code: int, reason: str, kind: ErrorType
    ) -> None:
        """A4, D14: who may not is 403 before 404, unknown is 401 before both; a group that never was is 404 in text."""
        error = failure(lambda: client_as(user).list(resource, "default"))
        assert (error.status_code, error.reason, error.error_type) == (code, reason, kind)
        assert error.origin is ErrorOrigin.HTTP
        assert error.resource_path.endswith(resource.rpartition("/")[2])
        assert (error.status is None) == (reason == "")
        assert error.is_permanent == (code == 404)

    @pytest.mark.parametrize(("user", "resource", "code", "reason", "kind"), REFUSALS)
    def test_watch(
        self, client_as: ClientAs, user: User, resource: str, code: int, reason: str, kind: ErrorType
    ) -> None:
        """A4: a watch tells the same of its own verb, as one ERROR event that is its end."""
        client = client_as(user)
        stream = watch_resource(resource, client=client, namespace="default", timeout_seconds=5)
        error = error_of(list(stream))
        of_the_list = str(failure(lambda: client.list(resource, "default")))
        assert str(error) == of_the_list.replace("cannot list", "cannot watch")
        assert (error.status_code, error.reason, error.error_type) == (code, reason, kind)
        assert stream.end == WatchEnd(EndReason.ERROR, error)
        assert stream.resource_version is None

    def test_words(self, client_as: ClientAs) -> None:
        """A4: a 403 says who may not do what; anonymous is system:anonymous."""
        message = failure(lambda: client_as("anonymous").get("pods", "a", "default")).message
        assert 'User "system:anonymous" cannot get resource "pods"' in message

    def test_not_found(self, maps: Place) -> None:
        """A4: an object that is not there is 404 NotFound with its name in the details."""
        for call in (lambda: maps.get("a"), lambda: maps.delete("a"), lambda: maps.change("a")):
            error = failure(call)
            assert (error.status_code, error.reason) == (404, "NotFound")
            assert error.status is not None
            assert error.status["details"] == {"name": "a", "kind": "configmaps"}

    def test_pickled(self, maps: Place) -> None:
        """An error of a real server goes to another process and back."""
        error = failure(lambda: maps.get("a"))
        copy = pickle.loads(pickle.dumps(error))
        assert (str(copy), copy.status) == (str(error), error.status)

    def test_method(self, admin: Client) -> None:
        """A4: a kind that cannot be watched, and a path that cannot be deleted, are 405."""
        error = error_of(list(watch_resource("componentstatuses", client=admin, timeout_seconds=5)))
        assert (error.status_code, error.reason, error.is_permanent) == (405, "MethodNotAllowed", True)
        assert failure(lambda: admin.request("DELETE", "/api/v1/namespaces")).status_code == 405

    def test_accept(self, maps: Place) -> None:
        """A6, D16: a watch in YAML is 406, and its body is YAML as well, so it is told as text."""
        path = f"/api/v1/namespaces/{maps.namespace}/configmaps"
        query, headers = {"watch": "true"}, {"Accept": "application/yaml"}
        error = failure(lambda: maps.client.request("GET", path, query=query, headers=headers))
        assert (error.status_code, error.status, error.is_permanent) == (406, None, True)
        assert "kind: Status" in error.message


class TestWrites:
    def test_exists(self, maps: Place) -> None:
        """A4: to create what is there is 409 AlreadyExists."""
        maps.create("a")
        error = failure(lambda: maps.create("a"))
        assert (error.status_code, error.reason, error.error_type) == (409, "AlreadyExists", OTHER)
        assert not error.is_permanent

    def test_conflict(self, maps: Place) -> None:
        """A4, A8: to replace another version than the present one is 409 Conflict, and changes nothing."""
        old = maps.create("a")
        present = maps.change("a")
        error = failure(lambda: maps.client.replace("configmaps", {**old, "data": {"lost": "1"}}))
        assert (error.status_code, error.reason) == (409, "Conflict")
        assert maps.get("a") == present

    def test_version_on_create(self, maps: Place) -> None:
        """D15: to create with a version is HTTP 500 with an empty reason, and permanent."""
        error = failure(lambda: maps.create("a", resourceVersion="5"))
        assert (error.status_code, error.reason, error.is_permanent) == (500, "", True)

    def test_missing_namespace(self, admin: Client) -> None:
        """A3: to create in a namespace that does not exist is 404, and names it."""
        error = failure(lambda: admin.create("configmaps", new_object("a"), "nobody-made-this"))
        assert (error.status_code, error.reason) == (404, "NotFound")
        assert 'namespaces "nobody-made-this" not found' in error.message

    def test_other_namespace(self, maps: Place) -> None:
        """A4: an object that names another namespace than the path is 400."""
        new = new_object("a", namespace="default")
        error = failure(lambda: maps.client.create("configmaps", new, maps.namespace))
        assert (error.status_code, error.reason, error.is_permanent) == (400, "BadRequest", True)

    def test_invalid(self, contract_server: ContractServer, pods: Place) -> None:
        """A4: an object that breaks the rules is 422 Invalid, each cause with its field."""
        contract_server.need("validation")
        error = failure(lambda: pods.client.create("pods", {**new_object("A_"), "spec": {}}, pods.namespace))
        assert (error.status_code, error.reason, error.is_permanent) == (422, "Invalid", True)
        assert error.status is not None
        fields = {cause["field"] for cause in error.status["details"]["causes"]}
        assert {"metadata.name", "spec.containers"} <= fields

    @pytest.mark.parametrize(
        ("body", "media_type", "code", "reason"),
        [
            pytest.param(b"{", "application/json", 400, "BadRequest", id="no-json"),
            pytest.param(b"{}", "text/plain", 415, "UnsupportedMediaType", id="media-type"),
            pytest.param(b" " * 3_200_000, "application/json", 413, "RequestEntityTooLarge", id="too-large"),
        ],
    )
    def test_body(self, maps: Place, body: bytes, media_type: str, code: int, reason: str) -> None:
        """A4: a body that cannot be read is 400, of a wrong kind 415, over three megabytes 413."""
        path = f"/api/v1/namespaces/{maps.namespace}/configmaps"
        headers = {"Content-Type": media_type}
        error = failure(lambda: maps.client.request("POST", path, body=body, headers=headers))
        assert (error.status_code, error.reason, error.is_permanent) == (code, reason, True)

    def test_preconditions(self, maps: Place) -> None:
        """A4: a deletion can name the uid and the version it means; another is 409."""
        uid = maps.create("a")["metadata"]["uid"]
        error = failure(lambda: maps.delete("a", preconditions={"uid": "other"}))
        assert (error.status_code, error.reason) == (409, "Conflict")
        assert maps.delete("a", preconditions={"uid": uid})["status"] == "Success"

    def test_dry_run(self, maps: Place) -> None:
        """A dry run answers as the write would, and writes nothing."""
        new = new_object("a", namespace=maps.namespace)
        assert maps.client.create("configmaps", new, query={"dryRun": "All"})["metadata"]["uid"]
        assert len(maps.objects()) == 0


class TestPatches:
    def test_merge(self, maps: Place) -> None:
        """A merge patch changes what it names and removes what it sets to null."""
        maps.create("a", labels={"x": "1", "y": "2"})
        labels = maps.change("a", labels={"x": None, "z": "3"})["metadata"]["labels"]
        assert labels == {"y": "2", "z": "3"}

    def test_json(self, maps: Place) -> None:
        """A JSON patch does its steps in order; a test that fails is 422 and changes nothing."""
        created = maps.create("a", labels={"x": "1"})
        steps = [{"op": "test", "path": "/metadata/labels/x", "value": "1"},
                 {"op": "replace", "path": "/metadata/labels/x", "value": "2"}]  # fmt: skip
        changed = maps.client.patch("configmaps", "a", steps, maps.namespace)
        assert changed["metadata"]["labels"] == {"x": "2"}
        error = failure(lambda: maps.client.patch("configmaps", "a", steps, maps.namespace))
        assert error.status_code == 422
        assert maps.get("a") == changed != created

    def test_strategic(self, contract_server: ContractServer, pods: Place) -> None:
        """A strategic merge patch knows lists by their keys."""
        contract_server.need("apply")
        pods.create("a")
        patch = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
        changed = pods.client.patch("pods", "a", patch, pods.namespace, patch_type="strategic")
        (container,) = changed["spec"]["containers"]
        assert (container["image"], container["imagePullPolicy"]) == ("other", "Always")

    def test_apply(self, contract_server: ContractServer, maps: Place) -> None:
        """Server-side apply makes an object, keeps others' fields unless forced (409), and repeated changes nothing."""
        contract_server.need("field ownership")

        def apply(manager: str, value: str, *, force: bool | None = None) -> dict[str, Any]:
            new = {"apiVersion": "v1", "kind": "ConfigMap", **new_object("a", namespace=maps.namespace)}
            wanted = {**new, "data": {"x": value}}
            return maps.client.patch("configmaps", "a", wanted, patch_type="apply", field_manager=manager, force=force)

        first = apply("one", "1")
        assert version_of(apply("one", "1")) == version_of(first)
        error = failure(lambda: apply("two", "2"))
        assert (error.status_code, error.reason) == (409, "Conflict")
        assert error.status is not None
        assert error.status["details"]["causes"][0]["reason"] == "FieldManagerConflict"
        assert apply("two", "2", force=True)["data"] == {"x": "2"}

    def test_no_manager(self, contract_server: ContractServer, maps: Place) -> None:
        """An apply without a field manager is 422."""
        contract_server.need("apply")
        new = {"apiVersion": "v1", "kind": "ConfigMap", **new_object("a", namespace=maps.namespace)}
        assert failure(lambda: maps.client.patch("configmaps", "a", new, patch_type="apply")).status_code == 422


class TestOtherVerbs:
    def test_generate_name(self, maps: Place) -> None:
        """An object can be created without a name; the server makes one."""
        created = maps.client.create("configmaps", {"metadata": {"generateName": "made-"}}, maps.namespace)
        assert maps.get(created["metadata"]["name"]) == created
        assert created["metadata"]["name"].startswith("made-")

    def test_status(self, pods: Place) -> None:
        """A8: a subresource is written on its own: with status no spec changes, and without it no status."""
        created = pods.create("a")
        spec = {**created["spec"], "activeDeadlineSeconds": 5}
        changed = pods.client.replace(
            "pods", {**created, "spec": spec, "status": {"phase": "Failed"}}, subresource="status"
        )
        assert (changed["status"]["phase"], changed["spec"]) == ("Failed", created["spec"])
        assert pods.client.get("pods", "a", pods.namespace, subresource="status") == changed
        again = pods.client.replace("pods", {**changed, "spec": spec, "status": {"phase": "Running"}})
        assert (again["status"], again["spec"]) == (changed["status"], spec)

    def test_delete(self, maps: Place) -> None:
        """A deletion that is done answers with a Status that names the uid."""
        uid = maps.create("a")["metadata"]["uid"]
        gone = maps.delete("a", propagation_policy="Background")
        assert (gone["kind"], gone["status"], gone["details"]["uid"]) == ("Status", "Success", uid)
        assert len(maps.objects()) == 0

    def test_requests(self, admin: Client) -> None:
        """A free request gives JSON decoded and text as it is."""
        assert admin.request("GET", "/healthz") == "ok"
        assert admin.request("GET", "/version")["major"]
