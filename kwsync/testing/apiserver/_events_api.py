"""One Event through two APIs: stored as v1 has it, and turned into events.k8s.io/v1 and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

_NEW_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_OLD_NAMES = {new: old for old, new in _NEW_NAMES.items()}
_OMITTED_EMPTY = ("reportingController", "reportingInstance")


def to_new(event: Mapping[str, Any]) -> Object:
    """As events.k8s.io/v1 shows a stored event (recorded: event-get-new-api)."""
    renamed = {_NEW_NAMES.get(name, name): value for name, value in event.items()}
    return {name: value for name, value in renamed.items() if value != "" or name not in _OMITTED_EMPTY}


def to_stored(event: Mapping[str, Any]) -> Object:
    """As an event that came through events.k8s.io/v1 is stored."""
    return {_OLD_NAMES.get(name, name): value for name, value in event.items()}
