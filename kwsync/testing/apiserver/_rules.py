"""What an object must be like before it is stored, as far as the server that has no schemas checks it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._failure import quoted
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._metadata import KNOWN, is_terminating
from kwsync.testing.apiserver._names import dns_label_errors, label_key_errors, label_value_errors, subdomain_errors
from kwsync.testing.apiserver._types import type_error

Object = dict[str, Any]

_DNS_LABELS = frozenset(("namespaces", "services"))
_ANY_SEGMENT = frozenset(("roles", "rolebindings", "clusterroles", "clusterrolebindings"))
_TYPE = ("apiVersion", "kind", "metadata")
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_FIELDS: dict[str, tuple[str, ...]] = {
    "configmaps": ("data", "binaryData", "immutable"),
    "secrets": ("data", "stringData", "type", "immutable"),
    "pods": ("spec", "status"),
    "services": ("spec", "status"),
    "namespaces": ("spec", "status"),
    "nodes": ("spec", "status"),
    "deployments": ("spec", "status"),
    "replicasets": ("spec", "status"),
    "statefulsets": ("spec", "status"),
    "daemonsets": ("spec", "status"),
    "jobs": ("spec", "status"),
    "cronjobs": ("spec", "status"),
    "leases": ("spec",),
    "serviceaccounts": ("secrets", "imagePullSecrets", "automountServiceAccountToken"),
    "roles": ("rules",),
    "rolebindings": ("subjects", "roleRef"),
}
"""The top-level fields of the kinds people write most; of other kinds everything is kept."""

_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_TIMES = ("acquireTime", "renewTime")
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"


def unknown_fields(kind: Kind, object: Mapping[str, Any]) -> list[str]:
    """The fields that a real server would not know and drop: in metadata, and at the top of common kinds."""
    metadata = object.get("metadata")
    inner = metadata if isinstance(metadata, Mapping) else {}
    found = [f"metadata.{name}" for name in inner if name not in KNOWN]
    known = None if kind.custom else _FIELDS.get(kind.plural)
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
        raise _unrecognized(kind, "couldn't get version/kind; json parse error: json: cannot unmarshal into Go value")
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


def check_object(kind: Kind, object: Mapping[str, Any]) -> None:
    """422 with every cause, for names, labels, and what a few kinds demand."""
    metadata = object["metadata"]
    causes = [_status.Cause("FieldValueInvalid", field, text) for field, text in _wrong_names(kind, metadata)]
    check = _CHECKS.get(kind.stored_as)
    if check is not None:
        causes += check(kind, object)
    if causes:
        group = kind.group
        raise _status.invalid(kind.name, metadata["name"], causes, group if kind.stored_as[0] else "")


def _wrong_names(kind: Kind, metadata: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    name = str(metadata["name"])
    for error in _name_errors(kind, name):
        yield "metadata.name", f"Invalid value: {quoted(name)}: {error}"
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        if "/" not in (finalizer or "") and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield f"metadata.finalizers[{index}]", f"Invalid value: {quoted(finalizer or '')}: {why}"
    for key, value in (metadata.get("labels") or {}).items():
        for error in label_key_errors(key):
            yield "metadata.labels", f"Invalid value: {quoted(key)}: {error}"
        for error in label_value_errors(str(value or "")):
            yield "metadata.labels", f"Invalid value: {quoted(str(value or ''))}: {error}"


def _name_errors(kind: Kind, name: str) -> list[str]:
    if kind.group == "rbac.authorization.k8s.io" and kind.plural in _ANY_SEGMENT:
        return ["may not contain '/' or '%'"] if set(name) & set("/%") else []
    return dns_label_errors(name) if kind.group == "" and kind.plural in _DNS_LABELS else subdomain_errors(name)


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
        raise _status.invalid(kind.name, old["name"], [cause], kind.group)


def with_times(kind: Kind, object: Object) -> Object:
    """A Lease with its times in UTC; 400 where they have not exactly six digits of a fraction (lease-400-time)."""
    spec = object.get("spec")
    if kind.plural != "leases" or not isinstance(spec, dict):
        return object
    times = {name: _in_utc(spec[name]) for name in _TIMES if isinstance(spec.get(name), str)}
    return {**object, "spec": {**spec, **times}}


def _in_utc(text: str) -> str:
    if not _MICRO_TIME.fullmatch(text):
        raise _status.bad_request(
            f'Lease in version "v1" cannot be handled as a Lease: parsing time "{text}" as "{_MICRO_LAYOUT}":'
            f" cannot parse {_rest(text)}"
        )
    moment = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _rest(text: str) -> str:
    """Where Go's parser stopped, for the two mistakes that are recorded."""
    date, sep, time = text.partition("T")
    if not sep:
        return f'"{text[10:]}" as "T"'
    return f'"{time[8:]}" as ".000000"' if len(date) == 10 else f'"{text}" as "2006"'


def _check_event(kind: Kind, object: Mapping[str, Any]) -> list[_status.Cause]:
    about = (object.get("involvedObject") or {}).get("namespace")
    namespace = object["metadata"].get("namespace")
    if kind.group and not object.get("eventTime"):
        return [_status.Cause("FieldValueRequired", "eventTime", "Required value")]
    if about and about != namespace:
        text = f'Invalid value: "{about}": does not match event.namespace'
        return [_status.Cause("FieldValueInvalid", "involvedObject.namespace", text)]
    return []


def _check_pod(_kind: Kind, object: Mapping[str, Any]) -> list[_status.Cause]:
    # One without any spec may pass: a test that looks at names alone need not make one up.
    spec = object.get("spec")
    if spec is None or spec.get("containers"):
        return []
    return [_status.Cause("FieldValueRequired", "spec.containers", "Required value")]


def _check_definition(_kind: Kind, object: Mapping[str, Any]) -> list[_status.Cause]:
    spec = object.get("spec") or {}
    names = spec.get("names") or {}
    causes = [
        _status.Cause("FieldValueRequired", field, "Required value")
        for field, value in (
            ("spec.group", spec.get("group")),
            ("spec.versions", spec.get("versions")),
            ("spec.names.plural", names.get("plural")),
            ("spec.names.kind", names.get("kind")),
        )
        if not value
    ]
    name, wanted = object["metadata"]["name"], f"{names.get('plural')}.{spec.get('group')}"
    if not causes and name != wanted:
        text = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
        causes.append(_status.Cause("FieldValueInvalid", "metadata.name", text))
    return causes


_CHECKS: dict[tuple[str, str], Callable[[Kind, Mapping[str, Any]], list[_status.Cause]]] = {
    ("", "events"): _check_event,
    ("", "pods"): _check_pod,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _check_definition,
}
