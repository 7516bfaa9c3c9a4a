"""One list of options, wherever it is written out for people and type checkers to read."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

import kwsync
from kwsync.typing import ListAndWatch, WatchResource

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
    """The protocols for fakes of watch_resource and list_and_watch take what those take."""
    assert options(WatchResource.__call__) == options(kwsync.watch_resource)
    assert options(ListAndWatch.__call__) == options(kwsync.list_and_watch)


def test_thread() -> None:
    """WatchThread takes what list_and_watch and watch_resource take, with the same defaults, and what is its own."""
    thread = options(kwsync.WatchThread.__init__)
    given = {**options(kwsync.list_and_watch), **options(kwsync.watch_resource)}
    assert {name: thread.get(name) for name in given} == given
    assert thread.keys() - given.keys() == {"reconnect", "thread_name", *CALLBACKS}
    own = defaults(kwsync.WatchThread.__init__).items()
    assert own >= defaults(kwsync.list_and_watch).items() | defaults(kwsync.watch_resource).items()


def test_informer() -> None:
    """An Informer takes what list_and_watch takes, with the same defaults, but for what is about the first list."""
    without = {"resource_version", "emit_initial"}
    own, given = options(kwsync.Informer.__init__), options(kwsync.list_and_watch)
    assert own.items() >= {name: each for name, each in given.items() if name not in without}.items()
    assert own.keys() - given.keys() == {"indexers", "transform", "resync", "compress", "on_error"}
    assert not own.keys() & without
    expected = {name: value for name, value in defaults(kwsync.list_and_watch).items() if name not in without}
    assert defaults(kwsync.Informer.__init__).items() >= expected.items()


def test_shared_informers() -> None:
    """A shared informer takes what an Informer takes, with the same defaults, but for what is the same for all."""
    shared, one = kwsync.SharedInformers.informer, kwsync.Informer.__init__
    assert options(shared).items() <= options(one).items()
    assert defaults(shared).items() - {("self", inspect.Parameter.empty)} <= defaults(one).items()
    missing = {"client", "on_error"}
    assert options(one).keys() - options(shared).keys() == missing


@pytest.mark.parametrize("name", sorted(CALLBACKS))
def test_decorators(name: str) -> None:
    """Each callback has a decorator of its name."""
    assert callable(getattr(kwsync.WatchThread, name))
