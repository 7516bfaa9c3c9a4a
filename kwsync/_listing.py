"""The pages of a list as records: the objects' bytes, where the list is of a shape whose bytes can be told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwsync import _json
from kwsync._call import Call
from kwsync._events import EventType
from kwsync._paging import ObjectList, page_of
from kwsync._records import Change, record_of
from kwsync._scan import ScannedList, scan_list
from kwsync._transport import Request
from kwsync.errors import ErrorOrigin, is_status, local_error, status_error

TABLE_VERSION = "meta.k8s.io/v1"


def read_records(call: Call, request: Request) -> ScannedList:
    """One page of a list; `WatchError` where the answer is none."""
    body, _ = call.read(request)
    page = scan_list(body)
    return _the_long_way(body, request.path) if page is None else page


def _the_long_way(body: bytes, path: str) -> ScannedList:
    try:
        document = _json.loads(body)
    except ValueError as error:
        raise local_error(ErrorOrigin.DECODE, f"the answer {_json.why_not(error)}", path=path) from None
    if is_status(document):  # a failure that says 200
        raise status_error(document, ErrorOrigin.HTTP, path=path)
    if not isinstance(document, dict):
        raise local_error(ErrorOrigin.DECODE, "the answer is not a JSON object", path=path)
    page = page_of(document, path)
    changes = list(_changes(_documents(page)))
    return ScannedList(changes, page.resource_version, page.continue_token, len(page.items) - len(changes))


def _changes(documents: Iterator[dict[str, Any]]) -> Iterator[Change]:
    for document in documents:
        try:
            record = record_of(document)
        except ValueError:  # nested so deeply that it cannot be encoded again: one that nobody could keep
            record = None
        if record is not None:
            yield Change(EventType.ADDED, record, document)


def _documents(page: ObjectList) -> Iterator[dict[str, Any]]:
    """The objects; of a Table each row as a Table of its own, as a watch tells them."""
    if page.column_definitions is None:
        yield from page.items
        return
    for row in page.items:
        columns = {"columnDefinitions": page.column_definitions}
        yield {"kind": "Table", "apiVersion": TABLE_VERSION, "metadata": {}, **columns, "rows": [row]}
