"""TLS versions, hosts that are IPv6 addresses, and the rest of what the conformance list says of the transport."""

from __future__ import annotations

import json
import socket
import ssl
from pathlib import Path

import pytest

from kwsync import Client, Cluster, ErrorOrigin, watch_resource
from kwsync._transport._tls import TLSContexts, proxy_context
from kwsync.credentials import BearerToken
from kwsync.errors import ConfigError
from kwsync.testing import ProxyServer, ScriptedServer, TestCA
from tests.client.support import failure
from tests.credentials.rotating import GOOD, OPEN, POD, get, serving


@pytest.fixture(scope="module")
def ca() -> TestCA:
    """The authority of the server."""
    return TestCA()


class TestVersions:
    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    def test_b189_new_enough(self, ca: TestCA, version: ssl.TLSVersion) -> None:
        """TLS 1.2 and 1.3 are spoken."""
        context = ca.server_context()
        context.minimum_version = context.maximum_version = version
        with serving(ca, None, context=context) as (_, client):
            assert get(client) == POD

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    @pytest.mark.parametrize("insecure", [False, True])
    def test_b189_too_old(self, ca: TestCA, insecure: bool) -> None:
        """A server that knows no more than TLS 1.1 is refused, also by who verifies nothing."""
        context = old(ca.server_context())
        with serving(ca, BearerToken("x"), context=context, skip_tls_verify=insecure) as (server, client):
            if not speaks_old(server.port):
                pytest.skip("OpenSSL was built without TLS 1.1")
            error = failure(lambda: get(client))
            assert (error.origin, error.status_code) == (ErrorOrigin.NETWORK, 0)
            assert server.requests == []

    def test_b189_at_least(self) -> None:
        """Both the cluster's and a proxy's context say so, whatever the system's configuration is."""
        for context in (TLSContexts(Cluster("https://x")).get(None, None), proxy_context()):
            assert context.minimum_version == ssl.TLSVersion.TLSv1_2
            assert context.verify_mode == ssl.CERT_REQUIRED
            assert context.check_hostname


def old(context: ssl.SSLContext) -> ssl.SSLContext:
    """TLS 1.1 and nothing else, as far as this OpenSSL can."""
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


def speaks_old(port: int) -> bool:
    """Whether a client that wants nothing else gets through."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection(("127.0.0.1", port)) as sock, old(context).wrap_socket(sock) as secure:
            return secure.version() == "TLSv1.1"
    except OSError:
        return False


def test_b189_authority_and_insecure(tmp_path: Path) -> None:
    """A kubeconfig with both is an error. (Of a Cluster skip_tls_verify wins, as in Backstage: tests/watch.)"""
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority": "ca.crt", "insecure-skip-tls-verify": True}
    document = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": ""}}],
        "current-context": "x",
    }
    (tmp_path / "config").write_text(json.dumps(document))
    with pytest.raises(ConfigError, match="remove one of them"):
        Client.from_kubeconfig(tmp_path / "config")


class TestSix:
    """Hosts that are IPv6 addresses."""

    @pytest.fixture(autouse=True)
    def listen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Servers of this class listen on ::1."""
        if not _has_six():
            pytest.skip("this machine has no IPv6")
        monkeypatch.setattr("kwsync.testing._listener.listening_socket", _listening)

    @pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
    def test_b190_host(self, ca: TestCA, secure: bool) -> None:
        """The URL has brackets, and so has the header Host; TLS verifies the bare address."""
        context = ca.server_context("::1") if secure else None
        with ScriptedServer(tls=context, default=GOOD) as server:
            url = f"{'https' if secure else 'http'}://[::1]:{server.port}"
            with Client(Cluster(url, ca_data=ca.pem)) as client:
                server.on(lambda request: request.is_watch, *OPEN)
                assert get(client) == POD
                with watch_resource("pods", client=client) as stream:
                    assert next(stream).key.name == "a"
            assert [request.headers["Host"] for request in server.requests] == [f"[::1]:{server.port}"] * 2

    def test_b190_other_address(self, ca: TestCA) -> None:
        """A certificate for another address is not trusted."""
        server = ScriptedServer(tls=ca.server_context("::2"))
        with server, Client(Cluster(f"https://[::1]:{server.port}", ca_data=ca.pem)) as client:
            assert "cannot be trusted" in failure(lambda: get(client)).message

    @pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
    def test_b190_through_a_proxy(self, ca: TestCA, secure: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """Server and proxy may both have such an address; NO_PROXY knows it with and without brackets."""
        context, scheme = (ca.server_context("2001:db8::1"), "https") if secure else (None, "http")
        with ScriptedServer(tls=context, default=GOOD) as server, ProxyServer(("::1", server.port)) as proxy:
            cluster = Cluster(f"{scheme}://[2001:db8::1]:6443", ca_data=ca.pem)
            monkeypatch.setenv(f"{scheme}_proxy", f"http://[::1]:{proxy.port}")
            with Client(cluster) as client:
                assert get(client) == POD
            (asked,) = proxy.requests
            target = "[2001:db8::1]:6443" if secure else "http://[2001:db8::1]:6443/api/v1/namespaces/ns/pods/a"
            assert asked.target == target
            assert server.requests[0].headers["Host"] == "[2001:db8::1]:6443"

    @pytest.mark.parametrize("exempt", ["::1", "[::1]", "::/64"])
    def test_b190_no_proxy(self, exempt: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """NO_PROXY names it bare, in brackets or by its network."""
        with ScriptedServer(default=GOOD) as server, Client(Cluster(f"http://[::1]:{server.port}")) as client:
            monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
            monkeypatch.setenv("no_proxy", exempt)
            assert get(client) == POD


def _has_six() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


def _listening(port: int, backlog: int = 128) -> socket.socket:
    sock = socket.socket(socket.AF_INET6)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("::1", port))
    sock.listen(backlog)
    sock.setblocking(False)
    return sock
