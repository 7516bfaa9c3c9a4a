"""The types of what the server itself looks at in an object; a real server has a schema for everything. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwsync.testing.apiserver._kind import Kind

Object = Mapping[str, Any]

_GO_NAMES = {str: "string", bool: "bool", list: "array", dict: "object"}
_TEXTS = ("name", "generateName", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp")
_MAPS = ("labels", "annotations")
_DEFINITION = ("spec", "spec.names")


def type_error(kind: Kind, object: Object) -> str:
    """The first value of a wrong type, in Go's words; empty where all are right. Null is right everywhere."""
    for path, value, wanted, go in _values(kind, object):
        if value is not None and not isinstance(value, wanted):
            return f"json: cannot unmarshal {_name_of(value)} into Go struct field {path} of type {go}"
    return ""


def _values(kind: Kind, object: Object) -> list[tuple[str, Any, type, str]]:
    metadata = object.get("metadata")
    found: list[tuple[str, Any, type, str]] = [(f"{kind.name}.metadata", metadata, dict, "v1.ObjectMeta")]
    if isinstance(metadata, dict):
        found += _metadata_values(metadata)
    if not kind.custom:
        found += [
            (f"{kind.name}.{name}", object.get(name), dict, f"{kind.version}.{kind.name}{name.title()}")
            for name in ("spec", "status")
        ]
    if kind.name == "Event" and not kind.custom:
        found += [
            (f"Event.{name}", object.get(name), dict, "v1.ObjectReference") for name in ("involvedObject", "regarding")
        ]
    if kind.plural == "customresourcedefinitions":
        found += _definition_values(object.get("spec"))
    return found


def _metadata_values(metadata: Object) -> list[tuple[str, Any, type, str]]:
    found: list[tuple[str, Any, type, str]] = [
        (f"ObjectMeta.metadata.{name}", metadata.get(name), str, "string") for name in _TEXTS
    ]
    for name in _MAPS:
        path, values = f"ObjectMeta.metadata.{name}", metadata.get(name)
        found.append((path, values, dict, "map[string]string"))
        if isinstance(values, dict):
            found += [(path, value, str, "string") for value in values.values()]
    path, finalizers = "ObjectMeta.metadata.finalizers", metadata.get("finalizers")
    found.append((path, finalizers, list, "[]string"))
    if isinstance(finalizers, list):
        found += [(path, value, str, "string") for value in finalizers]
    return found


def _definition_values(spec: Any) -> list[tuple[str, Any, type, str]]:
    if not isinstance(spec, dict):
        return []
    head = "CustomResourceDefinitionSpec.spec"
    found: list[tuple[str, Any, type, str]] = [
        (f"{head}.group", spec.get("group"), str, "string"),
        (f"{head}.names", spec.get("names"), dict, "v1.CustomResourceDefinitionNames"),
        (f"{head}.versions", spec.get("versions"), list, "[]v1.CustomResourceDefinitionVersion"),
    ]
    versions = spec.get("versions")
    listed = versions if isinstance(versions, list) else []
    found += [(f"{head}.versions", version, dict, "v1.CustomResourceDefinitionVersion") for version in listed]
    return found


def _name_of(value: Any) -> str:
    return _GO_NAMES.get(type(value), "number")
