"""Kubernetes objects as small as tests need them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def pod(name: str, rv: str = "1", uid: str | None = None, namespace: str = "default", **more: Any) -> dict[str, Any]:
    """A Pod; `more` are further top-level fields (`spec=…`), where `metadata=…` is merged, not replaced."""
    metadata = {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}", "resourceVersion": rv}
    metadata.update(more.pop("metadata", {}))
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **more}


def bookmark(rv: str, kind: str = "Pod", annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The object of a BOOKMARK event, as an API server sends it."""
    metadata: dict[str, Any] = {"resourceVersion": rv, "creationTimestamp": None}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    return {"kind": kind, "apiVersion": "v1", "metadata": metadata}


def status(code: int, reason: str = "", message: str = "", **more: Any) -> dict[str, Any]:
    """A Status object; an empty reason or message is left out, as an API server does."""
    outcome = "Failure" if code >= 400 else "Success"
    answer: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": outcome}
    answer.update({name: text for name, text in (("message", message), ("reason", reason)) if text})
    return {**answer, "code": code, **more}


def to_json(value: object) -> bytes:
    """Compact JSON in raw UTF-8, so that U+2028 and its kind go over the wire unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
