"""The bench runs and gives what it promises. What it measures counts on an idle machine only: no value is checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench import report

ROOT = Path(__file__).parent.parent
SECTIONS = (
    "throughput",
    "scan",
    "informer",
    "clientgo",
    "queue",
    "controller",
    "lines",
    "cancel",
    "idle",
    "imports",
    "streams",
    "latency",
    "failing",
    "server",
)
LIMIT = 240
"""Seconds for a quick run of all sections, on a machine that does other things as well."""

KEYS = {"section", "name", "value", "unit", "target", "details", "note", "met"}


def run_bench(file: Path, *arguments: str) -> str:
    """What the bench prints; its JSON goes to the file."""
    command = [sys.executable, "-m", "tests.bench", "--quick", "--json", str(file), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=True).stdout


@pytest.mark.slow
@pytest.mark.timeout(LIMIT + 10)
def test_quick(tmp_path: Path) -> None:
    """Every section gives figures with a name, a unit and a verdict, and the table shows them all."""
    file = tmp_path / "figures.json"
    printed = run_bench(file)
    document = json.loads(file.read_text(encoding="utf-8"))
    figures: list[dict[str, Any]] = document["figures"]
    assert {figure["section"] for figure in figures} == set(SECTIONS)
    assert [figure for figure in figures if figure.keys() != KEYS] == []
    assert [figure["name"] for figure in figures if figure["value"] is None and not figure["note"]] == []
    assert [figure["name"] for figure in figures if figure["name"] not in printed] == []
    assert document["quick"] is True
    assert {"processor", "cores", "load", "python", "openssl", "urllib3"} <= document["machine"].keys()
    assert printed.startswith("processor ")


def test_figure() -> None:
    """A figure meets its target or not, and has no verdict without a target or a value."""
    assert report.Figure("s", "n", 1.15, target=report.at_most(1.15)).met is True
    assert report.Figure("s", "n", 9.9, target=report.at_least(10)).met is False
    assert report.Figure("s", "n", 1.0).met is None
    assert report.Figure("s", "n", None, target=report.at_most(1)).met is None


def test_percentile() -> None:
    """A percentile is one of the values, the first that so many per cent do not exceed."""
    values = [float(number) for number in range(1, 1001)]
    assert (report.percentile(values, 99), report.percentile(values, 50), report.percentile([7.0], 99)) == (990, 500, 7)


def test_table() -> None:
    """The table says what is met, what is not, and why something is missing."""
    figures = [
        report.Figure("a", "good", 1.0, "x", report.at_most(2), {"max": 1500.0}),
        report.Figure("a", "bad", 3.0, "x", report.at_most(2)),
        report.Figure("b", "absent", None, note="skipped: there is none"),
    ]
    _, good, bad, absent = report.table(figures)
    assert good.split() == ["a", "good", "1", "x", "<=", "2", "met", "max", "1,500"]
    assert "NOT MET" in bad
    assert absent.split() == ["b", "absent", "-", "skipped:", "there", "is", "none"]


def test_warns_on_a_busy_machine() -> None:
    """A load average above one is told, for then the numbers are worth nothing."""
    assert any("WARNING" in line for line in report.header({"load": 1.5}))
    assert not any("WARNING" in line for line in report.header({"load": 0.5}))
