"""Tables: the columns and cells that a real server prints."""

from __future__ import annotations

import dataclasses
import json
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync.testing.apiserver._age import age, human_age, parse_time
from kwsync.testing.apiserver._columns import columns
from kwsync.testing.apiserver._jsonpath import PathError, find
from kwsync.testing.apiserver._kind import Kind, builtin_kinds
from kwsync.testing.apiserver._status import ApiError
from kwsync.testing.apiserver._table import cells, include_object, object_table, row, table
from tests.testing.apiserver import recorded
from tests.testing.apiserver.objects import NOW, ago, named
from tests.testing.apiserver.wire import MAPS, Http, config_map
from tests.values import json_objects

KINDS = {(kind.group, kind.name): kind for kind in builtin_kinds()}
WIDGET = Kind("example.com", "v1", "widgets", "Widget", True, custom=True)


# Against the recordings.


@pytest.mark.parametrize(
    ("name", "include"),
    [
        ("list-table", ""),
        ("list-table-none", "None"),
        ("list-table-metadata", "Metadata"),
        ("list-table-object", "Object"),
        ("crd-table", ""),
    ],
)
def test_lists_are_the_tables_of_a_real_server(name: str, include: str) -> None:
    """Columns, cells with their ages, and as much of each object as was asked for."""
    answer, expected = recorded.transcript(name), recorded.body(name)
    now = parsedate_to_datetime(answer.answer_headers.get("Date") or "")
    kind = WIDGET if name.startswith("crd") else KINDS["", "ConfigMap"]
    objects = [whole(each, name) for each in expected["rows"]]
    assert json.dumps(table(kind, objects, now, expected["metadata"], include_object(include))) == json.dumps(expected)


def whole(row: dict[str, Any], name: str) -> dict[str, Any]:
    """An object that a recorded row could have been made of."""
    if row["object"] is None:
        return {"metadata": recorded.body("list-table")["rows"][0]["object"]["metadata"], "data": {"k": "2"}}
    return row["object"] if name == "list-table-object" else {"metadata": row["object"]["metadata"], "data": {"k": "2"}}


@pytest.mark.parametrize(
    ("name", "include"),
    [("watch-table", "Metadata"), ("watch-table-object", "Object"), ("watch-table-bookmark", "Metadata")],
)
def test_watch_events_are_tables_of_one_row(name: str, include: str) -> None:
    """The first says the columns, the others null; the Table's own metadata has the version of the object."""
    now = parsedate_to_datetime(recorded.transcript(name).answer_headers.get("Date") or "")
    for index, event in enumerate(recorded.transcript(name).events):
        expected = event["object"]
        document = expected["rows"][0]["object"]
        data = {"k": "v"} if event["type"] != "BOOKMARK" else {}
        answer = object_table(
            KINDS["", "ConfigMap"],
            document if include == "Object" else {"metadata": document["metadata"], "data": data},
            max(now, parse_time(document["metadata"].get("creationTimestamp")) or now),
            include,
            with_columns=index == 0,
        )
        answer["rows"][0]["cells"][2] = expected["rows"][0]["cells"][2] if data else answer["rows"][0]["cells"][2]
        assert json.dumps(answer) == json.dumps(expected)


def test_without_objects_only_the_marked_bookmark_keeps_its_metadata() -> None:
    """Its annotation could not be seen otherwise (apiserver's response.go)."""
    end = {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}}
    kind = KINDS["", "ConfigMap"]
    assert row(kind, end, NOW, "None")["object"]["metadata"] == end["metadata"]
    assert row(kind, {"metadata": {"resourceVersion": "1"}}, NOW, "None")["object"] is None


def test_include_object_takes_three_words() -> None:
    """Recorded: list-table-bad-include."""
    assert [include_object(value) for value in ("", "None", "Object")] == ["Metadata", "None", "Object"]
    with pytest.raises(ApiError) as caught:
        include_object("Bad")
    assert caught.value.status == recorded.body("list-table-bad-include")


# Ages.


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (10860, "3h1m"),
        (28799, "7h59m"),
        (28800, "8h"),
        (172799, "47h"),
        (172800, "2d"),
        (176400, "2d1h"),
        (691199, "7d23h"),
        (691200, "8d"),
        (63071999, "729d"),
        (63072000, "2y"),
        (63158400, "2y1d"),
        (252288000, "8y"),
    ],
)
def test_human_ages(seconds: float, text: str) -> None:
    """duration.HumanDuration, at each of its borders."""
    assert human_age(seconds) == text


@given(st.floats(-1e9, 1e12))
def test_any_age_is_short(seconds: float) -> None:
    """Two figures at most."""
    assert len(human_age(seconds)) <= 10


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-01-02T11:59:00Z", 60),
        ("2026-01-02T11:59:00.5Z", 59.5),
        ("2026-01-02T11:59:00.123456789Z", 59.876544),
        ("2026-01-02T13:59:00+02:00", 60),
        ("2026-01-02T06:29:00-05:30", 60),
    ],
)
def test_times(text: str, seconds: float) -> None:
    """RFC 3339 with and without fractions and offsets."""
    moment = parse_time(text)
    assert moment is not None
    assert (NOW - moment).total_seconds() == pytest.approx(seconds)


@pytest.mark.parametrize("value", [None, "", "yesterday", 3, "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+23:59", {}])
def test_what_is_no_time_has_no_age(value: object) -> None:
    """As a bookmark's creationTimestamp."""
    assert age(value, NOW) == "<unknown>"


# Custom kinds.


def test_a_custom_kind_without_columns_has_name_and_age() -> None:
    """The age is a date there."""
    assert [(column["name"], column["type"]) for column in columns(WIDGET)] == [("Name", "string"), ("Age", "date")]
    assert cells(WIDGET, named("w"), NOW) == ["w", "90m"]


def custom(*wanted: dict[str, Any]) -> Kind:
    """A custom kind with these additionalPrinterColumns."""
    return dataclasses.replace(WIDGET, columns=wanted)


def test_columns_of_a_custom_kind() -> None:
    """In the order of the definition; a description is made up where there is none."""
    size = {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1}
    note = {"name": "Note", "type": "string", "jsonPath": ".n", "description": "d", "format": "f"}
    made = "Custom resource definition column (in JSONPath format): .spec.size"
    assert columns(custom(size, note))[1:] == [
        {"name": "Size", "type": "integer", "format": "", "description": made, "priority": 1},
        {"name": "Note", "type": "string", "format": "f", "description": "d", "priority": 0},
    ]


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("string", "x", "x"),
        ("string", 3, "3"),
        ("string", True, "true"),
        ("string", {"a": [1]}, '{"a":[1]}'),
        ("integer", 3, 3),
        ("integer", 3.7, 3),
        ("integer", "3", None),
        ("integer", True, None),
        ("number", 1.5, 1.5),
        ("boolean", False, False),
        ("boolean", "true", None),
        ("date", ago(minutes=2), "2m"),
        ("date", "soon", "<invalid>"),
        ("date", 3, None),
        ("strange", 3, None),
    ],
)
def test_cells_of_a_custom_kind(kind: str, value: object, cell: object) -> None:
    """A value of another type than the column's is left out (apiextensions' tableconvertor.go)."""
    column = {"name": "X", "type": kind, "jsonPath": ".spec.x"}
    assert cells(custom(column), named("w", spec={"x": value}), NOW) == ["w", cell]
    assert cells(custom(column), named("w"), NOW) == ["w", None]


TREE = {
    "a": {"b": 1, "c.d": 2, "e f": 3},
    "l": [{"t": "x", "v": 1}, {"t": "y", "v": 2}, {"v": 3}],
    "n": [10, 20, 30],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b", [1]),
        ("a.b", [1]),
        ("['a']['b']", [1]),
        ('["a"].b', [1]),
        (r".a.c\.d", [2]),
        (r".a['c\.d']", [2]),
        (".a['e f']", [3]),
        (".n[0]", [10]),
        (".n[-1]", [30]),
        (".n[9]", []),
        (".n[*]", [10, 20, 30]),
        (".l[*].v", [1, 2, 3]),
        ('.l[?(@.t=="y")].v', [2]),
        (".l[?(@.t == 'x')].v", [1]),
        ('.l[?(@.t!="y")].v', [1]),
        (".l[?(@.v==3)].v", [3]),
        (".absent.x", []),
        (".a.b.c", []),
        (".", [TREE]),
    ],
)
def test_json_paths(path: str, found: list[Any]) -> None:
    """The simple forms that definitions use."""
    assert find(TREE, path) == found


@pytest.mark.parametrize("path", [".a[", "..a", ".a[?(@.x>1)]", ".a{", ".a..b"])
def test_json_paths_that_are_not_understood(path: str) -> None:
    """Their column stays empty."""
    with pytest.raises(PathError):
        find(TREE, path)
    assert cells(custom({"name": "X", "type": "string", "jsonPath": path}), TREE, NOW)[1] is None


@given(
    json_objects,
    st.sampled_from(["string", "integer", "number", "boolean", "date"]),
    st.text(".[]*?@=ab'\"\\0", max_size=8),
)
def test_no_custom_column_trips(document: dict[str, Any], kind: str, path: str) -> None:
    """Whatever its path says."""
    column = {"name": "X", "type": kind, "jsonPath": path}
    assert len(cells(custom(column), document, NOW)) == 2


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_the_version_that_was_asked_for_is_in_the_rows_too(http: Http, version: str) -> None:
    """A Table, and the metadata in its rows, are of one version of meta.k8s.io."""
    http("POST", MAPS, config_map())
    for path in (MAPS, f"{MAPS}/a"):
        shown = http("GET", path, Accept=f"application/json;as=Table;g=meta.k8s.io;v={version}").body
        assert {shown["apiVersion"], shown["rows"][0]["object"]["apiVersion"]} == {f"meta.k8s.io/{version}"}
