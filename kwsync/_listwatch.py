"""Following one kind of objects for ever: a list, its changes, and on again after whatever ended them."""

from __future__ import annotations

import threading
from collections.abc import Generator

from kwsync._backoff import Backoff
from kwsync._client import Client
from kwsync._events import EndReason, WatchEnd, WatchEvent
from kwsync._following import PAGE_SIZE, Following, FollowOptions, follow_options
from kwsync._ledger import Ledger
from kwsync._query import MAX_LINE_BYTES, FieldSelector, LabelSelector
from kwsync._resources import Resource
from kwsync._stream import EventStream


def list_and_watch(
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
    page_size: int | None = PAGE_SIZE,
    timeout_seconds: int | None = None,
    watch_list: bool = False,
    backoff: Backoff | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
    cancel: threading.Event | None = None,
) -> ListWatchStream:
    """Follow one kind of objects for ever: the present state, then every change, across whatever happens to the server.

    First each object there is as ADDED (``initial``), then SYNCED, then changes. When the watch breaks, it goes on from
    the last version; when that is too old, the list is read anew and compared by key and uid with what was told:
    changed objects are MODIFIED, new ones ADDED, vanished ones DELETED (``final_state_unknown``: their object holds
    name, namespace, uid and version alone), recreated ones DELETED then ADDED, and SYNCED follows. So a change may be
    seen late, and two changes as one (what came and went meanwhile is not told at all), but who takes each event knows
    in the end what there is. Each failure is one ERROR event, and the stream goes on after it.

    An object that is nested too deeply for Python (about a thousand levels), or that holds too long an integer, is told
    as any other, with its key and version; to look at ``event.object`` is then a ValueError that names it.

    Args:
        resource, client, namespace, name, label_selector, field_selector, view, max_line_bytes: as `watch_resource`.
        resource_version: go on from there and list nothing; None lists first. What was there before is then not known:
            its changes and deletions are told as the server tells them, and a list that becomes necessary tells all
            that is there as ADDED.
        emit_initial: False leaves the first ADDED events out; SYNCED comes all the same.
        page_size: objects a page of a list; None for the whole list in one answer.
        timeout_seconds: whole seconds of one watch request; None for about 300, by chance. A watch whose server is
            silent for 10 s longer is given up for another, and only then is silence noticed at all: choose no hours.
        watch_list: ask for full states as initial events of the watch itself, which is easier on the server (1.32 or
            later); where a server twice fails to end them, lists are used from then on.
        backoff: waits after failures; the default is `Backoff`'s.
        cancel: ends the stream: a `CancelToken` at once, any other event within 100 ms.

    TypeError and ValueError for bad arguments; after that ``next()`` raises StopIteration, and KeyboardInterrupt, only,
    and the stream ends only by *cancel*, by ``close()``, by what a signal handler raises in ``next()``, or when nobody
    holds it. The rules are those of client-go's reflector and its improvements, see `kwsync._resume`.
    """
    if not isinstance(emit_initial, bool):
        raise TypeError(f"emit_initial must be True or False, not {emit_initial!r}")
    options = follow_options(
        resource,
        client=client,
        namespace=namespace,
        name=name,
        label_selector=label_selector,
        field_selector=field_selector,
        view=view,
        resource_version=resource_version,
        page_size=page_size,
        timeout_seconds=timeout_seconds,
        watch_list=watch_list,
        backoff=backoff,
        max_line_bytes=max_line_bytes,
        cancel=cancel,
    )
    return ListWatchStream(_Source(options, emit_initial=emit_initial))


class ListWatchStream(EventStream["_Source"]):
    """The events of `list_and_watch`. An iterator and a context manager, with the life of a `WatchStream`."""

    __slots__ = ()

    def __iter__(self) -> ListWatchStream:
        return self

    def __enter__(self) -> ListWatchStream:
        return self

    @property
    def resource_version(self) -> str | None:
        """The version to resume from without losing a change; None until the first full state has been told."""
        return self._reader.resource_version

    @property
    def is_connected(self) -> bool:
        """Is there a watch that the server has answered? False during lists, waits and connection attempts."""
        return self._reader.following.is_connected

    @property
    def last_activity(self) -> float | None:
        """Seconds since the last byte of the present watch; None while there is none."""
        return self._reader.following.last_activity

    @property
    def skipped_lines(self) -> int:
        """Lines that were no events. Each was an ERROR event of origin DECODE, and made the list be read anew.

        (But for a piece that was left when a stream ended: what it would have been is sent again.)
        """
        return self._reader.following.skipped_lines


class _Source:
    """What a `ListWatchStream` reads; it does not know the stream."""

    def __init__(self, options: FollowOptions, *, emit_initial: bool) -> None:
        self.following = Following(options)
        self.guard = self.following.guard
        self.pending: WatchEvent | None = None
        self.resource_version = options.resource_version
        self._ledger = Ledger(emit_initial=emit_initial)
        self._last_of_step = False
        self._ends: list[WatchEnd] = []

    @property
    def subject(self) -> object:
        return self.following.options.resource

    @property
    def end(self) -> WatchEnd | None:
        return self._ends[0] if self._ends else None

    def events(self) -> Generator[WatchEvent, None, None]:
        try:
            for step in self.following.steps():
                events = list(self._ledger.events(step))
                for number, event in enumerate(events, 1):
                    self._last_of_step = number == len(events)
                    self.pending = event
                    yield event
        finally:
            self.ended()

    def handed_out(self) -> None:
        if self._last_of_step:
            self.resource_version = self.following.resource_version

    def ended(self) -> None:
        self._ends.append(WatchEnd(self.guard.cause or EndReason.CLOSED))
