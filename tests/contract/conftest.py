"""The fixtures of the contract: a server of each kind, clients for its users, and a fresh namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kwsync import Client
from tests.contract.fake import api_server_of_contract, fake
from tests.contract.servers import KINDS, ContractServer, Kind, User
from tests.contract.support import Place, fresh_namespace, new_event, new_object, new_pod

__all__ = ["api_server_of_contract"]

SERVERS = {"fake": Kind("api_server_of_contract", fake), **KINDS}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say which server a test will use: what starts it may have to build it first, beyond the time limit of a test."""
    for item in items:
        kind = getattr(getattr(item, "callspec", None), "params", {}).get("contract_server")
        if kind is not None and isinstance(item, pytest.Function):
            # Not in place: the tests that one function makes share the list.
            item.fixturenames = [*item.fixturenames, SERVERS[kind].fixture]


@pytest.fixture(scope="session", params=SERVERS)
def contract_server(request: pytest.FixtureRequest) -> ContractServer:
    """Each kind of server in turn; one of each for the session."""
    kind = SERVERS[request.param]
    return kind.seen(request.getfixturevalue(kind.fixture))


@pytest.fixture
def client_as(contract_server: ContractServer) -> Iterator[Callable[[User], Client]]:
    """Makes a client for a user, and closes it after the test."""
    with ExitStack() as stack:
        yield lambda user: stack.enter_context(contract_server.client(user))


@pytest.fixture
def admin(client_as: Callable[[User], Client]) -> Client:
    """A client that may do everything."""
    return client_as("admin")


@pytest.fixture
def namespace(admin: Client) -> Iterator[str]:
    """A fresh namespace, which is deleted afterwards."""
    with fresh_namespace(admin) as name:
        yield name


@pytest.fixture
def other_namespace(admin: Client) -> Iterator[str]:
    """Another one."""
    with fresh_namespace(admin) as name:
        yield name


@pytest.fixture
def maps(admin: Client, namespace: str) -> Place:
    """The config maps of the namespace: a kind that the server caches."""
    return Place(admin, namespace, "configmaps")


@pytest.fixture
def events(admin: Client, namespace: str) -> Place:
    """The events of the namespace: the kind that the server does not cache."""
    return Place(admin, namespace, "events", new_event)


@pytest.fixture(params=["configmaps", "events"])
def either(request: pytest.FixtureRequest, admin: Client, namespace: str) -> Place:
    """A kind that the server caches, and the one that it does not: what must be the same for both."""
    return Place(admin, namespace, request.param, new_event if request.param == "events" else new_object)


@pytest.fixture
def pods(admin: Client, namespace: str) -> Place:
    """The pods of the namespace, which stay pending."""
    return Place(admin, namespace, "pods", new_pod)
