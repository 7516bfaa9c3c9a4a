"""Name and password."""

from __future__ import annotations

import base64

import attrs

from kwsync.credentials._describe import CredentialDescription
from kwsync.credentials._fixed import Fixed
from kwsync.credentials._protocol import AuthContext, Authorization, CredentialError


@attrs.frozen
class BasicAuth(Fixed):
    """``Authorization: Basic`` with *username* and *password*, text that is sent as UTF-8 (RFC 7617).

    kube-apiserver itself knows no passwords since 1.19; proxies in front of it may.
    """

    username: str
    password: str = attrs.field(repr=lambda _: "<hidden>")

    def authorize(self, context: AuthContext) -> Authorization:  # noqa: ARG002
        """The same at each call; CredentialError for a colon in the name, which the header cannot tell."""
        if ":" in self.username:
            raise CredentialError("the user name of basic authentication holds a colon")
        pair = f"{self.username}:{self.password}".encode("utf-8", "surrogatepass")
        return Authorization({"Authorization": f"Basic {base64.b64encode(pair).decode()}"})

    def describe(self) -> CredentialDescription:
        """Whose password it is."""
        return CredentialDescription(kind="user name and password", user=self.username)
