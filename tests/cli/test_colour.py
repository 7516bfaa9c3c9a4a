"""When there is colour, and where."""

from __future__ import annotations

import io

import pytest

from kwsync.cli._colour import Paint, wants_colour


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, True),
        ({"TERM": "xterm"}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
    ],
)
def test_in_a_terminal(environ: dict[str, str], wanted: bool) -> None:
    """A terminal has colour unless NO_COLOR is set to something, or it is a dumb one."""
    assert wants_colour(FakeTerminal(), environ) is wanted


def test_in_a_pipe() -> None:
    """What is no terminal has none."""
    assert wants_colour(io.StringIO(), {}) is False


@pytest.mark.parametrize(
    ("column", "cell", "colour"),
    [
        ("STATUS", "Running  ", "\x1b[32m"),
        ("STATUS", "CrashLoopBackOff", "\x1b[31m"),
        ("STATUS", "ErrImagePull", "\x1b[31m"),
        ("STATUS", "OOMKilled", "\x1b[31m"),
        ("REASON", "FailedScheduling", "\x1b[31m"),
        ("STATUS", "Pending", ""),
        ("NAME", "Error", ""),
    ],
)
def test_cells(column: str, cell: str, colour: str) -> None:
    """States tell whether they are good, other columns stay plain, and without colour all do."""
    assert Paint(True).cell(column, cell) == (f"{colour}{cell}\x1b[0m" if colour else cell)
    assert Paint().cell(column, cell) == cell
