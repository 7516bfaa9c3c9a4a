"""The pytest fixtures of the real server; tests/conftest.py loads this module as a plugin."""

import os
import uuid
from collections.abc import Iterator
from typing import NoReturn

import pytest

from .build import Found, find_binaries
from .server import ControlPlane

REQUIRED = "KWSYNC_REQUIRE_REAL_SERVER"
FOUND = pytest.StashKey[Found]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build before the first test when one asks for the server: a build outlasts the time limit of a test."""
    asked = any("control_plane" in getattr(item, "fixturenames", ()) for item in session.items)
    if asked and not session.config.option.collectonly:
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        session.config.stash[FOUND] = find_binaries(terminal and terminal.write_line, build=must_run())


@pytest.fixture(scope="session")
def control_plane(pytestconfig: pytest.Config) -> Iterator[ControlPlane]:
    """One real control plane for all tests of the session; each test works in a namespace of its own."""
    found = pytestconfig.stash.get(FOUND, None) or find_binaries(build=must_run())
    if found.folder is None:
        give_up(found.reason)
    with ControlPlane(found.folder) as plane:
        yield plane


@pytest.fixture
def real_namespace(control_plane: ControlPlane) -> Iterator[str]:
    """The name of a fresh namespace on the real server; it is deleted, but stays Terminating, afterwards."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    control_plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}}).checked()
    yield name
    control_plane.request("DELETE", f"/api/v1/namespaces/{name}").checked()


def must_run() -> bool:
    """Is the server required, as in CI? Elsewhere nobody is made to wait for a build without being asked."""
    return os.environ.get(REQUIRED, "1" if os.environ.get("CI") == "true" else "0") == "1"


def give_up(reason: str) -> NoReturn:
    """Skip what needs the server, or fail where the server is required."""
    if must_run():
        pytest.fail(f"{REQUIRED}=1 or CI=true, but: {reason}", pytrace=False)
    pytest.skip(reason)
