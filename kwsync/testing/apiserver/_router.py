"""From a request to its answer: rights first, then what the path names, then what the method does with it."""

from __future__ import annotations

from collections.abc import Mapping

from kwsync.testing.apiserver import _bodies, _reads, _status, _writes
from kwsync.testing.apiserver._api import Api, Call
from kwsync.testing.apiserver._deletion import deletion
from kwsync.testing.apiserver._documents import document
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._negotiate import negotiate
from kwsync.testing.apiserver._options import flag, parse_options
from kwsync.testing.apiserver._reads import view_for
from kwsync.testing.apiserver._reply import Reply, json_reply, warning_headers
from kwsync.testing.apiserver._reviews import review
from kwsync.testing.apiserver._scale import scale_of
from kwsync.testing.apiserver._selectors import FieldSelector, SelectorError
from kwsync.testing.apiserver._state import Written
from kwsync.testing.apiserver._target import Target, parse_target
from kwsync.testing.apiserver._views import ObjectView
from kwsync.testing.apiserver._watch import Watch

_ANSWERS_OBJECT = frozenset(
    [
        "pods",
        "podtemplates",
        "persistentvolumes",
        "persistentvolumeclaims",
        "resourcequotas",
        "serviceaccounts",
        "services",
        "storageclasses",
        "volumeattachments",
        "csidrivers",
        "csinodes",
        "namespaces",
        "customresourcedefinitions",
    ]
)
"""Kinds whose delete is answered with the object even if it is gone (ReturnDeletedObject). The last two are emptied
first, which takes a real server a while."""
_COLLECTION_METHODS = ("GET", "POST", "DELETE")
_OBJECT_METHODS = ("GET", "PUT", "PATCH", "DELETE")
_PART_METHODS = ("GET", "PUT", "PATCH")


def answer(api: Api, call: Call) -> Reply | Watch:
    """The answer to a request. Raises ApiError."""
    if "//" in call.path:
        raise _status.text_404()
    target = parse_target(call.method, call.path)
    if target is None:
        return document(api, call)
    watch = flag(call.query, "watch") and not target.name
    api.access.check(call.user, target.verb(watch), target, _name_for_rights(target, call.query))
    kind = _kind_of(api, target)
    _check_route(kind, target)
    warnings = warning_headers([kind.deprecation] if kind.deprecation else [])
    try:
        reply = _dispatch(api, call, target, kind)
    except _status.ApiError as error:
        # The header Warning goes with failures, too (recorded: 405-watch-not-supported).
        error.headers.update(warnings)
        raise
    return reply.adding(warnings) if isinstance(reply, Reply) else reply


def _name_for_rights(target: Target, query: Mapping[str, str]) -> str:
    """A list or watch of one name counts as a request for that name (A7)."""
    if target.name or "fieldSelector" not in query:
        return target.name
    try:
        return FieldSelector.parse(query["fieldSelector"]).exact("metadata.name") or ""
    except SelectorError:
        return ""


def _kind_of(api: Api, target: Target) -> Kind:
    with api.lock:
        catalog = api.state.catalog
        kind = catalog.at(target.group, target.version, target.plural)
        custom_group = catalog.groups.get(target.group, True)
    if kind is None:
        raise _status.text_404() if custom_group else _status.resource_not_found()
    return kind


def _check_route(kind: Kind, target: Target) -> None:
    """404 for a path that the kind does not have, 405 for a method that the path does not have."""
    missing = _status.text_404() if kind.custom else _status.resource_not_found()
    if not kind.namespaced and target.in_namespace:
        raise missing
    if kind.namespaced and not target.in_namespace and (target.name or (kind.custom and target.method != "GET")):
        raise missing
    if target.subresource and not _has_part(kind, target.subresource):
        raise _status.not_found(kind.plural, target.name, kind.group) if kind.custom else missing
    methods = _PART_METHODS if target.subresource else _OBJECT_METHODS if target.name else _COLLECTION_METHODS
    everywhere = kind.namespaced and not target.in_namespace
    if target.method not in methods or (everywhere and target.method != "GET"):
        raise _status.method_not_allowed()
    if target.verb(False) not in kind.verbs:
        raise _status.method_not_allowed()


def _has_part(kind: Kind, part: str) -> bool:
    return (part == "status" and kind.has_status) or (part == "scale" and kind.scale is not None)


def _dispatch(api: Api, call: Call, target: Target, kind: Kind) -> Reply | Watch:
    if target.method == "GET":
        return _read(api, call, target, kind)
    if len(call.body) > _status.BODY_LIMIT:
        raise _status.request_entity_too_large()
    if "get" not in kind.verbs:
        return review(api, call, kind)
    if target.method == "DELETE":
        return _delete(api, call, target, kind) if target.name else _delete_all(api, call, target, kind)
    return _write(api, call, target, kind)


def _read(api: Api, call: Call, target: Target, kind: Kind) -> Reply | Watch:
    if target.name and not target.watch_path:
        return _reads.get(api, call, target, kind)
    query = call.query
    if target.name:
        query = {**query, "fieldSelector": f"metadata.name={target.name}"}
    options = parse_options(kind, query, watch_path=target.watch_path)
    if not options.watch:
        return _reads.list_objects(api, call, target, kind, options)
    if "watch" not in kind.verbs:
        raise _status.verb_not_supported("watch", kind.plural, kind.group)
    return Watch(api, call, target, kind, options)


def _write(api: Api, call: Call, target: Target, kind: Kind) -> Reply:
    negotiate(call.accept, kind)
    media_type = _bodies.content_type(call.headers)
    place = (target.namespace, target.name)
    if target.method == "PATCH":
        body = _bodies.read_patch(kind, call.body, media_type)
        options = _writes.write_options(call.query, "PatchOptions", target.subresource, call.body)
        return _written(api, call, target, kind, _writes.patch(api, kind, *place, media_type, body, options))
    body = _bodies.read_object(kind, call.body, media_type)
    if target.method == "POST":
        options = _writes.write_options(call.query, "CreateOptions", body=call.body)
        return _written(api, call, target, kind, _writes.create(api, kind, target.namespace, body, options))
    options = _writes.write_options(call.query, "UpdateOptions", target.subresource, call.body)
    return _written(api, call, target, kind, _writes.replace(api, kind, *place, body, options))


def _written(api: Api, call: Call, target: Target, kind: Kind, result: _writes.Result) -> Reply:
    written, warnings = result
    if target.subresource == "scale":
        return scale_of(kind, written.version)
    accepted = negotiate(call.accept, kind)
    body = view_for(api, kind, accepted, call).single(written.version)
    return Reply(201 if written.created else 200, body, accepted.content_type, tuple(warning_headers(warnings)))


def _delete(api: Api, call: Call, target: Target, kind: Kind) -> Reply:
    body = _bodies.read_options(call.body, _bodies.content_type(call.headers))
    options = deletion(body, call.query)
    written = _writes.delete(api, kind, target.namespace, target.name, options)
    return Reply(200, deleted_body(kind, written)) if _shows_object(kind, written) else _gone(kind, written)


def _shows_object(kind: Kind, written: Written) -> bool:
    """Trap 9: a Status for what is gone at once, the object while it is terminating."""
    return not written.gone or (not kind.custom and kind.plural in _ANSWERS_OBJECT)


def deleted_body(kind: Kind, written: Written) -> bytes:
    """The object that a delete left, or took away."""
    return ObjectView(kind).single(written.version)


def _gone(kind: Kind, written: Written) -> Reply:
    version = written.version
    details = _status.details_of(kind.plural, version.name, kind.group, version.metadata["uid"])
    return json_reply(200, _status.success(details))


def _delete_all(api: Api, call: Call, target: Target, kind: Kind) -> Reply:
    body = _bodies.read_options(call.body, _bodies.content_type(call.headers))
    which = parse_options(kind, call.query)
    options = deletion(body, call.query)
    # A version in the query is no version of the list here.
    page = _reads.page(api, call, target, kind, which._replace(resource_version="", match=""))
    _writes.delete_all(api, kind, page.versions, options)
    return Reply(200, ObjectView(kind).list(page.versions, page.metadata))
