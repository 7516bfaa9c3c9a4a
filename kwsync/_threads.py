"""The only creator of threads: each is named (stack dumps tell what it is) and a daemon (it never keeps a process)."""

from __future__ import annotations

import errno
import sys
import threading
from collections.abc import Callable


def make_thread(target: Callable[[], None], name: str) -> threading.Thread:
    """A thread that has not started yet. Names of kwsync's own begin with ``kwsync-``."""
    return threading.Thread(target=target, name=name, daemon=True)


def start_thread(target: Callable[[], None], name: str) -> threading.Thread:
    """A thread that runs; OSError where the system has none to give, which Python tells as a bare RuntimeError."""
    thread = make_thread(target, name)
    start(thread)
    return thread


def start(thread: threading.Thread) -> None:
    """Start a thread that was made; OSError as above, and what a signal handler raises in the middle of it."""
    outside = sys.exc_info()[1]
    try:
        thread.start()
    except RuntimeError as error:
        inside = error.__context__
        if inside is not None and inside is not outside:  # it struck where Python's own clean-up fails over it
            raise inside from None
        raise OSError(errno.EAGAIN, "no further thread can be started") from None
