"""What the server keeps, without sockets: objects, versions, the history of each kind."""

from __future__ import annotations

import itertools
import re
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kwsync.testing import ApiError
from kwsync.testing.apiserver import _recovery
from kwsync.testing.apiserver._bounds import Bounds
from kwsync.testing.apiserver._collection import Change
from kwsync.testing.apiserver._kind import Kind
from kwsync.testing.apiserver._state import Deletion, State
from tests.testing.apiserver.wire import definition

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


def new_state(history: int = 1000, size: int = 1 << 20) -> State:
    """A state whose clock stands still, with the namespace default."""
    numbers = itertools.count(1)
    state = State(lambda: NOW, lambda: f"{next(numbers):032x}", Bounds(history, size))
    state.create(named(state, "namespaces"), "", {"metadata": {"name": "default"}})
    return state


def named(state: State, name: str) -> Kind:
    """A kind of the state."""
    kind = state.catalog.named(name)
    assert kind is not None
    return kind


def meta(name: str = "a", **more: Any) -> dict[str, Any]:
    """An object with metadata alone."""
    return {"metadata": {"name": name, **more}}


class Recorder:
    """A watch that only writes down what it is offered."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.ended = False

    def offer(self, change: Change) -> None:
        """Write it down."""
        self.changes.append(change)

    def end(self) -> None:
        """Remember it."""
        self.ended = True

    @property
    def told(self) -> list[tuple[str, str, str]]:
        """Type, name and version of each change."""
        return [(one.type, one.after.name, one.after.metadata["resourceVersion"]) for one in self.changes]


@pytest.fixture
def state() -> State:
    """A state with the namespace default."""
    return new_state()


@pytest.fixture
def maps(state: State) -> Kind:
    """The kind of config maps."""
    return named(state, "configmaps")


@pytest.fixture
def seen(state: State, maps: Kind) -> Recorder:
    """What a watch of config maps is offered."""
    recorder = Recorder()
    state.collection(maps.stored_as).listeners.append(recorder)
    return recorder


def code_of(call: Any) -> tuple[int, str]:
    """Code and message of the failure of a call."""
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value.code, str(caught.value)


class TestCreate:
    def test_metadata(self, state: State, maps: Kind) -> None:
        """The server sets uid, version and time; what the client says of them, or of an end, does not count."""
        given = meta(uid="mine", creationTimestamp="never", deletionTimestamp="now", labels={"a": "b"}, selfLink="x")
        version = state.create(maps, "default", given).version
        assert version.metadata == {
            "name": "a",
            "namespace": "default",
            "uid": f"{2:032x}",
            "resourceVersion": "2",
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": {"a": "b"},
        }

    def test_one_counter(self, state: State, maps: Kind) -> None:
        """A11: every write of every kind takes the next version from one counter."""
        secrets = named(state, "secrets")
        found = [
            state.create(kind, "default", meta(name)).version.revision
            for kind, name in ((maps, "a"), (secrets, "a"), (maps, "b"))
        ]
        assert found == [2, 3, 4]

    def test_generated_name(self, state: State, maps: Kind) -> None:
        """generateName is completed by five letters or digits."""
        given = {"metadata": {"generateName": "x-"}}
        names = {state.create(maps, "default", given).version.name for _ in range(3)}
        assert len(names) == 3
        assert all(re.fullmatch("x-[a-z0-9]{5}", name) for name in names)

    def test_no_name(self, state: State, maps: Kind) -> None:
        """Without a name, and without generateName, it is 422."""
        code, message = code_of(lambda: state.create(maps, "default", {"metadata": {}}))
        assert (code, "name or generateName is required" in message) == (422, True)

    def test_refused(self, state: State, maps: Kind) -> None:
        """A taken name is 409, a missing namespace 404, a version 500 without a reason: as recorded (create-…)."""
        state.create(maps, "default", meta())
        assert code_of(lambda: state.create(maps, "default", meta()))[0] == 409
        assert code_of(lambda: state.create(maps, "nowhere", meta())) == (404, 'namespaces "nowhere" not found')
        assert code_of(lambda: state.create(maps, "default", meta(resourceVersion="5")))[0] == 500

    def test_dry_run(self, state: State, maps: Kind, seen: Recorder) -> None:
        """A dry run has a uid and no version, stores nothing and tells nobody."""
        version = state.create(maps, "default", meta(), dry_run=True).version
        assert "resourceVersion" not in version.metadata
        assert "uid" in version.metadata
        assert state.find(maps, "default", "a") is None
        assert seen.changes == []

    def test_status_is_dropped(self, state: State) -> None:
        """A kind with the subresource status starts with the status of the server, not of the client; not so nodes."""
        pod = state.create(named(state, "pods"), "default", {**meta(), "status": {"phase": "Running"}}).version
        node = state.create(named(state, "nodes"), "", {**meta(), "status": {"x": 1}}).version
        assert pod.object["status"]["phase"] == "Pending"
        assert node.object["status"]["x"] == 1


class TestReplace:
    def test_noop(self, state: State, maps: Kind, seen: Recorder) -> None:
        """Trap 10: a write that changes nothing keeps the version and causes no event."""
        created = state.create(maps, "default", {**meta(), "data": {"k": "v"}}).version
        again = state.replace(maps, "default", "a", {**meta(), "data": {"k": "v"}}).version
        assert again is created
        assert seen.told == [("ADDED", "a", "2")]

    def test_conflicts(self, state: State, maps: Kind) -> None:
        """A stale version and a foreign uid are 409; no version at all is no precondition."""
        state.create(maps, "default", meta())
        changed = state.replace(maps, "default", "a", {**meta(), "data": {"k": "1"}}).version
        assert changed.revision == 3
        stale = {**meta(resourceVersion="2"), "data": {"k": "2"}}
        assert code_of(lambda: state.replace(maps, "default", "a", stale))[0] == 409
        foreign = {**meta(uid="other"), "data": {"k": "2"}}
        assert "Precondition failed: UID" in code_of(lambda: state.replace(maps, "default", "a", foreign))[1]

    def test_conditional_kinds(self, state: State) -> None:
        """Leases, as custom resources, want a version in every PUT: 422 without."""
        leases = named(state, "leases")
        state.create(leases, "default", meta())
        code, message = code_of(lambda: state.replace(leases, "default", "a", {**meta(), "spec": {}}))
        assert (code, "must be specified for an update" in message) == (422, True)

    def test_created_by_update(self, state: State, maps: Kind) -> None:
        """A PUT of a Lease that is not there creates it; one of a ConfigMap is 404."""
        assert state.replace(named(state, "leases"), "default", "a", meta()).created
        assert code_of(lambda: state.replace(maps, "default", "a", meta()))[0] == 404

    def test_identity_is_kept(self, state: State, maps: Kind) -> None:
        """Uid, time of creation and namespace stay what they were."""
        created = state.create(maps, "default", meta()).version
        given = meta(creationTimestamp="2000-01-01T00:00:00Z", labels={"x": "y"})
        changed = state.replace(maps, "default", "a", given).version
        assert changed.metadata == {**created.metadata, "resourceVersion": "3", "labels": {"x": "y"}}

    def test_status_apart(self, state: State) -> None:
        """A PUT of the object leaves the status alone, one of the status everything else (spec-put-ignores-status)."""
        deployments = named(state, "deployments")
        state.create(deployments, "default", {**meta(), "spec": {"replicas": 1}})
        both = {**meta(labels={"x": "y"}), "spec": {"replicas": 2}, "status": {"replicas": 9}}
        main = state.replace(deployments, "default", "a", both).version
        assert (main.object["spec"], main.object["status"]) == ({"replicas": 2}, {})
        status = state.replace(deployments, "default", "a", {**both, "spec": {}}, status=True).version
        assert (status.object["spec"], status.object["status"]) == ({"replicas": 2}, {"replicas": 9})

    def test_generation(self, state: State, maps: Kind) -> None:
        """A8: the generation counts changes of the spec alone, and only for kinds that have one."""
        deployments = named(state, "deployments")

        def generation(version: Any) -> Any:
            return version.version.metadata.get("generation")

        assert generation(state.create(deployments, "default", {**meta(), "spec": {"x": 1}})) == 1
        assert generation(state.replace(deployments, "default", "a", {**meta(), "spec": {"x": 2}})) == 2
        labels = {**meta(labels={"x": "y"}), "spec": {"x": 2}}
        assert generation(state.replace(deployments, "default", "a", labels)) == 2
        assert generation(state.replace(deployments, "default", "a", {"status": {"x": 1}}, status=True)) == 2
        assert generation(state.create(maps, "default", meta())) is None

    def test_dry_run(self, state: State, maps: Kind, seen: Recorder) -> None:
        """A dry run of a change is not stored."""
        state.create(maps, "default", meta())
        tried = state.replace(maps, "default", "a", {**meta(), "data": {"k": "v"}}, dry_run=True).version
        assert tried.object["data"] == {"k": "v"}
        assert "data" not in state.get(maps, "default", "a").object
        assert len(seen.changes) == 1


class TestDelete:
    def test_at_once(self, state: State, maps: Kind, seen: Recorder) -> None:
        """Without finalizers an object goes at once; DELETED has its last content at the version of the deletion."""
        state.create(maps, "default", {**meta(), "data": {"k": "v"}})
        assert state.delete(maps, "default", "a").gone
        assert seen.told == [("ADDED", "a", "2"), ("DELETED", "a", "3")]
        assert seen.changes[1].after.object["data"] == {"k": "v"}

    def test_finalizers(self, state: State, maps: Kind, seen: Recorder) -> None:
        """Trap 8: the last finalizer's removal makes no MODIFIED; DELETED shows it; the answer has the old version."""
        state.create(maps, "default", meta(finalizers=["x/a", "x/b"]))
        marked = state.delete(maps, "default", "a")
        assert (marked.gone, marked.version.metadata["deletionTimestamp"]) == (False, "2026-01-02T03:04:05Z")
        state.replace(maps, "default", "a", meta(finalizers=["x/b"]))
        last = state.replace(maps, "default", "a", meta())
        assert last.gone
        assert (last.version.revision, "finalizers" in last.version.metadata) == (4, False)
        assert seen.told == [("ADDED", "a", "2"), ("MODIFIED", "a", "3"), ("MODIFIED", "a", "4"), ("DELETED", "a", "5")]
        assert seen.changes[-1].after.metadata["finalizers"] == ["x/b"]

    def test_again(self, state: State, maps: Kind) -> None:
        """A second delete of what is going already changes nothing (delete-again-terminating)."""
        state.create(maps, "default", meta(finalizers=["x/a"]))
        first, second = (state.delete(maps, "default", "a").version for _ in range(2))
        assert second is first

    def test_no_new_finalizers(self, state: State, maps: Kind) -> None:
        """What is going gets no new finalizers: 422."""
        state.create(maps, "default", meta(finalizers=["x/a"]))
        state.delete(maps, "default", "a")
        more = meta(finalizers=["x/a", "x/b"])
        assert code_of(lambda: state.replace(maps, "default", "a", more))[0] == 422

    @pytest.mark.parametrize("wrong", [Deletion(uid="other"), Deletion(resource_version="1")])
    def test_preconditions(self, state: State, maps: Kind, wrong: Deletion) -> None:
        """A precondition that does not hold is 409, and nothing happens."""
        state.create(maps, "default", meta())
        assert code_of(lambda: state.delete(maps, "default", "a", wrong))[0] == 409
        assert state.find(maps, "default", "a") is not None

    def test_graceful_pod(self, state: State) -> None:
        """A pod on a node has 30 seconds, and goes in two writes when it is killed (watch-pod-graceful)."""
        pods = named(state, "pods")
        recorder = Recorder()
        state.collection(pods.stored_as).listeners.append(recorder)
        state.create(pods, "default", {**meta(), "spec": {"nodeName": "n", "containers": [{"name": "c"}]}})
        first = state.delete(pods, "default", "a").version.metadata
        assert (first["deletionTimestamp"], first["deletionGracePeriodSeconds"]) == ("2026-01-02T03:04:35Z", 30)
        assert first["generation"] == 2
        state.delete(pods, "default", "a", Deletion(grace=0))
        assert [change.type for change in recorder.changes] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
        last = recorder.changes[-1].after.metadata
        assert (last["deletionTimestamp"], last["deletionGracePeriodSeconds"]) == ("2026-01-02T03:04:05Z", 0)

    def test_namespace(self, state: State, maps: Kind, seen: Recorder) -> None:
        """A namespace takes what is in it along, and waits, Terminating, for what has finalizers."""
        namespaces = named(state, "namespaces")
        state.create(namespaces, "", meta("ns"))
        state.create(maps, "ns", meta("quick"))
        state.create(maps, "ns", meta("slow", finalizers=["x/a"]))
        marked = state.delete(namespaces, "", "ns")
        assert (marked.gone, marked.version.object["status"]["phase"]) == (False, "Terminating")
        assert code_of(lambda: state.create(maps, "ns", meta("late")))[0] == 403
        state.replace(maps, "ns", "slow", meta("slow"))
        assert state.find(namespaces, "", "ns") is None
        assert [one[:2] for one in seen.told[-2:]] == [("MODIFIED", "slow"), ("DELETED", "slow")]


class TestDefinitions:
    def test_served_at_once(self, state: State) -> None:
        """A definition makes its kinds, in every version, of the same objects."""
        created = state.create(named(state, "crd"), "", definition()).version
        conditions = {one["type"]: one["status"] for one in created.object["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}
        first, second = (state.catalog.at("example.com", version, "widgets") for version in ("v1", "v2"))
        assert first is not None
        assert second is not None
        made = state.create(first, "default", meta("w"))
        assert state.get(second, "default", "w") is made.version

    def test_wrong_name(self, state: State) -> None:
        """The definition must be called as its plural and group say: 422."""
        wrong = {**definition(), "metadata": {"name": "wrong"}}
        assert code_of(lambda: state.create(named(state, "crd"), "", wrong))[0] == 422

    def test_changed(self, state: State) -> None:
        """D3: a change of the spec ends the watches and drops the history; one of the metadata does nothing."""
        crd = named(state, "crd")
        state.create(crd, "", definition())
        widgets = named(state, "widgets")
        state.create(widgets, "default", meta("w"))
        collection, recorder = state.collection(widgets.stored_as), Recorder()
        collection.listeners.append(recorder)
        version = state.get(crd, "", "widgets.example.com").metadata["resourceVersion"]
        labelled = definition()
        labelled["metadata"] |= {"resourceVersion": version, "labels": {"a": "b"}}
        spec = state.get(crd, "", "widgets.example.com").object["spec"]
        state.replace(crd, "", "widgets.example.com", {**labelled, "spec": spec})
        assert not recorder.ended
        new = definition(names={**spec["names"], "categories": ["all"]})
        new["metadata"]["resourceVersion"] = str(state.revision)
        state.replace(crd, "", "widgets.example.com", new)
        assert recorder.ended
        assert collection.oldest == state.revision
        assert state.catalog.named("widgets.example.com") is not None

    def test_deleted(self, state: State) -> None:
        """Its end is that of all its objects, then of its watches, and then it is served no more."""
        crd = named(state, "crd")
        state.create(crd, "", definition())
        widgets = named(state, "widgets")
        recorder = Recorder()
        state.collection(widgets.stored_as).listeners.append(recorder)
        state.create(widgets, "default", meta("quick"))
        state.create(widgets, "default", meta("slow", finalizers=["x/a"]))
        assert not state.delete(crd, "", "widgets.example.com").gone
        assert code_of(lambda: state.create(widgets, "default", meta("late")))[0] == 403
        version = state.get(widgets, "default", "slow").metadata["resourceVersion"]
        state.replace(widgets, "default", "slow", meta("slow", resourceVersion=version))
        assert (recorder.told[-1][:2], recorder.ended) == (("DELETED", "slow"), True)
        assert state.catalog.named("widgets") is None
        assert state.find(crd, "", "widgets.example.com") is None

    def test_no_longer_served(self, state: State) -> None:
        """Who still holds a kind whose definition has gone gets 404, and leaves nothing behind for a new definition."""
        crd = named(state, "crd")
        state.create(crd, "", definition())
        widgets = named(state, "widgets")
        state.delete(crd, "", "widgets.example.com")
        for call in (
            lambda: state.create(widgets, "default", meta("w")),
            lambda: state.replace(widgets, "default", "w", meta("w", resourceVersion="1")),
            lambda: state.delete(widgets, "default", "w"),
            lambda: state.get(widgets, "default", "w"),
            lambda: state.collection(widgets.stored_as),
        ):
            assert code_of(call) == (404, "404 page not found")
        state.create(crd, "", definition())
        assert state.collection(widgets.stored_as).rows() == []


class TestHistory:
    def test_window(self, maps: Kind) -> None:
        """The history is a window by count: one change more and the oldest is forgotten."""
        state = new_state(history=3)
        collection = state.collection(maps.stored_as)
        for name in "abc":
            state.create(maps, "default", meta(name))
        assert (collection.oldest, [change.revision for change in collection.since(0)]) == (0, [2, 3, 4])
        state.create(maps, "default", meta("d"))
        assert (collection.oldest, [change.revision for change in collection.since(2)]) == (2, [3, 4, 5])

    def test_window_of_bytes(self, maps: Kind) -> None:
        """It is one of bytes, too: large changes push out more of the old, and one that is too large all of it."""
        state = new_state(size=3_000)
        collection = state.collection(maps.stored_as)
        for name in "abcdefgh":
            state.create(maps, "default", {**meta(name), "data": {"k": "v" * 800}})
        kept = collection.since(collection.oldest)
        assert [change.after.name for change in kept] == ["f", "g", "h"]
        assert sum(change.size for change in kept) <= 3_000
        state.delete(maps, "default", "a")
        assert collection.oldest == kept[0].revision
        state.create(maps, "default", {**meta("z"), "data": {"k": "v" * 5_000}})
        assert (collection.oldest, collection.since(collection.oldest)) == (state.revision, [])

    @pytest.mark.parametrize("touched", [True, False], ids=["touched", "untouched"])
    @pytest.mark.parametrize(("plural", "watches", "lists"), [("configmaps", False, True), ("events", True, True)])
    def test_forgotten(self, state: State, plural: str, watches: bool, lists: bool, touched: bool) -> None:
        """D2: a restart leaves etcd alone, and so lists of old versions, and events altogether.

        Watches of a cached kind from before are too old, also from the last version that anybody has seen, and also of
        a kind without any write (trap 4).
        """
        if touched:
            state.create(named(state, plural), "default", meta())
        last = state.revision
        _recovery.forget_history(state)
        collection = state.collection(("", plural))
        for version in (1, last):
            assert (collection.oldest <= version, collection.oldest_list <= version) == (watches, lists)
        assert collection.oldest <= state.revision
        assert [version.name for _, version in collection.rows()] == ["a"] * touched
        assert [version.name for _, version in collection.rows_at(last) or []] == ["a"] * touched

    @pytest.mark.parametrize("touched", [True, False], ids=["touched", "untouched"])
    def test_compacted(self, state: State, touched: bool) -> None:
        """D18: a compaction is about events, unless told otherwise; the cache has the rest, until it is restarted."""
        if touched:
            for plural in ("configmaps", "events"):
                state.create(named(state, plural), "default", meta())
        maps, events = state.collection(("", "configmaps")) if touched else None, ("", "events")
        _recovery.compact(state)
        compacted = state.revision
        assert (state.collection(events).oldest, state.collection(events).oldest_list) == (compacted, compacted)
        maps = maps or state.collection(("", "secrets"))
        assert (maps.oldest, maps.oldest_list) == (0, 0)
        _recovery.forget_history(state)
        assert (state.collection(events).oldest, state.collection(events).oldest_list) == (compacted, compacted)
        for collection in (maps, state.collection(("", "pods"))):
            assert (collection.oldest, collection.oldest_list) == (compacted + 1, compacted)

    @pytest.mark.parametrize("touched", [True, False], ids=["touched", "untouched"])
    def test_compacted_altogether(self, state: State, maps: Kind, touched: bool) -> None:
        """Told so, a compaction is about every kind, watches and lists."""
        if touched:
            state.create(maps, "default", meta())
        state.create(named(state, "secrets"), "default", meta())
        _recovery.compact(state, 2, cached=True)
        collection = state.collection(maps.stored_as)
        assert (collection.oldest, collection.oldest_list, collection.rows_at(1)) == (2, 2, None)

    def test_turned_back(self, state: State, maps: Kind) -> None:
        """Turned back, the state is what it was, without a history, and versions are used a second time."""
        first = state.create(maps, "default", {**meta(), "data": {"k": "1"}}).version
        state.replace(maps, "default", "a", {**meta(), "data": {"k": "2"}})
        state.create(maps, "default", meta("b"))
        state.create(named(state, "crd"), "", definition())
        _recovery.turn_back(state, first.revision)
        assert (state.revision, state.get(maps, "default", "a")) == (first.revision, first)
        assert state.find(maps, "default", "b") is None
        assert state.catalog.named("widgets") is None
        assert state.create(maps, "default", meta("c")).version.revision == first.revision + 1

    def test_turned_back_as_restarted(self, state: State, maps: Kind, seen: Recorder) -> None:
        """The caches begin anew at that version; etcd, and so events, has its history up to there (D2)."""
        events = named(state, "events")
        for name in "abc":
            state.create(maps, "default", meta(name))
            state.create(events, "default", meta(name))
        told = len(seen.changes)
        _recovery.turn_back(state, 5)
        collection, uncached = state.collection(maps.stored_as), state.collection(events.stored_as)
        assert (collection.oldest, uncached.oldest) == (5, 0)
        assert [change.revision for change in uncached.since(0)] == [3, 5]
        assert [version.name for _, version in collection.rows_at(3) or []] == ["a"]
        assert state.collection(("", "secrets")).oldest == 5
        state.create(maps, "default", meta("x"))
        assert len(seen.changes) == told

    def test_turned_back_twice(self, state: State, maps: Kind) -> None:
        """What was worked out for a version of the first time is not taken for the same version of the second."""
        for name in "abcd":
            state.create(maps, "default", meta(name))
        collection = state.collection(maps.stored_as)
        assert len(collection.rows_at(4) or []) == 3
        _recovery.turn_back(state, 3)
        for name in "xyz":
            state.create(maps, "default", meta(name))
        assert [version.name for _, version in collection.rows_at(4) or []] == ["a", "b", "x"]

    def test_turned_back_definitions(self, state: State) -> None:
        """Custom kinds come back with the objects they had, and go, whatever has become of the definition since."""
        crd = named(state, "crd")
        begin = state.revision
        state.create(crd, "", definition())
        old = named(state, "widgets")
        state.create(old, "default", meta("first"))
        first = state.revision
        state.delete(crd, "", "widgets.example.com")
        gone = state.revision
        state.create(crd, "", definition())
        state.create(named(state, "widgets"), "default", meta("second"))
        _recovery.turn_back(state, gone)
        assert state.catalog.named("widgets") is None
        _recovery.turn_back(state, first)
        assert [version.name for _, version in state.collection(old.stored_as).rows()] == ["first"]
        _recovery.turn_back(state, begin + 1)
        assert state.collection(old.stored_as).rows() == []
        _recovery.turn_back(state, begin)
        assert state.catalog.named("widgets") is None

    def test_turned_back_to_before_a_kind(self, state: State) -> None:
        """A kind that came later, and whose own beginning is forgotten, does not stand in the way."""
        crd, begin = named(state, "crd"), state.revision
        state.create(crd, "", definition())
        state.collection(named(state, "widgets").stored_as).forget(state.revision)
        _recovery.turn_back(state, begin)
        state.create(crd, "", definition())
        assert state.collection(named(state, "widgets").stored_as).rows() == []

    def test_not_that_far(self, state: State, maps: Kind) -> None:
        """ValueError for a version that is forgotten, or has not come yet; and then nothing has changed."""
        state.create(maps, "default", meta())
        _recovery.compact(state, cached=True)
        for revision in (0, 1, state.revision + 1):
            with pytest.raises(ValueError, match=r"forgotten|does not reach"):
                _recovery.turn_back(state, revision)
        assert state.find(maps, "default", "a") is not None

    def test_keys_as_in_etcd(self, state: State, maps: Kind) -> None:
        """Keys are ordered as plain text: the namespace a-b comes before a."""
        for name in ("a", "a-b"):
            state.create(named(state, "namespaces"), "", meta(name))
            state.create(maps, name, meta("x"))
        assert [key for key, _ in state.collection(maps.stored_as).rows()] == ["a-b/x", "a/x"]


class Model(RuleBasedStateMachine):
    """Any writes, against a dictionary: what is there, at every version that is remembered, and what a watch saw."""

    @initialize()
    def begin(self) -> None:
        """A state with one kind to play with."""
        self.state = new_state(history=20)
        self.maps = named(self.state, "configmaps")
        self.collection = self.state.collection(self.maps.stored_as)
        self.model: dict[str, str] = {}
        self.past: dict[int, dict[str, str]] = {self.state.revision: {}}
        self.watch()

    def watch(self) -> None:
        """Watch from now on."""
        self.collection = self.state.collection(self.maps.stored_as)
        self.recorder = Recorder()
        self.collection.listeners.append(self.recorder)
        self.joined = dict(self.model)

    def remember(self) -> None:
        """What the model looked like at this version."""
        self.past[self.state.revision] = dict(self.model)

    @rule(name=st.sampled_from("abcd"), value=st.sampled_from("xyz"))
    def create(self, name: str, value: str) -> None:
        """Create succeeds where the name is free."""
        new = {**meta(name), "data": {"k": value}}
        if name in self.model:
            assert code_of(lambda: self.state.create(self.maps, "default", new))[0] == 409
        else:
            self.state.create(self.maps, "default", new)
            self.model[name] = value
        self.remember()

    @rule(name=st.sampled_from("abcd"), value=st.sampled_from("xyz"), stale=st.booleans())
    def replace(self, name: str, value: str, stale: bool) -> None:
        """Replace succeeds where the object is there and the version is its own, and moves on if it changes it."""
        version = {"resourceVersion": "1"} if stale else {}
        new = {**meta(name, **version), "data": {"k": value}}
        before = self.state.revision
        if name not in self.model or stale:
            code = code_of(lambda: self.state.replace(self.maps, "default", name, new))[0]
            assert code == (409 if name in self.model else 404)
        else:
            self.state.replace(self.maps, "default", name, new)
            assert self.state.revision == before + (self.model[name] != value)
            self.model[name] = value
        self.remember()

    @rule(name=st.sampled_from("abcd"))
    def delete(self, name: str) -> None:
        """Delete succeeds where the object is there."""
        if self.model.pop(name, None) is None:
            assert code_of(lambda: self.state.delete(self.maps, "default", name))[0] == 404
        else:
            assert self.state.delete(self.maps, "default", name).gone
        self.remember()

    @rule()
    def restart(self) -> None:
        """A restart changes no object."""
        _recovery.forget_history(self.state)
        self.remember()

    @rule(back=st.integers(0, 3))
    def compact(self, back: int) -> None:
        """Neither does a compaction, of everything."""
        _recovery.compact(self.state, max(0, self.state.revision - back), cached=True)

    @rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        """Every version that a list may be of, can be returned to; the future is forgotten then."""
        known = [revision for revision in self.past if revision >= self.collection.oldest_list]
        revision = data.draw(st.sampled_from(sorted(known)))
        _recovery.turn_back(self.state, revision)
        self.model = dict(self.past[revision])
        self.past = {each: model for each, model in self.past.items() if each <= revision}
        self.watch()

    @invariant()
    def same_at_every_version(self) -> None:
        """Each remembered version gives the state of that moment, and no other version gives any."""
        for revision, model in self.past.items():
            rows = self.collection.rows_at(revision)
            if revision < self.collection.oldest_list:
                assert rows is None
            else:
                assert rows is not None
                assert {version.name: version.object["data"]["k"] for _, version in rows} == model

    @invariant()
    def watch_leads_here(self) -> None:
        """The events of a watch, applied one after the other, give the same state, in the order of versions."""
        assert follow(self.joined, self.recorder.changes) == self.model

    @invariant()
    def history_leads_here(self) -> None:
        """So do the changes since any version that a watch may start at."""
        assert self.collection.oldest_list <= self.collection.oldest <= self.state.revision
        for revision, model in self.past.items():
            if revision >= self.collection.oldest:
                assert follow(model, self.collection.since(revision)) == self.model


def follow(start: dict[str, str], changes: list[Change]) -> dict[str, str]:
    """What a client knows after these changes; each must be possible, and later than the one before."""
    followed = dict(start)
    revisions = [change.revision for change in changes]
    assert revisions == sorted(set(revisions))
    for change in changes:
        if change.type == "DELETED":
            del followed[change.after.name]
        else:
            assert (change.after.name in followed) is (change.type == "MODIFIED")
            followed[change.after.name] = change.after.object["data"]["k"]
    return followed


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
