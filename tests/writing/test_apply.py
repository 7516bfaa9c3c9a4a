"""Server-side apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kwsync import CancelledError, CancelToken, Client, apply
from kwsync.testing import ApiServer
from tests.contract.servers import ContractServer
from tests.writing.support import Object, failure, sent


def intent(namespace: str = "default", name: str = "a", **data: str) -> Object:
    """Somebody's wish for a config map."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


class TestApply:
    def test_makes_and_changes(self, admin: Client, namespace: str) -> None:
        """What is not there is made; what is there is changed; the answer is the object as stored."""
        apply(admin, intent(namespace, x="1"), field_manager="one")
        found = apply(admin, intent(namespace, x="2"), field_manager="one")
        assert found == admin.get("configmaps", "a", namespace)
        assert found["data"] == {"x": "2"}

    def test_takes_back(self, contract_server: ContractServer, admin: Client, namespace: str) -> None:
        """What a manager names no more is removed; what others own stays."""
        contract_server.need("field ownership")
        apply(admin, intent(namespace, x="1", y="1"), field_manager="one")
        apply(admin, intent(namespace, z="1"), field_manager="two")
        assert apply(admin, intent(namespace, x="1"), field_manager="one")["data"] == {"x": "1", "z": "1"}

    def test_conflict(self, contract_server: ContractServer, admin: Client, namespace: str) -> None:
        """A field of another manager is a 409 whose message names fields and manager; with force it is taken."""
        contract_server.need("field ownership")
        apply(admin, intent(namespace, x="1", y="1"), field_manager="one")
        error = failure(lambda: apply(admin, intent(namespace, x="2", y="2"), field_manager="two"))
        assert (error.status_code, error.reason) == (409, "Conflict")
        for word in (".data.x", ".data.y", '"one"'):
            assert word in str(error)
        assert error.status is not None
        causes = error.status["details"]["causes"]
        assert {(each["reason"], each["field"]) for each in causes} == {
            ("FieldManagerConflict", ".data.x"),
            ("FieldManagerConflict", ".data.y"),
        }
        forced = apply(admin, intent(namespace, x="2", y="2"), field_manager="two", force=True)
        assert forced["data"] == {"x": "2", "y": "2"}

    def test_managed_fields(self, admin: Client, namespace: str) -> None:
        """An object that was read is taken without its managedFields; its version must be the present one."""
        found = apply(admin, intent(namespace, x="1"), field_manager="one")
        given: Mapping[str, Any] = {**found, "data": {"x": "2"}}
        assert apply(admin, given, field_manager="one")["data"] == {"x": "2"}
        error = failure(lambda: apply(admin, given, field_manager="one"))
        assert (error.status_code, error.reason) == (409, "Conflict")

    def test_managed_fields_are_not_sent(self, admin: Client, namespace: str) -> None:
        """The object that is given stays as it is."""
        given = intent(namespace, x="1")
        given["metadata"]["managedFields"] = [{"manager": "somebody"}]
        apply(admin, given, field_manager="one")
        assert given["metadata"]["managedFields"] == [{"manager": "somebody"}]

    def test_without_namespace(self, admin: Client, namespace: str) -> None:
        """Objects without a namespace are applied, too."""
        given = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": {"x": "1"}}}
        assert apply(admin, given, field_manager="one")["metadata"]["labels"]["x"] == "1"

    def test_status(self, admin: Client, namespace: str) -> None:
        """With the subresource status the status is applied."""
        pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": namespace}}
        spec = {"containers": [{"name": "main", "image": "none"}]}
        apply(admin, {**pod, "spec": spec}, field_manager="one")
        found = apply(
            admin, {**pod, "status": {"phase": "Running"}}, field_manager="two", subresource="status", force=True
        )
        assert found["status"]["phase"] == "Running"

    def test_dry_run(self, admin: Client, namespace: str) -> None:
        """Further parameters go along."""
        apply(admin, intent(namespace, x="1"), field_manager="one", query={"dryRun": "All"})
        assert failure(lambda: admin.get("configmaps", "a", namespace)).status_code == 404


class TestRequests:
    def test_query(self, api_server: ApiServer, client: Client) -> None:
        """The manager is named, and force is said either way."""
        for force in (False, True):
            apply(client, intent(x="1"), field_manager="one", force=force)
        assert [(each.query["fieldManager"], each.query["force"]) for each in api_server.requests] == [
            ("one", "false"),
            ("one", "true"),
        ]

    def test_custom_resource(self, client: Client, crontabs: Object) -> None:
        """A kind that is not built in is found by what the object says it is."""
        given = {**crontabs, "metadata": {"name": "a", "namespace": "default"}, "spec": {"x": 1}}
        assert apply(client, given, field_manager="one")["spec"] == {"x": 1}

    @pytest.mark.parametrize("missing", ["apiVersion", "kind", "metadata"])
    def test_incomplete(self, api_server: ApiServer, client: Client, missing: str) -> None:
        """An object that does not say what and which it is raises ValueError, and nothing is sent."""
        given = intent(x="1")
        del given[missing]
        with pytest.raises(ValueError, match=r"has no"):
            apply(client, given, field_manager="one")
        with pytest.raises(ValueError, match="name"):
            apply(client, {**intent(), "metadata": {"namespace": "default"}}, field_manager="one")
        with pytest.raises(TypeError, match="mapping"):
            apply(client, "text", field_manager="one")  # type: ignore[arg-type]
        assert sent(api_server) == []

    def test_cancelled(self, api_server: ApiServer, client: Client) -> None:
        """What is cancelled sends nothing."""
        cancel = CancelToken()
        cancel.set()
        with pytest.raises(CancelledError):
            apply(client, intent(x="1"), field_manager="one", cancel=cancel)
        assert sent(api_server) == []
