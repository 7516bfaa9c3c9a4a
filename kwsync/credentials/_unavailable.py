"""A way that cannot be gone. It says so when it is asked, not before: the configuration around it still loads."""

from __future__ import annotations

from typing import NoReturn

import attrs

from kwsync.credentials._describe import CredentialDescription
from kwsync.credentials._fixed import Fixed
from kwsync.credentials._protocol import AuthContext, CredentialError


@attrs.frozen
class Unavailable(Fixed):
    """Raises `CredentialError` with *message* at each request."""

    message: str

    def authorize(self, context: AuthContext) -> NoReturn:  # noqa: ARG002
        """Raise the error."""
        raise CredentialError(self.message)

    def describe(self) -> CredentialDescription:
        """Why not."""
        return CredentialDescription(kind="none", problem=self.message)
