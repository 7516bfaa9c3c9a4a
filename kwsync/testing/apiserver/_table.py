"""Lists, objects and watch events as a Table (recorded: list-table…, watch-table…, crd-table)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from kwsync.testing.apiserver._age import human_age, parse_time
from kwsync.testing.apiserver._cells import created, name_of
from kwsync.testing.apiserver._columns import columns
from kwsync.testing.apiserver._failure import JSON, ApiError, quoted
from kwsync.testing.apiserver._jsonpath import PathError, find
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._lookup import at, text
from kwsync.testing.apiserver._partial import GROUP, partial
from kwsync.testing.apiserver._print_pod import pod_conditions
from kwsync.testing.apiserver._printers import printed
from kwsync.testing.apiserver._status import bad_request

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def include_object(value: str) -> str:
    """The query parameter includeObject: `None`, `Object` or `Metadata`, which is also the default."""
    if value not in ("", "None", "Metadata", "Object"):
        raise _bad_include(value)
    return value or "Metadata"


def _bad_include(value: str) -> ApiError:
    why = f"includeObject: Invalid value: {quoted(value)}: must be 'Metadata', 'Object', 'None', or empty"
    return bad_request(f"Unable to convert to Table as requested: {why}")


def table(
    kind: Kind, documents: Iterable[JSON], now: datetime, metadata: JSON, include: str = "Metadata", version: str = "v1"
) -> JSON:
    """A list as a Table; *metadata* is that of the list, *include* what `include_object` gave.

    *version* is that of meta.k8s.io which was asked for: v1 or v1beta1.
    """
    rows = [row(kind, document, now, include, version) for document in documents]
    return _document(metadata, columns(kind), rows, version)


def object_table(
    kind: Kind,
    document: JSON,
    now: datetime,
    include: str = "Metadata",
    version: str = "v1",
    *,
    with_columns: bool = True,
) -> JSON:
    """One object as a Table of one row; in a watch only the first event says the columns."""
    revision = text(document, "metadata.resourceVersion")
    metadata = {"resourceVersion": revision} if revision else {}
    definitions = columns(kind) if with_columns else None
    return _document(metadata, definitions, [row(kind, document, now, include, version)], version)


def _document(metadata: JSON, definitions: list[JSON] | None, rows: list[JSON], version: str) -> JSON:
    head = {"kind": "Table", "apiVersion": f"{GROUP}/{version}", "metadata": metadata}
    return {**head, "columnDefinitions": definitions, "rows": rows}


def row(kind: Kind, document: JSON, now: datetime, include: str = "Metadata", version: str = "v1") -> JSON:
    """One row: its cells, and as much of the object as was asked for."""
    shown: JSON = {"cells": cells(kind, document, now)}
    if (kind.group, kind.name) == ("", "Pod") and (conditions := pod_conditions(document)):
        shown["conditions"] = conditions
    return {**shown, "object": _included(document, include, version)}


def _included(document: JSON, include: str, version: str) -> JSON | None:
    if include == "Object":
        return document
    # Without its annotation the bookmark at the end of the initial events could not be told from others.
    annotations = at(document, "metadata.annotations")
    ends = isinstance(annotations, dict) and annotations.get(INITIAL_EVENTS_END) == "true"
    return partial(document, version) if include == "Metadata" or ends else None


def cells(kind: Kind, document: JSON, now: datetime) -> list[Any]:
    """The cells of one row, as many as `columns` names; any object has some, however little it holds."""
    if not kind.custom:
        return printed(kind.group, kind.name, document, now)
    if not kind.columns:
        return [name_of(document), created(document, now)]
    return [name_of(document), *(_custom_cell(column, document, now) for column in kind.columns)]


def _custom_cell(column: Mapping[str, Any], document: JSON, now: datetime) -> Any:
    """Null where the path leads nowhere, or to a value of another type than the column's."""
    try:
        found = find(document, str(column.get("jsonPath", "")))
    except PathError:
        return None
    return _typed(column.get("type"), found[0], now) if found else None


def _typed(wanted: object, value: Any, now: datetime) -> Any:
    if wanted == "string":
        return _shown(value)
    if wanted == "date":
        return _date(value, now) if isinstance(value, str) else None
    if wanted == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return None
    if wanted == "integer":
        return int(value) if abs(value) < 2**63 else None
    return value if wanted == "number" else None


def _date(value: str, now: datetime) -> str:
    if value in ("", "null"):
        return "<unknown>"
    moment = parse_time(value)
    return human_age((now - moment).total_seconds()) if moment else "<invalid>"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
