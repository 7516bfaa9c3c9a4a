"""The recording proxy."""

from __future__ import annotations

import socket

import pytest

from kwsync.testing import (
    End,
    Event,
    Head,
    Http,
    ProxyServer,
    ScriptedServer,
    Stall,
    TestCA,
    pod,
)
from tests.testing.raw_client import Connect, RawClient


def _connect_through(client: RawClient, target: str) -> bytes:
    request = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nProxy-Authorization: Basic eDp5\r\n\r\n"
    client.socket.sendall(request.encode())
    return client.read_head()


def test_tunnel(connect: Connect, ca: TestCA) -> None:
    """CONNECT is recorded with its headers, and TLS goes through the tunnel to the target."""
    script = [Head(), Event("ADDED", pod("a")), End()]
    tls = ca.server_context("api.example")
    with ScriptedServer(script, tls=tls) as server, ProxyServer(("127.0.0.1", server.port)) as proxy:
        client = connect(proxy)
        assert _connect_through(client, "api.example:6443").startswith(b"HTTP/1.1 200 ")
        client.socket = ca.client_context().wrap_socket(client.socket, server_hostname="api.example")
        assert b"ADDED" in client.get().read_until(b"0\r\n\r\n")
        request = proxy.requests[0]
        assert (request.method, request.path) == ("CONNECT", "api.example:6443")
        assert request.headers["proxy-authorization"] == "Basic eDp5"
        assert "Proxy-Authorization" not in server.requests[0].headers


def test_close_goes_through_the_tunnel(connect: Connect) -> None:
    """Either side's close reaches the other."""
    with ScriptedServer([Head(), Stall()], [Head()]) as server, ProxyServer() as proxy:
        client = connect(proxy)
        _connect_through(client, f"127.0.0.1:{server.port}")
        client.get().read_head()
        client.close()
        server.wait_for_disconnect(5.0)
        other = connect(proxy)
        _connect_through(other, f"localhost:{server.port}")
        assert other.get().read_all().startswith(b"HTTP/1.1 200 ")


def test_tls_to_the_proxy(connect: Connect, ca: TestCA) -> None:
    """An https proxy: TLS to it, and a large answer through it."""
    with (
        ScriptedServer([Http(200, b"x" * 3_000_000, {"Connection": "close"})]) as server,
        ProxyServer(tls=ca.server_context()) as proxy,
    ):
        client = connect(proxy, ca.client_context())
        _connect_through(client, f"127.0.0.1:{server.port}")
        assert client.get().read_all().count(b"x") == 3_000_000


def test_absolute_form(connect: Connect) -> None:
    """Plain requests are forwarded in origin form, without the proxy's credentials, one after another."""
    with (
        ScriptedServer([Http(200, "one")], [Http(200, "two")]) as server,
        ProxyServer(("127.0.0.1", server.port)) as proxy,
    ):
        client = connect(proxy).get("http://api.example/a?b=c", "Proxy-Authorization: Basic eDp5", "X-Mine: 1")
        client.read_until(b"one")
        client.get("http://other.example").read_until(b"two")
        assert [request.target for request in server.requests] == ["/a?b=c", "/"]
        assert server.requests[0].headers["X-Mine"] == "1"
        assert "Proxy-Authorization" not in server.requests[0].headers
        assert [request.target for request in proxy.requests] == [
            "http://api.example/a?b=c",
            "http://other.example",
        ]


def test_refusal(connect: Connect) -> None:
    """A given status is answered instead of a tunnel, with its headers."""
    with ProxyServer(status=407, headers={"Proxy-Authenticate": "Basic"}) as proxy:
        head = _connect_through(connect(proxy), "api.example:443")
    assert head.startswith(b"HTTP/1.1 407 Proxy Authentication Required\r\n")
    assert b"Proxy-Authenticate: Basic" in head


def test_stall(connect: Connect) -> None:
    """A stalling proxy takes the CONNECT and answers nothing; the client's close is seen."""
    with ProxyServer(stall=True) as proxy:
        client = connect(proxy)
        client.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            _connect_through(client, "api.example:443")
        client.close()
        assert proxy.wait_for_requests(1)[0].closed_by_client.wait(5.0), "the close was not seen"


def test_only_loopback(connect: Connect) -> None:
    """Without a target nothing leaves this machine; a target that is not there is a 502 too."""
    with socket.socket() as free, ProxyServer() as proxy:
        free.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{free.getsockname()[1]}"
        for target in ("api.example:443", closed):
            assert _connect_through(connect(proxy), target).startswith(b"HTTP/1.1 502 ")


def test_stop_cuts_tunnels(connect: Connect) -> None:
    """Stopping the proxy ends its tunnels."""
    with ScriptedServer([Head(), Stall()]) as server:
        with ProxyServer() as proxy:
            client = connect(proxy)
            _connect_through(client, f"127.0.0.1:{server.port}")
            client.get().read_head()
        server.wait_for_disconnect(5.0)
        assert client.read_all() == b""
