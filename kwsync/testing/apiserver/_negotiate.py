"""In which shape the client wants the answer: what its Accept header says. Pure."""

from __future__ import annotations

from typing import NamedTuple

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._kind import Kind

JSON_TYPE = "application/json"
YAML_TYPE = "application/yaml"

ANY_TYPES = ("*/*", "application/*")
_VIEWS = {
    "": "object",
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata-list",
}


class Accepted(NamedTuple):
    """What is chosen; the view is object, table, metadata or metadata-list."""

    content_type: str = JSON_TYPE
    view: str = "object"
    version: str = "v1"
    """Of a Table: kubectl also knows v1beta1."""


class Clause(NamedTuple):
    """One alternative of an Accept header."""

    media_type: str
    parameters: dict[str, str]

    @property
    def quality(self) -> float:
        """How much it is wanted, from 0 to 1."""
        try:
            return float(self.parameters.get("q", "1"))
        except ValueError:
            return 0.0


def clauses_of(accept: str) -> list[Clause]:
    """The alternatives of an Accept header, the most wanted first."""
    found = []
    for part in accept.split(","):
        media_type, *pairs = (text.strip() for text in part.split(";"))
        parameters = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        if media_type:
            found.append(Clause(media_type.lower(), parameters))
    return sorted(found, key=lambda clause: -clause.quality)


def negotiate(accept: str, kind: Kind | None, *, stream: bool = False, collection: bool = False) -> Accepted:
    """The first clause of Accept that can be met, or 406; no protobuf and no CBOR here.

    A stream cannot be YAML (recorded: watch-yaml); on a *collection* the refusal lists the types of streams, too.
    """
    clauses = clauses_of(accept)
    for clause in clauses:
        found = _accepted(clause)
        if found is None:
            continue
        if stream and found.content_type == YAML_TYPE:
            raise _status.not_acceptable(_status.STREAM_TYPES)
        return found
    if not clauses:
        return Accepted()
    known = any(clause.media_type in (JSON_TYPE, YAML_TYPE) for clause in clauses)
    if known or kind is None or kind.custom:
        raise _status.not_acceptable()
    raise _status.nothing_acceptable(collection=collection)


def _accepted(clause: Clause) -> Accepted | None:
    wanted = clause.parameters.get("as", "")
    if clause.media_type in (JSON_TYPE, YAML_TYPE) and wanted in _VIEWS:
        return Accepted(clause.media_type, _VIEWS[wanted], clause.parameters.get("v", "v1"))
    return Accepted() if clause.media_type in ANY_TYPES and not wanted else None


def error_type(accept: str) -> str:
    """The type of an error's body: YAML for who wants that first, JSON for everybody else (D16)."""
    clauses = clauses_of(accept)
    return YAML_TYPE if clauses and clauses[0].media_type == YAML_TYPE else JSON_TYPE
