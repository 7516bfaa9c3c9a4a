"""A client that knows nothing of kwsync: whole answers through http.client, watches chunk by chunk from a socket."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from kwsync.testing import ApiServer

LIMIT_SECONDS = 10.0
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


class Answer(NamedTuple):
    """A whole answer; `body` is decoded where it is JSON."""

    status: int
    headers: http.client.HTTPMessage
    body: Any

    @property
    def reason(self) -> Any:
        """Of a Status."""
        return self.body.get("reason", "")

    @property
    def names(self) -> list[str]:
        """Of the items of a list."""
        return [item["metadata"]["name"] for item in self.body["items"]]

    @property
    def version(self) -> str:
        """The resource version of the object or list."""
        version: str = self.body["metadata"]["resourceVersion"]
        return version


class Http:
    """One connection, made anew when the server has closed it."""

    def __init__(self, server: ApiServer, context: ssl.SSLContext | None = None, **headers: str) -> None:
        self._server = server
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if context is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_SECONDS)
        else:
            self.connection = http.client.HTTPSConnection(
                "127.0.0.1", server.port, timeout=LIMIT_SECONDS, context=context
            )

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, object] | None = None,
        **headers: str,
    ) -> Answer:
        """Send one request and read its whole answer; `Content_Type` is a header's name here."""
        target = f"{path}?{urlencode(query)}" if query else path
        sent = {**self._headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        self.connection.request(method, target, data, sent)
        response = self.connection.getresponse()
        return Answer(response.status, response.headers, decoded(response))

    def get(self, path: str, **query: object) -> Answer:
        """A GET."""
        return self("GET", path, query=query)

    def list_maps(self, **query: object) -> Answer:
        """The config maps of the namespace default."""
        return self.get(MAPS, **query)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def decoded(response: http.client.HTTPResponse) -> Any:
    """The body as what it is."""
    content = response.read()
    return json.loads(content) if response.headers.get_content_type() == "application/json" and content else content


class Stream:
    """A watch, read chunk by chunk as the chunks are on the wire."""

    def __init__(
        self, server: ApiServer, path: str = MAPS, *, accept: str = "application/json", **query: object
    ) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_SECONDS)
        self._file = self.socket.makefile("rb")
        target = f"{path}?{urlencode({'watch': 1, **query})}"
        self.socket.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n".encode())
        self._text = b""
        try:
            self.status = int(self._file.readline().split()[1])
            self.headers = http.client.parse_headers(self._file)
        except BaseException:
            self.close()
            raise

    def chunk(self) -> bytes:
        """The next chunk; empty at the clean end. AssertionError where the body breaks off."""
        line = self._file.readline()
        assert line, "the body broke off"
        size = int(line, 16)
        data = self._file.read(size)
        assert len(data) == size, "the chunk broke off"
        assert self._file.read(2) == b"\r\n", "the chunk broke off"
        return data

    def chunks(self) -> list[bytes]:
        """Every chunk up to the clean end."""
        return list(iter(self.chunk, b""))

    def event(self) -> dict[str, Any]:
        """The next event, however it is cut into chunks."""
        while b"\n" not in self._text:
            more = self.chunk()
            assert more, "the stream has ended"
            self._text += more
        line, _, self._text = self._text.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def events(self, count: int | None = None) -> list[dict[str, Any]]:
        """The next events, or all up to the clean end."""
        if count is not None:
            return [self.event() for _ in range(count)]
        text = self._text + b"".join(self.chunks())
        return [json.loads(line) for line in text.splitlines()]

    def close(self) -> None:
        """Go away."""
        self._file.close()
        self.socket.close()


@contextlib.contextmanager
def stalled(server: ApiServer, count: int, path: str = MAPS, **query: object) -> Iterator[list[socket.socket]]:
    """Watches that have begun and are not read, whose sockets take in no more than the kernel must."""
    target = f"{path}?{urlencode({'watch': 1, **query})}"
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in socks:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(LIMIT_SECONDS)
            sock.connect(("127.0.0.1", server.port))
            sock.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            # The watch is on when its head arrives.
            assert sock.recv(12) == b"HTTP/1.1 200"
        yield socks


def told(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Of each event its type and the name of its object."""
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


Open = Callable[..., Stream]


@contextlib.contextmanager
def opening(server: ApiServer) -> Iterator[Open]:
    """Opens watches, and closes them at the end."""
    with contextlib.ExitStack() as stack:

        def open_stream(path: str = MAPS, **options: Any) -> Stream:
            return stack.enter_context(contextlib.closing(Stream(server, path, **options)))

        yield open_stream


def config_map(name: str = "a", **data: str) -> dict[str, Any]:
    """A ConfigMap to create."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def labelled(name: str, **labels: str) -> dict[str, Any]:
    """A ConfigMap with labels."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}


def definition(**more: Any) -> dict[str, Any]:
    """The definition of widgets.example.com, in v1 and v2."""
    versions: list[dict[str, Any]] = [
        {"name": name, "served": True, "storage": name == "v1", "subresources": {"status": {}}} for name in ("v1", "v2")
    ]
    names = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions, **more}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": spec,
    }


def widget(name: str = "w", version: str = "v1", **spec: Any) -> dict[str, Any]:
    """One of them."""
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
