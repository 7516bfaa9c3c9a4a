"""What the query of a list, a watch or a get says, and the mistakes in it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._fields import check_fields, custom_field_labels, field_labels
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._numbers import parse_integer
from kwsync.testing.apiserver._selectors import FieldSelector, LabelSelector, SelectorError

_MATCH = "resourceVersionMatch"
_LONGEST_SECONDS = 2_000_000
"""Some three weeks, which is what a poll can wait."""


class ListOptions(NamedTuple):
    """The options of a list or a watch, as they were sent; what is absent is empty."""

    labels: LabelSelector = LabelSelector()
    fields: FieldSelector = FieldSelector()
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    token: str = ""
    watch: bool = False
    bookmarks: bool = False
    initial_events: bool | None = None
    timeout: int = 0


def parse_options(kind: Kind, query: Mapping[str, str], *, watch_path: bool = False) -> ListOptions:
    """Read a query, or raise 400; contradictions are found by `check_list` and `check_watch`."""
    initial = query.get("sendInitialEvents")
    return ListOptions(
        labels=_labels(query.get("labelSelector", "")),
        fields=_fields(kind, query.get("fieldSelector", "")),
        resource_version=query.get("resourceVersion", ""),
        match=query.get(_MATCH, ""),
        limit=max(0, parse_integer(query.get("limit", ""))),
        token=query.get("continue", ""),
        watch=watch_path or flag(query, "watch"),
        bookmarks=flag(query, "allowWatchBookmarks"),
        initial_events=None if initial is None else _is_true(initial),
        timeout=min(parse_integer(query.get("timeoutSeconds", "")), _LONGEST_SECONDS),
    )


def flag(query: Mapping[str, str], name: str) -> bool:
    """A boolean parameter: everything but `false` and `0` is true, the empty value too."""
    return name in query and _is_true(query[name])


def _is_true(text: str) -> bool:
    return text.lower() not in ("false", "0")


def _labels(text: str) -> LabelSelector:
    try:
        return LabelSelector.parse(text)
    except SelectorError as error:
        raise _status.bad_request(str(error)) from None


def _fields(kind: Kind, text: str) -> FieldSelector:
    try:
        selector = FieldSelector.parse(text)
        check_fields(selector, _supported(kind), custom=kind.custom)
    except SelectorError as error:
        raise _status.bad_request(str(error)) from None
    return selector


def _supported(kind: Kind) -> frozenset[str]:
    if kind.custom:
        return custom_field_labels(kind.namespaced, kind.selectable_fields)
    return field_labels(kind.group, kind.version, kind.name)


def check_list(options: ListOptions) -> None:
    """422 for options that contradict each other on a list (A1)."""
    causes = []
    if options.match:
        if not options.resource_version:
            causes.append(_forbidden(_MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.token:
            causes.append(_forbidden(_MATCH, "resourceVersionMatch is forbidden when continue is provided"))
        if options.match not in ("Exact", "NotOlderThan"):
            causes.append(_unsupported(options.match, '"Exact", "NotOlderThan", ""'))
        if options.match == "Exact" and options.resource_version == "0":
            text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            causes.append(_forbidden(_MATCH, text))
    if options.initial_events is not None:
        causes.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    _raise(causes)


def check_watch(options: ListOptions) -> ListOptions:
    """422 for options that contradict each other on a watch; a watch without version becomes a watch-list (trap 6)."""
    if not options.match and options.initial_events is None and options.resource_version in ("", "0"):
        options = options._replace(match="NotOlderThan", initial_events=True)
    causes = []
    if options.initial_events is not None and options.match != "NotOlderThan":
        text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(_forbidden(_MATCH, text))
    if options.match:
        if options.initial_events is None:
            text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            causes.append(_forbidden(_MATCH, text))
        if options.match != "NotOlderThan":
            causes.append(_unsupported(options.match, '"NotOlderThan"'))
        if options.token:
            causes.append(_forbidden(_MATCH, "resourceVersionMatch is forbidden when continue is provided"))
    _raise(causes)
    return options


def _forbidden(field: str, text: str) -> _status.Cause:
    return _status.Cause("FieldValueForbidden", field, f"Forbidden: {text}")


def _unsupported(value: str, values: str) -> _status.Cause:
    text = f'Unsupported value: "{value}": supported values: {values}'
    return _status.Cause("FieldValueNotSupported", _MATCH, text)


def _raise(causes: list[_status.Cause]) -> None:
    if causes:
        raise _status.invalid_options(causes)
