"""TLS: whom the client trusts, how it proves itself, and what a failure of either looks like."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from kwsync import Client, Cluster, EndReason, ErrorOrigin, ErrorType, WatchError, watch_resource
from kwsync.credentials import BearerToken, ClientCertificate, Credential
from kwsync.testing import (
    ClientCert,
    CutChunk,
    End,
    Event,
    Fin,
    Head,
    Rst,
    ScriptedServer,
    Split,
    Step,
    TestCA,
    pod,
)
from tests.watch.support import SOON, Outcome, assert_clean, line, outcome_of, served

ONE = (Head(), Event("ADDED", pod("a")), End())


@pytest.fixture(scope="module")
def ca() -> TestCA:
    """The authority that signed the server's certificate."""
    return TestCA()


@pytest.fixture(scope="module")
def other() -> TestCA:
    """An authority that has nothing to do with it."""
    return TestCA()


def watch(client: Client) -> Outcome:
    """The outcome of one watch."""
    return outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON))


def distrusted(outcome: Outcome) -> WatchError:
    """The one ERROR of a server that is not trusted."""
    error = outcome.error
    assert (error.origin, error.error_type, error.status_code) == (ErrorOrigin.NETWORK, ErrorType.SYSTEM_ERROR, 0)
    assert "certificate cannot be trusted" in error.message
    assert isinstance(error.__cause__, ssl.SSLCertVerificationError)
    assert outcome.end.reason is EndReason.ERROR
    return error


class TestTrust:
    @pytest.mark.parametrize(
        "form", ["file", "text", "bytes", "base64", "base64-bytes", "base64-lines", "chain", "comments"]
    )
    def test_authority(self, form: str, ca: TestCA, other: TestCA, tmp_path: Path) -> None:
        """The authority comes as a file or as data, which is PEM or base64 of PEM, with others beside it."""
        encoded = base64.encodebytes(ca.pem)
        comments = f"# Autorität für dieses Cluster\n{ca.pem.decode()}\n# 結束\n".encode()
        (tmp_path / "with comments.crt").write_bytes(comments)
        fields: dict[str, Any] = {
            "file": {"ca_file": str(ca.write(tmp_path))},
            "text": {"ca_data": ca.pem.decode()},
            "bytes": {"ca_data": ca.pem},
            "base64": {"ca_data": encoded.replace(b"\n", b"").decode()},
            "base64-bytes": {"ca_data": encoded.replace(b"\n", b"")},
            "base64-lines": {"ca_data": encoded.decode()},
            "chain": {"ca_data": other.pem + b"\r\n" + ca.pem},
            "comments": {"ca_file": str(tmp_path / "with comments.crt")},
        }
        with served(ONE, tls=ca.server_context(), **fields[form]) as (_, client):
            assert_clean(watch(client), "a")

    def test_file_wins(self, ca: TestCA, other: TestCA, tmp_path: Path) -> None:
        """Of both the file counts, as in Backstage (2.3)."""
        with served(ONE, tls=ca.server_context(), ca_file=str(ca.write(tmp_path)), ca_data=other.pem) as (_, client):
            assert_clean(watch(client), "a")
        with served(ONE, tls=ca.server_context(), ca_file=str(other.write(tmp_path)), ca_data=ca.pem) as (_, client):
            distrusted(watch(client))

    @pytest.mark.parametrize("fields", ["other", "system"])
    def test_wrong_authority(self, fields: str, ca: TestCA, other: TestCA) -> None:
        """A server of another authority gets no request and no credential, also where the system's own are asked."""
        trust: dict[str, Any] = {"ca_data": other.pem} if fields == "other" else {}
        with served(tls=ca.server_context(), credential=BearerToken("x"), **trust) as (server, client):
            distrusted(watch(client))
            server.wait_until_idle()
            assert server.requests == []

    def test_system_authorities(self, ca: TestCA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without an authority those of the system count, which OpenSSL's variable may name."""
        monkeypatch.setenv("SSL_CERT_FILE", str(ca.write(tmp_path)))
        with served(ONE, tls=ca.server_context()) as (_, client):
            assert_clean(watch(client), "a")

    def test_wrong_name(self, ca: TestCA) -> None:
        """A certificate for another host is not trusted; the error tells which name was asked for."""
        with served(tls=ca.server_context("elsewhere.test"), ca_data=ca.pem) as (_, client):
            assert "127.0.0.1" in distrusted(watch(client)).message

    def test_server_name(self, ca: TestCA) -> None:
        """tls_server_name is the name that is asked for (SNI) and verified, in place of the URL's host."""
        asked = []
        context = ca.server_context("api.internal.test")
        context.sni_callback = lambda _, name, __: asked.append(name)
        with served(ONE, tls=context, ca_data=ca.pem, tls_server_name="api.internal.test") as (server, client):
            assert_clean(watch(client), "a")
            assert server.requests[0].headers["Host"] == f"127.0.0.1:{server.port}"
        assert asked == ["api.internal.test"]

    def test_wrong_server_name(self, ca: TestCA) -> None:
        """A certificate for the URL's host does not do where another name is to be verified."""
        with served(tls=ca.server_context(), ca_data=ca.pem, tls_server_name="other.test") as (_, client):
            assert "other.test" in distrusted(watch(client)).message

    def test_skip_verify(self, ca: TestCA, other: TestCA) -> None:
        """skip_tls_verify trusts everybody: another authority, another name, an authority that cannot be read."""
        context = ca.server_context("elsewhere.test")
        for fields in ({"ca_data": other.pem}, {}, {"ca_file": "/nowhere/ca.crt"}):
            with served(ONE, tls=context, skip_tls_verify=True, **fields) as (_, client):
                assert_clean(watch(client), "a")

    @pytest.mark.parametrize("atomic", [False, True], ids=["written", "renamed"])
    def test_rotation(self, atomic: bool, ca: TestCA, other: TestCA, tmp_path: Path) -> None:
        """A CA file that changes on disk is read again for the next connection, by the same client (H1)."""
        path = ca.write(tmp_path)
        with served(ONE, ONE, tls=ca.server_context(), ca_file=str(path)) as (server, client):
            assert_clean(watch(client), "a")
            server.tls = other.server_context()
            server.drop_connections()
            distrusted(watch(client))
            if atomic:
                os.replace(other.write(tmp_path, "new"), path)
            else:
                path.write_bytes(other.pem)
            assert_clean(watch(client), "a")

    def test_file_that_never_was(self, tmp_path: Path) -> None:
        """Without an authority so far there is no request; what comes later is tried in tests/credentials."""
        path = tmp_path / "ca.crt"
        with Client(Cluster("https://127.0.0.1:1", ca_file=str(path))) as client:
            error = watch(client).error
        assert (error.origin, error.status_code) == (ErrorOrigin.CONFIG, 0)
        assert str(path) in error.message


class TestClientCertificate:
    def test_presented(self, ca: TestCA, tmp_path: Path) -> None:
        """A client certificate is shown in TLS, from memory or from files, and no header is sent for it."""
        pair = ca.client_cert("alice", organization="team")
        cert, key = pair.write(tmp_path)
        from_memory = ClientCertificate(certificate=pair.cert_pem, key=base64.b64encode(pair.key_pem))
        for credential in (from_memory, ClientCertificate(certificate_file=cert, key_file=key)):
            with self.served(ca, credential) as (server, client):
                assert_clean(watch(client), "a")
                (request,) = server.requests
            assert request.peer_certificate is not None
            assert request.peer_certificate.common_name == "alice"
            assert request.peer_certificate.organizations == ("team",)
            assert "Authorization" not in request.headers

    @contextmanager
    def served(self, ca: TestCA, credential: Credential | None) -> Iterator[tuple[ScriptedServer, Client]]:
        """A server that demands a client certificate."""
        context = ca.server_context(require_client_cert=True)
        with served(ONE, ONE, ONE, tls=context, ca_data=ca.pem, credential=credential) as both:
            yield both

    def test_missing(self, ca: TestCA) -> None:
        """A server that demands one and gets none breaks off: one ERROR."""
        with self.served(ca, None) as (server, client):
            error = watch(client).error
            assert (error.origin, error.status_code) == (ErrorOrigin.NETWORK, 0)
            assert server.requests == []

    def test_rotation(self, ca: TestCA, tmp_path: Path) -> None:
        """Files that are swapped count for the next watch, which makes a connection of its own for them (H2)."""
        old, new = ca.client_cert("old"), ca.client_cert("new")
        cert, key = old.write(tmp_path)
        with self.served(ca, ClientCertificate(certificate_file=cert, key_file=key)) as (server, client):
            watch(client)
            watch(client)
            new.write(tmp_path)
            assert_clean(watch(client), "a")
            names = [request.peer_certificate and request.peer_certificate.common_name for request in server.requests]
            assert names == ["old", "old", "new"]
            assert [request.connection_id for request in server.requests] == [1, 1, 2]

    @pytest.mark.parametrize("fault", ["locked", "no-pair", "no-pem", "no-key", "cert-as-key"])
    def test_unusable(self, fault: str, ca: TestCA) -> None:
        """A key locked with a password is an error and no prompt, like any pair that cannot be used: 401."""
        pair, stranger = ca.client_cert("alice"), ca.client_cert("bob")
        armour = b"-----BEGIN %s-----\nrubbish\n-----END %s-----\n"
        keys = {
            "locked": locked(pair),
            "no-pair": stranger.key_pem,
            "no-pem": armour % (b"PRIVATE KEY", b"PRIVATE KEY"),
            "no-key": armour % (b"COMMENT", b"COMMENT"),
            "cert-as-key": pair.cert_pem,
        }
        credential = ClientCertificate(certificate=pair.cert_pem, key=keys[fault])
        with self.served(ca, credential) as (server, client):
            error = watch(client).error
            assert (error.origin, error.error_type) == (ErrorOrigin.CONFIG, ErrorType.UNAUTHORIZED_ERROR)
            assert "client certificate" in error.message
            assert server.connections_accepted == 0

    def test_nothing_on_the_disk(self, ca: TestCA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The file through which the key goes to OpenSSL is gone at once, also where the pair cannot be used."""
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        pair = ca.client_cert("alice")
        for key in (pair.key_pem, locked(pair)):
            with self.served(ca, ClientCertificate(certificate=pair.cert_pem, key=key)) as (_, client):
                watch(client)
        assert list(tmp_path.iterdir()) == []


def locked(pair: ClientCert) -> bytes:
    """The key, encrypted with a password."""
    key = serialization.load_pem_private_key(pair.key_pem, None)
    encryption = serialization.BestAvailableEncryption(b"password")
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


class TestStream:
    def test_events(self, ca: TestCA) -> None:
        """The stream over TLS is the same stream, also where records cut its lines."""
        pods = [pod(f"p{n}", str(n), spec={"text": "ä€😀" * n}) for n in range(40)]
        body = b"".join(line("ADDED", found) for found in pods)
        with served((Head(), Split(body, 701), End()), ONE, tls=ca.server_context(), ca_data=ca.pem) as (
            server,
            client,
        ):
            assert [event.object for event in watch(client).events] == pods
            assert_clean(watch(client), "a")
            assert server.connections_accepted == 1

    @pytest.mark.parametrize(
        "death", [(Rst(),), (Fin(),), (Fin(notify=False),), (CutChunk(b"{", 50), Fin()), (CutChunk(b"{", 50), Rst())]
    )
    def test_break(self, death: tuple[Step, ...], ca: TestCA) -> None:
        """A stream that breaks is one ERROR, with close_notify and without it (Backstage, section 4: it hung)."""
        with served((*ONE[:-1], *death), tls=ca.server_context(), ca_data=ca.pem) as (_, client):
            outcome = watch(client)
        assert outcome.types == ["ADDED", "ERROR"]
        assert (outcome.error.origin, outcome.end.reason) == (ErrorOrigin.NETWORK, EndReason.ERROR)


class TestHandshake:
    def test_plain_server(self) -> None:
        """A server that speaks HTTP where TLS was expected: one ERROR that tells so."""
        with ScriptedServer() as server, Client(Cluster(server.url.replace("http:", "https:"))) as client:
            error = watch(client).error
        assert (error.origin, error.status_code) == (ErrorOrigin.NETWORK, 0)
        assert "SSL" in error.message

    def test_plain_client(self, ca: TestCA) -> None:
        """A server that speaks TLS where HTTP was expected: one ERROR."""
        with (
            served(tls=ca.server_context()) as (server, _),
            Client(Cluster(f"http://127.0.0.1:{server.port}")) as client,
        ):
            error = watch(client).error
        assert (error.origin, error.status_code) == (ErrorOrigin.NETWORK, 0)
