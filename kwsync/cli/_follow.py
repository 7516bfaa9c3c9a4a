"""One kind of objects, for ever: a list, then its changes, and on again after whatever ended them."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import attrs

from kwsync import (
    CancelToken,
    Client,
    ErrorOrigin,
    EventType,
    ObjectList,
    Resource,
    WatchError,
    WatchEvent,
    WatchStream,
    watch_resource,
)
from kwsync._clock import monotonic
from kwsync.cli._documents import documents_of, metadata_of, plural_of, text
from kwsync.cli._errors import brief
from kwsync.cli._known import Known

log = logging.getLogger("kwsync.cli.follow")

WATCH_SECONDS = 300
"""How long one request may follow; kubectl's own watches last half an hour, but a dead peer should show sooner."""

HEALTHY_SECONDS = 5.0
"""A watch that lasted so long was none that fails again and again."""

FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0


@attrs.frozen(kw_only=True)
class Subject:
    """What is followed."""

    client: Client
    resource: Resource
    namespace: str | None = None
    label_selector: str | None = None
    field_selector: str | None = None
    view: str = "object"

    def list(self, cancel: CancelToken) -> ObjectList:
        """The state now."""
        return self.client.list(
            self.resource,
            self.namespace,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            view=self.view,
            cancel=cancel,
        )

    def watch(self, resource_version: str | None, cancel: CancelToken) -> WatchStream:
        """What changes from there on."""
        return watch_resource(
            self.resource,
            client=self.client,
            namespace=self.namespace,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            view=self.view,
            resource_version=resource_version,
            timeout_seconds=WATCH_SECONDS,
            allow_watch_bookmarks=True,
            cancel=cancel,
        )


class Follower:
    """Follows one subject.

    To be replaced by ``list_and_watch`` once that is there: it gives the same events.
    """

    def __init__(self, subject: Subject, cancel: CancelToken) -> None:
        self.subject = subject
        self._name = plural_of(subject.resource)
        self._cancel = cancel
        self._known = Known()
        self._version: str | None = None
        self._begun = False
        self._failures = 0
        self._expired = False
        self._troubled = False

    def events(self) -> Iterator[WatchEvent]:
        """The state as ADDED events that are ``initial``, SYNCED, then changes; what a later list finds are changes,
        too, with SYNCED behind them. It ends when it is cancelled; `WatchError` for what waiting will not mend.
        """
        while not self._cancel.is_set():
            try:
                if self._version is None:
                    yield from self._state()
                yield from self._changes()
            except WatchError as error:
                if not self._cancel.is_set():
                    self._wait_out(error)

    def _state(self) -> Iterator[WatchEvent]:
        found = self.subject.list(self._cancel)
        first, self._begun = not self._begun, True
        events = [_added(document, initial=first) for document in documents_of(found)]
        self._version = found.resource_version
        self._recovered()
        yield from self._known.replace(events)
        yield WatchEvent(EventType.SYNCED)

    def _changes(self) -> Iterator[WatchEvent]:
        error, begun, told = None, monotonic(), False
        with self.subject.watch(self._version, self._cancel) as stream:
            for event in stream:
                if event.type is EventType.ERROR:
                    error = event.error
                    continue
                told = True
                self._recovered()
                self._expired, self._failures = False, 0
                if event.type is not EventType.BOOKMARK and self._known.take(event):
                    yield event
        self._version = None if stream.skipped_lines else stream.resource_version
        if monotonic() - begun >= HEALTHY_SECONDS:
            self._expired, self._failures = False, 0
        if error is not None:
            raise error
        self._ended(told=told)

    def _ended(self, *, told: bool) -> None:
        if self._cancel.is_set():
            return
        log.info("%s: the server ended the watch; going on from version %s", self._name, self._version)
        if not told and self._failures:
            self._pause(None)
        self._failures += not told

    def _wait_out(self, error: WatchError) -> None:
        if self._is_final(error):
            raise error
        if error.is_expired:
            log.info("%s: version %s is too old (410), so the list is read anew", self._name, self._version)
            self._version = None
            if self._expired:  # twice in a row: the server's lists are too old for its watches
                self._pause(None)
            self._expired = True
        else:
            self._troubled = True
            delay = self._pause_seconds(error)
            log.warning("%s: %s; trying again in %.0f s", self._name, brief(error), delay)
            self._pause(error)
        self._failures += 1

    def _is_final(self, error: WatchError) -> bool:
        if self._begun or error.is_permanent:
            return error.is_permanent
        return error.status_code in (401, 403) or error.origin not in (ErrorOrigin.HTTP, ErrorOrigin.STREAM)

    def _pause_seconds(self, error: WatchError | None) -> float:
        delay = min(FIRST_DELAY * 2.0 ** min(self._failures, 10), LONGEST_DELAY)
        return max(delay, (error.retry_after if error else None) or 0.0)

    def _pause(self, error: WatchError | None) -> None:
        self._cancel.wait(self._pause_seconds(error))

    def _recovered(self) -> None:
        if self._troubled:
            self._troubled = False
            log.warning("%s: following again", self._name)


def _added(document: dict[str, object], *, initial: bool) -> WatchEvent:
    version = text(metadata_of(document).get("resourceVersion")) or None
    return WatchEvent(EventType.ADDED, document, version, initial=initial)
