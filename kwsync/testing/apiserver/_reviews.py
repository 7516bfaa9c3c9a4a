"""The kinds that are only asked, never stored: may somebody do something, and who am I?"""

from __future__ import annotations

from typing import Any

from kwsync.testing.apiserver._access import User
from kwsync.testing.apiserver._api import Api, Call
from kwsync.testing.apiserver._bodies import content_type, read_object
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._reply import Reply, json_reply
from kwsync.testing.apiserver._rules import check_type
from kwsync.testing.apiserver._target import Target


def review(api: Api, call: Call, kind: Kind) -> Reply:
    """Answer a review; one of a kind that this server does not think about comes back with an empty status."""
    document = check_type(kind, read_object(kind, call.body, content_type(call.headers)))
    spec = document.get("spec") or {}
    status = _verdict(api, call, kind, spec)
    head = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": {}}
    asked = {} if kind.plural == "selfsubjectreviews" else {"spec": spec}
    return json_reply(201, {**head, **asked, "status": status})


def _verdict(api: Api, call: Call, kind: Kind, spec: dict[str, Any]) -> dict[str, Any]:
    if kind.plural.endswith("accessreviews"):
        return {"allowed": _allowed(api, _who(call.user, spec), spec)}
    if kind.plural == "selfsubjectreviews":
        return {"userInfo": {"username": call.user.name, "groups": list(call.user.groups)}}
    if kind.plural == "tokenreviews":
        return {"authenticated": api.access.knows(str(spec.get("token")))}
    return {}


def _who(user: User, spec: dict[str, Any]) -> User:
    return User(spec["user"], tuple(spec.get("groups") or ())) if spec.get("user") else user


def _allowed(api: Api, user: User, spec: dict[str, Any]) -> bool:
    asked = spec.get("resourceAttributes") or {}
    target = Target(
        "",
        asked.get("group", ""),
        asked.get("version", ""),
        asked.get("resource", ""),
        asked.get("namespace", ""),
        subresource=asked.get("subresource", ""),
    )
    return api.access.allows(user, asked.get("verb", ""), target, asked.get("name", ""))
