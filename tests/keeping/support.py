"""Steps made by hand, an informer that reads them, and handlers that note what they are told."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kwsync import EventType, Informer, Store, WatchError, WatchEvent
from kwsync._cache import Cache
from kwsync._hub import Hub
from kwsync._intake import Intake
from kwsync._keeper import Keeper
from kwsync._records import Change, Page, Record, record_of
from kwsync.errors import ErrorOrigin, local_error
from kwsync.testing import pod

LIMIT = 10.0
"""No wait here lasts longer, in seconds; one that does fails its test."""

AT_ONCE = 1.0
"""What "at once" may take on a busy machine."""

Document = dict[str, Any]


def wait_until(predicate: Callable[[], bool], what: str, limit: float = LIMIT) -> None:
    """Look again and again; AssertionError after *limit* seconds."""
    end = time.monotonic() + limit
    pause = threading.Event()
    while not predicate():
        assert time.monotonic() < end, f"waited {limit} s for {what}"
        pause.wait(0.001)


@contextmanager
def in_background(
    work: Callable[[], object], name: str = "background", limit: float = LIMIT
) -> Iterator[threading.Thread]:
    """Run *work* beside the block, which waits for its end; what it raises is raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised again
            raised.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    yield thread
    thread.join(limit)
    assert not thread.is_alive(), f"{name} did not end"
    if raised:
        raise raised[0]


# Steps


def kept(document: Document) -> Record:
    """The record of an object."""
    record = record_of(document)
    assert record is not None
    return record


def change(kind: str, document: Document) -> Change:
    """One change of a watch."""
    return Change(EventType(kind), kept(document))


def added(name: str, version: str, **more: Any) -> Change:
    """A pod has come."""
    return change("ADDED", pod(name, version, **more))


def modified(name: str, version: str, **more: Any) -> Change:
    """A pod has changed."""
    return change("MODIFIED", pod(name, version, **more))


def deleted(name: str, version: str, **more: Any) -> Change:
    """A pod is gone."""
    return change("DELETED", pod(name, version, **more))


def bookmark(version: str) -> Change:
    """Nothing has changed until here."""
    return Change(EventType.BOOKMARK, None, version=version)


def failure(message: str = "no answer") -> Change:
    """The server failed."""
    return Change(EventType.ERROR, None, error=local_error(ErrorOrigin.NETWORK, message))


def page(version: str, *documents: Document, first: bool = True, last: bool = True, rewound: bool = False) -> Page:
    """A page of a list, or the whole of it."""
    return Page([change("ADDED", each) for each in documents], first, last, version, rewound)


# What is told


class Told:
    """A handler that notes what it is told, and may be held up."""

    def __init__(self) -> None:
        self.events: list[WatchEvent] = []
        self.threads: set[threading.Thread] = set()
        self.go_on = threading.Event()
        self.go_on.set()
        self.entered = threading.Event()

    def __call__(self, event: WatchEvent) -> None:
        """Note one event."""
        self.events.append(event)
        self.threads.add(threading.current_thread())
        self.entered.set()
        assert self.go_on.wait(LIMIT), "nobody let the handler go on"

    @property
    def callbacks(self) -> dict[str, Callable[[WatchEvent], None]]:
        """For `Informer.add_handler`."""
        return dict.fromkeys(("on_added", "on_modified", "on_deleted", "on_synced"), self)

    @property
    def short(self) -> list[str]:
        """Each event as ``ADDED a 1``, with what is special about it; ``a 1>2`` for a state and the one before."""
        return [shortened(event) for event in list(self.events)]

    def wait(self, count: int) -> list[str]:
        """Wait until so many events have come."""
        wait_until(lambda: len(self.events) >= count, f"{count} events; there are {self.short}")
        return self.short


def shortened(event: WatchEvent) -> str:
    """An event in few words."""
    if event.type is EventType.SYNCED:
        return "SYNCED"
    old = event.old_object and f"{event.old_object['metadata']['resourceVersion']}>"
    marks = f"{' initial' if event.initial else ''}{' unknown' if event.final_state_unknown else ''}"
    return f"{event.type} {event.key.name} {old or ''}{event.resource_version}{marks}"


def known(told: Told) -> dict[str, str | None]:
    """What a handler knows by what it was told; it checks that each event fits to what was known before."""
    found: dict[str, str | None] = {}
    for event in list(told.events):
        name = event.key.name
        if event.type is EventType.ADDED:
            assert name not in found, f"ADDED twice: {told.short}"
        elif event.type is not EventType.SYNCED:
            assert event.old_object is not None
            assert event.old_object["metadata"]["resourceVersion"] == found[name]
        if event.type is EventType.DELETED:
            del found[name]
        elif event.type is not EventType.SYNCED:
            found[name] = event.resource_version
    return found


# Without threads


class Kept:
    """A keeper with its cache and store, and all errors."""

    def __init__(self, transform: Callable[[Document], Document] | None = None, **indexers: Any) -> None:
        self.errors: list[WatchError] = []
        self.cache = Cache(indexers)
        self.cache.live()
        self.store = Store(self.cache)
        intake = Intake(transform, indexers, self.errors.append)
        self.keeper = Keeper(self.cache, Hub(self.cache, lambda: False), intake, self.errors.append)

    def take(self, *steps: Page | Change) -> Store:
        """Apply the steps."""
        for step in steps:
            self.keeper.take(step)
        return self.store

    def state(self) -> dict[str, str]:
        """The versions by name."""
        return {record.key.name: record.version for record in self.cache.records()}


# With threads


class Script:
    """A source whose steps a test gives; an exception among them is raised on the reading thread."""

    is_connected = True
    last_activity = 0.0

    def __init__(self) -> None:
        self._steps: queue.SimpleQueue[Page | Change | BaseException | None] = queue.SimpleQueue()
        self._given = 0
        self._taken = 0
        self._changed = threading.Condition()

    def steps(self) -> Iterator[Page | Change]:
        """All that is given, until `interrupt`."""
        while (step := self._steps.get()) is not None:
            if isinstance(step, BaseException):
                raise step
            yield step
            with self._changed:
                self._taken += 1
                self._changed.notify_all()

    def interrupt(self) -> None:
        """End them."""
        self._steps.put(None)

    def put(self, *steps: Page | Change | BaseException) -> None:
        """Give further steps."""
        for step in steps:
            self._given += 1
            self._steps.put(step)

    def give(self, *steps: Page | Change) -> None:
        """Give further steps, and wait until they have been dealt with."""
        self.put(*steps)
        with self._changed:
            done = self._changed.wait_for(lambda: self._taken >= self._given, LIMIT)
        assert done, f"{self._taken} of {self._given} steps were dealt with"


class ByHand(Informer):
    """An informer of pods whose steps are made by hand; each start has a script of its own."""

    def __init__(self, **options: Any) -> None:
        self.errors: list[WatchError] = []
        super().__init__("pods", **{"on_error": self.errors.append, **options})
        self.script = Script()

    def _source(self) -> Script:
        self.script = Script()
        return self.script

    def give(self, *steps: Page | Change) -> None:
        """Give steps, and wait until they have been dealt with."""
        self.script.give(*steps)

    def tell(self, **more: Any) -> Told:
        """A handler that notes everything."""
        told = Told()
        self.add_handler(**{**told.callbacks, **more})
        return told


@contextmanager
def by_hand(*steps: Page | Change, **options: Any) -> Iterator[ByHand]:
    """A running informer that has dealt with these steps; it has to end well."""
    informer = ByHand(**options)
    informer.start()
    try:
        informer.give(*steps)
        yield informer
    finally:
        informer.stop()
        assert informer.join(LIMIT), "it did not end"
