"""HTTP requests over urllib3's connections, each under a guard.

A pool would hand out its connections by itself; a guard has to know the connection of its operation from the first
packet on. So connections are made and kept here, and urllib3 does what it is best at: HTTP, TLS and proxies.
"""

from __future__ import annotations

import http.client
import os
import socket
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import attrs
from urllib3 import HTTPResponse
from urllib3.connection import HTTPConnection, HTTPSConnection, ProxyConfig
from urllib3.exceptions import HTTPError
from urllib3.util import parse_url

from kwsync._cancel import Guard
from kwsync._cluster import Cluster
from kwsync._transport._coding import unpacked
from kwsync._transport._endpoint import Endpoint, endpoint_of
from kwsync._transport._faults import SHUT, ProxyFault
from kwsync._transport._sockets import connecting, dial, let_go, shut
from kwsync._transport._tls import TLSContexts, proxy_context
from kwsync.credentials import Authorization, Certificate

CHUNK_BYTES = 1024 * 1024
"""No piece of a body that is handed up is larger, whatever a chunk's header announces."""

_MOST_INTERIM = 100

IDLE_CONNECTIONS = 8
"""Connections kept for the next request."""


@attrs.frozen
class Request:
    """One request, as the server sees it."""

    method: str
    path: str
    """With the cluster's base path still missing."""
    query: str = ""
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes | None = attrs.field(default=None, repr=False)


class _Response(http.client.HTTPResponse):
    """Passes over all interim answers (RFC 9110, 15.2), where http.client knows only 100 Continue."""

    fp: Any = None  # for its finalizer, should a signal handler raise in the middle of __init__

    def begin(self) -> None:
        super().begin()
        for _ in range(_MOST_INTERIM):
            if not 101 < self.status < 200:
                return
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()
        raise http.client.HTTPException("too many interim answers")


class _Guarded:
    """The one private name of urllib3 in use, as in its own SOCKS support: how a connection gets its socket."""

    host: str
    port: int
    guard: Guard

    def _new_conn(self) -> socket.socket:
        return dial(self.host.strip("[]"), self.port, self.guard)


class PlainConnection(_Guarded, HTTPConnection):
    """HTTP."""

    response_class = _Response


class TLSConnection(_Guarded, HTTPSConnection):
    """HTTPS."""

    response_class = _Response


class Answer:
    """A response whose headers have come. A context manager: leaving it keeps the connection or closes it."""

    def __init__(self, transport: Transport, connection: _Kept, response: HTTPResponse, guard: Guard) -> None:
        self.status = response.status
        self.headers = response.headers
        self._transport = transport
        self._kept = connection
        self._response = response
        self._guard = guard
        self._complete = False

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self._guard.detach()
        if self._complete and self.status >= 200 and self._guard.cause is None:
            self._transport.keep(self._kept)
        else:
            self._kept.close()
            self._response.close()

    def pieces(self) -> Iterator[bytes]:
        """The body, decoded: chunk by chunk, or as bytes arrive if not chunked; `CHUNK_BYTES` at most a piece."""
        response = self._response
        raw: Iterator[bytes] = iter(partial(response.read1, CHUNK_BYTES, decode_content=False), b"")
        if response.chunked:
            raw = response.read_chunked(CHUNK_BYTES, decode_content=False)
        yield from unpacked(raw, self.headers.get("Content-Encoding", ""), CHUNK_BYTES, self._guard.check)
        self._complete = True

    def read(self) -> bytes:
        """The whole body."""
        return b"".join(self.pieces())


class _Kept:
    """A connection between requests: what it is for, and how to let go of it."""

    def __init__(
        self, connection: PlainConnection | TLSConnection, endpoint: Endpoint, certificate: Certificate | None
    ) -> None:
        self.connection = connection
        self.endpoint = endpoint
        self.certificate = certificate
        self.socket: Any = connection.sock
        self._pid = os.getpid()

    @property
    def readers(self) -> list[Any]:
        """The sockets that are read: this one, and under TLS inside TLS the one below."""
        sockets = [self.socket, getattr(self.socket, "socket", None)]
        return [sock for sock in sockets if hasattr(sock, "guard")]

    def obey(self, guard: Guard | None) -> None:
        """From now on the socket waits no longer than *guard* allows, and is woken by it."""
        for sock in self.readers:
            sock.guard = guard
        if guard is not None:
            guard.attach(partial(shut, self.readers[0]))

    def fits(self, endpoint: Endpoint, certificate: Certificate | None) -> bool:
        """Can it carry one more request to *endpoint* that proves itself with *certificate*?

        The endpoint may be another one by now: the environment may name another proxy, whose password is for it alone.
        """
        return (
            self.endpoint == endpoint
            and self.certificate == certificate
            and self._pid == os.getpid()
            and self.connection.sock is not None
            and self.connection.is_connected
        )

    def close(self) -> None:
        """Shut it as well: a child that was forked meanwhile may hold a copy, and the server should know."""
        if self._pid == os.getpid():
            for sock in self.readers:
                shut(sock)
        with suppress(OSError):
            self.socket.close()
        self.connection.close()


class Transport:
    """Sends requests to one cluster, keeping a few idle connections. For any number of threads."""

    def __init__(self, cluster: Cluster, connect_timeout: float | None) -> None:
        self._cluster = cluster
        self._connect_timeout = connect_timeout
        self._contexts = TLSContexts(cluster)
        self._idle: deque[_Kept] = deque()
        self.closed = False
        weakref.finalize(self, _close_all, self._idle)  # a client that is dropped, or lives until the process ends

    def send(self, request: Request, authorization: Authorization, guard: Guard) -> Answer:
        """Send *request* and wait for the headers of its answer.

        A GET on a kept connection that dies before the first byte of an answer is sent once more on a fresh one: the
        server may close an idle connection at any moment. Raises `ConfigError`, OSError, `HTTPError`, HTTPException,
        and what `Guard.check` raises.
        """
        endpoint = endpoint_of(self._cluster)
        kept = self._take(endpoint, authorization.certificate)
        if kept is not None:
            heard = guard.last_byte
            try:
                return self._attempt(kept, endpoint, request, authorization, guard)
            except (OSError, HTTPError):
                guard.check()
                if request.method != "GET" or guard.last_byte != heard:
                    raise
        fresh = self._connect(endpoint, authorization.certificate, guard)
        return self._attempt(fresh, endpoint, request, authorization, guard)

    def keep(self, kept: _Kept) -> None:
        """Take back a connection whose answer has been read to its end."""
        kept.obey(None)
        if kept.connection.sock is None or len(self._idle) >= IDLE_CONNECTIONS:
            kept.close()
        else:
            self._idle.append(kept)
        if self.closed:  # looked at last, since another thread may close the client meanwhile
            _close_all(self._idle)

    def close(self) -> None:
        """Close the idle connections; what is in use closes when its answer ends."""
        self.closed = True
        _close_all(self._idle)

    def _take(self, endpoint: Endpoint, certificate: Certificate | None) -> _Kept | None:
        while self._idle:
            try:
                kept = self._idle.pop()
            except IndexError:  # another thread was quicker
                return None
            if kept.fits(endpoint, certificate):
                return kept
            kept.close()
        return None

    def _connect(self, endpoint: Endpoint, certificate: Certificate | None, guard: Guard) -> _Kept:
        connection = self._new_connection(endpoint, certificate)
        connection.guard = guard
        before = connecting.guard, connecting.sockets
        connecting.guard, connecting.sockets = guard, []
        try:
            with guard.within(self._connect_timeout):
                connection.connect()
                guard.check()
            return _Kept(connection, endpoint, certificate)
        except BaseException as error:
            proxy = endpoint.proxy if _is_of_proxy(error, connection) else None
            guard.detach()
            connection.close()
            let_go(connecting.sockets or ())
            if isinstance(error, SHUT):  # what a signal handler raises is no such thing, and passes
                guard.check()
            if proxy is not None:
                raise ProxyFault(f"the proxy {proxy.scheme}://{proxy.authority}") from error
            raise
        finally:
            connecting.guard, connecting.sockets = before

    def _new_connection(self, endpoint: Endpoint, certificate: Certificate | None) -> PlainConnection | TLSConnection:
        proxy = endpoint.proxy
        options: dict[str, Any] = {"timeout": self._connect_timeout}
        if proxy is not None:
            options["proxy"] = parse_url(f"{proxy.scheme}://{proxy.authority}")
            options["proxy_config"] = ProxyConfig(
                ssl_context=proxy_context() if proxy.scheme == "https" else None,
                use_forwarding_for_https=False,
                assert_hostname=None,
                assert_fingerprint=None,
            )
        host, port = (proxy.host, proxy.port) if proxy else (endpoint.host, endpoint.port)
        if endpoint.scheme == "http" and (proxy is None or proxy.scheme == "http"):
            return PlainConnection(host, port, **options)
        if endpoint.scheme == "https":
            options["ssl_context"] = self._contexts.get(certificate)
            options["server_hostname"] = self._cluster.tls_server_name
        else:  # for a proxy that speaks TLS, where urllib3 before 2.8 does not take the proxy's own
            options["ssl_context"] = options["proxy_config"].ssl_context
        connection = TLSConnection(host, port, **options)
        if proxy is not None and endpoint.scheme == "https":
            connection.set_tunnel(endpoint.host, endpoint.port, headers=proxy.headers, scheme=proxy.scheme)
        return connection

    def _attempt(
        self, kept: _Kept, endpoint: Endpoint, request: Request, authorization: Authorization, guard: Guard
    ) -> Answer:
        try:
            kept.obey(guard)
            kept.socket.settimeout(guard.remaining())
            kept.connection.timeout = guard.remaining()
            _ask(kept.connection, request, _target(endpoint, request), _headers(endpoint, request, authorization))
            response = kept.connection.getresponse()
            if kept.readers[0].at_end:  # http.client takes a head that breaks off for a whole one
                response.close()
                raise http.client.IncompleteRead(b"")
            return Answer(self, kept, response, guard)
        except BaseException as error:
            guard.detach()
            kept.close()
            if isinstance(error, SHUT):
                guard.check()
            raise


def _is_of_proxy(error: BaseException, connection: HTTPConnection) -> bool:
    """Whether the way to a proxy has failed, where there is one, or the proxy has refused to go further."""
    refused = str(error).startswith("Tunnel connection failed: ")  # http.client's words for an answer to CONNECT
    return isinstance(error, OSError) and (refused or not connection.has_connected_to_proxy)


def _ask(connection: HTTPConnection, request: Request, target: str, headers: Mapping[str, str]) -> None:
    try:
        connection.request(request.method, target, body=request.body, headers=headers, preload_content=False)
    except (BrokenPipeError, ConnectionResetError):
        if not request.body:
            raise
        # A server may refuse a body before it has read it all: then its answer is there to be read.


def _close_all(idle: deque[_Kept]) -> None:
    while idle:
        with suppress(IndexError):  # another thread took the last
            idle.pop().close()


def _target(endpoint: Endpoint, request: Request) -> str:
    path = endpoint.base_path + request.path + (f"?{request.query}" if request.query else "")
    return f"http://{endpoint.authority}{path}" if endpoint.forwarded else path


def _headers(endpoint: Endpoint, request: Request, authorization: Authorization) -> dict[str, str]:
    headers = {"Accept-Encoding": "identity", **request.headers, **authorization.headers}
    if endpoint.forwarded and endpoint.proxy is not None:
        headers.update(endpoint.proxy.headers)
    return headers
