"""What an object must be like before it is stored, as far as the server that has no schemas checks it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._bodies import no_kind
from kwsync.testing.apiserver._data_rules import check_config_map, check_secret
from kwsync.testing.apiserver._definition_rules import check_definition, check_definition_change
from kwsync.testing.apiserver._encode import dumps
from kwsync.testing.apiserver._go_types import word_for
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._metadata import KNOWN, is_terminating
from kwsync.testing.apiserver._metadata_rules import invalid, metadata_causes, required, without_twins
from kwsync.testing.apiserver._scale import scale_causes
from kwsync.testing.apiserver._schemas import FIELDS
from kwsync.testing.apiserver._types import type_error

Object = dict[str, Any]

_TYPE = ("apiVersion", "kind", "metadata")
_MOST_BYTES = 1536 * 1024
"""What etcd takes."""


def unknown_fields(kind: Kind, object: Mapping[str, Any]) -> list[str]:
    """The fields that a real server would not know and drop: in metadata, and at the top of common kinds."""
    metadata = object.get("metadata")
    inner = metadata if isinstance(metadata, Mapping) else {}
    found = [f"metadata.{name}" for name in inner if name not in KNOWN]
    known = None if kind.custom else FIELDS.get((kind.group, kind.plural))
    if known is not None:
        found += [name for name in object if name not in known and name not in _TYPE]
    return found


def without(object: Object, fields: Iterable[str]) -> Object:
    """The object without its unknown fields at the top; those in metadata are dropped with its rewriting."""
    gone = frozenset(fields)
    return {name: value for name, value in object.items() if name not in gone}


def check_type(kind: Kind, object: object) -> Object:
    """The body as an object of this kind, 400 for another one. Built-in kinds need not say what they are."""
    if object is None:
        return {}
    if not isinstance(object, dict):
        raise _unrecognized(kind, f"couldn't get version/kind; {no_kind(object)}")
    for field in ("apiVersion", "kind"):
        if not isinstance(object.get(field), str | None):
            word = word_for(object[field])
            why = f"json parse error: json: cannot unmarshal {word} into Go struct field .{field} of type string"
            raise _unrecognized(kind, f"couldn't get version/kind; {why}")
    name, version = object.get("kind") or "", object.get("apiVersion") or ""
    if kind.custom:
        _check_custom_type(kind, name, version, object)
    elif (name or kind.name) != kind.name:
        why = f"converting ({version}.{name}) to ({kind.group or 'core'}.{kind.name}): unknown conversion"
        raise _not_handled(kind, name, version, why)
    elif (version or kind.api_version) != kind.api_version:
        why = f'no kind "{kind.name}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
        raise _not_handled(kind, kind.name, version, why)
    error = type_error(kind, object)
    if error:
        raise _not_handled(kind, kind.name, kind.version, error)
    return object


def _check_custom_type(kind: Kind, name: str, version: str, object: Object) -> None:
    if not name:
        raise _unrecognized(kind, "Object 'Kind' is missing")
    metadata = object.get("metadata")
    for field, given, wanted in (("kind", name, kind.name), ("apiVersion", version, kind.api_version)):
        if given != wanted:
            cause = _status.Cause("FieldValueInvalid", field, f'Invalid value: "{given}": must be {wanted}')
            own = metadata.get("name", "") if isinstance(metadata, dict) else ""
            raise _status.invalid(name, own, [cause], kind.group)


def _unrecognized(kind: Kind, why: str) -> _status.ApiError:
    return _status.bad_request(f"the object provided is unrecognized (must be of type {kind.name}): {why}")


def _not_handled(kind: Kind, name: str, version: str, why: str) -> _status.ApiError:
    return _status.bad_request(f'{name} in version "{version}" cannot be handled as a {kind.name}: {why}')


def check_place(object: Mapping[str, Any], namespace: str, name: str = "") -> None:
    """400 where the object names another namespace, or another name, than the path."""
    metadata = object.get("metadata") or {}
    if metadata.get("namespace") and metadata["namespace"] != namespace:
        raise _status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if name and metadata.get("name") and metadata["name"] != name:
        raise _status.bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        )
    if name and not metadata.get("name"):
        raise _status.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )


def check_object(kind: Kind, object: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> None:
    """422 with every cause, for names, labels, and what a few kinds demand; *old* is what is written over.

    What is too large to be stored, or cannot be sent again, is refused here, too.
    """
    metadata = object["metadata"]
    causes = list(metadata_causes(kind, metadata))
    if kind.custom and kind.scale is not None:
        causes += scale_causes(kind.scale, object)
    check = _CHECKS.get(kind.stored_as)
    if check is not None:
        causes += check(kind, object)
    if old is not None and kind.stored_as in _CHANGE_CHECKS:
        causes += _CHANGE_CHECKS[kind.stored_as](old, object)
    if causes:
        group = kind.group
        raise _status.invalid(kind.name, metadata["name"], causes, group if kind.stored_as[0] else "")
    _check_size(object)


def _check_size(object: Mapping[str, Any]) -> None:
    try:
        size = len(dumps(object))
    except (TypeError, ValueError) as error:
        raise _status.bad_request(f"the object cannot be encoded: {error}") from None
    if size > _MOST_BYTES:
        raise _status.nameless_error("etcdserver: request is too large")


def check_finalizers(kind: Kind, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """422 for a finalizer that is added to what is already on its way out."""
    added = set(new.get("finalizers") or ()) - set(old.get("finalizers") or ())
    if added and is_terminating(old):
        listed = ", ".join(f'"{one}"' for one in sorted(added))
        text = (
            "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers"
            f" []string{{{listed}}}"
        )
        cause = _status.Cause("FieldValueForbidden", "metadata.finalizers", text)
        # Found once for all kinds, and once for this one.
        raise _status.invalid(kind.name, old["name"], [cause] * 2, kind.group)


def with_single_owners(object: Object) -> tuple[Object, list[str]]:
    """The object with each of its owners once, and the warning about others."""
    metadata = object.get("metadata") or {}
    kept, twins = without_twins(metadata.get("ownerReferences") or ())
    if not twins:
        return object, []
    warning = (
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may"
        " reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed:"
        f" {', '.join(twins)}"
    )
    return {**object, "metadata": {**metadata, "ownerReferences": kept}}, [warning]


def _check_event(kind: Kind, object: Mapping[str, Any]) -> list[_status.Cause]:
    about = (object.get("involvedObject") or {}).get("namespace")
    namespace = object["metadata"].get("namespace")
    causes = []
    if about and about != namespace:
        causes.append(invalid("involvedObject.namespace", about, "does not match event.namespace"))
    if kind.group and not object.get("eventTime"):
        causes.append(required("eventTime"))
    if kind.group and object.get("type") not in ("Normal", "Warning"):
        causes.append(invalid("type", object.get("type") or "", f"has invalid value: {object.get('type') or ''}"))
    return causes


def _check_pod(_kind: Kind, object: Mapping[str, Any]) -> list[_status.Cause]:
    # One without any spec may pass: a test that looks at names alone need not make one up.
    spec = object.get("spec")
    if spec is None or spec.get("containers"):
        return []
    return [required("spec.containers")]


_CHECKS: dict[tuple[str, str], Callable[[Kind, Mapping[str, Any]], list[_status.Cause]]] = {
    ("", "events"): _check_event,
    ("", "configmaps"): check_config_map,
    ("", "pods"): _check_pod,
    ("", "secrets"): check_secret,
    ("apiextensions.k8s.io", "customresourcedefinitions"): check_definition,
}
_CHANGE_CHECKS = {("apiextensions.k8s.io", "customresourcedefinitions"): check_definition_change}
