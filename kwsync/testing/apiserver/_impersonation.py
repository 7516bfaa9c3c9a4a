"""Requests that somebody makes in the name of somebody else: the headers Impersonate-User and its kind. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kwsync.testing._headers import Headers
from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._target import Target

VERB = "impersonate"
"""The verb of the right to do so, on users, groups and service accounts."""
ANONYMOUS = "system:anonymous"
_PREFIX = "impersonate-"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_AUTHENTICATED = "system:authenticated"
_UNAUTHENTICATED = "system:unauthenticated"


class Persona(NamedTuple):
    """Who a request wants to be; what else the headers say of them (uid, extra) is not looked at."""

    name: str
    groups: tuple[str, ...]
    """As they were asked for."""

    @property
    def all_groups(self) -> tuple[str, ...]:
        """With those that a user of this name is in anyhow."""
        groups = self.groups
        if self.name.startswith(_SERVICE_ACCOUNT) and not groups:
            namespace = self.name.split(":")[2]
            groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        if self.name == ANONYMOUS:
            return (*groups, *({_UNAUTHENTICATED} - {*groups}))
        return groups if {_AUTHENTICATED, _UNAUTHENTICATED} & {*groups} else (*groups, _AUTHENTICATED)

    def targets(self) -> Iterator[tuple[Target, str]]:
        """What the right is needed for, and the name of it."""
        parts = self.name.split(":")
        if self.name.startswith(_SERVICE_ACCOUNT) and len(parts) == 4:
            yield Target("", plural="serviceaccounts", namespace=parts[2]), parts[3]
        else:
            yield Target("", plural="users"), self.name
        yield from ((Target("", plural="groups"), group) for group in self.groups)


def wanted_persona(headers: Headers) -> Persona | None:
    """Who the headers name, or nobody; 400 where they do not say a user."""
    if not any(name.lower().startswith(_PREFIX) for name, _ in headers.pairs):
        return None
    name = headers.get("Impersonate-User", "")
    if not name:
        raise _status.bad_request("the headers ask to impersonate without impersonating a user name")
    return Persona(name, tuple(headers.all("Impersonate-Group")))


def check_persona(persona: Persona, asker: str, allows: Callable[[str, Target, str], bool]) -> None:
    """403 for who may not be this."""
    for target, name in persona.targets():
        if not allows(VERB, target, name):
            raise _status.forbidden(asker, VERB, target.plural, "", target.namespace, name)
