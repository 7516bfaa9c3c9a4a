"""A scripted server, a client for it, and what a watch gave in all."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kwsync import Client, Cluster, EndReason, EventType, WatchEnd, WatchError, WatchEvent, WatchStream, watch_resource
from kwsync.credentials import Credential
from kwsync.testing import Http, Request, ScriptedServer, Step

PODS = "/api/v1/pods"
SOON = 5
"""``timeout_seconds`` of streams that wait for a server: one that hangs ends as TIMEOUT, and the test fails with it."""


class Outcome(NamedTuple):
    """All that a stream gave, read to its end."""

    events: list[WatchEvent]
    end: WatchEnd
    resource_version: str | None
    skipped_lines: int
    requests: list[Request]

    @property
    def types(self) -> list[str]:
        """The types of the events, in order."""
        return [str(event.type) for event in self.events]

    @property
    def names(self) -> list[str]:
        """The names of the objects, in order; empty for what has none."""
        return [event.key.name for event in self.events]

    @property
    def error(self) -> WatchError:
        """The error of the one ERROR event, which is the last event and also the error of the end."""
        errors = [event.error for event in self.events if event.type is EventType.ERROR]
        assert len(errors) == 1, f"one ERROR expected: {self}"
        assert self.events[-1].type is EventType.ERROR
        assert (self.events[-1].object, self.events[-1].resource_version) == (None, None)
        assert errors[0] is not None
        assert self.end.error is errors[0]
        return errors[0]


def outcome_of(stream: WatchStream, server: ScriptedServer | None = None) -> Outcome:
    """Read *stream* to its end."""
    events = list(stream)
    end = stream.end
    assert end is not None, "a stream that has ended says why"
    requests = [] if server is None else list(server.requests)
    return Outcome(events, end, stream.resource_version, stream.skipped_lines, requests)


@contextmanager
def served(
    *scripts: Iterable[Step],
    credential: Credential | None = None,
    tls: ssl.SSLContext | None = None,
    connect_timeout: float = 5.0,
    **cluster: Any,
) -> Iterator[tuple[ScriptedServer, Client]]:
    """A server with one script for each request, and a client for it; *cluster* are further fields of the cluster."""
    with (
        ScriptedServer(*(list(script) for script in scripts), tls=tls) as server,
        Client(Cluster(server.url, **cluster), credential, connect_timeout=connect_timeout) as client,
    ):
        yield server, client


def watched(*steps: Step, resource: str = "pods", **options: Any) -> Outcome:
    """The outcome of one watch that gets this answer."""
    with served(steps) as (server, client):
        return outcome_of(watch_resource(resource, client=client, **{"timeout_seconds": SOON, **options}), server)


def line(kind: str, found: object) -> bytes:
    """An event as it stands on the wire."""
    return json.dumps({"type": kind, "object": found}, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def whole(body: bytes, **headers: str) -> Http:
    """A stream in one piece that has a length."""
    return Http(200, body, {"Content-Type": "application/json", **headers})


def assert_clean(outcome: Outcome, *names: str) -> None:
    """These objects and no error, then a clean end."""
    assert outcome.end == WatchEnd(EndReason.SERVER_CLOSED), outcome
    assert outcome.names == list(names)
