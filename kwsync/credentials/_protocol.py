"""What a way to prove who you are has to do: the whole protocol between a credential and the rest of kwsync."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import attrs

from kwsync import _clock
from kwsync._cancel import POLL_SECONDS, Gate, Guard
from kwsync._cluster import Cluster
from kwsync.errors import ConfigError


class CredentialError(ConfigError):
    """No credential could be had. A watch gives it as one ERROR event UNAUTHORIZED_ERROR 401, without a request."""


def _as_bytes(pem: str | bytes) -> bytes:
    if isinstance(pem, str):
        return pem.encode("ascii", "replace")
    if not isinstance(pem, bytes):
        raise TypeError(f"a certificate and its key are PEM, not {type(pem).__name__}")
    return pem


def _is_certificate(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    # attrs' own validator would show the value.
    if not (value is None or isinstance(value, Certificate)):
        raise TypeError(f"certificate must be a Certificate, not {type(value).__name__}")


@attrs.frozen
class Certificate:
    """A TLS client certificate and its key, both PEM, as bytes or text. TypeError for anything else."""

    certificate: bytes = attrs.field(repr=False, converter=_as_bytes)
    key: bytes = attrs.field(repr=False, converter=_as_bytes)


@attrs.frozen
class Authorization:
    """What one request proves itself with; the default proves nothing (anonymous)."""

    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    certificate: Certificate | None = attrs.field(default=None, validator=_is_certificate)

    @classmethod
    def bearer(cls, token: str) -> Authorization:
        """``Authorization: Bearer``; white space around the token is dropped (files end with a newline).

        CredentialError when the token is empty or has characters that no header may carry; the error does not show it.
        """
        token = token.strip()
        if not token:
            raise CredentialError("the bearer token is empty")
        if not token.isascii() or any(not "!" <= character <= "~" for character in token):
            raise CredentialError("the bearer token holds white space, control or non-ASCII characters")
        return cls({"Authorization": f"Bearer {token}"})


@attrs.frozen
class AuthContext:
    """What a credential may need to know; fields may be added, so take the whole."""

    cluster: Cluster
    """Where the request goes."""
    remaining: Callable[[], float | None]
    """Seconds left for the request, None for no limit; raises when it was cancelled: ask it before and during a long
    wait, and let its exception pass."""
    guard: Guard | None = attrs.field(default=None, repr=False, eq=False)
    """Strictly private: what wakes the request when it is cancelled."""

    def wait(self, gate: Gate, timeout: float | None = None) -> None:
        """Strictly private: wait until another thread opens *gate*, or *timeout* seconds; raises as `remaining`."""
        if self.guard is not None:
            self.guard.wait(gate, timeout)
            return
        end = None if timeout is None else _clock.monotonic() + timeout
        while not gate.wait(POLL_SECONDS) and (end is None or _clock.monotonic() < end):
            self.remaining()


@runtime_checkable
class Credential(Protocol):
    """A way to prove who you are. Both methods may be called by several threads at once.

    A whole one of your own::

        class FromVault:
            def authorize(self, context):
                return kwsync.credentials.Authorization.bearer(read_my_vault())

            def refresh(self, rejected):
                return False
    """

    def authorize(self, context: AuthContext) -> Authorization:
        """Called before each request, on the thread that makes it; cache what is expensive.

        Give one certificate at a time for one client: another one counts as its successor, and ends the watches that
        were made with the one before.

        Raise `CredentialError` when there is no credential. Any other exception counts as that, too.
        """
        ...

    def refresh(self, rejected: Authorization) -> bool:
        """The server answered *rejected* with 401: drop it if it is still what you would give.

        True when another `authorize` may give something else: the request is then sent once more.
        """
        ...
