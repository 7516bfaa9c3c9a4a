"""What is served beside objects: discovery, the stub of OpenAPI, the version, and whether the server is well."""

from __future__ import annotations

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._aggregated import CONTENT_TYPE, accepts_aggregated, aggregated, etag
from kwsync.testing.apiserver._api import Api, Call
from kwsync.testing.apiserver._discovery import api_versions, group, group_list, resource_list, version_info
from kwsync.testing.apiserver._encode import dumps, indented
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._openapi import OPENAPI_V2_TYPE, openapi_document, openapi_root, openapi_v2
from kwsync.testing.apiserver._reply import Reply, json_reply, text_reply

_HEALTH = ("healthz", "livez", "readyz")
_ANY_METHOD = ("", "openapi", *_HEALTH)
"""What a real server answers whatever the method, as far as it has a body."""


def document(api: Api, call: Call) -> Reply:
    """The answer to a path that is no resource; text 404 for what is nothing at all."""
    api.access.check_path(call.user, call.method, call.path)
    parts = call.path.strip("/").split("/")
    found = _find(api, call, parts)
    if found is None:
        raise _status.text_404()
    if call.method != "GET" and parts != ["apis"] and parts[0] not in _ANY_METHOD:
        raise _status.method_not_allowed()
    return found


def _find(api: Api, call: Call, parts: list[str]) -> Reply | None:
    with api.lock:
        kinds = list(api.state.catalog.kinds)
    if parts[0] in _HEALTH:
        return text_reply("ok")
    if parts == [""]:
        return json_reply(200, {"paths": _paths(kinds)})
    if parts == ["version"]:
        return Reply(200, indented(dumps(version_info())))
    if parts[0] == "openapi":
        return _openapi(kinds, parts[1:], call.accept)
    if parts in (["api"], ["apis"]) and accepts_aggregated(call.accept):
        return _aggregated(call, aggregated(kinds, core=parts == ["api"]))
    found = _discovery(api, kinds, parts)
    return None if found is None else json_reply(200, found)


def _paths(kinds: list[Kind]) -> list[str]:
    """What `/` lists."""
    groups = {f"/apis/{kind.group}" for kind in kinds if kind.group}
    versions = {f"/apis/{kind.api_version}" for kind in kinds if kind.group}
    fixed = {"/api", "/api/v1", "/apis", "/openapi/v3", "/version", *(f"/{name}" for name in _HEALTH)}
    return sorted(fixed | groups | versions)


def _openapi(kinds: list[Kind], parts: list[str], accept: str) -> Reply | None:
    if parts == ["v2"]:
        return Reply(200, b"", OPENAPI_V2_TYPE) if "protobuf" in accept else json_reply(200, openapi_v2())
    if parts == ["v3"]:
        return json_reply(200, openapi_root(kinds))
    found = None
    if parts[:2] == ["v3", "api"] and len(parts) == 3:
        found = openapi_document(kinds, "", parts[2])
    elif parts[:2] == ["v3", "apis"] and len(parts) == 4:
        found = openapi_document(kinds, parts[2], parts[3])
    return None if found is None else json_reply(200, found)


def _aggregated(call: Call, found: JSON) -> Reply:
    body = dumps(found)
    tag = etag(body)
    headers = (("Etag", tag), ("Vary", "Accept"))
    if call.headers.get("If-None-Match") == tag:
        return Reply(304, b"", CONTENT_TYPE, headers)
    return Reply(200, body, CONTENT_TYPE, headers)


def _discovery(api: Api, kinds: list[Kind], parts: list[str]) -> JSON | None:
    if parts == ["api"]:
        return api_versions(api.address)
    if parts == ["apis"]:
        return group_list(kinds)
    if len(parts) == 2 and parts[0] == "apis":
        return group(kinds, parts[1])
    if (parts[0] == "api" and len(parts) == 2) or (parts[0] == "apis" and len(parts) == 3):
        name, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
        return resource_list(kinds, name, version) or _no_version(api, name)
    return None


def _no_version(api: Api, name: str) -> JSON | None:
    """A Status for a built-in group, text for everything else (D14)."""
    if api.state.catalog.groups.get(name, True):
        return None
    raise _status.resource_not_found()
