"""Places in an object, in the part of kubectl's JSONPath that picks values. Pure.

``.status.phase``, ``.metadata.labels.example\\.com/app``, ``['key']``, ``[0]``, ``[-1]``, ``[*]`` and
``[?(@.type=="Ready")]``, with or without braces around.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

import attrs

Step = Callable[[Any], Iterable[Any]]
"""From a value to those that lie one step below."""

_NAME = re.compile(r"\.((?:[^.\[\]=<>!\\{}()'\"\s]|\\.)+)")
_KEY = re.compile(r"""\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]""")
_INDEX = re.compile(r"\[(-?\d{1,9})\]")
_EACH = re.compile(r"\[\*\]")
_FILTER = re.compile(r"\[\?\(\s*@")
_FILTER_END = re.compile(r"\s*\)\]")
_COMPARISON = re.compile(r"\s*(==|!=|>=|<=|=|>|<)\s*")
_OPERAND = re.compile(r"""'[^']*'|"[^"]*"|[^\s'")\]]+""")
_NUMBER = re.compile(r"[-+]?([0-9]{1,300}(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_ESCAPE = re.compile(r"\\(.)")

_NUMERIC: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


@attrs.frozen
class Path:
    """Where values lie in an object."""

    steps: tuple[Step, ...]

    def values(self, document: Any) -> list[Any]:
        """All values there; a null counts as nothing, as it does in Kubernetes."""
        found = [document]
        for step in self.steps:
            found = [below for value in found for below in step(value)]
        return [value for value in found if value is not None]


@attrs.frozen
class Comparison:
    """What is asked of a value; by ``>``, ``>=``, ``<`` and ``<=`` only numbers are compared."""

    sign: str
    operand: str

    @classmethod
    def of(cls, sign: str, operand: str) -> Comparison:
        """ValueError where there is nothing to compare with, or no number where there must be one."""
        operand = operand.strip()
        if not operand:
            raise ValueError(f"there is nothing behind {sign}")
        if operand[0] in "=!<>":
            raise ValueError(f"the sign {sign}{operand[0]} is not known: take =, !=, <, <=, > or >=")
        bare = unquoted(operand)
        if sign in _NUMERIC and number_of(bare) is None:
            raise ValueError(f"{sign} compares numbers, and {bare!r} is none")
        return cls(sign, bare)

    def holds(self, value: Any) -> bool:
        """Whether a value passes."""
        if self.sign in _NUMERIC:
            left, right = number_of(value), number_of(self.operand)
            return left is not None and right is not None and _NUMERIC[self.sign](left, right)
        return self._equals(value) is (self.sign != "!=")

    def _equals(self, value: Any) -> bool:
        if isinstance(value, bool):
            return self.operand == str(value).lower()
        if isinstance(value, (int, float)):
            return number_of(self.operand) == value
        return bool(value == self.operand)


def number_of(value: Any) -> float | None:
    """The number that a value is or that a text spells; None for everything else."""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        return None if match is None else float(value) if match[2] or match[3] or "." in value else int(value)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def unquoted(text: str) -> str:
    """The text without the quotes around it."""
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" else text


def read_path(text: str, *, filters: bool = True) -> tuple[Path, str]:
    """The path that a text begins with, and what follows it; ValueError where a path is broken or empty."""
    steps: list[Step] = []
    rest = text.removeprefix("$")
    while rest[:1] in (".", "["):
        step, rest = _read_step(rest, filters)
        steps.append(step)
    if not steps:
        raise ValueError(f"a path begins with a dot, and {text!r} does not")
    return Path(tuple(steps)), rest


def _read_step(text: str, filters: bool) -> tuple[Step, str]:
    if filters and (match := _FILTER.match(text)):
        return _read_filter(text[match.end() :])
    for pattern, step_of in _STEPS:
        if match := pattern.match(text):
            return step_of(match), text[match.end() :]
    raise ValueError(f"the path is not understood from {text!r} on")


def _read_filter(text: str) -> tuple[Step, str]:
    path, rest = read_path(text, filters=False)
    comparison = None
    if match := _COMPARISON.match(rest):
        operand = _OPERAND.match(rest, match.end())
        if operand is None:
            raise ValueError(f"a filter compares with nothing at {rest!r}")
        comparison, rest = Comparison.of(match[1], operand[0]), rest[operand.end() :]
    end = _FILTER_END.match(rest)
    if end is None:
        raise ValueError(f"a filter ends with )], and not with {rest!r}")
    return _filter(path, comparison), rest[end.end() :]


def _filter(path: Path, comparison: Comparison | None) -> Step:
    def passes(value: Any) -> bool:
        found = path.values(value)
        return any(comparison is None or comparison.holds(one) for one in found)

    return lambda value: filter(passes, _each(value))


def _field(name: str) -> Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _item(place: int) -> Step:
    return lambda value: [value[place]] if isinstance(value, list) and -len(value) <= place < len(value) else []


def _each(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else []


def _name_step(match: re.Match[str]) -> Step:
    return _each if match[1] == "*" else _field(_ESCAPE.sub(r"\1", match[1]))


def _key_step(match: re.Match[str]) -> Step:
    return _field(_ESCAPE.sub(r"\1", match[1] if match[1] is not None else match[2]))


_STEPS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Step]], ...] = (
    (_NAME, _name_step),
    (_KEY, _key_step),
    (_INDEX, lambda match: _item(int(match[1]))),
    (_EACH, lambda _: _each),
)
