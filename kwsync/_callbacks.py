"""Functions of a user's: what they are called with, and what becomes of what they raise. Pure."""

from __future__ import annotations

from collections.abc import Callable

from kwsync._events import WatchEnd, WatchEvent
from kwsync.errors import ErrorOrigin, WatchError, local_error

EventCallback = Callable[[WatchEvent], object]
ErrorCallback = Callable[[WatchError], object]
EndCallback = Callable[[WatchEnd], object]


def callback_error(name: str, raised: BaseException) -> WatchError:
    """The error that tells of what a function raised, which is its ``__cause__``."""
    try:
        text = f"{type(raised).__name__}: {raised}"
    except BaseException:  # noqa: BLE001 - its own __str__ fails, and the stream goes on all the same
        text = type(raised).__name__
    error = local_error(ErrorOrigin.CALLBACK, f"{name} raised {text}")
    error.__cause__ = raised
    return error
