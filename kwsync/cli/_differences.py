"""The format that tells of each change what is different in the object."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from kwsync import EventType, ObjectKey, WatchEvent
from kwsync.cli._colour import Paint
from kwsync.cli._diff import ARROW, ASCII_ARROW, changed_lines

_INDENT = "  "


class Differences:
    """A line for each event, and below it one for each field that changed."""

    def __init__(self, name: Callable[[WatchEvent], str], paint: Paint, *, unicode: bool = True) -> None:
        self._name = name
        self._paint = paint
        self._arrow = ARROW if unicode else ASCII_ARROW
        self._last: dict[ObjectKey, bytes] = {}
        """As JSON, a tenth of the dicts' size."""

    def block(self, events: Sequence[WatchEvent]) -> list[str]:
        """The state: what there is."""
        return [line for event in events for line in self.change(event)]

    def change(self, event: WatchEvent) -> list[str]:
        """What happened, and to which fields. A change of nothing but bookkeeping is none."""
        old = self._remember(event)
        head = f"{self._paint.verb(event.type, f'{event.type:<8}')} {self._name(event)}"
        if event.type is not EventType.MODIFIED:
            return [head]
        lines = changed_lines(old, event.object, arrow=self._arrow)
        return [head, *(_INDENT + line for line in lines)] if lines or old is None else []

    def measure(self, event: WatchEvent) -> None:
        """An object that is there, but not shown: what changes in it will be."""
        self._remember(event)

    def _remember(self, event: WatchEvent) -> dict[str, Any] | None:
        """Keep the state, and give the one before; there is none for what is nested too deeply to be kept."""
        before = self._last.pop(event.key, None)
        with suppress(RecursionError):
            if event.type is not EventType.DELETED:
                self._last[event.key] = json.dumps(event.object, separators=(",", ":")).encode()
            return None if before is None else json.loads(before)
        return None
