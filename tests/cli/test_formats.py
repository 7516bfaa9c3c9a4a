"""The formats for programs."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kwsync import EventType, Resource, WatchEvent
from kwsync.cli._formats import json_line, name_line, yaml_document
from kwsync.cli._text import UNSAFE, is_safe_but_for_lines

DOCUMENT = {"kind": "Pod", "metadata": {"name": "web", "labels": {"app": "ä\x1b[1m"}}, "spec": {"n": 1, "on": True}}

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
VALUES = st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS, max_size=3)
DOCUMENTS = st.dictionaries(TEXTS, VALUES, max_size=4)


def event(document: dict[str, Any], verb: EventType = EventType.MODIFIED) -> WatchEvent:
    return WatchEvent(verb, document)


def test_json() -> None:
    """A JSON line is the line of a watch: the type, and the object as the server sent it."""
    assert json_line(event(DOCUMENT)) == (
        '{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"web","labels":{"app":"ä\\u001b[1m"}},'
        '"spec":{"n":1,"on":true}}}'
    )


def test_yaml() -> None:
    """A YAML document says the same, in the server's order, and stays readable."""
    readable = {"kind": "Pod", "metadata": {"name": "wäb"}}
    assert yaml_document(event(readable)) == "---\ntype: MODIFIED\nobject:\n  kind: Pod\n  metadata:\n    name: wäb"


@given(DOCUMENTS)
def test_json_round_trip(document: dict[str, Any]) -> None:
    """Whatever an object holds, its line is one line, safe, and the same object."""
    line = json_line(event(document))
    assert UNSAFE.search(line) is None
    assert json.loads(line) == {"type": "MODIFIED", "object": document}


@given(DOCUMENTS)
def test_yaml_round_trip(document: dict[str, Any]) -> None:
    """Whatever an object holds, its YAML is safe, and the same object."""
    text = yaml_document(event(document))
    assert is_safe_but_for_lines(text)
    assert yaml.safe_load(text) == {"type": "MODIFIED", "object": document}


@pytest.mark.parametrize(
    ("resource", "line"),
    [
        ("pods", "pod/web"),
        ("deploy", "deployment.apps/web"),
        ("example.com/v1/widgets", "widgets.example.com/web"),
    ],
)
def test_name(resource: str, line: str) -> None:
    """A name is what kubectl takes; the plural stands in where nobody told the kind."""
    assert name_line(Resource.parse(resource))(event(DOCUMENT)) == line


def test_name_is_escaped() -> None:
    """A name cannot reach the terminal's controls either."""
    assert name_line(Resource.parse("pods"))(event({"metadata": {"name": "\x1bc"}})) == "pod/\\x1bc"
