"""For every test: no leak, no network but loopback, and the fixtures of both servers."""

import importlib.util

import pytest

from tests import loopback

pytest_plugins = ["kwsync.testing.pytest_plugin", "tests.controlplane.fixtures", "tests.leaks"]

loopback.guard()

MISSING = [name for name in ("click", "yaml") if importlib.util.find_spec(name) is None]
collect_ignore = ["cli"] if MISSING else []


def pytest_report_header() -> str | None:
    """Say so when the command line cannot be tested."""
    return (
        f"tests/cli is left out, since the extra kwsync[cli] is not installed: {', '.join(MISSING)}"
        if MISSING
        else None
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bound the test alone, not its fixtures, where one of them may have to build a server for minutes."""
    for item in items:
        if "control_plane" in getattr(item, "fixturenames", ()):
            marker = item.get_closest_marker("timeout")
            seconds = marker.args[0] if marker else float(config.getini("timeout"))
            item.add_marker(pytest.mark.timeout(seconds, func_only=True), append=False)
