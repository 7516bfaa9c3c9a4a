"""Files as the kubelet keeps them, servers and clients for them, and watches that are read on a thread."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kwsync import Client, Cluster, EndReason, ErrorOrigin, WatchError, WatchStream
from kwsync.credentials import ClientCertificate, Credential
from kwsync.testing import End, Event, Head, Http, Request, ScriptedServer, StallUntil, Step, TestCA, pod

LIMIT = 5.0
"""Seconds that anything may take which should happen at once."""

POD = pod("a", namespace="ns")
GOOD = Http(200, POD)
OPEN: list[Step] = [Head(), Event("ADDED", POD), StallUntil(threading.Event())]
"""A watch that has told something, and goes on until it is ended."""
REPLACED = "the client certificate has been replaced"


class Mount:
    """A folder as the kubelet mounts it: every name is a link into ..data, which is a link to one version."""

    def __init__(self, folder: Path, **files: bytes | str) -> None:
        self.folder = folder
        self._version = 0
        self.swap(**files)
        for name in files:
            self.path(name).symlink_to(f"..data/{_dotted(name)}")

    def path(self, name: str) -> Path:
        """Of a file; ``ca_crt`` is ``ca.crt``."""
        return self.folder / _dotted(name)

    def swap(self, **files: bytes | str) -> None:
        """Replace all files at once."""
        self._version += 1
        version = self.folder / f"..{self._version}"
        version.mkdir()
        for name, content in files.items():
            (version / _dotted(name)).write_bytes(content.encode() if isinstance(content, str) else content)
        (self.folder / "..new").symlink_to(version.name)
        (self.folder / "..new").replace(self.folder / "..data")


def _dotted(name: str) -> str:
    return name.replace("_", ".")


class Pair:
    """A client certificate in files, and the one authority that signs it."""

    def __init__(self, ca: TestCA, folder: Path, name: str = "old") -> None:
        self._ca = ca
        self.mount = Mount(folder, **self._made(ca, name))

    @property
    def credential(self) -> ClientCertificate:
        """A new one that reads them."""
        return ClientCertificate(certificate_file=self.mount.path("tls_crt"), key_file=self.mount.path("tls_key"))

    def swap(self, name: str, ca: TestCA | None = None) -> None:
        """To a new one, of this authority or another."""
        self.mount.swap(**self._made(ca or self._ca, name))

    @staticmethod
    def _made(ca: TestCA, name: str) -> dict[str, bytes | str]:
        issued = ca.client_cert(name)
        return {"tls_crt": issued.cert_pem, "tls_key": issued.key_pem}


@contextmanager
def serving(
    ca: TestCA, credential: Credential | None, *, context: ssl.SSLContext | None = None, **cluster: Any
) -> Iterator[tuple[ScriptedServer, Client]]:
    """A server that demands a client certificate, keeps watches open and answers everything else; and its client."""
    context = context or ca.server_context(require_client_cert=True)
    with ScriptedServer(tls=context, default=GOOD) as server:
        fields = {"ca_data": ca.pem, **cluster}
        with Client(Cluster(server.url, **fields), credential, connect_timeout=LIMIT, request_timeout=LIMIT) as client:
            yield server, client


def get(client: Client) -> Any:
    """A verb."""
    return client.get("pods", "a", "ns")


def name_of(request: Request) -> str:
    """Who asked, by the certificate."""
    return request.peer_certificate.common_name if request.peer_certificate else "nobody"


def names(server: ScriptedServer) -> list[str]:
    """Who asked, request by request."""
    return [name_of(request) for request in server.requests]


def token_of(request: Request) -> str:
    """What the request proved itself with."""
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


class Lasting:
    """Watches that tell one thing, and another when they are told to."""

    def __init__(self, server: ScriptedServer) -> None:
        self._go = threading.Event()
        told, end = Event("DELETED", POD), End()
        server.on(lambda request: request.is_watch, *OPEN[:2], StallUntil(self._go), told, end, times=1)

    def assert_open(self, stream: WatchStream) -> None:
        """It is still there, for it tells the other thing."""
        self._go.set()
        with closed_in_time(stream):
            assert [str(event.type) for event in stream] == ["DELETED"]


def replaced(stream: WatchStream) -> WatchError:
    """The one ERROR with which a watch ends whose certificate was replaced."""
    with closed_in_time(stream):
        (event,) = stream
    assert event.error is not None, event
    assert (event.error.origin, event.error.status_code) == (ErrorOrigin.NETWORK, 0)
    assert REPLACED in event.error.message
    assert stream.end is not None
    assert (stream.end.reason, stream.end.error) == (EndReason.ERROR, event.error)
    return event.error


@contextmanager
def closed_in_time(stream: Any) -> Iterator[None]:
    """Whoever reads the stream in this block does not read for ever."""
    timer = threading.Timer(LIMIT, stream.close)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
