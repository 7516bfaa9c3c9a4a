"""Where a cluster is and how its server proves itself. Pure: nothing is read, parsed or checked before it is used."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import attrs

AUTH_PROVIDER_KEY = "kubernetes.io/auth-provider"
"""Under this key Backstage keeps the provider's name in the metadata."""


def hide(value: object) -> str:
    """For a repr: only whether there is one."""
    return "None" if value is None else "<hidden>"


def without_password(url: object) -> str:
    """A URL for people: what stands before the host is hidden, and what stands behind a question mark."""
    if not isinstance(url, str):
        return hide(url)
    before, at, rest = url.rpartition("@")  # the last: a password, or a query, may hold any character
    scheme, separator, _ = before.partition("://")
    rest, question, _ = rest.partition("?")
    shown = f"{rest}{question and '?<hidden>'}"
    return repr(f"{scheme if separator else ''}{separator}<hidden>@{shown}" if at else shown)


def _optional(*kinds: type) -> Callable[[object, attrs.Attribute[Any], object], None]:
    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if value is not None and not isinstance(value, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"{attribute.name} must be {names}, not {type(value).__name__}")

    return check


def _texts(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in (*value, *value.values())):
        raise TypeError(f"{attribute.name} must be a mapping of strings")


@attrs.frozen
class Origin:
    """Where a cluster and its user were found, for people who wonder which were."""

    kind: str
    """``kubeconfig``, ``pod`` or ``official client``."""
    files: tuple[str, ...] = ()
    """Those that were read."""
    context: str = ""
    user: str = ""
    """The name of the user's entry."""


@attrs.frozen
class Cluster:
    """One Kubernetes API server, as a kubeconfig's cluster entry tells it.

    TypeError for a value of a wrong type; any other bad value shows when it is used.
    """

    server: str = attrs.field(repr=without_password)
    """URL, with a base path if there is one (``https://rancher.example.com/k8s/clusters/c-1``)."""
    ca_file: str | os.PathLike[str] | None = attrs.field(
        default=None, kw_only=True, validator=_optional(str, os.PathLike)
    )
    """PEM file of the authorities to trust; read again when it changes. Wins over `ca_data`, as in Backstage."""
    ca_data: str | bytes | None = attrs.field(default=None, kw_only=True, repr=hide, validator=_optional(str, bytes))
    """The same as PEM, or as base64 of PEM."""
    skip_tls_verify: bool = attrs.field(default=False, kw_only=True, validator=_optional(bool))
    tls_server_name: str | None = attrs.field(default=None, kw_only=True, validator=_optional(str))
    """Name to ask for and to verify in TLS, where it is not the URL's host."""
    proxy_url: str | None = attrs.field(default=None, kw_only=True, repr=without_password, validator=_optional(str))
    """HTTP or HTTPS proxy; wins over the environment's HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Empty for none at all."""
    namespace: str = attrs.field(default="default", kw_only=True, validator=_optional(str))
    """The command line's default namespace; the library itself never uses it."""
    name: str = attrs.field(default="", kw_only=True, validator=_optional(str))
    auth_provider: str | None = attrs.field(default=None, kw_only=True, validator=_optional(str))
    """Backstage's name of the way to authenticate (``serviceAccount``, ``localKubectlProxy`` …)."""
    auth_metadata: Mapping[str, str] = attrs.field(
        factory=dict, kw_only=True, repr=lambda _: "<hidden>", hash=False, validator=_texts
    )
    origin: Origin | None = attrs.field(default=None, kw_only=True, repr=False, eq=False)
    """Where this was read; None where the program made it."""

    @property
    def provider(self) -> str | None:
        """The auth provider, wherever it is named."""
        return self.auth_provider or self.auth_metadata.get(AUTH_PROVIDER_KEY)
