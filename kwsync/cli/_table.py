"""Tables of the server's own columns, line by line; columns grow as longer cells come. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import attrs

from kwsync import EventType, Resource, WatchEvent
from kwsync.cli._colour import Paint
from kwsync.cli._documents import kind_of, mapping, metadata_of, objects, rows_of, text
from kwsync.cli._text import escaped, padded, width

GAP = "   "

EVENT, NAMESPACE, NAME = "EVENT", "NAMESPACE", "NAME"
_VERB_COLUMNS = len("MODIFIED")


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
    _columns: list[Column] = attrs.field(factory=list, init=False)
    _definitions: list[dict[str, Any]] = attrs.field(factory=list, init=False)

    def block(self, events: Sequence[WatchEvent]) -> list[str]:
        """The state: all lines are as wide as the widest."""
        return self._lines(events)

    def change(self, event: WatchEvent) -> list[str]:
        """The line of one change."""
        return self._lines([event])

    def _lines(self, events: Iterable[WatchEvent]) -> list[str]:
        shown: list[Line | None] = []
        for event in events:
            if self._learn(event):
                shown.append(None)  # a header
            shown += [Line(str(event.type), self._cells(event, row)) for row in rows_of(event.object)]
        titles = [column.title for column in self._columns]
        for line in shown:
            self._grow(titles if line is None else line.cells)
        return [self._header(titles) if line is None else self._row(titles, line) for line in shown]

    def _learn(self, event: WatchEvent) -> bool:
        """Take over the columns, which only the first event of a stream tells; are they others than before?"""
        found = objects(mapping(event.object).get("columnDefinitions"))
        if not found or found == self._definitions:
            return False
        self._definitions = found
        columns = [Column(EVENT, None)]
        if self.namespaces:
            columns.append(Column(NAMESPACE, None))
        for place, one in enumerate(found):
            if self.wide or not one.get("priority"):
                columns.append(Column(escaped(text(one.get("name")).upper()), place))
        new = columns != self._columns
        self._columns = columns
        return new

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
