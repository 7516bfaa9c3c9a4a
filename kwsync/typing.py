"""Names to annotate with, and protocols to write fakes for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Protocol, runtime_checkable

from kwsync._backoff import Backoff
from kwsync._callbacks import EndCallback, ErrorCallback, EventCallback
from kwsync._client import Client
from kwsync._events import WatchEnd, WatchEvent
from kwsync._indexes import Indexer
from kwsync._intake import Transform
from kwsync._query import FieldSelector, LabelSelector
from kwsync._resources import Resource
from kwsync.credentials import Credential
from kwsync.ratelimit import RateLimiter

__all__ = [
    "Credential",
    "EndCallback",
    "ErrorCallback",
    "EventCallback",
    "FieldSelector",
    "Indexer",
    "LabelSelector",
    "ListAndWatch",
    "RateLimiter",
    "Stream",
    "Transform",
    "WatchResource",
]


@runtime_checkable
class Stream(Protocol):
    """What code that reads a watch needs of its stream; `kwsync.WatchStream` is one, and so is `ListWatchStream`."""

    @property
    def resource_version(self) -> str | None:
        """The version to resume from."""
        ...

    @property
    def end(self) -> WatchEnd | None:
        """Why it ended; None while it is open."""
        ...

    @property
    def skipped_lines(self) -> int:
        """Lines that were no events."""
        ...

    @property
    def last_activity(self) -> float | None:
        """Seconds since the last byte came."""
        ...

    def __iter__(self) -> Iterator[WatchEvent]: ...

    def __next__(self) -> WatchEvent: ...

    def __enter__(self) -> Stream: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def close(self) -> None:
        """End it, from any thread."""
        ...


class WatchResource(Protocol):
    """`kwsync.watch_resource` as a parameter: code that takes it can be given a fake."""

    def __call__(
        self,
        resource: str | Resource,
        *,
        client: Client | None = None,
        namespace: str | None = None,
        name: str | None = None,
        label_selector: LabelSelector | None = None,
        field_selector: FieldSelector | None = None,
        view: str = "object",
        resource_version: str | None = None,
        resource_version_match: str | None = None,
        timeout_seconds: int | None = None,
        allow_watch_bookmarks: bool | None = None,
        send_initial_events: bool | None = None,
        max_line_bytes: int = ...,
        cancel: threading.Event | None = None,
    ) -> Stream:
        """Watch one kind of objects."""
        ...


class ListAndWatch(Protocol):
    """`kwsync.list_and_watch` as a parameter: code that takes it can be given a fake."""

    def __call__(
        self,
        resource: str | Resource,
        *,
        client: Client | None = None,
        namespace: str | None = None,
        name: str | None = None,
        label_selector: LabelSelector | None = None,
        field_selector: FieldSelector | None = None,
        view: str = "object",
        resource_version: str | None = None,
        emit_initial: bool = True,
        page_size: int | None = ...,
        timeout_seconds: int | None = None,
        watch_list: bool = False,
        backoff: Backoff | None = None,
        max_line_bytes: int = ...,
        cancel: threading.Event | None = None,
    ) -> Stream:
        """Follow one kind of objects."""
        ...
