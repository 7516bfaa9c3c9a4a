"""Records out of lines and lists, with msgspec and without: what is read is what decoding would have read."""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
import tracemalloc
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwsync import _json, _scan
from kwsync._events import EventType, ObjectKey, key_of
from kwsync._records import Change, record_of
from kwsync._scan import ScannedList, _plain, _reader, scan_line, scan_list
from kwsync._scan._named import Strategy
from tests.bench.pods import make_pod
from tests.values import json_values, nested

same_way = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
"""The fixture chooses the way once, for all examples."""


@pytest.fixture(params=["msgspec", "plain", "plain, small window"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way of scanning in turn; also one whose window is so small that every value goes over its edge."""
    name = str(request.param)
    monkeypatch.setattr(_scan, "_strategy", fast() if name == "msgspec" else _plain.STRATEGY)
    if "window" in name:
        monkeypatch.setattr(_reader, "_ENOUGH", 1)
    return name


def fast() -> Strategy:
    """The way with msgspec, if it is installed."""
    pytest.importorskip("msgspec")
    from kwsync._scan import _fast

    return _fast.STRATEGY


def test_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """msgspec is used where it is installed, and found out about when the first object comes."""
    monkeypatch.setattr(_scan, "_strategy", None)
    assert scan_line(line_of(POD)) is not None
    assert (_scan._strategy is not _plain.STRATEGY) == (importlib.util.find_spec("msgspec") is not None)


def test_without_msgspec(monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard library is enough."""
    monkeypatch.setitem(sys.modules, "msgspec", None)
    monkeypatch.delitem(sys.modules, "kwsync._scan._fast", raising=False)
    monkeypatch.delattr(_scan, "_fast", raising=False)
    assert _scan._choose() is _plain.STRATEGY


METADATA = {"name": "web", "namespace": "shop", "uid": "1-2", "resourceVersion": "7"}
POD: dict[str, Any] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": METADATA,
    "spec": {"note": "grün \u2013 😀", "n": [1]},
}

UNNAMED: list[object] = [None, [], "web", 1, {}, {"name": None}, {"name": ""}, {"namespace": "shop"}]
WRONG: list[object] = [0, 1, 1.5, True, False, [], {}, ["x"]]
ODD: list[object] = [{**METADATA, key: value} for key in METADATA for value in WRONG]


def compact(document: object, **options: Any) -> bytes:
    """As the server writes it; a lone surrogate as its escape."""
    options = {"separators": (",", ":"), "ensure_ascii": False, **options}
    return json.dumps(document, **options).encode("utf-8", "backslashreplace")


def line_of(found: object, kind: str = "ADDED") -> bytes:
    """A line of a watch."""
    return compact({"type": kind, "object": found})


def decoded(data: bytes) -> Any:
    """What the standard library reads, or None; integers as the project reads them."""
    try:
        json.loads(str(data, "utf-8"))
        return _json.loads(data)
    except (ValueError, RecursionError):
        return None


class TestLine:
    @pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
    def test_plain(self, way: str, kind: str) -> None:
        """A change of a named object: its type, key, uid, version and bytes; with msgspec nothing is decoded."""
        found = change_of(line_of(POD, kind))
        assert (found.type, found.error, found.version) == (EventType(kind), None, None)
        assert found.record is not None
        assert found.record.key == ObjectKey("shop", "web")
        assert (found.record.uid, found.record.version) == ("1-2", "7")
        assert found.record.raw == compact(POD)
        assert found.decoded == (None if way == "msgspec" else POD)
        assert found.record.decode() == POD

    @pytest.mark.parametrize("spaced", [" %b ", "\r\n%b\r\n", "%b\r", "%b \t\n"])
    def test_spaces(self, way: str, spaced: str) -> None:
        """Spaces wherever JSON has them change nothing, and are not kept around the object."""
        for options in ({"separators": None}, {"indent": 1}, {"separators": (" \t,", ":\r")}):
            line = spaced.encode() % compact({"type": "ADDED", "object": POD}, **options)
            record = change_of(line).record
            assert record is not None
            assert record.decode() == POD
            assert record.raw == record.raw.strip()

    @pytest.mark.parametrize("absent", [{}, {"namespace": None, "uid": None, "resourceVersion": None}])
    def test_name_only(self, way: str, absent: dict[str, None]) -> None:
        """What is not there, or null, is an empty string."""
        record = change_of(line_of({"metadata": {"name": "a", **absent}})).record
        assert record is not None
        assert (record.key, record.uid, record.version) == (ObjectKey("", "a"), "", "")

    def test_namespace_once(self, way: str) -> None:
        """A namespace is kept once, not once for each object."""
        first, second = (change_of(line_of(POD)).record for _ in range(2))
        assert first is not None
        assert second is not None
        assert first.key.namespace is second.key.namespace

    @pytest.mark.parametrize("kind", ["BOOKMARK", "ERROR", "SYNCED", "added", "", "ADDED\x00"])
    def test_other_types(self, way: str, kind: str) -> None:
        """Every other type is left to the caller."""
        assert scan_line(line_of(POD, kind)) is None

    @pytest.mark.parametrize("metadata", [*UNNAMED, *ODD], ids=repr)
    def test_odd_metadata(self, way: str, metadata: object) -> None:
        """An object without a name, or with metadata of a wrong type, is left to the caller."""
        assert scan_line(line_of({"metadata": metadata})) is None

    def test_table(self, way: str) -> None:
        """A Table is left to the caller, also one that has a name."""
        assert scan_line(line_of({**POD, "kind": "Table", "rows": []})) is None

    @pytest.mark.parametrize(
        "line",
        [b"", b" ", b"{}", b"null", b"[]", b'"x"', b"nope", b"\xff", b"}", b"{", b'{"type":"ADDED","object":{}}']
        + [b'{"type":"ADDED","object":%b}' % found for found in (b"", b"null", b"[]", b"1", b"{", b"}", b"{}}{")]
        + [line_of(POD)[:-1] + more for more in (b"", b"]", b"}}", b"} x", b'}{"a":1}', b",}", b'"}', b"}\0", b"}\x0b")]
        + [line_of(POD)[:-1] + b',"%b":%b}' % (key, compact(POD)) for key in (b"object", b"obj\\u0065ct", b"other")]
        + [line_of(POD)[:-1] + b',"type":"DELETED"}', b'{"type":"DELETED",' + line_of(POD)[1:]]
        + [
            b'{"object":' + compact(POD) + b',"type":"ADDED"}',
            b"\xef\xbb\xbf" + line_of(POD),
            b"[" + line_of(POD) + b"]",
        ],
        ids=lambda line: repr(line[-25:]),
    )
    def test_unusual(self, way: str, line: bytes) -> None:
        """Whatever does not look as usual is left to the caller; above all where another key could be meant."""
        assert scan_line(line) is None

    @pytest.mark.parametrize(
        "value",
        [
            b'"\xff"',
            b'"\xc3"',
            b'"\xed\xa0\x80"',
            b'"\xc0\x80"',
            b'"\xf5\x80\x80\x80"',
            b'"\x01"',
            b'"\n"',
            rb'"\x"',
            rb'"\u12"',
        ]
        + [
            b"01",
            b"1.",
            b".5",
            b"+1",
            b"-",
            b"1e",
            b"0x1",
            b"nul",
            b"True",
            b"'a'",
            b"[1,]",
            b'{"a":1,}',
            b"{1:2}",
            b'{"a"}',
        ]
        + [
            b"1" * 5000,
            b"-" + b"1" * 5000,
            b"[" * 100_000,
            b"[" * 100_000 + b"]" * 100_000,
            b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        ],
        ids=lambda value: repr(value[:12]),
    )
    def test_malformed_inside(self, way: str, value: bytes) -> None:
        """What the standard library cannot read is no change, wherever it stands in the object."""
        head, tail = b'{"type":"ADDED","object":{"metadata":{"name":"a"},', b"}}"
        for member in (b'"x":' + value, b'"x":[{"y":' + value + b"}]", value + b":1"):
            line = head + member + tail
            if decoded(line) is None:
                assert scan_line(line) is None

    def test_cut(self, way: str) -> None:
        """A line that is cut anywhere is no change."""
        line = line_of(POD)
        assert [size for size in range(len(line)) if scan_line(line[:size])] == []

    @pytest.mark.parametrize("depth", [10, 300, 500])
    def test_depth(self, way: str, depth: int) -> None:
        """Objects as deep as any server makes them are read."""
        found = {"metadata": {"name": "a"}, "x": nested(depth)}
        record = change_of(line_of(found)).record
        assert record is not None
        assert record.decode() == found

    def test_nearly_too_deep(self, way: str) -> None:
        """At the edge of what can be read at all, what was scanned can be decoded."""
        for depth in range(900, 1030):
            found = scan_line(deep_line(depth))
            if found and found.record:
                found.record.decode()

    @pytest.mark.parametrize("digits", [100, 4000])
    def test_long_numbers(self, way: str, digits: int) -> None:
        """Numbers as long as Python reads them are read."""
        found = {"metadata": {"name": "a"}, "x": [float(digits), int("7" * digits)]}
        change = change_of(line_of(found))
        assert change.record is not None
        assert change.record.decode() == _json.loads(compact(found))

    @pytest.mark.parametrize("start", range(0, 900, 60))
    def test_too_long_number(self, way: str, start: int) -> None:
        """A number that Python refuses is found wherever it stands."""
        line = line_of({"metadata": {"name": "a"}, "w": "x" * start, "x": "N"}).replace(b'"N"', b"7" * 4301)
        if decoded(line) is None:
            assert scan_line(line) is None

    def test_repeated_keys(self, way: str) -> None:
        """The last of equal keys counts, as it does when the object is decoded."""
        for text in (
            b'{"metadata":{"name":"a"},"metadata":{"name":"b"}}',
            b'{"metadata":{"name":"a","name":"b"}}',
            b'{"metadata":{"name":"a","n\\u0061me":"b"}}',
            b'{"metadata":null,"metadata":{"name":"b"}}',
        ):
            found = scan_line(b'{"type":"ADDED","object":%b}' % text)
            assert found is None or (found.record and found.record.key.name == "b"), text
        assert scan_line(b'{"type":"ADDED","object":{"metadata":{"name":"a"},"metadata":{"uid":"b"}}}') is None
        assert scan_line(b'{"type":"ADDED","object":{"metadata":{"name":"a"},"metadata":null}}') is None


def deep_line(depth: int) -> bytes:
    """An object with arrays in arrays."""
    return b'{"type":"ADDED","object":{"metadata":{"name":"a"},"x":%b}}' % (b"[" * depth + b"]" * depth)


def change_of(line: bytes) -> Change:
    """The change that a line must be."""
    found = scan_line(line)
    assert found is not None
    return found


words = st.none() | st.text(max_size=8) | st.sampled_from(["web", "shop", "7"])
objects: st.SearchStrategy[dict[str, Any]] = st.builds(
    lambda first, metadata, rest: {**first, "metadata": metadata, **rest},
    st.dictionaries(st.sampled_from(["kind", "apiVersion"]), st.sampled_from(["Pod", "v1", None, "Table"])),
    st.fixed_dictionaries({"name": words}, optional={"namespace": words, "uid": words, "resourceVersion": words})
    | json_values,
    st.dictionaries(st.text(max_size=5), json_values, max_size=3),
)
styles = st.sampled_from([{}, {"ensure_ascii": True}, {"indent": 1}, {"sort_keys": True}])


def edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """With pieces cut out and others put in."""
    for at, length, piece in edits:
        start = at % (len(data) + 1)
        data = data[:start] + piece + data[start + length :]
    return data


pieces = st.sampled_from(
    [
        b"",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b'"',
        b"\\",
        b"\\u00",
        b"\\ud800",
        b"0",
        b"1e9",
        b"-",
        b"null",
        b"NaN",
        b" ",
        b"\n",
    ]
    + [
        b"\xff",
        b"\xc3\xa4",
        b"\xc3",
        b"\0",
        b'"name":"x"',
        b'"metadata":{}',
        b'"items":[]',
        b'"object":{}',
        b"},{",
        b'"kind":1',
    ]
)
edits = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 12), pieces | st.binary(max_size=3)), max_size=4)


def check_line(line: bytes) -> Change | None:
    """Nothing, or what decoding gives."""
    found = scan_line(line)
    if found is None:
        return None
    document = decoded(line)
    assert document is not None
    expected = record_of(document["object"], b"")
    assert found.record is not None
    assert expected is not None
    assert found.type.value == document["type"]
    assert (found.record.key, found.record.uid, found.record.version) == (expected.key, expected.uid, expected.version)
    for one in (found.record.decode(), *([found.decoded] if found.decoded else [])):
        assert repr(one) == repr(document["object"])
    return found


class TestAnyLine:
    @same_way
    @given(objects, styles)
    def test_any_object(self, way: str, found: dict[str, Any], style: dict[str, Any]) -> None:
        """What is read from any object equals what decoding it gives; without msgspec every named one is read."""
        change = check_line(compact({"type": "ADDED", "object": found}, **style))
        if way != "msgspec" and key_of(found).name and strict(found) and "sort_keys" not in style:
            assert change is not None

    @same_way
    @given(objects, styles, edits)
    def test_any_edit(self, way: str, found: dict[str, Any], style: dict[str, Any], edits: Any) -> None:
        """The same holds for lines that something has broken."""
        check_line(edited(compact({"type": "MODIFIED", "object": found}, **style), edits))

    @same_way
    @given(st.binary(max_size=40))
    def test_any_bytes(self, way: str, data: bytes) -> None:
        """Nothing raises, whatever the bytes; also those inside an object."""
        for line in (data, b'{"type":"ADDED","object":{' + data + b"}}"):
            check_line(line)

    def test_pods(self, way: str) -> None:
        """Real objects are all read, and as they are."""
        random = Random(1)
        for number in range(50):
            pod = make_pod(random, number)
            change = check_line(line_of(pod))
            assert change is not None
            assert change.record is not None
            assert change.record.raw == compact(pod)


def strict(found: dict[str, Any]) -> bool:
    """Is the metadata as it should be, and is this no Table?"""
    metadata = found["metadata"]
    texts = [metadata.get(key) or "" for key in METADATA]
    return found.get("kind") != "Table" and all(isinstance(text, str) for text in texts)


LIST: dict[str, Any] = {
    "kind": "PodList",
    "apiVersion": "v1",
    "metadata": {"resourceVersion": "9", "continue": "abc", "remainingItemCount": 3},
    "items": [{"metadata": {**METADATA, "name": f"web-{number}"}, "spec": {"note": "grün"}} for number in range(3)],
}

NO_METADATA: list[object] = [None, [], "x", {"resourceVersion": 1}, {"resourceVersion": 0}]
NO_TOKENS: list[object] = [1, 0, False, [], "a\n", "\u2028"]
OTHER_DOCUMENTS: list[dict[str, Any]] = [
    *({"kind": kind} for kind in ("Pod", "Table", "Status", "", None, 1, "List2", "APIGroupDiscoveryList")),
    *({"apiVersion": version} for version in (None, 1)),
    *({"metadata": metadata} for metadata in NO_METADATA),
    *({"metadata": {"continue": token}} for token in NO_TOKENS),
    *({"items": items} for items in ({}, "x", 1, 0, "", {"0": POD}, True)),
]


def list_of(items: object, **more: Any) -> bytes:
    """A list of these."""
    return compact({**LIST, "items": items, **more})


def scanned(body: bytes) -> ScannedList:
    """The list that a body must be."""
    found = scan_list(body)
    assert found is not None
    return found


def contents(found: ScannedList) -> list[Any]:
    """The objects."""
    assert [change for change in found.changes if change.record is None] == []
    return [change.record.decode() for change in found.changes if change.record]


class TestList:
    def test_plain(self, way: str) -> None:
        """A page: its objects as ADDED, none of them decoded, its version, and the token for the next."""
        found = scanned(compact(LIST))
        assert (found.resource_version, found.continue_token, found.nameless) == ("9", "abc", 0)
        assert [(change.type, change.decoded) for change in found.changes] == [(EventType.ADDED, None)] * 3
        assert contents(found) == [{"apiVersion": "v1", "kind": "Pod", **item} for item in LIST["items"]]
        keys = [change.record.key for change in found.changes if change.record]
        assert keys == [ObjectKey("shop", f"web-{number}") for number in range(3)]
        assert {type(change.record.raw) for change in found.changes if change.record} == {bytes}

    @pytest.mark.parametrize("order", list(itertools.permutations(LIST)), ids=" ".join)
    def test_order(self, way: str, order: tuple[str, ...]) -> None:
        """The keys come in any order, others among them, with any spaces."""
        document = {"more": [{}, "]}"], **{key: LIST[key] for key in order}, "last": {"items": [1]}}
        for options in ({}, {"indent": 2}, {"separators": None}):
            found = scanned(b" \n" + compact(document, **options) + b"\r\n ")
            assert contents(found) == contents(scanned(compact(LIST)))
            assert (found.resource_version, found.continue_token) == ("9", "abc")

    @pytest.mark.parametrize("items", [[], None])
    def test_empty(self, way: str, items: object) -> None:
        """An empty list is one, also where its items are null."""
        assert scanned(list_of(items)).changes == []

    @pytest.mark.parametrize(
        ("own", "expected"),
        [
            ({}, {"apiVersion": "v1", "kind": "Pod"}),
            ({"kind": "Other"}, {"apiVersion": "v1", "kind": "Other"}),
            ({"apiVersion": "v2"}, {"apiVersion": "v2", "kind": "Pod"}),
            ({"kind": "Other", "apiVersion": "v2"}, {"kind": "Other", "apiVersion": "v2"}),
            ({"kind": None}, {"apiVersion": "v1", "kind": None}),
            ({"kind": 5, "apiVersion": [1]}, {"apiVersion": [1], "kind": 5}),
            ({"kind": ""}, {"apiVersion": "v1", "kind": ""}),
        ],
        ids=repr,
    )
    def test_filled_in(self, way: str, own: dict[str, Any], expected: dict[str, Any]) -> None:
        """Kind and apiVersion are filled in at the front where they are missing, and only there."""
        (found,) = contents(scanned(list_of([{**own, "metadata": METADATA}])))
        assert found == {**expected, "metadata": METADATA}
        if not own:
            assert list(found) == ["kind", "apiVersion", "metadata"]  # as a watch has them

    def test_kinds(self, way: str) -> None:
        """A list of anything fills in nothing; a kind may hold whatever a string may."""
        assert contents(scanned(list_of([{"metadata": METADATA}], kind="List"))) == [{"metadata": METADATA}]
        for kind in ('Ä"\\', "PartialObjectMetadata", "ListList"):
            (found,) = contents(scanned(list_of([{"metadata": METADATA}], kind=kind + "List")))
            assert found == {"apiVersion": "v1", "kind": kind, "metadata": METADATA}

    @pytest.mark.parametrize(
        "nameless", [1, None, [], "web", {}, {"metadata": None}, {"metadata": {"name": ""}}], ids=repr
    )
    def test_nameless(self, way: str, nameless: object) -> None:
        """What has no name is left out and counted."""
        found = scanned(list_of([nameless, *LIST["items"], nameless]))
        assert (len(found.changes), found.nameless) == (3, 2)

    @pytest.mark.parametrize("odd", [{"uid": 5}, {"namespace": 5}, {"resourceVersion": []}], ids=repr)
    def test_odd(self, way: str, odd: dict[str, Any]) -> None:
        """An object with odd metadata and a name is kept under it, for nobody would decode it in a better way."""
        found = scanned(list_of([{"metadata": {**METADATA, **odd}}]))
        record = found.changes[0].record
        expected = record_of({"metadata": {**METADATA, **odd}}, b"")
        assert record is not None
        assert expected is not None
        assert (record.key, record.uid, record.version) == (expected.key, expected.uid, expected.version)
        assert contents(found)[0]["metadata"] == {**METADATA, **odd}

    def test_other_writing(self, way: str) -> None:
        """Names in any writing and any escape are read as they are."""
        names = ["ä", "\u2013", "😀", "Ã¤", "a\u00a0", '"\\/\n']
        for ascii_only in (False, True):
            body = list_of([{"metadata": {"name": name, "namespace": name}} for name in names])
            found = scanned(compact(json.loads(body), ensure_ascii=ascii_only))
            assert [change.record.key for change in found.changes if change.record] == [ObjectKey(n, n) for n in names]

    @pytest.mark.parametrize("more", OTHER_DOCUMENTS, ids=repr)
    def test_no_list(self, way: str, more: dict[str, Any]) -> None:
        """A document of another kind or shape is no list, nor is one whose token could not be sent back."""
        assert scan_list(compact({**LIST, **more})) is None

    @pytest.mark.parametrize("missing", LIST)
    def test_incomplete(self, way: str, missing: str) -> None:
        """None of its words may be missing."""
        assert scan_list(compact({key: LIST[key] for key in LIST if key != missing})) is None

    def test_empty_words(self, way: str) -> None:
        """An empty version and an empty token are none."""
        for metadata in ({}, {"resourceVersion": "", "continue": ""}, {"resourceVersion": None, "continue": None}):
            found = scanned(list_of([], metadata=metadata))
            assert (found.resource_version, found.continue_token) == (None, None)

    def test_cut(self, way: str) -> None:
        """A body that is cut anywhere is no list, never a shorter one."""
        body = compact(LIST)
        assert [size for size in range(len(body)) if scan_list(body[:size])] == []

    @pytest.mark.parametrize(
        "body",
        [b"", b"null", b"[]", b"{", b"\xff", compact(LIST) + b"}", compact(LIST) + b"{}", b"[" + compact(LIST) + b"]"]
        + [compact(LIST).replace(b"gr\xc3\xbcn", text, 1) for text in (b"gr\xffn", b"gr\xc3", b"gr\x01n")]
        + [compact(LIST).replace(b"},{", text, 1) for text in (b"},,{", b"}{", b"},]{", b"};{", b"}],[{")]
        + [compact(LIST).replace(b"}]}", text, 1) for text in (b"},]}", b"}]]}", b"}}", b"}],}", b"}]")]
        + [list_of([]).replace(b"[]", b"[" * 100_000), list_of([]).replace(b"[]", b"[" * 100_000 + b"]" * 99_999)]
        + [compact({**LIST, "x": "X"}).replace(b'"X"', value) for value in (b'"\xff"', b"01", b"[1,]", b"[" * 100_000)],
        ids=lambda body: repr(body[-20:]),
    )
    def test_malformed(self, way: str, body: bytes) -> None:
        """A body that is no JSON in UTF-8 is no list, wherever it is broken."""
        assert decoded(body) is None or body in (b"null", b"[]") or body.startswith(b"[")
        assert scan_list(body) is None

    @pytest.mark.parametrize(
        "number", [b"12345", b"-1.5e+300", b"1.25", b"1E7", b"-0", b"2e-7", b"-Infinity"], ids=repr
    )
    def test_numbers_at_the_edge(self, monkeypatch: pytest.MonkeyPatch, number: bytes) -> None:
        """A number is one number wherever the window ends in it."""
        monkeypatch.setattr(_scan, "_strategy", _plain.STRATEGY)
        body = compact({"x": "N", **LIST, "items": ["N", *LIST["items"], "N"]}).replace(b'"N"', number)
        for size in range(1, 20):
            monkeypatch.setattr(_reader, "_ENOUGH", 1)
            monkeypatch.setattr(_reader, "_WINDOW", size)
            found = scanned(body)
            assert (found.nameless, len(found.changes)) == (2, 3), size

    def test_too_long_number(self, way: str) -> None:
        """A number that Python refuses is found in a list, too, and digits in a string are no number."""
        body = list_of([{"metadata": METADATA, "x": "7" * 5000}])
        (found,) = contents(scanned(body))
        assert found["x"] == "7" * 5000
        (change,) = scanned(body.replace(b'"' + b"7" * 5000 + b'"', b"7" * 5000)).changes
        assert change.record is not None
        assert change.record.key == ObjectKey("shop", "web")
        if not json_reads_long_numbers():
            with pytest.raises(ValueError, match="shop/web cannot be decoded"):
                change.record.decode()

    def test_pages(self, way: str) -> None:
        """Pages of real size are read whole, objects longer than any window too."""
        items = [without_kind(make_pod(Random(number), number)) for number in range(120)]
        items[40]["data"] = "x" * 700_000
        assert contents(scanned(list_of(items))) == [{"apiVersion": "v1", "kind": "Pod", **item} for item in items]

    def test_memory(self, way: str) -> None:
        """A page takes its objects' bytes and little more: never all of its dicts, nor a second copy of it."""
        items = [without_kind(make_pod(Random(number), number)) for number in range(500)]
        body = list_of(items)
        del items
        scan_list(body)
        peak = peak_of(lambda: scan_list(body))
        assert peak < len(body) + 1_000_000, f"{peak} bytes for a page of {len(body)}"


def json_reads_long_numbers() -> bool:
    """Is there a parser that makes them floats, or a Python without a limit?"""
    try:
        _json.loads(b"7" * 5000)
    except ValueError:
        return False
    return True


def without_kind(pod: dict[str, Any]) -> dict[str, Any]:
    """As servers write it in lists."""
    return {key: value for key, value in pod.items() if key not in ("kind", "apiVersion")}


def peak_of(run: Callable[[], object]) -> int:
    """Most of the memory that it takes at a time, its result among it."""
    tracemalloc.start()
    try:
        kept = run()
        assert kept is not None
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def check_list(body: bytes) -> ScannedList | None:
    """Nothing, or what decoding gives."""
    found = scan_list(body)
    if found is None:
        return None
    document = decoded(body)
    assert document is not None
    records = [record_of(item, b"") if isinstance(item, dict) else None for item in document["items"] or []]
    assert found.nameless == records.count(None)
    assert (found.resource_version or "") == (document["metadata"].get("resourceVersion") or "")
    assert (found.continue_token or "") == (document["metadata"].get("continue") or "")
    expected = [filled(item, document) for item, record in zip(document["items"] or [], records, strict=True) if record]
    assert [ordered(one) for one in contents(found)] == [ordered(one) for one in expected]
    for change, record in zip(found.changes, [record for record in records if record], strict=True):
        assert change.record is not None
        assert (change.record.key, change.record.uid) == (record.key, record.uid)
        assert change.record.version == record.version
    return found


def filled(item: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """With what servers leave out."""
    kind = document["kind"].removesuffix("List")
    return {"kind": kind, "apiVersion": document["apiVersion"], **item} if kind else item


def ordered(document: dict[str, Any]) -> str:
    """NaN is not equal to itself, but it looks the same; integers beyond 64 bits are floats with some parsers."""
    return repr(sorted(_as_any_parser(document).items(), key=lambda pair: pair[0]))


def _as_any_parser(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_any_parser(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_any_parser(one) for one in value]
    is_large = type(value) is int and not -(2**63) <= value < 2**64
    return float(value) if is_large and abs(value) < 10**300 else value


class TestAnyList:
    @same_way
    @given(st.lists(objects | json_values, max_size=4), st.permutations(list(LIST)), styles)
    def test_any_items(self, way: str, items: list[Any], order: list[str], style: dict[str, Any]) -> None:
        """What is read from any items in any order equals what decoding them gives; without msgspec all are read."""
        document = {**LIST, "items": items}
        found = check_list(compact({key: document[key] for key in order}, **style))
        assert found is not None or way == "msgspec"

    @same_way
    @given(st.lists(objects, max_size=3), st.permutations(list(LIST)), styles, edits)
    def test_any_edit(self, way: str, items: list[Any], order: list[str], style: dict[str, Any], edits: Any) -> None:
        """The same holds for bodies that something has broken."""
        document = {**LIST, "items": items}
        check_list(edited(compact({key: document[key] for key in order}, **style), edits))

    @same_way
    @given(st.binary(max_size=40))
    def test_any_bytes(self, way: str, data: bytes) -> None:
        """Nothing raises, whatever the bytes; also those among the items."""
        for body in (data, compact(LIST).replace(b'"items":[', b'"items":[' + data)):
            check_list(body)
