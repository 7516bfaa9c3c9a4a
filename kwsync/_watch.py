"""One watch: one request, one stream of events. Errors are events, and the end always has a reason."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Generator, Iterator

from kwsync import _clock
from kwsync._call import Call
from kwsync._cancel import Guard, Interrupted, cancelled_by, check_cancel
from kwsync._client import Client, default_client, session_of
from kwsync._decode import Decoder
from kwsync._events import EndReason, EventType, WatchEnd, WatchEvent
from kwsync._query import MAX_LINE_BYTES, FieldSelector, LabelSelector, WatchOptions, accept, encode
from kwsync._resources import Resource, parse_or_defer
from kwsync._stream import EventStream
from kwsync._transport import EXPECTED, Answer, Request, fault
from kwsync.errors import ErrorOrigin, WatchError, local_error

log = logging.getLogger("kwsync.watch")

GRACE_SECONDS = 10.0
"""How long a stream may outlive the time that the server was asked for, or has as its own limit."""

SERVER_LIMIT_SECONDS = 3650.0
"""A server's own limit is below an hour (kube-apiserver: random, at most 3,600 s)."""

_EXCERPT_BYTES = 200
_LOGGED_SKIPS = 10
_LINES_UNTIL_CHECK = 128


def watch_resource(
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
    max_line_bytes: int = MAX_LINE_BYTES,
    cancel: threading.Event | None = None,
) -> WatchStream:
    """Watch one kind of objects with one request, which is sent at the first ``next()``.

    Args:
        resource: ``"pods"``, ``"apps/v1/deployments"``, ``"crontabs.v1.stable.example.com"`` or a `Resource`. A short
            name that is not built in is asked from the server first.
        client: None for the process's own, made by `Client.from_default` when it is first needed.
        namespace: None, or an empty string, for all namespaces.
        name: only the object of this name (a field selector on ``metadata.name``).
        label_selector: as Kubernetes writes it (``"app=web,tier!=db"``), or a mapping.
        field_selector: the same; which fields there are depends on the kind.
        view: ``"metadata"`` for PartialObjectMetadata, ``"table"`` for kubectl's columns.
        resource_version: give only what changed after it; None for the present state as ADDED events, then changes.
        resource_version_match: ``"NotOlderThan"``, together with *send_initial_events* only.
        timeout_seconds: whole seconds after which the server closes the stream; None for its own limit, which is below
            an hour. Our own deadline is 10 s later, or 3,660 s where the server has the choice.
        allow_watch_bookmarks: ask for BOOKMARK events, which tell how far the stream has come.
        send_initial_events: True for the state first, then a bookmark that ends it (Kubernetes 1.32 or later).
        max_line_bytes: a longer event is an ERROR and ends the stream.
        cancel: an event that ends the stream when it is set: a `CancelToken` at once, any other within 100 ms.

    TypeError and ValueError for bad arguments and for combinations that every server refuses. After that an error is an
    event of type ERROR: ``next()`` raises StopIteration, and KeyboardInterrupt, only.
    """
    options = WatchOptions(
        namespace=namespace,
        name=name,
        label_selector=label_selector,
        field_selector=field_selector,
        view=view,
        resource_version=resource_version,
        resource_version_match=resource_version_match,
        timeout_seconds=timeout_seconds,
        allow_watch_bookmarks=allow_watch_bookmarks,
        send_initial_events=send_initial_events,
        max_line_bytes=max_line_bytes,
    )
    if client is not None and not isinstance(client, Client):
        raise TypeError(f"client must be a kwsync.Client, not {type(client).__name__}")
    check_cancel(cancel)
    known = resource if isinstance(resource, Resource) else parse_or_defer(resource)
    if known is not None:
        known.path(options.namespace)  # a namespace for a cluster-scoped kind is a ValueError now
    return WatchStream(WatchReader(known or resource, options, client, cancel))


class WatchStream(EventStream["WatchReader"]):
    """The events of one watch, made by `watch_resource`. An iterator and a context manager.

    One thread at a time reads it (another gets ValueError from ``next()``, as with generators); `close` and the
    properties are for any thread. Like a file, it is closed by ``with``, by `close`, at its end, or when nobody holds
    it any more: a ``for`` loop over an anonymous one closes it on ``break``.
    """

    __slots__ = ()

    def __iter__(self) -> WatchStream:
        return self

    def __enter__(self) -> WatchStream:
        return self

    @property
    def resource_version(self) -> str | None:
        """The version to resume from without losing a change, or None where there is none.

        That is the version of the last event delivered, or of the start. The events that tell the initial state come in
        the order of their names, so none of them counts (client-go's rule, see B009 in its conformance list): the first
        event that is no ADDED counts, or with ``send_initial_events`` the bookmark that ends the initial events.
        """
        return self._reader.resource_version

    @property
    def is_connected(self) -> bool:
        """Has the server answered, and is the stream still open?"""
        return self._reader.guard.last_byte is not None and self.end is None

    @property
    def last_activity(self) -> float | None:
        """Seconds since the last byte came, or since the request while none has; None before the request."""
        since = self._reader.guard.last_byte or self._reader.started
        return None if since is None else _clock.monotonic() - since

    @property
    def skipped_lines(self) -> int:
        """Lines that were no events. Each may have been a change: after one, only a new list tells the truth."""
        return self._reader.decoder.skipped_lines


class WatchReader:
    """What a stream reads and knows; it does not know the stream."""

    def __init__(
        self,
        resource: str | Resource,
        options: WatchOptions,
        client: Client | None,
        cancel: threading.Event | None,
        decoder: Decoder | None = None,
        patience: float | None = None,
    ) -> None:
        self.resource = resource
        self.guard = Guard(event=cancel)
        self.decoder = decoder or Decoder(options)
        self.started: float | None = None
        self.pending: WatchEvent | None = None
        """The event that has been read and not yet been handed out: a signal handler may raise in between."""
        self.resource_version = self.decoder.resource_version
        self._patience = patience
        """So many seconds of silence are too many while the end of initial events is still to come."""
        self._last_moment: float | None = None
        self._ends: list[WatchEnd] = []
        self._options = options
        self._client = client

    @property
    def end(self) -> WatchEnd | None:
        """The first end that was noted; two threads may do it at one time."""
        return self._ends[0] if self._ends else None

    @property
    def subject(self) -> object:
        """What is watched."""
        return self.resource

    def handed_out(self) -> None:
        """The pending event is about to be the caller's, so its version may be resumed from."""
        self.resource_version = self.decoder.resource_version

    def events(self) -> Generator[WatchEvent, None, None]:
        """The events; everything is released before the last one, if that is an error, is handed out."""
        trouble: Exception | None = None
        try:
            with cancelled_by(self.guard, self.guard.event):
                for event in self._read():
                    self.pending = event
                    yield event
            self.ended(EndReason.SERVER_CLOSED, self.decoder.error)
        except Interrupted:
            pass
        except (WatchError, *EXPECTED) as raised:
            trouble = raised
        finally:
            if trouble is None:
                self.ended()
        try:  # CPython 3.13 lets close() tear a generator down that is just going on, if its yield is in no block
            if trouble is not None and not self.guard.ended():
                self.pending = self._failed(trouble)
                yield self.pending
        finally:
            self.ended()

    def ended(self, reason: EndReason = EndReason.CLOSED, error: WatchError | None = None) -> None:
        """Note the end. A cause from outside was first, whatever came after it."""
        cause = self.guard.cause
        self._ends.append(WatchEnd(cause) if cause is not None else WatchEnd(reason, error))

    def _failed(self, trouble: Exception) -> WatchEvent:
        error = trouble if isinstance(trouble, WatchError) else fault(trouble, self.decoder.path, sys.exc_info()[1])
        timeout = error.origin is ErrorOrigin.TIMEOUT
        self.ended(EndReason.TIMEOUT if timeout else EndReason.ERROR, error)
        # The frames of a traceback would keep the request, its headers and the socket alive.
        return WatchEvent(EventType.ERROR, error=error.with_traceback(None))

    def _read(self) -> Iterator[WatchEvent]:
        self.started = _clock.monotonic()
        limit = self._options.timeout_seconds or SERVER_LIMIT_SECONDS
        self._last_moment = self.guard.deadline = self.started + limit + GRACE_SECONDS
        self._be_patient()
        with self._open() as answer:
            yield from self._events_of(answer)

    def _open(self) -> Answer:
        if isinstance(self.resource, Resource):
            self.decoder.path = self.resource.path(self._options.namespace)
        session = session_of(self._client or default_client())
        resource = Call(session, self.guard).resource(self.resource)
        try:
            self.decoder.path = resource.path(self._options.namespace)
        except ValueError as error:  # only discovery knew that the kind is not namespaced
            raise local_error(ErrorOrigin.CONFIG, str(error), code=400, reason="BadRequest") from None
        self.resource = resource
        headers = {"Accept": accept(self._options.view, "watch")}
        query = encode(self._options.pairs())
        return session.open(Request("GET", self.decoder.path, query, headers), self.guard)

    def _events_of(self, answer: Answer) -> Iterator[WatchEvent]:
        decoder = self.decoder
        for piece in answer.pieces():
            for number, line in enumerate(decoder.lines(piece)):
                event = decoder.event(line)
                if event is not None:
                    yield event
                elif number % _LINES_UNTIL_CHECK == 0:
                    self.guard.check()  # a megabyte of blank lines is read at once, and takes a while
            self._be_patient()
            if decoder.skipped:
                self._log_skipped()
            if decoder.overflow:
                limit = self._options.max_line_bytes
                raise local_error(ErrorOrigin.DECODE, f"an event is longer than {limit} bytes", path=decoder.path)
        yield from decoder.at_end()
        self._log_skipped()

    def _be_patient(self) -> None:
        if self._patience is not None and self._last_moment is not None:
            soon = _clock.monotonic() + self._patience
            self.guard.deadline = min(soon, self._last_moment) if self.decoder.awaits_marker else self._last_moment

    def _log_skipped(self) -> None:
        """Tell of the first lines that were skipped; a page of HTML has hundreds."""
        decoder = self.decoder
        lines, decoder.skipped = decoder.skipped, []
        before = decoder.skipped_lines - len(lines)
        for line in lines[: max(0, _LOGGED_SKIPS - before)]:
            log.warning(
                "%s: skipped a line that is no event: %r (%d bytes)", decoder.path, line[:_EXCERPT_BYTES], len(line)
            )
        if before < _LOGGED_SKIPS <= decoder.skipped_lines:
            log.warning("%s: further lines that are skipped are only counted", decoder.path)
