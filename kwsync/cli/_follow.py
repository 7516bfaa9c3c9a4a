"""One kind of objects, for ever, and what of its troubles is told to whom."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import attrs

from kwsync import (
    Backoff,
    CancelToken,
    Client,
    ErrorOrigin,
    EventType,
    ListWatchStream,
    Resource,
    WatchError,
    WatchEvent,
    list_and_watch,
)
from kwsync.cli._documents import plural_of
from kwsync.cli._errors import LOG_IN_AGAIN, brief
from kwsync.cli._known import LastSeen

log = logging.getLogger("kwsync.cli.follow")

BACKOFF = Backoff()


@attrs.frozen(kw_only=True)
class Subject:
    """What is followed."""

    client: Client
    resource: Resource
    namespace: str | None = None
    label_selector: str | None = None
    field_selector: str | None = None
    view: str = "object"

    def follow(self, cancel: CancelToken) -> ListWatchStream:
        """The state now, then what changes, for ever."""
        return list_and_watch(
            self.resource,
            client=self.client,
            namespace=self.namespace,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            view=self.view,
            backoff=BACKOFF,
            cancel=cancel,
        )


class Follower:
    """Follows one subject: gives the events, and tells the log of trouble that is waited out."""

    def __init__(self, subject: Subject, cancel: CancelToken) -> None:
        self._name = plural_of(subject.resource)
        self._last_seen = LastSeen()
        self._begun = False
        self._troubled = False
        self._refused = False
        self._stream = subject.follow(cancel)

    def events(self) -> Iterator[WatchEvent]:
        """The state as ADDED events that are ``initial``, SYNCED, then changes; what a later list finds are changes,
        too, with SYNCED behind them. It ends when it is cancelled; `WatchError` for what waiting will not mend.
        """
        with self._stream as stream:
            for event in stream:
                if event.error is not None:
                    self._trouble(event.error)
                    continue
                self._begun = self._begun or event.type is EventType.SYNCED
                self._recovered()
                shown = None if event.type is EventType.BOOKMARK else self._decoded(event)
                if shown is not None:
                    yield self._last_seen.completed(shown)

    def _decoded(self, event: WatchEvent) -> WatchEvent | None:
        """The event, whose object can be read from here on. Of what cannot be decoded the deletion alone is told."""
        try:
            _ = event.object
            return event
        except ValueError as error:
            log.warning("%s: %s of an object is left out: %s", self._name, event.type, error)
        if event.type is not EventType.DELETED:
            return None
        metadata = {**event.key._asdict(), "resourceVersion": event.resource_version}
        return WatchEvent(event.type, {"metadata": metadata}, event.resource_version, final_state_unknown=True)

    def look(self) -> None:
        """Tell when trouble is over, also where nothing changes. For another thread."""
        if self._troubled and self._stream.is_connected:
            self._recovered()

    def _trouble(self, error: WatchError) -> None:
        if self._is_final(error):
            raise error
        if error.is_expired:
            log.info("%s: the version is too old (410), so the list is read anew", self._name)
        else:
            self._troubled = True
            log.warning("%s: %s; trying again%s", self._name, brief(error), self._advice(error))

    def _advice(self, error: WatchError) -> str:
        """A credential that is refused for once may be taken the next time, and may need somebody to renew it."""
        if error.status_code != 401 or self._refused:
            return ""
        self._refused = True
        return f" (or {LOG_IN_AGAIN})"

    def _is_final(self, error: WatchError) -> bool:
        """At the start nobody waits for what may last; later everything may come back, even a kind that was removed."""
        if self._begun:
            return error.is_permanent and error.status_code != 404
        if error.is_permanent or error.status_code in (401, 403, 407) or 300 <= error.status_code < 400:
            return True
        return error.origin not in (ErrorOrigin.HTTP, ErrorOrigin.STREAM)

    def _recovered(self) -> None:
        if self._troubled:
            self._troubled = self._refused = False
            log.warning("%s: following again", self._name)
