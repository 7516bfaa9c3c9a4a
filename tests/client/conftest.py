"""Fixtures for the tests of the client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kwsync import Client
from kwsync.testing import ApiServer, ScriptedServer, TestCA
from tests.client.support import client_of


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A started server without scripts."""
    with ScriptedServer() as started:
        yield started


@pytest.fixture
def client(server: ScriptedServer) -> Iterator[Client]:
    """An anonymous client of `server`."""
    with client_of(server) as opened:
        yield opened


@pytest.fixture
def api_client(api_server: ApiServer) -> Iterator[Client]:
    """An anonymous client of `api_server`, for tests whose server answers as a real one does."""
    with api_server.client() as opened:
        yield opened


@pytest.fixture(scope="session")
def ca() -> TestCA:
    return TestCA()
