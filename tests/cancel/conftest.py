"""Tells how long the ends took, after the tests."""

from __future__ import annotations

import statistics

import pytest

from tests.cancel.support import latencies


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The median and the worst case of each way to end a watch."""
    if latencies:
        terminalreporter.section("how long it took to end a watch")
    for what, seconds in sorted(latencies.items()):
        middle, worst = statistics.median(seconds) * 1000, max(seconds) * 1000
        terminalreporter.line(f"{what}: median {middle:.1f} ms, at most {worst:.1f} ms ({len(seconds)} times)")
