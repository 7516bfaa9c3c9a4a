"""A cluster's URL, taken apart once."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

import attrs

from kwsync._cluster import Cluster
from kwsync._transport._proxy import Proxy, choose_proxy, parse_proxy
from kwsync.errors import ConfigError


@attrs.frozen
class Endpoint:
    """Where requests go, and through what."""

    scheme: str
    host: str
    port: int
    base_path: str
    """Without a slash at its end; empty where there is none."""
    proxy: Proxy | None

    @property
    def forwarded(self) -> bool:
        """Plain HTTP through a proxy: the proxy gets the whole URL. (HTTPS goes through a tunnel.)"""
        return self.proxy is not None and self.scheme == "http"

    @property
    def authority(self) -> str:
        """``host:port``, with brackets around an IPv6 address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def endpoint_of(cluster: Cluster) -> Endpoint:
    """ConfigError for a URL that names no HTTP server. The environment's proxies are read at each call."""
    text: object = cluster.server
    if not isinstance(text, str) or any(character <= " " or character == "\x7f" for character in text):
        raise ConfigError("the cluster's server is no URL")
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:  # whose text may repeat a password
        raise ConfigError("the cluster's server is no URL, or its port no number") from None
    if url.scheme not in ("http", "https") or not url.hostname or port == 0:
        raise ConfigError("the cluster's server must be a URL like https://host:6443")
    if url.username is not None or url.query or url.fragment:
        raise ConfigError("the cluster's server must be a URL without credentials, query or fragment")
    name = cluster.tls_server_name
    if name is not None and not (name.strip(".") and name.isprintable()):
        raise ConfigError("the cluster's tls_server_name is no name")
    port = port or (443 if url.scheme == "https" else 80)
    proxy = choose_proxy(url.scheme, url.hostname, port, cluster.proxy_url, os.environ)
    return Endpoint(url.scheme, url.hostname, port, url.path.rstrip("/"), parse_proxy(proxy) if proxy else None)
