"""A token endpoint on a real socket, which answers as a test says and remembers what it was asked."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from typing_extensions import Self

LIMIT = 10.0
"""Seconds that a test waits for a request at most."""


class Asked(NamedTuple):
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    """By their names in lower case."""
    form: dict[str, str]


class Answer(NamedTuple):
    """One answer: an object is sent as JSON, bytes as they are."""

    body: object
    status: int = 200
    headers: Mapping[str, str] = {}


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away, or does not trust the certificate, is what a test wants."""


class TokenEndpoint:
    """Answers every request by *respond*; with *hang* not before it is let go."""

    __test__ = False

    def __init__(self, respond: Callable[[Asked], Answer], context: ssl.SSLContext | None = None) -> None:
        self.respond = respond
        self.answer_to_tokens: Answer | None = None
        """In place of a token; *respond* sees to that."""
        self.hang = False
        self.drop = False
        """Close the connection in place of an answer."""
        self.mint: Callable[[], str]
        """Makes the next token."""
        self.lifetime: int
        """Of a token, in seconds."""
        self.asked: list[Asked] = []
        self._arrived = threading.Condition()
        self._released = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._scheme = "http" if context is None else "https"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="token-endpoint")

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        """Without a path."""
        return f"{self._scheme}://{self.address}"

    def wait_for(self, count: int) -> list[Asked]:
        """All requests so far, once there are so many."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.asked) >= count, LIMIT), f"no {count} requests: {self.asked}"
            return list(self.asked)

    def release(self) -> None:
        """Let go of all requests that hang."""
        self.hang = False
        self._released.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                endpoint._serve(self)

            def do_POST(self) -> None:
                endpoint._serve(self)

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        return Handler

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        asked = _read(handler)
        with self._arrived:
            self.asked.append(asked)
            self._arrived.notify_all()
        if self.hang:
            assert self._released.wait(2 * LIMIT), "the test never let go of the request"
        if self.drop:
            return
        answer = self.respond(asked)
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        handler.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


def _read(handler: BaseHTTPRequestHandler) -> Asked:
    url = urlsplit(handler.path)
    body = handler.rfile.read(int(handler.headers.get("Content-Length", 0))).decode()
    headers = {name.lower(): value for name, value in handler.headers.items()}
    return Asked(handler.command or "", url.path, _flat(url.query), headers, _flat(body))


def _flat(text: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(text).items()}
