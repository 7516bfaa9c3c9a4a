"""A bearer token that never changes."""

from __future__ import annotations

import attrs

from kwsync.credentials._describe import CredentialDescription, described_by
from kwsync.credentials._fixed import Fixed
from kwsync.credentials._protocol import AuthContext, Authorization


@attrs.frozen
class BearerToken(Fixed):
    """``Authorization: Bearer`` with *token*, text. White space around it is dropped.

    A token that no header may carry shows as `CredentialError` when it is used.
    """

    token: str = attrs.field(repr=lambda _: "<hidden>")

    def authorize(self, context: AuthContext) -> Authorization:  # noqa: ARG002
        """The same at each call."""
        return Authorization.bearer(self.token)

    def describe(self) -> CredentialDescription:
        """What the token tells of itself."""
        return described_by(self.authorize, "bearer token")
