"""The formats for programs: JSON, YAML, names. What they write is read back as the same value, in any encoding.

Pure, but for a warning of what cannot be written.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import yaml

from kwsync import Resource, WatchEvent
from kwsync.cli._documents import kind_of
from kwsync.cli._text import escaped, escaped_json, is_safe_but_for_lines, without_surrogates

log = logging.getLogger("kwsync.cli.formats")

FINAL_STATE_UNKNOWN = "finalStateUnknown"
"""Beside type and object, and true, where a deletion was not seen: its object is the last one known, or a part."""

_NOT_ASCII = re.compile("[^\x00-\x7f]")


@attrs.frozen
class Each:
    """A format that writes every event alike, be it state or change."""

    line: Callable[[WatchEvent], str]
    order: Callable[[Sequence[WatchEvent]], Sequence[WatchEvent]] = list
    """Of the state."""

    def block(self, events: Sequence[WatchEvent]) -> list[str]:
        """The state."""
        return [line for event in self.order(events) for line in self.change(event)]

    def change(self, event: WatchEvent) -> list[str]:
        """One change."""
        try:
            return [self.line(event)]
        except RecursionError:
            log.warning("%s %s is left out: it is nested too deeply to be written", event.type, event.key)
            return []

    def measure(self, event: WatchEvent) -> None:
        """There is nothing to align."""


def json_line(event: WatchEvent, *, resource: Resource | None = None, unicode: bool = True) -> str:
    """``{"type":…,"object":…}``: the line of a watch, as ``kubectl --output-watch-events`` has it.

    An object that does not tell what it is gets the kind and version of *resource*. Without *unicode* it is ASCII
    alone, with escapes.
    """
    return escaped_json(_json(_document(event, resource), unicode=unicode, separators=(",", ":")))


def yaml_document(event: WatchEvent, *, resource: Resource | None = None, unicode: bool = True) -> str:
    """The same in YAML, with ``---`` before it; halves of surrogates, which YAML cannot hold, become U+FFFD."""
    return f"---\n{_yaml(_document(event, resource), unicode)}".rstrip("\n")


def name_line(resource: Resource) -> Callable[[WatchEvent], str]:
    """``pod/web``, which kubectl takes back: nothing but the name, whatever happened to the object."""
    kind = kind_of(resource)
    return lambda event: escaped(f"{kind}/{event.key.name}")


def _document(event: WatchEvent, resource: Resource | None) -> dict[str, Any]:
    document = {"type": str(event.type), "object": _named(event.object, resource)}
    return {**document, FINAL_STATE_UNKNOWN: True} if event.final_state_unknown else document


def _named(document: dict[str, Any] | None, resource: Resource | None) -> dict[str, Any] | None:
    """Of an object whose deletion nobody saw, no more than the names are known."""
    if document is None or resource is None or not resource.kind:
        return document
    known = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**{name: value for name, value in known.items() if name not in document}, **document}


def _json(document: dict[str, Any], *, unicode: bool, separators: tuple[str, str]) -> str:
    try:
        return json.dumps(document, ensure_ascii=not unicode, separators=separators, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(document), ensure_ascii=not unicode, separators=separators)


def _finite(value: Any) -> Any:
    """The value with null for the numbers that JSON has not; Python reads them where a server wrote ``1e999``."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # which of them is not known
    """Quotes also what is a text in YAML 1.1, as PyYAML reads it, and a number or a boolean for others."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Each value stands where it belongs."""
        return True


_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$"), [*"-+.0123456789"]
)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:int", re.compile("0o[0-7]+$"), ["0"])
_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("[yYnN]$"), [*"yYnN"])


def _yaml(document: dict[str, Any], unicode: bool) -> str:
    try:
        return _dumped(document, unicode)
    except UnicodeEncodeError:
        return _dumped(json.loads(without_surrogates(json.dumps(document, ensure_ascii=False))), unicode)
    except RecursionError:
        return _flow(document, unicode)


def _dumped(document: dict[str, Any], unicode: bool) -> str:
    if unicode:
        text = str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000))
        if is_safe_but_for_lines(text):
            return text
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=False, width=10_000))


def _flow(document: dict[str, Any], unicode: bool) -> str:
    """JSON, which is YAML, too, and is written to a greater depth."""
    text = escaped_json(without_surrogates(_json(document, unicode=True, separators=(", ", ": "))))
    return text if unicode else _NOT_ASCII.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    """YAML knows no pairs of surrogates."""
    return f"\\U{ord(match[0]):08x}"
