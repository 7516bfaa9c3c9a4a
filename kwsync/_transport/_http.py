"""HTTP requests over urllib3's connections, each under a guard.

A pool would hand out its connections by itself; a guard has to know the connection of its operation from the first
packet on. So connections are made and kept here, and urllib3 does what it is best at: HTTP, TLS and proxies.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

import attrs
from urllib3 import HTTPResponse
from urllib3.connection import HTTPConnection, ProxyConfig
from urllib3.exceptions import HTTPError
from urllib3.util import parse_url

from kwsync._cancel import Guard
from kwsync._cluster import Cluster
from kwsync._transport._coding import unpacked
from kwsync._transport._connection import Kept, PlainConnection, Route, TLSConnection, Turn
from kwsync._transport._endpoint import Endpoint, endpoint_of
from kwsync._transport._faults import SHUT, ProxyFault
from kwsync._transport._pool import Connections
from kwsync._transport._sockets import Cut, connecting, let_go
from kwsync._transport._tls import TLSContexts, proxy_context
from kwsync.credentials import Authorization

CHUNK_BYTES = 1024 * 1024
"""No piece of a body that is handed up is larger, whatever a chunk's header announces."""


@attrs.frozen
class Request:
    """One request, as the server sees it."""

    method: str
    path: str
    """With the cluster's base path still missing."""
    query: str = ""
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes | None = attrs.field(default=None, repr=False)

    @property
    def is_watch(self) -> bool:
        """Will its answer last, and can it be broken off without a doubt about what was done?"""
        return self.method == "GET" and "watch=true" in self.query.split("&")


class Answer:
    """A response whose headers have come. A context manager: leaving it keeps the connection or closes it."""

    def __init__(self, connections: Connections, kept: Kept, response: HTTPResponse, guard: Guard) -> None:
        self.status = response.status
        self.headers = response.headers
        self._connections = connections
        self._kept = kept
        self._response = response
        self._guard = guard
        self._complete = False

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self._guard.detach()
        self._connections.end_watch(self._kept)
        if self._complete and self.status >= 200 and self._guard.cause is None:
            self._connections.keep(self._kept)
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


class Transport:
    """Sends requests to one cluster, keeping a few idle connections. For any number of threads."""

    def __init__(self, cluster: Cluster, connect_timeout: float | None) -> None:
        self._cluster = cluster
        self._connect_timeout = connect_timeout
        self._contexts = TLSContexts(cluster)
        self._connections = Connections()

    @property
    def closed(self) -> bool:
        """Was it closed?"""
        return self._connections.closed

    def close(self) -> None:
        """Close the idle connections; what is in use closes when its answer ends."""
        self._connections.close()

    def next_number(self) -> int:
        """To be taken before a credential is asked, and given to `send` with what it gave."""
        return self._connections.next_number()

    def send(self, request: Request, authorization: Authorization, guard: Guard, begun: int) -> Answer:
        """Send *request* and wait for the headers of its answer. *begun* tells which of two certificates is newer.

        A GET on a kept connection that dies before the first byte of an answer is sent once more on a fresh one: the
        server may close an idle connection at any moment. Raises `ConfigError`, OSError, `HTTPError`, HTTPException,
        and what `Guard.check` raises.
        """
        turn, route = Turn(begun, self.next_number()), self._route(authorization)
        kept = self._connections.take(route, turn)
        if kept is not None:
            heard = guard.last_byte
            try:
                return self._attempt(kept, request, authorization, guard)
            except Cut:
                raise
            except (OSError, HTTPError):
                guard.check()
                if request.method != "GET" or guard.last_byte != heard:
                    raise
        return self._attempt(self._connect(route, turn, guard), request, authorization, guard)

    def _route(self, authorization: Authorization) -> Route:
        endpoint = endpoint_of(self._cluster)
        if endpoint.scheme == "http":
            return Route(endpoint)
        return Route(endpoint, self._contexts.authorities(), self._contexts.usable(authorization.certificate))

    def _connect(self, route: Route, turn: Turn, guard: Guard) -> Kept:
        connection = self._new_connection(route)
        connection.guard = guard
        before = connecting.guard, connecting.sockets
        connecting.guard, connecting.sockets = guard, []
        try:
            with guard.within(self._connect_timeout):
                connection.connect()
                guard.check()
            return Kept(connection, route, turn)
        except BaseException as error:
            proxy = route.endpoint.proxy if _is_of_proxy(error, connection) else None
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

    def _new_connection(self, route: Route) -> PlainConnection | TLSConnection:
        endpoint, proxy = route.endpoint, route.endpoint.proxy
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
            options["ssl_context"] = self._contexts.get(route.authorities, route.certificate)
            options["server_hostname"] = self._cluster.tls_server_name
        else:  # for a proxy that speaks TLS, where urllib3 before 2.8 does not take the proxy's own
            options["ssl_context"] = options["proxy_config"].ssl_context
        connection = TLSConnection(host, port, **options)
        if proxy is not None and endpoint.scheme == "https":
            connection.set_tunnel(endpoint.host, endpoint.port, headers=proxy.headers, scheme=proxy.scheme)
        return connection

    def _attempt(self, kept: Kept, request: Request, authorization: Authorization, guard: Guard) -> Answer:
        endpoint, connections = kept.route.endpoint, self._connections
        try:
            kept.obey(guard)
            if request.is_watch:
                connections.begin_watch(kept)
            kept.socket.settimeout(guard.remaining())
            kept.connection.timeout = guard.remaining()
            _ask(kept.connection, request, _target(endpoint, request), _headers(endpoint, request, authorization))
            response = kept.connection.getresponse()
            if kept.readers[0].at_end:  # http.client takes a head that breaks off for a whole one
                response.close()
                raise http.client.IncompleteRead(b"")
            if response.status != HTTPStatus.UNAUTHORIZED:
                connections.accepted(kept)
            return Answer(connections, kept, response, guard)
        except BaseException as error:
            guard.detach()
            connections.end_watch(kept)
            kept.close()
            if isinstance(error, SHUT):
                guard.check()
                kept.check()
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


def _target(endpoint: Endpoint, request: Request) -> str:
    path = endpoint.base_path + request.path + (f"?{request.query}" if request.query else "")
    return f"http://{endpoint.authority}{path}" if endpoint.forwarded else path


def _headers(endpoint: Endpoint, request: Request, authorization: Authorization) -> dict[str, str]:
    headers = {"Accept-Encoding": "identity", **request.headers, **authorization.headers}
    if endpoint.forwarded and endpoint.proxy is not None:
        headers.update(endpoint.proxy.headers)
    return headers
