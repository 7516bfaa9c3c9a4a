"""The engine of following: lists and watches for ever, by the rules of `kwsync._resume`, and tells each step."""

from __future__ import annotations

import logging
import random
import sys
import threading
from collections.abc import Generator, Iterator
from typing import Any, cast

import attrs

from kwsync._backoff import Backoff
from kwsync._cancel import CancelToken, Guard, Interrupted, cancelled_by, check_cancel
from kwsync._client import Client, default_client, page_seconds_of, session_of
from kwsync._clock import monotonic
from kwsync._course import Course
from kwsync._decode import RecordDecoder
from kwsync._events import EndReason, EventType
from kwsync._listing import read_records
from kwsync._paging import Lister
from kwsync._query import MAX_LINE_BYTES, FieldSelector, LabelSelector, ListOptions, Selection, WatchOptions
from kwsync._records import Change, Page
from kwsync._resources import Resource, ScopeError, parse_or_defer
from kwsync._resume import Action, Do, Rules
from kwsync._scan import ScannedList
from kwsync._transport import EXPECTED, fault
from kwsync._watch import WatchReader, WatchStream
from kwsync.errors import CancelledError, ErrorOrigin, WatchError, local_error

log = logging.getLogger("kwsync.following")

_chance = random.SystemRandom()  # which forked children do not share

PAGE_SIZE = 500
WINDOW_SECONDS = (270, 330)
"""How long one watch may last, by chance, so that many clients do not come back at once (B007)."""

BRIEF_SECONDS = 10
"""And one behind which there may be another server than before."""

SILENT_SECONDS = 600.0
"""After so long without a sign of life the list is read anew (see `kwsync._resume`)."""

PATIENCE_SECONDS = 30.0
"""Initial events that stop for so long without their end are not going to end (a known fault of servers: E1)."""


@attrs.frozen(kw_only=True)
class FollowOptions:
    """What is followed, and how. TypeError and ValueError at once for what cannot be."""

    resource: str | Resource
    client: Client | None
    selection: Selection
    resource_version: str | None
    page_size: int | None
    timeout_seconds: int | None
    watch_list: bool
    backoff: Backoff
    max_line_bytes: int
    cancel: threading.Event | None

    def __attrs_post_init__(self) -> None:
        if self.client is not None and not isinstance(self.client, Client):
            raise TypeError(f"client must be a kwsync.Client, not {type(self.client).__name__}")
        if not isinstance(self.backoff, Backoff):
            raise TypeError(f"backoff must be a kwsync.Backoff, not {type(self.backoff).__name__}")
        if not isinstance(self.watch_list, bool):
            raise TypeError(f"watch_list must be True or False, not {self.watch_list!r}")
        check_cancel(self.cancel)
        known = self.resource if isinstance(self.resource, Resource) else parse_or_defer(self.resource)
        if known is not None:
            known.path(self.selection.namespace)  # a namespace for a cluster-scoped kind is a ValueError now
        self.list_options()
        self.watch_options(Action(Do.WATCH, self.resource_version))

    def list_options(self) -> ListOptions:
        """Of a full state: the most recent there is, in pages."""
        return ListOptions(**_same(self.selection), limit=self.page_size)

    def watch_options(self, action: Action) -> WatchOptions:
        """Of one watch."""
        return WatchOptions(
            **_same(self.selection),
            resource_version=action.version,
            timeout_seconds=self._window(action) if self.timeout_seconds is None else self.timeout_seconds,
            allow_watch_bookmarks=True,
            send_initial_events=True if action.do is Do.WATCH_LIST else None,
            max_line_bytes=self.max_line_bytes,
        )

    def _window(self, action: Action) -> int:
        return BRIEF_SECONDS if action.brief else _chance.randint(*WINDOW_SECONDS)


def follow_options(
    resource: str | Resource,
    *,
    client: Client | None = None,
    namespace: str | None = None,
    name: str | None = None,
    label_selector: LabelSelector | None = None,
    field_selector: FieldSelector | None = None,
    view: str = "object",
    resource_version: str | None = None,
    page_size: int | None = PAGE_SIZE,
    timeout_seconds: int | None = None,
    watch_list: bool = False,
    backoff: Backoff | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
    cancel: threading.Event | None = None,
) -> FollowOptions:
    """The options of `list_and_watch`, checked."""
    selection = Selection(
        namespace=namespace,
        name=name,
        label_selector=label_selector,
        field_selector=field_selector,
        view=view,
    )
    return FollowOptions(
        resource=resource,
        client=client,
        selection=selection,
        resource_version=None if resource_version == "" else resource_version,
        page_size=page_size,
        timeout_seconds=timeout_seconds,
        watch_list=watch_list,
        backoff=Backoff() if backoff is None else backoff,
        max_line_bytes=max_line_bytes,
        cancel=cancel,
    )


class Following:
    """Lists and watches until it is ended, and tells each step: pages of full states, changes, bookmarks, errors.

    For one thread, which reads `steps` once; `interrupt` and the properties are for any.
    """

    def __init__(self, options: FollowOptions) -> None:
        self.options = options
        self.guard = Guard(event=options.cancel)
        self._backoff = options.backoff
        rules = Rules(options.backoff, SILENT_SECONDS, options.timeout_seconds or WINDOW_SECONDS[0])
        self._course = Course(rules, options.resource_version, watch_list=options.watch_list)
        self._ending = CancelToken()
        self._stream: WatchStream | None = None
        self._skipped = 0

    @property
    def resource_version(self) -> str | None:
        """What to resume from once the present step has been dealt with; None before the first full state."""
        stream = self._stream
        return (stream and stream.resource_version) or self._course.version

    @property
    def is_connected(self) -> bool:
        """Is there a watch that the server has answered?"""
        stream = self._stream
        return stream is not None and stream.is_connected

    @property
    def last_activity(self) -> float | None:
        """Seconds since the last byte of the present watch; None while there is none."""
        stream = self._stream
        return None if stream is None else stream.last_activity

    @property
    def skipped_lines(self) -> int:
        """Lines of all watches that were no events."""
        stream = self._stream
        return self._skipped + (0 if stream is None else stream.skipped_lines)

    def interrupt(self, cause: EndReason = EndReason.CLOSED) -> None:
        """End it. From any thread and from a signal handler; never blocks."""
        self.guard.interrupt(cause)

    def steps(self) -> Generator[Page | Change, None, None]:
        """The steps, which end only when they are ended from outside."""
        try:
            with cancelled_by(self.guard, self.guard.event):
                self.guard.attach(self._ending.set)  # which ends the request, or the wait, that is under way
                while True:
                    yield from self._round()
        except Interrupted:
            pass

    def _round(self) -> Generator[Page | Change, None, None]:
        course, action = self._course, self._course.action
        if action.wait is not None:
            self._ending.wait(max(action.wait, self._backoff.delay(action.failures, _chance.random())))
        self.guard.check()
        course.begin(monotonic())
        connected = yield from self._doing(action)
        self.guard.check()  # what was ended from outside has ended because of that
        failed = course.end(monotonic(), connected=connected)
        if failed is not None:
            yield failed

    def _doing(self, action: Action) -> Generator[Page | Change, None, bool]:
        if action.do is Do.LIST:
            return self._asking(self._pages())
        return self._asking(self._probe()) if action.do is Do.PROBE else self._watch(action)

    def _asking(self, steps: Iterator[Page | Change]) -> Generator[Page | Change, None, bool]:
        try:
            yield from steps
            return True
        except (WatchError, *EXPECTED) as raised:
            error = _value_of(raised)
        self.guard.check()
        yield self._course.failed(error, monotonic())
        return False

    def _lister(self, options: ListOptions) -> Lister[ScannedList]:
        client = self.options.client or default_client()
        seconds = page_seconds_of(client)
        return Lister(session_of(client), self.options.resource, options, seconds, None, self._ending, read_records)

    def _probe(self) -> Iterator[Page | Change]:
        """Ask for one object, because the list tells its version."""
        found = next(self._lister(attrs.evolve(self.options.list_options(), limit=1)).pages())
        if self._course.probed(found.resource_version):
            self._tell_of_rewind(self._course.version, found.resource_version)
        yield from ()

    def _pages(self) -> Iterator[Page | Change]:
        for first, found in self._lister(self.options.list_options()).all_pages():
            if found.nameless:
                yield _nameless(found.nameless)
            before, rewound = self._course.version, self._course.rewound
            page = self._course.page(
                found.changes, first=first, last=found.continue_token is None, version=found.resource_version
            )
            if first and page.rewound and not rewound:
                self._tell_of_rewind(before, page.version)
            yield page

    def _watch(self, action: Action) -> Generator[Page | Change, None, bool]:
        began = monotonic()
        options = self.options.watch_options(action)
        reader = WatchReader(
            self.options.resource,
            options,
            self.options.client,
            self._ending,
            RecordDecoder(options),
            patience=PATIENCE_SECONDS,
        )
        self._stream = stream = WatchStream(reader)
        try:
            with stream:
                yield from self._changes(reader, stream)
        finally:
            self._course.version = self.resource_version
            self._stream = None
            self._skipped += stream.skipped_lines
        return reader.guard.last_byte is not None or monotonic() - began >= PATIENCE_SECONDS

    def _changes(self, reader: WatchReader, stream: WatchStream) -> Iterator[Page | Change]:
        course, rewound = self._course, self._course.rewound
        for change in cast("Iterator[Change]", stream):
            step = course.change(change, initial=reader.decoder.initial, now=monotonic())
            if step is not None:
                yield step
            if course.is_over:
                break
        if course.rewound and not rewound:
            self._tell_of_rewind(course.version, stream.resource_version)

    def _tell_of_rewind(self, before: str | None, now: str | None) -> None:
        log.warning(
            "%s: the server has gone back in time, from version %s to %s; every object counts as changed",
            self.options.resource,
            before,
            now,
        )


def _nameless(count: int) -> Change:
    """The error of objects that nobody can tell from others, and that are left out of a full state."""
    return Change(
        EventType.ERROR, None, error=local_error(ErrorOrigin.DECODE, f"{count} objects of the list have no name")
    )


def _value_of(raised: Exception) -> WatchError:
    if isinstance(raised, CancelledError):
        raise Interrupted from None
    if isinstance(raised, WatchError):
        return raised.with_traceback(None)
    if isinstance(raised, ScopeError):  # only discovery knew that the kind is not namespaced
        return local_error(ErrorOrigin.CONFIG, str(raised), code=400, reason="BadRequest")
    if isinstance(raised, ValueError) and not isinstance(raised, UnicodeError):
        return local_error(ErrorOrigin.DECODE, f"the list cannot be understood: {raised}")
    return fault(raised, "", sys.exc_info()[1])


_SELECTION = ("namespace", "name", "label_selector", "field_selector", "view")


def _same(selection: Selection) -> dict[str, Any]:
    return {name: getattr(selection, name) for name in _SELECTION}
