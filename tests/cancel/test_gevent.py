"""Under gevent, patched before the import, everything is a greenlet and works all the same."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from kwsync.testing import End, Event, Head, ScriptedServer, Stall, StallUntil, pod
from tests.cancel.support import AT_ONCE, LIMIT, POLLED, authority, in_background, plain_and_tls, serving

pytest.importorskip("gevent", reason="needs gevent: pip install 'kwsync[test]'")

ROOT = Path(__file__).parents[2]


def run(case: str, server: ScriptedServer, folder: Path) -> dict[str, Any]:
    """Run one case of the program against a server of this process."""
    trust = [str(authority().write(folder))] if server.url.startswith("https") else []
    command = [sys.executable, "-m", "tests.cancel.gevent_program", case, server.url, *trust]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3 * LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@plain_and_tls
def test_reads(secure: bool, tmp_path: Path) -> None:
    """A watch gives its events, and other greenlets run while it waits."""
    go = threading.Event()
    script = [Head(), Event("ADDED", pod("a")), StallUntil(go), Event("ADDED", pod("b")), End()]
    with serving(script, secure=secure) as (server, _):

        def release() -> None:
            server.wait_for_requests(1, LIMIT)
            go.wait(0.2)
            go.set()

        with in_background(release):
            seen = run("read", server, tmp_path)
    assert (seen["names"], seen["end"]) == (["a", "b"], "SERVER_CLOSED")
    assert seen["ticks"] > 5


@pytest.mark.parametrize("way", ["token", "event", "close"])
@plain_and_tls
def test_ends(way: str, secure: bool, tmp_path: Path) -> None:
    """Another greenlet ends a watch that waits: at once, a plain event within 100 ms; the server sees it."""
    with serving([Head(), Event("ADDED", pod("a")), Stall()], secure=secure) as (server, _):
        seen = run(f"end:{way}", server, tmp_path)
        server.wait_for_disconnect(LIMIT)
    assert (seen["names"], seen["end"]) == (["a"], "CLOSED" if way == "close" else "CANCELLED")
    assert seen["seconds"] < (POLLED if way == "event" else AT_ONCE)


@plain_and_tls
def test_thread(secure: bool, tmp_path: Path) -> None:
    """A WatchThread calls back and stops."""
    with serving([Head(), Event("ADDED", pod("a")), Stall()], secure=secure) as (server, _):
        seen = run("thread", server, tmp_path)
        server.wait_for_disconnect(LIMIT)
    assert seen == {"names": ["a"], "came": True, "healthy": True, "end": "CLOSED"}


def test_many(tmp_path: Path) -> None:
    """Many watches share the one thread that there is."""
    with serving(default=[Head(), Event("ADDED", pod("a")), Stall()]) as (server, _):
        seen = run("many", server, tmp_path)
        server.wait_for_disconnect(LIMIT, 20)
    assert seen == {"first": 20, "rest": 0, "ends": ["CANCELLED"]}
