"""Fixtures, for who asks for them: `pytest_plugins = ["kwsync.testing.pytest_plugin"]`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kwsync.testing import ScriptedServer


@pytest.fixture
def scripted_server() -> Iterator[ScriptedServer]:
    """A started `ScriptedServer` without scripts, stopped after the test.

    The test fails when one of its functions raised on a thread of the server.
    """
    with ScriptedServer() as server:
        yield server
