"""Create, replace, patch and delete: what the routes and the methods of `ApiServer` have in common."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kwsync.testing.apiserver import _bodies, _patch, _status
from kwsync.testing.apiserver._api import Api
from kwsync.testing.apiserver._collection import Version
from kwsync.testing.apiserver._deletion import dry_run_causes, not_supported
from kwsync.testing.apiserver._events_api import to_new, to_stored
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._lease_times import with_times
from kwsync.testing.apiserver._metadata_rules import invalid, too_long
from kwsync.testing.apiserver._rules import (
    check_place,
    check_type,
    unknown_fields,
    with_single_owners,
    without,
)
from kwsync.testing.apiserver._scale import checked_scale, scale_document, scaled
from kwsync.testing.apiserver._state import Deletion, Written
from kwsync.testing.apiserver._twice import strict_warnings
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
    sent: bytes = b""
    """The body as it came, where somebody wants to know of fields that are in it twice."""


class Result(NamedTuple):
    """What a write left, and the warnings that go with it."""

    written: Written
    warnings: list[str]


def write_options(query: Mapping[str, str], kind: str, subresource: str = "", body: bytes = b"") -> WriteOptions:
    """Read the parameters of a write; *kind* is that of the options: CreateOptions, UpdateOptions, PatchOptions."""
    options = WriteOptions(
        "dryRun" in query,
        query.get("fieldValidation", ""),
        query.get("fieldManager", ""),
        subresource,
        "force" in query,
        # Reading a body twice is for those alone who ask for it.
        body if query.get("fieldValidation") in ("Strict", "Warn") else b"",
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
    object, warnings = _checked(kind, _typed(kind, body), options)
    check_place(object, namespace)
    with api.lock:
        return Result(api.state.create(kind, namespace, object, dry_run=options.dry_run), warnings)


def replace(api: Api, kind: Kind, namespace: str, name: str, body: Any, options: WriteOptions) -> Result:
    """Store an object over the one of its name."""
    if options.subresource == "scale":
        scale = checked_scale(body)
        check_place(scale, namespace, name)
        with api.lock:
            old = api.state.get(kind, namespace, name)
            whole = _typed(kind, scaled(kind, old, scale))
            return _replaced(api, kind, namespace, name, whole, options._replace(subresource="", sent=b""))
    return _replaced(api, kind, namespace, name, _typed(kind, body), options)


def _replaced(api: Api, kind: Kind, namespace: str, name: str, typed: Object, options: WriteOptions) -> Result:
    object, warnings = _checked(kind, typed, options)
    check_place(object, namespace, name)
    status = options.subresource == "status"
    with api.lock:
        written = api.state.replace(kind, namespace, name, object, status=status, dry_run=options.dry_run)
    return Result(written, warnings)


def _typed(kind: Kind, body: Any) -> Object:
    """The body as an object of this kind, without what a real server does not store; 400 for another one."""
    return with_times(kind, cleaned(kind, check_type(kind, body)))


def _checked(kind: Kind, object: Object, options: WriteOptions) -> tuple[Object, list[str]]:
    """The object as it is stored, without the fields that nobody knows, and the warnings about them."""
    unknown = unknown_fields(kind, object)
    warnings = strict_warnings(options.sent, unknown)
    if warnings and options.field_validation == "Strict":
        raise _status.bad_request(
            f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: strict decoding error:'
            f" {', '.join(warnings)}"
        )
    if unknown:
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
        warnings = _patch_warnings(media_type, options)
        options = options._replace(sent=b"")
        if options.subresource == "scale":
            _as_patched(checked_scale, changed)
            written, more = replace(api, kind, namespace, name, changed, options)
        else:
            typed = _patched(kind, old, _as_patched(functools.partial(_typed, kind), changed))
            written, more = _replaced(api, kind, namespace, name, typed, options)
        return Result(written, [*warnings, *more])


def _patch_warnings(media_type: str, options: WriteOptions) -> list[str]:
    """About what is in a patch twice; 422 where that is not to be."""
    warnings = strict_warnings(options.sent, ())
    if media_type == _bodies.JSON_PATCH:
        warnings = [f"json patch {warning}" for warning in warnings]
    if warnings and options.field_validation == "Strict":
        raise _no_object(f"strict decoding error: {', '.join(warnings)}")
    return warnings


def _as_patched(read: Callable[[Object], Object], changed: Object) -> Object:
    """What a patch has made of an object, if it is still one; 422 with the reason if not."""
    try:
        return read(changed)
    except _status.ApiError as error:
        raise _no_object(str(error)) from None


def _no_object(why: str) -> _status.ApiError:
    return _status.invalid("", "", [_status.Cause("FieldValueInvalid", "patch", f"Invalid value: {why}")])


def _patched(kind: Kind, old: Version, changed: Object) -> Object:
    """A patched object; a version in the patch is a precondition, else it is about what is there now."""
    metadata = changed.get("metadata") or {}
    if (metadata.get("uid") or old.metadata["uid"]) != old.metadata["uid"]:
        text = f'Invalid value: "{metadata["uid"]}": field is immutable'
        raise _status.invalid(
            kind.name, old.name, [_status.Cause("FieldValueInvalid", "metadata.uid", text)] * 2, kind.group
        )
    version = metadata.get("resourceVersion") or old.metadata["resourceVersion"]
    return {**changed, "metadata": {**metadata, "resourceVersion": version}}


_PATCHES = {
    _bodies.MERGE: _patch.merge_patch,
    _bodies.JSON_PATCH: _patch.json_patch,
    _bodies.STRATEGIC: _patch.strategic_merge,
}


def _document(kind: Kind, version: Version, options: WriteOptions) -> Object:
    if options.subresource == "scale":
        return scale_document(kind, version)
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
    if strict_warnings(options.sent, ()) and options.field_validation == "Strict":
        listed = ", ".join(strict_warnings(options.sent, ()))
        raise _status.bad_request(f"error strict decoding YAML: error converting YAML to JSON: {listed}")
    if old is None and options.subresource:
        api.state.get(kind, namespace, name)
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


def delete_all(api: Api, kind: Kind, found: Iterable[Version], options: Deletion) -> None:
    """Delete the objects of a list, as far as they are still there."""
    with api.lock:
        for version in found:
            if api.state.find(kind, version.namespace, version.name) is not None:
                api.state.delete(kind, version.namespace, version.name, options)
