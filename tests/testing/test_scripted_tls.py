"""TLS: handshakes, client certificates, changed certificates, and the same faults as without."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kwsync.testing import (
    Blackhole,
    End,
    Event,
    Fin,
    Head,
    Http,
    Raw,
    Repeat,
    Rst,
    ScriptedServer,
    Stall,
    StallUntil,
    Step,
    TestCA,
    pod,
)
from tests.testing.raw_client import Connect, RawClient

LIMIT_SECONDS = 30


def test_stream(connect: Connect, ca: TestCA) -> None:
    """A chunked stream, keep-alive and a large body work over TLS."""
    script = [Head(), Event("ADDED", pod("a")), Repeat(Raw(b"x" * 100_000), 30), End()]
    with ScriptedServer(script, [Http(200, "second")], tls=ca.server_context()) as server:
        assert server.url == f"https://127.0.0.1:{server.port}"
        client = connect(server, ca.client_context()).get()
        assert client.read_until(b"\r\n0\r\n\r\n").count(b"x") == 3_000_000
        assert client.get().read_until(b"second")
        assert server.connections_accepted == 1


@pytest.mark.parametrize("step", [Stall(), Blackhole()])
def test_disconnect_is_seen(connect: Connect, ca: TestCA, step: Step) -> None:
    """The client's close is seen while a script stalls."""
    with ScriptedServer([Head(), step], tls=ca.server_context()) as server:
        client = connect(server, ca.client_context()).get()
        client.read_head()
        client.close()
        assert server.requests[0].closed_by_client.wait(5.0), "the close was not seen"


def test_endings(connect: Connect, ca: TestCA) -> None:
    """Fin is a clean end of the TLS stream, Fin(notify=False) a cut one, Rst a reset."""
    release = threading.Event()
    with ScriptedServer(
        [Fin()], [Fin(notify=False)], [Head(), StallUntil(release), Rst()], tls=ca.server_context()
    ) as server:
        assert _end_of(connect(server, ca.client_context()).get()) == "clean"
        assert _end_of(connect(server, ca.client_context()).get()) == "cut"
        client = connect(server, ca.client_context()).get()
        client.read_head()
        release.set()
        with pytest.raises(ConnectionResetError):
            # Below TLS, because OpenSSL 3 takes a reset for an end of file.
            socket.socket.recv(client.socket, 1)


def _end_of(client: RawClient) -> str:
    try:
        return "clean" if client.socket.recv(1) == b"" else "data"
    except ssl.SSLEOFError:
        return "cut"


def test_client_certificate(connect: Connect, ca: TestCA, tmp_path: Path) -> None:
    """A client certificate is recorded with user, group and serial; without one there is none."""
    context = ca.client_context()
    context.load_cert_chain(*ca.client_cert("alice", organization="team").write(tmp_path))
    with ScriptedServer(default=Http(200), tls=ca.server_context()) as server:
        connect(server, context).get().read_head()
        connect(server, ca.client_context()).get().read_head()
        with_certificate, without = (request.peer_certificate for request in server.requests)
    assert with_certificate is not None
    assert (with_certificate.common_name, with_certificate.organizations) == ("alice", ("team",))
    assert int(with_certificate.serial, 16) > 0
    assert "commonName=alice" in with_certificate.subject
    assert without is None


def test_client_certificate_demanded(connect: Connect, ca: TestCA) -> None:
    """Without the demanded client certificate no request gets through, and the server says why."""
    with ScriptedServer(default=Http(200), tls=ca.server_context(require_client_cert=True)) as server:
        # Whether the client sees the alert, an end of file or a reset is a race, with real servers too.
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connect(server, ca.client_context()).get().read_all()
        server.wait_until_idle(5.0)
        assert server.requests == []
        assert "PEER_DID_NOT_RETURN_A_CERTIFICATE" in server.tls_errors[0].upper().replace(" ", "_")


@pytest.mark.parametrize("names", [(), ("other.example",)])
def test_distrust(connect: Connect, ca: TestCA, names: tuple[str, ...]) -> None:
    """A client that trusts another CA, or asked for another name, sends nothing; no failure of the server."""
    trusted = ca if names else TestCA()
    with ScriptedServer(tls=ca.server_context(*names)) as server:
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(server, trusted.client_context())
        server.wait_until_idle(5.0)
        assert server.requests == []


def test_new_certificate_authority(connect: Connect, ca: TestCA) -> None:
    """The certificate may change while the server runs: new connections get the new one."""
    other = TestCA()
    with ScriptedServer(default=Http(200), tls=ca.server_context()) as server:
        client = connect(server, ca.client_context()).get()
        client.read_head()
        server.tls = other.server_context()
        connect(server, other.client_context()).get().read_head()
        client.get().read_head()


def test_pem_files(ca: TestCA, tmp_path: Path) -> None:
    """The CA's certificate is at hand as bytes and as a file."""
    path = ca.write(tmp_path)
    assert path.read_bytes() == ca.pem
    assert ssl.create_default_context(cafile=str(path)).cert_store_stats()["x509_ca"] == 1


def test_handshake_stall(connect: Connect) -> None:
    """With handshake_stall=True the hello is never answered, and the client's close is seen."""
    with ScriptedServer(handshake_stall=True) as server:
        assert server.url.startswith("https://")
        client = connect(server)
        client.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            ssl.create_default_context().wrap_socket(client.socket, server_hostname="localhost")
        server.wait_for_disconnect(5.0)


def test_stop_in_the_middle_of_a_handshake(connect: Connect, ca: TestCA) -> None:
    """A client that never says hello does not hold up the stop, and leaves no socket."""
    before = len(os.listdir("/dev/fd"))
    with ScriptedServer(tls=ca.server_context()) as server:
        connect(server)
        server.wait_for_connections(1)
    assert len(os.listdir("/dev/fd")) == before + 1
    assert server.tls_errors == []


def test_import_without_the_extras() -> None:
    """kwsync.testing imports neither trustme nor pytest nor anything else that is not its own."""
    code = (
        "import sys; sys.modules.update(trustme=None, pytest=None); import kwsync.testing as t\n"
        "try: t.TestCA()\nexcept ImportError as e: print(e)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True
    )
    assert "kwsync[test]" in done.stdout
