"""Times as Go's time.Parse reads them, and its words about what is none. Pure."""

from __future__ import annotations

import re

SECONDS_LAYOUT = "2006-01-02T15:04:05Z07:00"
"""RFC 3339; Go takes a fraction, too."""
MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"

_DATE_TIME = (
    (r"\d{4}", "2006"),
    ("-", "-"),
    (r"\d\d", "01"),
    ("-", "-"),
    (r"\d\d", "02"),
    ("T", "T"),
    (r"\d\d", "15"),
    (":", ":"),
    (r"\d\d", "04"),
    (":", ":"),
)
_ZONE = (r"Z|[+-]\d\d:\d\d", "Z07:00")
_PARTS = {
    SECONDS_LAYOUT: (*_DATE_TIME, (r"\d\d([.,]\d+)?", "05"), _ZONE),
    MICRO_LAYOUT: (*_DATE_TIME, (r"\d\d", "05"), (r"\.\d{6}(?!\d)", ".000000"), _ZONE),
}
_WHOLE = {
    layout: re.compile("".join(f"(?:{pattern})" for pattern, _ in parts), re.ASCII) for layout, parts in _PARTS.items()
}


def is_time(text: str, layout: str) -> bool:
    """Whether it looks like one; a month 13 does."""
    return _WHOLE[layout].fullmatch(text) is not None


def why_no_time(text: str, layout: str) -> str:
    """Go's words about a text that does not."""
    return f'parsing time "{text}" as "{layout}": cannot parse {_rest(text, layout)}'


def _rest(text: str, layout: str) -> str:
    """Where Go's parser stopped, and at which part of the layout."""
    for pattern, part in _PARTS[layout]:
        match = re.match(pattern, text, re.ASCII)
        if match is None:
            return f'"{text}" as "{part}"'
        text = text[match.end() :]
    return f'"{text}" as ""'
