"""A credential in words, for people who wonder about a 401: what it is, whence, whose, how long; never the secret.

Each way describes itself in a method ``describe()``, which a user's own may have, too.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from kwsync._cluster import Cluster
from kwsync.credentials._der import facts_of
from kwsync.credentials._protocol import AuthContext, Authorization, CredentialError

NOWHERE = AuthContext(Cluster(""), lambda: None)
"""For ways that look at nothing in it."""


@attrs.frozen(kw_only=True)
class CredentialDescription:
    """What can be said of a credential without asking anybody: nothing is run, fetched or sent."""

    kind: str
    """What it is, in words: ``bearer token``, ``client certificate``."""
    source: str = ""
    """Where it comes from: paths of files, a command, a provider's name; empty for given by the program."""
    user: str = ""
    """Whose it says it is. Nobody has verified it."""
    groups: tuple[str, ...] = ()
    """The groups that it says."""
    begins_at: float | None = None
    """Seconds since 1970; None where it does not tell."""
    expires_at: float | None = None
    """The same."""
    problem: str | None = None
    """Why no request can be made with it; None where nothing speaks against it."""
    notes: tuple[str, ...] = ()
    """What else there is to know, in sentences."""


def describe(credential: object) -> CredentialDescription:
    """What *credential* is, in words and without its secret.

    It is what its own method ``describe()`` gives, without an argument, as every credential of kwsync has it; of
    another the name of its class is told. Reads files at most. Nothing is raised.
    """
    own = getattr(credential, "describe", None)
    name = type(credential).__name__
    if isinstance(credential, type) or not callable(own):
        return CredentialDescription(kind=name, notes=("it does not describe itself: it has no method describe()",))
    try:
        found = own()
    except Exception as error:  # noqa: BLE001 - a user's own may raise anything, with a secret in its text
        return CredentialDescription(kind=name, notes=(f"its describe() failed with {type(error).__name__}",))
    if isinstance(found, CredentialDescription):
        return found
    return CredentialDescription(kind=name, notes=(f"its describe() gave {type(found).__name__}, no description",))


def together(parts: Sequence[CredentialDescription]) -> CredentialDescription:
    """Several that go into one request, as one: it lasts as long as the first that ends."""
    return CredentialDescription(
        kind=" and ".join(part.kind for part in parts),
        source=", ".join(part.source for part in parts if part.source),
        user=next((part.user for part in parts if part.user), ""),
        groups=next((part.groups for part in parts if part.user), ()),
        begins_at=max((part.begins_at for part in parts if part.begins_at is not None), default=None),
        expires_at=min((part.expires_at for part in parts if part.expires_at is not None), default=None),
        problem=next((part.problem for part in parts if part.problem), None),
        notes=tuple(note for part in parts for note in part.notes),
    )


def described(authorization: Authorization, kind: str, source: str = "") -> CredentialDescription:
    """What the proof itself tells: the claims of a JWT, the subject and the end of a certificate."""
    claims = claims_of(authorization)
    found = CredentialDescription(
        kind=kind,
        source=source,
        user=_text(claims.get("sub")),
        groups=_texts(claims.get("groups")),
        begins_at=_number(claims.get("nbf")),
        expires_at=_number(claims.get("exp")),
    )
    certificate = None if authorization.certificate is None else facts_of(authorization.certificate.certificate)
    if certificate is None or claims:
        return found
    return attrs.evolve(
        found,
        user=certificate.common_name,
        groups=certificate.organizations,
        begins_at=certificate.begins_at,
        expires_at=certificate.expires_at,
    )


def described_by(
    authorize: Callable[[AuthContext], Authorization], kind: str, source: str = ""
) -> CredentialDescription:
    """The same of a way that waits for nothing but the disk, and looks at no context."""
    try:
        return described(authorize(NOWHERE), kind, source)
    except CredentialError as error:
        return CredentialDescription(kind=kind, source=source, problem=str(error))


def claims_of(authorization: Authorization) -> Mapping[str, Any]:
    """The claims of a bearer token that is a JWT (RFC 7519), which nobody has verified; else none."""
    scheme, _, token = authorization.headers.get("Authorization", "").partition(" ")
    parts = token.split(".")
    if scheme.lower() != "bearer" or len(parts) != 3:
        return {}
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _number(value: object) -> float | None:
    """A time; what no calendar has is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e11:
        return None
    return float(value)
