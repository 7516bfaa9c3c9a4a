"""Objects as a Table, for kubectl. Nothing is kept: the ages in it grow older."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from kwsync.testing.apiserver._collection import Version
from kwsync.testing.apiserver._encode import dumps
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._table import include_object, object_table, table
from kwsync.testing.apiserver._views import INITIAL_EVENTS_END


class TableView:
    """The Tables of one answer or one watch, of which only the first event says the columns (A6)."""

    shared: object = None

    def __init__(self, kind: Kind, include: str, now: Callable[[], datetime], version: str = "v1") -> None:
        self._kind = kind
        self._include = include_object(include)
        self._now = now
        self._head = {"kind": kind.name, "apiVersion": kind.api_version}
        self._columns_due = True
        self._version = version

    def single(self, version: Version) -> bytes:
        """One object as a Table of one row."""
        return self._one({**self._head, **version.object})

    def _one(self, document: dict[str, Any]) -> bytes:
        due, self._columns_due = self._columns_due, False
        return dumps(object_table(self._kind, document, self._now(), self._include, self._version, with_columns=due))

    def bookmark(self, revision: int, *, initial_end: bool) -> bytes:
        """A meaningless row, whose object tells the end of the initial events (recorded: watch-table-bookmark)."""
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        if initial_end:
            metadata["annotations"] = INITIAL_EVENTS_END
        return self._one({**self._head, "metadata": metadata})

    def list(self, versions: Iterable[Version], metadata: dict[str, Any]) -> bytes:
        """All objects as one Table."""
        documents = [{**self._head, **version.object} for version in versions]
        return dumps(table(self._kind, documents, self._now(), metadata, self._include, self._version))
