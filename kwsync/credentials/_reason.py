"""Asking another library, and what may be told of its failure: its texts hold requests, answers and secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from kwsync.credentials._protocol import CredentialError
from kwsync.credentials._silence import silence

_T = TypeVar("_T")

_CODE = re.compile(
    r"\b(AADSTS\d{4,8}|invalid_request|invalid_client|invalid_grant|unauthorized_client|unsupported_grant_type"
    r"|invalid_scope|invalid_resource|temporarily_unavailable)\b"
)
"""Entra's codes, and those of OAuth 2.0 (RFC 6749, 5.2; Entra: "Microsoft Entra authentication and authorization
error codes"): what people look up."""

_AWS_CODE = re.compile(r"[A-Za-z.]{1,40}")

_HINTS = {
    "ConnectTimeoutError": "its endpoint cannot be reached",
    "ConnectionClosedError": "its endpoint has closed the connection",
    "EndpointConnectionError": "its endpoint cannot be reached",
    "PartialCredentialsError": "of an access key and its secret key, one is missing",
    "ProfileNotFound": "neither the configuration nor the credentials file has that profile",
    "ProxyConnectionError": "the proxy cannot be reached",
    "ReadTimeoutError": "its endpoint does not answer",
    "SSOTokenLoadError": "log in with: aws sso login",
    "TokenRetrievalError": "log in with: aws sso login",
    "UnauthorizedSSOTokenError": "log in with: aws sso login",
}
"""What botocore's classes mean."""


def load_library(load: Callable[[], Any], need: str, extra: str, besides: str = "") -> Any:
    """What *load* imports; CredentialError, which says the *need* and the extra that fulfils it, where it is missing.

    *besides* stands at its end: what goes without.
    """
    try:
        return load()
    except ImportError:
        pass
    raise CredentialError(f'{need}: pip install "kwsync[{extra}]"{besides}')


def ask_library(ask: Callable[[], _T], failure: str, hint: str = "") -> _T:
    """What *ask* gives; whatever it raises, as CredentialError: ours as it is, others by their `reason_of` alone.

    *failure* says before the reason what has failed, and *hint* behind it what to do. On this thread the libraries log
    nothing meanwhile.
    """
    try:
        with silence():
            return ask()
    except CredentialError as error:
        told = str(error)
    except Exception as error:  # noqa: BLE001 - answers that are nonsense make a library raise anything
        told = f"{failure}: {reason_of(error)}{hint}"
    raise CredentialError(told)  # out here, so that nothing leads from our error to that of the library


def reason_of(error: BaseException) -> str:
    """Its class, the class of what first caused it, the codes in it that are known to be no secrets, and a hint."""
    name = type(error).__name__
    names = dict.fromkeys((name, type(_first(error)).__name__))
    codes = dict.fromkeys(_codes(error))
    shown = f" ({', '.join(codes)})" if codes else ""
    return " from ".join(names) + shown + (f": {_HINTS[name]}" if name in _HINTS else "")


def _first(error: BaseException) -> BaseException:
    seen = {id(error)}
    while True:
        context = None if error.__suppress_context__ else error.__context__
        # The last one is where azure-core keeps it.
        before = error.__cause__ or context or getattr(error, "inner_exception", None)
        if not isinstance(before, BaseException) or id(before) in seen:
            return error
        seen.add(id(before))
        error = before


def _codes(error: BaseException) -> Iterator[str]:
    yield from _CODE.findall(_text(error))
    # Where botocore has what an endpoint answered; elsewhere, and where nothing came, it is something else or None.
    response = getattr(error, "response", None)
    answer = response.get("Error") if isinstance(response, Mapping) else None
    code = answer.get("Code") if isinstance(answer, Mapping) else None
    if isinstance(code, str) and _AWS_CODE.fullmatch(code):
        yield code


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - it may be anybody's
        return ""
