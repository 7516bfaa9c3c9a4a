"""Where and as whom, from an `ApiClient` of the official client (package ``kubernetes``), whose settings stay alive.

The official client is known here by the names of its settings alone: whoever has an `ApiClient` has it imported.
"""

from __future__ import annotations

import base64
import inspect
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from kwsync._cluster import Cluster, Origin
from kwsync._transport import choose_proxy
from kwsync.credentials import Credential
from kwsync.credentials._der import elements
from kwsync.credentials._official import OfficialCredential
from kwsync.credentials._pem import pem_of, pem_of_der
from kwsync.errors import ConfigError

_UNSUPPORTED = ("assert_fingerprint", "cert_password", "key_file_password", "proxy_ssl_context", "ssl_context")
"""Settings, of this or another release, that kwsync could not obey: leaving them out would be less safe, or fail."""

_log = logging.getLogger("kwsync.client")


def from_official(api_client: object) -> tuple[Cluster, Credential]:
    """The cluster and the live credential of an `ApiClient` (or of its `Configuration`); None for the default one.

    TypeError for what is neither; ConfigError for a setting that kwsync cannot obey, by its name.
    """
    if api_client is None:
        api_client = _default_configuration()
    configuration: Any = getattr(api_client, "configuration", api_client)
    if isinstance(configuration, type) or not (hasattr(configuration, "host") and hasattr(configuration, "api_key")):
        raise TypeError(f"api_client must be an ApiClient of the official client, not {type(api_client).__name__}")
    if inspect.iscoroutinefunction(getattr(configuration, "get_api_key_with_prefix", None)):
        raise TypeError("api_client must be an ApiClient of the synchronous client, not of an asynchronous one")
    return _cluster_of(configuration), OfficialCredential(api_client, configuration)


def _default_configuration() -> Any:
    """The one seam to the official client."""
    try:
        from kubernetes.client import Configuration
    except ImportError as error:
        raise ConfigError(
            "the official client is not installed: pip install kubernetes, or pass api_client="
        ) from error
    return Configuration.get_default_copy()


def _cluster_of(configuration: Any) -> Cluster:
    if not configuration.host:
        raise ConfigError("the official client knows no server yet: call kubernetes.config.load_kube_config() before")
    for name in _UNSUPPORTED:
        if getattr(configuration, name, None) is not None:
            raise _unsupported(name)
    if configuration.key_file and not configuration.cert_file:
        raise _unsupported("key_file", "there is no cert_file")
    if getattr(configuration, "socket_options", None):
        _log.warning("socket_options of the official client are not taken over: kwsync has keep-alive of its own")
    return Cluster(
        str(configuration.host),
        ca_file=configuration.ssl_ca_cert or None,
        ca_data=_ca_data(configuration),
        skip_tls_verify=not configuration.verify_ssl,
        tls_server_name=_server_name(configuration),
        proxy_url=_proxy_url(configuration),
        origin=Origin("official client"),
    )


def _unsupported(name: str, advice: str = "") -> ConfigError:
    return ConfigError(f"{name} of the official client's configuration is not supported{advice and f': {advice}'}")


def _ca_data(configuration: Any) -> bytes | None:
    """PEM, or the bytes of certificates one behind another, which a `Cluster` does not know."""
    data = getattr(configuration, "ca_cert_data", None)
    if not data:
        return None
    if configuration.ssl_ca_cert:
        raise _unsupported("ca_cert_data", "there is ssl_ca_cert as well, so put both into one file")
    found = pem_of(data)
    if found is None and not isinstance(data, str):
        found = b"".join(map(pem_of_der, elements(data)))
    if not found:
        raise _unsupported("ca_cert_data", "it is neither PEM nor DER")
    return found


def _server_name(configuration: Any) -> str | None:
    """The one name to ask for and to verify. ``assert_hostname`` may be a name, or False for verifying none."""
    name = getattr(configuration, "tls_server_name", None) or None
    asserted = getattr(configuration, "assert_hostname", None)
    if not configuration.verify_ssl or asserted is None or asserted is True:
        return name
    if asserted is False:
        raise _unsupported("assert_hostname=False", "set tls_server_name to a name in the server's certificate")
    if name not in (None, asserted):
        raise _unsupported("assert_hostname", "there is another tls_server_name, so leave out one of them")
    return str(asserted)


def _proxy_url(configuration: Any) -> str:
    """Empty for none: that client has looked at the environment when its configuration was made, and does not again."""
    url = getattr(configuration, "proxy", None)
    if not url or _is_exempt(configuration, url):
        return ""
    scheme = urlsplit(url).scheme if "://" in url else "http"
    if scheme not in ("http", "https"):
        raise _unsupported("proxy", f"kwsync knows http and https proxies, not {scheme}")
    return _with_login(url, getattr(configuration, "proxy_headers", None) or {})


def _is_exempt(configuration: Any, url: str) -> bool:
    """Whether ``no_proxy`` exempts the host; to that client a suffix with a dot before it means itself, too."""
    entries = str(getattr(configuration, "no_proxy", None) or "").split(",")
    environ = {"https_proxy": url, "no_proxy": ",".join(entry.strip().lstrip(".") for entry in entries)}
    try:
        server = urlsplit(configuration.host)
        port = server.port or (443 if server.scheme == "https" else 80)
    except ValueError:  # no URL, which shows when it is used
        return False
    return choose_proxy("https", server.hostname or "", port, None, environ) is None


def _with_login(url: str, headers: Mapping[str, str]) -> str:
    """The URL with the user and password that stand in the headers for the proxy, of which no others are sent."""
    others = [name for name in headers if name.lower() != "proxy-authorization"]
    if others:
        raise _unsupported("proxy_headers", f"beside Proxy-Authorization it has {', '.join(others)}")
    before, _, rest = url.rpartition("://")
    login = next(iter(headers.values()), None)
    return url if login is None else f"{before or 'http'}://{_login(login)}@{rest.rpartition('@')[2]}"


def _login(value: str) -> str:
    """``USER:PASSWORD``, percent-encoded, from ``Basic …``."""
    scheme, _, encoded = value.partition(" ")
    if scheme.lower() == "basic":
        try:
            return ":".join(quote(part, safe="") for part in base64.b64decode(encoded, validate=True).split(b":", 1))
        except ValueError:
            pass
    raise _unsupported("proxy_headers", "its Proxy-Authorization is not a user and a password (Basic)")
