"""The scripted server: one script of steps per request, bytes exactly as told."""

from __future__ import annotations

import functools
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from kwsync.testing._connection import Connection
from kwsync.testing._exchange import Exchange
from kwsync.testing._listener import DeafListener, Listener
from kwsync.testing._request import Request
from kwsync.testing._script import Step, Steps, as_steps, run_steps
from kwsync.testing._server import Answer, LoopbackServer
from kwsync.testing._steps import Http

Selector = str | Callable[[Request], object]
"""A path to be equal to, or a function that says whether it wants a request."""

_NO_SCRIPT = (Http(500, "no script left"),)


@dataclass
class _Rule:
    selector: Selector
    script: tuple[Step, ...]
    times: int | None

    def wants(self, request: Request) -> bool:
        if self.times is not None and self.times <= 0:
            return False
        if isinstance(self.selector, str):
            return request.path == self.selector
        return bool(self.selector(request))


class ScriptedServer(LoopbackServer):
    """Runs one script per request: of the first `on` rule that wants it, else the next one, else `default`.

    A connection serves another request when the script left a complete answer (a length that is met, or
    `End`) and nobody said `Connection: close`; otherwise it is closed at the script's end.

    `accept=False`: clients connect, and nobody ever answers. `connect_stall=True`: clients cannot even
    connect (their SYN is dropped; Linux and macOS). `handshake_stall=True`: connections are accepted and the
    TLS hello is never answered (`url` is https then, without `tls`).
    """

    def __init__(
        self,
        *scripts: Steps,
        tls: ssl.SSLContext | None = None,
        default: Steps | None = None,
        port: int = 0,
        accept: bool = True,
        connect_stall: bool = False,
        handshake_stall: bool = False,
    ) -> None:
        super().__init__(tls=tls, port=port)
        self.default = None if default is None else as_steps(default)
        self.unscripted: list[Request] = []
        """Requests that found no script and got a 500."""
        self._accept = accept and not connect_stall
        self._connect_stall = connect_stall
        self._handshake_stall = handshake_stall
        self._scripts = deque(as_steps(script) for script in scripts)
        self._rules: list[_Rule] = []

    @property
    def url(self) -> str:
        """Where clients find it; https with TLS, and with a handshake that stalls."""
        return super().url.replace("http:", "https:") if self._handshake_stall else super().url

    def add(self, *steps: Step) -> None:
        """Put one more script at the end of the line."""
        with self._changed:
            self._scripts.append(as_steps(steps))

    def on(self, selector: Selector, *steps: Step, times: int | None = None) -> None:
        """Use this script for requests with this path, or for which the function is true.

        It serves `times` requests (None: any number). Rules are asked in the order they were added; they go
        before the scripts in line. The function runs under the server's lock: it must not wait for anything.
        """
        with self._changed:
            self._rules.append(_Rule(selector, as_steps(steps), times))

    def make_listener(self) -> Listener | DeafListener:
        return super().make_listener() if self._accept else DeafListener(self.port, self._connect_stall)

    def serve(self, connection: Connection) -> None:
        if self._handshake_stall:
            connection.wait()
        super().serve(connection)

    def plan(self, request: Request) -> Answer:
        return functools.partial(_run_script, self._choose(request), request)

    def _choose(self, request: Request) -> tuple[Step, ...]:
        for rule in self._rules:
            if rule.wants(request):
                # Counted when it is chosen, not when it is done: the next request may come meanwhile.
                rule.times = None if rule.times is None else rule.times - 1
                return rule.script
        if self._scripts:
            return self._scripts.popleft()
        if self.default is None:
            self.unscripted.append(request)
            return _NO_SCRIPT
        return self.default


def _run_script(script: tuple[Step, ...], request: Request, connection: Connection) -> bool:
    exchange = Exchange(connection, request)
    run_steps(script, exchange)
    return exchange.keeps_alive
