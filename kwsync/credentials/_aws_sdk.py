"""The seam to botocore, which is AWS's own library: its chain of credentials, and assuming a role.

What it finds is taken anew each time, so that a profile, a web identity or a role that changes on disk is noticed.
"""

from __future__ import annotations

import contextlib
import importlib.util
from typing import Any

import attrs

from kwsync import _clock
from kwsync.credentials._presign import Keys
from kwsync.credentials._protocol import CredentialError
from kwsync.credentials._reason import ask_library, load_library

DEFAULT_REGION = "us-east-1"
LIFE_SECONDS = 14 * 60
"""The reference client's life of a token, a minute less than the cluster gives it."""

CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0
ATTEMPTS = 2
"""For each request to STS."""

_WITHOUT = " (without it, only keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY can be used, and no role be assumed)"

_loaders: dict[str, Any] = {}
"""What reads botocore's descriptions of AWS, and keeps them; one of its own would cost each session 8 MB and 40 ms."""


@attrs.frozen
class Wish:
    """As whom, and where. None leaves it to botocore."""

    region: str | None = None
    profile: str | None = None
    role_arn: str | None = None
    external_id: str | None = attrs.field(default=None, repr=False)
    session_name: str = "kwsync"


@attrs.frozen
class Access:
    """Keys, and the region whose token service is to be asked."""

    keys: Keys
    region: str
    expires_at: float | None = None
    """Seconds since 1970; None where the keys do not expire, or not within the life of a token."""


def is_installed() -> bool:
    """Is there a botocore?"""
    return importlib.util.find_spec("botocore") is not None


def find_access(wish: Wish) -> Access:
    """Ask the chain, and assume the role if there is one; CredentialError in words that hold nothing of botocore's.

    It may take many seconds: each request has a time limit, but there may be several, and a program that a profile
    names (``credential_process``) has none.
    """
    botocore = load_library(_load, "AWS credentials need botocore", "aws", _WITHOUT)
    return ask_library(lambda: _find_access(botocore, wish), "AWS gave no credentials")


def _load() -> Any:
    import botocore.config
    import botocore.session

    return botocore


def _find_access(botocore: Any, wish: Wish) -> Access:
    session = _new_session(botocore, wish.profile)
    region = wish.region or session.get_config_variable("region") or DEFAULT_REGION
    session.set_config_variable("region", region)  # botocore itself does not look at AWS_REGION
    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    config = botocore.config.Config(connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries=retries)
    session.set_default_client_config(config)
    keys, expires_at = _chain_keys(session)
    if wish.role_arn is not None:
        keys, expires_at = _role_keys(session, keys, wish, wish.role_arn)
    return Access(keys, region, expires_at)


def _new_session(botocore: Any, profile: str | None) -> Any:
    session = botocore.session.Session(profile=profile)
    loader = _loaders.setdefault("shared", session.get_component("data_loader"))
    session.register_component("data_loader", loader)
    # It asks for the code of each profile in a chain of roles, and by itself would wait on the terminal for an answer.
    session.get_component("credential_provider").get_provider("assume-role")._prompter = _refuse_to_ask
    return session


def _refuse_to_ask(prompt: str) -> str:  # noqa: ARG001
    raise CredentialError("the AWS profile wants an MFA code, which nobody is here to enter: use another profile")


def _chain_keys(session: Any) -> tuple[Keys, float | None]:
    found = session.get_credentials()
    if found is None:
        raise CredentialError(
            "no AWS credentials: none in the environment or a profile, and none from a web identity, a container "
            "endpoint or the instance metadata service"
        )
    frozen = found.get_frozen_credentials()
    return Keys(frozen.access_key, frozen.secret_key, frozen.token), _expiry_of(found)


def _expiry_of(found: Any) -> float | None:
    """Within a token's life, to the minute: botocore tells no more than whether keys expire within so many seconds."""
    expires_within = getattr(found, "refresh_needed", None)  # keys that never expire do not have it
    if expires_within is None or not expires_within(LIFE_SECONDS):
        return None
    left = next((seconds for seconds in range(LIFE_SECONDS - 60, 0, -60) if not expires_within(seconds)), 0)
    return _clock.wall() + left


def _role_keys(session: Any, own: Keys, wish: Wish, role_arn: str) -> tuple[Keys, float]:
    client = session.create_client(
        "sts",
        aws_access_key_id=own.access_key,
        aws_secret_access_key=own.secret_key,
        aws_session_token=own.session_token,
    )
    extra = {} if wish.external_id is None else {"ExternalId": wish.external_id}
    with contextlib.closing(client):
        answer = client.assume_role(RoleArn=role_arn, RoleSessionName=wish.session_name, **extra)
    given = answer["Credentials"]
    keys = Keys(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
    return keys, given["Expiration"].timestamp()
