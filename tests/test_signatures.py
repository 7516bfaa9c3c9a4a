"""One list of options, wherever it is written out for people and type checkers to read."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

import kwsync
from kwsync.typing import WatchResource

CALLBACKS = {"on_event", "on_added", "on_modified", "on_deleted", "on_bookmark", "on_synced", "on_error", "on_end"}


def options(function: Callable[..., object]) -> dict[str, tuple[object, object]]:
    """The parameters by name: kind and annotation."""
    found = inspect.signature(function).parameters
    return {name: (each.kind, each.annotation) for name, each in found.items() if name != "self"}


def defaults(function: Callable[..., object]) -> dict[str, object]:
    """The parameters' defaults, where the value is written out."""
    found = inspect.signature(function).parameters
    return {name: each.default for name, each in found.items() if each.default is not ...}


def test_protocol() -> None:
    """The protocol for a fake of watch_resource takes what watch_resource takes."""
    assert options(WatchResource.__call__) == options(kwsync.watch_resource)


def test_thread() -> None:
    """WatchThread takes what watch_resource takes, with the same defaults, and what is its own."""
    thread, watch = options(kwsync.WatchThread.__init__), options(kwsync.watch_resource)
    assert {name: thread.get(name) for name in watch} == watch
    assert thread.keys() - watch.keys() == {"reconnect", "thread_name", *CALLBACKS}
    assert defaults(kwsync.WatchThread.__init__).items() >= defaults(kwsync.watch_resource).items()


@pytest.mark.parametrize("name", sorted(CALLBACKS))
def test_decorators(name: str) -> None:
    """Each callback has a decorator of its name."""
    assert callable(getattr(kwsync.WatchThread, name))
