"""Who looks on: an informer with its handlers, and a thread that follows."""

from __future__ import annotations

import random
import threading
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from kwsync import (
    Backoff,
    Client,
    ErrorOrigin,
    HandlerRegistration,
    Informer,
    WatchError,
    WatchEvent,
    WatchThread,
)

from .views import States, View, key_of, state_of

QUICK = Backoff(initial=0.005, cap=0.1, reset_after=1.0)
"""Waits of the ordinary length would make most of the run a wait."""

OPTIONS = {"label_selector": "chaos=true", "backoff": QUICK, "page_size": 50}


def _without_fill(document: dict[str, Any]) -> dict[str, Any]:
    document["data"].pop("fill", None)
    return document


def _namespace_of(document: dict[str, Any]) -> list[str]:
    return [document["metadata"]["namespace"]]


class Observers:
    """An informer with a fast, a slow and now and then a late handler, a second by watch-list, a third with transform
    and index that is restarted now and then, and a WatchThread.
    """

    def __init__(self, client: Client, *, seed: int, window: int = 1, resource: str = "configmaps") -> None:
        self.errors: dict[str, int] = {}
        """Failures that were told, by their kind."""
        self._unexpected: list[str] = []
        self._chance = random.Random(f"{seed}-observers")
        self._views = [View("fast"), View("slow"), View("watch-list"), View("thread"), View("restarted")]
        self._late: tuple[HandlerRegistration, View] | None = None
        self._travels = 0
        options = {**OPTIONS, "timeout_seconds": window, "client": client}
        self.informer = Informer(resource, on_error=self._note, **options)  # type: ignore[arg-type]
        self.second = Informer(resource, on_error=self._note, watch_list=True, **options)  # type: ignore[arg-type]
        self.thread = WatchThread(resource, on_error=self._note, on_event=self._views[3].take, **options)  # type: ignore[arg-type]
        _add(self.informer, self._views[0])
        _add(self.informer, self._views[1], pause=0.0005)
        self.third = Informer(
            resource,
            on_error=self._note,
            transform=_without_fill,
            indexers={"namespace": _namespace_of},
            **options,  # type: ignore[arg-type]
        )
        _add(self.second, self._views[2])
        _add(self.third, self._views[4])
        self._stack = ExitStack()

    def __enter__(self) -> Observers:
        for each in (self.informer, self.second, self.third, self.thread):
            self._stack.enter_context(each)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def events(self) -> int:
        """How many events all of them have been told."""
        return sum(view.events for view in self.views)

    @property
    def views(self) -> list[View]:
        """Of everybody who is told at the moment."""
        return [*self._views, *([self._late[1]] if self._late else [])]

    def change_handlers(self) -> None:
        """Let a late handler come, or go; and restart the third informer."""
        self.third.stop()
        assert self.third.join(30), "it does not end"
        self.third.start()
        if self._late is None:
            view = View("late")
            view.travels = self._travels
            self._late = (_add(self.informer, view), view)
        else:
            self._late[0].remove()
            self._late = None

    def travel(self) -> None:
        """The server is about to go back in time."""
        self._travels += 1
        for view in self.views:
            view.travels = self._travels

    def different(self, wanted: States) -> str:
        """Who does not (yet) believe in these states, in words; empty when everybody does."""
        for name, informer in (("store", self.informer), ("second", self.second), ("third", self.third)):
            found = {key_of(document): state_of(document) for document in informer.store.list()}
            if found != wanted:
                return f"{name}: {_difference(found, wanted)}"
        indexed = [each for name in self.third.store.index_values("namespace") for each in self._indexed(name)]
        if sorted(map(key_of, indexed)) != sorted(wanted):
            return f"index: {len(indexed)} objects"
        for view in self.views:
            found = view.snapshot()
            if found != wanted:
                return f"{view.name}: {_difference(found, wanted)}"
        return ""

    def _indexed(self, namespace: str) -> list[dict[str, Any]]:
        found = self.third.store.by_index("namespace", namespace)
        assert all(key_of(document).namespace == namespace for document in found)
        return found

    def check(self) -> None:
        """AssertionError when a promise was broken."""
        broken = [*self._unexpected, *(line for view in self.views for line in view.broken)]
        assert not broken, "\n".join(broken[:20])

    def _note(self, error: WatchError) -> None:
        if error.origin is ErrorOrigin.CALLBACK:
            self._unexpected.append(str(error))
        name = f"{error.origin} {error.status_code or ''}".strip()
        self.errors[name] = self.errors.get(name, 0) + 1


def _add(informer: Informer, view: View, pause: float = 0.0) -> HandlerRegistration:
    never = threading.Event()

    def take(event: WatchEvent) -> None:
        if pause:
            never.wait(pause)
        view.take(event)

    return informer.add_handler(on_added=take, on_modified=take, on_deleted=take)


def _difference(found: States, wanted: States) -> str:
    missing = sorted(wanted.keys() - found.keys())
    extra = sorted(found.keys() - wanted.keys())
    other = sorted(key for key in wanted.keys() & found.keys() if wanted[key] != found[key])
    parts = [("missing", missing), ("too much", extra), ("other", other)]
    told = [f"{len(keys)} {name} ({', '.join(map(str, keys[:3]))})" for name, keys in parts if keys]
    return ", ".join(told)
