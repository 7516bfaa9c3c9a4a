"""States to wait for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync import EventType, WatchEvent
from kwsync.cli._until import parse_until
from tests.values import json_objects

POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "web", "generation": 2, "labels": {"example.com/app": "web", "n": "3", "odd key": "x"}},
    "spec": {"replicas": 3, "paused": False, "share": 0.5, "big": 9007199254740993, "nothing": None, "empty": ""},
    "status": {
        "phase": "Running",
        "readyReplicas": 3,
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "Stalled", "status": "False", "observedGeneration": 2},
            {"type": "Old", "status": "True", "observedGeneration": 1},
            {"type": "Odd", "status": None},
            "no condition",
        ],
        "containerStatuses": [
            {"name": "main", "ready": True, "restartCount": 0},
            {"name": "side", "ready": False, "restartCount": 4},
        ],
    },
}


def holds(expression: str, verb: EventType = EventType.MODIFIED, document: dict[str, Any] | None = POD) -> bool:
    return parse_until(expression).holds(WatchEvent(verb, document))


@pytest.mark.parametrize(
    ("expression", "met"),
    [
        ("condition=Ready", True),
        ("condition=ready=true", True),
        ("condition=Ready=False", False),
        ("condition=Stalled", False),
        ("condition=Stalled=False", True),
        ("condition='Ready'", False),
        ("condition=Ready='True'", True),
        ("condition=Old", False),
        ("condition=Odd", False),
        ("condition=Absent=False", False),
    ],
)
def test_condition(expression: str, met: bool) -> None:
    """As kubectl wait: without regard to case, and a status of an older generation does not count."""
    assert holds(expression) is met


def test_condition_of_an_older_generation() -> None:
    """The observed generation of the whole status counts where the condition has none."""
    status = {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}
    document = {"metadata": {"generation": 2}, "status": status}
    assert not holds("condition=Ready", document=document)
    status["observedGeneration"] = 2
    assert holds("condition=Ready", document=document)


@pytest.mark.parametrize(
    "form", ["jsonpath={%s}%s", "jsonpath='{%s}'%s", "jsonpath=%s%s", "%s%s", "{%s}%s", "{ %s }%s"]
)
@pytest.mark.parametrize(
    ("path", "comparison", "met"),
    [
        (".status.phase", "=Running", True),
        (".status.phase", "='Running'", True),
        (".status.phase", '="Running"', True),
        (".status.phase", "=running", False),
        (".status.phase", "==Running", True),
        (".status.phase", "!=Pending", True),
        (".status.phase", "", True),
        (".status.absent", "", False),
        (".status.absent", "!=x", False),
        (".spec.nothing", "", False),
        (".spec.empty", '=""', True),
        (".spec.paused", "=false", True),
        (".spec.paused", "=0", False),
        (".spec.replicas", "=3", True),
        (".spec.replicas", "=3.0", True),
        (".spec.replicas", " = 3", True),
        (".spec.big", "=9007199254740993", True),
        (".spec.big", "=9007199254740992", False),
        (".spec.share", "=0.50", True),
        (".spec.share", "<1", True),
        (".status.readyReplicas", ">=3", True),
        (".status.readyReplicas", ">3", False),
        (".status.readyReplicas", "<=3", True),
        (".status.readyReplicas", "<-3", False),
        (".status.phase", ">3", False),
        (".spec.paused", "<1", False),
        (".metadata.labels.n", "=3", True),
        (".metadata.labels.n", "=3.0", False),
        (".metadata.labels.n", ">=3", True),
        (r".metadata.labels.example\.com/app", "=web", True),
        (".metadata.labels['example.com/app']", "=web", True),
        (".metadata.labels['odd key']", "=x", True),
        (".status.containerStatuses[0].ready", "=true", True),
        (".status.containerStatuses[-1].ready", "=true", False),
        (".status.containerStatuses[7].ready", "", False),
        (".status.containerStatuses[*].ready", "=true", False),
        (".status.containerStatuses[*].restartCount", ">=0", True),
        (".status.containerStatuses[*].absent", "", False),
        (".metadata.labels.*", "!=y", True),
        ('.status.conditions[?(@.type=="Ready")].status', "=True", True),
        (".status.conditions[?(@.type==Stalled)].status", "=True", False),
        (".status.containerStatuses[?(@.restartCount>3)].name", "=side", True),
        (".status.containerStatuses[?(@.ready)].name", "", True),
        (".status.conditions", "=x", False),
        (".status.phase.below", "", False),
        (".status.phase[0]", "", False),
    ],
)
def test_fields(form: str, path: str, comparison: str, met: bool) -> None:
    """A field is compared as what it is; of several values all count, and of none nothing holds."""
    assert holds(form % (path, comparison)) is met


def test_relaxed_path() -> None:
    """kubectl takes a path without a dot."""
    assert holds("jsonpath=status.phase=Running")
    assert holds("jsonpath={status.phase}=Running")


def test_create_and_delete() -> None:
    """Somebody who waits for a deletion may find that it has happened already."""
    assert [kind for kind in EventType if holds("create", kind)] == [EventType.ADDED, EventType.MODIFIED]
    assert [kind for kind in EventType if holds("delete", kind)] == [EventType.DELETED]
    assert [parse_until(one).by_absence for one in ("create", "delete", ".a")] == [False, True, False]


@pytest.mark.parametrize("kind", sorted(set(EventType) - {EventType.ADDED, EventType.MODIFIED}))
def test_what_is_gone_is_in_no_state(kind: EventType) -> None:
    """Neither the last state of what was deleted nor an event without an object is one that was waited for."""
    for expression in ("condition=Ready", ".status.phase=Running"):
        assert not holds(expression, kind)
        assert not holds(expression, kind, None)


BAD = {
    "": "say condition=Ready",
    "Ready": "say condition=Ready",
    "status.phase=Running": "say condition=Ready",
    "condition=": "a condition has a name",
    "condition==True": "a condition has a name",
    "condition=Ready=": "a condition has a name",
    "jsonpath=": "a path begins with a dot",
    "jsonpath={.a": "the brace is not closed",
    "{.a]}=1": "the brace is not closed at ']}=1'",
    "{.a": "the brace is not closed",
    ".a..b": "the path is not understood from '..b' on",
    ".a[x]": "the path is not understood from '[x]' on",
    ".a[": "the path is not understood from '[' on",
    ".": "the path is not understood from '.' on",
    ".a}": "the path is not understood from '}' on",
    ".a b": "the path is not understood from 'b' on",
    ".a=": "there is nothing behind =",
    ".a>=": "there is nothing behind >=",
    ".a>=many": ">= compares numbers, and 'many' is none",
    ".a=>3": "the sign => is not known",
    ".a===3": "the sign === is not known",
    ".a ~3": "the path is not understood from '~3' on",
    ".a[?(@.b==)]": "a filter compares with nothing",
    ".a[?(@.b==c]": "a filter ends with )]",
    ".a[?(.b)]": "the path is not understood from '[?(.b)]' on",
    ".a[?(@.b[?(@.c)])]": "the path is not understood from '[?(@.c)])]' on",
}


@pytest.mark.parametrize(("expression", "words"), BAD.items())
def test_refusals(expression: str, words: str) -> None:
    """What is no expression is told in one sentence, with the expression in it."""
    with pytest.raises(ValueError, match="is no state to wait for: ") as caught:
        parse_until(expression)
    told = str(caught.value)
    assert words in told
    assert told.startswith(repr(expression))
    assert "\n" not in told


@given(st.text(st.sampled_from("condition=jsonpath{}[]()?@.*'\"\\<>!=$- 0ab"), max_size=30), json_objects)
def test_never_fails_otherwise(expression: str, document: dict[str, Any]) -> None:
    """Any text is an expression or refused, and an expression can be asked of any object."""
    try:
        found = parse_until(expression)
    except ValueError:
        return
    assert found.holds(WatchEvent(EventType.ADDED, document)) in (True, False)
