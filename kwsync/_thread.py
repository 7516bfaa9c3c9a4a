"""A watch on a thread of its own, and callbacks for what it tells."""

from __future__ import annotations

import inspect
import logging
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from kwsync import _threads
from kwsync._backoff import Backoff
from kwsync._callbacks import EndCallback, ErrorCallback, EventCallback, callback_error
from kwsync._client import Client
from kwsync._events import EndReason, EventType, WatchEnd, WatchEvent
from kwsync._following import PAGE_SIZE
from kwsync._listwatch import list_and_watch
from kwsync._query import MAX_LINE_BYTES, FieldSelector, LabelSelector
from kwsync._resources import Resource
from kwsync._watch import watch_resource

log = logging.getLogger("kwsync.thread")

EXIT_SECONDS = 10.0
"""How long leaving a ``with`` block waits for a callback that is still busy."""

_C = TypeVar("_C", bound=Callable[..., object])

_CALLBACK_OF = {
    EventType.ADDED: "on_added",
    EventType.MODIFIED: "on_modified",
    EventType.DELETED: "on_deleted",
    EventType.BOOKMARK: "on_bookmark",
    EventType.SYNCED: "on_synced",
}


class WatchThread:
    """Watches on a daemon thread and calls back.

    The options are those of `list_and_watch`, which follows for ever and loses nothing. With ``reconnect=False`` it is
    one stream of `watch_resource` instead, with the options of that one, and the end of the stream is the thread's.

    **Callbacks** are called one after another on the watch's own thread, never under a lock, each with one argument:
    *on_event* with every `WatchEvent`, before the one for its type (*on_added*, *on_modified*, *on_deleted*,
    *on_bookmark*, *on_synced*); *on_error* with a `WatchError`; *on_end* once with a `WatchEnd`, at the thread's end.
    Each name is also a decorator (``@thread.on_added``), used before `start`; a second callback for one name raises.
    What a callback raises, even SystemExit, goes to *on_error* with origin CALLBACK and ends nothing; what *on_error*
    and *on_end* raise is only logged, and so are errors where there is neither *on_error* nor *on_event*. A callback
    that takes long holds up the next, and in the end the server.

    **Ending.** `stop` may be called from a callback, a signal handler, any thread, before `start`, and twice.

    **Forks.** A thread does not live on in a forked child: `is_alive` and `healthy` are False there and `start` raises.
    With pre-forking servers (gunicorn, Celery) start it in the worker; making it before the fork is fine.
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
        resource_version: str | None = None,
        emit_initial: bool = True,
        page_size: int | None = PAGE_SIZE,
        timeout_seconds: int | None = None,
        watch_list: bool = False,
        backoff: Backoff | None = None,
        max_line_bytes: int = MAX_LINE_BYTES,
        cancel: threading.Event | None = None,
        resource_version_match: str | None = None,
        allow_watch_bookmarks: bool | None = None,
        send_initial_events: bool | None = None,
        reconnect: bool = True,
        on_event: EventCallback | None = None,
        on_added: EventCallback | None = None,
        on_modified: EventCallback | None = None,
        on_deleted: EventCallback | None = None,
        on_bookmark: EventCallback | None = None,
        on_synced: EventCallback | None = None,
        on_error: ErrorCallback | None = None,
        on_end: EndCallback | None = None,
        thread_name: str | None = None,
    ) -> None:
        following: dict[str, Any] = {
            "emit_initial": emit_initial,
            "page_size": page_size,
            "watch_list": watch_list,
            "backoff": backoff,
        }
        single: dict[str, Any] = {
            "resource_version_match": resource_version_match,
            "allow_watch_bookmarks": allow_watch_bookmarks,
            "send_initial_events": send_initial_events,
        }
        common: dict[str, Any] = {
            "client": client,
            "namespace": namespace,
            "name": name,
            "label_selector": label_selector,
            "field_selector": field_selector,
            "view": view,
            "resource_version": resource_version,
            "timeout_seconds": timeout_seconds,
            "max_line_bytes": max_line_bytes,
            "cancel": cancel,
        }
        _refuse(single if reconnect else following, reconnect=reconnect)
        self._stream = (
            list_and_watch(resource, **common, **following)
            if reconnect
            else watch_resource(resource, **common, **single)
        )
        self._name = thread_name or f"kwsync-watch-{resource}"
        self._starts: dict[str, tuple[int, threading.Thread]] = {}
        self._end: WatchEnd | None = None
        self._callbacks: dict[str, Callable[..., object]] = {}
        given: dict[str, Callable[..., object] | None] = {
            "on_event": on_event,
            "on_added": on_added,
            "on_modified": on_modified,
            "on_deleted": on_deleted,
            "on_bookmark": on_bookmark,
            "on_synced": on_synced,
            "on_error": on_error,
            "on_end": on_end,
        }
        for key, callback in given.items():
            if callback is not None:
                self._register(key, callback)

    # Registering callbacks

    def on_event(self, callback: _C) -> _C:
        """Decorator: *callback* gets every event, before the one for its type."""
        return self._register("on_event", callback)

    def on_added(self, callback: _C) -> _C:
        """Decorator: *callback* gets each ADDED event."""
        return self._register("on_added", callback)

    def on_modified(self, callback: _C) -> _C:
        """Decorator: *callback* gets each MODIFIED event."""
        return self._register("on_modified", callback)

    def on_deleted(self, callback: _C) -> _C:
        """Decorator: *callback* gets each DELETED event."""
        return self._register("on_deleted", callback)

    def on_bookmark(self, callback: _C) -> _C:
        """Decorator: *callback* gets each BOOKMARK event."""
        return self._register("on_bookmark", callback)

    def on_synced(self, callback: _C) -> _C:
        """Decorator: *callback* gets each SYNCED event: a full state has been told. Only with ``reconnect=True``."""
        return self._register("on_synced", callback)

    def on_error(self, callback: _C) -> _C:
        """Decorator: *callback* gets the `WatchError` of each ERROR event, and of each callback that raised."""
        return self._register("on_error", callback)

    def on_end(self, callback: _C) -> _C:
        """Decorator: *callback* gets the `WatchEnd`, once, as the last thing that the thread does."""
        return self._register("on_end", callback)

    def _register(self, key: str, callback: _C) -> _C:
        if not callable(callback):
            raise TypeError(f"{key} must be callable, not {type(callback).__name__}")
        if self._starts:
            raise RuntimeError(f"{key} comes too late: the thread has been started")
        if key in self._callbacks:
            raise ValueError(f"{key} has a callback already")
        self._callbacks[key] = callback
        return callback

    # Life

    def start(self) -> None:
        """Start the thread; RuntimeError when it has been started before, in this process or before a fork."""
        thread = _threads.make_thread(self._run, self._name)
        first = self._starts.setdefault("first", (os.getpid(), thread))  # atomic: of two callers one is the first
        if first[0] != os.getpid():
            raise RuntimeError("this WatchThread was started before a fork: make a new one in the child")
        if first[1] is not thread:
            raise RuntimeError("a WatchThread can be started only once: make a new one")
        try:
            thread.start()
        except RuntimeError:  # the system has no thread to give: not started, so it may be tried again
            self._starts.clear()
            raise

    def stop(self) -> None:
        """End the watch at once and return at once; `join` waits for the callback that may still run."""
        self._stream.close()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the thread has ended, at most *timeout* seconds. True when it does not run (any more).

        RuntimeError from inside a callback, which would wait for itself.
        """
        thread = self._own_thread()
        if thread is not None:
            thread.join(timeout)
        return not self.is_alive()

    def is_alive(self) -> bool:
        """Does the thread run in this process?"""
        thread = self._own_thread()
        return thread is not None and thread.is_alive()

    def healthy(self) -> bool:
        """Does the thread run, and has its server answered with a watch that is open? For a probe.

        False while it lists, waits or connects. A server that has gone silent since then is not seen: look at
        `last_activity`.
        """
        return self.is_alive() and self._stream.is_connected

    @property
    def last_activity(self) -> float | None:
        """As `WatchStream.last_activity`."""
        return self._stream.last_activity

    @property
    def resource_version(self) -> str | None:
        """As `WatchStream.resource_version`: of the last event that was handed to the callbacks."""
        return self._stream.resource_version

    @property
    def end(self) -> WatchEnd | None:
        """Why it ended; None before."""
        return self._end

    def __enter__(self) -> WatchThread:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        if threading.current_thread() is not self._own_thread() and not self.join(EXIT_SECONDS):
            log.warning("%s: a callback has been busy for %s s since stop()", self._name, EXIT_SECONDS)

    def __repr__(self) -> str:
        state = "running" if self.is_alive() else "new" if not self._starts else "ended"
        return f"<WatchThread {self._name} {state}>"

    def _own_thread(self) -> threading.Thread | None:
        """The thread, where it was started in this process."""
        process, thread = self._starts.get("first", (0, None))
        return thread if process == os.getpid() else None

    # On the thread

    def _run(self) -> None:
        try:
            for event in self._stream:
                self._deliver(event)
        finally:  # also after a mistake of ours, which the interpreter then reports
            self._end = self._stream.end or WatchEnd(EndReason.CLOSED)
            self._call("on_end", self._end)

    def _deliver(self, event: WatchEvent) -> None:
        self._call("on_event", event)
        if event.error is not None:
            if not self._callbacks.keys() & {"on_event", "on_error"}:
                log.warning("%s: %s", self._name, event.error)  # nobody else would tell
            self._call("on_error", event.error)
        else:
            self._call(_CALLBACK_OF[event.type], event)

    def _call(self, key: str, argument: Any) -> None:
        callback = self._callbacks.get(key)
        if callback is None:
            return
        try:
            callback(argument)
        except BaseException as raised:  # SystemExit, too: only stop(), the cancel event or the server end a watch
            if key in ("on_error", "on_end") or "on_error" not in self._callbacks:
                log.exception("%s: %s raised", self._name, key)
                return
            # Not held in this frame, which the traceback of its cause holds: that would be a cycle.
            self._call("on_error", callback_error(key, raised))


def _refuse(options: dict[str, Any], *, reconnect: bool) -> None:
    """ValueError for an option that the other kind of thread has: it would do nothing here."""
    defaults = inspect.signature(WatchThread.__init__).parameters
    for name, value in options.items():
        if value != defaults[name].default:
            raise ValueError(f"{name} has no meaning with reconnect={reconnect}")
