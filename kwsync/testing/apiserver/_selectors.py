"""Label and field selectors as an API server reads them, with its words for what it cannot read.

The labels are in `_labels`; the fields, here, follow apimachinery's fields/selector.go. The texts go into a 400.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kwsync.testing.apiserver._labels import LabelRequirement, LabelSelector, SelectorError

__all__ = ["FieldRequirement", "FieldSelector", "LabelRequirement", "LabelSelector", "SelectorError"]


class FieldRequirement(NamedTuple):
    """One condition; *operator* is `=` or `!=`, since `==` is the same as `=`."""

    field: str
    operator: str
    value: str


class FieldSelector(NamedTuple):
    """All of the requirements, in alphabetical order; none matches everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        """Read a fieldSelector; which fields the kind knows is the business of `_fields.check_fields`."""
        terms = sorted(term for term in _split_terms(text) if term)
        found = (_field_requirement(text, term) for term in terms)
        # A lone operator says nothing, and the server drops it.
        return cls(tuple(each for each in found if each.field or each.value))

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether these fields fulfil it; an absent one counts as the empty string."""
        for field, operator, value in self.requirements:
            if (fields.get(field, "") == value) is not (operator == "="):
                return False
        return True

    def exact(self, field: str) -> str | None:
        """The one value that is asked of this field, None where there is none.

        With `metadata.name` it becomes the name in authorisation (client-go's RequiresExactMatch).
        """
        values = (each.value for each in self.requirements if each.field == field and each.operator == "=")
        return next(values, None)


def _split_terms(text: str) -> list[str]:
    """At the commas without a backslash before them; a backslash at the very end stays, to be complained about."""
    return ["".join(term) for term in _terms(text)] if text else []


def _terms(text: str) -> list[list[str]]:
    terms: list[list[str]] = [[]]
    for piece in re.findall(r"\\.|,|[^\\,]+|\\", text, re.DOTALL):
        if piece == ",":
            terms.append([])
        else:
            terms[-1].append(piece)
    return terms


def _field_requirement(text: str, term: str) -> FieldRequirement:
    operator = re.search("!=|==|=", term)
    if operator is None:
        raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
    value = _unescaped(term[operator.end() :])
    return FieldRequirement(term[: operator.start()], "!=" if operator[0] == "!=" else "=", value)


def _unescaped(value: str) -> str:
    def replace(match: re.Match[str]) -> str:
        sequence = match[0]
        if sequence[0] != "\\":
            # Go prints the character as its number.
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(sequence)}")
        if sequence[1:] not in ("\\", ",", "="):
            raise SelectorError(f"invalid field selector: invalid escape sequence: {sequence}")
        return sequence[1:]

    # A trailing lone backslash gives sequence[1:] == "", which is in no tuple above.
    return re.sub(r"\\.?|[,=]", replace, value, flags=re.DOTALL)
