"""The documents that tell clients what is served, in their plain form; `_aggregated` has the form of one request.

Field for field as a real server sends them (recorded: discovery-…), from a sequence of kinds. Of the subresources only
those are listed that this server has. Custom kinds list their verbs in another order, as apiextensions-apiserver does.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Iterable, Sequence

from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._kind import Kind

# The order of the groups in /apis; those of custom kinds come last.
_GROUPS = (
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
)
_ALL = frozenset(
    (
        "pods",
        "replicationcontrollers",
        "services",
        "daemonsets",
        "deployments",
        "replicasets",
        "statefulsets",
        "horizontalpodautoscalers",
        "cronjobs",
        "jobs",
    )
)
_API_EXTENSIONS = frozenset(("apiregistration.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io"))
_CUSTOM_ORDER = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
SUBRESOURCE_VERBS = ["get", "patch", "update"]


def api_versions(address: str) -> JSON:
    """`/api`; *address* is the server's own, as `host:port`."""
    ranges = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": ranges}


def group_list(kinds: Iterable[Kind]) -> JSON:
    """`/apis`: every group but the core one, with its versions."""
    groups = [_group(name, versions) for name, versions in groups_of(kinds).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(kinds: Iterable[Kind], name: str) -> JSON | None:
    """`/apis/GROUP`; None where no kind is in that group."""
    versions = groups_of(kinds).get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if versions else None


def _group(name: str, versions: Iterable[str]) -> JSON:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def resource_list(kinds: Iterable[Kind], group: str, version: str) -> JSON | None:
    """`/api/v1` (which says no apiVersion) or `/apis/GROUP/VERSION`; None where no kind is in that version."""
    own = kinds_in(kinds, group, version)
    if not own:
        return None
    document: JSON = {"kind": "APIResourceList"}
    if group:
        document["apiVersion"] = "v1"
    resources = [resource for kind in own for resource in _resources(kind)]
    return {**document, "groupVersion": own[0].api_version, "resources": resources}


def _resources(kind: Kind) -> list[JSON]:
    resource: JSON = {"name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced}
    resource.update(kind=kind.name, verbs=verbs_of(kind))
    resource.update(names_of(kind))
    if "create" in kind.verbs and "get" in kind.verbs:
        resource["storageVersionHash"] = _storage_version_hash(kind)
    return [resource, *(_subresource(kind, name) for name in subresources_of(kind))]


def _subresource(kind: Kind, name: str) -> JSON:
    resource: JSON = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced}
    if name == "scale":
        resource.update(group="autoscaling", version="v1")
    return {**resource, "kind": "Scale" if name == "scale" else kind.name, "verbs": SUBRESOURCE_VERBS}


def _storage_version_hash(kind: Kind) -> str:
    """As apiserver's discovery.StorageVersionHash, as if every version were the one that is stored."""
    digest = hashlib.sha256(f"{kind.group}/{kind.version}/{kind.name}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def subresources_of(kind: Kind) -> list[str]:
    """Those that this server has, in the order of the documents: alphabetical, but for custom kinds."""
    found = [name for name, has in (("scale", kind.scale is not None), ("status", kind.has_status)) if has]
    return found[::-1] if kind.custom else found


def verbs_of(kind: Kind) -> list[str]:
    """In the order of the documents."""
    return [verb for verb in _CUSTOM_ORDER if verb in kind.verbs] if kind.custom else sorted(kind.verbs)


def names_of(kind: Kind) -> JSON:
    """Short names and categories, where there are any."""
    categories: Sequence[str] = kind.categories
    if not kind.custom and kind.plural in _ALL:
        categories = ("all",)
    elif not kind.custom and kind.group in _API_EXTENSIONS:
        categories = ("api-extensions",)
    names = {"shortNames": list(kind.short_names), "categories": list(categories)}
    return {name: values for name, values in names.items() if values}


def kinds_in(kinds: Iterable[Kind], group: str, version: str) -> list[Kind]:
    """The kinds of one version of a group, in alphabetical order."""
    own = [kind for kind in kinds if (kind.group, kind.version) == (group, version)]
    return sorted(own, key=lambda kind: kind.plural)


def groups_of(kinds: Iterable[Kind]) -> dict[str, list[str]]:
    """The versions of each group: groups in the order of the documents, the preferred version first."""
    found: dict[str, set[str]] = {}
    for kind in kinds:
        found.setdefault(kind.group, set()).add(kind.version)
    return {name: sorted(found[name], key=_version_rank) for name in sorted(found, key=_group_rank)}


def _group_rank(name: str) -> tuple[int, str]:
    return (_GROUPS.index(name) if name in _GROUPS else len(_GROUPS), name) if name else (-1, "")


@functools.lru_cache(maxsize=256)
def _version_rank(version: str) -> tuple[int, int, int, str]:
    """Stable before beta before alpha, then the higher first; what is no such version comes last, by its letters."""
    match = re.fullmatch(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?", version)
    if match is None:
        return 3, 0, 0, version
    stage = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return stage, -int(match[1]), -int(match[3] or 0), version


def version_info(minor: int = 36) -> JSON:
    """`/version`, which a real server always sends indented."""
    return {
        "major": "1",
        "minor": str(minor),
        "emulationMajor": "1",
        "emulationMinor": str(minor),
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": str(minor - 1),
        "gitVersion": f"v1.{minor}.0+kwsync",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }
