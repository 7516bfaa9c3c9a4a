"""Names that only the server can explain: custom resources, by plural, singular, kind or short name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from kwsync._resources import Resource
from kwsync._transport import Request
from kwsync.errors import ErrorOrigin, WatchError, local_error

_AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)

_Fetch = Callable[[Request], dict[str, Any]]


@attrs.frozen
class _Found:
    resource: Resource
    names: frozenset[str]


def discover(fetch: _Fetch, name: str) -> Resource:
    """The resource that *name* means to this server, which tells all that it has in two requests at the most; servers
    without aggregated discovery (before 1.26) need one for each group's version.

    Good are a plural, singular, kind or short name, alone or with ``.group`` or ``.version.group`` behind it. Groups
    are taken in the server's order, versions in the group's order of preference. WatchError NOT_FOUND for what is not
    there.
    """
    wanted = name.lower()
    for root in ("/api", "/apis"):
        for found in _resources(fetch, root):
            if wanted in _spellings(found):
                return found.resource
    raise local_error(
        ErrorOrigin.CONFIG, f"the server has no resource {name!r}", path="/apis", code=404, reason="NotFound"
    )


def _spellings(found: _Found) -> Iterator[str]:
    resource = found.resource
    for name in found.names:
        yield name
        if resource.group:
            yield f"{name}.{resource.group}"
        yield f"{name}.{resource.version}.{resource.group}".rstrip(".")
        yield f"{resource.api_version}/{name}"


def _resources(fetch: _Fetch, root: str) -> Iterator[_Found]:
    answer = fetch(Request("GET", root, headers={"Accept": _AGGREGATED, "Accept-Encoding": "gzip"}))
    if answer.get("kind") == "APIGroupDiscoveryList":
        yield from _from_aggregated(answer)
    elif answer.get("kind") == "APIVersions":
        for core in _strings(answer.get("versions")):
            yield from _from_version(fetch, "", core)
    else:
        for group in _dicts(answer.get("groups")):
            for version in _dicts(group.get("versions")):
                yield from _from_version(fetch, str(group.get("name", "")), str(version.get("version", "")))


def _from_aggregated(answer: dict[str, Any]) -> Iterator[_Found]:
    for group in _dicts(answer.get("items")):
        group_name = _dict(group.get("metadata")).get("name", "")
        for version in _dicts(group.get("versions")):
            for entry in _dicts(version.get("resources")):
                kind = _dict(entry.get("responseKind")).get("kind")
                names = [entry.get("resource"), entry.get("singularResource"), kind, *_list(entry.get("shortNames"))]
                namespaced = entry.get("scope") == "Namespaced"
                yield from _found(group_name, version.get("version"), entry.get("resource"), namespaced, kind, names)


def _from_version(fetch: _Fetch, group: str, version: str) -> Iterator[_Found]:
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        answer = fetch(Request("GET", path, headers={"Accept": "application/json"}))
    except WatchError as error:
        if error.status_code in (404, 503):  # one group's own server is away; the others still answer
            return
        raise
    for entry in _dicts(answer.get("resources")):
        kind = entry.get("kind")
        names = [entry.get("name"), entry.get("singularName"), kind, *_list(entry.get("shortNames"))]
        yield from _found(group, version, entry.get("name"), entry.get("namespaced") is True, kind, names)


def _found(
    group: Any, version: Any, plural: Any, namespaced: bool, kind: Any, names: Iterable[Any]
) -> Iterator[_Found]:
    """One entry, unless it is a subresource or nonsense."""
    try:
        resource = Resource(group, version, plural, namespaced, kind)
    except (TypeError, ValueError):
        return
    yield _Found(resource, frozenset(name.lower() for name in names if isinstance(name, str) and name))


def _dicts(value: object) -> list[dict[str, Any]]:
    return [entry for entry in _list(value) if isinstance(entry, dict)]


def _strings(value: object) -> list[str]:
    return [entry for entry in _list(value) if isinstance(entry, str)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
