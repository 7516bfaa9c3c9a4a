"""The servers of the contract, each in turn, and the one in memory where something has to go wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kwsync import Client
from kwsync.testing import ApiServer
from tests.contract.conftest import (
    admin,
    api_server_of_contract,
    client_as,
    contract_server,
    namespace,
    pytest_collection_modifyitems,
)
from tests.writing.support import Object

__all__ = [
    "admin",
    "api_server_of_contract",
    "client_as",
    "contract_server",
    "namespace",
    "pytest_collection_modifyitems",
]


@pytest.fixture
def client(api_server: ApiServer) -> Iterator[Client]:
    """A client of the server in memory, which has nothing but this test."""
    with api_server.client() as made:
        yield made


@pytest.fixture
def crontabs(client: Client) -> Object:
    """A custom resource; what its objects begin with."""
    names = {"plural": "crontabs", "singular": "crontab", "kind": "CronTab"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "stable.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    client.create("customresourcedefinitions", {"metadata": {"name": "crontabs.stable.example.com"}, "spec": spec})
    return {"apiVersion": "stable.example.com/v1", "kind": "CronTab"}
