"""Tables of the server's own columns, line by line; columns grow as longer cells come. Pure but for the ages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import attrs

from kwsync import EventType, Resource, WatchEvent
from kwsync.cli._colour import Paint
from kwsync.cli._documents import is_table, kind_of, mapping, metadata_of, objects, rows_of, text
from kwsync.cli._text import escaped, padded, width
from kwsync.cli._times import age, now

GAP = "   "

EVENT, NAMESPACE, NAME = "EVENT", "NAMESPACE", "NAME"
_VERB_COLUMNS = len("MODIFIED")

_OWN_DEFINITIONS: list[dict[str, Any]] = [{"name": "Name", "format": "name"}, {"name": "Age"}]
"""What can be told of every object, where a server makes no tables."""


class Column(NamedTuple):
    """A column that is shown: its place in a row's cells, or one of ours."""

    title: str
    cell: int | None


class Line(NamedTuple):
    """One line before it is laid out."""

    verb: str
    cells: list[str]


class Widths:
    """The width of each column so far. Several tables share those of their first columns, and so stand in line."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {EVENT: _VERB_COLUMNS}

    def grow(self, key: str, cell: str) -> None:
        """Make room for a cell."""
        self._known[key] = max(self._known.get(key, 0), width(cell))

    def of(self, key: str) -> int:
        """So many columns of the terminal."""
        return self._known.get(key, 0)


@attrs.define
class Table:
    """The lines of one kind of objects, from events that hold Tables."""

    resource: Resource
    paint: Paint
    widths: Widths
    """Shared by the tables of one output."""
    wide: bool = False
    namespaces: bool = False
    """Whether rows tell their namespace."""
    kinds: bool = False
    """Whether names tell their kind, because several are shown."""
    now: Callable[[], datetime] = now
    """For the ages of objects whose server tells none."""
    _columns: list[Column] = attrs.field(factory=list, init=False)
    _headed: list[Column] = attrs.field(factory=list, init=False)
    """The columns that the last header told."""
    _definitions: list[dict[str, Any]] = attrs.field(factory=list, init=False)

    def block(self, events: Sequence[WatchEvent]) -> list[str]:
        """The state: all lines are as wide as the widest."""
        return self._lines(events)

    def change(self, event: WatchEvent) -> list[str]:
        """The line of one change."""
        return self._lines([event])

    def measure(self, event: WatchEvent) -> None:
        """Make room for an object that is not shown: those like it will be."""
        document = self._table(event)
        self._learn(document)
        for row in rows_of(document):
            self._grow(self._cells(event, row))

    def _lines(self, events: Iterable[WatchEvent]) -> list[str]:
        shown: list[Line | None] = []
        for event in events:
            document = self._table(event)
            self._learn(document)
            if self._columns != self._headed:
                self._headed = self._columns
                shown.append(None)  # a header
            shown += [Line(str(event.type), self._cells(event, row)) for row in rows_of(document)]
        titles = [column.title for column in self._columns]
        for line in shown:
            self._grow(titles if line is None else line.cells)
        return [self._header(titles) if line is None else self._row(titles, line) for line in shown]

    def _table(self, event: WatchEvent) -> dict[str, Any]:
        """The event's Table; of a server that ignores the wish for one, a Table of ours."""
        found = event.object
        if found is None or is_table(found):
            return mapping(found)
        metadata = metadata_of(found)
        cells = [text(metadata.get("name")), age(metadata.get("creationTimestamp"), self.now())]
        return {"columnDefinitions": _OWN_DEFINITIONS, "rows": [{"cells": cells, "object": found}]}

    def _learn(self, document: dict[str, Any]) -> None:
        """Take over the columns, which only the first event of a stream tells."""
        found = objects(document.get("columnDefinitions"))
        if not found or found == self._definitions:
            return
        self._definitions = found
        self._columns = [Column(EVENT, None)]
        if self.namespaces:
            self._columns.append(Column(NAMESPACE, None))
        for place, one in enumerate(found):
            if self.wide or not one.get("priority"):
                self._columns.append(Column(escaped(text(one.get("name")).upper()), place))

    def _cells(self, event: WatchEvent, row: dict[str, Any]) -> list[str]:
        cells = row.get("cells")
        cells = cells if isinstance(cells, list) else []
        metadata = mapping(mapping(row.get("object")).get("metadata")) or metadata_of(event.object)
        return [escaped(self._cell(event, column, cells, metadata)) for column in self._columns]

    def _cell(self, event: WatchEvent, column: Column, cells: list[Any], metadata: dict[str, Any]) -> str:
        if column.cell is None:
            return str(event.type) if column.title == EVENT else text(metadata.get("namespace"))
        value = shown_cell(cells[column.cell]) if column.cell < len(cells) else ""
        if self.kinds and self._definitions[column.cell].get("format") == "name":
            return f"{kind_of(self.resource)}/{value}"
        return value

    def _key(self, place: int) -> str:
        title = self._columns[place].title
        return title if title in (EVENT, NAMESPACE, NAME) else f"{self.resource} {place}"

    def _grow(self, cells: Iterable[str]) -> None:
        for place, cell in enumerate(cells):
            self.widths.grow(self._key(place), cell)

    def _header(self, titles: list[str]) -> str:
        return self.paint.header(self._joined(titles, lambda _, cell: cell))

    def _row(self, titles: list[str], line: Line) -> str:
        def painted(place: int, cell: str) -> str:
            if place == 0:
                return self.paint.verb(line.verb, cell)
            return self.paint.faint(cell) if line.verb == EventType.DELETED else self.paint.cell(titles[place], cell)

        return self._joined(line.cells, painted)

    def _joined(self, cells: list[str], painted: Callable[[int, str], str]) -> str:
        last = max((place for place, cell in enumerate(cells) if cell), default=0)
        padding = [padded(cell, self.widths.of(self._key(place))) for place, cell in enumerate(cells[:last])]
        return GAP.join(painted(place, cell) for place, cell in enumerate([*padding, *cells[last : last + 1]]))


def shown_cell(value: object) -> str:
    """A cell as kubectl prints it, but for one that is null."""
    if value is None:
        return "<none>"
    return str(value).lower() if isinstance(value, bool) else str(value)
