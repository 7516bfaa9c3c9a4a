"""Numbers as they come in parameters. Pure."""

from __future__ import annotations

from kwsync.testing.apiserver import _status

_LARGEST = 2**64


def parse_integer(text: str) -> int:
    """A limit or a number of seconds, 0 for the empty text; 400 for what is no number."""
    if not text:
        return 0
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise _status.bad_integer(text)
    return int(text)


def parse_version(text: str) -> int | None:
    """A resourceVersion as a number (`007` is 7), or None."""
    if text.isascii() and text.isdigit() and int(text) < _LARGEST:
        return int(text)
    return None
