"""Which resource is meant, and its path. Pure: names that only a server can explain are left to discovery."""

from __future__ import annotations

import re
import urllib.parse

import attrs

from kwsync._kinds import Kind, find_kind


class ScopeError(ValueError):
    """A namespace for objects that have none, or none for one object that has."""


_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def check_segment(value: object, what: str) -> str:
    """One segment of a path; TypeError or ValueError where it is none.

    Kubernetes refuses the same names (IsValidPathSegmentName in apimachinery), except for control characters and lone
    surrogates, which no name can hold.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {type(value).__name__}")
    if value in ("", ".", "..") or "/" in value or "%" in value or _UNPRINTABLE.search(value):
        raise ValueError(f"{what} {value!r} cannot be part of a path")
    return value


def _segment(instance: object, attribute: attrs.Attribute[str], value: str) -> None:
    check_segment(value, attribute.name)


def _segment_or_empty(instance: object, attribute: attrs.Attribute[str], value: str) -> None:
    if value != "":
        check_segment(value, attribute.name)


def _bool_or_none(instance: object, attribute: attrs.Attribute[bool | None], value: object) -> None:
    if not isinstance(value, bool | None):
        raise TypeError(f"{attribute.name} must be True, False or None, not {value!r}")


def _text_or_none(instance: object, attribute: attrs.Attribute[str | None], value: object) -> None:
    if not isinstance(value, str | None):
        raise TypeError(f"{attribute.name} must be a string or None, not {value!r}")


@attrs.frozen
class Resource:
    """A kind of objects, as the API serves it: its group (empty for core), version and plural name.

    *namespaced* and *kind* are what is known beside that, or None; they do not count when two resources are compared.
    TypeError and ValueError tell of parts that cannot stand in a path.
    """

    group: str = attrs.field(validator=_segment_or_empty)
    version: str = attrs.field(validator=_segment)
    plural: str = attrs.field(validator=_segment)
    namespaced: bool | None = attrs.field(default=None, eq=False, validator=_bool_or_none)
    kind: str | None = attrs.field(default=None, eq=False, validator=_text_or_none)

    @classmethod
    def parse(cls, text: str) -> Resource:
        """Read a name as kubectl does, without asking a server.

        Good are ``pods``, ``Pod``, ``po``, ``deployments.apps``, ``deployments.v1.apps``, ``v1/pods``,
        ``apps/v1/deployments``, ``crontabs.v1.stable.example.com``. ValueError where the text is none of these, or
        names what only a server can tell: ``Client.discover`` finds that.
        """
        resource = parse_or_defer(text)
        if resource is None:
            raise ValueError(f"{text!r} is not built in; client.discover({text!r}) asks the server for it")
        return resource

    @property
    def api_version(self) -> str:
        """``v1`` or ``apps/v1``, as an object's ``apiVersion``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.plural}.{self.version}.{self.group}".rstrip(".")

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The path of the collection, an object or its subresource, without the cluster's base path.

        Without a *namespace* it is that of all namespaces. ValueError for what is no path segment, and for paths that
        the server does not have: a namespace for cluster-scoped objects, none for one namespaced object.
        """
        self._check_scope(namespace, name)
        if subresource is not None and name is None:
            raise ValueError("a subresource belongs to one object: give a name")
        segments = ["apis", self.group] if self.group else ["api"]
        segments.append(self.version)
        if namespace is not None:
            segments += ["namespaces", check_segment(namespace, "namespace")]
        segments.append(self.plural)
        if name is not None:
            segments.append(check_segment(name, "name"))
        if subresource is not None:
            segments.append(check_segment(subresource, "subresource"))
        return "".join(f"/{urllib.parse.quote(segment, safe='')}" for segment in segments)

    def _check_scope(self, namespace: str | None, name: str | None) -> None:
        if self.namespaced is False and namespace is not None:
            raise ScopeError(f"{self} are not namespaced: leave the namespace out")
        if self.namespaced is True and namespace is None and name is not None:
            raise ScopeError(f"{self} are namespaced: one object needs a namespace")


def parse_or_defer(text: str) -> Resource | None:
    """As `Resource.parse`, but None where only discovery can tell; ValueError where *text* is no resource's name."""
    if not isinstance(text, str):
        raise TypeError(f"a resource is a string or a Resource, not {type(text).__name__}")
    return _parse_path(text) if "/" in text else _parse_dotted(text)


def _parse_path(text: str) -> Resource | None:
    """``v1/pods`` and ``apps/v1/deployments``. The version may be any label, as a definition's may."""
    *groups, version, name = text.split("/")
    if len(groups) > 1 or (not groups and not _VERSION.fullmatch(version)):
        raise _malformed(text)
    group = groups[0] if groups else ""
    if not _are_labels([*group.split("."), version, name] if groups else [name]):
        raise _malformed(text)
    return _named(name, group.lower(), version.lower())


def _parse_dotted(text: str) -> Resource | None:
    """``pods``, ``pods.v1`` (kubectl writes ``pods.v1.``), ``deployments.apps`` and ``deployments.v1.apps``.

    What looks like a version is one, as for kubectl; a group may not begin with such a label here.
    """
    name, _, rest = text.partition(".")
    version, _, group = rest.partition(".")
    if _VERSION.fullmatch(version) and _are_labels([name, *group.split(".")] if group else [name]):
        return _named(name, group.lower(), version)
    if not _are_labels(text.split(".")):
        raise _malformed(text)
    kind = find_kind(name, rest.lower() or None)
    return _from_table(kind) if kind else None


def _named(name: str, group: str, version: str) -> Resource | None:
    """With group and version given, any small name may be a plural; a kind that is unknown may not."""
    kind = find_kind(name, group, version)
    if kind:
        return _from_table(kind)
    return Resource(group, version, name) if name == name.lower() else None


def _from_table(kind: Kind) -> Resource:
    return Resource(kind.group, kind.version, kind.plural, kind.namespaced, kind.name)


def _are_labels(parts: list[str]) -> bool:
    return all(_LABEL.fullmatch(part) for part in parts)


def _malformed(text: str) -> ValueError:
    return ValueError(
        f"{text!r} names no resource: write a plural, plural.group, plural.version.group, v1/plural or"
        " group/version/plural"
    )
