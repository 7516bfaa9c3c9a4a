"""The bodies of requests: which types are read, and what is wrong with one that cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._decode import DecodeError, TooDeepError, read
from kwsync.testing.apiserver._go_types import word_for
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._yaml_body import read_yaml

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
_PATCHES = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
_CUSTOM_PATCHES = (JSON_PATCH, MERGE, APPLY)
_BEFORE_PATCH_ERROR = {
    JSON_PATCH: "error decoding patch: ",
    MERGE: "error decoding patch: ",
    APPLY: "error decoding YAML: ",
}
_SHOWN = 30
_HEAD = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
"""The type, in Go's words, of what says its kind."""


def content_type(headers: Mapping[str, str]) -> str:
    """The media type of a body, without parameters."""
    return headers.get("Content-Type", "").split(";")[0].strip().lower()


def read_object(kind: Kind, body: bytes, media_type: str) -> Any:
    """What a create or replace holds: JSON, or YAML where there is a parser for it."""
    _check_plain(media_type)
    try:
        found = _read(body, media_type)
    except DecodeError as error:
        raise _unrecognized(kind, f"json parse error: {error}", body) from None
    if isinstance(found, dict | None):
        return found
    raise _unrecognized(kind, no_kind(found), body)


def _unrecognized(kind: Kind, why: str, body: bytes) -> _status.ApiError:
    return _status.bad_request(
        f"the object provided is unrecognized (must be of type {kind.name}): couldn't get version/kind; {why}"
        f" ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    """The beginning of a body, in hexadecimal digits where it is certainly no JSON object."""
    shown = body[:_SHOWN].decode(errors="replace") if body.startswith(b"{") else body[:_SHOWN].hex()
    return shown + (" ..." if len(body) > _SHOWN else "") or "<empty>"


def no_kind(value: object) -> str:
    """Go's words about a document that is no object."""
    return f"json parse error: json: cannot unmarshal {word_for(value)} into Go value of type {_HEAD}"


def read_patch(kind: Kind, body: bytes, media_type: str) -> Any:
    """What a patch holds, after a look at its type."""
    accepted = _CUSTOM_PATCHES if kind.custom else _PATCHES
    if media_type not in _PATCHES:
        raise _status.wrong_patch_type()
    if media_type not in accepted:
        raise _status.unsupported_media_type(accepted)
    try:
        return _read(body, media_type)
    except DecodeError as error:
        raise _status.bad_request(f"{_BEFORE_PATCH_ERROR.get(media_type, '')}{error}") from None


def read_options(body: bytes, media_type: str) -> dict[str, Any]:
    """The DeleteOptions of a delete; none where the body is empty."""
    if not body.strip():
        return {}
    _check_plain(media_type)
    try:
        options = _read(body, media_type)
    except DecodeError as error:
        raise _status.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(options, dict | None):
        raise _status.bad_request(f"couldn't get version/kind; {no_kind(options)}")
    return options or {}


def _check_plain(media_type: str) -> None:
    if media_type not in ("", "application/json", "application/yaml"):
        raise _status.unread_media_type(media_type)


def _read(body: bytes, media_type: str) -> Any:
    try:
        return read(body)
    except DecodeError as error:
        if isinstance(error, TooDeepError) or not media_type.endswith("yaml"):
            raise
    return read_yaml(body)
