"""What Python cannot read: its bytes are found nevertheless, and nothing that is no JSON is taken for it."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwsync import _scan
from kwsync._events import EventType, ObjectKey
from kwsync._scan import ScannedList, _plain, _reader, scan_line, scan_list, scan_undecodable
from kwsync._scan._deep import end_of, members, outline
from tests.test_scan import edited, edits, fast
from tests.values import json_values

DEEPEST = 10_000
"""Levels that kube-apiserver reads."""


def arrays(depth: int) -> bytes:
    """Arrays in arrays."""
    return b"[" * depth + b"]" * depth


def objects(depth: int) -> bytes:
    """Objects in objects."""
    return b'{"a":' * depth + b"1" + b"}" * depth


BAD: dict[str, bytes] = {
    "arrays": arrays(DEEPEST),
    "objects": objects(1500),
    "both": b'[{"]}":' * 800 + b'"[{"' + b"}]" * 800,
    "at the edge": objects(990),
    "integer": b"7" * 6000,
    "negative integer": b"[-" + b"7" * 6000 + b"]",
}
"""Values that Python refuses (or, at the edge, reads for some and not for others)."""


def item(name: str, value: bytes = b"1", more: bytes = b"") -> bytes:
    """An object as servers write it in lists; *more* of its metadata comes first."""
    return b'{"metadata":{%b"name":"%b","namespace":"n","uid":"u-%b","resourceVersion":"7"},"spec":%b}' % (
        more,
        name.encode(),
        name.encode(),
        value,
    )


def list_of(*items: bytes, more: bytes = b"") -> bytes:
    """A list of these."""
    body = b'{%b"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[%b]}'
    return body % (more, b",".join(items))


def line_of(found: bytes, kind: bytes = b"MODIFIED") -> bytes:
    """A line of a watch."""
    return b'{"type":"%b","object":%b}' % (kind, found)


@pytest.fixture(params=["msgspec", "plain", "plain, small window"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way of scanning in turn, one with a window that nothing fits into."""
    monkeypatch.setattr(_scan, "_strategy", fast() if request.param == "msgspec" else _plain.STRATEGY)
    if "window" in request.param:
        monkeypatch.setattr(_reader, "_ENOUGH", 1)


def scanned(body: bytes) -> ScannedList:
    """The list that a body must be."""
    found = scan_list(body)
    assert found is not None
    return found


def names(found: ScannedList) -> list[str]:
    """Of its objects."""
    return [change.record.key.name for change in found.changes if change.record]


styles = st.sampled_from(
    [{}, {"ensure_ascii": False}, {"indent": 1}, {"separators": (" \t,", ":\r\n")}, {"separators": (",\r\n", " : ")}]
)
texts = st.text('[]{}",:\\\r\n\té😀\x00\x7fa1', max_size=20)
values = st.recursive(
    json_values | texts | st.lists(texts, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


def written(value: object, style: dict[str, Any]) -> bytes:
    """As JSON; a lone surrogate as its escape."""
    return json.dumps(value, **style).encode("utf-8", "backslashreplace")


def json_end(data: bytes) -> int | None:
    """Where the standard library says that a value ends; None where it finds none."""
    start = len(data) - len(data.lstrip(b" \t\r\n"))
    try:
        return json.JSONDecoder().raw_decode(str(data, "latin-1"), start)[1]
    except json.JSONDecodeError:
        return None


def deep_end(data: bytes) -> int | None:
    """Where the walk ends."""
    try:
        return end_of(data, 0)
    except ValueError:
        return None


class TestWalk:
    @settings(deadline=None)
    @given(values, styles, st.sampled_from([b"", b" ", b",1", b"]", b"}{", b'"', b"0", b".", b"\xff"]))
    def test_end(self, value: object, style: dict[str, Any], rest: bytes) -> None:
        """A value ends where it ends for the standard library, whatever is in it and behind it."""
        data = written(value, style) + rest
        assert deep_end(data) == json_end(data)

    @settings(deadline=None)
    @given(values, styles, edits)
    def test_any_edit(self, value: object, style: dict[str, Any], edits: Any) -> None:
        """The same holds for what something has broken: refused, or ended at the same place."""
        data = edited(written(value, style), edits)
        assert deep_end(data) == json_end(data)

    @settings(deadline=None)
    @given(st.dictionaries(texts, json_values, max_size=5), styles)
    def test_members(self, found: dict[str, object], style: dict[str, Any]) -> None:
        """The values of an object are its values."""
        parts = members(written(found, style), found)
        assert {key: repr(json.loads(bytes(raw))) for key, raw in parts.items()} == {
            key: repr(json.loads(json.dumps(value))) for key, value in found.items()
        }

    @pytest.mark.parametrize("count", [1, 98, 99, 100, 101, 198, 250])
    @pytest.mark.parametrize("one", ["1", '"x"', '"\\n"', "[]", "{}", "\r\n null", "-1.5e3"])
    def test_many(self, count: int, one: str) -> None:
        """As many flat values and escapes as there may be, and the mistakes between them."""
        more = ["", ",", " 1", "]", '"', "{"]
        for data in (
            *(f"[{','.join([one] * count)}{odd}]" for odd in more),
            *("{" + ",".join([f'"k":{one}'] * count) + odd + "}" for odd in more),
            *(f'"{one[1:-1] * count}{odd}"' for odd in ("", "\\", "\n", '"') if one[:1] == '"'),
        ):
            assert deep_end(data.encode()) == json_end(data.encode()), data[-20:]

    @given(st.lists(st.sampled_from(["[", "{", '{"]":', "["]), max_size=60))
    def test_nested_in_any_order(self, openings: list[str]) -> None:
        """Each bracket is closed by its own; exchanged, missing or doubled ones are refused."""
        closing = "".join("]" if one == "[" else "}" for one in reversed(openings))
        inside = '"x":' if openings and openings[-1] == "{" else ""
        text = "".join('{"k":' if one == "{" and at < len(openings) - 1 else one for at, one in enumerate(openings))
        data = f"{text}{inside}1{closing}".encode()
        assert deep_end(data) == json_end(data) == len(data)
        for broken in (data[:-1], data[:-1] + b"}", data[:-1] + b"]", data[1:], data.replace(b"1", b"1,")):
            assert deep_end(broken) == json_end(broken)

    @pytest.mark.parametrize("value", BAD.values(), ids=BAD)
    def test_cut(self, value: bytes) -> None:
        """What is cut anywhere has no end, as long as it is no shorter number."""
        assert deep_end(value) == len(value)
        for size in [0, 1, 2, len(value) // 3, len(value) // 2, len(value) - 2, len(value) - 1]:
            assert deep_end(value[:size]) is None or value[:1] == b"7"

    @pytest.mark.parametrize(
        "make",
        [
            lambda size: arrays(size // 2),
            lambda size: b"[" + b"[]," * (size // 3) + b"1]",
            lambda size: b"[" + b"1," * (size // 2) + b"1]",
            lambda size: b'["' + b"\\n" * (size // 2) + b'"]',
            lambda size: b'["' + b"x" * size + b'"]',
            lambda size: b"[" + b" " * size + b"1]",
            lambda size: b"9" * size,
            lambda size: b"9" * size + b"." + b"9" * size + b"e" + b"9" * size,
            lambda size: b'"' + b"x" * size,
            lambda size: b"[" * size,
            lambda size: b'["\\' * (size // 3),
        ],
    )
    def test_linear(self, make: Callable[[int], bytes]) -> None:
        """Time grows as the size does, and of memory it takes a byte for each level, and little more."""
        small, large = make(10_000), make(80_000)
        took = min(seconds_for(small) for _ in range(3))
        assert seconds_for(large) < 8 * 4 * took + 0.1
        tracemalloc.start()
        deep_end(large)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2 * len(large) + 200_000

    def test_outline(self) -> None:
        """An object's words, and none of what is no text; metadata may be as deep as the object."""
        deep = b'"managedFields":[%b],' % objects(DEEPEST)
        words = {"name": "a", "namespace": "n", "uid": "u-a", "resourceVersion": "7"}
        assert outline(item("a", arrays(DEEPEST), deep)) == {"metadata": words}
        assert outline(b'{"kind":"K","metadata":{"name":5,"uid":null}}') == {
            "kind": "K",
            "metadata": {"name": None, "uid": None},
        }
        assert outline(b'{"metadata":{"name":"a"},"metadata":{"n\\u0061me":"b"}}') == {"metadata": {"name": "b"}}
        assert outline(b'{"metadata":%b}' % arrays(DEEPEST)) == {"metadata": {}}
        assert outline(b"{}") == {"metadata": {}}
        assert outline(arrays(DEEPEST)) is None
        for broken in (b"{", b"[", b"{}}", b"[]]", b'{"a"}', b'{"metadata":{"name":"a"}', b""):
            with pytest.raises(ValueError, match="no JSON"):
                outline(broken)


def seconds_for(data: bytes) -> float:
    """Of processor time, to go through it."""
    start = time.process_time()
    deep_end(data)
    return time.process_time() - start


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("value", BAD.values(), ids=BAD)
class TestBad:
    def test_list(self, value: bytes) -> None:
        """A list has all its objects, in their order, with the bytes that came, and the bad one among them."""
        more = b'"managedFields":%b,' % value
        bad = [item("bad", value), item("worse", value, more)]
        found = scanned(list_of(item("a"), bad[0], item("ö"), bad[1]))
        assert (names(found), found.nameless, found.resource_version) == (["a", "bad", "ö", "worse"], 0, "9")
        records = [change.record for change in found.changes if change.record]
        front = b'{"kind":"Thing","apiVersion":"v1",'
        assert [record.raw for record in records[1::2]] == [front + one[1:] for one in bad]
        assert (records[1].key, records[1].uid, records[1].version) == (ObjectKey("n", "bad"), "u-bad", "7")
        assert records[2].decode()["spec"] == 1

    def test_nameless(self, value: bytes) -> None:
        """What is bad and no object with a name counts as such."""
        rest = b'{"metadata":{"uid":"u"},"spec":%b}' % value
        found = scanned(list_of(value, item("a"), rest, b'{"metadata":%b}' % value))
        assert (names(found), found.nameless) == (["a"], 3)

    def test_beside_the_items(self, value: bytes) -> None:
        """A list makes no use of other members; its own words must be what they should be."""
        assert names(scanned(list_of(item("a"), more=b'"other":%b,' % value))) == ["a"]
        assert scan_list(list_of(item("a")).replace(b'"v1"', value)) is None

    def test_line(self, value: bytes) -> None:
        """A line tells its object, in any order of its members; a type that is none tells nothing."""
        found = item("bad", value)
        for kind in (EventType.ADDED, EventType.MODIFIED, EventType.DELETED):
            text = kind.value.encode()
            for line in (line_of(found, text), b' {"object" : %b,\r\n"type":"%b"} \r\n' % (found, text)):
                change = scan_undecodable(line)
                assert change is not None
                assert change.record is not None
                assert (change.type, change.record.raw) == (kind, found)
                assert (change.record.key, change.record.uid) == (ObjectKey("n", "bad"), "u-bad")
                assert change.record.version == "7"
        for other in (b"BOOKMARK", b"ERROR", b"", b"added"):
            assert scan_undecodable(line_of(found, other)) is None

    def test_malformed(self, value: bytes) -> None:
        """What is broken behind, before or in the bad value is no list and no event."""
        good = item("bad", value)
        half = value[: len(value) // 2]
        for broken in (
            [good[:-1], good + b"}", good + b"]", good[:-1] + b",}", good.replace(b'"spec":', b'"spec"')]
            + [item("bad", value + mark) for mark in (b"]", b"}", b"1,", b'"', b"\\", b"\xff")]
            + [item("bad", mark + value) for mark in (b"[", b"{", b"[1", b'"', b"\xff")]
            + ([item("bad", half)] if value[:1] != b"7" else [])
        ):
            assert scan_list(list_of(item("a"), broken)) is None, broken[-20:]
            assert scan_undecodable(line_of(broken)) is None, broken[-20:]
            assert scan_line(line_of(broken)) is None, broken[-20:]

    def test_encoding(self, value: bytes) -> None:
        """What is not UTF-8 is no JSON."""
        assert scan_list(list_of(item("bad", value), item("a", b'"\xc3"'))) is None
        assert scan_undecodable(line_of(item("bad", b'["\xff",%b]' % value))) is None


@pytest.mark.usefixtures("way")
@settings(deadline=None, max_examples=30)
@given(st.lists(st.sampled_from([*BAD, "", "table"]), max_size=4))
def test_any_number(kinds: list[str]) -> None:
    """Any number of bad objects at any place; a Table among them has no name of its own."""
    items = [item(f"i{at}", BAD.get(kind, b"1")) for at, kind in enumerate(kinds)]
    items = [one.replace(b"{", b'{"kind":"Table",', kind == "table") for one, kind in zip(items, kinds, strict=True)]
    found = scanned(list_of(*items))
    assert names(found) == [f"i{at}" for at, kind in enumerate(kinds) if kind != "table"]
    assert found.nameless == kinds.count("table")
