"""Fixtures of the tests of the API server; `api_server` comes from the package itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from kwsync.testing import ApiServer, TestCA
from tests.testing.apiserver.wire import Http, Open, opening


@pytest.fixture
def http(api_server: ApiServer) -> Iterator[Http]:
    """A connection to the server."""
    with contextlib.closing(Http(api_server)) as client:
        yield client


@pytest.fixture
def watch(api_server: ApiServer) -> Iterator[Open]:
    """Opens watches on the server."""
    with opening(api_server) as open_stream:
        yield open_stream


@pytest.fixture(scope="session")
def api_ca() -> TestCA:
    """One authority for all servers with TLS, because making one takes time."""
    return TestCA()
