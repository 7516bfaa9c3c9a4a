"""The types of an object's fields, as far as they are known. Pure."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from kwsync.testing.apiserver import _go_types
from kwsync.testing.apiserver._go_types import Schema, Struct
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._schemas import FIELDS
from kwsync.testing.apiserver._schemas_meta import METADATA


def type_error(kind: Kind, object: Mapping[str, Any]) -> str:
    """The first value of a wrong type, in Go's words; empty where all are right."""
    if kind.custom:
        # Of a custom resource, metadata is decoded by itself.
        return _go_types.type_error(METADATA, object.get("metadata"))
    return _go_types.type_error(_schema(kind.group, kind.plural, kind.name), object)


def cleaned(kind: Kind, object: Mapping[str, Any]) -> dict[str, Any]:
    """The object without what a real server would not store: nulls, and what is empty."""
    if kind.custom:
        metadata = object.get("metadata")
        return dict(object) if metadata is None else {**object, "metadata": METADATA.cleaned(metadata)}
    found: dict[str, Any] = _schema(kind.group, kind.plural, kind.name).cleaned(object)
    return found


@functools.cache
def _schema(group: str, plural: str, kind: str) -> Struct:
    unknown: dict[str, Schema] = {name: Struct(f"v1.{kind}{name.title()}") for name in ("spec", "status")}
    return Struct(f"v1.{kind}", {"metadata": METADATA, **FIELDS.get((group, plural), unknown)})
