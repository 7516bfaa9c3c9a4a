"""Objects as their metadata only (recorded: get-partial, list-partial, watch-partial, watch-partial-bookmark)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kwsync.testing.apiserver._failure import JSON

GROUP = "meta.k8s.io"


def partial(document: JSON, version: str = "v1") -> JSON:
    """One object, also that of a bookmark, as PartialObjectMetadata; its metadata is that of the object itself."""
    return {"kind": "PartialObjectMetadata", "apiVersion": f"{GROUP}/{version}", "metadata": _metadata(document)}


def partial_list(documents: Iterable[JSON], metadata: JSON, version: str = "v1") -> JSON:
    """A list as PartialObjectMetadataList; *metadata* is that of the list. Its items say what they are."""
    items = [partial(document, version) for document in documents]
    head = {"kind": "PartialObjectMetadataList", "apiVersion": f"{GROUP}/{version}"}
    return {**head, "metadata": metadata, "items": items}


def _metadata(document: JSON) -> Any:
    metadata = document.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
