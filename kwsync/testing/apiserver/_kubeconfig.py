"""A kubeconfig for a server."""

from __future__ import annotations

import base64
from typing import Any

from kwsync.testing._tls import ClientCert, TestCA


def kubeconfig(url: str, ca: TestCA | None, namespace: str, user: dict[str, Any] | ClientCert) -> dict[str, Any]:
    """One cluster, one user, one context; everything inside, no files."""
    cluster: dict[str, Any] = {"server": url}
    if ca is not None:
        cluster["certificate-authority-data"] = _inline(ca.pem)
    if isinstance(user, ClientCert):
        user = {"client-certificate-data": _inline(user.cert_pem), "client-key-data": _inline(user.key_pem)}
    context = {"cluster": "kwsync", "user": "kwsync", "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kwsync", "cluster": cluster}],
        "users": [{"name": "kwsync", "user": user}],
        "contexts": [{"name": "kwsync", "context": context}],
        "current-context": "kwsync",
    }


def _inline(pem: bytes) -> str:
    return base64.b64encode(pem).decode()
