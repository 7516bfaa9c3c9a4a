"""The presigned request that is a token for EKS: test vectors, botocore's own signer, and the hosts of all regions."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync.credentials._presign import (
    LONGEST_TOKEN,
    Keys,
    eks_token,
    presigned_url,
    sts_host,
)
from tests.credentials.aws_endpoints import accepts, read_token
from tests.credentials.lives import isolate

KEYS = Keys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
SESSION = Keys(KEYS.access_key, KEYS.secret_key, "SESSION/TOKEN+EXAMPLE==")
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc).timestamp()
ARN = "arn:aws:eks:eu-west-1:111122223333:cluster/prod"

printable = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" "), min_size=1, max_size=80)
secrets = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60)
names = st.from_regex(r"[A-Z0-9]{4,24}", fullmatch=True)
regions = st.sampled_from(["us-east-1", "eu-west-1", "cn-north-1", "us-gov-west-1", "us-isob-east-1", "eusc-de-east-1"])


def url_of(keys: Keys, cluster_id: str, region: str, **options: Any) -> str:
    """A URL that is signed at one time."""
    return presigned_url(keys, cluster_id, region, AT, **options)


class TestVectors:
    @pytest.mark.parametrize(
        ("keys", "cluster_id", "region", "signature"),
        [
            (KEYS, "my-cluster", "us-east-1", "acfca534b77dbbff6e72dc035b4817c3ef115401d2da78207cf20e544c1499bf"),
            (SESSION, ARN, "eu-west-1", "07ac952e9865ee4d05810f1971b1f19a2a91e66f76399b709d8195616746c750"),
        ],
    )
    def test_signature(self, keys: Keys, cluster_id: str, region: str, signature: str) -> None:
        """It signs as Backstage's signer does (``@smithy/signature-v4`` 4.2.4, which Backstage lets sign 0 seconds)."""
        assert url_of(keys, cluster_id, region, expires=0).endswith(f"&X-Amz-Signature={signature}")

    def test_order(self) -> None:
        """The parameters are the nine that the reader knows, in Backstage's order."""
        assert [name for name, _ in parse_qsl(urlsplit(url_of(SESSION, ARN, "eu-west-1")).query)] == [
            "Action",
            "Version",
            "X-Amz-Security-Token",
            "X-Amz-Algorithm",
            "X-Amz-Credential",
            "X-Amz-Date",
            "X-Amz-Expires",
            "X-Amz-SignedHeaders",
            "X-Amz-Signature",
        ]

    def test_expires(self) -> None:
        """Without a wish it is aws-iam-authenticator's minute."""
        assert "&X-Amz-Expires=60&" in url_of(KEYS, "a", "us-east-1")


@given(names, secrets, st.none() | secrets, printable, regions, st.integers(0, 900))
def test_botocore_signs_the_same(
    access_key: str, secret_key: str, session_token: str | None, cluster_id: str, region: str, expires: int
) -> None:
    """For all keys, clusters and regions it is what botocore's signer makes of the same request."""
    auth = pytest.importorskip("botocore.auth")
    awsrequest, credentials = pytest.importorskip("botocore.awsrequest"), pytest.importorskip("botocore.credentials")
    request = awsrequest.AWSRequest(
        method="GET",
        url=f"https://{sts_host(region)}/?Action=GetCallerIdentity&Version=2011-06-15",
        headers={"x-k8s-aws-id": cluster_id},
    )
    signer = credentials.Credentials(access_key, secret_key, session_token)
    auth.SigV4QueryAuth(signer, "sts", region, expires=expires).add_auth(request)
    theirs = dict(parse_qsl(urlsplit(request.url).query, strict_parsing=True))
    at = datetime.strptime(theirs["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc).timestamp()
    url = presigned_url(Keys(access_key, secret_key, session_token), cluster_id, region, at, expires=expires)
    assert dict(parse_qsl(urlsplit(url).query, strict_parsing=True)) == theirs


class TestToken:
    def test_shape(self) -> None:
        """The token is the URL, readable as the cluster reads it."""
        url = url_of(SESSION, "my-cluster", "us-east-1")
        token = eks_token(url)
        assert read_token(token).url == url
        assert accepts(token, "my-cluster", {SESSION.access_key: SESSION})
        assert not accepts(token, "my-cluster-2", {SESSION.access_key: SESSION})
        assert not accepts(token, "my-cluster", {SESSION.access_key: Keys(KEYS.access_key, "other", "other")})

    def test_length(self) -> None:
        """A token of 4096 bytes is made, and a longer one refused, without showing it."""
        prefix = len("k8s-aws-v1.")
        longest = (LONGEST_TOKEN - prefix) * 3 // 4
        assert len(eks_token("x" * longest)) <= LONGEST_TOKEN
        with pytest.raises(ValueError, match="4098 bytes long, and EKS reads 4096 at most"):
            eks_token("x" * (longest + 2))

    def test_hides_keys(self) -> None:
        """No repr shows keys."""
        assert repr(SESSION) == "Keys()"


class TestHost:
    @pytest.mark.parametrize(
        ("region", "host"),
        [
            ("eu-central-1", "sts.eu-central-1.amazonaws.com"),
            ("cn-north-1", "sts.cn-north-1.amazonaws.com.cn"),
            ("us-gov-west-1", "sts.us-gov-west-1.amazonaws.com"),
            ("us-iso-east-1", "sts.us-iso-east-1.c2s.ic.gov"),
            ("us-isob-east-1", "sts.us-isob-east-1.sc2s.sgov.gov"),
        ],
    )
    def test_partitions(self, region: str, host: str) -> None:
        """Each partition has its own domain."""
        assert sts_host(region) == host

    def test_botocore_knows_the_same(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """In every region that botocore knows, of every partition, it is the host that botocore would ask."""
        isolate(monkeypatch, tmp_path)
        session = pytest.importorskip("botocore.session").Session()
        regions = [
            region
            for partition in session.get_available_partitions()
            for region in session.get_available_regions("sts", partition)
        ]
        assert len(regions) > 30
        session.set_credentials(KEYS.access_key, KEYS.secret_key)
        urls = {region: session.create_client("sts", region).meta.endpoint_url for region in regions}
        assert {region: f"https://{sts_host(region)}" for region in regions} == urls

    @pytest.mark.parametrize("region", ["", "a/b", "eu-west-1.example.test", "EU-WEST-1", "eu-west-1\n", "é", "-"])
    def test_refuses(self, region: str) -> None:
        """What cannot be a region does not get into a host name."""
        with pytest.raises(ValueError, match="is no AWS region"):
            sts_host(region)
