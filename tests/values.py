"""Values for property tests: JSON of any shape."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([10**400, -(10**400), float("inf"), float("nan")])
    | st.text(max_size=20)
)
keys = st.text(max_size=5) | st.sampled_from(
    ["type", "object", "kind", "metadata", "name", "namespace", "resourceVersion", "annotations", "rows"]
    + ["status", "reason", "code", "message", "details", "retryAfterSeconds", "causes"]
)


def _containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(children, max_size=3) | st.dictionaries(keys, children, max_size=4)


json_values: st.SearchStrategy[Any] = st.recursive(scalars, _containers, max_leaves=12)
"""Any decoded JSON, with the keys of Kubernetes more often than chance would have it."""

json_objects: st.SearchStrategy[dict[str, Any]] = st.dictionaries(keys, json_values, max_size=6)


def nested(depth: int) -> list[Any]:
    """A list in a list in a list."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value
