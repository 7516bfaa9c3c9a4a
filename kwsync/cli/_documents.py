"""What is in an object or a row of a Table, however odd it is. Pure."""

from __future__ import annotations

from typing import Any

from kwsync import ObjectList, Resource, WatchEvent


def mapping(value: object) -> dict[str, Any]:
    """The value, if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """The value, if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list; of anything else none."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def rows_of(document: object) -> list[dict[str, Any]]:
    """The rows of a Table."""
    return objects(mapping(document).get("rows"))


def is_table(document: object) -> bool:
    """Whether it is a Table, as the server was asked for."""
    return mapping(document).get("kind") == "Table"


def metadata_of(document: object) -> dict[str, Any]:
    """The metadata of an object, or of the first row of a Table."""
    if is_table(document):
        rows = rows_of(document)
        document = rows[0].get("object") if rows else None
    return mapping(mapping(document).get("metadata"))


def identity_of(event: WatchEvent) -> tuple[str, str]:
    """Which object it is, and which state of it: uid and resource version."""
    return text(metadata_of(event.object).get("uid")), event.resource_version or ""


def documents_of(found: ObjectList) -> list[dict[str, Any]]:
    """What a watch would give for each object of a list: the object, or a Table with its row."""
    if found.column_definitions is None:
        return found.items
    return [{"kind": "Table", "columnDefinitions": found.column_definitions, "rows": [row]} for row in found.items]


def plural_of(resource: Resource) -> str:
    """For sentences: ``pods``, ``deployments.apps``."""
    return f"{resource.plural}.{resource.group}".rstrip(".")


def kind_of(resource: Resource) -> str:
    """As kubectl writes it before a name: ``pod``, ``deployment.apps``; the plural where the kind is not known."""
    name = (resource.kind or resource.plural).lower()
    return f"{name}.{resource.group}" if resource.group else name
