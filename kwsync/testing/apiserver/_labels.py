"""Label selectors as an API server reads them, after apimachinery's labels/selector.go, errors included."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kwsync.testing.apiserver._failure import quoted
from kwsync.testing.apiserver._names import label_key_errors, label_value_errors

_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+")
_OPERATORS = ("in", "notin", "=", "==", "!=", "gt", "lt")
_SYMBOLS = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">"))
_END = ""


class SelectorError(ValueError):
    """A selector that the server refuses; its text is the message of the 400."""


class LabelRequirement(NamedTuple):
    """One condition; *operator* is one of `=`, `==`, `!=`, `in`, `notin`, `exists`, `!`, `>` and `<`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """A label that is absent fulfils `!`, `!=` and `notin`, and nothing else."""
        value = labels.get(self.key)
        if self.operator in ("!=", "notin"):
            return value not in self.values
        if self.operator == "!" or value is None:
            return self.operator == "!" and value is None
        if self.operator == "exists":
            return True
        return self._compares(value) if self.operator in "<>" else value in self.values

    def _compares(self, value: str) -> bool:
        left, right = _integer(value), _integer(self.values[0])
        if left is None or right is None:
            return False
        return left > right if self.operator == ">" else left < right


class LabelSelector(NamedTuple):
    """All of the requirements; none matches everything."""

    requirements: tuple[LabelRequirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """Read a labelSelector, or raise SelectorError with the server's words."""
        return cls(tuple(sorted(_LabelParser(text).requirements(), key=lambda each: each.key)))

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether these labels, where None is none at all, fulfil it."""
        return all(requirement.matches(labels or {}) for requirement in self.requirements)


class _LabelParser:
    """Goes over the words of a labelSelector; `in` and `notin` are operators only where one is expected."""

    def __init__(self, text: str) -> None:
        # A zero byte ends the text, as it does in the server's lexer.
        self._tokens: list[str] = [*_TOKEN.findall(text.partition("\0")[0]), _END]
        self._position = 0

    def requirements(self) -> list[LabelRequirement]:
        found: list[LabelRequirement] = []
        while self._next != _END:
            if not self._starts_requirement():
                raise SelectorError(f"found '{self._next}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            self._separator()
        return found

    @property
    def _next(self) -> str:
        return self._tokens[self._position]

    def _take(self) -> str:
        self._position += 1
        return self._tokens[self._position - 1]

    def _starts_requirement(self) -> bool:
        return self._next == "!" or _is_word(self._next)

    def _separator(self) -> None:
        # The end is left in place: everything stops there.
        if self._next == _END:
            return
        token = self._take()
        if token != ",":
            raise SelectorError(f"found '{token}', expected: ',' or 'end of string'")
        if not self._starts_requirement():
            raise SelectorError(f"found '{self._next}', expected: identifier after ','")

    def _requirement(self) -> LabelRequirement:
        key = self._take()
        absent = key == "!"
        if absent:
            key = self._take()
        if not _is_word(key):
            raise SelectorError(f"found '{key}', expected: identifier")
        if errors := label_key_errors(key):
            # The path of the key is a nil pointer in the server.
            raise SelectorError(f"<nil>: Invalid value: {quoted(key)}: {'; '.join(errors)}")
        if absent or self._next in (_END, ","):
            return LabelRequirement(key, "!" if absent else "exists")
        operator = self._operator()
        values = self._values() if operator in ("in", "notin") else self._value()
        return _checked(LabelRequirement(key, operator, tuple(sorted(values))))

    def _operator(self) -> str:
        token = self._take()
        if token not in ("in", "notin", "=", "==", "!=", "<", ">"):
            raise SelectorError(f"found '{token}', expected: {', '.join(_OPERATORS)}")
        return token

    def _value(self) -> set[str]:
        if self._next in (_END, ","):
            return {""}
        token = self._take()
        if not _is_word(token):
            raise SelectorError(f"found '{token}', expected: identifier")
        return {token}

    def _values(self) -> set[str]:
        if (token := self._take()) != "(":
            raise SelectorError(f"found '{token}' expected: '('")
        if self._next == ")":
            self._take()
            return {""}
        if self._next != "," and not _is_word(self._next):
            raise SelectorError(f"found '{self._next}', expected: ',', ')' or identifier")
        values = self._list()
        self._take()
        return values

    def _list(self) -> set[str]:
        """Up to the closing bracket; two commas in a row, or one at either end, stand for an empty value."""
        values: set[str] = set()
        while True:
            token = self._take()
            if _is_word(token):
                values.add(token)
                if self._next not in (",", ")"):
                    raise SelectorError(f"found '{self._next}', expected: ',' or ')'")
            elif token != ",":
                raise SelectorError(f"found '{token}', expected: ',', or identifier")
            elif not values or self._next in (",", ")"):
                values.add("")
            if self._next == ")":
                return values


def _is_word(token: str) -> bool:
    return token != _END and token not in _SYMBOLS


def _integer(text: str) -> int | None:
    """As strconv.ParseInt: 64 bits, and no blanks or underscores as `int` would take them."""
    value = int(text) if re.fullmatch(r"[+-]?[0-9]{1,30}", text, re.ASCII) else None
    return value if value is not None and -(2**63) <= value < 2**63 else None


def _checked(requirement: LabelRequirement) -> LabelRequirement:
    errors = []
    if requirement.operator in "<>" and _integer(requirement.values[0]) is None:
        why = "for 'Gt', 'Lt' operators, the value must be an integer"
        errors.append(f"values[0]: Invalid value: {quoted(requirement.values[0])}: {why}")
    for index, value in enumerate(requirement.values):
        if wrong := label_value_errors(value):
            path = f"values[{index}][{requirement.key}]"
            errors.append(f"{path}: Invalid value: {quoted(value)}: {'; '.join(wrong)}")
    if errors:
        raise SelectorError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return requirement
