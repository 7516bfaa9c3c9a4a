"""No proof at all."""

from __future__ import annotations

import attrs

from kwsync.credentials._describe import CredentialDescription
from kwsync.credentials._fixed import Fixed
from kwsync.credentials._protocol import AuthContext, Authorization


@attrs.frozen
class Anonymous(Fixed):
    """Sends no credential: for ``kubectl proxy``, or a cluster that lets ``system:anonymous`` read."""

    def authorize(self, context: AuthContext) -> Authorization:  # noqa: ARG002
        """Nothing to add to the request."""
        return Authorization()

    def describe(self) -> CredentialDescription:
        """No proof."""
        return CredentialDescription(kind="none (anonymous)")
