"""A stream that follows a scripted server or one in memory, with waits that are short, and what it tells."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kwsync import Backoff, Client, Cluster, EventType, ListWatchStream, WatchError, WatchEvent, list_and_watch
from kwsync.testing import ApiServer, End, Event, Head, List, Request, ScriptedServer, Stall, Step, bookmark, pod

PODS = "/api/v1/pods"
LIMIT = 10.0
"""Seconds after which a test that waits in vain ends its stream, and fails with what has come until then."""

FAST = Backoff(initial=0.01, cap=0.02, jitter=0)
SILENCE: list[Step] = [Head(), Stall()]
"""A watch that is answered, and tells nothing."""

Script = Step | Sequence[Step]


@contextmanager
def following(
    *scripts: Script, resource: str = "pods", default: Script = SILENCE, **options: Any
) -> Iterator[tuple[ScriptedServer, ListWatchStream]]:
    """A server with one script for each request, and then always *default*; and a stream that follows it."""
    with (
        ScriptedServer(*scripts, default=default) as server,
        Client(Cluster(server.url), connect_timeout=5.0) as client,
        list_and_watch(resource, client=client, **{"backoff": FAST, **options}) as stream,
    ):
        yield server, stream


@contextmanager
def following_api(
    resource: str = "configmaps", server_options: dict[str, Any] | None = None, **options: Any
) -> Iterator[tuple[ApiServer, ListWatchStream]]:
    """A server in memory, and a stream that follows it."""
    with (
        ApiServer(**(server_options or {})) as server,
        server.client() as client,
        list_and_watch(resource, client=client, **{"backoff": FAST, **options}) as stream,
    ):
        yield server, stream


@contextmanager
def ended_in_time(stream: ListWatchStream, limit: float = LIMIT) -> Iterator[None]:
    """Whoever reads the stream in this block does not read for ever."""
    timer = threading.Timer(limit, stream.close)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def take(stream: ListWatchStream, count: int) -> list[WatchEvent]:
    """So many events; AssertionError where they do not come."""
    found: list[WatchEvent] = []
    with ended_in_time(stream):
        while len(found) < count:
            event = next(stream, None)
            assert event is not None, f"{count} events expected, but these came: {shown(found)}"
            found.append(event)
    return found


def take_until(stream: ListWatchStream, wanted: Callable[[WatchEvent], bool]) -> list[WatchEvent]:
    """The events up to one that is *wanted*."""
    found = [*take(stream, 1)]
    while not wanted(found[-1]):
        found += take(stream, 1)
    return found


def until_synced(stream: ListWatchStream) -> list[WatchEvent]:
    """The events up to the end of a full state."""
    return take_until(stream, lambda event: event.type is EventType.SYNCED)


def until_named(stream: ListWatchStream, name: str) -> list[WatchEvent]:
    """The events up to one about the object of this name."""
    return take_until(stream, lambda event: event.key.name == name)


def shown(events: Sequence[WatchEvent]) -> list[str]:
    """Each event in a word or two: its type, and its object's name or its error's code or origin."""
    return [f"{event.type} {_about(event)}".strip() for event in events]


def _about(event: WatchEvent) -> str:
    if event.error is not None:
        return str(event.error.status_code or event.error.origin)
    return event.key.name


def error_of(event: WatchEvent) -> WatchError:
    """The error of an event that must be one ERROR."""
    assert event.error is not None, f"an ERROR was expected, not {event}"
    return event.error


def asked(server: ScriptedServer | ApiServer) -> list[str]:
    """What the server was asked, in order: LIST (with ``…`` for a further page), or WATCH and its version."""
    return [_asked(request) for request in list(server.requests)]


def _asked(request: Request) -> str:
    query = request.query
    if not request.is_watch:
        return "LIST …" if "continue" in query else "LIST"
    version = query.get("resourceVersion", "-")
    return f"WATCH-LIST {version}" if "sendInitialEvents" in query else f"WATCH {version}"


def change(kind: str, name: str, version: str, **more: Any) -> Event:
    """A watch's event about a pod."""
    return Event(kind, pod(name, version, **more))


def live(*steps: Step) -> list[Step]:
    """A watch that tells this and goes on."""
    return [Head(), *steps, Stall()]


def cut(*steps: Step) -> list[Step]:
    """A watch that tells this and ends cleanly."""
    return [Head(), *steps, End()]


def listed(version: str | None, *names: str, **more: Any) -> List:
    """A list of pods whose versions are those of the list."""
    return List(version, [pod(name, version or "1") for name in names], **more)


def synced(version: str) -> Event:
    """The bookmark that ends initial events."""
    return Event("BOOKMARK", bookmark(version, annotations={"k8s.io/initial-events-end": "true"}))
