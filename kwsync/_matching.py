"""Which labels a label selector matches, as a server decides it (apimachinery's labels/selector.go). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from kwsync._selectors import LabelSelector, label_selector

Labels = Mapping[str, str]
Matcher = Callable[[Labels], bool]

_BLANK = r"[ \t\r\n]*"
_WORD = r"[^ \t\r\n=!(),<>]+"
_SET = r"\((?P<values>[^=!()<>]*)\)"
_REQUIREMENT = (
    rf"{_BLANK}(?P<no>!{_BLANK})?(?P<key>{_WORD}){_BLANK}"
    rf"(?:(?<=[ \t\r\n])(?P<set>in|notin){_BLANK}{_SET}|(?P<sign>==|=|!=|>|<){_BLANK}(?P<value>{_WORD})?)?"
    rf"{_BLANK}(?P<end>,|\Z)"
)
"""Compiled when the first selector comes: it takes a millisecond, and most programs match nothing."""

_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_LONGEST_NAME, _LONGEST_DOMAIN = 63, 253


def label_matcher(selector: LabelSelector) -> Matcher:
    """Whether labels match *selector*; ValueError where that is none, or asks for what no label can be.

    The language is the server's (``a=b``, ``a!=b``, ``a in (b,c)``, ``a notin (b,c)``, ``a``, ``!a``, ``a>5``,
    ``a<5``, all of them joined by commas), and so is the meaning: ``!=`` and ``notin`` hold where the label is missing.
    """
    text = label_selector(selector)
    required = [_matcher(found) for found in _requirements(text)] if text.strip(" \t\r\n") else []
    return lambda labels: all(holds(labels) for holds in required)


def _requirements(text: str) -> Iterator[re.Match[str]]:
    requirement, position = re.compile(_REQUIREMENT), 0
    while True:
        found = requirement.match(text, position)
        if found is None or (found["no"] and (found["set"] or found["sign"])):
            raise ValueError(f"{text!r} is no label selector")
        yield found
        position = found.end()
        if not found["end"]:
            return


def _matcher(found: re.Match[str]) -> Matcher:
    key = _checked_key(found["key"])
    if found["set"]:
        return _within(key, _checked_set(found["values"]), missing=found["set"] == "notin")
    if not found["sign"]:
        return lambda labels: (key in labels) is not bool(found["no"])
    value = _checked_value(found["value"] or "")
    if found["sign"] in (">", "<"):
        return _compared(key, found["sign"], value)
    return _within(key, {value}, missing=found["sign"] == "!=")


def _within(key: str, values: set[str], *, missing: bool) -> Matcher:
    """One of the values; or with *missing* none of them, or no label."""
    return lambda labels: (labels.get(key) in values) is not missing


def _compared(key: str, sign: str, value: str) -> Matcher:
    limit = _integer(value)
    if limit is None:
        raise ValueError(f"a label is compared by {sign!r} with a whole number of 64 bits, not with {value!r}")

    def holds(labels: Labels) -> bool:
        number = _integer(labels.get(key, ""))
        return number is not None and (number > limit if sign == ">" else number < limit)

    return holds


def _integer(text: str) -> int | None:
    """As strconv.ParseInt of Go reads it; None for what it refuses."""
    number = int(text) if re.fullmatch(r"[+-]?[0-9]{1,63}", text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


# What keys and values may be (IsQualifiedName, IsValidLabelValue)


def _checked_key(key: str) -> str:
    domain, slash, name = key.rpartition("/")
    if not _is_name(name) or (slash and not _is_domain(domain)):
        raise ValueError(f"{key!r} in the label selector is no key that a label can have")
    return key


def _checked_set(text: str) -> set[str]:
    return {_checked_value(value.strip(" \t\r\n")) for value in text.split(",")}


def _checked_value(value: str) -> str:
    if value and not _is_name(value):
        raise ValueError(f"{value!r} in the label selector is no value that a label can have")
    return value


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and re.fullmatch(_NAME, text) is not None


def _is_domain(text: str) -> bool:
    return len(text) <= _LONGEST_DOMAIN and re.fullmatch(_DOMAIN, text) is not None
