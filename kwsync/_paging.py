"""Lists, page by page."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from kwsync._call import calling
from kwsync._clock import monotonic
from kwsync._query import ListOptions, accept, encode
from kwsync._resources import Resource
from kwsync._session import Session
from kwsync._transport import Request
from kwsync.errors import ErrorOrigin, WatchError, local_error


@attrs.frozen
class ObjectList:
    """A list of objects, whole or one page of it."""

    items: list[dict[str, Any]] = attrs.field(repr=lambda items: f"<{len(items)} objects>")
    """The objects, each with its ``kind`` and ``apiVersion`` (servers leave them out in lists); of a Table its rows."""
    resource_version: str | None = None
    """How fresh the list is: a watch that starts from here misses nothing. None where the server tells none."""
    continue_token: str | None = attrs.field(default=None, repr=False)
    """Of one page: where the next begins; None after the last."""
    column_definitions: list[dict[str, Any]] | None = attrs.field(default=None, repr=False)
    """Of ``view="table"`` only."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@attrs.frozen
class Lister:
    """One list: of what, and within which limits."""

    session: Session
    resource: str | Resource
    options: ListOptions
    page_seconds: float
    """For one page."""
    seconds: float | None
    """For all pages; None for no limit beyond that of each page."""
    cancel: threading.Event | None

    def pages(self) -> Iterator[ObjectList]:
        """Page by page; 410 when they expire before the last is read."""
        options = self.options
        deadline = None if self.seconds is None else monotonic() + self.seconds
        while True:
            page = self._page(options, deadline)
            yield page
            if page.continue_token is None:
                return
            options = attrs.evolve(
                options, continue_token=page.continue_token, resource_version=None, resource_version_match=None
            )

    def whole(self) -> ObjectList:
        """All pages as one list.

        When the pages expire on the way, the list is read once more in one piece (as client-go does): to go on where
        the server offers to would mix two moments.
        """
        try:
            return _joined(self.pages())
        except WatchError as error:
            if not error.is_expired or self.options.limit is None:
                raise
        return _joined(attrs.evolve(self, options=attrs.evolve(self.options, limit=None)).pages())

    def _page(self, options: ListOptions, deadline: float | None) -> ObjectList:
        left = self.page_seconds if deadline is None else deadline - monotonic()
        with calling(self.session, left, self.cancel) as call:
            resource = call.resource(self.resource)
            headers = {"Accept": accept(options.view, "list"), "Accept-Encoding": "gzip"}
            path = resource.path(options.namespace)
            return _page_of(call.document(Request("GET", path, encode(options.pairs()), headers)), path)


def _page_of(document: dict[str, Any], path: str) -> ObjectList:
    kind = str(document.get("kind", ""))
    rows = kind == "Table"
    items = document.get("rows" if rows else "items")
    if items is None:
        items = []  # Go's encoder writes an empty list as null
    if not isinstance(items, list) or not kind.endswith(("List", "Table")):
        raise local_error(ErrorOrigin.DECODE, f"the answer is no list but {kind!r}", path=path)
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    if not rows:
        _fill_in(items, document)
    return ObjectList(
        items=items,
        resource_version=metadata.get("resourceVersion") or None,
        continue_token=metadata.get("continue") or None,
        column_definitions=document.get("columnDefinitions") if rows else None,
    )


def _fill_in(items: list[Any], document: dict[str, Any]) -> None:
    kind, api_version = str(document["kind"]).removesuffix("List"), document.get("apiVersion")
    for item in items:
        if isinstance(item, dict) and kind:
            item.setdefault("kind", kind)
            item.setdefault("apiVersion", api_version)


def _joined(pages: Iterable[ObjectList]) -> ObjectList:
    """The first page tells version and columns: the others belong to the same moment."""
    every = list(pages)
    items = every[0].items if len(every) == 1 else [item for page in every for item in page.items]
    return attrs.evolve(every[0], items=items, continue_token=None)
