"""Google's token endpoint and metadata server on loopback, and a service account's key that leads there."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

from tests.credentials.token_endpoint import Answer, Asked, TokenEndpoint

EMAIL = "watcher@made-up.iam.gserviceaccount.com"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ACCOUNTS = "/computeMetadata/v1/instance/service-accounts/"


class GoogleEndpoint(TokenEndpoint):
    """Gives ``google-1``, ``google-2`` … for a signed assertion, and as a metadata server."""

    def __init__(self, lifetime: int = 3600) -> None:
        super().__init__(self._respond)
        self.lifetime = lifetime
        numbers = itertools.count(1)
        self.mint = lambda: f"google-{next(numbers)}"

    def key(self, private_key: str) -> dict[str, Any]:
        """A service account's key, as Google gives it out."""
        return {
            "type": "service_account",
            "project_id": "made-up",
            "private_key_id": "1",
            "private_key": private_key,
            "client_email": EMAIL,
            "client_id": "1",
            "token_uri": f"{self.url}/token",
        }

    def _respond(self, asked: Asked) -> Answer:
        if asked.path == "/token":
            return self._token() if asked.form.get("grant_type") == GRANT else Answer({"error": "invalid_request"}, 400)
        flavor = {"Metadata-Flavor": "Google"}
        if asked.path in (f"{ACCOUNTS}default/token", f"{ACCOUNTS}{EMAIL}/token"):
            return self._token()._replace(headers=flavor)
        if asked.path == f"{ACCOUNTS}default/":
            return Answer({"email": EMAIL, "aliases": ["default"], "scopes": []}, headers=flavor)
        if asked.path == "/computeMetadata/v1/project/project-id":
            return Answer(b"made-up", headers={**flavor, "Content-Type": "application/text"})
        return Answer(b"", 200 if asked.path == "/" else 404, flavor)

    def _token(self) -> Answer:
        if self.answer_to_tokens is not None:
            return self.answer_to_tokens
        return Answer({"access_token": self.mint(), "expires_in": self.lifetime, "token_type": "Bearer"})


def claims_of(assertion: str) -> dict[str, Any]:
    """What a signed assertion says; whether the signature is right is google-auth's business."""
    payload = assertion.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return claims
