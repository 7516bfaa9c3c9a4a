"""Get and list."""

from __future__ import annotations

import time

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._api import Api, Call
from kwsync.testing.apiserver._collection import Row
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._negotiate import Accepted, negotiate
from kwsync.testing.apiserver._numbers import parse_version
from kwsync.testing.apiserver._options import ListOptions, check_list
from kwsync.testing.apiserver._paging import NEWEST, Page, page_of, parse_token
from kwsync.testing.apiserver._reply import Reply
from kwsync.testing.apiserver._scale import scale_of
from kwsync.testing.apiserver._selection import matcher
from kwsync.testing.apiserver._table_view import TableView
from kwsync.testing.apiserver._target import Target
from kwsync.testing.apiserver._views import MetadataView, ObjectView, View

_POLL_SECONDS = 0.01


def get(api: Api, call: Call, target: Target, kind: Kind) -> Reply:
    """One object, or one of its subresources."""
    accepted = negotiate(call.accept, kind)
    if accepted.view == "metadata-list":
        message = f"you requested PartialObjectMetadataList, but the requested object is not a list (*core.{kind.name})"
        raise _status.failure(406, "NotAcceptable", message)
    version = call.query.get("resourceVersion", "")
    number = parse_version(version or "0")
    if number is None:
        # As on a watch, and not as on a list.
        raise _status.unparsable_watch_version(version)
    await_version(api, call, kind, number)
    with api.lock:
        found = api.state.get(kind, target.namespace, target.name)
    if target.subresource == "scale":
        return scale_of(kind, found)
    return Reply(200, view_for(api, kind, accepted, call).single(found), accepted.content_type)


def view_for(api: Api, kind: Kind, accepted: Accepted, call: Call) -> View:
    """The view that was negotiated."""
    if accepted.view == "object":
        return ObjectView(kind)
    if accepted.view == "table":
        return TableView(kind, call.query.get("includeObject", ""), api.now, accepted.version)
    return MetadataView()


def list_objects(api: Api, call: Call, target: Target, kind: Kind, options: ListOptions) -> Reply:
    """A list, by the rules of its version and match (A2)."""
    accepted = negotiate(call.accept, kind, collection=True)
    check_list(options)
    found = page(api, call, target, kind, options)
    if accepted.view == "metadata":
        raise _status.not_a_list(kind.name, custom=kind.custom)
    body = view_for(api, kind, accepted, call).list(found.versions, found.metadata)
    return Reply(200, body, accepted.content_type)


def page(api: Api, call: Call, target: Target, kind: Kind, options: ListOptions) -> Page:
    """The objects that a list asks for."""
    number = parse_version(options.resource_version or "0")
    if number is None:
        raise _status.bad_version(options.resource_version)
    if options.token:
        if number:
            raise _status.bad_request("specifying resource version is not allowed when using continue")
        return _continued(api, call, target, kind, options)
    await_version(api, call, kind, number)
    limit = options.limit
    # A cache that may answer with anything answers with everything (trap 11); events are not cached (D8).
    if options.resource_version and not number and kind.is_cached:
        limit = 0
    exact = options.match == "Exact" or (number and limit and not options.match)
    with api.lock:
        revision = number if exact else api.state.revision
        rows = api.state.collection(kind.stored_as).rows_at(revision)
        if rows is None:
            raise _status.expired()
        return page_of(rows, target.namespace, matcher(kind, options), limit, revision)


def _continued(api: Api, call: Call, target: Target, kind: Kind, options: ListOptions) -> Page:
    token = parse_token(options.token)
    # A token may be from the future, if the server has gone back in time.
    await_version(api, call, kind, token.revision)
    with api.lock:
        revision = api.state.revision if token.revision == NEWEST else token.revision
        rows: list[Row] | None = api.state.collection(kind.stored_as).rows_at(revision)
        if rows is None:
            raise _status.expired_continue(token._replace(revision=NEWEST).encoded())
        return page_of(rows, target.namespace, matcher(kind, options), options.limit, revision, token.after)


def await_version(api: Api, call: Call, kind: Kind, revision: int) -> None:
    """Wait for a version that has not come yet; 504 when it does not come, for events at once (D6)."""
    deadline = time.monotonic() + (api.settings.too_large_wait if kind.is_cached else 0)
    while api.state.revision < revision:
        if time.monotonic() >= deadline:
            raise _status.too_large_resource_version(revision, api.state.revision, int(kind.is_cached))
        call.pause(_POLL_SECONDS)
