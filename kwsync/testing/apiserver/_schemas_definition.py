"""The types of a CustomResourceDefinition (apiextensions 1.36). Pure data."""

from __future__ import annotations

from kwsync.testing.apiserver._go_types import FLAG, INT32, TEXT, TEXTS, Each, Scalar, Struct
from kwsync.testing.apiserver._schemas_meta import conditions

_COLUMN = Struct(
    "v1.CustomResourceColumnDefinition",
    {**dict.fromkeys(("name", "type", "format", "description", "jsonPath"), TEXT), "priority": INT32},
)
_NAMES = Struct(
    "v1.CustomResourceDefinitionNames",
    {
        **dict.fromkeys(("plural", "singular", "kind", "listKind"), TEXT),
        **dict.fromkeys(("shortNames", "categories"), TEXTS),
    },
)
_SCALE_PATHS = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
_SUBRESOURCES = Struct(
    "v1.CustomResourceSubresources",
    {
        "status": Struct("v1.CustomResourceSubresourceStatus"),
        "scale": Struct("v1.CustomResourceSubresourceScale", dict.fromkeys(_SCALE_PATHS, TEXT)),
    },
)
_VERSION = Struct(
    "v1.CustomResourceDefinitionVersion",
    {
        **dict.fromkeys(("name", "deprecationWarning"), TEXT),
        **dict.fromkeys(("served", "storage", "deprecated"), FLAG),
        "schema": Struct("v1.CustomResourceValidation", {"openAPIV3Schema": Struct("v1.JSONSchemaProps")}),
        "subresources": _SUBRESOURCES,
        "additionalPrinterColumns": Each("[]v1.CustomResourceColumnDefinition", _COLUMN),
        "selectableFields": Each("[]v1.SelectableField", Struct("v1.SelectableField", {"jsonPath": TEXT})),
    },
)
DEFINITION = Struct(
    "v1.CustomResourceDefinitionSpec",
    {
        "group": TEXT,
        "scope": Scalar("v1.ResourceScope"),
        "names": _NAMES,
        "versions": Each("[]v1.CustomResourceDefinitionVersion", _VERSION),
        "conversion": Struct("v1.CustomResourceConversion"),
    },
    kept=frozenset(["versions"]),
)
DEFINITION_STATUS = Struct(
    "v1.CustomResourceDefinitionStatus",
    {"acceptedNames": _NAMES, "storedVersions": TEXTS, "conditions": conditions("CustomResourceDefinition")},
    kept=frozenset(["storedVersions"]),
)
