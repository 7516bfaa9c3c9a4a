"""As much of OpenAPI v3 as kubectl wants to see before it sends an object.

kubectl create and apply look for the PATCH operation of the object's kind and in it for the query parameter
`fieldValidation` (cli-runtime's query_param_verifier_v3.go); without it they would validate themselves, with schemas.
There are none here, so `kubectl explain` knows nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from kwsync.testing.apiserver._discovery import groups_of, kinds_in
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._kind import Kind

OPENAPI_V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""Of `/openapi/v2`, where kubectl looks for what version 3 does not know; no bytes are a document without contents."""
_INFO = {"title": "kwsync.testing.ApiServer", "version": "unversioned"}
_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation", "force")


def openapi_v2() -> JSON:
    """`/openapi/v2`, for who reads JSON: nothing."""
    return {"swagger": "2.0", "info": _INFO, "paths": {}, "definitions": {}}


def openapi_root(kinds: Iterable[Kind]) -> JSON:
    """`/openapi/v3`: where the document of each version of a group is; its hash changes with what is served."""
    kinds = list(kinds)
    paths = {}
    for group, versions in groups_of(kinds).items():
        for version in versions:
            path = _prefix(group, version)
            digest = hashlib.sha512(" ".join(kind.plural for kind in kinds_in(kinds, group, version)).encode())
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest.hexdigest().upper()}"}
    return {"paths": paths}


def openapi_document(kinds: Iterable[Kind], group: str, version: str) -> JSON | None:
    """`/openapi/v3/apis/GROUP/VERSION` or `/openapi/v3/api/v1`; None where no kind is in that version."""
    own = kinds_in(kinds, group, version)
    if not own:
        return None
    paths = {_path(kind): {"patch": _patch(kind)} for kind in own if "patch" in kind.verbs}
    return {"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": {"schemas": {}}}


def _prefix(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _path(kind: Kind) -> str:
    namespace = "namespaces/{namespace}/" if kind.namespaced else ""
    return f"/{_prefix(kind.group, kind.version)}/{namespace}{kind.plural}/{{name}}"


def _patch(kind: Kind) -> JSON:
    return {
        "operationId": f"patch{kind.name}",
        "parameters": [{"name": name, "in": "query", "schema": {"type": "string"}} for name in _PARAMETERS],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": kind.name},
    }
