"""Let nothing be logged by the clouds' libraries on this thread: they show requests and answers, which hold secrets."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

_LIBRARIES = ("azure", "botocore", "google", "msal", "requests", "urllib3")

_here = threading.local()


def _may_pass(record: logging.LogRecord) -> bool:  # noqa: ARG001
    return not getattr(_here, "silent", False)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """For the length of a block, on this thread; whatever they log on others is logged.

    The loggers keep their filter, and it is one for all: while one is taken away, a logger that is just asking its
    filters on another thread would skip the next.
    """
    for logger in _loggers():
        logger.addFilter(_may_pass)  # which knows whether it is there
    before = getattr(_here, "silent", False)
    _here.silent = True
    try:
        yield
    finally:
        _here.silent = before


def _loggers() -> list[logging.Logger]:
    """Those that there are; a library makes its loggers when it is imported."""
    names = list(logging.Logger.manager.loggerDict)
    return [logging.getLogger(name) for name in names if name.partition(".")[0] in _LIBRARIES]
