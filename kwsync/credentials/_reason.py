"""What may be told of another library's exception: the texts hold requests, answers and, with these, secrets."""

from __future__ import annotations

import re

_CODE = re.compile(
    r"\b(AADSTS\d{4,8}|invalid_request|invalid_client|invalid_grant|unauthorized_client|unsupported_grant_type"
    r"|invalid_scope|invalid_resource|temporarily_unavailable)\b"
)
"""Entra's codes, and those of OAuth 2.0 (RFC 6749, 5.2; Entra: "Microsoft Entra authentication and authorization
error codes"): what people look up."""


def reason_of(error: BaseException) -> str:
    """Its class, the class of what first caused it, and the codes in its text that are known to be no secrets."""
    names = dict.fromkeys((type(error).__name__, type(_first(error)).__name__))
    codes = dict.fromkeys(_CODE.findall(_text(error)))
    return " from ".join(names) + (f" ({', '.join(codes)})" if codes else "")


def _first(error: BaseException) -> BaseException:
    context = None if error.__suppress_context__ else error.__context__
    # The last one is where azure-core keeps it.
    before = error.__cause__ or context or getattr(error, "inner_exception", None)
    return _first(before) if isinstance(before, BaseException) else error


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - it may be anybody's
        return ""
