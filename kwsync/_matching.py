"""Which labels a label selector matches, as a server decides it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from kwsync._selectors import LabelSelector, label_selector

Labels = Mapping[str, str]
Matcher = Callable[[Labels], bool]

_KEY = r"(?P<key>[A-Za-z0-9][-A-Za-z0-9_./]*)"
_VALUE = r"[-A-Za-z0-9_.]*"
_SET = rf"\(\s*(?P<values>{_VALUE}(?:\s*,\s*{_VALUE})*)\s*\)"
_REQUIREMENT = (
    rf"\s*(?P<no>!\s*)?{_KEY}\s*(?:(?<=\s)(?P<set>in|notin)\s*{_SET}|(?P<sign>==|=|!=|>|<)\s*(?P<value>{_VALUE}))?"
    r"\s*(?P<end>,|$)"
)
"""Compiled when the first selector comes: it takes a millisecond, and most programs match nothing."""


def label_matcher(selector: LabelSelector) -> Matcher:
    """Whether labels match *selector*; ValueError where that is none.

    The language is the server's (``a=b``, ``a!=b``, ``a in (b,c)``, ``a notin (b,c)``, ``a``, ``!a``, ``a>5``,
    ``a<5``, all of them joined by commas), and so is the meaning: ``!=`` and ``notin`` hold where the label is missing.
    """
    text = label_selector(selector)
    required = [_matcher(found) for found in _requirements(text)] if text.strip() else []
    return lambda labels: all(holds(labels) for holds in required)


def _requirements(text: str) -> Iterator[re.Match[str]]:
    requirement, position = re.compile(_REQUIREMENT), 0
    while True:
        found = requirement.match(text, position)
        if found is None or (found["no"] and (found["set"] or found["sign"])) or found["values"] == "":
            raise ValueError(f"{text!r} is no label selector")
        yield found
        position = found.end()
        if not found["end"]:
            return


def _matcher(found: re.Match[str]) -> Matcher:
    key = found["key"]
    if found["set"]:
        values = {value.strip() for value in found["values"].split(",")}
        return _within(key, values, missing=found["set"] == "notin")
    if found["sign"] in (">", "<"):
        return _compared(key, found["sign"], found["value"])
    if found["sign"]:
        return _within(key, {found["value"]}, missing=found["sign"] == "!=")
    return lambda labels: (key in labels) is not bool(found["no"])


def _within(key: str, values: set[str], *, missing: bool) -> Matcher:
    """One of the values; or with *missing* none of them, or no label."""
    return lambda labels: (labels.get(key) in values) is not missing


def _compared(key: str, sign: str, value: str) -> Matcher:
    limit = _integer(value)
    if limit is None:
        raise ValueError(f"a label is compared by {sign!r} with a whole number, not with {value!r}")

    def holds(labels: Labels) -> bool:
        number = _integer(labels.get(key, ""))
        return number is not None and (number > limit if sign == ">" else number < limit)

    return holds


def _integer(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,19}", text) else None
