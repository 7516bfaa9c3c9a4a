"""The server in memory, with the users that the contract tests know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kwsync import Cluster
from kwsync.credentials import Anonymous, BearerToken, ClientCertificate
from kwsync.testing import ApiServer
from tests.contract.servers import FEATURES, ContractServer

MASTERS = ["system:masters"]


@pytest.fixture(scope="session")
def api_server_of_contract(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContractServer]:
    """One server in memory for all tests of the session; the viewer may read pods in one namespace."""
    with ApiServer(tls=True) as server:
        server.deny()
        server.allow("viewer", verbs=["get", "list", "watch"], resources=["pods"], namespaces=["default"])
        yield seen(server, tmp_path_factory.mktemp("api-server"))


def seen(server: ApiServer, folder: Path) -> ContractServer:
    """The server as the contract tests see it."""
    assert server.ca is not None
    cert_file, key_file = server.certificate_for("certificate-admin", "system:masters").write(folder)
    return ContractServer(
        cluster=Cluster(server.url, ca_file=str(server.ca.write(folder))),
        users={
            "admin": BearerToken(server.token_for("admin", MASTERS)),
            "certificate": ClientCertificate(certificate_file=cert_file, key_file=key_file),
            "viewer": BearerToken(server.token_for("viewer")),
            "nobody": BearerToken(server.token_for("nobody")),
            "anonymous": Anonymous(),
            "stranger": BearerToken("unknown"),
        },
        kubeconfig=server.kubeconfig("admin", groups=MASTERS),
        features=FEATURES - {"field ownership"},
        compact=server.compact,
    )  # fmt: skip


def fake(server: ContractServer) -> ContractServer:
    """`kwsync.testing.ApiServer`."""
    return server
