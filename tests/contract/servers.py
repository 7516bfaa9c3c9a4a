"""The servers that the contract tests run against: each kind is one entry of `KINDS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import attrs
import pytest

from kwsync import Client, Cluster
from kwsync.credentials import Anonymous, BearerToken, ClientCertificate, Credential
from tests.controlplane.server import ControlPlane

User = Literal["admin", "certificate", "viewer", "nobody", "anonymous", "stranger"]
"""Admin may do everything, by token or by client certificate; viewer may get, list and watch pods in the namespace
default; nobody is known and may do nothing; anonymous shows nothing, and stranger a token that is unknown."""

Feature = Literal[
    "compaction", "uncached events", "custom resources", "table columns", "validation", "apply", "field ownership"
]
"""What a server may lack: tests that need it are skipped there, and shown as skipped."""

FEATURES: frozenset[Feature] = frozenset(
    ["compaction", "uncached events", "custom resources", "table columns", "validation", "apply", "field ownership"]
)


@attrs.frozen
class ContractServer:
    """A running server as the contract tests see it."""

    cluster: Cluster
    users: Mapping[User, Credential]
    kubeconfig: Mapping[str, Any]
    """Of the admin."""
    features: frozenset[Feature]
    compact: Callable[[], object]
    """Make every version of events up to the present one too old, but for the present one itself."""

    def client(self, user: User = "admin", **options: Any) -> Client:
        """A new client, to be closed by who asked."""
        return Client(self.cluster, self.users[user], **options)

    def need(self, feature: Feature) -> None:
        """Skip the test where the server lacks something."""
        if feature not in self.features:
            pytest.skip(f"this server has no {feature}")


def real(plane: ControlPlane) -> ContractServer:
    """kube-apiserver and etcd."""
    return ContractServer(
        cluster=Cluster(plane.url, ca_file=str(plane.ca_file)),
        users={
            "admin": BearerToken(plane.admin_token),
            "certificate": ClientCertificate(
                certificate_file=plane.client_cert_file, key_file=plane.client_key_file
            ),
            "viewer": BearerToken(plane.viewer_token),
            "nobody": BearerToken(plane.nobody_token),
            "anonymous": Anonymous(),
            "stranger": BearerToken("unknown"),
        },
        kubeconfig=plane.kubeconfig(),
        features=FEATURES,
        compact=plane.compact,
    )  # fmt: skip


class Kind(NamedTuple):
    """A kind of server: the fixture of the session that runs it, and how to see it as a contract server."""

    fixture: str
    seen: Callable[[Any], ContractServer]


KINDS = {
    "real": Kind("control_plane", real),
}
