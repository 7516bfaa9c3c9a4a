"""Where errors go that nobody waits for."""

from __future__ import annotations

import logging
from contextlib import suppress

from kwsync._callbacks import ErrorCallback
from kwsync.errors import ErrorOrigin, WatchError

log = logging.getLogger("kwsync.informer")


class Reporter:
    """Tells errors to *on_error*, or to the log where there is none; never fails. From any thread."""

    def __init__(self, name: str, on_error: ErrorCallback | None) -> None:
        if on_error is not None and not callable(on_error):
            raise TypeError(f"on_error must be callable, not {type(on_error).__name__}")
        self._name = name
        self._on_error = on_error

    def __call__(self, error: WatchError) -> None:
        """Report one error."""
        with suppress(Exception):  # what a handler of the user's logging raises ends nothing either
            self._tell(error)

    def _tell(self, error: WatchError) -> None:
        if self._on_error is None:
            raised = error.__cause__ if error.origin is ErrorOrigin.CALLBACK else None
            log.warning("%s: %s", self._name, error, exc_info=raised)
            return
        try:
            self._on_error(error)
        except BaseException:  # SystemExit, too: nothing that a callback raises ends a stream
            log.exception("%s: on_error raised", self._name)
