"""The steps of a script: each does one thing on the wire."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kwsync.testing._exchange import Exchange, HeaderSpec
from kwsync.testing._objects import to_json
from kwsync.testing._request import Request
from kwsync.testing._script import Step, Steps, run_steps

_JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Http(Step):
    """A whole answer; a `body` of a dict or list is sent as JSON. Content-Length is set unless given.

    A HEAD gets the head alone.
    """

    code: int
    body: bytes | str | dict[str, Any] | list[Any] = b""
    headers: HeaderSpec = field(default_factory=dict)

    def run(self, exchange: Exchange) -> None:
        body, content_type = _encoded(self.body)
        defaults = {"Content-Type": content_type, "Content-Length": str(len(body))}
        # These have no body by definition, and a length of theirs would be wrong.
        if self.code < 200 or self.code in (204, 304):
            defaults = {}
        exchange.start(self.code, self.headers, defaults, body)


def _encoded(body: object) -> tuple[bytes, str | None]:
    if isinstance(body, bytes):
        return body, None
    if isinstance(body, str):
        return body.encode(), "text/plain; charset=utf-8"
    return to_json(body), "application/json"


@dataclass(frozen=True)
class List(Step):
    """A 200 with a Kubernetes list. `items=None` is sent as null; `cont` is the continue token."""

    rv: str | None
    items: Sequence[Any] | None
    cont: str | None = None
    kind: str = "PodList"
    api_version: str = "v1"

    def run(self, exchange: Exchange) -> None:
        metadata = {"resourceVersion": self.rv, "continue": self.cont}
        Http(200, {
            "kind": self.kind,
            "apiVersion": self.api_version,
            "metadata": {name: value for name, value in metadata.items() if value is not None},
            "items": self.items,
        }).run(exchange)  # fmt: skip


@dataclass(frozen=True)
class Head(Step):
    """The head of a chunked answer; the body follows by other steps."""

    code: int = 200
    headers: HeaderSpec = field(default_factory=dict)

    def run(self, exchange: Exchange) -> None:
        exchange.start(self.code, self.headers, {**_JSON, "Transfer-Encoding": "chunked"})


@dataclass(frozen=True)
class Head1(Step):
    """The head of an answer without chunking or length: its body ends with the connection."""

    code: int = 200
    headers: HeaderSpec = field(default_factory=dict)

    def run(self, exchange: Exchange) -> None:
        exchange.start(self.code, self.headers, {**_JSON, "Connection": "close"})


@dataclass(frozen=True)
class Stall(Step):
    """Send nothing for some seconds (None: for ever), or until the client closes or the server stops."""

    seconds: float | None = None

    def run(self, exchange: Exchange) -> None:
        exchange.stall(self.seconds)


class NoHead(Stall):
    """A `Stall` before the head."""


@dataclass(frozen=True)
class StallUntil(Step):
    """Send nothing until the test sets the event (noticed within 5 ms)."""

    event: threading.Event

    def run(self, exchange: Exchange) -> None:
        exchange.stall(until=self.event)


@dataclass(frozen=True)
class Event(Step):
    """A watch event: one JSON line in one chunk, or bare when the head was not chunked."""

    type: str
    obj: Any

    def run(self, exchange: Exchange) -> None:
        exchange.body(to_json({"type": self.type, "object": self.obj}) + b"\n")


@dataclass(frozen=True)
class Raw(Step):
    """Bytes in one chunk, or bare when the head was not chunked. Empty bytes send nothing."""

    data: bytes

    def run(self, exchange: Exchange) -> None:
        exchange.body(self.data)


@dataclass(frozen=True)
class RawBytes(Step):
    """Bytes on the socket with no framing whatever. `keep_alive` says that they complete the answer."""

    data: bytes
    keep_alive: bool = False

    def run(self, exchange: Exchange) -> None:
        exchange.raw(self.data)
        exchange.complete = exchange.complete or self.keep_alive


@dataclass(frozen=True)
class Split(Step):
    """Bytes in chunks of `n`, the last one maybe shorter."""

    data: bytes
    n: int

    def run(self, exchange: Exchange) -> None:
        for start in range(0, len(self.data), self.n):
            exchange.body(self.data[start : start + self.n])


@dataclass(frozen=True)
class Gzip(Step):
    """One chunk that holds one complete gzip member. The head has to say the encoding."""

    data: bytes

    def run(self, exchange: Exchange) -> None:
        # No time in the member's header: the same bytes in every run.
        exchange.body(gzip.compress(self.data, mtime=0))


@dataclass(frozen=True)
class CutChunk(Step):
    """A chunk that announces `announced` bytes and holds only `data`."""

    data: bytes
    announced: int

    def run(self, exchange: Exchange) -> None:
        exchange.raw(b"%x\r\n%b" % (self.announced, self.data))


@dataclass(frozen=True)
class End(Step):
    """The zero chunk: the clean end of a chunked body."""

    def run(self, exchange: Exchange) -> None:
        exchange.end()


@dataclass(frozen=True)
class Fin(Step):
    """Close, whatever the body still owes. `notify=False` also leaves TLS's close_notify out."""

    notify: bool = True

    def run(self, exchange: Exchange) -> None:
        exchange.close(notify=self.notify)


@dataclass(frozen=True)
class Rst(Step):
    """Close with SO_LINGER 0: the client gets a TCP reset."""

    def run(self, exchange: Exchange) -> None:
        exchange.close(reset=True)


@dataclass(frozen=True)
class Blackhole(Step):
    """Keep the socket open and neither read nor write again until the server stops."""

    def run(self, exchange: Exchange) -> None:
        exchange.blackhole()


@dataclass(frozen=True)
class Call(Step):
    """Run a function of the test with the request, on the connection's thread; its result is ignored."""

    function: Callable[[Request], object]

    def run(self, exchange: Exchange) -> None:
        self.function(exchange.request)


@dataclass(frozen=True)
class Reply(Step):
    """Run the steps that a function of the test gives for the request."""

    function: Callable[[Request], Steps]

    def run(self, exchange: Exchange) -> None:
        run_steps(self.function(exchange.request), exchange)


@dataclass(frozen=True)
class Repeat(Step):
    """One step, or several in turn, `n` times."""

    step: Steps
    n: int

    def run(self, exchange: Exchange) -> None:
        for _ in range(self.n):
            run_steps(self.step, exchange)
