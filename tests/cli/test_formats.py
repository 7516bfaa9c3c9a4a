"""The formats for programs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from kwsync import EventType, Resource, WatchEvent
from kwsync.cli._formats import Each, json_line, name_line, yaml_document
from kwsync.cli._text import UNSAFE, is_safe_but_for_lines

DOCUMENT = {"kind": "Pod", "metadata": {"name": "web", "labels": {"app": "ä\x1b[1m"}}, "spec": {"n": 1, "on": True}}

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
VALUES = st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS, max_size=3)
DOCUMENTS = st.dictionaries(TEXTS, VALUES, max_size=4)

WITH_HALVES = st.text(st.characters(), max_size=20)
"""Texts that may hold lone surrogates, as a server may send them."""


def event(document: dict[str, Any], verb: EventType = EventType.MODIFIED) -> WatchEvent:
    return WatchEvent(verb, document)


def test_json() -> None:
    """A JSON line is the line of a watch: the type, and the object as the server sent it."""
    assert json_line(event(DOCUMENT)) == (
        '{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"web","labels":{"app":"ä\\u001b[1m"}},'
        '"spec":{"n":1,"on":true}}}'
    )


@pytest.mark.parametrize(
    ("document", "first"),
    [
        ({"metadata": {"name": "web"}}, {"apiVersion": "apps/v1", "kind": "Deployment"}),
        ({"kind": "Other", "metadata": {}}, {"apiVersion": "apps/v1", "kind": "Other"}),
        ({"kind": "Other", "metadata": {}, "apiVersion": "x/v2"}, {"kind": "Other"}),
    ],
)
def test_kind_and_version(document: dict[str, Any], first: dict[str, str]) -> None:
    """An object that does not tell what it is gets kind and version; what it tells itself stays as it is."""
    deployments = Resource.parse("deployments")
    for text, load in ((json_line(event(document), resource=deployments), json.loads),) + (
        (yaml_document(event(document), resource=deployments), yaml.safe_load),
    ):
        found = load(text)["object"]
        assert found == {**found, **document}
        assert list(found.items())[: len(first)] == list(first.items())
        assert set(found) == {"apiVersion", "kind", *document}


def test_yaml() -> None:
    """A YAML document says the same, in the server's order, and stays readable."""
    readable = {"kind": "Pod", "metadata": {"name": "wäb"}}
    assert yaml_document(event(readable)) == "---\ntype: MODIFIED\nobject:\n  kind: Pod\n  metadata:\n    name: wäb"


@given(st.dictionaries(WITH_HALVES, VALUES | WITH_HALVES, max_size=4), st.booleans())
def test_json_round_trip(document: dict[str, Any], unicode: bool) -> None:
    """Whatever an object holds, its line is one line, safe, of ASCII where it must be, and the same object."""
    line = json_line(event(document), unicode=unicode)
    assert UNSAFE.search(line) is None
    assert unicode or line.isascii()
    assert json.loads(line) == {"type": "MODIFIED", "object": document}


@given(DOCUMENTS, st.booleans())
def test_yaml_round_trip(document: dict[str, Any], unicode: bool) -> None:
    """Whatever an object holds, its YAML is safe, of ASCII where it must be, and the same object."""
    text = yaml_document(event(document), unicode=unicode)
    assert is_safe_but_for_lines(text)
    assert unicode or text.isascii()
    assert yaml.safe_load(text) == {"type": "MODIFIED", "object": document}


@given(st.dictionaries(WITH_HALVES, WITH_HALVES, max_size=4), st.booleans())
@example({"half\ud800": "\udfff😀"}, True)
def test_yaml_of_halves(document: dict[str, Any], unicode: bool) -> None:
    """YAML knows no halves of surrogates: U+FFFD stands for them, as for Go, and everything else is the same."""
    found = yaml.safe_load(yaml_document(event(document), unicode=unicode))["object"]
    whole = {re.sub("[\ud800-\udfff]", "\ufffd", key): value for key, value in document.items()}
    assert found == {key: re.sub("[\ud800-\udfff]", "\ufffd", value) for key, value in whole.items()}


def deep(depth: int) -> dict[str, Any]:
    """An object in an object in an object."""
    found: dict[str, Any] = {"text": "ü😀\x1b\ud800"}
    for _ in range(depth):
        found = {"a": found}
    return found


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("depth", [50, 300, 350, 600])
def test_deep_objects(depth: int, unicode: bool) -> None:
    """Objects nested deeper than YAML's writer goes are written in braces, which is YAML, too."""
    found = yaml_document(event(deep(depth)), unicode=unicode)
    assert unicode or found.isascii()
    with deep_enough():
        [document] = yaml.safe_load_all(found)
        assert document["object"] == json.loads(json.dumps(deep(depth)).replace("\\ud800", "\ufffd"))
        assert json.loads(json_line(event(deep(depth)), unicode=unicode))["object"] == deep(depth)


@contextmanager
def deep_enough() -> Iterator[None]:
    """Room for a reader that takes some calls for each level."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("line", [json_line, yaml_document])
def test_too_deep_objects(line: Callable[[WatchEvent], str], caplog: pytest.LogCaptureFixture) -> None:
    """What is too deep for any writer is left out with a word; the others are written."""
    bottomless = {"metadata": {"namespace": "n", "name": "x"}, **deep(50_000)}
    written = Each(line).block([event({"a": 1}), event(bottomless), event({"b": 1})])
    assert len(written) == 2
    [record] = caplog.records
    assert record.getMessage() == "MODIFIED n/x is left out: it is nested too deeply to be written"


TEXTS_LIKE_NUMBERS = ["1e5", "12345e7", "+1E-3", ".5", "1.", "0o17", "0x1F", "017", "1_000", "1:20", "12", "1.5"]
TEXTS_LIKE_WORDS = ["y", "N", "yes", "on", "Off", "true", "null", "~", "", "-", "=", "<<", "2026-01-01", ".inf", ".NaN"]


@pytest.mark.parametrize("text", TEXTS_LIKE_NUMBERS + TEXTS_LIKE_WORDS)
def test_texts_stay_texts(text: str) -> None:
    """What YAML 1.1 or 1.2 would read as anything but a text stands in quotes: readers differ in what they know."""
    assert f"object:\n  a: '{text}'" in yaml_document(event({"a": text}))


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_numbers_that_json_has_not(number: float) -> None:
    """What Python makes of ``1e999`` is null, as for other writers: the line stays JSON."""
    assert json_line(event({"a": [number, "NaN"], "b": 1})) == '{"type":"MODIFIED","object":{"a":[null,"NaN"],"b":1}}'


def test_same_value_twice() -> None:
    """Each value stands where it belongs: no anchors."""
    same = {"a": 1}
    assert yaml_document(event({"b": same, "c": same})).endswith("object:\n  b:\n    a: 1\n  c:\n    a: 1")


def test_a_deletion_that_nobody_saw() -> None:
    """Where the last state of what is gone is not known, JSON and YAML say so, and only there; a name is a name."""
    gone = WatchEvent(EventType.DELETED, {"metadata": {"name": "web"}}, final_state_unknown=True)
    assert json.loads(json_line(gone))["finalStateUnknown"] is True
    assert yaml.safe_load(yaml_document(gone))["finalStateUnknown"] is True
    assert "finalStateUnknown" not in json_line(event(DOCUMENT, EventType.DELETED)) + yaml_document(event(DOCUMENT))
    assert name_line(Resource.parse("pods"))(gone) == "pod/web"


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
