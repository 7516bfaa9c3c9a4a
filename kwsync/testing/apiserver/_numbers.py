"""Numbers as they come in parameters. Pure."""

from __future__ import annotations

import re

from kwsync.testing.apiserver import _status
from kwsync.testing.apiserver._failure import quoted

_INTEGER = re.compile(r"(?P<sign>[+-]?)0*(?P<digits>[0-9]+)", re.ASCII)
_INTEGERS = range(-(2**63), 2**63)
_LARGEST = 2**64
_MOST_DIGITS = 20
"""Of either, without zeros in front; Python does not even read a number of some thousands."""


def parse_integer(text: str) -> int:
    """A limit or a number of seconds, 0 for the empty text; 400 for what is no number, or none of 64 bits."""
    if not text:
        return 0
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise _status.bad_integer(text)
    digits = match["digits"]
    number = int(match["sign"] + digits) if len(digits) <= _MOST_DIGITS else _LARGEST
    if number not in _INTEGERS:
        raise _status.bad_request(f"strconv.ParseInt: parsing {quoted(text)}: value out of range")
    return number


def parse_version(text: str) -> int | None:
    """A resourceVersion as a number (`007` is 7), or None."""
    digits = text.lstrip("0") or text[-1:]
    if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS and int(digits) < _LARGEST:
        return int(digits)
    return None
