"""The suite's own net: what a test leaves behind is named, and nothing reaches another machine."""

import socket
import threading

import pytest

from kwsync._cancel import Guard, poller
from tests.leaks import leaks_since, snapshot


@pytest.mark.parametrize("daemon", [True, False])
def test_thread(daemon: bool) -> None:
    """A thread that outlives its grace is named, whoever made it; one that has ended is not."""
    release = threading.Event()
    before = snapshot()
    thread = threading.Thread(target=assert_set, args=(release,), name="left-over", daemon=daemon)
    thread.start()
    try:
        assert leaks_since(before, grace=0.0) == ["thread left-over"]
    finally:
        release.set()
        thread.join(5)
    assert leaks_since(before) == []


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
