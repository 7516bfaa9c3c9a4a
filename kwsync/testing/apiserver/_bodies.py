"""The bodies of requests: which types are read, and what is wrong with one that cannot be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._encode import loads
from kwsync.testing.apiserver._kind import Kind

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
_PATCHES = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
_CUSTOM_PATCHES = (JSON_PATCH, MERGE, APPLY)
_LIMIT = 3 * 1024 * 1024
_SHOWN = 100


def content_type(headers: Mapping[str, str]) -> str:
    """The media type of a body, without parameters."""
    return headers.get("Content-Type", "").split(";")[0].strip().lower()


def read_object(kind: Kind, body: bytes, media_type: str) -> Any:
    """What a create or replace holds: JSON, or YAML where there is a parser for it."""
    if media_type not in ("", "application/json", "application/yaml"):
        raise _status.unsupported_media_type()
    return _read(kind, body, media_type)


def read_patch(kind: Kind, body: bytes, media_type: str) -> Any:
    """What a patch holds, after a look at its type."""
    accepted = _CUSTOM_PATCHES if kind.custom else _PATCHES
    if media_type not in _PATCHES:
        raise _status.wrong_patch_type()
    if media_type not in accepted:
        raise _status.unsupported_media_type(accepted)
    if media_type == APPLY:
        return _read(kind, body, media_type)
    _check_size(body)
    try:
        return loads(body)
    except ValueError as error:
        raise _status.bad_request(f"error decoding patch: {_go_words(body, error)}") from None


def read_options(body: bytes, media_type: str) -> dict[str, Any]:
    """The DeleteOptions of a delete; none where the body is empty."""
    if not body.strip():
        return {}
    if media_type not in ("", "application/json", "application/yaml"):
        raise _status.unsupported_media_type()
    try:
        options = loads(body)
    except ValueError as error:
        raise _status.bad_request(f"couldn't get version/kind; json parse error: {_go_words(body, error)}") from None
    if not isinstance(options, dict):
        raise _status.bad_request("couldn't get version/kind; json parse error: json: cannot unmarshal")
    return options


def _read(kind: Kind, body: bytes, media_type: str) -> Any:
    _check_size(body)
    try:
        return loads(body)
    except ValueError as error:
        if media_type.endswith("yaml"):
            return _read_yaml(body)
        shown = body[:_SHOWN].decode(errors="replace") or "<empty>"
        raise _status.bad_request(
            f"the object provided is unrecognized (must be of type {kind.name}): couldn't get version/kind;"
            f" json parse error: {_go_words(body, error)} ({shown})"
        ) from None


def _check_size(body: bytes) -> None:
    if len(body) > _LIMIT:
        raise _status.request_entity_too_large(_LIMIT)


def _read_yaml(body: bytes) -> Any:
    # The seam of an optional dependency: kubectl and the official clients send JSON under the name of YAML.
    try:
        import yaml
    except ImportError:
        raise _status.unsupported_media_type(("application/json",)) from None
    try:
        # Through JSON, because YAML also has dates and the like.
        return json.loads(json.dumps(yaml.safe_load(body), default=str))
    except yaml.YAMLError as error:
        raise _status.bad_request(f"error converting YAML to JSON: {error}") from None


def _go_words(body: bytes, error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError) and error.pos >= len(error.doc.rstrip()):
        return "unexpected end of JSON input"
    where = getattr(error, "pos", 0)
    character = body.decode(errors="replace")[where : where + 1]
    return f"invalid character '{character}' looking for beginning of value"
