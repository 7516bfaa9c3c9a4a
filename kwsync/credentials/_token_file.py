"""A bearer token in a file that somebody else keeps fresh, as the kubelet does in a pod."""

from __future__ import annotations

import logging

import attrs

from kwsync import _clock
from kwsync.credentials._describe import CredentialDescription, described_by
from kwsync.credentials._files import as_path, read_secret
from kwsync.credentials._protocol import AuthContext, Authorization, CredentialError

REREAD_SECONDS = 50.0
"""client-go trusts a reading for a minute and renews it ten seconds before; the kubelet rotates at 80 % of an hour."""

_log = logging.getLogger("kwsync.credentials")


@attrs.frozen
class _Reading:
    authorization: Authorization
    at: float


@attrs.define(eq=False)
class TokenFile:
    """``Authorization: Bearer`` with what the file *path* holds, without the white space around it.

    It is read again at the first request 50 seconds or more after the last reading, and at once when the server says
    401. A file that cannot be read, or holds no token, changes nothing: the last token stays in use (and the next
    request tries again). CredentialError as long as none was ever read; with *fallback*, that is the token until then.
    The rules are client-go's (``transport/token_source.go``), apart from the reading after a 401.
    """

    path: str = attrs.field(converter=as_path)
    fallback: str | None = attrs.field(default=None, kw_only=True, repr=False)
    # Threads only ever swap this for another whole one. If two race, an older token may stay for 50 seconds, or until
    # a 401: both were valid a moment ago.
    _last: _Reading | None = attrs.field(default=None, init=False, repr=False)

    def authorize(self, context: AuthContext) -> Authorization:  # noqa: ARG002
        """The token of the last reading if that is young enough, else of a new one."""
        last = self._last
        if last is not None and _clock.monotonic() - last.at < REREAD_SECONDS:
            return last.authorization
        return self._read_or_keep()

    def refresh(self, rejected: Authorization) -> bool:
        """Read at once; True when the token is now another than the rejected one."""
        try:
            current = self._read_or_keep()
        except CredentialError:
            return False
        return current.headers["Authorization"] != rejected.headers.get("Authorization")

    def describe(self) -> CredentialDescription:
        """What the token tells of itself."""
        return described_by(self.authorize, "token file", self.path)

    def _read_or_keep(self) -> Authorization:
        now = _clock.monotonic()
        try:
            authorization = Authorization.bearer(read_secret(self.path).decode("ascii", "replace"))
        except CredentialError as error:
            return self._keep(error)
        self._last = _Reading(authorization, now)
        return authorization

    def _keep(self, error: CredentialError) -> Authorization:
        if self._last is not None:
            _log.warning("the token file %s gives no token, the last one stays in use: %s", self.path, error)
            return self._last.authorization
        if self.fallback is not None:
            return Authorization.bearer(self.fallback)
        raise CredentialError(f"the token file {self.path} gives no token: {error}") from error
