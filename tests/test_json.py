"""The seam to JSON, with each of the three parsers."""

from __future__ import annotations

import builtins
import importlib.util
import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwsync import _json
from tests.values import nested

PARSERS = ["json", "orjson", "msgspec"]
same_parser = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
"""The fixture chooses the parser once, for all examples."""


def without(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    """Make these libraries fail to import."""
    original = builtins.__import__

    def imported(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] in missing:
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", imported)


@pytest.fixture(params=PARSERS)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each parser in turn, chosen as an installation without the others would choose it."""
    name = str(request.param)
    if name != "json":
        pytest.importorskip(name)
    with pytest.MonkeyPatch.context() as patch:
        without(patch, *({"orjson", "msgspec"} - {name}))
        loads, dumps, error, chosen = _json._choose()
    assert chosen == name
    monkeypatch.setattr(_json, "_loads", loads)
    monkeypatch.setattr(_json, "_dumps", dumps)
    monkeypatch.setattr(_json, "_error", error)
    return name


def test_choice() -> None:
    """orjson comes first, then msgspec, then the standard library."""
    available = [name for name in ("orjson", "msgspec") if importlib.util.find_spec(name)]
    assert [*available, "json"][0] == _json._load_parser()


@pytest.mark.parametrize("data", [b"[1]", b"nope", b"1e999"])
def test_first_document(parser: str, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """The parser is loaded with the first document, which is read as every other, also if it is none."""
    expected = outcome(data)
    monkeypatch.setattr(_json, "_loads", _json._first_loads)
    monkeypatch.setattr(_json, "_error", ValueError)
    assert outcome(data) == expected


def outcome(data: bytes) -> object:
    """What reading gives: a value, or ValueError."""
    try:
        return _json.loads(data)
    except ValueError:
        return ValueError


trees: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)


@same_parser
@given(trees)
def test_round_trip(parser: str, value: Any) -> None:
    """Any JSON value comes back as it was, lone surrogates too."""
    assert _json.loads(_json.dumps(value)) == value


@same_parser
@given(trees)
def test_as_the_standard_library(parser: str, value: Any) -> None:
    """What the standard library writes, spaced or escaped, each parser reads as the same."""
    for options in ({}, {"indent": 1}, {"ensure_ascii": True, "sort_keys": True}):
        assert _json.loads(json.dumps(value, **options).encode()) == value


@same_parser
@given(st.binary(max_size=19) | st.text(st.sampled_from('{}[]:,"\\u0d81e.-+ntf\n '), max_size=19).map(str.encode))
def test_any_bytes(parser: str, data: bytes) -> None:
    """Any bytes are a value or a ValueError, and all parsers agree which. (19 digits: see test_large_integers.)"""
    try:
        expected = repr(json.loads(str(data, "utf-8")))
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            _json.loads(data)
    else:
        assert repr(_json.loads(data)) == expected


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (rb'"\ud800"', "\ud800"),
        (rb'"\udc00\ud800x"', "\udc00\ud800x"),
        (rb'{"\ud800": 1}', {"\ud800": 1}),
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (b"1e999", math.inf),
        (b"[-1e999]", [-math.inf]),
        (b"Infinity", math.inf),
        (b"18446744073709551615", 2**64 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b" \t\r\n[1]\r\n", [1]),
        (b'"\x7f\xe2\x80\xa8\xc2\x85"', "\x7f\u2028\u0085"),
    ],
)
def test_second_try(parser: str, data: bytes, value: Any) -> None:
    """What a fast parser refuses, the standard library still reads; all give the same."""
    assert _json.loads(data) == value


def test_nan(parser: str) -> None:
    """NaN, which is no JSON, is read as Python writes it."""
    assert math.isnan(_json.loads(b"NaN"))


@pytest.mark.parametrize("digits", [20, 100, 300])
def test_large_integers(parser: str, digits: int) -> None:
    """An integer beyond 64 bits keeps its digits, but for orjson, which makes it a float as Go does."""
    value = int("7" * digits)
    found = _json.loads(str(value).encode())
    assert found == (float(value) if parser == "orjson" else value)


@pytest.mark.parametrize(
    "data",
    [b"", b" ", b"{", b'{"a"}', b"[1,]", b"01", b"1.", b"1 x", b"{}{}", b"'a'", b'"\n"', b'"\x01"', rb'"\x"', b"nul"]
    + [b'"\xff"', b'"\xed\xa0\x80"', b"\xef\xbb\xbf1", "1".encode("utf-16"), b"\0", b"\x0c1", b"7" * 5000]
    + [b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000],
    ids=lambda data: repr(data[:12]),
)
def test_malformed(parser: str, data: bytes) -> None:
    """What is no JSON in UTF-8, or nested beyond all measure, is a ValueError: never another exception."""
    with pytest.raises(ValueError, match=r"."):
        _json.loads(data)


@pytest.mark.parametrize("depth", [10, 300, 500])
def test_depth(parser: str, depth: int) -> None:
    """Documents as deep as any server makes them are read and written."""
    value = nested(depth)
    assert _json.loads(_json.dumps(value)) == value


def test_text(parser: str) -> None:
    """The encoding is UTF-8 without spaces; a lone surrogate is escaped."""
    assert _json.dumps({"a": ["ä€😀", None]}) == '{"a":["ä€😀",null]}'.encode()
    assert _json.dumps({"\ud800": "ä\\\udfff"}) == '{"\\ud800":"ä\\\\\\udfff"}'.encode()


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**100])
def test_large_integers_out(parser: str, value: int) -> None:
    """An integer of any size can be written."""
    assert _json.dumps([value]) == f"[{value}]".encode()


def test_not_json(parser: str) -> None:
    """What JSON cannot hold is a TypeError or a ValueError, never a RecursionError."""
    circle: list[Any] = []
    circle.append(circle)
    for value in (object(), {"a": object}, circle, nested(100_000), 1j):
        with pytest.raises((TypeError, ValueError)):
            _json.dumps(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_number(parser: str, value: float) -> None:
    """NaN and infinity never become bad JSON: the standard library refuses them, the others write null."""
    if parser == "json":
        with pytest.raises(ValueError, match=r"."):
            _json.dumps([value])
    else:
        assert _json.dumps([value]) == b"[null]"
