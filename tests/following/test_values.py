"""What a stream that follows is given, what it tells of itself, and how the objects look."""

from __future__ import annotations

from typing import Any

import pytest

from kwsync import Backoff, Client, Cluster, EventType, Resource, list_and_watch
from kwsync.testing import ApiServer, Event, Head, Http, List, Raw, Stall, bookmark, pod, status
from tests.following.support import (
    FAST,
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
from tests.following.test_full_states import config_map
from tests.following.test_resuming import crontab, crontabs

BAD: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"resource": 5}, TypeError),
    ({"resource": "a b"}, ValueError),
    ({"resource": "nodes", "namespace": "x"}, ValueError),
    ({"client": "me"}, TypeError),
    ({"namespace": 5}, TypeError),
    ({"namespace": "a/b"}, ValueError),
    ({"name": ""}, ValueError),
    ({"label_selector": 5}, TypeError),
    ({"field_selector": 5}, TypeError),
    ({"view": "picture"}, ValueError),
    ({"resource_version": 5}, TypeError),
    ({"resource_version": 0}, TypeError),
    ({"emit_initial": "no"}, TypeError),
    ({"emit_initial": None}, TypeError),
    ({"page_size": 0}, ValueError),
    ({"page_size": "all"}, TypeError),
    ({"timeout_seconds": 0}, ValueError),
    ({"timeout_seconds": 1.5}, TypeError),
    ({"watch_list": "yes"}, TypeError),
    ({"watch_list": None}, TypeError),
    ({"backoff": 5}, TypeError),
    ({"backoff": 0}, TypeError),
    ({"max_line_bytes": 0}, ValueError),
    ({"cancel": True}, TypeError),
]


@pytest.mark.parametrize(("arguments", "error"), BAD, ids=repr)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception]) -> None:
    """What cannot be is refused by the call itself, before anything is sent."""
    with Client(Cluster("http://127.0.0.1:1")) as client, pytest.raises(error):
        list_and_watch(**{"resource": "pods", "client": client, **arguments})


def test_arguments_are_sent() -> None:
    """The selection goes with the list and with the watch; the window only with the watch."""
    options: dict[str, Any] = {
        "namespace": "ns",
        "name": "a",
        "label_selector": {"app": "web"},
        "field_selector": "spec.nodeName=n",
        "timeout_seconds": 7,
        "page_size": None,
    }
    with following(listed("10"), live(change("ADDED", "a", "11")), **options) as (server, stream):
        take(stream, 2)
        first, second = server.requests
    selectors = {"labelSelector": "app=web", "fieldSelector": "metadata.name=a,spec.nodeName=n"}
    assert first.path == second.path == "/api/v1/namespaces/ns/pods"
    assert first.query == selectors
    watch = {"watch": "true", "resourceVersion": "10", "allowWatchBookmarks": "true", "timeoutSeconds": "7"}
    assert second.query == {**selectors, **watch}


class TestResourceVersion:
    def test_b029_after_each_event(self) -> None:
        """B029: it is safe to resume from at any moment: no version of an item of a list counts, only SYNCED's."""
        script = live(change("MODIFIED", "b", "11"), Event("BOOKMARK", bookmark("20")), change("DELETED", "a", "21"))
        with following(List("10", [pod("a", "5"), pod("b", "9")]), script) as (_, stream):
            seen = [(shown([event])[0], stream.resource_version) for event in (take(stream, 1)[0] for _ in range(6))]
        assert seen == [
            ("ADDED a", None),
            ("ADDED b", None),
            ("SYNCED", "10"),
            ("MODIFIED b", "11"),
            ("BOOKMARK", "20"),
            ("DELETED a", "21"),
        ]

    def test_during_a_relist(self) -> None:
        """In the middle of a relist it is still the one before: only the whole state is as fresh as the list."""
        scripts: list[Script] = [listed("10", "a"), Http(410), listed("20", "a", "b")]
        with following(*scripts) as (_, stream):
            until_synced(stream)
            seen = [(shown([event])[0], stream.resource_version) for event in (take(stream, 1)[0] for _ in range(4))]
        assert seen == [("ERROR 410", "10"), ("MODIFIED a", "10"), ("ADDED b", "10"), ("SYNCED", "20")]

    def test_one_change_that_is_two_events(self) -> None:
        """A change that is told as DELETED and ADDED counts when both have been told."""
        script = live(change("MODIFIED", "a", "11", uid="other"))
        with following(listed("10", "a"), script) as (_, stream):
            until_synced(stream)
            seen = [(shown([event])[0], stream.resource_version) for event in (take(stream, 1)[0] for _ in range(2))]
        assert seen == [("DELETED a", "10"), ("ADDED a", "11")]

    def test_b009_of_initial_events(self) -> None:
        """B009: none of the initial events counts, but the bookmark that ends them."""
        script = live(change("ADDED", "a", "283"), change("ADDED", "b", "259"), synced("300"))
        with following(script, watch_list=True) as (_, stream):
            seen = [(take(stream, 1), stream.resource_version)[1] for _ in range(3)]
        assert seen == [None, None, "300"]

    def test_saved_and_used_again(self) -> None:
        """E20: a stream that begins at a saved version tells exactly what has happened since; even deletions."""
        with ApiServer() as server, server.client() as client:
            for name in "abc":
                server.create(config_map(name))
            with list_and_watch("configmaps", client=client, backoff=FAST) as stream:
                until_synced(stream)
                saved = stream.resource_version
            server.delete("configmaps", "a")
            server.patch("configmaps", "b", {"data": {"x": "y"}})
            server.create(config_map("d"))
            with list_and_watch("configmaps", client=client, resource_version=saved, backoff=FAST) as stream:
                assert stream.resource_version == saved
                assert shown(take(stream, 3)) == ["DELETED a", "MODIFIED b", "ADDED d"]

    def test_a_saved_version_that_expired(self) -> None:
        """Then it lists; what was there before is not known, so all of it is ADDED."""
        with following(Http(410), listed("20", "a"), resource_version="5") as (server, stream):
            events = until_synced(stream)
            assert shown(events) == ["ERROR 410", "ADDED a", "SYNCED"]
            assert asked(server) == ["WATCH 5", "LIST"]

    def test_empty_is_none(self) -> None:
        """An empty version is no version: it lists."""
        with following(listed("10"), resource_version="") as (server, stream):
            until_synced(stream)
            assert asked(server) == ["LIST"]

    def test_zero(self) -> None:
        """B009, B046: 0 is any version, so that a watch tells a state of which no ADDED counts; then it lists."""
        state = [change("ADDED", "b", "7"), change("ADDED", "a", "5")]
        with following(cut(*state), listed("10", "a"), resource_version="0") as (server, stream):
            assert shown(until_synced(stream)) == ["ADDED b", "ADDED a", "MODIFIED a", "DELETED b", "SYNCED"]
            assert asked(server) == ["WATCH 0", "LIST"]


class TestViews:
    def test_metadata(self) -> None:
        """Metadata alone, of list and watch, each asked for in its own form."""
        with following_api(view="metadata") as (server, stream):
            server.create({**config_map("a"), "data": {"x": "y"}})
            events = until_synced(stream)
            server.create(config_map("b"))
            events += take(stream, 1)
            assert shown(events) == ["ADDED a", "SYNCED", "ADDED b"]
            first, last = events[0].object, events[-1].object
            assert first is not None
            assert last is not None
            assert {first["kind"], last["kind"]} == {"PartialObjectMetadata"}
            assert "data" not in first
            accepted = [request.headers["Accept"] for request in server.requests]
            assert "as=PartialObjectMetadataList;" in accepted[0]
            assert "as=PartialObjectMetadata;" in accepted[1]

    def test_b019_table(self) -> None:
        """KW of B019: a Table's rows are told apart and diffed like objects; each event is a Table of one row."""
        with following_api(view="table") as (server, stream):
            for name in "ab":
                server.create(config_map(name))
            events = until_synced(stream)
            server.create(config_map("c"))
            events += take(stream, 1)
            with server.unseen():
                server.delete("configmaps", "a")
                server.patch("configmaps", "b", {"data": {"x": "y"}})
            server.restart()
            events += [event for event in until_synced(stream) if event.type is not EventType.ERROR]
        assert shown(events) == [
            "ADDED a",
            "ADDED b",
            "SYNCED",
            "ADDED c",
            "MODIFIED b",
            "DELETED a",
            "SYNCED",
        ]
        for event in (events[0], events[3], events[4]):
            assert event.object is not None
            assert event.object["kind"] == "Table"
            assert len(event.object["rows"]) == 1
        assert events[0].object is not None
        assert events[0].object["columnDefinitions"][0]["name"] == "Name"


class TestNames:
    @pytest.mark.parametrize("name", ["po", "pods", "v1/pods", "Pod", Resource("", "v1", "pods")])
    def test_built_in(self, name: str | Resource) -> None:
        """Built-in kinds need no discovery."""
        with following(listed("10", "a"), resource=name) as (server, stream):  # type: ignore[arg-type]
            until_synced(stream)
            assert [request.path for request in server.requests] == ["/api/v1/pods"]

    def test_discovered(self) -> None:
        """Another short name is asked for once, and not for every request."""
        with ApiServer() as server, server.client() as client:
            server.create(crontabs())
            server.create(crontab("a"))
            with list_and_watch("crontabs", client=client, backoff=FAST) as stream:
                assert shown(until_synced(stream)) == ["ADDED a", "SYNCED"]
                server.restart()
                server.create(crontab("b"))
                until_named(stream, "b")
            paths = [request.path for request in server.requests]
            assert sum(path in ("/api", "/apis") for path in paths) == 2

    def test_unknown(self) -> None:
        """B014, E10, E11: a kind that nobody knows is one ERROR for each try, until somebody does."""
        with following_api("crontabs") as (server, stream):
            errors = [error_of(event) for event in take(stream, 3)]
            assert {error.status_code for error in errors} == {404}
            server.create(crontabs())
            server.create(crontab("a"))
            assert shown(until_named(stream, "a"))[-1] == "ADDED a"

    def test_not_namespaced(self) -> None:
        """Only discovery knows that a kind has no namespaces: an ERROR, each time, and no exception."""
        definition = crontabs()
        definition["spec"]["scope"] = "Cluster"
        with ApiServer() as server, server.client() as client:
            server.create(definition)
            with list_and_watch("crontabs", client=client, namespace="x", backoff=FAST) as stream:
                assert {error_of(event).status_code for event in take(stream, 3)} == {400}


def test_skipped_lines_of_all_watches() -> None:
    """Lines that were no events are counted over all watches."""
    broken: list[Script] = [[Head(), Raw(b"x\n"), Stall()], listed("20")]
    with following(listed("10"), *broken, *broken) as (_, stream):
        for _ in range(3):
            until_synced(stream)
        assert stream.skipped_lines == 2


def test_no_exceptions() -> None:
    """After the call next() raises nothing but StopIteration, whatever the server answers."""
    answers: list[Script] = [
        Http(200, b"\xff\xfe"),
        Http(200, b"[]"),
        Http(200, b""),
        Http(204),
        Http(301, "", {"Location": "/"}),
        Http(200, {"kind": "PodList", "metadata": 5, "items": [1, None, "x"]}),
        Http(200, {"kind": "PodList", "items": {}}),
        Http(200, b"x", {"Content-Encoding": "gzip"}),
        Http(999, "what"),
        Http(200, status(200)),
    ]
    with following(*answers, listed("10", "a")) as (_, stream):
        told = shown(until_named(stream, "a"))
        assert len([text for text in told if text.startswith("ERROR")]) >= len(answers) - 1


def test_default_backoff() -> None:
    """B022: nobody has to think of one."""
    with following(Http(500), listed("10"), backoff=None) as (server, stream):
        assert shown(until_synced(stream)) == ["ERROR 500", "SYNCED"]
        assert server.requests[1].time - server.requests[0].time >= Backoff().initial
