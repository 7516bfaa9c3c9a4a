"""KUBERNETES_EXEC_INFO: what a plugin is told. Pure.

Source: the ExecCredential of ``client.authentication.k8s.io`` (Kubernetes: "client-go credential plugins").
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import attrs

from kwsync import _json
from kwsync._cluster import Cluster
from kwsync.credentials._pem import pem_of

VARIABLE = "KUBERNETES_EXEC_INFO"


@attrs.frozen
class Place:
    """What a plugin may know of a cluster; equal ones are told the same."""

    server: str
    ca_file: str | None
    """Wins over the data, as in a `Cluster`."""
    ca_data: bytes | None = attrs.field(repr=False)
    skip_tls_verify: bool
    tls_server_name: str | None
    proxy_url: str | None = attrs.field(repr=False)


def place_of(cluster: Cluster) -> Place:
    """A cluster without what is ours alone: its name, its namespace, its provider."""
    data = cluster.ca_data
    return Place(
        cluster.server,
        None if cluster.ca_file is None else str(cluster.ca_file),
        data.encode() if isinstance(data, str) else data,
        cluster.skip_tls_verify,
        cluster.tls_server_name,
        cluster.proxy_url,
    )


def told_of(place: Place, authority: bytes | None, config: bytes | None) -> dict[str, Any]:
    """The part ``spec.cluster``; what is empty is left out, as Go does it.

    *authority* is PEM, or base64 of PEM (whatever else it is, is told as it is); *config* JSON.
    """
    fields = {
        "server": place.server,
        "tls-server-name": place.tls_server_name,
        "insecure-skip-tls-verify": place.skip_tls_verify,
        "certificate-authority-data": base64.b64encode(pem_of(authority) or authority).decode() if authority else None,
        "proxy-url": place.proxy_url,
    }
    told = {key: value for key, value in fields.items() if value}
    return told if config is None else {**told, "config": _json.loads(config)}


def exec_info(api_version: str, interactive: bool, cluster: Mapping[str, Any] | None) -> str:
    """The whole; without *cluster* nothing of it."""
    spec: dict[str, Any] = {"interactive": interactive}
    if cluster is not None:
        spec["cluster"] = cluster
    return _json.dumps({"kind": "ExecCredential", "apiVersion": api_version, "spec": spec}).decode()
