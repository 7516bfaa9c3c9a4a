"""The pod's own account."""

from __future__ import annotations

import os

import attrs

from kwsync.credentials._describe import CredentialDescription
from kwsync.credentials._files import as_path
from kwsync.credentials._protocol import AuthContext, Authorization
from kwsync.credentials._token_file import TokenFile

SERVICE_ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where every pod finds its own (Kubernetes: "Accessing the Kubernetes API from a Pod")."""


@attrs.define(eq=False)
class ServiceAccount:
    """The token that the kubelet puts into a pod and rotates there: a `TokenFile` on ``<directory>/token``."""

    directory: str = attrs.field(default=SERVICE_ACCOUNT_DIRECTORY, converter=as_path)
    _file: TokenFile = attrs.field(init=False, repr=False)

    @_file.default
    def _token_file(self) -> TokenFile:
        return TokenFile(os.path.join(self.directory, "token"))

    def authorize(self, context: AuthContext) -> Authorization:
        """As `TokenFile.authorize`."""
        return self._file.authorize(context)

    def refresh(self, rejected: Authorization) -> bool:
        """As `TokenFile.refresh`."""
        return self._file.refresh(rejected)

    def describe(self) -> CredentialDescription:
        """As `TokenFile.describe`."""
        return attrs.evolve(self._file.describe(), kind="token of the pod's service account")
