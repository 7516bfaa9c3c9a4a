"""Which proxy a request goes through: the cluster's, the environment's, or none. Pure: nothing is looked up."""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit

import attrs

from kwsync._cluster import hide, without_password
from kwsync.errors import ConfigError

_DEFAULT_PORTS = {"http": 80, "https": 443}

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@attrs.frozen
class Proxy:
    """Where a proxy is, and how to log in there."""

    scheme: str
    """``http`` or ``https``: how to speak to the proxy itself."""
    host: str
    """Without the brackets of an IPv6 address."""
    port: int
    authorization: str | None = attrs.field(default=None, repr=hide)
    """Value of ``Proxy-Authorization``."""

    @property
    def authority(self) -> str:
        """``host:port``, with brackets around an IPv6 address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        """What the proxy wants to see, with CONNECT or with a forwarded request."""
        return {} if self.authorization is None else {"Proxy-Authorization": self.authorization}


def choose_proxy(scheme: str, host: str, port: int, proxy_url: str | None, environ: Mapping[str, str]) -> str | None:
    """The proxy's URL for a request to *scheme*, *host* and *port*; None for none.

    *proxy_url*, the cluster's own, wins over the environment, NO_PROXY too (as in client-go); empty it is none. Else
    ``https_proxy`` or ``http_proxy`` by the scheme, then ``no_proxy``; the lower-case name wins, an empty value means
    none. As in Go's ``httpproxy``, except that loopback addresses are nothing special here: they go where the
    environment says.
    """
    if proxy_url is not None:
        return proxy_url or None
    url = _variable(environ, f"{scheme}_proxy")
    if not url or _is_exempt(host, port, _variable(environ, "no_proxy")):
        return None
    return url


def parse_proxy(url: str) -> Proxy:
    """Take a proxy's URL apart; ``host:port`` alone is http. ConfigError, without the password, for what is none."""
    parts = _split(url)
    if parts.scheme not in _DEFAULT_PORTS:
        raise ConfigError(f"the proxy {without_password(url)} is not supported: it must be http:// or https://")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0 or not parts.hostname or any(not "!" <= character <= "~" for character in parts.hostname):
        raise ConfigError(f"the proxy {without_password(url)} names no host and port")
    return Proxy(parts.scheme, parts.hostname, port or _DEFAULT_PORTS[parts.scheme], _basic(parts))


def _split(url: str) -> SplitResult:
    text = url.strip()
    try:
        return urlsplit(text if "://" in text else f"http://{text}")
    except ValueError:  # outside of the block, for its message shows the password
        pass
    raise ConfigError(f"the proxy {without_password(url)} is no URL")


def _basic(parts: SplitResult) -> str | None:
    if not parts.username and not parts.password:
        return None
    name, password = (
        unquote_to_bytes((part or "").encode(errors="replace")) for part in (parts.username, parts.password)
    )
    return f"Basic {base64.b64encode(name + b':' + password).decode()}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name)
    # A CGI server hands a request's header "Proxy:" on as HTTP_PROXY (httpoxy, CVE-2016-5385).
    if value is None and not (name == "http_proxy" and "REQUEST_METHOD" in environ):
        value = environ.get(name.upper())
    return (value or "").strip()


def _is_exempt(host: str, port: int, no_proxy: str) -> bool:
    host = _canonical(host)
    return any(_matches(entry, host, port) for entry in re.split(r"[\s,]+", no_proxy))


def _matches(entry: str, host: str, port: int) -> bool:
    name, wanted_port = _without_port(entry)
    if wanted_port is not None and wanted_port != str(port):
        return False
    address = _address(host)
    return name == "*" or (_matches_name(_canonical(name), host) if address is None else _holds(name, address))


def _without_port(entry: str) -> tuple[str, str | None]:
    """``host:port`` and ``[v6]:port`` in two; a bare IPv6 address has colons and no port."""
    if entry.startswith("["):
        name, _, port = entry[1:].partition("]")
        return name, port.removeprefix(":") or None
    name, _, port = entry.partition(":")
    return (entry, None) if ":" in port else (name, port or None)


def _matches_name(name: str, host: str) -> bool:
    """``a.b`` is itself and what is below; ``.a.b`` and ``*.a.b`` only what is below."""
    if name.startswith("*."):
        name = name[1:]
    if name.startswith("."):
        return len(name) > 1 and host.endswith(name)
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _holds(name: str, address: _Address) -> bool:
    """Is it this address or in this network? By value: an IPv4 address is the same inside of an IPv6 one."""
    try:
        network = ipaddress.ip_network(name, strict=False)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address in network or (mapped is not None and mapped in network)


def _address(host: str) -> _Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _canonical(host: str) -> str:
    return host.lower().strip("[]").removesuffix(".")
