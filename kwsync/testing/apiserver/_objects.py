"""The verbs of the API as methods of the server: what a test does to the cluster while its subject looks on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kwsync.testing.apiserver import _bodies, _writes
from kwsync.testing.apiserver._api import Api
from kwsync.testing.apiserver._checks import check_patch, check_text
from kwsync.testing.apiserver._collection import Version
from kwsync.testing.apiserver._decode import read
from kwsync.testing.apiserver._encode import dumps, loads
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._lookup import mapping, text
from kwsync.testing.apiserver._options import ListOptions, parse_options
from kwsync.testing.apiserver._selection import matcher, selected
from kwsync.testing.apiserver._state import Deletion
from kwsync.testing.apiserver._status import bad_request
from kwsync.testing.apiserver._views import ObjectView

Object = dict[str, Any]

_PATCH_TYPES = {
    "merge": _bodies.MERGE,
    "json": _bodies.JSON_PATCH,
    "strategic": _bodies.STRATEGIC,
    "apply": _bodies.APPLY,
}


class Objects:
    """Create, get, list, replace, patch and delete without a socket, by the code that requests go through.

    Objects are copied on their way in and out. *resource* is a plural, singular, kind or short name (`pods`, `po`),
    maybe with a group (`deployments.apps`, `apps/v1/deployments`); *namespace* defaults to that of the object, else to
    `default`, and is not looked at for kinds without one. What is wrong raises `ApiError`, as it would be answered.
    """

    _api: Api

    def create(self, object: Mapping[str, Any], namespace: str | None = None) -> Object:
        """Store a new object, which must say its kind and apiVersion; a resourceVersion in it is ignored.

        The object as it is stored.
        """
        kind, copied = self._typed(object)
        # What a client could not send: an object that was read somewhere, or made by `pod`.
        mapping(copied, "metadata").pop("resourceVersion", None)
        result = _writes.create(self._api, kind, _place(kind, namespace, copied), copied, _writes.WriteOptions())
        return _shown(kind, result.written.version)

    def replace(self, object: Mapping[str, Any], namespace: str | None = None, *, subresource: str = "") -> Object:
        """Store an object over the one of its name; with ``subresource="status"`` its status alone."""
        kind, copied = self._typed(object)
        name = text(copied, "metadata.name")
        options = _writes.WriteOptions(subresource=subresource)
        result = _writes.replace(self._api, kind, _place(kind, namespace, copied), name, copied, options)
        return _shown(kind, result.written.version)

    def patch(
        self,
        resource: str,
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        namespace: str | None = None,
        *,
        patch_type: str = "merge",
        subresource: str = "",
    ) -> Object:
        """Change an object; *patch_type* is merge, json, strategic or apply."""
        kind = self._named(resource)
        check_patch(patch, patch_type, _PATCH_TYPES)
        options = _writes.WriteOptions(subresource=subresource, field_manager="kwsync-testing")
        body = _as_sent(patch)
        media_type = _PATCH_TYPES[patch_type]
        result = _writes.patch(self._api, kind, _place(kind, namespace), name, media_type, body, options)
        return _shown(kind, result.written.version)

    def delete(
        self, resource: str, name: str, namespace: str | None = None, *, grace_period_seconds: int | None = None
    ) -> Object:
        """Delete an object, or begin to where it has finalizers; the object as the deletion left or found it."""
        kind = self._named(resource)
        options = Deletion(grace=grace_period_seconds)
        return _shown(kind, _writes.delete(self._api, kind, _place(kind, namespace), name, options).version)

    def get(self, resource: str, name: str, namespace: str | None = None) -> Object:
        """One object."""
        kind = self._named(resource)
        with self._api.lock:
            found = self._api.state.get(kind, _place(kind, namespace), name)
        return _shown(kind, found)

    def list(
        self, resource: str, namespace: str | None = None, *, label_selector: str = "", field_selector: str = ""
    ) -> list[Object]:
        """The objects of one namespace, or of all, in the order of their keys."""
        kind = self._named(resource)
        query = {"labelSelector": label_selector, "fieldSelector": field_selector}
        options: ListOptions = parse_options(kind, query)
        with self._api.lock:
            rows = self._api.state.collection(kind.stored_as).rows()
            found = selected(rows, namespace or "", matcher(kind, options))
        return [_shown(kind, version) for version in found]

    def _typed(self, object: Mapping[str, Any]) -> tuple[Kind, Object]:
        if not isinstance(object, Mapping):
            raise TypeError(f"an object is a mapping with apiVersion, kind and metadata, not {object!r}")
        copied: Object = _as_sent(object)
        kind = self._api.state.catalog.of(copied.get("apiVersion"), copied.get("kind"))
        if kind is None:
            raise ValueError(f"no kind {copied.get('kind')!r} in {copied.get('apiVersion')!r} is served here")
        return kind, copied

    def _named(self, resource: str) -> Kind:
        check_text("resource", resource)
        kind = self._api.state.catalog.named(resource)
        if kind is None:
            raise ValueError(f"no resource {resource!r} is served here")
        return kind


def _as_sent(value: Any) -> Any:
    """A copy by way of JSON, as if it had come in a request; 400 for what could not be sent."""
    try:
        return read(dumps(value))
    except ValueError as error:
        raise bad_request(str(error)) from None


def _place(kind: Kind, namespace: str | None, object: Mapping[str, Any] | None = None) -> str:
    if not kind.namespaced:
        return ""
    return namespace or text(object, "metadata.namespace", "default")


def _shown(kind: Kind, version: Version) -> Object:
    shown: Object = loads(ObjectView(kind).single(version))
    return shown
