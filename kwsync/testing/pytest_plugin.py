"""Fixtures, for who asks for them: `pytest_plugins = ["kwsync.testing.pytest_plugin"]`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kwsync.testing import ApiServer, ScriptedServer


@pytest.fixture
def scripted_server() -> Iterator[ScriptedServer]:
    """A started `ScriptedServer` without scripts, stopped after the test.

    The test fails when one of its functions raised on a thread of the server.
    """
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def api_server() -> Iterator[ApiServer]:
    """A started `ApiServer` with nothing in it, stopped after the test.

    The test fails when the server itself failed on one of its threads.
    """
    with ApiServer() as server:
        yield server
