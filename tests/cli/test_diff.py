"""What changed in an object."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given

from kwsync import EventType, WatchEvent
from kwsync.cli._colour import Paint
from kwsync.cli._diff import changed_lines
from kwsync.cli._differences import Differences
from kwsync.cli._text import UNSAFE
from tests.values import json_objects, nested


def lines(old: Any, new: Any, kind: str = "Thing") -> list[str]:
    return changed_lines({"kind": kind, "spec": old}, {"kind": kind, "spec": new})


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ({"a": "Pending"}, {"a": "Running"}, ["~ spec.a: Pending → Running"]),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ["~ spec.b: 2 → 3"]),
        ({}, {"a": True}, ["+ spec.a: true"]),
        ({"a": None}, {}, ["- spec.a: null"]),
        ({"a": 1}, {"a": True}, ["~ spec.a: 1 → true"]),
        ({"a": "1"}, {"a": 1}, ['~ spec.a: "1" → 1']),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": ""}, {"a": " x"}, ['~ spec.a: "" → " x"']),
        ({"a": "true"}, {"a": "True"}, ['~ spec.a: "true" → True']),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, ["~ spec.a.b.c: 1 → 2"]),
        ({"a": {"b": 1}}, {"a": 3}, ['~ spec.a: {"b":1} → 3']),
        ({}, {"a": {"b": [1, "x"]}}, ['+ spec.a: {"b":[1,"x"]}']),
        ({"x/y.z": 1, "a-b_c": 1}, {"x/y.z": 2, "a-b_c": 2}, ['~ spec["x/y.z"]: 1 → 2', "~ spec.a-b_c: 1 → 2"]),
        ({"b": 1, "a": 1}, {"a": 1, "b": 1}, []),
    ],
)
def test_fields(old: Any, new: Any, shown: list[str]) -> None:
    """A line for each field that changed, came or went: its path, the old value and the new one."""
    assert lines(old, new) == shown


CONTAINERS = [{"name": "main", "image": "x:1"}, {"name": "side", "image": "y:1"}]


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (CONTAINERS, [{"name": "main", "image": "x:2"}, CONTAINERS[1]], ["~ spec[main].image: x:1 → x:2"]),
        (CONTAINERS, [CONTAINERS[1]], ['- spec[main]: {"name":"main","image":"x:1"}']),
        (CONTAINERS[:1], CONTAINERS, ['+ spec[side]: {"name":"side","image":"y:1"}']),
        (CONTAINERS, CONTAINERS[::-1], ["~ spec: main, side → side, main (their order)"]),
        ([{"type": "Up", "status": "False"}], [{"type": "Up", "status": "True"}], ["~ spec[Up].status: False → True"]),
        ([{"port": 1, "to": 2}], [{"port": 1, "to": 3}], ["~ spec[1].to: 2 → 3"]),
        ([{"name": "a"}, {"name": "a"}], [{"name": "a"}], ['- spec[1]: {"name":"a"}']),
        (["x", "y"], ["x", "y", "z"], ["+ spec[2]: z"]),
        (["x", "y", "z"], ["y", "z"], ["- spec[0]: x"]),
        (["x", "y"], ["x", "w"], ["~ spec[1]: y → w"]),
        ([{"a": [1]}, 2], [{"a": [3]}, 2], ["~ spec[0].a[0]: 1 → 3"]),
        ([], ["x"], ["+ spec[0]: x"]),
        ([{"name": "a"}, "odd"], [{"name": "b"}, "odd"], ["~ spec[0].name: a → b"]),
    ],
)  # fmt: skip
def test_lists(old: Any, new: Any, shown: list[str]) -> None:
    """Items are known by their name, type or the like where all have one, else by their place."""
    assert lines(old, new) == shown


def test_what_changes_by_itself() -> None:
    """Bookkeeping and heartbeats are no change; what they stand beside is."""
    old: dict[str, Any] = {
        "kind": "Node",
        "metadata": {
            "resourceVersion": "1",
            "generation": 1,
            "managedFields": [{"time": "1"}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "1", "a": "b"},
        },
        "status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "1"}]},
    }
    new = json.loads(json.dumps(old).replace('"1"', '"2"').replace(": 1", ": 2"))
    assert changed_lines(old, new) == []
    new["status"]["conditions"][0]["status"] = "Unknown"
    new["metadata"]["annotations"]["a"] = "c"
    assert changed_lines(old, new) == [
        "~ metadata.annotations.a: b → c",
        "~ status.conditions[Ready].status: True → Unknown",
    ]


def test_lease() -> None:
    """That a Lease was renewed is no news; who holds it is."""
    old = {"holderIdentity": "a", "renewTime": "1", "leaseTransitions": 1}
    assert lines(old, {**old, "renewTime": "2"}, "Lease") == []
    assert lines(old, {**old, "renewTime": "2", "holderIdentity": "b"}, "Lease") == ["~ spec.holderIdentity: a → b"]
    assert lines(old, {**old, "renewTime": "2"}) == ['~ spec.renewTime: "1" → "2"']


SECRET = {
    "kind": "Secret",
    "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"p":"b2xk"}}'}},
    "data": {"p": "b2xk", "gone": "b2xk"},
    "stringData": {"s": "b2xk"},
    "type": "Opaque",
}


@pytest.mark.parametrize("data", [{"p": "bmV3", "came": "bmV3"}, ["b2xk", "bmV3"], "bmV3", None, {"p": {"q": "bmV3"}}])
def test_secrets_are_masked(data: Any) -> None:
    """What a Secret holds is shown by no line, whatever became of it: that it changed is."""
    new = {**SECRET, "data": data, "metadata": {}}
    for one, other in ((SECRET, new), (new, SECRET), ({"kind": "Secret"}, new), (new, {"kind": "Secret"})):
        shown = changed_lines(one, other)
        assert shown
        assert "b2xk" not in "".join(shown)
        assert "bmV3" not in "".join(shown)
    assert changed_lines(SECRET, {**SECRET, "data": {"p": "bmV3", "came": "x"}}) == [
        "~ data.p: *** → ***",
        "+ data.came: ***",
        "- data.gone: ***",
    ]


def test_lists_in_a_secret_are_masked() -> None:
    """Also a list, which no true Secret has, is shown as one thing."""
    old, new = ({"kind": "Secret", "data": [{"name": name}]} for name in ("b2xk", "bmV3"))
    assert changed_lines(old, new) == ["~ data: *** → ***"]


def test_texts_of_several_lines() -> None:
    """Of a file in a ConfigMap the lines are shown that changed."""
    text = "".join(f"line {number}\n" for number in range(100))
    assert lines({"f": text}, {"f": text.replace("line 7\n", "line seven\nmore\x1b\n")}) == [
        "~ spec.f:",
        "    - line 7",
        "    + line seven",
        "    + more\\x1b",
    ]
    shown = lines({"f": text}, {"f": "x\n"})
    assert len(shown) == 42
    assert shown[-1] == "    ... and 61 more lines"


def test_long_values() -> None:
    """Long values are cut so that their first difference is seen."""
    old, new = ("a" * 300 + end + "b" * 300 for end in "xy")
    [line] = lines({"f": old}, {"f": new})
    assert line == f"~ spec.f: ...{'a' * 20}x{'b' * 139}... → ...{'a' * 20}y{'b' * 139}..."
    [line] = lines({"f": "a" * 300}, {"f": "a" * 301})
    assert line == f"~ spec.f: ...{'a' * 20} → ...{'a' * 21}"
    [line] = lines({}, {"f": "a" * 300})
    assert line == f"+ spec.f: {'a' * 160}..."


def test_nothing_to_compare() -> None:
    """Where a state is not known, nothing is said of it."""
    assert changed_lines(None, {"a": 1}) == changed_lines({"a": 1}, None) == changed_lines(None, None) == []


def test_another_arrow() -> None:
    """A terminal that knows ASCII alone gets an arrow of two signs."""
    assert changed_lines({"a": 1}, {"a": 2}, arrow="->") == ["~ a: 1 -> 2"]


def test_too_deep_to_be_kept() -> None:
    """Of what no writer can write it is told that it changed; all others go on."""
    shown = Differences(lambda event: event.key.name, Paint())

    def lines(name: str, value: object) -> list[str]:
        return shown.change(WatchEvent(EventType.MODIFIED, {"metadata": {"name": name}, "x": value}))

    assert [lines("deep", nested(50_000)) for _ in range(2)] == [["MODIFIED deep"]] * 2
    assert [lines("a", value) for value in (1, 2)] == [["MODIFIED a"], ["MODIFIED a", "  ~ x: 1 → 2"]]
    assert lines("deep", 1) == ["MODIFIED deep"]
    assert lines("deep", 2) == ["MODIFIED deep", "  ~ x: 1 → 2"]


def test_deep_objects() -> None:
    """What is nested too deeply to be compared is told to be."""
    told = changed_lines({"a": nested(3000)}, {"a": nested(3001)})
    assert told == ["~ it is nested too deeply to be compared"]


@given(json_objects, json_objects)
def test_any_objects(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Whatever two objects hold, the lines are safe, the objects stay as they were, and equal ones have no lines."""
    before = copy.deepcopy((old, new))
    shown = changed_lines(old, new)
    assert repr((old, new)) == repr(before)
    assert not any(UNSAFE.search(line) for line in shown)
    assert changed_lines(old, copy.deepcopy(old)) == []
