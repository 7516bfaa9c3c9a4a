"""Which proxy a request goes through."""

from __future__ import annotations

import base64
import ipaddress
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kwsync._transport._proxy import Proxy, choose_proxy, parse_proxy
from kwsync.errors import ConfigError

PROXY = "http://proxy.test:3128"
SECRET = "made-up-secret"

HOSTS = st.lists(st.text("abcxyz019-", min_size=1, max_size=8), max_size=3).map(
    lambda labels: ".".join([*labels, "test"])
)
ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))
PORTS = st.integers(1, 65535)


def goes_direct(no_proxy: str, host: str, port: int = 443) -> bool:
    """Does NO_PROXY exempt the host?"""
    return choose_proxy("https", host, port, None, {"HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy}) is None


class TestChoice:
    def test_cluster_wins(self) -> None:
        """The cluster's own proxy wins over the environment's, and over NO_PROXY (kopf#1277)."""
        environ = {"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}
        assert choose_proxy("https", "example.test", 443, "http://own.test:1", environ) == "http://own.test:1"

    def test_cluster_without(self) -> None:
        """An empty one is none at all, whatever the environment says."""
        assert choose_proxy("https", "example.test", 443, "", {"HTTPS_PROXY": PROXY}) is None

    @pytest.mark.parametrize(
        ("scheme", "environ", "chosen"),
        [
            ("https", {}, None),
            ("https", {"HTTPS_PROXY": PROXY}, PROXY),
            ("https", {"https_proxy": PROXY}, PROXY),
            ("https", {"https_proxy": PROXY, "HTTPS_PROXY": "http://other.test"}, PROXY),
            ("https", {"https_proxy": "", "HTTPS_PROXY": PROXY}, None),
            ("https", {"HTTPS_PROXY": f" {PROXY}\n"}, PROXY),
            ("https", {"HTTPS_PROXY": " "}, None),
            ("https", {"HTTP_PROXY": PROXY, "ALL_PROXY": PROXY}, None),
            ("http", {"HTTPS_PROXY": PROXY}, None),
            ("http", {"HTTP_PROXY": PROXY}, PROXY),
        ],
    )
    def test_variables(self, scheme: str, environ: dict[str, str], chosen: str | None) -> None:
        """Each scheme has its variable; the lower-case one wins, and an empty one means no proxy."""
        assert choose_proxy(scheme, "example.test", 443, None, environ) == chosen

    def test_cgi(self) -> None:
        """In a CGI program HTTP_PROXY may be a client's header (httpoxy): then only the lower-case name counts."""
        environ = {"REQUEST_METHOD": "GET", "HTTP_PROXY": PROXY, "HTTPS_PROXY": PROXY}
        assert choose_proxy("http", "example.test", 80, None, environ) is None
        assert choose_proxy("https", "example.test", 443, None, environ) == PROXY
        assert choose_proxy("http", "example.test", 80, None, environ | {"http_proxy": PROXY}) == PROXY

    def test_no_proxy_case(self) -> None:
        """no_proxy in lower case wins over NO_PROXY (kubernetes-client/python#2460)."""
        environ = {"HTTPS_PROXY": PROXY, "no_proxy": "example.test", "NO_PROXY": "other.test"}
        assert choose_proxy("https", "example.test", 443, None, environ) is None
        assert choose_proxy("https", "other.test", 443, None, environ) == PROXY

    @pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
    def test_loopback(self, host: str) -> None:
        """Loopback is nothing special: without NO_PROXY it goes through the proxy."""
        assert not goes_direct("", host)
        assert goes_direct(host, host)


class TestNoProxy:
    @pytest.mark.parametrize(
        ("no_proxy", "host"),
        [
            ("*", "example.test"),
            ("other.test,*", "10.0.0.1"),
            ("example.test", "example.test"),
            ("example.test", "a.b.example.test"),
            (".example.test", "a.example.test"),
            ("*.example.test", "a.example.test"),
            ("EXAMPLE.test", "example.TEST"),
            ("example.test.", "example.test"),
            ("example.test", "example.test."),
            (" other.test ,\texample.test ", "example.test"),
            ("other.test example.test", "example.test"),
            ("example.test:443", "example.test"),
            ("example.test:", "example.test"),
            ("10.0.0.1", "10.0.0.1"),
            ("10.0.0.1:443", "10.0.0.1"),
            ("10.0.0.0/8", "10.1.2.3"),
            ("10.9.9.9/8", "10.1.2.3"),
            ("10.0.0.0/8", "::ffff:10.1.2.3"),
            ("::ffff:0:0/96", "::ffff:10.1.2.3"),
            ("2001:db8::1", "2001:DB8:0::1"),
            ("2001:db8::1", "[2001:db8::1]"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("2001:db8::/32", "2001:db8:1::1"),
        ],
    )
    def test_exempt(self, no_proxy: str, host: str) -> None:
        """Hosts with what is below them, suffixes, addresses, networks, ports; cases and white space do not matter."""
        assert goes_direct(no_proxy, host)

    @pytest.mark.parametrize(
        ("no_proxy", "host"),
        [
            ("", "example.test"),
            (",, ,", "example.test"),
            (".", "example.test"),
            ("*.", "example.test"),
            (":443", "example.test"),
            ("[]", "example.test"),
            ("example.test", "notexample.test"),
            ("example.test", "example.test.other"),
            (".example.test", "example.test"),
            ("*.example.test", "example.test"),
            ("*ample.test", "example.test"),
            ("example.test:8443", "example.test"),
            ("example.test:https", "example.test"),
            ("10.0.0.1:8443", "10.0.0.1"),
            ("10.0.0.0/8", "11.0.0.1"),
            ("10.0.0.0/8", "10.example.test"),
            ("10.0.0.0/99", "10.0.0.1"),
            ("0.0.0.0/0", "2001:db8::1"),
            ("0.1", "10.0.0.1"),
            ("*.1", "10.0.0.1"),
            ("[2001:db8::1]:8443", "2001:db8::1"),
            ("2001:db8::/32", "2001:db9::1"),
            ("1", "0.0.0.1"),
        ],
    )
    def test_not_exempt(self, no_proxy: str, host: str) -> None:
        """Nothing else is exempt: no half names, no other port, no host that looks like a network."""
        assert not goes_direct(no_proxy, host)

    @given(st.text(string.printable, max_size=40), HOSTS | ADDRESSES.map(str), PORTS)
    def test_total(self, no_proxy: str, host: str, port: int) -> None:
        """Any text in NO_PROXY gives an answer, and a star anywhere in the list means all."""
        goes_direct(no_proxy, host, port)
        assert goes_direct(f"{no_proxy},*", host, port)

    @given(HOSTS, HOSTS, PORTS)
    def test_host(self, host: str, below: str, port: int) -> None:
        """A host exempts itself and all below it, at every port; a suffix does not exempt itself."""
        assert goes_direct(host, host, port)
        assert goes_direct(host, f"{below}.{host}", port)
        assert goes_direct(f".{host}", f"{below}.{host}", port)
        assert not goes_direct(f".{host}", host, port)

    @given(HOSTS, PORTS, PORTS)
    def test_port(self, host: str, wanted: int, port: int) -> None:
        """An entry with a port is for that port alone."""
        assert goes_direct(f"{host}:{wanted}", host, port) == (wanted == port)

    @given(ADDRESSES, st.integers(0, 128), ADDRESSES)
    def test_network(
        self,
        address: ipaddress.IPv4Address | ipaddress.IPv6Address,
        length: int,
        other: ipaddress.IPv4Address | ipaddress.IPv6Address,
    ) -> None:
        """A network exempts exactly the addresses in it."""
        entry = f"{address}/{min(length, address.max_prefixlen)}"
        network = ipaddress.ip_network(entry, strict=False)
        assert goes_direct(entry, str(address))
        if getattr(other, "ipv4_mapped", None) is None:
            assert goes_direct(entry, str(other)) == (other in network)


class TestParse:
    @pytest.mark.parametrize(
        ("url", "proxy"),
        [
            ("http://proxy.test:3128", Proxy("http", "proxy.test", 3128)),
            ("HTTP://Proxy.test:3128/", Proxy("http", "proxy.test", 3128)),
            ("https://proxy.test", Proxy("https", "proxy.test", 443)),
            ("http://proxy.test", Proxy("http", "proxy.test", 80)),
            ("http://proxy.test:", Proxy("http", "proxy.test", 80)),
            ("proxy.test:3128", Proxy("http", "proxy.test", 3128)),
            (" proxy.test:3128\n", Proxy("http", "proxy.test", 3128)),
            ("http://[2001:db8::1]:3128", Proxy("http", "2001:db8::1", 3128)),
        ],
    )
    def test_parts(self, url: str, proxy: Proxy) -> None:
        """A proxy has scheme, host and port; without a scheme it is http, without a port the scheme's."""
        assert parse_proxy(url) == proxy

    def test_authority(self) -> None:
        """The authority has brackets around an IPv6 address, and always a port."""
        assert parse_proxy("http://[2001:db8::1]").authority == "[2001:db8::1]:80"
        assert parse_proxy("proxy.test").authority == "proxy.test:80"

    @pytest.mark.parametrize(
        ("userinfo", "pair"),
        [
            ("me:pass", b"me:pass"),
            ("me", b"me:"),
            (":pass", b":pass"),
            ("me%40home:p%3Aa%2Fs%25", b"me@home:p:a/s%"),
            ("me:%C3%A4", "me:ä".encode()),
            ("me:ä", "me:ä".encode()),
        ],
    )
    def test_login(self, userinfo: str, pair: bytes) -> None:
        """Name and password are percent-decoded and become Proxy-Authorization."""
        proxy = parse_proxy(f"http://{userinfo}@proxy.test:3128")
        assert (proxy.host, proxy.port) == ("proxy.test", 3128)
        assert proxy.headers == {"Proxy-Authorization": f"Basic {base64.b64encode(pair).decode()}"}

    @pytest.mark.parametrize("url", ["http://proxy.test", "http://@proxy.test"])
    def test_no_login(self, url: str) -> None:
        """Without name and password there is no header."""
        assert parse_proxy(url).headers == {}

    def test_repr(self) -> None:
        """The repr shows where the proxy is, and nothing of the login."""
        proxy = parse_proxy(f"http://me:{SECRET}@proxy.test:3128")
        assert proxy.authorization is not None
        assert "proxy.test" in repr(proxy)
        assert proxy.authorization not in repr(proxy)

    @pytest.mark.parametrize("scheme", ["socks5", "socks5h", "socks4", "ftp"])
    def test_unsupported(self, scheme: str) -> None:
        """Other kinds of proxies are refused by name."""
        with pytest.raises(ConfigError, match=f"'{scheme}://<hidden>@proxy.test:1080' is not supported"):
            parse_proxy(f"{scheme}://me:{SECRET}@proxy.test:1080")

    @pytest.mark.parametrize(
        "rest",
        ["proxy.test:port", "proxy.test:99999", "proxy.test:0", ":3128", "", "[::1", "pro xy.test", "ä.test", "/pa/th"],
    )
    def test_bad(self, rest: str) -> None:
        """What names no host and port is a ConfigError that hides the login."""
        with pytest.raises(ConfigError) as caught:
            parse_proxy(f"http://me:{SECRET}/#?@{rest}")
        assert SECRET not in str(caught.value)
        with pytest.raises(ConfigError) as caught:
            parse_proxy(f"http://me:{SECRET}@{rest}")
        assert SECRET not in str(caught.value)
        assert caught.value.__context__ is None or SECRET not in str(caught.value.__context__)

    @given(st.text(max_size=40) | st.text(max_size=20).map("http://me:{}@proxy.test".format))
    @example("http://\udcff:\ud800@proxy.test")
    def test_total(self, url: str) -> None:
        """Any text is a proxy or a ConfigError, and a proxy can be written into a request."""
        try:
            proxy = parse_proxy(url)
        except ConfigError:
            return
        proxy.authority.encode("ascii")
        assert 0 < proxy.port < 65536
