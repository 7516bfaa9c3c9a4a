"""Label and field selectors: the languages in which a server is asked for some of its objects. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

LabelSelector = str | Mapping[str, str | Sequence[str] | None]
FieldSelector = str | Mapping[str, str]

_LABEL_KEY = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_./]*")
_LABEL_VALUE = re.compile(r"[-A-Za-z0-9_.]*")
_FIELD_KEY = re.compile(r"[^\\,=!\s\x00-\x1f\x7f]+")
_FIELD_SPECIAL = re.compile(r"([\\,=])")
_SURROGATE = re.compile("[\ud800-\udfff]")


def label_selector(value: LabelSelector) -> str:
    """A label selector in Kubernetes' syntax; a string is taken as it is.

    Of a mapping, every item must hold: ``{"app": "web"}`` is equality, ``{"app": ["a", "b"]}`` one of these values,
    ``{"app": None}`` that the label is there. ValueError for keys and values that no label can have.
    """
    if isinstance(value, str):
        return check_text(value, "label_selector")
    _check_mapping(value, "label_selector")
    return ",".join(_label_requirement(key, wanted) for key, wanted in value.items())


def _label_requirement(key: str, wanted: str | Sequence[str] | None) -> str:
    _check_part(key, _LABEL_KEY, "label")
    if wanted is None:
        return _plain(key)
    values = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"the values of label {key!r} must be a string, a list or None")
    for value in values:
        _check_part(value, _LABEL_VALUE, "label value")
    if not values:
        raise ValueError(f"label {key!r} can be in no empty list")
    # One value by equality: the server takes "in ()" for no value at all, not for the empty one.
    return f"{_plain(key)}={_plain(values[0])}" if len(values) == 1 else f"{_plain(key)} in ({','.join(values)})"


def field_selector(value: FieldSelector) -> str:
    """A field selector in Kubernetes' syntax; a string is taken as it is.

    Of a mapping, every field must equal its value; special characters in a value are escaped. Which fields a kind
    supports, only the server knows (400 for others). ValueError for keys that no field can have.
    """
    if isinstance(value, str):
        return check_text(value, "field_selector")
    _check_mapping(value, "field_selector")
    return ",".join(_field_requirement(key, wanted) for key, wanted in value.items())


def _field_requirement(key: str, wanted: str) -> str:
    _check_part(key, _FIELD_KEY, "field")
    escaped = _FIELD_SPECIAL.sub(r"\\\1", check_text(wanted, f"field {key!r}"))
    return f"{_plain(key)}={escaped}"


def _plain(text: str) -> str:
    """The string itself: a member of a string enum formats as its name before Python 3.12."""
    return str.__str__(text)


def _check_mapping(value: object, what: str) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} must be a string or a mapping, not {type(value).__name__}")


def _check_part(value: object, pattern: re.Pattern[str], what: str) -> None:
    if not pattern.fullmatch(check_text(value, what)):
        raise ValueError(f"{what} {value!r} has characters that would change the selector's meaning")


def check_text(value: object, what: str) -> str:
    """A string that can be sent; TypeError or ValueError where it is none."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {type(value).__name__}")
    if _SURROGATE.search(value):
        raise ValueError(f"{what} {value!r} cannot be sent as UTF-8")
    return value
