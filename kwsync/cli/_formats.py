"""The formats for programs: JSON, YAML, names. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import yaml

from kwsync import Resource, WatchEvent
from kwsync.cli._documents import kind_of
from kwsync.cli._text import escaped, escaped_json, is_safe_but_for_lines

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@attrs.frozen
class Each:
    """A format that writes every event alike, be it state or change."""

    line: Callable[[WatchEvent], str]
    order: Callable[[Sequence[WatchEvent]], Sequence[WatchEvent]] = list
    """Of the state."""

    def block(self, events: Sequence[WatchEvent]) -> list[str]:
        """The state."""
        return [self.line(event) for event in self.order(events)]

    def change(self, event: WatchEvent) -> list[str]:
        """One change."""
        return [self.line(event)]


def json_line(event: WatchEvent) -> str:
    """``{"type":…,"object":…}``: the line of a watch, as ``kubectl --output-watch-events`` has it."""
    document = {"type": str(event.type), "object": event.object}
    return escaped_json(json.dumps(document, ensure_ascii=False, separators=(",", ":")))


def yaml_document(event: WatchEvent) -> str:
    """The same in YAML, with ``---`` before it."""
    document = {"type": str(event.type), "object": event.object}
    dumped = _dumped(document, readable=True)
    if not is_safe_but_for_lines(dumped):
        dumped = _dumped(document, readable=False)
    return f"---\n{dumped}".rstrip("\n")


def _dumped(document: dict[str, Any], *, readable: bool) -> str:
    return str(yaml.dump(document, Dumper=_DUMPER, sort_keys=False, allow_unicode=readable, width=10_000))


def name_line(resource: Resource) -> Callable[[WatchEvent], str]:
    """``pod/web``, which kubectl takes back."""
    kind = kind_of(resource)
    return lambda event: escaped(f"{kind}/{event.key.name}")
