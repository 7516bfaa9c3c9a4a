"""Full states: lists in pages, watch-lists, what a relist finds, and what is never taken for a full state."""

from __future__ import annotations

from typing import Any

import pytest

from kwsync import EventType, ObjectKey, _following
from kwsync.testing import Event, Fin, Head, Http, List, Raw, RawBytes, Reply, Rst, Stall, bookmark, pod, status
from tests.following.support import (
    Script,
    asked,
    change,
    cut,
    error_of,
    following,
    following_api,
    listed,
    live,
    shown,
    synced,
    take,
    until_named,
    until_synced,
)

EXPIRED = Http(410, status(410, "Expired", "too old resource version: 10 (20)"))


class TestFirst:
    def test_b006_list_then_watch(self) -> None:
        """B006: the objects as ADDED, marked initial; SYNCED; a watch from the list's own version; its changes."""
        script = live(change("ADDED", "c", "11"), change("MODIFIED", "a", "12"), change("DELETED", "b", "13"))
        with following(List("10", [pod("a", "9"), pod("b", "5")]), script) as (server, stream):
            events = take(stream, 6)
            assert asked(server) == ["LIST", "WATCH 10"]
        assert shown(events) == ["ADDED a", "ADDED b", "SYNCED", "ADDED c", "MODIFIED a", "DELETED b"]
        assert [event.initial for event in events] == [True, True, False, False, False, False]
        assert [event.resource_version for event in events] == ["9", "5", "10", "11", "12", "13"]
        assert not any(event.final_state_unknown for event in events)

    def test_b001_the_list_is_of_the_most_recent_state(self) -> None:
        """B001, E7: the list names no version, so that it cannot be an old one, and asks for pages of 500."""
        with following(listed("10")) as (server, stream):
            until_synced(stream)
            assert server.requests[0].query == {"limit": "500"}

    def test_b007_the_watch(self) -> None:
        """B007: from the list's version, with bookmarks, and for a while that differs from client to client."""
        seconds = set()
        for _ in range(8):
            with following(listed("10"), live(change("ADDED", "a", "11"))) as (server, stream):
                take(stream, 2)
                query = dict(server.requests[1].query)
                seconds.add(int(query.pop("timeoutSeconds")))
                assert query == {"watch": "true", "resourceVersion": "10", "allowWatchBookmarks": "true"}
        assert len(seconds) > 1
        assert seconds <= set(range(270, 331))

    @pytest.mark.parametrize("items", [[], None])
    def test_b006_empty(self, items: list[Any] | None) -> None:
        """B006, A18: an empty list, and null for one, is a full state without objects."""
        with following(List("10", items), live(change("ADDED", "a", "11"))) as (_, stream):
            assert shown(take(stream, 2)) == ["SYNCED", "ADDED a"]

    def test_not_told(self) -> None:
        """emit_initial=False leaves the first objects out, and only those: changes of them are told as such."""
        scripts: list[Script] = [
            listed("10", "a", "b"),
            cut(change("MODIFIED", "a", "11")),
            live(change("DELETED", "b", "12")),
        ]
        with following(*scripts, emit_initial=False) as (_, stream):
            assert shown(take(stream, 3)) == ["SYNCED", "MODIFIED a", "DELETED b"]

    def test_objects_are_whole(self) -> None:
        """Objects of a list have their kind and apiVersion, which servers leave out there."""
        bare = {"metadata": {"name": "a", "resourceVersion": "5"}, "spec": {"x": [1]}}
        with following(List("10", [bare])) as (_, stream):
            (event,) = take(stream, 1)
            assert event.object == {"kind": "Pod", "apiVersion": "v1", **bare}

    def test_odd_objects_hide_no_others(self) -> None:
        """A13, A19, A20, Z9: null where there should be a list is the server's matter, and hides nothing."""
        odd = [pod("a", "5", spec={"containers": None}), pod("b", "6", status=None), pod("c", "7", spec=[])]
        with following(List("10", odd)) as (_, stream):
            assert shown(until_synced(stream)) == ["ADDED a", "ADDED b", "ADDED c", "SYNCED"]

    @pytest.mark.parametrize("odd", [{"metadata": "x"}, {"metadata": {}}, {}, {"metadata": {"name": ""}}])
    def test_objects_without_a_name(self, odd: dict[str, Any]) -> None:
        """A13: what has no name cannot be told from others: one ERROR, and all the others are told."""
        with following(List("10", [pod("a"), odd, pod("b")]), live(change("ADDED", "c", "11"))) as (server, stream):
            events = take(stream, 5)
            assert sorted(shown(events)) == ["ADDED a", "ADDED b", "ADDED c", "ERROR DECODE", "SYNCED"]
            assert asked(server) == ["LIST", "WATCH 10"]


class TestPages:
    def test_b042_b044_pages(self) -> None:
        """B042, B044, E12, Z6: all pages, each asked for with its token alone; the first one's version counts."""
        scripts: list[Script] = [
            listed("10", "a", cont="x"),
            listed("10", "b", cont="y"),
            listed("99", "c"),
            live(change("ADDED", "d", "11")),
        ]
        with following(*scripts, page_size=1) as (server, stream):
            assert shown(until_synced(stream)) == ["ADDED a", "ADDED b", "ADDED c", "SYNCED"]
            assert stream.resource_version == "10"
            take(stream, 1)
            assert asked(server) == ["LIST", "LIST …", "LIST …", "WATCH 10"]
            queries = [request.query for request in server.requests[:3]]
            assert queries == [{"limit": "1"}, {"limit": "1", "continue": "x"}, {"limit": "1", "continue": "y"}]

    @pytest.mark.parametrize("reason", ["Expired", "Gone", ""])
    def test_b043_b045_expired_on_the_way(self, reason: str) -> None:
        """B043, B045: a token that has expired (Gone too) means one list in one piece; what was read is void.

        The token that a server offers to go on with would mix two moments, and is not used.
        """
        fresh = status(410, reason, "too old", metadata={"continue": "fresh"})
        scripts: list[Script] = [listed("10", "a", "b", cont="x"), Http(410, fresh), listed("20", "b", "c"), live()]
        with following(*scripts) as (server, stream):
            assert shown(until_synced(stream)) == ["ADDED a", "ADDED b", "MODIFIED b", "ADDED c", "DELETED a", "SYNCED"]
            assert stream.resource_version == "20"
            assert [request.query for request in server.requests[:3]] == [
                {"limit": "500"},
                {"limit": "500", "continue": "x"},
                {},
            ]

    def test_b043_expired_on_the_first(self) -> None:
        """B043: on the first page 410 is an error like any other."""
        with following(EXPIRED, listed("20", "a")) as (server, stream):
            assert shown(until_synced(stream)) == ["ERROR 410", "ADDED a", "SYNCED"]
            assert asked(server)[:2] == ["LIST", "LIST"]

    def test_same_token_for_ever(self) -> None:
        """A server that tells twice to go on at the same place is an ERROR, and no loop."""
        again = listed("10", "a", cont="x")
        with following(again, again, listed("11", "a")) as (_, stream):
            assert shown(until_synced(stream)) == ["ADDED a", "ERROR DECODE", "MODIFIED a", "SYNCED"]


TRUNCATED = {
    "page 2 fails": [Http(500, status(500))],
    "page 2 is reset": [Head(), Raw(b'{"kind":"PodList",'), Rst()],
    "page 2 is half": [
        Http(200, b'{"kind":"PodList","apiVersion":"v1","metadata":{}', {"Content-Length": "999"}),
        Fin(),
    ],
    "page 2 ends in the middle": [Http(200, b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[')],
    "page 2 is chunked and cut": [Head(), Raw(b'{"kind":"PodList","items":['), Fin()],
    "page 2 is no list": [Http(200, {"kind": "Pod"})],
    "page 2 is text": [Http(200, "<html>")],
    "page 2 is a Status": [Http(200, status(500, "InternalError"))],
}


@pytest.mark.parametrize("name", TRUNCATED)
def test_truncated(name: str) -> None:
    """E16, A6: a list that breaks off, anywhere and in any way, deletes nothing: only a whole one does."""
    first = listed("20", "a", cont="x")
    scripts: list[Any] = [listed("10", "a", "b", "c"), EXPIRED]
    scripts += [first, TRUNCATED[name], first, TRUNCATED[name], listed("30", "a", "c"), live()]
    with following(*scripts) as (_, stream):
        assert shown(until_synced(stream))[-1] == "SYNCED"
        events = until_synced(stream)
    told = [text for text in shown(events) if not text.startswith("ERROR")]
    assert told == ["MODIFIED a", "MODIFIED a", "MODIFIED c", "DELETED b", "SYNCED"]
    assert len(events) - len(told) == 3, "the 410, and each list that broke off, is told once"


class TestRelist:
    def relisted(self, before: list[Any], now: list[Any], **options: Any) -> list[Any]:
        """What the second of two lists makes told; the version between them has expired."""
        with following(List("10", before), EXPIRED, List("20", now), live(), **options) as (_, stream):
            until_synced(stream)
            events = until_synced(stream)
        assert shown(events[:1]) == ["ERROR 410"]
        return events[1:]

    def test_unchanged(self) -> None:
        """E8, Z10: what has uid and version as before is not told again."""
        assert shown(self.relisted([pod("a", "5")], [pod("a", "5")])) == ["SYNCED"]

    def test_differences(self) -> None:
        """Changed: MODIFIED. New: ADDED, which is not initial any more. Gone: DELETED, with the last version known."""
        events = self.relisted([pod("a", "5"), pod("b", "6")], [pod("a", "7"), pod("c", "8")])
        assert shown(events) == ["MODIFIED a", "ADDED c", "DELETED b", "SYNCED"]
        assert not any(event.initial for event in events)
        gone = events[2]
        assert gone.final_state_unknown
        metadata = {"name": "b", "namespace": "default", "uid": "uid-b", "resourceVersion": "6"}
        assert (gone.object, gone.resource_version, gone.old_object) == ({"metadata": metadata}, "6", None)
        assert gone.key == ObjectKey("default", "b")

    def test_recreated(self) -> None:
        """E2, E22, Z10: another uid under the same name is DELETED, of the old one, then ADDED."""
        deleted, added, _ = self.relisted([pod("a", "5", "first")], [pod("a", "15", "second")])
        assert shown([deleted, added]) == ["DELETED a", "ADDED a"]
        assert (deleted.final_state_unknown, added.final_state_unknown) == (True, False)
        assert [event.object["metadata"]["uid"] for event in (deleted, added)] == ["first", "second"]

    def test_cluster_scoped(self) -> None:
        """What has no namespace gets none when it is gone."""
        node = {"metadata": {"name": "n", "uid": "u", "resourceVersion": "5"}}
        scripts: list[Script] = [List("10", [node], kind="NodeList"), EXPIRED, List("20", [], kind="NodeList"), live()]
        with following(*scripts, resource="nodes") as (_, stream):
            until_synced(stream)
            gone = take(stream, 2)[1]
        assert gone.object == {"metadata": {"name": "n", "uid": "u", "resourceVersion": "5"}}

    def test_same_name_in_two_namespaces(self) -> None:
        """Objects are told apart by namespace and name."""
        both = [pod("a", "5", "u1", "one"), pod("a", "6", "u2", "two")]
        events = self.relisted(both, both[1:])
        assert [(str(event.type), str(event.key)) for event in events] == [("DELETED", "one/a"), ("SYNCED", "")]

    def test_after_changes(self) -> None:
        """What the watch told counts as told: no second ADDED, and what it said was deleted is not deleted again."""
        script = cut(change("ADDED", "c", "11"), change("DELETED", "a", "12"), Event("ERROR", status(410, "Expired")))
        scripts: list[Script] = [listed("10", "a", "b"), script, List("20", [pod("b", "10"), pod("c", "11")]), live()]
        with following(*scripts) as (_, stream):
            until_synced(stream)
            assert shown(until_synced(stream)) == ["ADDED c", "DELETED a", "ERROR 410", "SYNCED"]


class TestAgainstTheServerInMemory:
    def test_every_difference(self) -> None:
        """All that happened while nobody looked is told by the relist, by uid."""
        with following_api() as (server, stream):
            for name in ("kept", "changed", "gone", "recreated"):
                server.create(config_map(name))
            assert len(until_synced(stream)) == 5
            with server.unseen():
                server.patch("configmaps", "changed", {"data": {"x": "y"}})
                server.delete("configmaps", "gone")
                server.delete("configmaps", "recreated")
                server.create(config_map("recreated"))
                server.create(config_map("new"))
            server.restart()
            events = [event for event in until_synced(stream) if event.type is not EventType.ERROR]
        assert sorted(shown(events)) == [
            "ADDED new",
            "ADDED recreated",
            "DELETED gone",
            "DELETED recreated",
            "MODIFIED changed",
            "SYNCED",
        ]

    def test_b044_pages_are_one_moment(self) -> None:
        """A list in pages is one moment, and the watch that follows tells what came after it."""
        with following_api(page_size=2) as (server, stream):
            for name in "abcde":
                server.create(config_map(name))
            first = take(stream, 1)
            server.delete("configmaps", "e")
            server.create(config_map("f"))
            assert shown(first + until_named(stream, "f")) == [
                *(f"ADDED {name}" for name in "abcde"),
                "SYNCED",
                "DELETED e",
                "ADDED f",
            ]

    @pytest.mark.parametrize("watch_list", [False, True])
    def test_gone_back(self, watch_list: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """E6 of watch-semantics: after a restore versions mean nothing, so every object counts as changed."""
        monkeypatch.setattr(_following, "SILENT_SECONDS", 0.5)
        with following_api(watch_list=watch_list, timeout_seconds=1) as (server, stream):
            server.create(config_map("kept"))
            version = server.resource_version
            server.create(config_map("lost"))
            server.patch("configmaps", "kept", {"data": {"x": "1"}})
            server.create(config_map("other"))
            until_synced(stream)
            server.go_back(version)
            assert server.patch("configmaps", "kept", {"data": {"x": "2"}})
            events = [event for event in until_synced(stream) if event.type is not EventType.ERROR]
            told = ["DELETED lost", "DELETED other", *["MODIFIED kept"] * (1 + watch_list), "SYNCED"]
            assert sorted(shown(events)) == told, "a watch-list tells of the restore when the state has been told"
            server.create(config_map("new"))
            assert shown(until_named(stream, "new"))[-1] == "ADDED new"

    def test_gone_back_while_it_was_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A watch from a version that is still to come is silent: after a lost connection that is looked into soon."""
        monkeypatch.setattr(_following, "BRIEF_SECONDS", 1)
        with following_api() as (server, stream):
            server.create(config_map("kept"))
            version = server.resource_version
            until_synced(stream)
            server.create(config_map("lost"))
            until_named(stream, "lost")  # so there is a watch whose connection can be lost
            server.go_back(version)
            told = [event for event in until_synced(stream) if event.type is not EventType.ERROR]
            assert sorted(shown(told)) == ["DELETED lost", "MODIFIED kept", "SYNCED"]
            server.create(config_map("new"))
            assert shown(until_named(stream, "new"))[-1] == "ADDED new"

    def test_same_version_another_state(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """After a restore even an object with the uid and version of before may be in another state."""
        monkeypatch.setattr(_following, "SILENT_SECONDS", 0.5)
        with following_api(timeout_seconds=1) as (server, stream):
            server.create(config_map("a"))
            version = server.resource_version
            before = server.patch("configmaps", "a", {"data": {"x": "1"}})
            server.create(config_map("b"))
            until_synced(stream)
            server.go_back(version)
            after = server.patch("configmaps", "a", {"data": {"x": "2"}})
            assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
            (told,) = [event for event in until_synced(stream) if event.type is EventType.MODIFIED]
            assert told.object == after


class TestWatchList:
    def test_b030_b032_state_and_changes_on_one_connection(self) -> None:
        """B030, B031, B032: the state, SYNCED with the bookmark's version, then the changes of the same stream."""
        script = live(change("ADDED", "b", "9"), change("ADDED", "a", "3"), synced("10"), change("ADDED", "c", "11"))
        with following(script, watch_list=True) as (server, stream):
            events = take(stream, 4)
            assert asked(server) == ["WATCH-LIST -"]
            query = dict(server.requests[0].query)
            assert int(query.pop("timeoutSeconds")) in range(270, 331)
            assert query == {
                "watch": "true",
                "sendInitialEvents": "true",
                "resourceVersionMatch": "NotOlderThan",
                "allowWatchBookmarks": "true",
            }
        assert shown(events) == ["ADDED b", "ADDED a", "SYNCED", "ADDED c"]
        assert [event.initial for event in events] == [True, True, False, False]
        assert events[2].resource_version == "10"

    def test_b033_only_the_annotated_bookmark(self) -> None:
        """B033: another bookmark ends nothing, nor does another value of the annotation."""
        no = Event("BOOKMARK", bookmark("8", annotations={"k8s.io/initial-events-end": "false"}))
        script = live(change("ADDED", "a", "3"), Event("BOOKMARK", bookmark("7")), no, synced("10"))
        with following(script, watch_list=True) as (_, stream):
            assert shown(until_synced(stream)) == ["ADDED a", "SYNCED"]
            assert stream.resource_version == "10"

    def test_b034_changes_on_the_way(self) -> None:
        """B034: what changes or goes while the state is told is part of it."""
        steps = [change("ADDED", "a", "3"), change("ADDED", "b", "4"), change("MODIFIED", "a", "8")]
        with following(live(*steps, change("DELETED", "b", "9"), synced("10")), watch_list=True) as (_, stream):
            assert shown(until_synced(stream)) == ["ADDED a", "ADDED b", "MODIFIED a", "DELETED b", "SYNCED"]

    def test_b031_an_aborted_state_deletes_nothing(self) -> None:
        """B031: a state whose end does not come is no state."""
        first = live(change("ADDED", "a", "3"), change("ADDED", "b", "4"), synced("10"), Event("ERROR", status(410)))
        broken = [Head(), change("ADDED", "a", "3"), Event("ERROR", status(429))]
        whole = live(change("ADDED", "a", "3"), synced("20"))
        with following(first[:-1], [*broken], whole, watch_list=True) as (server, stream):
            until_synced(stream)
            events = until_synced(stream)
            assert shown(events) == ["ERROR 410", "ERROR 429", "DELETED b", "SYNCED"]
            assert asked(server) == ["WATCH-LIST -"] * 3

    def test_b010_an_ordinary_resume(self) -> None:
        """B010, kube-rs: initial events are asked for once; a resume is an ordinary watch."""
        with following(cut(synced("10")), live(change("ADDED", "a", "11")), watch_list=True) as (server, stream):
            assert shown(take(stream, 2)) == ["SYNCED", "ADDED a"]
            assert asked(server) == ["WATCH-LIST -", "WATCH 10"]

    def test_b037_no_marker(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """B037, B038, E1, D1, D2: a server that never ends the state is given up for lists, for good."""
        monkeypatch.setattr(_following, "PATIENCE_SECONDS", 0.1)
        endless = [Head(), change("ADDED", "a", "3"), Event("BOOKMARK", bookmark("5")), Stall()]
        scripts: list[Script] = [
            endless,
            endless,
            listed("10", "a"),
            cut(Event("ERROR", status(410))),
            listed("20", "a"),
            live(),
        ]
        with following(*scripts, watch_list=True) as (server, stream):
            events = until_synced(stream) + until_synced(stream)
            assert shown(events) == [
                "ADDED a",
                "ERROR TIMEOUT",
                "ERROR TIMEOUT",
                "MODIFIED a",
                "SYNCED",
                "ERROR 410",
                "MODIFIED a",
                "SYNCED",
            ]
            assert asked(server)[:5] == ["WATCH-LIST -", "WATCH-LIST -", "LIST", "WATCH 10", "LIST"]

    def test_b037_headers_that_never_come(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A11678 of cases.md: a proxy may hold back even the head of an answer that tells nothing; the same counts."""
        monkeypatch.setattr(_following, "PATIENCE_SECONDS", 0.1)
        with following([Stall()], [Stall()], listed("10"), watch_list=True) as (server, stream):
            assert shown(until_synced(stream)) == ["ERROR TIMEOUT", "ERROR TIMEOUT", "SYNCED"]
            assert asked(server)[:3] == ["WATCH-LIST -", "WATCH-LIST -", "LIST"]

    def test_b037_ends_before_the_marker(self) -> None:
        """A stream that ends cleanly before its state does is told as an ERROR, each time once."""
        with following(cut(), cut(change("ADDED", "a", "3")), listed("10", "a"), watch_list=True) as (server, stream):
            events = until_synced(stream)
            assert shown(events) == ["ERROR NETWORK", "ADDED a", "ERROR NETWORK", "MODIFIED a", "SYNCED"]
            assert "initial events" in error_of(events[0]).message
            assert asked(server)[:3] == ["WATCH-LIST -", "WATCH-LIST -", "LIST"]

    def test_patience_is_for_the_state_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Once the state is complete, silence is nothing special."""
        monkeypatch.setattr(_following, "PATIENCE_SECONDS", 0.2)
        script = [Head(), synced("10"), Stall(0.5), change("ADDED", "a", "11"), Stall()]
        with following(script, watch_list=True) as (server, stream):
            assert shown(take(stream, 2)) == ["SYNCED", "ADDED a"]
            assert asked(server) == ["WATCH-LIST -"]

    def test_a_slow_state_is_no_silence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is the silence between two events that counts, not how long the whole state takes."""
        monkeypatch.setattr(_following, "PATIENCE_SECONDS", 0.5)
        steps = [step for name in "abcd" for step in (Stall(0.2), change("ADDED", name, "3"))]
        with following(live(*steps, synced("10")), watch_list=True) as (server, stream):
            assert shown(until_synced(stream))[-1] == "SYNCED"
            assert asked(server) == ["WATCH-LIST -"]

    @pytest.mark.parametrize("code", [400, 403, 500])
    def test_b035_another_error(self, code: int) -> None:
        """B035: a list this time, a watch-list the next."""
        scripts: list[Script] = [
            Http(code, status(code)),
            listed("10"),
            cut(Event("ERROR", status(410))),
            live(synced("20")),
        ]
        with following(*scripts, watch_list=True) as (server, stream):
            events = until_synced(stream) + until_synced(stream)
            assert shown(events) == [f"ERROR {code}", "SYNCED", "ERROR 410", "SYNCED"]
            assert asked(server) == ["WATCH-LIST -", "LIST", "WATCH 10", "WATCH-LIST -"]

    def test_b037_refused(self) -> None:
        """422 says that the server does not know the option: never again."""
        scripts: list[Script] = [
            Http(422, status(422, "Invalid")),
            listed("10"),
            cut(Event("ERROR", status(410))),
            listed("20"),
        ]
        with following(*scripts, watch_list=True) as (server, stream):
            until_synced(stream)
            until_synced(stream)
            assert asked(server)[:4] == ["WATCH-LIST -", "LIST", "WATCH 10", "LIST"]

    @pytest.mark.parametrize("code", [410, 429, 504])
    def test_b036_waiting_helps(self, code: int) -> None:
        """B036: too many requests, or a version that has not come: the same again, as often as it takes."""
        scripts: list[Script] = [*[cut(Event("ERROR", status(code)))] * 3, live(synced("10"))]
        with following(*scripts, watch_list=True) as (server, stream):
            assert shown(until_synced(stream)) == [*[f"ERROR {code}"] * 3, "SYNCED"]
            assert asked(server) == ["WATCH-LIST -"] * 4

    def test_in_memory(self) -> None:
        """A relist by watch-list finds the same differences as one by list."""
        with following_api(watch_list=True) as (server, stream):
            server.create(config_map("a"))
            server.create(config_map("b"))
            assert shown(until_synced(stream)) == ["ADDED a", "ADDED b", "SYNCED"]
            with server.unseen():
                server.delete("configmaps", "a")
            server.restart()
            events = [event for event in until_synced(stream) if event.type is not EventType.ERROR]
            assert shown(events) == ["DELETED a", "SYNCED"]
            assert asked(server)[0] == asked(server)[-1] == "WATCH-LIST -"


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


def test_without_a_version() -> None:
    """A9: a list without a version is followed by a watch that begins anywhere, and that by a list.

    Its initial events are known already, and told once; what went between the list and the watch is found by the list.
    """
    state = [change("ADDED", "b", "2"), change("MODIFIED", "b", "3")]
    scripts: list[Script] = [listed(None, "a", "b"), cut(*state), List(None, [pod("b", "3")]), live()]
    with following(*scripts) as (server, stream):
        events = until_synced(stream) + until_synced(stream)
        assert shown(events) == ["ADDED a", "ADDED b", "SYNCED", "MODIFIED b", "MODIFIED b", "DELETED a", "SYNCED"]
        assert asked(server)[:3] == ["LIST", "WATCH -", "LIST"]


def test_raw_bytes_are_never_a_state() -> None:
    """A connection that dies in the head of a list's answer is an ERROR, and the next list is read."""
    with following([RawBytes(b"HTTP/1.1 2"), Fin()], Reply(lambda request: listed("10", "a"))) as (_, stream):
        assert shown(until_synced(stream)) == ["ERROR NETWORK", "ADDED a", "SYNCED"]
