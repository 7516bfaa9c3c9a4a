"""Through a proxy: how it is asked, what it may see, and what its own errors look like."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kwsync import Client, Cluster, EndReason, ErrorOrigin, ErrorType, WatchError, watch_resource
from kwsync.credentials import BearerToken, ClientCertificate
from kwsync.testing import (
    End,
    Event,
    Fin,
    Head,
    Http,
    ProxyServer,
    RawBytes,
    Rst,
    ScriptedServer,
    StallUntil,
    Step,
    TestCA,
    pod,
)
from tests.watch.support import PODS, SOON, Outcome, assert_clean, outcome_of

ONE = (Head(), Event("ADDED", pod("a")), End())
SECRET = "made-up-secret"
PASSWORD = "made-up-password"
HOST = "api.cluster.test"


@pytest.fixture(scope="module")
def ca() -> TestCA:
    """The authority that signed the server's certificate."""
    return TestCA()


def watch(client: Client) -> Outcome:
    """The outcome of one watch."""
    return outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON))


@contextmanager
def behind(
    proxy: ProxyServer | ScriptedServer, *, scheme: str = "https", proxy_url: str | None = None, **fields: Any
) -> Iterator[Client]:
    """A client of a cluster that is reached through the proxy alone: its name does not resolve."""
    cluster = Cluster(f"{scheme}://{HOST}:6443", proxy_url=proxy_url or proxy.url, **fields)
    with Client(cluster, BearerToken(SECRET), connect_timeout=5) as client:
        yield client


@contextmanager
def secure(ca: TestCA, *scripts: tuple[Step, ...], **proxy: Any) -> Iterator[tuple[ScriptedServer, ProxyServer]]:
    """A server with the name, and a proxy whose tunnels lead to it."""
    server = ScriptedServer(*scripts, tls=ca.server_context(HOST))
    with server, ProxyServer(("127.0.0.1", server.port), **proxy) as through:
        yield server, through


def with_login(url: str) -> str:
    """The proxy's URL with a name and a password."""
    return url.replace("://", f"://me:{PASSWORD}@")


LOGIN = f"Basic {base64.b64encode(f'me:{PASSWORD}'.encode()).decode()}"


class TestTunnel:
    """HTTPS: the proxy opens a tunnel and sees neither the request nor the credential."""

    def test_connect(self, ca: TestCA) -> None:
        """The proxy is asked to CONNECT to host and port, and TLS with that host goes on inside of it."""
        with secure(ca, ONE) as (server, proxy), behind(proxy, ca_data=ca.pem) as client:
            assert_clean(watch(client), "a")
            (asked,), (request,) = proxy.requests, server.requests
        assert (asked.method, asked.target) == ("CONNECT", f"{HOST}:6443")
        # Before Python 3.12 it is HTTP/1.0, which needs no Host.
        assert asked.headers.get("Host", f"{HOST}:6443") == f"{HOST}:6443"
        assert {name.lower() for name in asked.headers} <= {"host", "user-agent", "proxy-connection"}
        assert SECRET not in repr(asked)
        assert (request.target, request.headers["Authorization"]) == (
            f"{PODS}?watch=true&timeoutSeconds=5",
            f"Bearer {SECRET}",
        )
        assert request.headers["Host"] == f"{HOST}:6443"

    def test_login(self, ca: TestCA) -> None:
        """The login for the proxy goes with CONNECT and never to the server."""
        with secure(ca, ONE) as (server, proxy):
            with behind(proxy, proxy_url=with_login(proxy.url), ca_data=ca.pem) as client:
                assert_clean(watch(client), "a")
            assert proxy.requests[0].headers.all("Proxy-Authorization") == [LOGIN]
            assert "Proxy-Authorization" not in server.requests[0].headers

    def test_login_is_decoded(self, ca: TestCA) -> None:
        """Name and password are percent-encoded in the URL, and sent as UTF-8."""
        with secure(ca, ONE) as (_, proxy):
            url = proxy.url.replace("://", "://m%40e:p%3Aä%2F@")
            with behind(proxy, proxy_url=url, ca_data=ca.pem) as client:
                assert_clean(watch(client), "a")
            sent = proxy.requests[0].headers["Proxy-Authorization"].removeprefix("Basic ")
        assert base64.b64decode(sent).decode() == "m@e:p:ä/"

    def test_connection_is_used_again(self, ca: TestCA) -> None:
        """After a clean end the next watch goes through the same tunnel."""
        with secure(ca, ONE, ONE) as (server, proxy), behind(proxy, ca_data=ca.pem) as client:
            assert_clean(watch(client), "a")
            assert_clean(watch(client), "a")
            assert (len(proxy.requests), len(server.requests)) == (1, 2)

    def test_client_certificate(self, ca: TestCA) -> None:
        """A client certificate is shown to the server inside the tunnel."""
        pair = ca.client_cert("alice")
        with secure(ca, ONE) as (server, proxy):
            cluster = Cluster(f"https://{HOST}:6443", proxy_url=proxy.url, ca_data=ca.pem)
            with Client(cluster, ClientCertificate(certificate=pair.cert_pem, key=pair.key_pem)) as client:
                assert_clean(watch(client), "a")
            certificate = server.requests[0].peer_certificate
        assert certificate is not None
        assert certificate.common_name == "alice"

    def test_server_is_verified(self, ca: TestCA) -> None:
        """The proxy does not stand in for the server: a certificate for another name is not trusted."""
        with ScriptedServer(tls=ca.server_context("other.test")) as server:
            with ProxyServer(("127.0.0.1", server.port)) as proxy, behind(proxy, ca_data=ca.pem) as client:
                assert "cannot be trusted" in watch(client).error.message
            assert server.requests == []

    @pytest.mark.parametrize("death", [Rst(), Fin()])
    def test_break(self, death: Step, ca: TestCA) -> None:
        """A stream that breaks behind the proxy is one ERROR."""
        with secure(ca, (*ONE[:-1], death)) as (_, proxy), behind(proxy, ca_data=ca.pem) as client:
            outcome = watch(client)
        assert outcome.types == ["ADDED", "ERROR"]
        assert outcome.error.origin is ErrorOrigin.NETWORK

    def test_closed(self, ca: TestCA) -> None:
        """Closing the stream closes the tunnel."""
        steps = (*ONE[:-1], StallUntil(threading.Event()))
        with secure(ca, steps) as (_, proxy), behind(proxy, ca_data=ca.pem) as client:
            with watch_resource("pods", client=client, timeout_seconds=SOON) as stream:
                assert next(stream).key.name == "a"
            proxy.wait_until_idle()

    @pytest.mark.parametrize("secured", [True, False], ids=["https", "http"])
    def test_https_proxy(self, secured: bool, ca: TestCA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A proxy may speak TLS itself; it is trusted as the system trusts, not as the cluster says."""
        own = TestCA()
        monkeypatch.setenv("SSL_CERT_FILE", str(own.write(tmp_path)))
        context = ca.server_context(HOST) if secured else None
        server, scheme = ScriptedServer(ONE, ONE, tls=context), "https" if secured else "http"
        with server, ProxyServer(("127.0.0.1", server.port), tls=own.server_context()) as proxy:
            with behind(proxy, scheme=scheme, proxy_url=with_login(proxy.url), ca_data=ca.pem) as client:
                assert_clean(watch(client), "a")
                assert_clean(watch(client), "a")
            assert proxy.requests[0].headers["Proxy-Authorization"] == LOGIN
            assert proxy.requests[0].method == ("CONNECT" if secured else "GET")

    def test_https_proxy_that_is_not_trusted(self, ca: TestCA) -> None:
        """One that only the cluster's authority has signed sees neither login nor request."""
        with secure(ca, tls=ca.server_context()) as (server, proxy):
            with behind(proxy, proxy_url=with_login(proxy.url), ca_data=ca.pem) as client:
                assert "cannot be trusted" in watch(client).error.message
            assert (proxy.requests, server.connections_accepted) == ([], 0)


class TestForwarded:
    """HTTP: the proxy gets the whole URL, and hands the request on."""

    def test_absolute_form(self) -> None:
        """The request line holds the whole URL, base path and query; the server sees its own part of it."""
        with ScriptedServer(ONE) as server, ProxyServer(("127.0.0.1", server.port)) as proxy:
            cluster = Cluster(f"http://{HOST}:8001/base", proxy_url=with_login(proxy.url))
            with Client(cluster, BearerToken(SECRET)) as client:
                assert_clean(watch(client), "a")
            (asked,), (request,) = proxy.requests, server.requests
        assert asked.method == "GET"
        assert asked.target == f"http://{HOST}:8001/base{PODS}?watch=true&timeoutSeconds=5"
        assert (asked.headers["Host"], asked.headers["Proxy-Authorization"]) == (f"{HOST}:8001", LOGIN)
        assert (request.path, request.headers["Authorization"]) == (f"/base{PODS}", f"Bearer {SECRET}")

    def test_connection_is_used_again(self) -> None:
        """After a clean end the next watch uses the same connection to the proxy."""
        with ScriptedServer(ONE, ONE) as server, ProxyServer(("127.0.0.1", server.port)) as proxy:
            with behind(proxy, scheme="http") as client:
                assert_clean(watch(client), "a")
                assert_clean(watch(client), "a")
            assert [request.connection_id for request in proxy.requests] == [1, 1]

    @pytest.mark.parametrize("code", [407, 502, 503])
    def test_refusal(self, code: int) -> None:
        """The proxy's own answer cannot be told from the server's: one ERROR with its status."""
        with ProxyServer(status=code) as proxy, behind(proxy, scheme="http") as client:
            outcome = watch(client)
        error = outcome.error
        assert (error.origin, error.error_type, error.status_code) == (ErrorOrigin.HTTP, ErrorType.UNKNOWN_ERROR, code)
        assert (outcome.types, error.resource_path) == (["ERROR"], PODS)


class TestRefusal:
    """What goes wrong before the tunnel stands."""

    def one_error(self, client: Client) -> WatchError:
        """The one ERROR of a watch whose server was not reached; no secret is in it."""
        outcome = watch(client)
        error = outcome.error
        assert (outcome.types, outcome.end.reason) == (["ERROR"], EndReason.ERROR)
        assert (error.origin, error.error_type, error.status_code) == (ErrorOrigin.NETWORK, ErrorType.SYSTEM_ERROR, 0)
        below: BaseException | None = error
        while below is not None:
            for secret in (SECRET, PASSWORD, LOGIN.removeprefix("Basic ")):
                assert secret not in f"{below!r} {below}"
            below = below.__cause__ or below.__context__
        return error

    @pytest.mark.parametrize("code", [302, 400, 403, 407, 502, 503])
    def test_status(self, code: int, ca: TestCA) -> None:
        """A CONNECT that is refused is one ERROR NETWORK that tells the proxy's status; nothing more is sent."""
        headers = {"Proxy-Authenticate": "Basic", "Location": "https://elsewhere.test/"}
        with secure(ca, status=code, headers=headers) as (server, proxy):
            with behind(proxy, proxy_url=with_login(proxy.url), ca_data=ca.pem) as client:
                assert str(code) in self.one_error(client).message
            assert len(proxy.requests) == 1
            assert server.connections_accepted == 0

    @pytest.mark.parametrize(
        "steps",
        [
            (Fin(),),
            (Rst(),),
            (RawBytes(b"rubbish\r\n\r\n"), Fin()),
            (RawBytes(b"HTTP/1.1 200 OK\r\nX:"), Fin()),
            (RawBytes(b"HTTP/1.1 200 OK\r\n\r\n"), Fin()),
            (RawBytes(b"HTTP/1.1 200 OK\r\n\r\nrubbish where TLS should be"), Fin()),
            (Http(204),),
        ],
        ids=["fin", "reset", "rubbish", "half-head", "then-fin", "then-rubbish", "204"],
    )
    def test_broken(self, steps: tuple[Step, ...]) -> None:
        """A proxy that breaks off, or does not speak HTTP, is one ERROR."""
        with ScriptedServer(steps) as proxy, behind(proxy, proxy_url=with_login(proxy.url)) as client:
            self.one_error(client)
            assert [request.method for request in proxy.requests] == ["CONNECT"]

    def test_refused(self) -> None:
        """A proxy that does not listen: one ERROR, and nobody tries without it."""
        with ScriptedServer() as server, ScriptedServer() as proxy:
            proxy.stop()
            with Client(Cluster(server.url, proxy_url=with_login(proxy.url)), BearerToken(SECRET)) as client:
                assert f"port {proxy.port}" in self.one_error(client).message
            assert server.connections_accepted == 0

    @pytest.mark.parametrize(
        "url", ["socks5://127.0.0.1:1", "ftp://x", "http://", f"http://me:{PASSWORD}@host:x", "http://["]
    )
    def test_bad_url(self, url: str) -> None:
        """A proxy's URL that cannot be used is one ERROR of origin CONFIG, without its password."""
        with ScriptedServer() as server, Client(Cluster(server.url, proxy_url=url)) as client:
            error = watch(client).error
            assert (error.origin, error.status_code) == (ErrorOrigin.CONFIG, 0)
            assert PASSWORD not in f"{error!r} {error.__cause__!r} {error.__cause__ and error.__cause__.__context__!r}"
            assert server.connections_accepted == 0


class TestEnvironment:
    """The variables that other programs obey; their rules are tested one by one in tests/test_proxy_choice.py."""

    @pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy"])
    def test_http(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """HTTP goes through HTTP_PROXY, in either case (H7); it is read anew for each connection."""
        with ScriptedServer(ONE, ONE) as server, ProxyServer() as proxy, Client(Cluster(server.url)) as client:
            monkeypatch.setenv(name, proxy.url)
            assert_clean(watch(client), "a")
            assert [request.target.split("?")[0] for request in proxy.requests] == [server.url + PODS]

    def test_https(self, ca: TestCA, monkeypatch: pytest.MonkeyPatch) -> None:
        """HTTPS goes through HTTPS_PROXY, and HTTP_PROXY means nothing to it."""
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        with secure(ca, ONE) as (_, proxy):
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
            with Client(Cluster(f"https://{HOST}:6443", ca_data=ca.pem)) as client:
                assert_clean(watch(client), "a")
            assert proxy.requests[0].target == f"{HOST}:6443"

    @pytest.mark.parametrize("exempt", ["127.0.0.1", "127.0.0.0/8", "other.test, 127.0.0.1", "*", "{host}"])
    def test_no_proxy(self, exempt: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """What NO_PROXY names is connected to directly (H6, H7)."""
        with ScriptedServer(ONE) as server, ProxyServer() as proxy, Client(Cluster(server.url)) as client:
            monkeypatch.setenv("HTTP_PROXY", proxy.url)
            monkeypatch.setenv("NO_PROXY", exempt.format(host=f"127.0.0.1:{server.port}"))
            assert_clean(watch(client), "a")
            assert proxy.connections_accepted == 0

    def test_proxy_of_the_cluster_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The cluster's own proxy wins over the environment's, NO_PROXY too (H8)."""
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("NO_PROXY", "*")
        with ScriptedServer(ONE) as server, ProxyServer() as proxy:
            with Client(Cluster(server.url, proxy_url=proxy.url)) as client:
                assert_clean(watch(client), "a")
            assert len(proxy.requests) == 1


def test_another_proxy_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the environment names another proxy, no kept connection is used: the login is for that proxy alone."""
    answers = (Http(200, {"kind": "PodList", "items": []}),) * 2
    with ScriptedServer(*((answer,) for answer in answers)) as server, ProxyServer(("127.0.0.1", server.port)) as proxy:
        with Client(Cluster(server.url)) as client:
            client.list("pods")
            monkeypatch.setenv("http_proxy", with_login(proxy.url))
            client.list("pods")
        assert [request.headers.get("Proxy-Authorization") for request in proxy.requests] == [LOGIN]
        assert all("Proxy-Authorization" not in request.headers for request in server.requests)
        assert server.connections_accepted == 2
