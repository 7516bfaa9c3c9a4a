"""The JSON paths that additionalPrinterColumns use, after client-go: names, indices, `*` and filters."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

_NAME = r"\.(?P<name>(?:\\.|[^.\[\]\\'\"(){}])+)"
_QUOTED = r"""\[(?P<quote>['"])(?P<quoted>(?:\\.|(?!(?P=quote)).)*)(?P=quote)\]"""
_FILTER = r"""\[\?\(\s*@\.(?P<path>[^=!<>\s]+)\s*(?P<operator>==|!=)\s*(?P<literal>'[^']*'|"[^"]*"|[^\s)]+)\s*\)\]"""
_STEP = re.compile(rf"(?P<all>\.\*|\[\*\])|{_NAME}|{_QUOTED}|\[(?P<index>-?[0-9]{{1,9}})\]|{_FILTER}", re.ASCII)

Step = tuple[str, str, str]
"""What it does (`all`, `name`, `index`, `==`, `!=`) and its operands."""


class PathError(ValueError):
    """A path that is not understood; a real server leaves such a column empty, too."""


def find(document: object, path: str) -> list[Any]:
    """All that the path leads to; the empty list where it leads nowhere."""
    found = [document]
    for step in _steps(path):
        found = [item for each in found for item in _follow(each, step)]
    return found


@functools.lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...]:
    rest, steps = path if path[:1] in (".", "[") else f".{path}", []
    while rest and rest != ".":
        match = _STEP.match(rest)
        if match is None:
            raise PathError(f"unrecognized path {path!r}")
        steps.append(_step(match))
        rest = rest[match.end() :]
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["all"]:
        return "all", "", ""
    if match["index"]:
        return "index", match["index"], ""
    if match["operator"]:
        return match["operator"], match["path"], match["literal"]
    name = match["name"] if match["name"] is not None else match["quoted"]
    return "name", re.sub(r"\\(.)", r"\1", name), ""


def _follow(value: Any, step: Step) -> Iterator[Any]:
    kind, operand, literal = step
    if kind == "name" and isinstance(value, dict) and operand in value:
        yield value[operand]
    elif kind == "all" and isinstance(value, (dict, list)):
        yield from value.values() if isinstance(value, dict) else value
    elif isinstance(value, list) and kind == "index":
        yield from _element(value, int(operand))
    elif isinstance(value, list) and kind in ("==", "!="):
        yield from (item for item in value if _passes(item, kind, operand, literal))


def _element(values: list[Any], index: int) -> list[Any]:
    return [values[index]] if -len(values) <= index < len(values) else []


def _passes(item: Any, operator: str, path: str, literal: str) -> bool:
    # An item without the member passes neither test.
    return any((_literal(value) == literal.strip("'\"")) is (operator == "==") for value in find(item, path))


def _literal(value: object) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
