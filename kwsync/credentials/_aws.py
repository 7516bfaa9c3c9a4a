"""Amazon EKS: a bearer token that is a request to AWS's token service, signed with AWS credentials."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

import attrs

from kwsync import _clock
from kwsync._cluster import Cluster
from kwsync.credentials._aws_sdk import DEFAULT_REGION, LIFE_SECONDS, Access, Wish, find_access, is_installed
from kwsync.credentials._cached import LEEWAY_SECONDS, Cached, Issued
from kwsync.credentials._describe import CredentialDescription
from kwsync.credentials._fields import check_optional_text, check_text, hide
from kwsync.credentials._presign import Keys, eks_token, presigned_url
from kwsync.credentials._protocol import AuthContext, Authorization, CredentialError
from kwsync.credentials._times import seconds_of

EARLY_SECONDS = 120.0
"""Before the expiry: time for some attempts, each of which has its time limits."""

CLUSTER_KEY = "kubernetes.io/x-k8s-aws-id"
ROLE_KEY = "kubernetes.io/aws-assume-role"
EXTERNAL_ID_KEY = "kubernetes.io/aws-external-id"
"""Under these keys Backstage keeps in a cluster's metadata what `AwsEks` takes."""

NO_ID = f"the EKS cluster has no id: give the cluster a name, or {CLUSTER_KEY} in its metadata"

_log = logging.getLogger("kwsync.credentials")


@attrs.define(eq=False)
class AwsEks:
    """A token for an EKS cluster, as ``aws eks get-token`` makes it. Needs the extra ``kwsync[aws]``, but for one case.

    *cluster_id* is the cluster's name, or whatever else its authenticator was told to expect in ``x-k8s-aws-id``.

    The credentials are those of AWS's own chain: keys in the environment, the shared *profile* (which goes before the
    environment where it is given), web identity (IRSA), container endpoint (EKS Pod Identity), instance metadata.
    With *role_arn* that role is assumed, telling its owner the *external_id*; *session_name* is how the role's session
    is called in AWS's logs, and in the user name that EKS makes of it. The one case: keys in AWS_ACCESS_KEY_ID and
    AWS_SECRET_ACCESS_KEY need no extra, unless a role is to be assumed.

    *region* (AWS_REGION, AWS_DEFAULT_REGION, the profile's, else us-east-1) says which token service the cluster is to
    ask. It need not be the cluster's own region, but must be of the same partition.

    Files and environment are read, and the role is assumed, for each token, on a thread of its own. Where that fails,
    the last credentials sign the next token as long as they are valid. A token is used for 14 minutes, or until the
    credentials expire that have signed it, and renewed two minutes before that beside the requests; see `Cached`.
    A program that a profile names (``credential_process``) has no time limit: who waits for it is told after two
    minutes, and what it gives at last is used; until then no other is started.
    TypeError for an argument that is no text; anything else that is wrong shows as `CredentialError` when it is used,
    in which no secret is.
    """

    cluster_id: str = attrs.field(validator=check_text)
    region: str | None = attrs.field(default=None, kw_only=True, validator=check_optional_text)
    profile: str | None = attrs.field(default=None, kw_only=True, validator=check_optional_text)
    role_arn: str | None = attrs.field(default=None, kw_only=True, validator=check_optional_text)
    external_id: str | None = attrs.field(default=None, kw_only=True, repr=hide, validator=check_optional_text)
    session_name: str = attrs.field(default="kwsync", kw_only=True, validator=check_text)
    _access: Access | None = attrs.field(default=None, init=False, repr=False)

    _cached: Cached = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._cached = Cached(self._new_token, name="aws", early=EARLY_SECONDS)

    @classmethod
    def for_cluster(cls, cluster: Cluster) -> AwsEks:
        """What a cluster's metadata says, in Backstage's words; the cluster's name where it gives no other id."""
        metadata = cluster.auth_metadata
        return cls(
            metadata.get(CLUSTER_KEY) or cluster.name,
            role_arn=metadata.get(ROLE_KEY) or None,
            external_id=metadata.get(EXTERNAL_ID_KEY) or None,
        )

    def authorize(self, context: AuthContext) -> Authorization:
        """The kept token, or after waiting a new one."""
        return self._cached.authorize(context)

    def refresh(self, rejected: Authorization) -> bool:
        """Drop the kept token if it is the rejected one, and not made a moment ago."""
        return self._cached.refresh(rejected)

    def describe(self) -> CredentialDescription:
        """As whom it would ask, and how long the kept token is good, or why there is none; nothing is asked."""
        source = "AWS's chain of credentials" if self.profile is None else f"the AWS profile {self.profile}"
        found = attrs.evolve(self._cached.described_as("token for EKS", source), user=self.role_arn or "")
        if not self.cluster_id:
            return attrs.evolve(found, problem=NO_ID)
        return attrs.evolve(found, notes=(f"for the cluster {self.cluster_id}",))

    def _new_token(self) -> Issued:
        if not self.cluster_id:
            raise CredentialError(NO_ID)
        access, at = self._newest_access(), _clock.wall()
        expires_at = at + LIFE_SECONDS if access.expires_at is None else min(at + LIFE_SECONDS, access.expires_at)
        if expires_at - at <= LEEWAY_SECONDS:
            raise CredentialError("the AWS credentials found have expired")
        return Issued(Authorization.bearer(_token(access, self.cluster_id, at)), expires_at)

    def _newest_access(self) -> Access:
        try:
            self._access = self._find_access()
        except CredentialError as error:
            if self._access is None or _expires_within(self._access, 2 * LEEWAY_SECONDS):
                raise
            _log.warning("the last AWS credentials stay in use: %s", error)
        return self._access

    def _find_access(self) -> Access:
        region = self.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if self.profile is None and self.role_arn is None:
            access = _environment_access(os.environ, region or DEFAULT_REGION)
            if access is not None and (region or not is_installed()):  # else a profile may tell the region
                return access
        return find_access(Wish(region, self.profile, self.role_arn, self.external_id, self.session_name))


def _token(access: Access, cluster_id: str, at: float) -> str:
    try:
        return eks_token(presigned_url(access.keys, cluster_id, access.region, at))
    except UnicodeError:  # an environment may hold any bytes
        raise CredentialError("the cluster's id or the AWS credentials are no text") from None
    except ValueError as error:
        raise CredentialError(str(error)) from None


def _expires_within(access: Access, seconds: float) -> bool:
    return access.expires_at is not None and access.expires_at - _clock.wall() <= seconds


def _environment_access(environment: Mapping[str, str], region: str) -> Access | None:
    """Keys in the environment, in the variables that botocore reads; None unless they are complete."""
    access_key, secret_key = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    if not access_key or not secret_key:
        return None
    token = environment.get("AWS_SECURITY_TOKEN") or environment.get("AWS_SESSION_TOKEN")
    expiry = environment.get("AWS_CREDENTIAL_EXPIRATION")
    return Access(Keys(access_key, secret_key, token), region, _parse_time(expiry) if expiry else None)


def _parse_time(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise CredentialError(f"AWS_CREDENTIAL_EXPIRATION is {error}: {text!r}") from None
