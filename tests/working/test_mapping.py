"""Keys and predicates of events: the statements of C1 on mapping and predicates, and how they fit together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync import EventType, ObjectKey, Resource, WatchEvent, mapping
from kwsync._deliveries import added, deleted, missed, modified
from kwsync.mapping import keys_for
from kwsync.testing import pod
from tests.keeping.support import kept

Document = dict[str, Any]


def reference(kind: str, name: str, version: str = "apps/v1", controller: bool | None = True) -> Document:
    """One owner reference."""
    found = {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-{name}"}
    return found if controller is None else {**found, "controller": controller}


def owned(*references: Document, rv: str = "1", **more: Any) -> Document:
    """A pod with owners."""
    return pod("a", rv, metadata={"ownerReferences": list(references), **more})


def change(old: Document, new: Document) -> WatchEvent:
    """A MODIFIED event, as an informer's handler gets it."""
    return modified(kept(new), kept(old)).event()


def coming(document: Document) -> WatchEvent:
    """An ADDED event."""
    return added(kept(document)).event()


SETS = mapping.owner_of("replicasets")


def test_c1_mapping_self() -> None:
    """For: the object's own key, for which nothing is decoded."""
    event = coming(pod("a"))
    assert list(keys_for(event, mapping.own_key)) == [ObjectKey("default", "a")]
    assert "_decoded" not in event.__dict__


def test_c1_mapping_owner() -> None:
    """Owns: the owner that is the controller, in the object's namespace; other kinds and owners do not count."""
    event = coming(
        owned(
            reference("ReplicaSet", "mine"),
            reference("ReplicaSet", "other", controller=False),
            reference("ReplicaSet", "third", controller=None),
            reference("Deployment", "no"),
            reference("ReplicaSet", "foreign", "example.com/v1"),
        )
    )
    assert list(keys_for(event, SETS)) == [ObjectKey("default", "mine")]
    every = mapping.owner_of("replicasets", controller=False)
    assert [each.name for each in keys_for(event, every) if isinstance(each, ObjectKey)] == ["mine", "other", "third"]


@pytest.mark.parametrize("version", ["apps/v1", "apps/v1beta2"])
def test_c1_mapping_ignores_the_version(version: str) -> None:
    """Owners are matched by group and kind; the version, which may differ, does not matter."""
    assert list(keys_for(coming(owned(reference("ReplicaSet", "r", version))), SETS)) == [ObjectKey("default", "r")]


def test_c1_mapping_cluster_scoped_owner() -> None:
    """An owner that has no namespace has a key without one."""
    event = coming(owned(reference("Node", "n", "v1", controller=None)))
    assert list(keys_for(event, mapping.owner_of("nodes", controller=False))) == [ObjectKey("", "n")]


def test_c1_mapping_old_and_new() -> None:
    """An object that went from one owner to another makes work for both, each once, for a deletion too."""
    first, second = owned(reference("ReplicaSet", "old")), owned(reference("ReplicaSet", "new"), rv="2")
    both = [ObjectKey("default", "new"), ObjectKey("default", "old")]
    assert list(keys_for(change(first, second), SETS)) == both
    assert list(keys_for(deleted(kept(second), kept(first)).event(), SETS)) == both
    assert list(keys_for(change(first, first), SETS)) == both[1:]


def test_c1_mapping_function() -> None:
    """Any function: an iterable of any keys, one key or one string as they are, or nothing; each key once an event."""

    def mapped(*given: Any) -> list[Any]:
        answers = iter(given)
        return [list(keys_for(coming(pod("a")), lambda event: next(answers))) for _ in given]

    one = ObjectKey("default", "one")
    assert mapped(None, [], one, "word", ["b", "a", "b"], {1}, iter([one])) == [
        [],
        [],
        [one],
        ["word"],
        ["b", "a"],
        [1],
        [one],
    ]


def test_the_state_before() -> None:
    """A mapper is asked about each state as if it were the event's: object and version belong together."""
    seen: list[tuple[Any, ...]] = []

    def look(event: WatchEvent) -> None:
        assert event.object is not None
        seen.append((event.type, event.object["metadata"]["resourceVersion"], event.resource_version))

    keys_for(change(pod("a", "1"), pod("a", "2")), look)
    keys_for(missed(kept(pod("a", "3"))).event(), look)
    assert seen == [
        (EventType.MODIFIED, "2", "2"),
        (EventType.MODIFIED, "1", "1"),
        (EventType.DELETED, "3", "3"),
        (EventType.DELETED, "3", "3"),
    ]


def test_unknown_owners() -> None:
    """Of a kind that is not built in, kind and scope have to be known; else no reference could match."""
    with pytest.raises(ValueError, match="discover"):
        mapping.owner_of("crontabs.v1.stable.example.com")
    found = Resource("stable.example.com", "v1", "crontabs", namespaced=True, kind="CronTab")
    event = coming(owned(reference("CronTab", "c", "stable.example.com/v2")))
    assert list(keys_for(event, mapping.owner_of(found))) == [ObjectKey("default", "c")]


@pytest.mark.parametrize("odd", [None, 5, "x", {}, [None], [5], [{}], [{"kind": "ReplicaSet"}]])
def test_odd_references(odd: object) -> None:
    """References that are none own nothing, and nothing fails."""
    assert list(keys_for(coming(pod("a", metadata={"ownerReferences": odd})), SETS)) == []


# Predicates

CHANGES: dict[str, tuple[Document, Document]] = {
    "resync": ({}, {}),
    "status": ({"generation": 1}, {"generation": 1, "resourceVersion": "2"}),
    "spec": ({"generation": 1}, {"generation": 2, "resourceVersion": "2"}),
    "labels": (
        {"generation": 1, "labels": {"a": "1"}},
        {"generation": 1, "labels": {"a": "2"}, "resourceVersion": "2"},
    ),
    "no labels": ({"generation": 1}, {"generation": 1, "labels": {}, "resourceVersion": "2"}),
    "annotations": ({"generation": 1}, {"generation": 1, "annotations": {"a": "1"}, "resourceVersion": "2"}),
    "no generation": ({}, {"resourceVersion": "2"}),
}
SEEN: dict[mapping.Predicate, set[str]] = {
    mapping.generation_changed: {"spec", "no generation"},
    mapping.labels_changed: {"labels"},
    mapping.annotations_changed: {"annotations"},
    mapping.version_changed: set(CHANGES) - {"resync"},
}


@pytest.mark.parametrize("predicate", SEEN, ids=lambda each: str(each.__name__))
def test_c1_predicates(predicate: mapping.Predicate) -> None:
    """Each drops the changes that are not its own; a resync is none; what has no generation counts with each change."""
    events = {name: change(pod("a", metadata=old), pod("a", metadata=new)) for name, (old, new) in CHANGES.items()}
    assert {name for name, event in events.items() if predicate(event)} == SEEN[predicate]


@pytest.mark.parametrize("predicate", SEEN, ids=lambda each: str(each.__name__))
def test_c1_predicates_are_about_changes(predicate: mapping.Predicate) -> None:
    """What comes or goes counts for each of them, also a deletion that nobody saw."""
    state = kept(pod("a", metadata={"generation": 1}))
    assert all(predicate(each.event()) for each in (added(state), deleted(state, state), missed(state)))


def test_c1_label_selector() -> None:
    """An object that the selector matches counts, and one that it does not match any more."""
    predicate = mapping.labels_match({"app": "web"})
    inside, outside = pod("a", metadata={"labels": {"app": "web"}}), pod("a", metadata={"labels": {"app": "db"}})
    assert [predicate(coming(inside)), predicate(coming(outside))] == [True, False]
    assert all(predicate(change(one, other)) for one, other in ((inside, outside), (outside, inside)))
    assert not predicate(change(outside, outside))
    with pytest.raises(ValueError, match="!!"):
        mapping.labels_match("!!")


@given(st.lists(st.booleans()))
def test_c1_composition(answers: list[bool]) -> None:
    """And, Or and Not are all_of, any_of and none_of, as Python's all and any."""
    event = WatchEvent(EventType.SYNCED)
    predicates: list[mapping.Predicate] = [lambda _, answer=answer: answer for answer in answers]  # type: ignore[misc]
    assert mapping.all_of(*predicates)(event) is all(answers)
    assert mapping.any_of(*predicates)(event) is any(answers)
    assert mapping.none_of(*predicates)(event) is not any(answers)


names = st.sampled_from("abc")
owners = st.lists(st.builds(reference, st.sampled_from(["ReplicaSet", "Job"]), names, controller=st.booleans()))


@given(owners, owners)
def test_every_owner_gets_work(before: list[Document], after: list[Document]) -> None:
    """Whatever changes, the controlling owners of both states are the keys, each once, and nothing else."""

    def wanted() -> Iterator[ObjectKey]:
        for each in (*before, *after):
            if each["kind"] == "ReplicaSet" and each["controller"]:
                yield ObjectKey("default", each["name"])

    found = list(keys_for(change(owned(*before), owned(*after, rv="2")), SETS))
    assert set(found) == set(wanted())
    assert len(set(found)) == len(found)
