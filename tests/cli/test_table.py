"""Tables, line by line."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from kwsync import EventType, Resource, WatchEvent
from kwsync.cli._colour import Paint
from kwsync.cli._table import Table, Widths, shown_cell

PODS = Resource.parse("pods")
NODES = Resource.parse("nodes")

COLUMNS = [
    {"name": "Name", "format": "name", "priority": 0},
    {"name": "Status", "priority": 0},
    {"name": "IP", "priority": 1},
    {"name": "Age", "priority": 0},
]


def row(*cells: object, namespace: str = "default", columns: object = None, verb: str = "ADDED") -> WatchEvent:
    metadata = {"name": cells[0], "namespace": namespace}
    document: dict[str, Any] = {
        "kind": "Table",
        "columnDefinitions": columns,
        "rows": [{"cells": list(cells), "object": {"metadata": metadata}}],
    }
    return WatchEvent(EventType(verb), document)


def table(**options: Any) -> Table:
    return Table(options.pop("resource", PODS), options.pop("paint", Paint()), Widths(), **options)


def test_block_is_aligned() -> None:
    """The state has one header, and is as wide as its widest cells."""
    lines = table().block([row("a", "Running", "", "5m", columns=COLUMNS), row("a-longer-one", "Pending", "", "1d")])
    assert lines == [
        "EVENT      NAME           STATUS    AGE",
        "ADDED      a              Running   5m",
        "ADDED      a-longer-one   Pending   1d",
    ]


def test_changes_grow() -> None:
    """A longer cell moves what is right of it from that line on; no line before it can change."""
    shown = table()
    shown.block([row("a", "Running", "", "5m", columns=COLUMNS)])
    assert shown.change(row("a", "CrashLoopBackOff", "", "5m", verb="MODIFIED")) == [
        "MODIFIED   a      CrashLoopBackOff   5m"
    ]
    assert shown.change(row("b", "Running", "", "5m", verb="DELETED")) == ["DELETED    b      Running            5m"]


def test_wide() -> None:
    """Wide shows the columns of lower priority."""
    lines = table(wide=True).block([row("a", "Running", "10.0.0.1", "5m", columns=COLUMNS)])
    assert lines == ["EVENT      NAME   STATUS    IP         AGE", "ADDED      a      Running   10.0.0.1   5m"]


def test_namespaces_and_kinds() -> None:
    """Of all namespaces each row tells its own, of several kinds each name its kind."""
    lines = table(namespaces=True, kinds=True).block([row("a", "Running", "", "5m", columns=COLUMNS)])
    assert lines == [
        "EVENT      NAMESPACE   NAME    STATUS    AGE",
        "ADDED      default     pod/a   Running   5m",
    ]


def test_two_kinds_stand_in_line() -> None:
    """Tables of one output share the widths of their first columns."""
    widths = Widths()
    pods, nodes = (Table(kind, Paint(), widths, kinds=True) for kind in (PODS, NODES))
    pods.block([row("a-long-name-of-a-pod", "Running", "", "5m", columns=COLUMNS)])
    lines = nodes.block([row("n", "Ready", "", "5m", columns=COLUMNS)])
    assert lines[1] == "ADDED      node/n                     Ready    5m"


def test_columns_may_change() -> None:
    """Other columns (a definition was changed) bring a new header; the same ones, which each stream tells, do not."""
    shown = table()
    shown.block([row("a", "Running", "", "5m", columns=COLUMNS)])
    assert len(shown.change(row("a", "Running", "", "5m", columns=COLUMNS))) == 1
    assert shown.change(row("a", "5m", columns=[COLUMNS[0], COLUMNS[3]])) == [
        "EVENT      NAME   AGE",
        "ADDED      a      5m",
    ]


def test_odd_rows() -> None:
    """Rows with too few cells, no object, or columns nobody told do no harm."""
    shown = table(namespaces=True)
    assert shown.change(WatchEvent(EventType.ADDED, {"kind": "Table", "rows": [{"cells": ["a"]}]})) == [""]
    shown.block([row("a", "Running", "", "5m", columns=COLUMNS)])
    for bad in ({"cells": ["b"]}, {"cells": None, "object": None}, {"object": {"metadata": 3}}):
        [line] = shown.change(WatchEvent(EventType.ADDED, {"kind": "Table", "rows": [bad]}))
        assert line.startswith("ADDED")


def plain(name: str, created: object = "2026-06-01T10:00:00Z", verb: str = "ADDED") -> WatchEvent:
    metadata = {"name": name, "namespace": "default", "creationTimestamp": created}
    return WatchEvent(EventType(verb), {"kind": "Pod", "metadata": metadata})


def noon() -> datetime:
    return datetime(2026, 6, 1, 12, tzinfo=timezone.utc)


def test_a_server_without_tables() -> None:
    """Of a server that answers with plain objects, what every object has is shown."""
    shown = table(namespaces=True, kinds=True, now=noon)
    assert shown.block([plain("a"), plain("longer", "2026-06-01T11:59:50Z")]) == [
        "EVENT      NAMESPACE   NAME         AGE",
        "ADDED      default     pod/a        2h",
        "ADDED      default     pod/longer   10s",
    ]
    assert shown.change(plain("a", verb="DELETED")) == ["DELETED    default     pod/a        2h"]


@pytest.mark.parametrize(
    ("created", "age"),
    [
        ("2026-06-01T13:00:00Z", "0s"),
        ("0001-01-01T00:00:00Z", "<unknown>"),
        ("0001-01-02T00:00:00+05:00", "739766d"),
        ("9999-12-31T23:59:59Z", "0s"),
        ("soon", "<unknown>"),
        (None, "<unknown>"),
        (3, "<unknown>"),
    ],
)
def test_odd_ages(created: object, age: str) -> None:
    """A time that is none, was never set, or lies ahead is an age, too."""
    assert table(now=noon).change(plain("a", created))[1].split() == ["ADDED", "a", age]


def test_a_server_that_makes_some_tables() -> None:
    """A list as a Table and a watch of plain objects: another header, once, and a row for each."""
    shown = table(now=noon)
    shown.block([row("a", "Running", "", "5m", columns=COLUMNS)])
    assert shown.change(plain("b")) == ["EVENT      NAME   AGE", "ADDED      b      2h"]
    assert shown.change(plain("c")) == ["ADDED      c      2h"]


def test_measure() -> None:
    """What is not shown has its place: the first line that is shown has the header, and is as wide as they are."""
    shown = table()
    shown.measure(row("a-longer-one", "CrashLoopBackOff", "", "5m", columns=COLUMNS))
    shown.measure(row("b", "Running", "", "5m"))
    assert shown.change(row("c", "Running", "", "5m", columns=COLUMNS)) == [
        "EVENT      NAME           STATUS             AGE",
        "ADDED      c              Running            5m",
    ]
    assert shown.change(row("a-longer-one", "Running", "", "5m", verb="MODIFIED")) == [
        "MODIFIED   a-longer-one   Running            5m"
    ]


def test_escapes() -> None:
    """Names, cells and headers of a custom resource cannot reach the terminal's controls."""
    columns = [COLUMNS[0], {"name": "Evil\x1b[2J"}]
    lines = table().block([row("a\x1b]0;x\x07", "new\nline\u202e", columns=columns)])
    assert lines == ["EVENT      NAME            EVIL\\x1b[2J", "ADDED      a\\x1b]0;x\\x07   new\\nline\\u202e"]


def test_colour_keeps_the_layout() -> None:
    """With colours a line is the same line with colours in it."""
    plain, coloured = table(), table(paint=Paint(True))
    for verb in ("ADDED", "MODIFIED", "DELETED"):
        event = row("a", "Running", "", "5m", columns=COLUMNS, verb=verb)
        for one, other in zip(plain.block([event]), coloured.block([event]), strict=True):
            assert other != one
            assert without_colours(other) == one


def without_colours(line: str) -> str:
    for code in ("0", "1", "2", "31", "32", "33"):
        line = line.replace(f"\x1b[{code}m", "")
    return line


def test_cells() -> None:
    """Cells are written as Go writes them, and nothing as kubectl's columns have it."""
    assert [shown_cell(value) for value in ("x", 3, True, None, 1.5)] == ["x", "3", "true", "<none>", "1.5"]
