"""A cache that equals the server, and handlers that are told of what changes in it."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType

from kwsync import _clock
from kwsync._backoff import Backoff
from kwsync._cache import Cache
from kwsync._callbacks import ErrorCallback, EventCallback
from kwsync._client import Client
from kwsync._following import PAGE_SIZE, Following, follow_options
from kwsync._handlers import Handler, HandlerRegistration, checked_callbacks, checked_resync
from kwsync._hub import Hub
from kwsync._indexes import Indexer, checked_indexers
from kwsync._intake import Intake, Transform
from kwsync._keeper import Keeper
from kwsync._latch import Latch
from kwsync._packing import Packing
from kwsync._query import MAX_LINE_BYTES, FieldSelector, LabelSelector
from kwsync._reporter import Reporter
from kwsync._resources import Resource
from kwsync._run import InformerStatus, Run, Source, status_of
from kwsync._single import SingleThread
from kwsync._store import Store
from kwsync.errors import ErrorOrigin, WatchError, local_error

log = logging.getLogger("kwsync.informer")

EXIT_SECONDS = 10.0
"""How long leaving a ``with`` block waits for a callback that is still busy."""


_informers: weakref.WeakSet[Informer] = weakref.WeakSet()
"""So that a forked child can let go of their locks."""


class Informer:
    """Keeps the objects of one kind as the server has them, and tells handlers what changes.

        informer = Informer("pods", namespace="default")
        informer.add_handler(on_added=..., on_modified=..., on_deleted=...)
        with informer:
            informer.wait_synced(30)
            informer.store.get("default/web-1")

    It follows as `list_and_watch` does, with the same options (but for *resource_version* and *emit_initial*: it needs
    a full state).

    Args:
        indexers: functions by name, each of which gives, for an object, the values by which `Store.by_index` finds it:
            any number of strings. One that raises is reported, and that object is then not in that index.
        transform: is given each new state of an object, once, and gives what is to be kept of it. Where it raises, the
            error is reported and nothing is kept: an object that was there counts as gone, until it can be transformed.
        resync: seconds after which every handler is told again of all objects, as MODIFIED with equal states; no
            request is made for it.
        compress: keep the objects compressed, with a dictionary that is trained when there are 500 of them; fewer are
            kept as they are. It needs the extra ``kwsync[zstd]``; ConfigError without it.
        on_error: gets a `WatchError` for each failure of the server or the way to it (after which the informer goes
            on), and with origin CALLBACK for whatever a function of yours raises, even SystemExit. It is called on the
            thread where that happened, so perhaps on several at once; without it, errors are logged.

    *Indexers*, *transform* and most of *on_error* run on the reading thread, which they hold up.

    **Restarts.** After `stop` and `join` it may be started again. The store stays as it was, readable at any time,
    until the new list has come; handlers are then told of what changed meanwhile, and nothing twice.

    **Forks.** In a forked child the store stays what it was, nothing runs, and `start` raises; one that had not been
    started before may be started there.
    """

    def __init__(
        self,
        resource: str | Resource,
        *,
        client: Client | None = None,
        namespace: str | None = None,
        name: str | None = None,
        label_selector: LabelSelector | None = None,
        field_selector: FieldSelector | None = None,
        view: str = "object",
        page_size: int | None = PAGE_SIZE,
        timeout_seconds: int | None = None,
        watch_list: bool = False,
        backoff: Backoff | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
        cancel: threading.Event | None = None,
        indexers: Mapping[str, Indexer] | None = None,
        transform: Transform | None = None,
        resync: float | None = None,
        compress: bool = False,
        on_error: ErrorCallback | None = None,
    ) -> None:
        self._options = follow_options(
            resource,
            client=client,
            namespace=namespace,
            name=name,
            label_selector=label_selector,
            field_selector=field_selector,
            view=view,
            page_size=page_size,
            timeout_seconds=timeout_seconds,
            watch_list=watch_list,
            backoff=backoff,
            max_line_bytes=max_line_bytes,
            cancel=cancel,
        )
        self._name = str(resource)
        self._resync_seconds = checked_resync(resync)
        self._reporter = Reporter(f"informer of {self._name}", on_error)
        self._indexers = checked_indexers(indexers)
        self._cache = Cache(self._indexers)
        self._hub = Hub(self._cache, self._may_tell)
        intake = Intake(transform, self._indexers, self._reporter, Packing().pack if compress else None)
        self._keeper = Keeper(self._cache, self._hub, intake, self._note)
        self._store = Store(self._cache)
        self._synced = Latch(self._may_tell)
        self._indexing = threading.RLock()
        self._reader = SingleThread(f"kwsync-informer-{self._name}")
        self._run: Run | None = None
        self._last_error: WatchError | None = None
        _informers.add(self)

    @property
    def store(self) -> Store:
        """The objects."""
        return self._store

    def add_indexers(self, indexers: Mapping[str, Indexer]) -> None:
        """Further *indexers*, before the first start; RuntimeError after it.

        ValueError where one of the names belongs to another function; nothing is then added (B067).
        """
        given = checked_indexers(indexers)
        with self._indexing:
            taken = [name for name, function in given.items() if self._indexers.get(name, function) != function]
            if taken:
                raise ValueError(f"there is another indexer of this name: {', '.join(taken)}")
            if given.keys() <= self._indexers.keys():
                return
            if self._run is not None:
                raise RuntimeError("indexers come too late: the informer has been started")
            self._indexers.update(given)
            self._cache.set_indexes(self._indexers)

    # Handlers

    def add_handler(
        self,
        on_added: EventCallback | None = None,
        on_modified: EventCallback | None = None,
        on_deleted: EventCallback | None = None,
        on_synced: EventCallback | None = None,
    ) -> HandlerRegistration:
        """Call back for each change, from now on and at any time: also after `start`, also in a callback.

        Each callback gets one `WatchEvent`. First every object that there is comes as ADDED with ``initial=True``,
        then SYNCED once, then the changes: none is missed and none comes twice. MODIFIED has the state before in
        ``old_object``, and so has DELETED. A DELETED that nobody saw has the last known state, and
        ``final_state_unknown``; an object that was made anew under the same name is DELETED and ADDED. An object is
        decoded when it is first looked at, and is the handler's own.

        All callbacks of one handler are called one after another on a daemon thread of their own, never under a lock.
        What is in the store is never older than what a handler is being told. One that is slow holds up nobody: what
        happens to an object before the handler is told of it is told as one thing, and the last state always comes
        (see `HandlerRegistration.pending`). What a callback raises goes to *on_error*.
        """
        callbacks = checked_callbacks(on_added, on_modified, on_deleted, on_synced)
        name = f"kwsync-handler-{self._name}"
        handler = Handler(name, callbacks, self._hub, self._reporter, self._resync_seconds)
        self._hub.add(handler)
        return HandlerRegistration(handler)

    # Life

    def start(self) -> None:
        """Start the reading thread. RuntimeError while it runs, and in a child of the process that started it; OSError
        where the system has no thread to give.
        """
        if not self._start():
            raise RuntimeError("this Informer runs already")

    def _start(self) -> bool:
        """As `start`, but False while it runs."""
        before = self._run
        if before is not None and not before.is_ours:
            raise RuntimeError("this Informer was started before a fork: make a new one in the child")
        if self._reader.is_alive:
            return self._refuse()
        run = Run(self._source(), self._cache)
        try:
            if not self._reader.start(lambda: self._read(run), lambda: self._begin(run)):
                return self._refuse()
        except BaseException:
            run.stop()  # what is interrupted has not happened, even where the thread has begun
            if self._run is run and not self._reader.is_alive:
                self._run = before
                self._let_go()
            raise
        self._hub.wake()
        return True

    def _refuse(self) -> bool:
        run = self._run
        if run is not None and run.stopping:
            raise RuntimeError("this Informer is still ending: join() it first")
        return False

    def _begin(self, run: Run) -> None:
        self._run = run
        self._synced.is_open = False
        self._cache.live()

    def stop(self) -> None:
        """End it, and return at once; before a start it does nothing. From any thread, a callback or a signal handler.

        No callback is called any more, but for those that are being called: `join` waits for them. What handlers have
        not been told yet, they are told after another start.
        """
        run = self._run
        if run is not None:
            run.stop()

    def join(self, timeout: float | None = None) -> bool:
        """Wait, at most *timeout* seconds, until the reading thread has ended and no callback is being called any more.

        True when it does not run (any more). RuntimeError in a callback, which would wait for itself.
        """
        if self._is_own_thread():
            raise RuntimeError("a callback cannot wait for its own end")
        end = _clock.deadline(timeout)
        ended = self._reader.join(timeout)
        return ended and all(handler.join(_clock.seconds_left(end)) for handler in self._hub.handlers)

    def __enter__(self) -> Informer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        self._leave(_clock.deadline(EXIT_SECONDS))

    def _leave(self, end: float | None) -> None:
        """Wait, except in a callback."""
        if not self._is_own_thread() and not self.join(_clock.seconds_left(end)):
            log.warning("%s: a callback has been busy for %s s since stop()", self._name, EXIT_SECONDS)

    def __repr__(self) -> str:
        return f"<Informer {self._name} {'running' if self._may_tell() else 'not running'} {len(self._cache)} objects>"

    # How it is

    def wait_synced(self, timeout: float | None = None) -> bool:
        """Wait until the store holds a full state that was read since the last start.

        False after *timeout* seconds, and at once when the informer does not run (any more): then see `last_error`.
        """
        return self._synced.wait(timeout) and self._may_tell()

    def is_alive(self) -> bool:
        """Does the reading thread run in this process?"""
        return self._reader.is_alive

    def healthy(self) -> bool:
        """As `InformerStatus.healthy`, for a probe. A server that has gone silent is seen by `last_activity` only."""
        return self.status.healthy

    @property
    def last_activity(self) -> float | None:
        """As `InformerStatus.last_activity`."""
        return self.status.last_activity

    @property
    def last_error(self) -> WatchError | None:
        """The last failure of the server or the way to it, which may be long over; None where there was none."""
        return self._last_error

    @property
    def status(self) -> InformerStatus:
        """How it is now."""
        return status_of(self._run, self._cache, self._last_error)

    def _may_tell(self) -> bool:
        run = self._run
        return run is not None and not run.stopping

    def _is_own_thread(self) -> bool:
        return self._reader.is_current() or any(handler.is_own_thread() for handler in self._hub.handlers)

    # On the reading thread

    def _source(self) -> Source:
        return Following(self._options)

    def _read(self, run: Run) -> None:
        try:
            for step in run.source.steps():
                self._keeper.take(step)
                if not self._synced.is_open and run.has_full_state:
                    self._synced.open()
                del step
        except BaseException as broken:
            with suppress(Exception):  # a handler of the user's logging
                log.exception("%s: the reading thread is broken, which is a mistake of kwsync", self._name)
            self._note(local_error(ErrorOrigin.DECODE, f"the reading thread is broken: {broken!r}"))
        finally:
            run.stopping = True
            self._keeper.forget()
            self._let_go()

    def _let_go(self) -> None:
        """Nobody reads any more: let go of those who wait for it."""
        self._cache.end()
        self._synced.look()
        self._hub.wake()

    def _note(self, error: WatchError) -> None:
        self._last_error = error
        self._reporter(error)

    def _abandon(self) -> None:
        if self._run is not None:
            self._run.stopping = True
        self._indexing = threading.RLock()
        self._reader.abandon()
        self._synced.abandon()
        self._cache.abandon()
        self._hub.abandon()


def _forget_after_fork() -> None:
    for informer in list(_informers):
        informer._abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
