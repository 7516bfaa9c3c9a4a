"""One run of an informer, from a start to its end, and how an informer is at one moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol

import attrs

from kwsync._cache import Cache
from kwsync._records import Change, Page
from kwsync.errors import WatchError


class Source(Protocol):
    """Where the steps come from; `Following` is one."""

    @property
    def is_connected(self) -> bool:
        """Does the server answer?"""
        ...

    @property
    def last_activity(self) -> float | None:
        """Seconds since it last did."""
        ...

    def steps(self) -> Iterator[Page | Change]:
        """The steps, for ever; the reading thread alone calls this, once."""
        ...

    def interrupt(self) -> None:
        """End them, from any thread and from a signal handler."""
        ...


@attrs.frozen(kw_only=True)
class InformerStatus:
    """How an informer was at one moment."""

    running: bool
    """Does its reading thread run, and has nobody told it to stop?"""
    synced: bool
    """Has a full state come since it was started?"""
    healthy: bool
    """Is it running and synced, and has the server answered with a watch that is open?"""
    resource_version: str | None
    """As `Store.resource_version`."""
    last_activity: float | None
    """Seconds since the last byte of the present watch; None while there is none."""
    objects: int
    """In the store."""
    relists: int
    """Full states after the first."""
    last_error: WatchError | None
    """As `Informer.last_error`."""


class Run:
    """From one start to its end."""

    def __init__(self, source: Source, cache: Cache) -> None:
        self.source = source
        self.stopping = False
        """Is it to end, or has it ended? Then no callback is called any more."""
        self._pid = os.getpid()
        self._cache = cache
        self._full_states = cache.full_states  # there were so many before

    @property
    def is_ours(self) -> bool:
        """Was it begun in this process, and not in one that this was forked from?"""
        return self._pid == os.getpid()

    @property
    def has_full_state(self) -> bool:
        """Has one come since it began?"""
        return self._cache.full_states > self._full_states

    def stop(self) -> None:
        """End it. From any thread and from a signal handler; it takes no lock."""
        if self.is_ours:
            self.stopping = True
            self.source.interrupt()


def status_of(run: Run | None, cache: Cache, last_error: WatchError | None) -> InformerStatus:
    """How an informer is now whose last run, if there was one, is *run*."""
    present = None if run is None or run.stopping else run
    synced = present is not None and present.has_full_state
    return InformerStatus(
        running=present is not None,
        synced=synced,
        healthy=synced and present is not None and present.source.is_connected,
        resource_version=cache.version,
        last_activity=None if present is None else present.source.last_activity,
        objects=len(cache),
        relists=max(0, cache.full_states - 1),
        last_error=last_error,
    )
