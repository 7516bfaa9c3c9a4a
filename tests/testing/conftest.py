"""Fixtures for the tests of the test equipment."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest

from kwsync.testing import ScriptedServer, TestCA
from kwsync.testing._server import LoopbackServer
from tests.testing.raw_client import Connect, RawClient


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connects raw clients to a server (optionally with TLS), and closes them after the test."""
    clients: list[RawClient] = []

    def connect_to(server: LoopbackServer, context: ssl.SSLContext | None = None) -> RawClient:
        clients.append(RawClient(server.port, context))
        return clients[-1]

    yield connect_to
    for client in clients:
        client.close()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A started server without scripts."""
    with ScriptedServer() as started:
        yield started


@pytest.fixture(scope="session")
def ca() -> TestCA:
    return TestCA()
