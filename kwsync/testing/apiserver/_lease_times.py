"""The times of a Lease: exactly six digits of a fraction, and stored in UTC. Pure."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._go_time import MICRO_LAYOUT, is_time, why_no_time
from kwsync.testing.apiserver._kind import Kind

Object = dict[str, Any]

_TIMES = ("acquireTime", "renewTime")


def with_times(kind: Kind, object: Object) -> Object:
    """A Lease with its times in UTC; 400 where they have not exactly six digits of a fraction (lease-400-time)."""
    spec = object.get("spec")
    if kind.plural != "leases" or not isinstance(spec, dict):
        return object
    times = {name: _in_utc(spec[name]) for name in _TIMES if isinstance(spec.get(name), str)}
    return {**object, "spec": {**spec, **times}}


def _in_utc(text: str) -> str:
    if not is_time(text, MICRO_LAYOUT):
        raise _bad_time(why_no_time(text, MICRO_LAYOUT))
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise _bad_time(f'parsing time "{text}": value out of range') from None
    # The year by hand: a year before 1000 would lose its zeros on some systems.
    return f"{moment.year:04}{moment:-%m-%dT%H:%M:%S.%fZ}"


def _bad_time(why: str) -> _status.ApiError:
    return _status.bad_request(f'Lease in version "v1" cannot be handled as a Lease: {why}')
