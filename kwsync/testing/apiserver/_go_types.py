"""Types as Go's decoder checks them, in its words, and what it makes of what is null or empty. Pure."""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kwsync.testing.apiserver._go_time import SECONDS_LAYOUT, is_time, why_no_time

_WORDS = {str: "string", bool: "bool", list: "array", dict: "object"}
_SIZES = {"int32": 2**31, "int64": 2**63}
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


@dataclass(frozen=True)
class Scalar:
    """A string, a bool, or what may be several of these; *go* is its type in Go."""

    go: str = "string"
    python: type | tuple[type, ...] = str

    zero = ""
    """What null is in a list or a map."""
    may_be_dropped = False
    """Whether Go leaves it out where it is empty."""

    def fits(self, value: Any) -> bool:
        """Whether Go would read it; null it reads everywhere."""
        return value is None or isinstance(value, self.python)

    def cleaned(self, value: Any) -> Any:
        """The value as Go would write it again: without nulls, without lists and maps that are empty."""
        return value

    def mismatch(self, value: Any) -> str:
        """What of JSON it is instead; empty where that fits although something in it may not."""
        return "" if isinstance(value, self.python) else word_for(value)

    def parts(self, value: Any, path: str, owner: str) -> Iterator[tuple[Schema, Any, str, str]]:  # noqa: ARG002
        """What is in it, in the order of the document, with the path to each and the struct that has it."""
        return iter(())


class Whole(Scalar):
    """An integer."""

    def fits(self, value: Any) -> bool:
        """As above; neither true nor 1.5 is one."""
        return value is None or not self.mismatch(value)

    def mismatch(self, value: Any) -> str:
        """As above; of a number that does not fit the number itself is told."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return word_for(value)
        size = _SIZES[self.go]
        return "" if isinstance(value, int) and -size <= value < size else f"number {value}"


class Base64(Scalar):
    """Bytes, which are a string in base64 in JSON."""

    def fits(self, value: Any) -> bool:
        """As above."""
        return value is None or (isinstance(value, str) and not self.flaw(value))

    def flaw(self, text: str) -> str:
        """Go's words about the first byte that cannot be there."""
        try:
            base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
        except ValueError:
            wrong = (index for index, letter in enumerate(text) if letter not in _BASE64)
            return f"illegal base64 data at input byte {next(wrong, len(text) // 4 * 4)}"
        return ""


class Time(Scalar):
    """A moment, which is a string in JSON."""

    def fits(self, value: Any) -> bool:
        """As above."""
        return value is None or (isinstance(value, str) and is_time(value, SECONDS_LAYOUT))

    def flaw(self, text: str) -> str:
        """Go's words about where it stops to be one."""
        return why_no_time(text, SECONDS_LAYOUT)


@dataclass(frozen=True)
class Each:
    """A list."""

    go: str
    item: Schema

    zero = None
    may_be_dropped = True

    def fits(self, value: Any) -> bool:
        """As above."""
        return value is None or (isinstance(value, list) and all(map(self.item.fits, value)))

    def cleaned(self, value: Any) -> Any:
        """As above."""
        return [_part(self.item, item) for item in value]

    def mismatch(self, value: Any) -> str:
        """As above."""
        return "" if isinstance(value, list) else word_for(value)

    def parts(self, value: Any, path: str, owner: str) -> Iterator[tuple[Schema, Any, str, str]]:
        """As above."""
        return ((self.item, item, path, owner) for item in value)


@dataclass(frozen=True)
class Named:
    """A map from any names; *go* is its type."""

    go: str
    value: Schema

    zero = None
    may_be_dropped = True

    def fits(self, value: Any) -> bool:
        """As above."""
        return value is None or (isinstance(value, dict) and all(map(self.value.fits, value.values())))

    def cleaned(self, value: Any) -> Any:
        """As above."""
        return {key: _part(self.value, item) for key, item in value.items()}

    def mismatch(self, value: Any) -> str:
        """As above."""
        return "" if isinstance(value, dict) else word_for(value)

    def parts(self, value: Any, path: str, owner: str) -> Iterator[tuple[Schema, Any, str, str]]:
        """As above."""
        return ((self.value, item, path, owner) for item in value.values())


@dataclass(frozen=True)
class Struct:
    """An object of which these fields are known; others may hold anything."""

    go: str
    fields: Mapping[str, Schema] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    """Fields that are there even if they are empty."""

    may_be_dropped = False

    @property
    def zero(self) -> dict[str, Any]:
        """As above."""
        return {}

    def fits(self, value: Any) -> bool:
        """As above."""
        if value is None or not isinstance(value, dict):
            return value is None
        known, plain = self.fields, self._plain
        for key, item in value.items():
            # Every write comes here, and most of what it has are texts.
            if plain.get(key) is type(item):
                continue
            if key in known and not known[key].fits(item):
                return False
        return True

    @functools.cached_property
    def _plain(self) -> dict[str, type | tuple[type, ...]]:
        """The types of the fields that fit as soon as they are of that type."""
        return {key: schema.python for key, schema in self.fields.items() if type(schema) is Scalar}

    def cleaned(self, value: Any) -> Any:
        """As above."""
        found, known = {}, self.fields
        for key, item in value.items():
            schema = known.get(key)
            if schema is None:
                found[key] = item
            elif item or not schema.may_be_dropped or key in self.kept:
                found[key] = item if item is None else schema.cleaned(item)
        return {key: item for key, item in found.items() if item is not None} if None in found.values() else found

    def mismatch(self, value: Any) -> str:
        """As above."""
        return "" if isinstance(value, dict) else word_for(value)

    def parts(self, value: Any, path: str, owner: str) -> Iterator[tuple[Schema, Any, str, str]]:  # noqa: ARG002
        """As above; Go names the innermost struct, and the fields on the way without indices and keys of maps."""
        name, start = self.go.rpartition(".")[2], f"{path}." if path else ""
        known = ((key, item) for key, item in value.items() if key in self.fields)
        return ((self.fields[key], item, f"{start}{key}", name) for key, item in known)


Schema = Scalar | Each | Named | Struct

TEXT = Scalar()
FLAG = Scalar("bool", bool)
INT32 = Whole("int32", int)
INT64 = Whole("int64", int)
BYTES = Base64("[]uint8")
TIME = Time()
QUANTITY = Scalar("resource.Quantity", (str, int, float))
TEXTS = Each("[]string", TEXT)
LABELS = Named("map[string]string", TEXT)


def word_for(value: object) -> str:
    """What Go calls the type of a JSON value."""
    return _WORDS.get(type(value), "number")


def type_error(schema: Schema, value: Any, path: str = "", owner: str = "") -> str:
    """The first value of a wrong type, in Go's words; empty where all are right."""
    if schema.fits(value):
        return ""
    if error := schema.mismatch(value):
        place = f"struct field {owner}.{path}" if path else "value"
        return f"json: cannot unmarshal {error} into Go {place} of type {schema.go}"
    if isinstance(schema, Base64 | Time):
        return schema.flaw(value)
    found = (type_error(*part) for part in schema.parts(value, path, owner))
    return next(filter(None, found), "")


def _part(schema: Schema, value: Any) -> Any:
    """What is null in a list or a map becomes Go's zero value."""
    return schema.zero if value is None else schema.cleaned(value)
