"""What a request is about, from its method and path alone: rights are checked before anything is known to exist."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """A path below /api or /apis. The parts that it does not have are empty."""

    method: str
    group: str = ""
    version: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    in_namespace: bool = False
    """Whether the path goes through a namespace."""
    watch_path: bool = False
    """Whether it is one of the deprecated paths below /watch/."""

    def verb(self, watch: bool) -> str:
        """The verb that rights are given for."""
        if self.method == "GET":
            return "watch" if watch or self.watch_path else "get" if self.name else "list"
        if self.method == "DELETE" and not self.name:
            return "deletecollection"
        return _VERBS.get(self.method, self.method.lower())


_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
VERBS = ("get", "list", "watch", *_VERBS.values(), "delete", "deletecollection")


def parse_target(method: str, path: str) -> Target | None:
    """The object or collection that a path names; None for discovery and for everything outside the API.

    A slash at the end is accepted (recorded: 404-trailing-slash).
    """
    parts = path.strip("/").split("/")
    if parts[0] == "api":
        group, rest = "", parts[1:]
    elif parts[0] == "apis" and len(parts) > 1:
        group, rest = parts[1], parts[2:]
    else:
        return None
    if len(rest) < 2:
        return None
    version, *rest = rest
    watch_path = rest[0] == "watch"
    rest = rest[1:] if watch_path else rest
    return _resource(Target(method, group, version, watch_path=watch_path), rest) if rest else None


def _resource(target: Target, parts: list[str]) -> Target:
    # /namespaces/x and /namespaces/x/status are a namespace, /namespaces/x/y something in it.
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in ("status", "finalize"):
        target = target._replace(namespace=parts[1], in_namespace=True)
        parts = parts[2:]
    plural, name, *more = [*parts, ""][: max(2, len(parts))]
    return target._replace(plural=plural, name=name, subresource="/".join(more))
