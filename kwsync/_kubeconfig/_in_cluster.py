"""What a pod knows of its own cluster: two variables of the environment and three files."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kwsync._cluster import Cluster, Origin
from kwsync.credentials import Credential, ServiceAccount
from kwsync.credentials._service_account import SERVICE_ACCOUNT_DIRECTORY
from kwsync.errors import ConfigError


def is_in_cluster(environ: Mapping[str, str] | None = None, directory: str = SERVICE_ACCOUNT_DIRECTORY) -> bool:
    """Does this run in a pod, with a service account's token in it?"""
    return _address(environ) is not None and os.path.isfile(os.path.join(directory, "token"))


def in_cluster(
    environ: Mapping[str, str] | None = None, directory: str = SERVICE_ACCOUNT_DIRECTORY
) -> tuple[Cluster, Credential]:
    """The cluster that this pod runs in, and the pod's own account.

    ConfigError outside of a pod and, unlike client-go (which then trusts the system's authorities), when ``ca.crt``
    cannot be read: the kubelet always writes it.
    """
    address = _address(environ)
    if address is None:
        raise ConfigError("not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set")
    ca_file = os.path.join(directory, "ca.crt")
    _check_readable(ca_file)
    cluster = Cluster(f"https://{address}", ca_file=ca_file, namespace=_namespace(directory), origin=Origin("pod"))
    return cluster, ServiceAccount(directory)


def _address(environ: Mapping[str, str] | None) -> str | None:
    environ = os.environ if environ is None else environ
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        return None
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _check_readable(path: str) -> None:
    try:
        with open(path, "rb") as file:
            file.read(1)
    except (OSError, ValueError) as error:
        detail = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(
            f"the pod's CA file {path} cannot be read ({detail}): mount the service account into the container"
        ) from error


def _namespace(directory: str) -> str:
    try:
        with open(os.path.join(directory, "namespace"), encoding="utf-8") as file:
            return file.read(256).strip() or "default"
    except (OSError, ValueError):
        return "default"
