"""Colours, or none. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TextIO

import attrs
import click

_OF_VERB = {"ADDED": "green", "MODIFIED": "yellow", "DELETED": "red"}
_OF_TYPE = {"Warning": "yellow"}

_BAD = re.compile(r"(Err[A-Z]|Back-?[Oo]ff|Fail|Kill(ed)?$|Killing|Evicted|Unhealthy|Unknown|Lost|Error$)")
_GOOD = frozenset(("Running", "Active", "Bound", "Ready", "Complete", "Completed", "Succeeded", "Done"))
_STATE_COLUMNS = frozenset(("STATUS", "PHASE", "STATE", "REASON"))


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """On a terminal, unless NO_COLOR (no-color.org) or a dumb terminal says otherwise."""
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


@attrs.frozen
class Paint:
    """Puts colours around words that are padded and escaped already; without *on* it leaves them as they are."""

    on: bool = False

    def verb(self, verb: str, text: str) -> str:
        """ADDED, MODIFIED or DELETED."""
        return self._styled(text, fg=_OF_VERB.get(verb))

    def header(self, text: str) -> str:
        """A line of headers."""
        return self._styled(text, bold=True)

    def faint(self, text: str) -> str:
        """What matters less."""
        return self._styled(text, dim=True) if text.strip() else text

    def event_type(self, text: str) -> str:
        """The type of an Event: anything but Warning stays as it is."""
        return self._styled(text, fg=_OF_TYPE.get(text.strip()))

    def cell(self, column: str, text: str) -> str:
        """A cell of a table; a column that tells a state shows whether it is a good one."""
        if not self.on or column not in _STATE_COLUMNS:
            return text
        state = text.strip()
        return self._styled(text, fg="red" if _BAD.search(state) else "green" if state in _GOOD else None)

    def _styled(self, text: str, *, fg: str | None = None, bold: bool | None = None, dim: bool | None = None) -> str:
        if not self.on or not (fg or bold or dim):
            return text
        return click.style(text, fg=fg, bold=bold, dim=dim)
