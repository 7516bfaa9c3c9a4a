"""Who asks, and how both sides prove themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from kwsync import Client, ErrorOrigin, watch_resource
from tests.contract.servers import ContractServer, User
from tests.contract.support import error_of, failure

ClientAs = Callable[[User], Client]


def name_of(client: Client) -> str:
    """Whom the server takes the client for."""
    review = client.create("selfsubjectreviews", {"metadata": {}})
    name: str = review["status"]["userInfo"]["username"]
    return name


@pytest.mark.parametrize(
    ("user", "name"),
    [("admin", "admin"), ("certificate", "certificate-admin"), ("viewer", "viewer"), ("nobody", "nobody")],
)
def test_known(client_as: ClientAs, user: User, name: str) -> None:
    """A4: a token or a client certificate makes a user."""
    assert name_of(client_as(user)) == name


@pytest.mark.parametrize(("user", "code"), [("stranger", 401), ("anonymous", 403)])
def test_unknown(client_as: ClientAs, user: User, code: int) -> None:
    """A4: an unknown token is 401; no credential at all is a user without rights."""
    assert failure(lambda: name_of(client_as(user))).status_code == code


def test_viewer(client_as: ClientAs) -> None:
    """A4: rights are by namespace, resource and verb: the viewer reads pods of one namespace and nothing else."""
    viewer = client_as("viewer")
    assert viewer.list("pods", "default").resource_version is not None
    found = list(
        watch_resource("pods", client=viewer, namespace="default", send_initial_events=True, timeout_seconds=1)
    )
    assert found[-1].type == "BOOKMARK"
    refused: list[Callable[[], object]] = [
        lambda: viewer.list("pods"),
        lambda: viewer.list("configmaps", "default"),
        lambda: viewer.get("pods", "a", "kube-system"),
        lambda: viewer.delete("pods", "a", "default"),
        lambda: viewer.create("pods", {"metadata": {"name": "a"}}, "default"),
    ]
    assert [failure(call).status_code for call in refused] == [403] * len(refused)


class TestServersCertificate:
    def test_needed(self, contract_server: ContractServer) -> None:
        """Without the server's authority no request is sent, by verbs and watches alike."""
        cluster = attrs.evolve(contract_server.cluster, ca_file=None)
        with Client(cluster, contract_server.users["admin"]) as client:
            for error in (failure(lambda: name_of(client)), error_of(list(watch_resource("pods", client=client)))):
                assert error.origin is ErrorOrigin.NETWORK
                assert "cannot be trusted" in error.message

    def test_as_data(self, contract_server: ContractServer) -> None:
        """The authority can be given as data."""
        assert contract_server.cluster.ca_file is not None
        pem = Path(contract_server.cluster.ca_file).read_bytes()
        cluster = attrs.evolve(contract_server.cluster, ca_file=None, ca_data=pem)
        with Client(cluster, contract_server.users["admin"]) as client:
            assert name_of(client) == "admin"

    def test_name(self, contract_server: ContractServer) -> None:
        """The certificate must be for the name that is asked for, which can be another than the URL's."""
        for name, trusted in (("localhost", True), ("other.test", False)):
            cluster = attrs.evolve(contract_server.cluster, tls_server_name=name)
            with Client(cluster, contract_server.users["admin"]) as client:
                if trusted:
                    assert name_of(client) == "admin"
                else:
                    assert "cannot be trusted" in failure(lambda: name_of(client)).message

    def test_skipped(self, contract_server: ContractServer) -> None:
        """With skip_tls_verify any certificate is good enough."""
        cluster = attrs.evolve(contract_server.cluster, ca_file=None, skip_tls_verify=True)
        with Client(cluster, contract_server.users["admin"]) as client:
            assert name_of(client) == "admin"


class TestKubeconfig:
    def test_json(self, contract_server: ContractServer, tmp_path: Path) -> None:
        """A kubeconfig in JSON makes a client, and needs no YAML."""
        file = tmp_path / "config"
        file.write_text(json.dumps(contract_server.kubeconfig))
        with Client.from_kubeconfig(file) as client:
            assert name_of(client) == "admin"
            assert client.list("namespaces").resource_version is not None

    def test_variable(self, contract_server: ContractServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """KUBECONFIG names it for the default client."""
        file = tmp_path / "config"
        file.write_text(json.dumps(contract_server.kubeconfig))
        monkeypatch.setenv("KUBECONFIG", str(file))
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        with Client.from_default() as client:
            assert name_of(client) == "admin"
