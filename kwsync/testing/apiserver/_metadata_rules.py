"""What an object's metadata must be like before it is stored (apimachinery's api/validation/objectmeta.go). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kwsync.testing.apiserver._encode import dumps
from kwsync.testing.apiserver._failure import Cause, quoted
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._names import (
    dns_label_errors,
    label_key_errors,
    label_value_errors,
    subdomain_errors,
)

_ANY_SEGMENT = frozenset(("roles", "rolebindings", "clusterroles", "clusterrolebindings"))
_SERVICES = ("", "services")
"""Their names are checked by a newer rule, which does not look at generateName."""
_DNS_LABELS = (("", "namespaces"), _SERVICES)
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_MOST_ANNOTATION_BYTES = 256 * 1024
_OWNERS = "metadata.ownerReferences"


def metadata_causes(kind: Kind, metadata: Mapping[str, Any]) -> Iterator[Cause]:
    """All that is wrong with it."""
    if metadata.get("generateName") and kind.stored_as != _SERVICES:
        beginning = metadata["generateName"]
        yield from (invalid("metadata.generateName", beginning, error) for error in _beginning_errors(kind, beginning))
    for error in _name_errors(kind, str(metadata["name"])):
        yield invalid("metadata.name", str(metadata["name"]), error)
    for key, value in (metadata.get("labels") or {}).items():
        yield from (invalid("metadata.labels", key, error) for error in label_key_errors(key))
        yield from (invalid("metadata.labels", value or "", error) for error in label_value_errors(value or ""))
    for field, causes in _FIELD_CAUSES.items():
        if metadata.get(field):
            yield from causes(metadata[field])


def invalid(field: str, value: object, why: str) -> Cause:
    """A value that is wrong."""
    shown = quoted(value) if isinstance(value, str) else dumps(value).decode()
    return Cause("FieldValueInvalid", field, f"Invalid value: {shown}: {why}")


def required(field: str, why: str = "") -> Cause:
    """A value that is missing."""
    return Cause("FieldValueRequired", field, f"Required value: {why}" if why else "Required value")


def too_long(field: str, most: int) -> Cause:
    """A value of too many bytes."""
    return Cause("FieldValueTooLong", field, f"Too long: may not be more than {most} bytes")


def _name_errors(kind: Kind, name: str) -> list[str]:
    if kind.group == "rbac.authorization.k8s.io" and kind.plural in _ANY_SEGMENT:
        return ["may not contain '/' or '%'"] if set(name) & set("/%") else []
    if kind.stored_as in _DNS_LABELS:
        return dns_label_errors(name)
    # An older check than that of labels, which counts bytes and says so.
    return [error.replace("bytes", "characters") for error in subdomain_errors(name)]


def _beginning_errors(kind: Kind, beginning: str) -> list[str]:
    """A name that is to go on may end with a hyphen."""
    return _name_errors(kind, f"{beginning[:-2]}a" if len(beginning) > 1 and beginning.endswith("-") else beginning)


def _finalizer_causes(finalizers: Sequence[str]) -> Iterator[Cause]:
    for finalizer in finalizers:
        yield from (invalid("metadata.finalizers", finalizer, error) for error in label_key_errors(finalizer))
    for index, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"metadata.finalizers[{index}]", finalizer, why)


def _annotation_causes(annotations: Mapping[str, Any]) -> Iterator[Cause]:
    for key in annotations:
        yield from (invalid("metadata.annotations", key, error) for error in label_key_errors(key.lower()))
    size = sum(len(f"{key}{value or ''}".encode()) for key, value in annotations.items())
    if size > _MOST_ANNOTATION_BYTES:
        yield too_long("metadata.annotations", _MOST_ANNOTATION_BYTES)


def _owner_causes(owners: Sequence[Mapping[str, Any]]) -> Iterator[Cause]:
    controllers: list[str] = []
    for owner in owners:
        yield from _one_owner_causes(owner)
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind')}/{owner.get('name')}")
            if len(controllers) > 1:
                found = f'Found "true" in references for {controllers[0]} and {controllers[-1]}'
                yield invalid(_OWNERS, owners, f"Only one reference can have Controller set to true. {found}")


def _one_owner_causes(owner: Mapping[str, Any]) -> Iterator[Cause]:
    group, _, version = (owner.get("apiVersion") or "").rpartition("/")
    if not version:
        yield invalid(f"{_OWNERS}.apiVersion", owner.get("apiVersion") or "", "version must not be empty")
    for name in ("kind", "name", "uid"):
        if not owner.get(name):
            yield invalid(f"{_OWNERS}.{name}", "", "must not be empty")
    if (group, version, owner.get("kind")) == ("", "v1", "Event"):
        yield invalid(_OWNERS, owner, "/v1, Kind=Event is disallowed from being an owner")


_FIELD_CAUSES: dict[str, Callable[[Any], Iterator[Cause]]] = {
    "annotations": _annotation_causes,
    "ownerReferences": _owner_causes,
    "finalizers": _finalizer_causes,
}


def without_twins(owners: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The owners, each once, and the uids of those that were there again."""
    kept: list[Mapping[str, Any]] = []
    twins = []
    for owner in owners:
        if owner in kept:
            twins.append(str(owner.get("uid")))
        else:
            kept.append(owner)
    return kept, list(dict.fromkeys(twins))
