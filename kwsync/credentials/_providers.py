"""Backstage's auth providers: what a cluster's provider means where the caller names no credential."""

from __future__ import annotations

from collections.abc import Callable

from kwsync import credentials
from kwsync._cluster import Cluster
from kwsync.credentials._anonymous import Anonymous
from kwsync.credentials._bearer import BearerToken
from kwsync.credentials._protocol import Credential
from kwsync.credentials._service_account import ServiceAccount
from kwsync.credentials._unavailable import Unavailable

METADATA_KEY = "serviceAccountToken"
"""Under this key Backstage keeps a service account's token in the metadata."""
_BROWSER_MEDIATED = frozenset({"google", "oidc", "aks"})


def refusal(cluster: Cluster) -> str | None:
    """Why no watch may use *cluster*, for an error BAD_REQUEST 400 without a request; None where it may.

    Holds with an explicit credential, too: that is how Backstage's ``watchResource`` does it.
    """
    if cluster.provider not in _BROWSER_MEDIATED:
        return None
    return (
        f"the auth provider {cluster.provider!r} is not supported: its credentials come from a user's browser session "
        "and cannot be refreshed by a long-lived connection"
    )


def credential_for(cluster: Cluster) -> Credential:
    """What the cluster's auth provider says; anonymous without one.

    A provider that is refused or unknown gives a credential that raises `CredentialError` when used.
    """
    provider = cluster.provider
    make = _WAYS.get(provider or "localKubectlProxy")
    if make is not None:
        return make(cluster)
    return Unavailable(
        refusal(cluster) or f"the auth provider {provider!r} has no credential of its own here: pass credential="
    )


def _service_account(cluster: Cluster) -> Credential:
    token = cluster.auth_metadata.get(METADATA_KEY)
    return BearerToken(token) if token else ServiceAccount()


# Asked for by name when a cluster needs them: the package loads these rooms at that moment only.
_WAYS: dict[str, Callable[[Cluster], Credential]] = {
    "aws": lambda cluster: credentials.AwsEks.for_cluster(cluster),  # noqa: PLW0108 - AwsEks is loaded in the call
    "azure": lambda _: credentials.AzureEntra(),
    "googleServiceAccount": lambda _: credentials.GoogleServiceAccount(),
    "localKubectlProxy": lambda _: Anonymous(),
    "serviceAccount": _service_account,
}
