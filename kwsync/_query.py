"""What a get, list or watch asks for: options, the query and the Accept header. Pure.

The options refuse at once what the server refuses for sure; the rules are those of the API concepts page and of
ValidateListOptions in apimachinery, as seen on kube-apiserver 1.36.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterable
from typing import Any

import attrs

from kwsync._resources import check_segment
from kwsync._selectors import FieldSelector, LabelSelector, check_text, field_selector, label_selector

__all__ = [
    "FieldSelector",
    "LabelSelector",
    "ListOptions",
    "Selection",
    "WatchOptions",
    "accept",
    "encode",
    "field_selector",
    "label_selector",
]

NOT_OLDER_THAN = "NotOlderThan"
EXACT = "Exact"
MAX_LINE_BYTES = 64 * 1024 * 1024
"""Default limit of one event. An object has at most 3 MiB in etcd; Tables and conversions may be larger."""


def _label_selector_or_none(value: LabelSelector | None) -> str | None:
    return None if value is None else label_selector(value) or None


def _field_selector_or_none(value: FieldSelector | None) -> str | None:
    return None if value is None else field_selector(value) or None


def _empty_is_none(value: str | None) -> str | None:
    return None if value == "" else value


def _optional_text(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None:
        check_text(value, attribute.name)


def _optional_segment(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None:
        check_segment(value, attribute.name)


def _optional_bool(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None and not isinstance(value, bool):
        raise TypeError(f"{attribute.name} must be True, False or None, not {value!r}")


def _positive(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{attribute.name} must be an int, not {value!r}")
    if value < 1:
        raise ValueError(f"{attribute.name} must be 1 or more, not {value}")


def _optional_positive(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None:
        _positive(instance, attribute, value)


def _view(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if check_text(value, attribute.name) not in _ACCEPT:
        raise ValueError(f"view must be one of {', '.join(_ACCEPT)}, not {value!r}")


@attrs.frozen(kw_only=True)
class Selection:
    """Which objects, how much of each and how fresh: what list and watch have in common.

    An empty namespace means all; other empty strings (but for the name) count as not given.
    """

    namespace: str | None = attrs.field(default=None, converter=_empty_is_none, validator=_optional_segment)
    name: str | None = attrs.field(default=None, validator=_optional_segment)
    label_selector: str | None = attrs.field(default=None, converter=_label_selector_or_none)
    field_selector: str | None = attrs.field(default=None, converter=_field_selector_or_none)
    view: str = attrs.field(default="object", validator=_view)
    resource_version: str | None = attrs.field(default=None, converter=_empty_is_none, validator=_optional_text)
    resource_version_match: str | None = attrs.field(default=None, converter=_empty_is_none, validator=_optional_text)

    def selector_pairs(self) -> list[tuple[str, str]]:
        """The selectors as query pairs; the name is one of them, since only a collection can be watched."""
        by_name = None if self.name is None else field_selector({"metadata.name": self.name})
        fields = ",".join(part for part in (by_name, self.field_selector) if part)
        return _present([("labelSelector", self.label_selector), ("fieldSelector", fields or None)])


@attrs.frozen(kw_only=True)
class WatchOptions(Selection):
    """The options of one watch request, as the caller gave them.

    TypeError and ValueError at once for what the server would refuse; `pairs` fills in what follows from them.
    """

    timeout_seconds: int | None = attrs.field(default=None, validator=_optional_positive)
    allow_watch_bookmarks: bool | None = attrs.field(default=None, validator=_optional_bool)
    send_initial_events: bool | None = attrs.field(default=None, validator=_optional_bool)
    max_line_bytes: int = attrs.field(default=MAX_LINE_BYTES, validator=_positive)

    def __attrs_post_init__(self) -> None:
        match = self.resource_version_match
        if match not in (None, NOT_OLDER_THAN):
            raise ValueError(f"a watch takes no resource_version_match but {NOT_OLDER_THAN!r}, not {match!r}")
        if match and self.send_initial_events is None:
            raise ValueError("a watch takes resource_version_match only together with send_initial_events")
        if match is None and self.send_initial_events is False:
            raise ValueError(f"send_initial_events=False needs resource_version_match={NOT_OLDER_THAN!r}")

    def pairs(self) -> list[tuple[str, str]]:
        """The query, in order; with ``send_initial_events=True`` the match and bookmarks it needs are added."""
        initial = self.send_initial_events
        match = self.resource_version_match or (NOT_OLDER_THAN if initial else None)
        bookmarks = True if initial and self.allow_watch_bookmarks is None else self.allow_watch_bookmarks
        timeout = None if self.timeout_seconds is None else str(self.timeout_seconds)
        rest = [
            ("resourceVersion", self.resource_version),
            ("resourceVersionMatch", match),
            ("timeoutSeconds", timeout),
            ("allowWatchBookmarks", _boolean(bookmarks)),
            ("sendInitialEvents", _boolean(initial)),
        ]
        return [("watch", "true"), *self.selector_pairs(), *_present(rest)]


@attrs.frozen(kw_only=True)
class ListOptions(Selection):
    """The options of one list request (one page, where there is a limit).

    TypeError and ValueError at once for what the server would refuse. A limit with a resource version and no match asks
    for exactly that version, which may be gone.
    """

    limit: int | None = attrs.field(default=None, validator=_optional_positive)
    continue_token: str | None = attrs.field(default=None, converter=_empty_is_none, validator=_optional_text)

    def __attrs_post_init__(self) -> None:
        if self.continue_token and self.resource_version not in (None, "0"):
            raise ValueError("a continue token holds its resource version: resource_version must be None")
        if self.resource_version_match is not None:
            self._check_match(self.resource_version_match)

    def _check_match(self, match: str) -> None:
        if match not in (EXACT, NOT_OLDER_THAN):
            raise ValueError(f"resource_version_match must be {EXACT!r} or {NOT_OLDER_THAN!r}, not {match!r}")
        if self.resource_version is None:
            raise ValueError("resource_version_match needs a resource_version")
        if self.continue_token:
            raise ValueError("resource_version_match cannot go with a continue token")
        if match == EXACT and self.resource_version == "0":
            raise ValueError("resource version 0 is any version, there is no exact one")

    def pairs(self) -> list[tuple[str, str]]:
        """The query, in order."""
        rest = [
            ("limit", None if self.limit is None else str(self.limit)),
            ("continue", self.continue_token),
            ("resourceVersion", self.resource_version),
            ("resourceVersionMatch", self.resource_version_match),
        ]
        return [*self.selector_pairs(), *_present(rest)]


def _boolean(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


def _present(pairs: Iterable[tuple[str, str | None]]) -> list[tuple[str, str]]:
    return [(key, value) for key, value in pairs if value is not None]


_JSON = "application/json"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.9"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;q=0.9"
_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"

_ACCEPT = {
    "object": {"get": _JSON, "list": _JSON, "watch": _JSON},
    "metadata": {"get": _METADATA, "list": _METADATA_LIST, "watch": _METADATA},
    "table": {"get": _TABLE, "list": _TABLE, "watch": _TABLE},
}


def accept(view: str, verb: str) -> str:
    """The Accept header of a get, list or watch; ValueError for another view or verb.

    Each verb needs its exact form (seen on kube-apiserver 1.36): a list in the single form is a 406, and a watch in the
    list form ends at once with status 200 and no event. Servers that know no metadata view send full objects.
    """
    try:
        return _ACCEPT[view][verb]
    except KeyError:
        raise ValueError(f"no Accept header for view {view!r} and verb {verb!r}") from None


def encode(pairs: Iterable[tuple[str, str]]) -> str:
    """A query string, everything percent-encoded; a space is ``%20``, as the list path of other clients has it."""
    return urllib.parse.urlencode(list(pairs), safe="", quote_via=urllib.parse.quote)
