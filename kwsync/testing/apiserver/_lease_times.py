"""The times of a Lease: exactly six digits of a fraction, and stored in UTC. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._kind import Kind

Object = dict[str, Any]

_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_TIMES = ("acquireTime", "renewTime")
_TIME_PARTS = (
    (r"\d{4}", "2006"),
    ("-", "-"),
    (r"\d\d", "01"),
    ("-", "-"),
    (r"\d\d", "02"),
    ("T", "T"),
    (r"\d\d", "15"),
    (":", ":"),
    (r"\d\d", "04"),
    (":", ":"),
    (r"\d\d", "05"),
    (r"\.\d{6}(?!\d)", ".000000"),
    (r"Z|[+-]\d\d:\d\d", "Z07:00"),
)
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"


def with_times(kind: Kind, object: Object) -> Object:
    """A Lease with its times in UTC; 400 where they have not exactly six digits of a fraction (lease-400-time)."""
    spec = object.get("spec")
    if kind.plural != "leases" or not isinstance(spec, dict):
        return object
    times = {name: _in_utc(spec[name]) for name in _TIMES if isinstance(spec.get(name), str)}
    return {**object, "spec": {**spec, **times}}


def _in_utc(text: str) -> str:
    if not _MICRO_TIME.fullmatch(text):
        raise _bad_time(f'"{text}" as "{_MICRO_LAYOUT}": cannot parse {_rest(text)}')
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise _bad_time(f'"{text}": value out of range') from None
    # The year by hand: a year before 1000 would lose its zeros on some systems.
    return f"{moment.year:04}{moment:-%m-%dT%H:%M:%S.%fZ}"


def _bad_time(why: str) -> _status.ApiError:
    return _status.bad_request(f'Lease in version "v1" cannot be handled as a Lease: parsing time {why}')


def _rest(text: str) -> str:
    """Where Go's parser stopped, and at which part of the layout."""
    for pattern, layout in _TIME_PARTS:
        match = re.match(pattern, text, re.ASCII)
        if match is None:
            return f'"{text}" as "{layout}"'
        text = text[match.end() :]
    return f'"{text}" as ""'
