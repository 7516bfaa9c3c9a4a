"""Lists, page by page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

import attrs

from kwsync._call import Call, calling
from kwsync._clock import monotonic
from kwsync._events import sendable_version
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


class Paged(Protocol):
    """One page, whatever it is made of."""

    @property
    def continue_token(self) -> str | None:
        """Where the next page begins; None after the last."""
        ...


P = TypeVar("P", bound=Paged)


@attrs.frozen
class Lister(Generic[P]):
    """One list: of what, within which limits, and how an answer becomes a page."""

    session: Session
    resource: str | Resource
    options: ListOptions
    page_seconds: float
    """For one page."""
    seconds: float | None
    """For all pages; None for no limit beyond that of each page."""
    cancel: threading.Event | None
    read: Callable[[Call, Request], P]

    def pages(self) -> Iterator[P]:
        """Page by page; 410 when they expire before the last is read."""
        yield from self._pages(self.options, self._deadline())

    def all_pages(self) -> Iterator[tuple[bool, P]]:
        """Page by page, and with each whether it is a first one.

        When the pages expire on the way, the list is read once more in one piece (as client-go does, B043): to go on
        where the server offers to would mix two moments. All pages before a first one are void.
        """
        deadline, first = self._deadline(), True
        try:
            for page in self._pages(self.options, deadline):
                yield first, page
                first = False
            return
        except WatchError as error:
            if first or not error.is_expired:
                raise
        first = True
        for page in self._pages(attrs.evolve(self.options, limit=None), deadline):
            yield first, page
            first = False

    def _deadline(self) -> float | None:
        return None if self.seconds is None else monotonic() + self.seconds

    def _pages(self, options: ListOptions, deadline: float | None) -> Iterator[P]:
        resource, seen = self.resource, set[str]()
        while True:
            left = self.page_seconds if deadline is None else deadline - monotonic()
            with calling(self.session, left, self.cancel) as call:
                resource = call.resource(resource)
                page = self.read(call, _request(resource.path(options.namespace), options))
            yield page
            if page.continue_token is None:
                return
            if page.continue_token in seen:  # it would go on for ever
                raise local_error(ErrorOrigin.DECODE, "the server told twice to continue at the same place")
            seen.add(page.continue_token)
            options = attrs.evolve(
                options, continue_token=page.continue_token, resource_version=None, resource_version_match=None
            )


def _request(path: str, options: ListOptions) -> Request:
    headers = {"Accept": accept(options.view, "list"), "Accept-Encoding": "gzip"}
    return Request("GET", path, encode(options.pairs()), headers)


def read_page(call: Call, request: Request) -> ObjectList:
    """One page, its objects decoded."""
    return page_of(call.document(request), request.path)


def whole(lister: Lister[ObjectList]) -> ObjectList:
    """All pages as one list."""
    pages: list[ObjectList] = []
    for first, page in lister.all_pages():
        if first:
            pages.clear()
        pages.append(page)
    return _joined(pages)


def page_of(document: dict[str, Any], path: str) -> ObjectList:
    """The page that a decoded answer holds; a DECODE error where it holds none."""
    kind = str(document.get("kind", ""))
    rows = kind == "Table"
    items = document.get("rows" if rows else "items")
    if items is None:
        items = []  # Go's encoder writes an empty list as null
    if not kind.endswith(("List", "Table")) or not _are_objects(items):
        raise local_error(ErrorOrigin.DECODE, f"the answer is no list of objects but {kind!r}", path=path)
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    if not rows:
        _fill_in(items, document)
    version, token = metadata.get("resourceVersion"), metadata.get("continue")
    if token is not None and not (isinstance(token, str) and token.isprintable()):
        raise local_error(ErrorOrigin.DECODE, "the list goes on, but its continue token is no text", path=path)
    return ObjectList(
        items=items,
        resource_version=sendable_version(version),
        continue_token=token or None,
        column_definitions=document.get("columnDefinitions") if rows else None,
    )


def _are_objects(items: object) -> bool:
    return isinstance(items, list) and all(isinstance(item, dict) for item in items)


def _fill_in(items: list[dict[str, Any]], document: dict[str, Any]) -> None:
    kind, api_version = str(document["kind"]).removesuffix("List"), document.get("apiVersion")
    for item in items if kind else ():
        item.setdefault("kind", kind)
        item.setdefault("apiVersion", api_version)


def _joined(every: list[ObjectList]) -> ObjectList:
    """The first page tells version and columns: the others belong to the same moment."""
    items = every[0].items if len(every) == 1 else [item for page in every for item in page.items]
    return attrs.evolve(every[0], items=items, continue_token=None)
