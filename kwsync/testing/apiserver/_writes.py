"""Create, replace, patch and delete: what the routes and the methods of `ApiServer` have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kwsync.testing.apiserver import _bodies, _patch, _status
from kwsync.testing.apiserver._api import Api
from kwsync.testing.apiserver._collection import Version
from kwsync.testing.apiserver._deletion import dry_run_causes, not_supported
from kwsync.testing.apiserver._events_api import to_new, to_stored
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._lease_times import with_times
from kwsync.testing.apiserver._metadata_rules import invalid, too_long
from kwsync.testing.apiserver._options import ListOptions
from kwsync.testing.apiserver._rules import (
    check_place,
    check_type,
    unknown_fields,
    with_single_owners,
    without,
)
from kwsync.testing.apiserver._scale import checked_scale, scale_document, scaled
from kwsync.testing.apiserver._selection import matcher, selected
from kwsync.testing.apiserver._state import Deletion, Written
from kwsync.testing.apiserver._types import cleaned

Object = dict[str, Any]

_VALIDATIONS = ("", "Ignore", "Warn", "Strict")
_MOST_MANAGER_BYTES = 128


class WriteOptions(NamedTuple):
    """The parameters of a write."""

    dry_run: bool = False
    field_validation: str = ""
    field_manager: str = ""
    subresource: str = ""
    force: bool = False
    """Whether `force` was given at all, which is for apply alone."""


class Result(NamedTuple):
    """What a write left, and the warnings that go with it."""

    written: Written
    warnings: list[str]


def write_options(query: Mapping[str, str], kind: str, subresource: str = "") -> WriteOptions:
    """Read the parameters of a write; *kind* is that of the options: CreateOptions, UpdateOptions, PatchOptions."""
    options = WriteOptions(
        "dryRun" in query,
        query.get("fieldValidation", ""),
        query.get("fieldManager", ""),
        subresource,
        "force" in query,
    )
    causes = [*_manager_causes(options.field_manager), *dry_run_causes([query.get("dryRun", "All")])]
    if options.field_validation not in _VALIDATIONS:
        causes.append(not_supported("fieldValidation", options.field_validation, '"", "Ignore", "Strict", "Warn"'))
    if causes:
        raise _status.invalid_options(causes, kind)
    return options


def _manager_causes(manager: str) -> Iterator[_status.Cause]:
    if len(manager.encode(errors="surrogatepass")) > _MOST_MANAGER_BYTES:
        yield too_long("fieldManager", _MOST_MANAGER_BYTES)
    for index, letter in enumerate(manager):
        if not letter.isprintable():
            position = len(manager[:index].encode(errors="surrogatepass"))
            yield invalid("fieldManager", manager, f"invalid character U+{ord(letter):04X} (at position {position})")


def create(api: Api, kind: Kind, namespace: str, body: Any, options: WriteOptions) -> Result:
    """Store a new object."""
    object, warnings = _checked(kind, body, options)
    check_place(object, namespace)
    with api.lock:
        return Result(api.state.create(kind, namespace, object, dry_run=options.dry_run), warnings)


def replace(api: Api, kind: Kind, namespace: str, name: str, body: Any, options: WriteOptions) -> Result:
    """Store an object over the one of its name."""
    if options.subresource == "scale":
        scale = checked_scale(body)
        with api.lock:
            old = api.state.get(kind, namespace, name)
            return _replaced(api, kind, namespace, name, scaled(old, scale), options._replace(subresource=""))
    return _replaced(api, kind, namespace, name, body, options)


def _replaced(api: Api, kind: Kind, namespace: str, name: str, body: Any, options: WriteOptions) -> Result:
    object, warnings = _checked(kind, body, options)
    check_place(object, namespace, name)
    status = options.subresource == "status"
    with api.lock:
        written = api.state.replace(kind, namespace, name, object, status=status, dry_run=options.dry_run)
    return Result(written, warnings)


def _checked(kind: Kind, body: Any, options: WriteOptions) -> tuple[Object, list[str]]:
    """The object as it is stored, without the fields that nobody knows, and the warnings about them."""
    object = with_times(kind, cleaned(kind, check_type(kind, body)))
    unknown = unknown_fields(kind, object)
    warnings = [f'unknown field "{field}"' for field in unknown]
    if unknown:
        if options.field_validation == "Strict":
            raise _status.bad_request(
                f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: strict decoding error:'
                f" {', '.join(warnings)}"
            )
        object = without(object, unknown)
    if kind.group == "events.k8s.io":
        object = to_stored(object)
    object, more = with_single_owners(object)
    return object, more if options.field_validation == "Ignore" else [*warnings, *more]


def patch(api: Api, kind: Kind, namespace: str, name: str, media_type: str, body: Any, options: WriteOptions) -> Result:
    """Change an object; *media_type* is that of the patch."""
    if options.force and media_type != _bodies.APPLY:
        cause = _status.Cause("FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch")
        raise _status.invalid_options([cause], "PatchOptions")
    with api.lock:
        old = api.state.find(kind, namespace, name)
        if media_type == _bodies.APPLY:
            return _apply(api, kind, namespace, name, old, body, options)
        old = old or api.state.get(kind, namespace, name)
        document = _document(kind, old, options)
        changed = _PATCHES[media_type](document, body)
        if media_type == _bodies.STRATEGIC:
            # It is decoded into the type of the path, whatever it says of itself.
            changed.update((name, document[name]) for name in ("kind", "apiVersion"))
        if options.subresource == "scale":
            # The version in it, and its type, are looked at there.
            return replace(api, kind, namespace, name, changed, options)
        return replace(api, kind, namespace, name, _patched(kind, old, changed), options)


def _patched(kind: Kind, old: Version, changed: Object) -> Object:
    """A patched object, if it is one; a version in the patch is a precondition, else it is about what is there now."""
    try:
        with_times(kind, check_type(kind, changed))
    except _status.ApiError as error:
        cause = _status.Cause("FieldValueInvalid", "patch", f"Invalid value: {error}")
        raise _status.invalid("", "", [cause]) from None
    metadata = changed.get("metadata") or {}
    if metadata.get("uid", old.metadata["uid"]) != old.metadata["uid"]:
        text = f'Invalid value: "{metadata["uid"]}": field is immutable'
        raise _status.invalid(
            kind.name, old.name, [_status.Cause("FieldValueInvalid", "metadata.uid", text)] * 2, kind.group
        )
    kept = {"name": old.name, "resourceVersion": old.metadata["resourceVersion"]}
    given = {name: metadata.get(name) or value for name, value in kept.items()}
    return {**changed, "metadata": {**metadata, **given}}


_PATCHES = {
    _bodies.MERGE: _patch.merge_patch,
    _bodies.JSON_PATCH: _patch.json_patch,
    _bodies.STRATEGIC: _patch.strategic_merge,
}


def _document(kind: Kind, version: Version, options: WriteOptions) -> Object:
    if options.subresource == "scale":
        return scale_document(version)
    stored = to_new(version.object) if kind.group == "events.k8s.io" else version.object
    return {"kind": kind.name, "apiVersion": kind.api_version, **stored}


def _apply(
    api: Api, kind: Kind, namespace: str, name: str, old: Version | None, body: Any, options: WriteOptions
) -> Result:
    """Server-side apply without owners of fields: it creates or merges, and never conflicts over a field."""
    if not options.field_manager:
        cause = _status.Cause("FieldValueRequired", "fieldManager", "Required value: is required for apply patch")
        raise _status.invalid_options([cause], "PatchOptions")
    if not isinstance(body, dict) or not body.get("kind") or not body.get("apiVersion"):
        raise _status.bad_request("invalid object type: /, Kind=")
    if old is None:
        configuration = _patch.apply(None, check_type(kind, body))
        metadata = {**(configuration.get("metadata") or {}), "name": name}
        return create(api, kind, namespace, {**configuration, "metadata": metadata}, options)
    changed = _patch.apply(_document(kind, old, options), body)
    return replace(api, kind, namespace, name, changed, options)


def delete(api: Api, kind: Kind, namespace: str, name: str, options: Deletion) -> Written:
    """Delete an object, or begin to."""
    with api.lock:
        return api.state.delete(kind, namespace, name, options)


def delete_all(
    api: Api, kind: Kind, namespace: str, which: ListOptions, options: Deletion
) -> tuple[list[Version], int]:
    """Delete every object of a selection; those objects as they were, and the version of that list."""
    with api.lock:
        revision = api.state.revision
        found = selected(api.state.collection(kind.stored_as).rows(), namespace, matcher(kind, which))
        for version in found:
            if api.state.find(kind, version.namespace, version.name) is not None:
                api.state.delete(kind, version.namespace, version.name, options)
    return found, revision
