"""For every test: no leak, no network but loopback, and the fixtures of both servers."""

import importlib.util
import re

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


SLOW = (
    "tests/testing/apiserver/",
    "tests/testing/test_http",
    "tests/cli/test_arguments.py",
    "tests/cli/test_events.py",
    "tests/cli/test_interrupt.py",
    "tests/cli/test_output.py",
    "tests/cli/test_serve.py",
    "tests/cli/test_several.py",
    "tests/cli/test_timeout.py",
    "tests/contract/",
    "tests/credentials/test_nothing_leaks.py",
    "tests/election/test_interrupted.py",
    "tests/following/test_deep.py",
    "tests/keeping/test_interrupted.py",
    "tests/test_examples.py",
    "tests/test_migration.py",
    "tests/test_scan_deep.py",
    "tests/working/test_interrupted.py",
)
"""Many seconds in all, and hardly anything that differs from one Python to another. So are those of the real server."""


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what takes long, and keep the real server in one process.

    Its tests are bounded without their fixtures, one of which may have to build it for minutes.
    """
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
        if {"real", "control_plane"} & {*getattr(item, "fixturenames", ()), *re.split(r"[-\[\]]", item.nodeid)}:
            item.add_marker(pytest.mark.xdist_group("real server"))
            item.add_marker(pytest.mark.slow)
        if "control_plane" in getattr(item, "fixturenames", ()):
            marker = item.get_closest_marker("timeout")
            seconds = marker.args[0] if marker else float(config.getini("timeout"))
            item.add_marker(pytest.mark.timeout(seconds, func_only=True), append=False)
