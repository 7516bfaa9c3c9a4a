"""The suite's own net: what a test leaves behind is named, and nothing reaches another machine."""

import socket
import threading

import pytest

from kwsync._cancel import Guard, poller
from kwsync._threads import make_thread
from tests.leaks import leaks_since, snapshot


def test_thread() -> None:
    """A thread of kwsync that outlives its grace is named; one that has ended is not."""
    release = threading.Event()
    before = snapshot()
    thread = make_thread(lambda: assert_set(release), "left-over")
    thread.start()
    try:
        assert leaks_since(before, grace=0.0) == ["thread kwsync-left-over"]
    finally:
        release.set()
        thread.join(5)
    assert leaks_since(before) == []


def test_foreign_thread() -> None:
    """A daemon that is not of kwsync is somebody else's; a thread that keeps the process is not excused."""
    release = threading.Event()
    before = snapshot()
    threads = [
        threading.Thread(target=assert_set, args=(release,), name=name, daemon=name == "daemon")
        for name in ("daemon", "keeper")
    ]
    for thread in threads:
        thread.start()
    try:
        assert leaks_since(before, grace=0.0) == ["thread keeper"]
    finally:
        release.set()
        for thread in threads:
            thread.join(5)


def test_socket() -> None:
    """An open socket is named by its addresses, also when a closed one had the same descriptor before."""
    old = socket.create_server(("127.0.0.1", 0))
    before = snapshot()
    old.close()
    with socket.create_server(("127.0.0.1", 0)) as server:
        (leak,) = leaks_since(before)
        assert f"laddr={server.getsockname()}" in leak
    assert leaks_since(before) == []


def test_registration() -> None:
    """An event that the poller still looks at is counted."""
    guard = Guard()
    before = snapshot()
    poller.register(guard, threading.Event())
    try:
        assert leaks_since(before, grace=0.0)[-1] == "1 registered cancel events"
    finally:
        poller.unregister(guard)
    assert leaks_since(before) == []


@pytest.mark.parametrize("address", ["192.0.2.1", "10.0.0.1"])
def test_other_machines(address: str) -> None:
    """A connection to anything but loopback is refused before a packet leaves."""
    with socket.socket() as client, pytest.raises(RuntimeError, match="loopback addresses only"):
        client.connect((address, 443))


def assert_set(event: threading.Event) -> None:
    """Wait for an event, but not for ever."""
    assert event.wait(30), "nobody released the thread"
