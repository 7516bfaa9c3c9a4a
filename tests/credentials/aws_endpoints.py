"""AWS on loopback: the token service (STS), a container's endpoint, the instance metadata; and how a cluster reads."""

from __future__ import annotations

import base64
import itertools
import threading
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import NamedTuple
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from kwsync.credentials._presign import Keys, presigned_url
from kwsync.testing import Fin, Http, Reply, Request, ScriptedServer, StallUntil, Step

SECRET = "MADEUPSECRET"
OWN = Keys("AKIDMADEUP", f"{SECRET}/own+key")
"""Keys that do not expire, as a profile or the environment has them."""

ROLE = "arn:aws:iam::111122223333:role/made-up"
POD_PATH, POD_TOKEN = "/made-up/credentials", "made-up-pod-token"
METADATA_TOKEN = "made-up-metadata-token"
_ROLES = "/latest/meta-data/iam/security-credentials/"
_REFUSED = f"""<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>AccessDenied</Code><Message>{SECRET}</Message></Error><RequestId>made-up</RequestId></ErrorResponse>"""
_XML = {"Content-Type": "text/xml"}


class AwsEndpoints:
    """Issues keys in each of the ways, and remembers them."""

    def __init__(self) -> None:
        self.life = 3600.0
        """Seconds that issued keys are good."""
        self.refuses = False
        self.nonsense = False
        """Answer what is none of AWS's own."""
        self.closes = False
        """Close the connection in place of an answer."""
        self.hang: threading.Event | None = None
        """While it is there and not set, no request is answered."""
        self.issued = {OWN.access_key: OWN}
        self._numbers = itertools.count(1)
        self.server = ScriptedServer(default=Reply(self._answer))

    @property
    def requests(self) -> list[Request]:
        """All so far."""
        return list(self.server.requests)

    def forms(self) -> list[dict[str, str]]:
        """What the token service was asked."""
        return [dict(parse_qsl(request.body.decode())) for request in self.requests if request.method == "POST"]

    def lead(self, monkeypatch: pytest.MonkeyPatch, *ways: str) -> None:
        """Let botocore find this server alone, and there what is named: ``container``, ``metadata``."""
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", self.server.url)
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", self.server.url)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", str("metadata" not in ways))
        monkeypatch.setenv("AWS_METADATA_SERVICE_NUM_ATTEMPTS", "1")
        if "container" in ways:
            monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", self.server.url + POD_PATH)

    def _answer(self, request: Request) -> list[Step]:
        waiting = [] if self.hang is None else [StallUntil(self.hang)]
        return [*waiting, Fin() if self.closes else self._reply(request)]

    def _reply(self, request: Request) -> Step:
        if self.nonsense:
            return Http(200, f"<nonsense>{SECRET}", _XML)
        return Http(403, _REFUSED, _XML) if self.refuses else self._grant(request)

    def _grant(self, request: Request) -> Step:
        if request.method == "POST":
            return Http(200, self._role(dict(parse_qsl(request.body.decode()))["Action"]), _XML)
        if request.path == "/latest/api/token":
            return Http(200, METADATA_TOKEN)
        if request.path == _ROLES:
            return Http(200, "made-up")
        if request.path == POD_PATH or request.headers.get("x-aws-ec2-metadata-token") == METADATA_TOKEN:
            keys, expiry = self._issue()
            return Http(200, {
                "Code": "Success",
                "AccessKeyId": keys.access_key,
                "SecretAccessKey": keys.secret_key,
                "Token": keys.session_token,
                "Expiration": expiry,
            })  # fmt: skip
        return Http(404)

    def _role(self, action: str) -> str:
        keys, expiry = self._issue()
        return (
            f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result><Credentials>'
            f"<AccessKeyId>{keys.access_key}</AccessKeyId><SecretAccessKey>{keys.secret_key}</SecretAccessKey>"
            f"<SessionToken>{keys.session_token}</SessionToken><Expiration>{expiry}</Expiration></Credentials>"
            f"<AssumedRoleUser><Arn>{ROLE}</Arn><AssumedRoleId>made-up:kwsync</AssumedRoleId></AssumedRoleUser>"
            f"</{action}Result></{action}Response>"
        )

    def _issue(self) -> tuple[Keys, str]:
        number = next(self._numbers)
        keys = Keys(f"ASIAMADEUP{number}", f"{SECRET}/key+{number}", f"{SECRET}/session+{number}==")
        self.issued[keys.access_key] = keys
        end = datetime.fromtimestamp(time.time() + self.life, timezone.utc)
        return keys, end.strftime("%Y-%m-%dT%H:%M:%SZ")


class Signed(NamedTuple):
    """What a token says."""

    region: str
    access_key: str
    at: float
    parameters: Mapping[str, str]
    url: str


def read_token(token: str) -> Signed:
    """Take a token apart, as the reader in a cluster does."""
    prefix, _, text = token.partition("k8s-aws-v1.")
    assert prefix == ""
    assert "=" not in text
    url = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    parts = urlsplit(url)
    assert (parts.scheme, parts.path) == ("https", "/")
    found = parse_qs(parts.query, strict_parsing=True)
    assert {len(values) for values in found.values()} == {1}
    parameters = {name: values[0] for name, values in found.items()}
    access_key, _, region, service, _ = parameters["X-Amz-Credential"].split("/")
    assert service == "sts"
    at = datetime.strptime(parameters["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
    return Signed(region, access_key, at.timestamp(), parameters, url)


def accepts(token: str, cluster_id: str, issued: Mapping[str, Keys]) -> bool:
    """Is it signed with keys that were issued, for this cluster?"""
    signed = read_token(token)
    keys = issued.get(signed.access_key)
    expires = int(signed.parameters["X-Amz-Expires"])
    return keys is not None and signed.url == presigned_url(keys, cluster_id, signed.region, signed.at, expires=expires)
