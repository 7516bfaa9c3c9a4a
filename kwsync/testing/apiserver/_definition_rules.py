"""What a CustomResourceDefinition must be like, so that its kinds can be served (apiextensions' validation). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kwsync.testing.apiserver._failure import Cause
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._metadata_rules import invalid, required, too_long
from kwsync.testing.apiserver._names import dns_1035_errors, subdomain_errors

Object = Mapping[str, Any]

_SCOPES = ("Cluster", "Namespaced")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_PROTECTED = re.compile(r"(.*\.)?(k8s|kubernetes)\.io")
_APPROVAL = "api-approved.kubernetes.io"
_SCALE_PATHS = ("specReplicasPath", "statusReplicasPath")
_MOST_WARNING_BYTES = 256


def check_definition(_kind: Kind, object: Object) -> list[Cause]:
    """All that is wrong with one."""
    spec = object.get("spec") or {}
    names, versions = spec.get("names") or {}, spec.get("versions") or []
    return [
        *_missing(spec, names),
        *_name_causes(object["metadata"], spec, names),
        *_scope_causes(spec.get("scope")),
        *_version_causes(versions),
        *_column_causes(versions),
        *_part_causes(versions),
    ]


def _missing(spec: Object, names: Object) -> Iterator[Cause]:
    for field, value in (
        ("spec.group", spec.get("group")),
        ("spec.versions", spec.get("versions")),
        ("spec.names.plural", names.get("plural")),
        ("spec.names.kind", names.get("kind")),
    ):
        if not value:
            yield required(field)


def _name_causes(metadata: Object, spec: Object, names: Object) -> Iterator[Cause]:
    group, plural = spec.get("group"), names.get("plural")
    if not group or not plural:
        return
    if metadata["name"] != f"{plural}.{group}":
        yield invalid("metadata.name", metadata["name"], 'must be spec.names.plural+"."+spec.group')
    yield from (invalid("spec.group", group, error) for error in subdomain_errors(group))
    if "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    if _PROTECTED.fullmatch(group) and not (metadata.get("annotations") or {}).get(_APPROVAL):
        see = "see https://github.com/kubernetes/enhancements/pull/1111"
        why = f'protected groups must have approval annotation "{_APPROVAL}", {see}'
        yield required(f"metadata.annotations[{_APPROVAL}]", why)
    for field in ("plural", "singular"):
        yield from _label_causes(f"spec.names.{field}", names.get(field))
    for field in ("kind", "listKind"):
        # A kind has capital letters, and is a label but for these.
        yield from _label_causes(f"spec.names.{field}", (names.get(field) or "").lower())
    for field in ("shortNames", "categories"):
        for index, name in enumerate(names.get(field) or ()):
            yield from _label_causes(f"spec.names.{field}[{index}]", name or "-")


def _label_causes(field: str, name: str | None) -> Iterator[Cause]:
    if name:
        yield from (invalid(field, name, error) for error in dns_1035_errors(name))


def _scope_causes(scope: str | None) -> Iterator[Cause]:
    if not scope:
        yield required("spec.scope")
    elif scope not in _SCOPES:
        listed = ", ".join(f'"{one}"' for one in _SCOPES)
        yield Cause("FieldValueNotSupported", "spec.scope", f'Unsupported value: "{scope}": supported values: {listed}')


def _version_causes(versions: Sequence[Object]) -> Iterator[Cause]:
    for index, version in enumerate(versions):
        name = version.get("name") or ""
        yield from (invalid(f"spec.versions[{index}].name", name, error) for error in dns_1035_errors(name))
        yield from _warning_causes(f"spec.versions[{index}].deprecationWarning", version)
    names = [version.get("name") for version in versions]
    if len(set(names)) < len(names):
        yield invalid("spec.versions", versions, "must contain unique version names")
    if versions and sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid("spec.versions", versions, "must have exactly one version marked as storage version")


def _warning_causes(field: str, version: Object) -> Iterator[Cause]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield invalid(field, warning, "can only be set for deprecated versions")
    if not warning.isprintable():
        yield invalid(field, warning, "must only contain printable UTF-8 characters")
    if len(warning.encode()) > _MOST_WARNING_BYTES:
        yield too_long(field, _MOST_WARNING_BYTES)


def _parts(versions: Sequence[Object], field: str) -> Iterator[tuple[str, Any]]:
    """What each version has, and where: what all have in common is spoken of as if it stood in the spec."""
    found = [version.get(field) for version in versions]
    if found and all(each == found[0] for each in found):
        yield f"spec.{field}", found[0]
        return
    yield from ((f"spec.versions[{index}].{field}", each) for index, each in enumerate(found))


def _column_causes(versions: Sequence[Object]) -> Iterator[Cause]:
    for place, columns in _parts(versions, "additionalPrinterColumns"):
        for index, column in enumerate(columns or ()):
            yield from _one_column_causes(f"{place}[{index}]", column or {})


def _one_column_causes(place: str, column: Object) -> Iterator[Cause]:
    kind, path = column.get("type"), column.get("jsonPath")
    words = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not column.get("name"):
        yield required(f"{place}.name")
    if not kind:
        yield required(f"{place}.type", words)
    elif kind not in _COLUMN_TYPES:
        yield invalid(f"{place}.type", kind, words)
    if not path:
        yield required(f"{place}.JSONPath")
    elif not path.startswith("."):
        yield invalid(f"{place}.JSONPath", path, "must be a simple json path starting with .")


def _part_causes(versions: Sequence[Object]) -> Iterator[Cause]:
    for place, fields in _parts(versions, "selectableFields"):
        for index, field in enumerate(fields or ()):
            if not (field or {}).get("jsonPath"):
                yield required(f"{place}[{index}].jsonPath")
    for place, parts in _parts(versions, "subresources"):
        scale = (parts or {}).get("scale")
        if scale is not None:
            yield from (required(f"{place}.scale.{name}") for name in _SCALE_PATHS if not scale.get(name))


def check_definition_change(old: Object, new: Object) -> list[Cause]:
    """What stays as it was at first."""
    before, after = old["spec"], new.get("spec") or {}
    names = after.get("names") or {}
    fields = (
        ("spec.scope", before["scope"], after.get("scope")),
        ("spec.names.kind", before["names"]["kind"], names.get("kind")),
    )
    return [invalid(field, now, "field is immutable") for field, was, now in fields if now and now != was]
