"""Google's access tokens, by google-auth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from datetime import timezone
from typing import Any

import attrs

from kwsync import _clock, _json
from kwsync.credentials._cached import Cached, Issued
from kwsync.credentials._describe import CredentialDescription
from kwsync.credentials._fields import hide, optional_path
from kwsync.credentials._files import read_secret
from kwsync.credentials._protocol import AuthContext, Authorization, CredentialError
from kwsync.credentials._reason import ask_library, load_library

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
"""What GKE demands, and Backstage asks for."""

EARLY_SECONDS = 225.0
"""Before the expiry. google-auth's own number: a metadata server may hand out its last token until four minutes before,
so that asking earlier would give the same one again."""

TRY_SECONDS = 10.0
"""For one request, where google-auth would wait for two minutes."""

FETCH_SECONDS = 30.0
"""For all requests of one fetch: what begins after that may take a second only."""

_HINT = ": give key= or key_file=, set GOOGLE_APPLICATION_CREDENTIALS, or run where there is a metadata server"


def _copied(key: object) -> Mapping[str, object] | str | None:
    if key is None or isinstance(key, str):
        return key
    if isinstance(key, Mapping):
        return dict(key)
    raise TypeError(f"key must be a mapping or JSON text, not {type(key).__name__}")


def _scopes(scopes: Iterable[str] | str) -> tuple[str, ...]:
    found = (scopes,) if isinstance(scopes, str) else tuple(scopes)
    if not all(isinstance(scope, str) for scope in found):
        raise TypeError("scopes must be a list of texts")
    return found


@attrs.define(eq=False)
class GoogleServiceAccount:
    """An OAuth2 access token of a Google service account, as GKE takes it. Needs the extra ``kwsync[google]``.

    *key* is a service account's key as Google gives it out, a mapping or its JSON text; *key_file* is the path of such
    a file. Without both, Google's Application Default Credentials say who it is: the file that
    GOOGLE_APPLICATION_CREDENTIALS names, the one that ``gcloud auth application-default login`` has written, the
    metadata server (Compute Engine, and GKE with or without Workload Identity). Files and environment are read at each
    fetch. *scopes* are OAuth2's.

    The token is fetched on a thread of its own and renewed 225 seconds before its expiry, beside the requests; as long
    as it is valid it stays in use, whatever becomes of the renewal (see `Cached`). Fetching goes through the proxies of
    the environment (HTTPS_PROXY, NO_PROXY), not the cluster's, and trusts REQUESTS_CA_BUNDLE where that is set.

    ValueError when both key and file are given, TypeError for an argument of a wrong kind; anything else that is wrong
    shows as `CredentialError` when it is used, in which no secret is.
    """

    key: Mapping[str, object] | str | None = attrs.field(default=None, converter=_copied, repr=hide)
    key_file: str | None = attrs.field(default=None, converter=optional_path, kw_only=True)
    scopes: tuple[str, ...] = attrs.field(default=(SCOPE,), converter=_scopes, kw_only=True)
    _cached: Cached = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.key is not None and self.key_file is not None:
            raise ValueError("give key= or key_file=, not both")
        self._cached = Cached(self._new_token, name="google", early=EARLY_SECONDS)

    def authorize(self, context: AuthContext) -> Authorization:
        """The kept token, or after waiting a new one."""
        return self._cached.authorize(context)

    def refresh(self, rejected: Authorization) -> bool:
        """Drop the kept token if it is the rejected one, and not fetched a moment ago."""
        return self._cached.refresh(rejected)

    def describe(self) -> CredentialDescription:
        """Whose token it is, and how long that is good, or why there is none; nothing is fetched."""
        return self._cached.described_as("Google access token", self._source)

    def _new_token(self) -> Issued:
        google = load_library(_load, "Google's access tokens need google-auth", "google")
        hint = _HINT if self.key is None and self.key_file is None else ""
        return ask_library(lambda: self._ask(google), f"Google gave no access token for {self._source}", hint)

    @property
    def _source(self) -> str:
        if self.key_file is not None:
            return f"the key in {self.key_file}"
        if self.key is not None:
            return "the given key"
        return "the Application Default Credentials"

    def _ask(self, google: Any) -> Issued:
        # A session of its own for each fetch: an hour later its connections would be dead, or another process's.
        transport = google.auth.transport.requests.Request()
        with closing(transport.session):
            request = _Hurried(transport)
            credentials = self._credentials(google, request)
            credentials.refresh(request)
            return _issued(credentials)

    def _credentials(self, google: Any, request: Callable[..., object]) -> Any:
        info = self._key_info()
        if info is None:
            return google.auth.default(scopes=self.scopes, request=request)[0]
        return google.oauth2.service_account.Credentials.from_service_account_info(info, scopes=self.scopes)

    def _key_info(self) -> Mapping[str, object] | None:
        """The key, if there is one."""
        if isinstance(self.key, Mapping):
            return _checked(self.key, self._source)
        if self.key is not None:
            return _parsed(self.key.encode("utf-8", "replace"), self._source)
        return None if self.key_file is None else _parsed(read_secret(self.key_file), self._source)


class _Hurried:
    """google-auth's transport with less patience."""

    def __init__(self, transport: Any) -> None:
        self.session = transport.session  # where google-auth puts client certificates, for some metadata servers
        self._transport = transport
        self._end = _clock.monotonic() + FETCH_SECONDS

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: object = None,
        headers: object = None,
        timeout: float | None = None,
        **options: object,
    ) -> Any:
        left = max(1.0, self._end - _clock.monotonic())
        timeout = min(TRY_SECONDS if timeout is None else timeout, TRY_SECONDS, left)
        return self._transport(url, method=method, body=body, headers=headers, timeout=timeout, **options)


def _parsed(text: bytes, source: str) -> Mapping[str, object]:
    try:
        key = _json.loads(text)
    except ValueError:
        key = None
    return _checked(key, source)


def _checked(key: object, source: str) -> Mapping[str, object]:
    if not isinstance(key, Mapping):
        raise CredentialError(f"{source} is no JSON object")
    if key.get("type") != "service_account":
        raise CredentialError(
            f"{source} is not that of a service account; GOOGLE_APPLICATION_CREDENTIALS may name other kinds"
        )
    return key


def _issued(credentials: Any) -> Issued:
    token, expiry = credentials.token, credentials.expiry
    if not isinstance(token, str):
        raise CredentialError("Google's answer holds no access token")
    # google-auth's times are UTC without saying so.
    expires_at = None if expiry is None else expiry.replace(tzinfo=timezone.utc).timestamp()
    return Issued(Authorization.bearer(token), expires_at)


def _load() -> Any:
    """The one seam to google-auth. Its metadata server's client needs requests, which brings the system's proxies."""
    import google.auth
    import google.auth.transport.requests
    import google.oauth2.service_account

    return google
