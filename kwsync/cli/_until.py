"""States to wait for, as ``kubectl wait --for`` has them, and plain comparisons of fields. Pure.

| ``condition=Ready``, ``condition=Ready=False`` | a condition has this status (True, if none is told) |
| ``jsonpath={.status.phase}=Running`` | the field has this value; without ``=…`` any |
| ``.status.phase=Running``, ``.status.readyReplicas>=3`` | the same, and ``==``, ``!=``, ``>``, ``>=``, ``<``, ``<=`` |
| ``create``, ``delete`` | it is there; it has been deleted |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

import attrs

from kwsync.cli._documents import mapping, metadata_of, objects, text
from kwsync.cli._jsonpath import Comparison, Path, read_path, unquoted

_EXAMPLES = "say condition=Ready, .status.phase=Running, .status.readyReplicas>=3, create or delete"
_SIGN = re.compile(r"==|!=|>=|<=|=|>|<")
_QUOTED_BRACES = re.compile(r"""(['"])(\{.*?\})\1""")

_THERE = ("ADDED", "MODIFIED")


class Event(Protocol):
    """What a `kwsync.WatchEvent` has, as far as it matters here."""

    @property
    def type(self) -> str:
        """What happened."""

    @property
    def object(self) -> dict[str, Any] | None:
        """The whole object, no Table."""


@attrs.frozen
class Until:
    """A state that is waited for."""

    expression: str
    _types: tuple[str, ...]
    _is_met: Callable[[dict[str, Any]], bool]
    by_presence: bool = False
    """Whether it is enough that the object is there."""

    def holds(self, event: Event) -> bool:
        """Whether the event shows an object in this state. What is deleted is in no state, and its last one is past."""
        return event.type in self._types and self._is_met(mapping(event.object))

    @property
    def by_absence(self) -> bool:
        """Whether the state has been reached, too, when a complete list shows no object."""
        return "DELETED" in self._types


def parse_until(expression: str) -> Until:
    """Read the expression of ``--until``; ValueError with one sentence where it is none."""
    found = expression.strip()
    word, equals, rest = found.partition("=")
    try:
        if found in ("create", "delete"):
            types = _THERE if found == "create" else ("DELETED",)
            return Until(expression, types, lambda _: True, by_presence=found == "create")
        if word == "condition" and equals:
            return Until(expression, _THERE, _condition(rest))
        if word == "jsonpath" and equals:
            return Until(expression, _THERE, _field(_relaxed(rest)))
        if found[:1] in (".", "[", "{", "$"):
            return Until(expression, _THERE, _field(found))
    except ValueError as error:
        raise ValueError(f"{expression!r} is no state to wait for: {error}") from None
    raise ValueError(f"{expression!r} is no state to wait for: {_EXAMPLES}")


def _relaxed(found: str) -> str:
    """kubectl takes paths without a dot and without braces, too, and quotes around the braces."""
    found = _QUOTED_BRACES.sub(r"\2", found, count=1)
    return found if found[:1] in (".", "[", "{", "$", "") else f".{found}"


def _condition(found: str) -> Callable[[dict[str, Any]], bool]:
    name, equals, status = found.partition("=")
    status = unquoted(status.strip()) if equals else "True"
    if not name.strip() or not status:
        raise ValueError("a condition has a name, and a status if there is a second =, as in condition=Ready=False")
    return lambda document: _has_condition(document, name.strip().lower(), status.lower())


def _has_condition(document: dict[str, Any], name: str, status: str) -> bool:
    """As kubectl: without regard to case, and not if the controller has not yet seen the last change."""
    state = mapping(document.get("status"))
    for condition in objects(state.get("conditions")):
        if text(condition.get("type")).lower() == name:
            observed = condition.get("observedGeneration", state.get("observedGeneration"))
            return text(condition.get("status")).lower() == status and not _is_behind(observed, document)
    return False


def _is_behind(observed: object, document: dict[str, Any]) -> bool:
    generation = metadata_of(document).get("generation")
    return isinstance(observed, int) and isinstance(generation, int) and observed < generation


def _field(found: str) -> Callable[[dict[str, Any]], bool]:
    path, rest = _read_braced(found) if found.startswith("{") else read_path(found)
    comparison = _read_comparison(rest.strip())

    def is_met(document: dict[str, Any]) -> bool:
        """Where there are several values, all count; where there is none, nothing holds."""
        values = path.values(document)
        return bool(values) and all(comparison is None or comparison.holds(value) for value in values)

    return is_met


def _read_braced(found: str) -> tuple[Path, str]:
    inner = found[1:].lstrip()
    path, rest = read_path(inner if inner[:1] in (".", "[", "$") else f".{inner}")
    if not rest.lstrip().startswith("}"):
        raise ValueError(f"the brace is not closed at {rest!r}" if rest else "the brace is not closed")
    return path, rest.lstrip()[1:]


def _read_comparison(rest: str) -> Comparison | None:
    if not rest:
        return None
    match = _SIGN.match(rest)
    if match is None:
        raise ValueError(f"the path is not understood from {rest!r} on")
    return Comparison.of(match[0], rest[match.end() :])
