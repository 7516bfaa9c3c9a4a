"""A presigned request to AWS's token service (STS), which serves as a bearer token for EKS. Pure: the time is given.

The cluster sends the request itself, and learns from the answer who signed it. Signature Version 4 as AWS documents it
("Authenticating Requests: Using Query Parameters"); what the token must look like is the rule of the program that reads
it (``kubernetes-sigs/aws-iam-authenticator``, ``pkg/token/token.go``).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from datetime import datetime, timezone
from urllib.parse import quote

import attrs

EXPIRES_SECONDS = 60
"""What aws-iam-authenticator signs. The reader wants 0 to 900 and then ignores it; Backstage signs 0."""

TOKEN_PREFIX = "k8s-aws-v1."  # noqa: S105
LONGEST_TOKEN = 4096
"""Bytes; the reader refuses longer ones."""

_CLUSTER_HEADER = "x-k8s-aws-id"
_ALGORITHM = "AWS4-HMAC-SHA256"
_REGION = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SUFFIXES = {
    "cn-": "amazonaws.com.cn",
    "eu-isoe-": "cloud.adc-e.uk",
    "eusc-": "amazonaws.eu",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
}
"""Partitions with a domain of their own, by the beginning of their regions' names; AWS and AWS GovCloud share one."""


@attrs.frozen
class Keys:
    """What AWS knows somebody by."""

    access_key: str = attrs.field(repr=False)
    secret_key: str = attrs.field(repr=False)
    session_token: str | None = attrs.field(default=None, repr=False)
    """Comes with keys that are issued for a while."""


def sts_host(region: str) -> str:
    """The host of a region's STS, in the region's own partition; ValueError for what cannot be a region's name."""
    if not _REGION.fullmatch(region):
        raise ValueError(f"{region!r} is no AWS region")
    suffixes = (suffix for prefix, suffix in _SUFFIXES.items() if region.startswith(prefix))
    return f"sts.{region}.{next(suffixes, 'amazonaws.com')}"


def eks_token(url: str) -> str:
    """The bearer token that a presigned URL makes; ValueError when it is longer than an EKS cluster reads."""
    token = TOKEN_PREFIX + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
    if len(token) > LONGEST_TOKEN:
        raise ValueError(f"the token would be {len(token)} bytes long, and EKS reads {LONGEST_TOKEN} at most")
    return token


def presigned_url(keys: Keys, cluster_id: str, region: str, at: float, *, expires: int = EXPIRES_SECONDS) -> str:
    """The URL that asks a region's STS who signed it (GetCallerIdentity), good for one cluster.

    *cluster_id* is what the cluster calls itself, which on EKS is its name. The cluster takes the URL for 15 minutes
    from *at* on, in seconds since 1970; *expires* is what the URL says. ValueError for what cannot be a region.
    """
    host = sts_host(region)
    time = datetime.fromtimestamp(at, timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{time[:8]}/{region}/sts/aws4_request"
    parameters = {
        "Action": "GetCallerIdentity",
        "Version": "2011-06-15",
        **({"X-Amz-Security-Token": keys.session_token} if keys.session_token else {}),
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": f"{keys.access_key}/{scope}",
        "X-Amz-Date": time,
        "X-Amz-Expires": str(expires),
        "X-Amz-SignedHeaders": f"host;{_CLUSTER_HEADER}",
    }
    request = _canonical_request(parameters, host, cluster_id)
    to_sign = "\n".join((_ALGORITHM, time, scope, hashlib.sha256(request.encode()).hexdigest()))
    signature = hmac.new(_signing_key(keys.secret_key, scope), to_sign.encode(), "sha256").hexdigest()
    return f"https://{host}/?{_query(parameters)}&X-Amz-Signature={signature}"


def _canonical_request(parameters: dict[str, str], host: str, cluster_id: str) -> str:
    """Method, path, sorted query, signed headers, their names, and the hash of no body."""
    return "\n".join((
        "GET",
        "/",
        _query(dict(sorted(parameters.items()))),
        f"host:{host}",
        f"{_CLUSTER_HEADER}:{' '.join(cluster_id.split())}",
        "",
        parameters["X-Amz-SignedHeaders"],
        hashlib.sha256(b"").hexdigest(),
    ))  # fmt: skip


def _query(parameters: dict[str, str]) -> str:
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())


def _signing_key(secret_key: str, scope: str) -> bytes:
    key = b"AWS4" + secret_key.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
