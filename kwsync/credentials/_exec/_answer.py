"""A plugin's answer, the ExecCredential on its standard output. Pure.

Errors say what is wrong in words that follow the plugin's name, and never show what it wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from kwsync import _json
from kwsync.credentials._cached import Issued
from kwsync.credentials._pem import is_whole
from kwsync.credentials._protocol import Authorization, Certificate, CredentialError
from kwsync.credentials._times import seconds_of


def read_answer(output: bytes, api_version: str) -> Issued:
    """The credential; CredentialError for an answer that has none, or is of another version than was asked for."""
    status = _status(output, api_version)
    token = _text(status, "token")
    certificate, key = _text(status, "clientCertificateData"), _text(status, "clientKeyData")
    if bool(certificate) != bool(key):
        there, missing = ("certificate", "key") if certificate else ("key", "certificate")
        raise CredentialError(f"gave a client {there} without a {missing}")
    if not token and not certificate:
        raise CredentialError("gave neither a token nor a client certificate")
    authorization = _bearer(token) if token else Authorization()
    if certificate:
        authorization = attrs.evolve(authorization, certificate=Certificate(_pem(certificate), _pem(key)))
    return Issued(authorization, _expiry(status))


def _status(output: bytes, api_version: str) -> Mapping[str, Any]:
    answer = _document(output)
    if answer.get("kind") != "ExecCredential":
        raise CredentialError("answered with another kind than ExecCredential")
    if answer.get("apiVersion") != api_version:
        raise CredentialError(f"answered with another apiVersion than it was asked for, {api_version}")
    status = answer.get("status")
    if status is None:
        raise CredentialError("gave an ExecCredential without a status")
    if not isinstance(status, dict):
        raise CredentialError("gave an ExecCredential whose status is no object")
    return status


def _document(output: bytes) -> dict[str, Any]:
    if not output.strip():
        raise CredentialError("wrote nothing to standard output")
    try:
        answer = _json.loads(output)
    except ValueError:
        answer = None  # the error would show what was written
    if not isinstance(answer, dict):
        raise CredentialError("wrote something else than a JSON object to standard output")
    return answer


def _text(status: Mapping[str, Any], key: str) -> str:
    """Null counts as absent, as in Go."""
    value = status.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    raise CredentialError(f"gave an ExecCredential whose {key} is no text")


def _bearer(token: str) -> Authorization:
    try:
        return Authorization.bearer(token)
    except CredentialError as error:
        problem = str(error)
    raise CredentialError(f"gave a token that cannot be used: {problem}")


def _pem(text: str) -> bytes:
    pem = text.encode("utf-8", "replace")
    if not is_whole(pem):
        raise CredentialError("gave a client certificate or key that is not PEM, or not all of it")
    return pem


def _expiry(status: Mapping[str, Any]) -> float | None:
    value = _text(status, "expirationTimestamp")
    if not value:
        return None
    try:
        return seconds_of(value)
    except ValueError as error:
        raise CredentialError(f"gave an expirationTimestamp that is {error}") from None
