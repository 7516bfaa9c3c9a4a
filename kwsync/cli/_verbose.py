"""What goes to standard error beside the one sentence of a failure: the log, as far as it is asked for."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kwsync.cli._text import escaped

WIRE = "kwsync.wire"
HEADERS = "kwsync.wire.headers"

LEVELS = (
    {"kwsync": logging.WARNING},
    {"kwsync": logging.INFO},
    {"kwsync": logging.INFO, WIRE: logging.DEBUG, HEADERS: logging.INFO},
    {"kwsync": logging.INFO, WIRE: logging.DEBUG, HEADERS: logging.DEBUG},
)
"""For each number of ``-v``: what interrupts, what is done about it, the request lines, and all headers."""

_LONGEST = 2000
"""Characters of a sentence. Its end tells what to do, so what is too much is taken from its middle."""


class _Lines(logging.Formatter):
    """One safe line for each record; a clock before it where more than warnings are shown."""

    def __init__(self, *, clock: bool) -> None:
        super().__init__("%(asctime)s.%(msecs)03d %(message)s" if clock else "kwsync: %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        return escaped(super().format(record))


@contextmanager
def telling(verbosity: int) -> Iterator[None]:
    """For the length of a command, write kwsync's log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(clock=verbosity > 0))
    wanted = LEVELS[min(verbosity, len(LEVELS) - 1)]
    before = {name: logging.getLogger(name).level for name in wanted}
    logger = logging.getLogger("kwsync")
    logger.addHandler(handler)
    try:
        for name, level in wanted.items():
            logging.getLogger(name).setLevel(level)
        yield
    finally:
        logger.removeHandler(handler)
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def tell_failure(sentence: str) -> None:
    """The one plain sentence of a failure, not longer than somebody may want to read."""
    if len(sentence) > _LONGEST:
        sentence = f"{sentence[: _LONGEST // 2]} … {sentence[-_LONGEST // 2 :]}"
    tell(f"kwsync: {escaped(sentence)}\n")


def tell(text: str) -> None:
    """Write to standard error, where there is one that takes it: what a command does must not depend on it."""
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
