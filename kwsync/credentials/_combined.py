"""Several proofs in one request, as one user of a kubeconfig may have them: a client certificate and a token."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kwsync.credentials._describe import CredentialDescription, describe, together
from kwsync.credentials._protocol import AuthContext, Authorization, Credential


@attrs.frozen
class Combined:
    """The headers of all *parts*, and the certificate of the last that has one.

    Each part sees the whole in `refresh`, so a part must compare only what it gives.
    """

    parts: Sequence[Credential]

    def authorize(self, context: AuthContext) -> Authorization:
        """Asks every part; the first that has no credential raises."""
        headers: dict[str, str] = {}
        certificate = None
        for part in self.parts:
            authorization = part.authorize(context)
            headers.update(authorization.headers)
            certificate = authorization.certificate or certificate
        return Authorization(headers, certificate)

    def refresh(self, rejected: Authorization) -> bool:
        """Refreshes every part: the server does not say which one it refused."""
        answers = [part.refresh(rejected) for part in self.parts]
        return any(answers)

    def describe(self) -> CredentialDescription:
        """All of them."""
        return together([describe(part) for part in self.parts])
