"""Fails a test that leaves a thread, a socket or a registration behind; tests/conftest.py loads this as a plugin.

The snapshot lies behind the fixtures of the session and before those of the test, which therefore have to clean up too.
A test that failed anyway is left alone: its traceback keeps alive what it was using.
"""

import gc
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from kwsync import _cancel

GRACE = 2.0  # seconds that a thread may take to end
FD_FOLDER = "/dev/fd"  # on Linux and macOS

_failed = pytest.StashKey[bool]()


class Snapshot(NamedTuple):
    """What this process holds at one moment."""

    threads: frozenset[threading.Thread]
    sockets: dict[tuple[int, int], int]
    """File descriptors by the identity of the socket, since the numbers are used again."""
    registered: int


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember whether the test failed."""
    report = yield
    if call.excinfo is not None:
        item.stash[_failed] = True
    return report


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compare what is there after the test and its fixtures with what was there before."""
    before = snapshot()
    yield
    if request.node.get_closest_marker("leaks_ok") is None and not request.node.stash.get(_failed, False):
        leaked = leaks_since(before)
        if leaked:
            pytest.fail("left behind: " + "; ".join(leaked), pytrace=False)


def snapshot() -> Snapshot:
    """What this process holds now."""
    return Snapshot(frozenset(threading.enumerate()), open_sockets(), _cancel.poller.registered)


def leaks_since(before: Snapshot, grace: float = GRACE) -> list[str]:
    """Say what is there now and was not before, after *grace* seconds at most."""
    threads = _surviving(before.threads, grace)
    if open_sockets().keys() - before.sockets:
        gc.collect()  # reference cycles may hold some; one that is collected unclosed warns, and warnings are errors
    sockets = [describe(fd) for identity, fd in open_sockets().items() if identity not in before.sockets]
    registered = _cancel.poller.registered - before.registered
    return [
        *(f"thread {thread.name}" for thread in threads),
        *sockets,
        *([f"{registered} registered cancel events"] if registered > 0 else []),
    ]


def open_sockets() -> dict[tuple[int, int], int]:
    """The open sockets of this process; none where the system does not list them."""
    found = {}
    for name in os.listdir(FD_FOLDER) if os.path.isdir(FD_FOLDER) else ():
        try:
            status = os.fstat(int(name))
        except OSError:  # it was the descriptor of the listing itself
            continue
        if stat.S_ISSOCK(status.st_mode):
            found[status.st_dev, status.st_ino] = int(name)
    return found


def describe(fd: int) -> str:
    """Tell an open socket by its addresses."""
    try:
        with socket.socket(fileno=os.dup(fd)) as duplicate:
            return repr(duplicate).replace("<socket.socket ", "<socket ")
    except OSError as error:
        return f"<socket fd={fd}: {error}>"


def _surviving(before: frozenset[threading.Thread], grace: float) -> list[threading.Thread]:
    """New threads that do not end in time."""
    end = time.monotonic() + grace
    new = [thread for thread in threading.enumerate() if thread not in before]
    for thread in new:
        thread.join(max(0.0, end - time.monotonic()))
    return [thread for thread in new if thread.is_alive()]
