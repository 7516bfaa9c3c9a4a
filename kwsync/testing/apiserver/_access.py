"""Who asks, and whether they may: tokens, certificates, and rules of which the last one that fits counts."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from kwsync.testing._request import Request
from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._impersonation import ANONYMOUS, check_persona, wanted_persona
from kwsync.testing.apiserver._target import Target

MASTERS = "system:masters"
"""The group that may do everything, whatever the rules say."""

_ABOUT_ONESELF = "selfsubject"
"""Reviews that everybody with a name may ask for (the role system:basic-user)."""
_PUBLIC = ("/version", "/healthz", "/livez", "/readyz")


@dataclass(frozen=True)
class User:
    """A name and groups, as a certificate or a token tells them."""

    name: str = ANONYMOUS
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """What some users may do, or may not; an empty tuple stands for everything."""

    allow: bool
    users: tuple[str, ...] = ()
    """Names of users or of groups."""
    verbs: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    """`pods`, `deployments.apps` or `pods/status`."""
    namespaces: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Names of objects: as in RBAC, a list or watch has one with the selector `metadata.name=…` only."""

    def fits(self, user: User, verb: str, target: Target, name: str) -> bool:
        """Whether it speaks of this."""
        return (
            _has(self.users, (user.name, *user.groups))
            and _has(self.verbs, (verb,))
            and _has(self.resources, _resource_names(target))
            and _has(self.namespaces, (target.namespace,))
            and _has(self.names, (name,))
        )


def _has(wanted: Iterable[str], given: Iterable[str]) -> bool:
    wanted = tuple(wanted)
    return not wanted or not set(wanted).isdisjoint(given)


def _resource_names(target: Target) -> tuple[str, str]:
    plural = f"{target.plural}/{target.subresource}" if target.subresource else target.plural
    return plural, f"{target.plural}.{target.group}" + (f"/{target.subresource}" if target.subresource else "")


class Access:
    """The users of one server. For any thread: what changes is replaced, never altered.

    Args:
        anonymous: whether requests without credentials are somebody (403 where that one may not); else they get 401.
    """

    def __init__(self, *, anonymous: bool = True) -> None:
        self.anonymous = anonymous
        self._rules: tuple[Rule, ...] = ()
        self._tokens: dict[str, User] = {}

    def add_rule(self, rule: Rule) -> None:
        """Add a rule, which wins over those before it."""
        self._rules += (rule,)

    def clear_rules(self) -> None:
        """Let everybody do everything again."""
        self._rules = ()

    def new_token(self, name: str, groups: Iterable[str] = ()) -> str:
        """A new token for a user; older ones stay valid."""
        token = secrets.token_urlsafe(24)
        self._tokens = {**self._tokens, token: User(name, (*groups, "system:authenticated"))}
        return token

    def revoke(self, token: str) -> None:
        """Know a token no more: 401 from the next request on; open watches go on (A3)."""
        self._tokens = {known: user for known, user in self._tokens.items() if known != token}

    def knows(self, token: str) -> bool:
        """Whether a token is somebody's."""
        return token in self._tokens

    def authenticate(self, request: Request) -> User:
        """The user for whom a request is made; 401 for an unknown token, and for nobody where somebody must be."""
        user = self._sender(request)
        persona = wanted_persona(request.headers)
        if persona is None:
            return user
        check_persona(persona, user.name, functools.partial(self.allows, user))
        return User(persona.name, persona.all_groups)

    def _sender(self, request: Request) -> User:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            user = self._tokens.get(token.strip())
            if user is None:
                raise _status.unauthorized()
            return user
        certificate = request.peer_certificate
        if certificate is not None:
            return User(certificate.common_name, (*certificate.organizations, "system:authenticated"))
        if scheme or not self.anonymous:
            raise _status.unauthorized()
        return User(ANONYMOUS, ("system:unauthenticated",))

    def allows(self, user: User, verb: str, target: Target, name: str) -> bool:
        """Whether a user may; everybody may everything that no rule speaks of."""
        if MASTERS in user.groups or (user.name != ANONYMOUS and target.plural.startswith(_ABOUT_ONESELF)):
            return True
        for rule in reversed(self._rules):
            if rule.fits(user, verb, target, name):
                return rule.allow
        return True

    def check(self, user: User, verb: str, target: Target, name: str) -> None:
        """403 for who may not, before anything else is looked at (trap 15)."""
        if not self.allows(user, verb, target, name):
            raise _status.forbidden(
                user.name, verb, target.plural, target.group, target.namespace, name, target.subresource
            )

    def check_path(self, user: User, method: str, path: str) -> None:
        """403 for discovery and the like, which is denied to nobody but the anonymous; some of it is public."""
        if user.name != ANONYMOUS or path.rstrip("/") in _PUBLIC:
            return
        if not self.allows(user, method.lower(), Target(method, plural=path), ""):
            raise _status.forbidden_path(user.name, method.lower(), path)
