"""Entra and the managed identities' endpoints on loopback."""

from __future__ import annotations

import itertools
import ssl
import time

from tests.credentials.token_endpoint import Answer, Asked, TokenEndpoint

TENANT = "made-up-tenant"
TOKEN_PATH = f"/{TENANT}/oauth2/v2.0/token"
METADATA_PATH = f"/{TENANT}/v2.0/.well-known/openid-configuration"
APP_SERVICE_PATH = "/msi/token"
MACHINE_PATH = "/metadata/identity/oauth2/token"


class AzureEndpoint(TokenEndpoint):
    """Gives ``azure-1``, ``azure-2`` …: with TLS it is Entra, without it what gives managed identities."""

    def __init__(self, context: ssl.SSLContext | None = None, lifetime: int = 3600) -> None:
        super().__init__(self._respond, context)
        self.lifetime = lifetime
        numbers = itertools.count(1)
        self.mint = lambda: f"azure-{next(numbers)}"

    def _respond(self, asked: Asked) -> Answer:
        if asked.path == METADATA_PATH:
            return Answer(
                {
                    "issuer": f"{self.url}/{TENANT}/v2.0",
                    "authorization_endpoint": f"{self.url}/{TENANT}/oauth2/v2.0/authorize",
                    "token_endpoint": f"{self.url}{TOKEN_PATH}",
                }
            )
        if asked.path in (TOKEN_PATH, APP_SERVICE_PATH, MACHINE_PATH):
            return self._token()
        return Answer({"error": "not_found"}, 404)

    def _token(self) -> Answer:
        if self.answer_to_tokens is not None:
            return self.answer_to_tokens
        token = {"access_token": self.mint(), "token_type": "Bearer"}
        times = {"expires_in": self.lifetime, "expires_on": str(int(time.time()) + self.lifetime)}
        return Answer({**token, **times, "resource": "made-up"})
