"""Which objects a list, a watch or a delete of a collection is about. Pure."""

from __future__ import annotations

from collections.abc import Callable

from kwsync.testing.apiserver._collection import Row, Version, within
from kwsync.testing.apiserver._fields import fields_of
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._options import ListOptions

Matcher = Callable[[Version], bool]

_NAME = "metadata.name"


def matcher(kind: Kind, options: ListOptions) -> Matcher | None:
    """Tells whether an object fulfils both selectors; None where everything does."""
    labels, fields = options.labels, options.fields
    if not labels.requirements and not fields.requirements:
        return None
    name = fields.exact(_NAME)
    if name is not None and len(fields.requirements) == 1 and not labels.requirements:
        return lambda version: version.name == name

    def matches(version: Version) -> bool:
        if not labels.matches(version.metadata.get("labels")):
            return False
        if not fields.requirements:
            return True
        return fields.matches(fields_of(kind.group, kind.name, version.object, kind.selectable_fields))

    return matches


def prefix_of(namespace: str) -> str:
    """What the keys of a namespace begin with; empty for all namespaces."""
    return f"{namespace}/" if namespace else ""


def selected(rows: list[Row], namespace: str, matches: Matcher | None) -> list[Version]:
    """All of the namespace that match, in the order of keys."""
    start, end = within(rows, prefix_of(namespace))
    return [version for _, version in rows[start:end] if matches is None or matches(version)]
