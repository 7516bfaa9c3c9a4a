"""A forward proxy that records what it is asked for."""

from __future__ import annotations

import functools
import selectors
import socket
import ssl
from collections.abc import Collection
from urllib.parse import urlsplit

from kwsync.testing._connection import Connection, Over
from kwsync.testing._exchange import Exchange, HeaderSpec
from kwsync.testing._request import Request
from kwsync.testing._server import Answer, LoopbackServer
from kwsync.testing._steps import Http

_CONNECT_SECONDS = 5.0
_HOP_HEADERS = ("proxy-authorization", "proxy-connection")
_BAD_GATEWAY = Http(502, "no such target", {"Connection": "close"})


class ProxyServer(LoopbackServer):
    """Answers CONNECT with a tunnel and forwards plain requests in absolute form; `requests` has both.

    Whatever the client asks for, bytes go to `target` (host and port) when it is given, so that a test can
    use any host name; without it only to a port of 127.0.0.1 or localhost, else the answer is a 502. A
    `status` other than 200 is answered instead of a tunnel, with `headers`; `stall=True` never answers.
    `tls` makes it an https proxy.
    """

    def __init__(
        self,
        target: tuple[str, int] | None = None,
        *,
        status: int = 200,
        headers: HeaderSpec = (),
        stall: bool = False,
        tls: ssl.SSLContext | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(tls=tls, port=port)
        self.target = target
        self.status = status
        self.headers = headers
        self.stall = stall

    def plan(self, request: Request) -> Answer:
        return functools.partial(self._answer, request)

    def _answer(self, request: Request, client: Connection) -> bool:
        if self.stall:
            client.wait()
        if self.status != 200:
            Http(self.status, headers=self.headers).run(exchange := Exchange(client, request))
            return exchange.keeps_alive
        upstream = self._connect(request, client)
        if upstream is None:
            _BAD_GATEWAY.run(Exchange(client, request))
            return False
        try:
            self._forward(request, client, upstream)
        finally:
            if upstream.closed_by_client.is_set():
                client.send_close_notify()
            upstream.close()
        # A tunnel has used up its connection; after a plain request comes the next one, maybe for another host.
        return request.method != "CONNECT"

    def _connect(self, request: Request, client: Connection) -> Connection | None:
        url = urlsplit(f"//{request.target}" if request.method == "CONNECT" else request.target)
        asked = (url.hostname or "", url.port or 80)
        if self.target is None and asked[0] not in ("127.0.0.1", "localhost"):
            return None
        try:
            sock = socket.create_connection(self.target or asked, timeout=_CONNECT_SECONDS)
        except OSError:
            return None
        return Connection(sock, client.halt, 0, lambda: None)

    def _forward(self, request: Request, client: Connection, upstream: Connection) -> None:
        if request.method == "CONNECT":
            client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            upstream.send(_origin_form(request))
        _pump(client, upstream, until_client_speaks=request.method != "CONNECT")


def _origin_form(request: Request) -> bytes:
    """The request as its target wants it: a path, not a URL, and nothing that was meant for the proxy."""
    url = urlsplit(request.target)
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    lines = [f"{request.method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request.headers.pairs if name.lower() not in _HOP_HEADERS]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + request.body


def _pump(client: Connection, upstream: Connection, until_client_speaks: bool) -> None:
    """Carry bytes both ways. Raises `Over` when a side closes or the server stops."""
    with selectors.DefaultSelector() as selector:
        for end in (client, upstream, client.halt):
            selector.register(end, selectors.EVENT_READ)
        while not (until_client_speaks and client.buffer):
            # Before the wait: bytes may have arrived together with the request, or during a send.
            upstream.send(client.take())
            client.send(upstream.take())
            _take_in([key.fileobj for key, _ in selector.select()], client, upstream)


def _take_in(ready: Collection[object], client: Connection, upstream: Connection) -> None:
    if client.halt in ready:
        raise Over("the server stops")
    for end in (client, upstream):
        if end in ready:
            end.fill()
