"""What the official client (the package ``kubernetes``) would prove itself with: asked of its settings, not copied."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime, timezone
from typing import Any

from kwsync import _clock
from kwsync.credentials._basic import BasicAuth
from kwsync.credentials._cached import INTERVAL_SECONDS, Cached, Issued
from kwsync.credentials._certificate import ClientCertificate
from kwsync.credentials._describe import NOWHERE, CredentialDescription, described
from kwsync.credentials._protocol import AuthContext, Authorization, Certificate, CredentialError

_ITS_OWN = frozenset(
    (
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
    )
)
"""Default headers that say how that client talks, not who talks."""

_AT_ONCE = 0.0
"""The expiry of what is to be asked for anew with each request."""

_KIND = "credential of the official client"


class OfficialCredential:
    """The live credential of an ``ApiClient``: each request asks its configuration, as that client's own do.

    A hook (``refresh_api_key_hook``) may run a program or ask a cloud, so it runs on a thread of its own, one at a
    time, and who waits for it can be cancelled: that costs each request a thread, about 0.1 ms. Without a hook the
    settings are just looked at. Certificate files are read by their paths, whenever they have changed. After a 401 the
    hook is made to load anew, where that is possible; all that have the same 401 wait for that one load.
    """

    def __init__(self, api_client: Any, configuration: Any) -> None:
        self._api_client = api_client
        self._configuration = configuration
        self._asked = Cached(self._ask, name="official-client", interval=0.0)
        self._pair: ClientCertificate | None = None
        self._newest: Authorization | None = None
        self._is_wanted = False
        """Shall the hook load anew, the next time that it is called?"""
        self._loading: int | None = None
        """The process in which it does so; a child that is forked meanwhile has no part in it."""
        self._forced_at: float | None = None

    def __repr__(self) -> str:
        return "<OfficialCredential>"

    def authorize(self, context: AuthContext) -> Authorization:
        """What the configuration gives now."""
        if self._hook() is None:
            return self._look()
        authorization = self._asked.authorize(context)
        # Should that have been asked for before a 401 of which we know by now, it may be what was refused.
        return self._asked.authorize(context) if self._is_wanted else authorization

    def refresh(self, rejected: Authorization) -> bool:
        """Let the hook load anew, at most every ten seconds; True where something else may come of it."""
        if self._pair is not None:
            self._pair.refresh(rejected)
        if self._hook() is None:
            return self._look() != rejected
        # In this order: what a load gives is there before the load is over.
        if self._is_wanted or self._loading == os.getpid() or self._newest not in (None, rejected):
            return True  # another thread has seen to it
        now = _clock.monotonic()
        if self._forced_at is not None and now - self._forced_at < INTERVAL_SECONDS:
            return False
        self._forced_at, self._is_wanted = now, True
        return True

    def describe(self) -> CredentialDescription:
        """The last one that was asked for; without a hook the present one."""
        hook, held = self._hook(), self._asked.held()
        if hook is not None and held is None:
            return CredentialDescription(kind=_KIND, source=_source(hook))
        try:
            proof = self._look() if held is None else held.authorization
        except CredentialError as error:
            return CredentialDescription(kind=_KIND, source=_source(hook), problem=str(error))
        return described(proof, _KIND, _source(hook))

    def _hook(self) -> Callable[[Any], object] | None:
        hook: Callable[[Any], object] | None = getattr(self._configuration, "refresh_api_key_hook", None)
        return hook

    def _ask(self) -> Issued:
        forced = self._is_wanted
        if forced:
            self._loading = os.getpid()  # first, so that there is no moment between the wish and its fulfilment
            self._is_wanted = False
        try:
            with _as_if_expired(self._hook()) if forced else nullcontext():
                self._newest = newest = self._look()
        finally:
            self._loading = None
        return Issued(newest, _AT_ONCE)

    def _look(self) -> Authorization:
        return Authorization({**self._default_headers(), **self._authorization()}, self._certificate())

    def _default_headers(self) -> Mapping[str, str]:
        """They may hold a credential or impersonate somebody; and there may be a cookie."""
        given = getattr(self._api_client, "default_headers", None) or {}
        headers = {str(name).title(): str(value) for name, value in given.items() if str(name).lower() not in _ITS_OWN}
        cookie = getattr(self._api_client, "cookie", None)
        return {**headers, "Cookie": str(cookie)} if cookie else headers

    def _authorization(self) -> Mapping[str, str]:
        """The API key, for which that client calls its hook; else a token or password that was set by hand."""
        configuration = self._configuration
        key = _api_key(configuration)
        if key:
            return {"Authorization": key.strip()}  # in a pod it has the newline of its file
        if getattr(configuration, "access_token", None):
            return Authorization.bearer(configuration.access_token).headers
        if getattr(configuration, "username", None):
            return BasicAuth(configuration.username, configuration.password or "").authorize(NOWHERE).headers
        return {}

    def _certificate(self) -> Certificate | None:
        """The paths may be others by now, and so may what lies there. One file may hold both halves."""
        certificate = self._configuration.cert_file
        if not certificate:
            return None
        key, pair = self._configuration.key_file or certificate, self._pair
        if pair is None or (pair.certificate_file, pair.key_file) != (certificate, key):
            self._pair = pair = ClientCertificate(certificate_file=certificate, key_file=key)
        return pair.authorize(NOWHERE).certificate


def _api_key(configuration: Any) -> str | None:
    """Its name differs: releases of late 2026 know two, older ones only the second."""
    get = configuration.get_api_key_with_prefix
    knows_both = "alias" in inspect.signature(get).parameters
    key: str | None = get("BearerToken", alias="authorization") if knows_both else get("authorization")
    return key


@contextmanager
def _as_if_expired(hook: object) -> Iterator[None]:
    """For the length of a block, let the loader behind *hook* believe that what it has is over.

    Loaders load anew only what has a time to end, and by that time alone; a 401 may tell more. Of a hook that is none
    of the official client's own nothing is known: it is just called.
    """
    loader = _loader_of(hook)
    name, past = _end_of(loader)
    before = vars(loader).copy() if name else {}
    if name:
        setattr(loader, name, past)
    try:
        yield
    finally:
        if name and getattr(loader, name, None) is past:  # what it has loaded has no end: load it no more
            delattr(loader, name)
            vars(loader).update({name: before[name]} if name in before else {})


def _loader_of(hook: object) -> object:
    """Hooks of ``kubernetes.config`` are functions inside of a loader's method."""
    try:
        return inspect.getclosurevars(hook).nonlocals.get("self")  # type: ignore[arg-type]
    except (TypeError, ValueError):  # some other callable
        return None


def _end_of(loader: object) -> tuple[str, datetime | None]:
    """The attribute in which a loader keeps the end of its token, and a value long past; empty for other objects."""
    if hasattr(loader, "_load_authentication"):
        return "expiry", datetime(1970, 1, 1, tzinfo=timezone.utc)
    if hasattr(loader, "_read_token_file"):
        return "token_expires_at", datetime(1970, 1, 1)  # without a zone, as that loader has it
    return "", None


def _source(hook: object) -> str:
    if hook is None:
        return "its configuration"
    loader = _loader_of(hook)
    return "its refresh_api_key_hook" if loader is None else f"its {type(loader).__name__}"
