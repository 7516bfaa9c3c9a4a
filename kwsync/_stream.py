"""The life of a stream of events: an iterator that any thread may end, and that always says why it ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from kwsync._cancel import Guard
from kwsync._events import EndReason, WatchEnd, WatchEvent


class Source(Protocol):
    """What reads the events and knows about them; it does not know the stream."""

    guard: Guard
    pending: WatchEvent | None
    """The event that has been read and not yet been handed out: a signal handler may raise in between."""

    @property
    def subject(self) -> object:
        """What it is about, for people."""
        ...

    @property
    def end(self) -> WatchEnd | None:
        """Why it ended; None while it is open."""
        ...

    def events(self) -> Iterator[WatchEvent]:
        """The generator of events, each of which it leaves in `pending` before it yields."""
        ...

    def handed_out(self) -> None:
        """The pending event is about to be the caller's."""
        ...

    def ended(self) -> None:
        """Note that it is closed, unless it ended before."""
        ...


S = TypeVar("S", bound=Source)


class EventStream(Generic[S]):
    """An iterator over events and a context manager.

    One thread at a time reads it (another gets ValueError from ``next()``, as with generators); `close` and the
    properties are for any thread. Like a file, it is closed by ``with``, by `close`, at its end, or when nobody holds
    it any more: a ``for`` loop over an anonymous one closes it on ``break``.
    """

    __slots__ = ("__weakref__", "_events", "_reader")

    def __init__(self, reader: S) -> None:
        self._reader = reader
        self._events = reader.events()  # knows the reader, not this object: dropping this object ends it

    def __next__(self) -> WatchEvent:
        reader = self._reader
        if reader.guard.ended():
            self._finish()
            raise StopIteration
        if reader.pending is None:
            self._advance()
        if reader.guard.causes:
            self._finish()  # who ended it found the generator running, and left the rest to this thread
        event = reader.pending
        if event is None:
            raise StopIteration
        # Last of all: where a signal handler raises before, the event is still there for the next call.
        reader.handed_out()
        reader.pending = None
        return event

    def _advance(self) -> None:
        try:
            next(self._events, None)  # which leaves what it gives in the reader
        except ValueError:  # another thread is just closing it
            if not self._reader.guard.causes:
                raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        end = self.end
        return f"<{type(self).__name__} {self._reader.subject} {'open' if end is None else end.reason}>"

    def close(self) -> None:
        """End the stream. From any thread and from a signal handler, at any time, also twice; it never blocks.

        A thread that waits in ``next()`` is woken and gets StopIteration.
        """
        self._reader.guard.interrupt(EndReason.CLOSED)
        self._finish()

    @property
    def end(self) -> WatchEnd | None:
        """Why it ended; None while it is open."""
        return self._reader.end

    def _finish(self) -> None:
        with suppress(ValueError):  # another thread, or the interrupted frame below, is in it and will see the cause
            self._events.close()  # type: ignore[attr-defined]
        self._reader.ended()
