"""Aggregated discovery: all groups in one document, for clients that ask for it (kubectl 1.26 and later does).

Recorded: discovery-aggregated-…. A real 1.36 serves v2 only; who asks for v2beta1 gets what else it accepts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from kwsync.testing.apiserver._discovery import (
    SUBRESOURCE_VERBS,
    groups_of,
    kinds_in,
    names_of,
    subresources_of,
    verbs_of,
)
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._negotiate import ANY_TYPES, JSON_TYPE, clauses_of

CONTENT_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_WANTED = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}


def accepts_aggregated(accept: str) -> bool:
    """Whether an Accept header asks for it before it asks for plain JSON (which `*/*` is, too)."""
    for clause in clauses_of(accept):
        given = {name: value for name, value in clause.parameters.items() if name != "q"}
        if clause.media_type == JSON_TYPE and given == _WANTED:
            return True
        if clause.media_type in (JSON_TYPE, *ANY_TYPES) and "as" not in given:
            return False
    return False


def aggregated(kinds: Iterable[Kind], *, core: bool, stale: Iterable[str] = ()) -> JSON:
    """The document of `/api` (*core*) or `/apis`; *stale* names groups whose server is down, shown without kinds."""
    kinds = list(kinds)
    items = [_group(kinds, name, versions) for name, versions in groups_of(kinds).items() if bool(name) is not core]
    for item in items:
        if item["metadata"].get("name") in stale:
            item["versions"] = [{"version": each["version"], "freshness": "Stale"} for each in item["versions"]]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _group(kinds: Iterable[Kind], name: str, versions: Iterable[str]) -> JSON:
    listed = [
        {
            "version": version,
            "resources": [_resource(kind) for kind in kinds_in(kinds, name, version)],
            "freshness": "Current",
        }
        for version in versions
    ]
    return {"metadata": {"name": name} if name else {}, "versions": listed}


def _resource(kind: Kind) -> JSON:
    resource: JSON = {
        "resource": kind.plural,
        "responseKind": _response_kind(kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": verbs_of(kind),
        **names_of(kind),
    }
    subresources = [_subresource(kind, name) for name in subresources_of(kind)]
    return {**resource, "subresources": subresources} if subresources else resource


def _subresource(kind: Kind, name: str) -> JSON:
    scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    response = scale if name == "scale" else _response_kind(kind)
    return {"subresource": name, "responseKind": response, "verbs": SUBRESOURCE_VERBS}


def _response_kind(kind: Kind) -> JSON:
    """Empty group and version stand for those of the document; custom kinds say theirs."""
    known = {"group": kind.group, "version": kind.version} if kind.custom else {"group": "", "version": ""}
    return {**known, "kind": kind.name}


def etag(body: bytes) -> str:
    """For the header ETag, and to be compared with If-None-Match; quoted, as both are."""
    return f'"{hashlib.sha512(body).hexdigest().upper()}"'
