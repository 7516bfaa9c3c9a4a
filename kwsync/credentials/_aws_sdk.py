"""The seam to botocore, which is AWS's own library: its chain of credentials, and assuming a role.

What it finds is taken anew each time, so that a profile, a web identity or a role that changes on disk is noticed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import re
import threading
from collections.abc import Iterator
from typing import Any

import attrs

from kwsync import _clock
from kwsync.credentials._presign import Keys
from kwsync.credentials._protocol import CredentialError

DEFAULT_REGION = "us-east-1"
LIFE_SECONDS = 14 * 60
"""The reference client's life of a token, a minute less than the cluster gives it."""

CONNECT_SECONDS = 5.0
READ_SECONDS = 10.0
ATTEMPTS = 2
"""For each request to STS."""

_loaders: dict[str, Any] = {}
"""What reads botocore's descriptions of AWS, and keeps them; one of its own would cost each session 8 MB and 40 ms."""

_PUBLIC_CODE = re.compile(r"[A-Za-z.]{1,40}")
_HINTS = {
    "ConnectTimeoutError": "its endpoint cannot be reached",
    "EndpointConnectionError": "its endpoint cannot be reached",
    "PartialCredentialsError": "of an access key and its secret key, one is missing",
    "ProfileNotFound": "neither the configuration nor the credentials file has that profile",
    "ProxyConnectionError": "the proxy cannot be reached",
    "ReadTimeoutError": "its endpoint does not answer",
    "SSOTokenLoadError": "log in with: aws sso login",
    "TokenRetrievalError": "log in with: aws sso login",
    "UnauthorizedSSOTokenError": "log in with: aws sso login",
}


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
    botocore = _load()
    with _silence():
        try:
            return _find_access(botocore, wish)
        except CredentialError as error:
            failure = str(error)
        except Exception as error:  # noqa: BLE001 - botocore's own have no base in common; their texts quote answers
            failure = _told(error)
    raise CredentialError(failure)  # out here, it does not carry the exception that it is made from


def _load() -> Any:
    try:
        import botocore.config
        import botocore.session
    except ImportError:
        raise CredentialError(
            'AWS credentials need botocore: pip install "kwsync[aws]" (without it, only keys in AWS_ACCESS_KEY_ID and '
            "AWS_SECRET_ACCESS_KEY can be used, and no role be assumed)"
        ) from None
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
    return session


def _chain_keys(session: Any) -> tuple[Keys, float | None]:
    found = session.get_credentials()
    if found is None:
        raise CredentialError(
            "no AWS credentials: none in the environment or a profile, and none from a web identity, a container "
            "endpoint or the instance metadata service"
        )
    if found.method == "assume-role" and session.get_scoped_config().get("mfa_serial"):
        raise CredentialError("the AWS profile wants an MFA code, which nobody is here to enter: use another profile")
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


def _told(error: Exception) -> str:
    name = type(error).__name__
    code = getattr(error, "response", {}).get("Error", {}).get("Code")
    shown = f" ({code})" if isinstance(code, str) and _PUBLIC_CODE.fullmatch(code) else ""
    hint = f": {_HINTS[name]}" if name in _HINTS else ""
    return f"AWS gave no credentials, {name}{shown}{hint}"


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Let nothing be logged by botocore on this thread: at DEBUG it shows requests and answers, which hold secrets."""
    thread = threading.get_ident()

    def is_elsewhere(record: logging.LogRecord) -> bool:  # noqa: ARG001
        return threading.get_ident() != thread

    names = [name for name in list(logging.Logger.manager.loggerDict) if name.startswith(("botocore", "urllib3"))]
    loggers = [logging.getLogger(name) for name in names]
    for logger in loggers:
        logger.addFilter(is_elsewhere)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_elsewhere)
