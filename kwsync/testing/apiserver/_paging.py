"""Pages of a list, and the tokens that lead from one to the next. Pure."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._collection import Row, Version, within
from kwsync.testing.apiserver._decode import DecodeError, read
from kwsync.testing.apiserver._selection import Matcher, prefix_of

_TOKEN_VERSION = "meta.k8s.io/v1"
NEWEST = -1
"""In a token: go on with whatever is there now (trap: not the snapshot of the pages before)."""


class Token(NamedTuple):
    """Where a page begins: behind *after*, a key without its namespace's prefix, in the state at *revision*."""

    revision: int
    after: str

    def encoded(self) -> str:
        """As a real server's: base64url of JSON, without padding."""
        document = {"v": _TOKEN_VERSION, "rv": self.revision, "start": f"/{self.after}\0"}
        text = json.dumps(document, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def parse_token(text: str) -> Token:
    """Read a token; 400 for what is none."""
    try:
        decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise _invalid("illegal base64 data at input byte 0") from None
    try:
        document = read(decoded)
    except DecodeError as error:
        raise _invalid(str(error)) from None
    found = document if isinstance(document, dict) else {}
    revision, start = found.get("rv"), found.get("start")
    if not isinstance(revision, int) or not isinstance(start, str):
        raise _invalid("server does not recognize this encoded version ")
    return Token(revision, start.removeprefix("/").removesuffix("\0"))


def _invalid(why: str) -> _status.ApiError:
    return _status.bad_request(f"invalid continue token: continue key is not valid: {why}")


class Page(NamedTuple):
    """Some objects in the order of keys, and what the list's metadata says of the rest."""

    versions: list[Version]
    metadata: dict[str, Any]


def page_of(
    rows: list[Row], namespace: str, matches: Matcher | None, limit: int, revision: int, after: str = ""
) -> Page:
    """At most *limit* objects (0: all) of a state; `remainingItemCount` is absent with selectors (trap 11)."""
    prefix = prefix_of(namespace)
    start, end = within(rows, prefix, after and prefix + after)
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if matches is None and not limit:
        return Page([version for _, version in rows[start:end]], metadata)
    found: list[Version] = []
    for index in range(start, end):
        key, version = rows[index]
        if matches is None or matches(version):
            found.append(version)
            if len(found) == limit and index < end - 1:
                metadata["continue"] = Token(revision, key[len(prefix) :]).encoded()
                if matches is None:
                    metadata["remainingItemCount"] = end - 1 - index
                break
    return Page(found, metadata)
