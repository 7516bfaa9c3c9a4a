"""Where and as whom, from files: kubeconfigs, and what a pod finds in its own file system."""

from __future__ import annotations

from collections.abc import Mapping

from kwsync._cluster import Cluster
from kwsync._kubeconfig._in_cluster import in_cluster, is_in_cluster
from kwsync._kubeconfig._load import load_kubeconfig
from kwsync.credentials import Credential
from kwsync.credentials._service_account import SERVICE_ACCOUNT_DIRECTORY

__all__ = ["default_configuration", "in_cluster", "is_in_cluster", "load_kubeconfig"]


def default_configuration(
    context: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    directory: str = SERVICE_ACCOUNT_DIRECTORY,
) -> tuple[Cluster, Credential]:
    """The pod's own account when this runs in a pod and no *context* is asked for, else the kubeconfig.

    ConfigError when there is neither, or it is broken.
    """
    if not context and is_in_cluster(environ, directory):
        return in_cluster(environ, directory)
    return load_kubeconfig(context=context, environ=environ)
