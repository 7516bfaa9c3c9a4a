"""A client for one cluster: the verbs of the Kubernetes API, and the connections that watches use."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from kwsync import _discovery, _json, _kubeconfig, _official
from kwsync._call import Call, calling
from kwsync._cancel import check_cancel
from kwsync._cluster import Cluster
from kwsync._paging import Lister, ObjectList, read_page, whole
from kwsync._query import FieldSelector, LabelSelector, ListOptions, accept, encode
from kwsync._resources import Resource
from kwsync._session import Session
from kwsync._transport import Request, endpoint_of, forget_frames
from kwsync.credentials import Credential
from kwsync.credentials._providers import credential_for
from kwsync.errors import ConfigError

PAGE_SIZE = 500
"""Objects a page of a list, as client-go asks for."""

PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",  # JSON is YAML
}
"""Names of the ways to patch, and their media types."""


class Client:
    """One user of one cluster. For any number of threads; a context manager; closing it ends no watch.

    Args:
        cluster: where the API server is.
        credential: who asks; None for what the cluster's ``auth_provider`` says, without one anonymous.
        connect_timeout: seconds for name lookup, connection, a proxy's CONNECT and TLS together.
        request_timeout: seconds for one request of a verb in all; a list has them for each page.

    The verbs raise `WatchError`, and `CancelledError` (one of them) when *cancel* is set; each takes *timeout*, seconds
    for the whole call in place of ``request_timeout``, and *cancel*, an event. Bad arguments raise ValueError or
    TypeError. A client that was made before a fork may be used after it: the child makes connections of its own.
    """

    def __init__(
        self,
        cluster: Cluster,
        credential: Credential | None = None,
        *,
        connect_timeout: float = 10.0,
        request_timeout: float = 30.0,
    ) -> None:
        if not isinstance(cluster, Cluster):
            raise TypeError(f"cluster must be a kwsync.Cluster, not {type(cluster).__name__}")
        if credential is not None and (isinstance(credential, type) or not isinstance(credential, Credential)):
            raise TypeError("credential must have authorize() and refresh(); for a token there is BearerToken(token)")
        _check_seconds("connect_timeout", connect_timeout)
        _check_seconds("request_timeout", request_timeout)
        who = credential_for(cluster) if credential is None else credential
        self._session = Session(cluster, who, connect_timeout)
        self._request_timeout = request_timeout

    @classmethod
    def from_kubeconfig(cls, path: str | os.PathLike[str] | None = None, context: str | None = None) -> Client:
        """From a kubeconfig file: *path*, else the files that KUBECONFIG names, else ``~/.kube/config``.

        ConfigError where it cannot be used. YAML needs the extra ``kwsync[kubeconfig]``.
        """
        return cls(*_configured(lambda: _kubeconfig.load_kubeconfig(path, context)))

    @classmethod
    def in_cluster(cls) -> Client:
        """From the files and variables that Kubernetes gives to a pod; ConfigError outside of one."""
        return cls(*_configured(_kubeconfig.in_cluster))

    @classmethod
    def from_default(cls, context: str | None = None) -> Client:
        """As `in_cluster` in a pod, unless a *context* is asked for; else as `from_kubeconfig`."""
        return cls(*_configured(lambda: _kubeconfig.default_configuration(context)))

    @classmethod
    def from_kubernetes(cls, api_client: object = None) -> Client:
        """From an ``ApiClient`` of the official client (package ``kubernetes``); None for its default configuration.

        So an application that calls ``kubernetes.config.load_kube_config()`` already keeps every provider which that
        knows. Taken over are the server, TLS and proxy as they are now, and the credential alive: each request asks the
        configuration, with its ``refresh_api_key_hook``, and a 401 lets it load anew. Headers that were set with
        ``set_default_header`` go along. How that client retries, pools, logs and decodes does not concern this one.

        TypeError for another object. ConfigError for a setting that cannot be obeyed here, by its name
        (``assert_hostname=False``, a SOCKS proxy, proxy headers but for a login, an SSL context, a key's password).
        """
        return cls(*_configured(lambda: _official.from_official(api_client)))

    @property
    def cluster(self) -> Cluster:
        """Where the requests go."""
        return self._session.cluster

    @property
    def credential(self) -> Credential:
        """Who asks; `kwsync.credentials.describe` tells of it in words."""
        return self._session.credential

    @property
    def proxy_url(self) -> str | None:
        """The proxy that a request would go through now, without user and password; None for none.

        ConfigError where the server or the proxy is no URL.
        """
        proxy = endpoint_of(self.cluster).proxy
        return None if proxy is None else f"{proxy.scheme}://{proxy.authority}"

    def __repr__(self) -> str:
        # Not the credential's repr, which may be the user's own and show everything.
        return f"<Client {self.cluster!r} as {type(self._session.credential).__name__}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the idle connections and send nothing more. Watches that are open go on."""
        self._session.close()

    def get(
        self,
        resource: str | Resource,
        name: str,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        view: str = "object",
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> dict[str, Any]:
        """One object; ``view="metadata"`` for its metadata alone, ``"table"`` for kubectl's columns."""
        headers = {"Accept": accept(view, "get")}
        with self._call(timeout, cancel) as call:
            path = _object_path(call, resource, namespace, name, subresource)
            return call.document(Request("GET", path, headers=headers))

    def list(
        self,
        resource: str | Resource,
        namespace: str | None = None,
        *,
        name: str | None = None,
        label_selector: LabelSelector | None = None,
        field_selector: FieldSelector | None = None,
        view: str = "object",
        resource_version: str | None = None,
        resource_version_match: str | None = None,
        page_size: int | None = PAGE_SIZE,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> ObjectList:
        """All the objects that match, read page by page; *namespace* None for all namespaces.

        ``request_timeout`` counts for each page, *timeout* for all of them. When the pages expire before the last is
        read (410), the list is read once more in one piece.

        A *resource_version* without a match means "not older than" only with ``page_size=None``; with pages the server
        takes it for exactly that version (a trap of the API), so say with *resource_version_match* which you want.
        """
        options = ListOptions(
            namespace=namespace,
            name=name,
            label_selector=label_selector,
            field_selector=field_selector,
            view=view,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            limit=page_size,
        )
        return whole(self._lister(resource, options, timeout, cancel))

    def list_pages(
        self,
        resource: str | Resource,
        namespace: str | None = None,
        *,
        label_selector: LabelSelector | None = None,
        field_selector: FieldSelector | None = None,
        view: str = "object",
        page_size: int = PAGE_SIZE,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Iterator[ObjectList]:
        """As `list`, one page at a time and nothing kept; 410 where the pages expire before the last is read."""
        options = ListOptions(
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            view=view,
            limit=page_size,
        )
        return self._lister(resource, options, timeout, cancel).pages()

    def create(
        self,
        resource: str | Resource,
        object: Mapping[str, Any],
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        query: Mapping[str, str] | None = None,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> dict[str, Any]:
        """Store a new object, and get it as stored. *query* holds further parameters (``{"dryRun": "All"}``)."""
        with self._call(timeout, cancel) as call:
            found, namespace = _placed(call, resource, namespace, object)
            path = found.path(namespace) if subresource is None else found.path(namespace, _name(object), subresource)
            return call.document(_write("POST", path, object, query))

    def replace(
        self,
        resource: str | Resource,
        object: Mapping[str, Any],
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        query: Mapping[str, str] | None = None,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> dict[str, Any]:
        """Store a whole object over the one of its name; 409 when its resource version is not the current one."""
        with self._call(timeout, cancel) as call:
            found, namespace = _placed(call, resource, namespace, object)
            return call.document(_write("PUT", found.path(namespace, _name(object), subresource), object, query))

    def patch(
        self,
        resource: str | Resource,
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        namespace: str | None = None,
        *,
        patch_type: str | None = None,
        subresource: str | None = None,
        field_manager: str | None = None,
        force: bool | None = None,
        query: Mapping[str, str] | None = None,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> dict[str, Any]:
        """Change an object. *patch_type* is ``merge`` (a mapping's default), ``json`` (a list's default), ``strategic``
        or ``apply`` (server-side apply, which needs a *field_manager*; *force* takes over fields of others)."""
        content_type = _patch_content_type(patch, patch_type)
        options = {"fieldManager": field_manager, "force": None if force is None else str(force).lower()}
        pairs = {**{key: value for key, value in options.items() if value is not None}, **(query or {})}
        with self._call(timeout, cancel) as call:
            inside = patch if isinstance(patch, Mapping) else {}
            found, namespace = _placed(call, resource, namespace, inside)
            path = found.path(namespace, name, subresource)
            return call.document(_write("PATCH", path, patch, pairs, content_type))

    def delete(
        self,
        resource: str | Resource,
        name: str,
        namespace: str | None = None,
        *,
        grace_period_seconds: int | None = None,
        propagation_policy: str | None = None,
        preconditions: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> dict[str, Any]:
        """Delete an object. The answer is a Status where it is gone, the object itself while it is terminating.

        *grace_period_seconds* is a whole number; *propagation_policy* Background, Foreground or Orphan;
        *preconditions* may name ``uid`` and ``resourceVersion``.
        """
        wishes = {
            "gracePeriodSeconds": grace_period_seconds,
            "propagationPolicy": propagation_policy,
            "preconditions": dict(preconditions) if preconditions else None,
        }
        body = {key: value for key, value in wishes.items() if value is not None}
        if body:
            body = {"kind": "DeleteOptions", "apiVersion": "v1", **body}
        with self._call(timeout, cancel) as call:
            path = _object_path(call, resource, namespace, name, None)
            return call.document(_write("DELETE", path, body or None, query))

    def discover(self, name: str, *, timeout: float | None = None, cancel: threading.Event | None = None) -> Resource:
        """Ask the server what *name* means: a plural, singular, kind or short name, or one with ``.group`` behind it.

        NOT_FOUND 404 where the server has none.
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of a resource is a string, not {type(name).__name__}")
        with self._call(timeout, cancel) as call:
            return _discovery.discover(call.document, name)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Any:
        """Any other request: *path* without the base path, *body* JSON (or bytes as they are).

        The answer is what its JSON holds, or a string where its content type is no JSON (``/healthz``).
        """
        if not path.startswith("/") or any(character <= " " or character > "~" for character in path):
            raise ValueError(f"path must begin with a slash and be percent-encoded: {path!r}")
        for name, value in (headers or {}).items():
            if not (name.isascii() and name.isprintable() and value.isascii() and value.isprintable()):
                raise ValueError("a header holds control or non-ASCII characters")  # it may be a secret
        if not (method.isascii() and method.isalpha()):
            raise ValueError(f"method must be a word like GET, not {method!r}")
        with self._call(timeout, cancel) as call:
            return call.value(_write(method, path, body, query, headers=headers))

    def _call(self, timeout: float | None, cancel: threading.Event | None) -> AbstractContextManager[Call]:
        check_cancel(cancel)
        seconds = self._request_timeout if timeout is None else _check_seconds("timeout", timeout)
        return calling(self._session, seconds, cancel)

    def _lister(
        self, resource: str | Resource, options: ListOptions, timeout: float | None, cancel: threading.Event | None
    ) -> Lister[ObjectList]:
        check_cancel(cancel)
        seconds = None if timeout is None else _check_seconds("timeout", timeout)
        return Lister(self._session, resource, options, self._request_timeout, seconds, cancel, read_page)


def _configured(load: Callable[[], tuple[Cluster, Credential]]) -> tuple[Cluster, Credential]:
    """A ConfigError loses the frames that it came through: kubeconfigs lie open in them, and tools may show those."""
    outside = sys.exc_info()[1]
    try:
        return load()
    except ConfigError as error:
        failure = error
    forget_frames(failure, outside)
    raise failure


def session_of(client: Client) -> Session:
    """Strictly private: what a watch sends its request with."""
    return client._session


def page_seconds_of(client: Client) -> float:
    """Strictly private: how long one page of a list may take."""
    return client._request_timeout


_defaults: dict[int, Client] = {}


def default_client() -> Client:
    """The process's own client (a forked child makes another); ConfigError where nothing is configured."""
    process = os.getpid()
    client = _defaults.get(process)
    if client is None:
        client = _defaults.setdefault(process, Client.from_default())
    return client


def _object_path(
    call: Call, resource: str | Resource, namespace: str | None, name: str, subresource: str | None
) -> str:
    found, namespace = _placed(call, resource, namespace, {})
    return found.path(namespace, name, subresource)


def _placed(
    call: Call, resource: str | Resource, namespace: str | None, object: Mapping[str, Any]
) -> tuple[Resource, str | None]:
    """The resource, and the namespace that is given or stands in the object; ValueError where one is needed.

    The server is asked only where neither names a namespace and the scope is not known.
    """
    if namespace is None:
        metadata = object.get("metadata")
        namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    found = call.resource(resource, scope=namespace is None)
    if namespace is None and found.namespaced:
        raise ValueError(f"{found} are namespaced: give a namespace, or an object with metadata.namespace")
    return found, namespace


def _name(object: Mapping[str, Any]) -> str:
    metadata = object.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(name, str):
        raise ValueError("the object has no metadata.name")
    return name


def _write(
    method: str,
    path: str,
    body: object,
    query: Mapping[str, str] | None,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Request:
    data = body if isinstance(body, bytes) or body is None else _json.dumps(body)
    kind = {} if data is None else {"Content-Type": content_type}
    given = {name.title(): value for name, value in (headers or {}).items()}  # one spelling, so that it replaces ours
    return Request(method, path, encode((query or {}).items()), {"Accept": "application/json", **kind, **given}, data)


def _patch_content_type(patch: object, patch_type: str | None) -> str:
    if not isinstance(patch, (Mapping, list, tuple)):
        raise TypeError(f"patch must be a mapping or a list of operations, not {type(patch).__name__}")
    chosen = patch_type or ("merge" if isinstance(patch, Mapping) else "json")
    if chosen not in PATCH_TYPES:
        raise ValueError(f"patch_type must be one of {', '.join(PATCH_TYPES)}, not {chosen!r}")
    return PATCH_TYPES[chosen]


def _check_seconds(name: str, seconds: float) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} must be a number of seconds, not {type(seconds).__name__}")
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise ValueError(f"{name} must be more than 0 seconds, not {seconds}")
    return seconds
