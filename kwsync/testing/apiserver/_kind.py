"""What the server serves: the built-in kinds of a table, and those of custom resource definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from kwsync import _kinds

Resource = tuple[str, str]
"""Group and plural: what objects are stored under, whatever version they come through."""

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_VERBS: dict[str, tuple[str, ...]] = {
    "bindings": ("create",),
    "componentstatuses": ("get", "list"),
    "localsubjectaccessreviews": ("create",),
    "namespaces": ("create", "delete", "get", "list", "patch", "update", "watch"),
    "selfsubjectaccessreviews": ("create",),
    "selfsubjectreviews": ("create",),
    "selfsubjectrulesreviews": ("create",),
    "subjectaccessreviews": ("create",),
    "tokenreviews": ("create",),
}
_WITH_STATUS = frozenset(
    [
        "namespaces",
        "nodes",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "services",
        "daemonsets",
        "deployments",
        "replicasets",
        "statefulsets",
        "cronjobs",
        "jobs",
        "horizontalpodautoscalers",
        "validatingadmissionpolicies",
        "customresourcedefinitions",
        "apiservices",
        "certificatesigningrequests",
        "flowschemas",
        "prioritylevelconfigurations",
        "ingresses",
        "servicecidrs",
        "poddisruptionbudgets",
        "resourceclaims",
        "volumeattachments",
    ]
)
_WITH_SCALE = frozenset(("deployments", "replicasets", "replicationcontrollers", "statefulsets"))
_WITH_GENERATION = frozenset(
    [
        "replicationcontrollers",
        "pods",
        "daemonsets",
        "deployments",
        "replicasets",
        "statefulsets",
        "cronjobs",
        "jobs",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "customresourcedefinitions",
        "flowschemas",
        "prioritylevelconfigurations",
        "ingresses",
        "ingressclasses",
        "networkpolicies",
        "poddisruptionbudgets",
        "endpointslices",
        "resourceslices",
    ]
)
EVENTS: Resource = ("", "events")
_STORED_AS: dict[Resource, Resource] = {("events.k8s.io", "events"): EVENTS}
_DEPRECATED = {
    "componentstatuses": "v1 ComponentStatus is deprecated in v1.19+",
    "endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


class ScalePaths(NamedTuple):
    """Where a kind has what its subresource `scale` shows: names with points in between, the last perhaps empty."""

    spec: str
    status: str
    selector: str = ""


_BUILTIN_SCALE = ScalePaths("spec.replicas", "status.replicas")


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind in one version; of a custom one the definition has told."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    singular: str = ""
    list_name: str = ""
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    has_status: bool = False
    """Whether it has the subresource `status`, so that writes to the object leave the status alone and vice versa."""
    scale: ScalePaths | None = None
    """Of a kind that has the subresource `scale`."""
    has_generation: bool = False
    custom: bool = False
    selectable_fields: tuple[str, ...] = ()
    """Of a custom kind: JSON paths such as `.spec.color`."""
    columns: tuple[Mapping[str, Any], ...] = ()
    """Of a custom kind: the `additionalPrinterColumns` of its definition."""
    deprecation: str = ""
    """The warning that goes with every answer."""

    @property
    def api_version(self) -> str:
        """As it stands in an object."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def stored_as(self) -> Resource:
        """Both kinds of events are one, and versions of a kind share their objects."""
        resource = (self.group, self.plural)
        return _STORED_AS.get(resource, resource)

    @property
    def is_cached(self) -> bool:
        """A real server serves all kinds but events from a cache, and the two differ in small ways (D6, D8)."""
        return self.stored_as != EVENTS


def builtin_kinds() -> list[Kind]:
    """The kinds that Kubernetes 1.36 serves in a stable version."""
    return [_builtin(row) for row in _kinds.KINDS]


def _builtin(row: _kinds.Kind) -> Kind:
    return Kind(
        group=row.group,
        version=row.version,
        plural=row.plural,
        name=row.name,
        namespaced=row.namespaced,
        short_names=row.short_names,
        singular=row.name.lower(),
        list_name=f"{row.name}List",
        verbs=_VERBS.get(row.plural, ALL_VERBS),
        has_status=row.plural in _WITH_STATUS,
        scale=_BUILTIN_SCALE if row.plural in _WITH_SCALE else None,
        has_generation=row.plural in _WITH_GENERATION,
        deprecation=_DEPRECATED.get(row.plural, ""),
    )


def custom_kinds(definition: Mapping[str, Any]) -> list[Kind]:
    """The kinds that a CustomResourceDefinition makes: one for each version that is served."""
    spec = definition["spec"]
    return [_custom(spec, version) for version in spec["versions"] if version.get("served")]


def stored_kind(definition: Mapping[str, Any]) -> Kind:
    """The kind as objects of it are stored, whether any version is served or not."""
    spec = definition["spec"]
    return _custom(spec, next(version for version in spec["versions"] if version.get("storage")))


def _custom(spec: Mapping[str, Any], version: Mapping[str, Any]) -> Kind:
    names = spec["names"]
    subresources = version.get("subresources") or {}
    return Kind(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        name=names["kind"],
        namespaced=spec.get("scope") != "Cluster",
        short_names=tuple(names.get("shortNames") or ()),
        singular=names.get("singular") or names["kind"].lower(),
        list_name=names.get("listKind") or f"{names['kind']}List",
        categories=tuple(names.get("categories") or ()),
        has_status="status" in subresources,
        scale=_scale_paths(subresources.get("scale")),
        has_generation=True,
        custom=True,
        selectable_fields=tuple(field["jsonPath"] for field in version.get("selectableFields") or ()),
        columns=tuple(version.get("additionalPrinterColumns") or ()),
        deprecation=_deprecation(spec, version),
    )


def _scale_paths(scale: Mapping[str, Any] | None) -> ScalePaths | None:
    if scale is None:
        return None
    fields = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
    return ScalePaths(*((scale.get(field) or "").removeprefix(".") for field in fields))


def _deprecation(spec: Mapping[str, Any], version: Mapping[str, Any]) -> str:
    if not version.get("deprecated"):
        return ""
    default = f"{spec['group']}/{version['name']} {spec['names']['kind']} is deprecated"
    return str(version.get("deprecationWarning") or default)
