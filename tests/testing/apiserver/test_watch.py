"""Watches over the socket: chunk by chunk, as recorded from a real server."""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from kwsync.testing import ApiServer
from tests.testing.apiserver.recorded import body as recorded
from tests.testing.apiserver.recorded import event as recorded_event
from tests.testing.apiserver.wire import (
    MAPS,
    PODS,
    WIDGETS,
    Http,
    Open,
    config_map,
    definition,
    labelled,
    opening,
    stalled,
    told,
    widget,
)

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
WATCH_LIST = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
FUTURE = 99999999


def versions(events: list[dict[str, Any]]) -> list[str]:
    """Of each event the version of its object."""
    return [event["object"]["metadata"]["resourceVersion"] for event in events]


def ends_initial(event: dict[str, Any]) -> bool:
    """Whether an event is the bookmark at the end of the initial ones."""
    annotations = event["object"]["metadata"].get("annotations", {})
    found: bool = event["type"] == "BOOKMARK" and annotations == {"k8s.io/initial-events-end": "true"}
    return found


class TestWire:
    def test_head_at_once(self, watch: Open) -> None:
        """Trap 2: the head comes before any event, and looks like a real one."""
        stream = watch(timeoutSeconds=100)
        assert stream.status == 200
        assert (stream.headers["Content-Type"], stream.headers["Transfer-Encoding"]) == ("application/json", "chunked")

    def test_one_chunk_an_event(self, api_server: ApiServer, watch: Open) -> None:
        """D17: each later event is one chunk, however many are on their way."""
        stream = watch()
        names = [f"m{number}" for number in range(50)]
        for name in names:
            api_server.create(config_map(name))
        events = [json.loads(stream.chunk()) for _ in names]
        assert [event["object"]["metadata"]["name"] for event in events] == names

    def test_initial_events_are_packed(self, api_server: ApiServer, watch: Open) -> None:
        """Trap 1: initial events come in chunks of 2,048 bytes, which cut them anywhere."""
        for number in range(20):
            api_server.create(config_map(f"m{number:02}", k="v" * 100))
        stream = watch(timeoutSeconds=1)
        chunks = stream.chunks()
        assert [len(chunk) for chunk in chunks[:-1]] == [2048] * (len(chunks) - 1)
        assert not chunks[0].endswith(b"\n")
        assert len(b"".join(chunks).splitlines()) == 20

    def test_reused_connection(self, http: Http) -> None:
        """After its clean end the connection serves another request (A12)."""
        http.connection.request("GET", f"{MAPS}?watch=1&timeoutSeconds=1")
        assert http.connection.getresponse().read() == b""
        assert http.list_maps().status == 200
        assert http.connection.sock is not None

    def test_client_goes_away(self, api_server: ApiServer) -> None:
        """Nothing is left of a watch whose client is gone."""
        with opening(api_server) as open_stream:
            open_stream()
        api_server.wait_until_idle()
        collection = api_server._api.state.collection(("", "configmaps"))
        assert collection.listeners == []


class TestStart:
    @pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}, {"resourceVersion": ""}])
    def test_without_version(self, api_server: ApiServer, watch: Open, query: dict[str, str]) -> None:
        """A2: the state as ADDED in the order of keys, then changes; no mark between them without bookmarks."""
        for name in "ba":
            api_server.create(config_map(name))
        stream = watch(**query)
        assert told(stream.events(2)) == [("ADDED", "a"), ("ADDED", "b")]
        api_server.create(config_map("c"))
        assert told(stream.events(1)) == [("ADDED", "c")]

    @pytest.mark.parametrize(
        "query", [{"allowWatchBookmarks": "true"}, WATCH_LIST, {**WATCH_LIST, "resourceVersion": 1}]
    )
    def test_end_of_the_initial_events(self, api_server: ApiServer, watch: Open, query: dict[str, str]) -> None:
        """Trap 6: with bookmarks the initial part ends with the annotated one, asked for or not."""
        api_server.create(config_map("a"))
        added, mark = watch(**query).events(2)
        assert added["type"] == "ADDED"
        assert ends_initial(mark)
        assert versions([mark]) == [api_server.resource_version]

    def test_events_too(self, watch: Open) -> None:
        """Events get that bookmark as well, although they get no others (D5)."""
        path = "/api/v1/namespaces/default/events"
        assert ends_initial(watch(path, allowWatchBookmarks="true").event())

    def test_from_a_version(self, api_server: ApiServer, watch: Open) -> None:
        """A2: what came after the version is told, and nothing else."""
        start = api_server.create(config_map("a"))["metadata"]["resourceVersion"]
        api_server.create(config_map("b"))
        stream = watch(resourceVersion=start)
        api_server.delete("configmaps", "a")
        assert told(stream.events(2)) == [("ADDED", "b"), ("DELETED", "a")]

    def test_replay(self, api_server: ApiServer, watch: Open) -> None:
        """Trap 4: version 1 of a young server replays everything, what is long gone included."""
        api_server.create(config_map("a"))
        api_server.delete("configmaps", "a")
        assert told(watch(resourceVersion=1).events(2)) == [("ADDED", "a"), ("DELETED", "a")]

    @pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}])
    def test_no_initial_events(self, api_server: ApiServer, watch: Open, query: dict[str, str]) -> None:
        """sendInitialEvents=false starts now, without a mark."""
        api_server.create(config_map("a"))
        more = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
        stream = watch(**query, **more)
        api_server.create(config_map("b"))
        assert told(stream.events(1)) == [("ADDED", "b")]

    def test_future(self, api_server: ApiServer, watch: Open) -> None:
        """Trap 7: from a version that has not come yet it waits, and tells only what is later than that."""
        stream = watch(resourceVersion=int(api_server.resource_version) + 2)
        for name in "abcd":
            api_server.create(config_map(name))
        assert told(stream.events(2)) == [("ADDED", "c"), ("ADDED", "d")]

    @pytest.mark.parametrize("text", ["1", "true", "", "yes"])
    def test_words_for_true(self, http: Http, text: str) -> None:
        """A1: everything but false and 0 asks for a watch."""
        http.connection.request("GET", f"{MAPS}?watch={text}&timeoutSeconds=1")
        assert http.connection.getresponse().headers["Transfer-Encoding"] == "chunked"
        http.close()

    @pytest.mark.parametrize("text", ["0", "false", "False"])
    def test_words_for_false(self, http: Http, text: str) -> None:
        """A1: those make it a list."""
        assert http.list_maps(watch=text).body["kind"] == "ConfigMapList"

    def test_old_paths(self, api_server: ApiServer, watch: Open) -> None:
        """A7: the deprecated paths still watch, one object too."""
        for name in "ab":
            api_server.create(config_map(name))
        old = MAPS.replace("/v1/", "/v1/watch/")
        assert told(watch(old, timeoutSeconds=1).events()) == [("ADDED", "a"), ("ADDED", "b")]
        assert told(watch(f"{old}/b", timeoutSeconds=1).events()) == [("ADDED", "b")]

    @pytest.mark.parametrize(
        ("query", "name"),
        [
            ({"resourceVersion": "abc"}, "watch-rv-unparsable"),
            ({"timeoutSeconds": "abc"}, "watch-timeout-unparsable"),
            ({"continue": "abc"}, "watch-continue"),
            ({"resourceVersionMatch": "NotOlderThan", "resourceVersion": 336}, "watch-rvm-without-sie"),
            ({"sendInitialEvents": "true"}, "watchlist-no-rvm"),
            (
                {"sendInitialEvents": "true", "resourceVersionMatch": "Exact", "resourceVersion": 5},
                "watchlist-rvm-exact",
            ),
            ({"fieldSelector": "data.k=v"}, "watch-field-unsupported"),
        ],
    )
    def test_mistakes(self, http: Http, query: dict[str, object], name: str) -> None:
        """Trap 5, A1: mistakes are answered before the stream starts; an unreadable version is 500 without a reason."""
        answer = http.list_maps(watch=1, **query)
        assert answer.body == recorded(name)
        assert answer.status == answer.body["code"]


class TestRestart:
    """D2: what a version from before a restart is still good for."""

    @pytest.mark.parametrize("way", ["restart", "forget_history"])
    @pytest.mark.parametrize("touched", [True, False], ids=["touched", "untouched"])
    @pytest.mark.parametrize(("plural", "expired"), [("configmaps", True), ("events", False)])
    def test_versions(
        self, api_server: ApiServer, watch: Open, plural: str, expired: bool, touched: bool, way: str
    ) -> None:
        """Cached kinds have forgotten their watches' history, written to or not; events have not; nor has any list."""
        path, start = f"/api/v1/namespaces/default/{plural}", api_server.resource_version
        kind = {"configmaps": "ConfigMap", "events": "Event"}[plural]
        for name in "ab" if touched else "":
            api_server.create({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}})
        getattr(api_server, way)()
        events = watch(path, resourceVersion=start, timeoutSeconds=1).events()
        if expired:
            assert [event["object"]["code"] for event in events] == [410]
        else:
            assert told(events) == [("ADDED", "a"), ("ADDED", "b")] * touched
        with contextlib.closing(Http(api_server)) as http:
            answer = http.get(path, resourceVersion=start, resourceVersionMatch="Exact")
            assert (answer.status, answer.names, answer.version) == (200, [], start)

    @pytest.mark.parametrize("kind", ["ConfigMap", "Event"])
    def test_pages(self, api_server: ApiServer, kind: str) -> None:
        """The pages of a list go on, as one state."""
        path = f"/api/v1/namespaces/default/{kind.lower()}s"
        for name in "abc":
            api_server.create({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}})
        with contextlib.closing(Http(api_server)) as http:
            first = http.get(path, limit=1)
            api_server.create({"apiVersion": "v1", "kind": kind, "metadata": {"name": "d"}})
        api_server.restart()
        with contextlib.closing(Http(api_server)) as http:
            rest = http.get(path, **{"continue": first.body["metadata"]["continue"]})
        assert (rest.status, rest.names, rest.version) == (200, ["b", "c"], first.version)

    def test_pages_from_the_future(self) -> None:
        """After a way back in time a token may be ahead: 504, as any version that has not come."""
        with ApiServer(too_large_wait=0.05) as server:
            then = server.resource_version
            for name in "abc":
                server.create(config_map(name))
            with contextlib.closing(Http(server)) as http:
                token = http.list_maps(limit=1).body["metadata"]["continue"]
            server.go_back(then)
            with contextlib.closing(Http(server)) as http:
                answer = http.list_maps(**{"limit": 1, "continue": token})
        assert (answer.status, answer.body["details"]["causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")


class TestErrors:
    def test_expired(self, api_server: ApiServer, watch: Open) -> None:
        """Trap 3: a version before the history is a 200 with one ERROR 410, and a clean end."""
        start = api_server.resource_version
        api_server.create(config_map())
        api_server.forget_history()
        (event,) = watch(resourceVersion=start).events()
        wanted = recorded_event("watch-410-after-restart")
        wanted["message"] = f"too old resource version: {start} ({api_server.resource_version})"
        assert event == {"type": "ERROR", "object": wanted}

    def test_expired_by_count(self) -> None:
        """The history is a window by count, each kind has its own."""
        with ApiServer(history=2) as server, opening(server) as watch:
            start = server.resource_version
            for name in "abc":
                server.create(config_map(name))
            assert watch(resourceVersion=start).event()["object"]["code"] == 410
            assert told(watch(resourceVersion=int(start) + 1).events(2)) == [("ADDED", "b"), ("ADDED", "c")]

    def test_expired_event(self, api_server: ApiServer, watch: Open) -> None:
        """Of events the words are etcd's (watch-410-etcd)."""
        path = "/api/v1/namespaces/default/events"
        api_server.create({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}})
        api_server.compact()
        assert watch(path, resourceVersion=1).event()["object"] == recorded_event("watch-410-etcd")

    def test_expired_and_initial_events(self, api_server: ApiServer, watch: Open) -> None:
        """A2: with sendInitialEvents an old version is no error (watchlist-rv-old)."""
        api_server.create(config_map())
        api_server.forget_history()
        assert told(watch(resourceVersion=1, **WATCH_LIST).events(1)) == [("ADDED", "a")]

    def test_too_large(self, watch: Open) -> None:
        """D6: with sendInitialEvents a version that does not come is an ERROR 504 after a while, for events at once."""
        with ApiServer(too_large_wait=0.05) as server, opening(server) as hasty:
            (event,) = hasty(resourceVersion=FUTURE, **WATCH_LIST).events()
        assert event["object"]["details"] == recorded_event("watchlist-rv-too-large")["details"]
        (event,) = watch("/api/v1/namespaces/default/events", resourceVersion=FUTURE, **WATCH_LIST).events()
        assert event["object"]["details"]["retryAfterSeconds"] == 2

    def test_negative_timeout(self, watch: Open) -> None:
        """D9: a negative timeout is an ERROR 500 in a 200 (watch-timeout-negative)."""
        (event,) = watch(timeoutSeconds=-5).events()
        assert event["object"] == recorded_event("watch-timeout-negative")


class TestSelectors:
    def test_labels(self, api_server: ApiServer, watch: Open) -> None:
        """Trap 8: what starts to match is ADDED; what stops is DELETED as it matched, at the new version."""
        stream, last = watch(labelSelector="sel=yes", timeoutSeconds=1), ""
        for label, value in (("no", "1"), ("yes", "2"), ("yes", "3"), ("no", "4"), ("no", "5")):
            patch = {"metadata": {"labels": {"sel": label}}, "data": {"k": value}}
            if value == "1":
                api_server.create({**labelled("lt", sel=label), "data": {"k": value}})
            else:
                last = api_server.patch("configmaps", "lt", patch)["metadata"]["resourceVersion"]
        api_server.delete("configmaps", "lt")
        events = stream.events()
        assert [(event["type"], event["object"]["data"]["k"]) for event in events] == [
            ("ADDED", "2"),
            ("MODIFIED", "3"),
            ("DELETED", "3"),
        ]
        assert events[-1]["object"]["metadata"]["labels"] == {"sel": "yes"}
        assert versions(events)[-1] == str(int(last) - 1)

    def test_fields(self, api_server: ApiServer, watch: Open) -> None:
        """The same with fields (watch-field-transitions)."""
        stream = watch(PODS, fieldSelector="status.phase=Running", timeoutSeconds=1)
        api_server.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})
        for phase in ("Running", "Succeeded"):
            api_server.patch("pods", "p", {"status": {"phase": phase}}, subresource="status")
        events = stream.events()
        assert [(event["type"], event["object"]["status"]["phase"]) for event in events] == [
            ("ADDED", "Running"),
            ("DELETED", "Running"),
        ]

    def test_deleted_while_matching(self, api_server: ApiServer, watch: Open) -> None:
        """A deletion is told to those whose selector the object fulfilled, in whatever namespace they look."""
        stream = watch("/api/v1/configmaps", fieldSelector="metadata.name=a", timeoutSeconds=1)
        api_server.create(config_map("a"), "kube-system")
        api_server.create(config_map("b"), "kube-system")
        for name in "ab":
            api_server.delete("configmaps", name, "kube-system")
        assert told(stream.events()) == [("ADDED", "a"), ("DELETED", "a")]

    def test_namespace(self, api_server: ApiServer, watch: Open) -> None:
        """A watch of a namespace sees nothing of the others; one that is not there is silent (A3)."""
        stream = watch(timeoutSeconds=1)
        nowhere = watch("/api/v1/namespaces/nowhere/configmaps", timeoutSeconds=1)
        api_server.create(config_map("a"), "kube-system")
        assert (stream.events(), nowhere.events()) == ([], [])


class TestViews:
    def test_partial(self, api_server: ApiServer, watch: Open) -> None:
        """Metadata alone, in events and bookmarks; an ERROR stays a Status."""
        stream = watch(accept=PARTIAL, **WATCH_LIST)
        assert stream.event()["object"]["kind"] == "PartialObjectMetadata"
        api_server.create(config_map("a", k="v"))
        assert set(stream.event()["object"]) == {"kind", "apiVersion", "metadata"}
        api_server.forget_history()
        assert watch(accept=PARTIAL, resourceVersion=1).event()["object"]["kind"] == "Status"

    def test_partial_list(self, api_server: ApiServer, watch: Open) -> None:
        """Trap 13: the List form on a watch is an empty stream, even when changes are due."""
        api_server.create(config_map())
        assert watch(accept=PARTIAL_LIST, resourceVersion=1).events() == []

    def test_table(self, api_server: ApiServer, watch: Open) -> None:
        """A6: one-row Tables, of which the first alone says the columns; the bookmark is one, too."""
        api_server.create(config_map("a", k="v"))
        stream = watch(accept=TABLE, includeObject="None", **WATCH_LIST)
        first, mark = stream.events(2)
        assert first["object"]["kind"] == mark["object"]["kind"] == "Table"
        assert len(first["object"]["columnDefinitions"]) == 3
        assert first["object"]["rows"][0]["cells"][:2] == ["a", 1]
        assert (first["object"]["rows"][0]["object"], mark["object"]["columnDefinitions"]) == (None, None)
        assert mark["object"]["rows"][0]["object"]["metadata"]["annotations"]
        api_server.delete("configmaps", "a")
        assert versions([stream.event()]) == [api_server.resource_version]

    def test_two_faces(self, api_server: ApiServer, watch: Open) -> None:
        """A8: the same event through both APIs."""
        old, new = (watch(f"/{api}/namespaces/default/events") for api in ("api/v1", "apis/events.k8s.io/v1"))
        api_server.create({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "message": "m"})
        first, second = old.event()["object"], new.event()["object"]
        assert (first["message"], second["note"]) == ("m", "m")
        assert first["metadata"] == second["metadata"]


class TestCustom:
    def test_versions(self, api_server: ApiServer, watch: Open) -> None:
        """Each version's watch tells objects of that version."""
        api_server.create(definition())
        streams = [watch(WIDGETS.replace("v1", version)) for version in ("v1", "v2")]
        api_server.create(widget())
        assert [stream.event()["object"]["apiVersion"] for stream in streams] == ["example.com/v1", "example.com/v2"]

    def test_changed(self, api_server: ApiServer, watch: Open) -> None:
        """D3: a change of the definition's spec ends the stream cleanly, and the last version seen gets 410."""
        api_server.create(definition())
        stream = watch(WIDGETS)
        api_server.create(widget())
        last = versions(stream.events(1))[0]
        patch = {"spec": {"names": {"plural": "widgets", "kind": "Widget", "categories": ["all"]}}}
        api_server.patch("crd", "widgets.example.com", patch)
        assert stream.events() == []
        assert watch(WIDGETS, resourceVersion=last).event()["object"]["code"] == 410

    def test_deleted(self, api_server: ApiServer, http: Http, watch: Open) -> None:
        """The end of a definition: DELETED for each object, a clean end, then 404 as text."""
        api_server.create(definition())
        for name in "ab":
            api_server.create(widget(name))
        stream = watch(WIDGETS)
        stream.events(2)
        api_server.delete("crd", "widgets.example.com")
        assert told(stream.events()) == [("DELETED", "a"), ("DELETED", "b")]
        assert http.get(WIDGETS).body == b"404 page not found\n"


class TestEnd:
    def test_timeout(self, watch: Open) -> None:
        """A1: timeoutSeconds ends the stream cleanly, to the moment."""
        stream, began = watch(timeoutSeconds=1), time.monotonic()
        assert stream.events() == []
        assert 0.9 < time.monotonic() - began < 1.5

    def test_busy_timeout(self, api_server: ApiServer, watch: Open) -> None:
        """It ends also while changes come all the time."""
        stream, over = watch(timeoutSeconds=1), threading.Event()

        def write() -> None:
            while not over.is_set():
                api_server.patch("namespaces", "default", {"metadata": {"annotations": {"x": str(time.time())}}})
                api_server.create({**config_map(), "metadata": {"generateName": "x-"}})

        writer = threading.Thread(target=write)
        writer.start()
        began = time.monotonic()
        try:
            assert stream.chunks()
        finally:
            over.set()
            writer.join()
        assert time.monotonic() - began < 3

    def test_default_timeout(self) -> None:
        """Without one the server's own is uniform between one and two times its least."""
        with ApiServer(min_request_timeout=0.05) as server, opening(server) as watch:
            for _ in range(5):
                began = time.monotonic()
                assert watch().events() == []
                assert 0.04 < time.monotonic() - began < 0.5

    def test_told_to(self, api_server: ApiServer, watch: Open) -> None:
        """The server's owner may end all watches, after what is due has been sent."""
        api_server.create(config_map())
        stream = watch()
        stream.events(1)
        api_server.create(config_map("b"))
        api_server.end_watches()
        assert told(stream.events()) == [("ADDED", "b")]

    def test_ended_with_something_due(self, api_server: ApiServer, watch: Open) -> None:
        """However close together the last change and the end are, the change is told."""
        for number in range(50):
            stream = watch(resourceVersion=api_server.resource_version)
            api_server.create(config_map(f"m{number}"))
            api_server.end_watches()
            assert told(stream.events()) == [("ADDED", f"m{number}")]

    def test_definition_goes_meanwhile(self, api_server: ApiServer, http: Http) -> None:
        """A watch whose definition goes while it is being begun ends cleanly, and is the server's no more."""
        api_server.create(definition())
        query = {"resourceVersion": FUTURE, **WATCH_LIST}
        with opening(api_server) as watch:
            stream = watch(WIDGETS, **query)
            api_server.delete("crd", "widgets.example.com")
            while int(api_server.resource_version) < FUTURE:
                api_server._api.state.revision = FUTURE
            assert stream.events() == []
        assert http.get(WIDGETS, watch=1).status == 404


class TestBookmarks:
    def test_times(self) -> None:
        """D5: in every interval, once the version has moved on, and a last one two seconds before the timeout."""
        with ApiServer(bookmark_interval=0.2) as server, opening(server) as watch:
            query = {"resourceVersion": server.resource_version, "allowWatchBookmarks": "true", "timeoutSeconds": 3}
            quiet, none = watch(**query), watch("/api/v1/namespaces/default/events", **query)
            server.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
            events = quiet.events()
            assert none.events() == []
        assert 4 <= len(events) <= 6
        assert {event["type"] for event in events} == {"BOOKMARK"}
        assert set(versions(events)) == {server.resource_version}

    def test_nothing_new(self) -> None:
        """Trap 14: none before the version has passed that of the start, none for short watches."""
        with ApiServer(bookmark_interval=0.1) as server, opening(server) as watch:
            query = {"resourceVersion": server.resource_version, "allowWatchBookmarks": "true"}
            quiet, short = watch(timeoutSeconds=3, **query), watch(timeoutSeconds=2, **query)
            assert quiet.events() == []
            server.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
            assert short.events() == []

    def test_shape(self) -> None:
        """A3: only the version is meaningful; some kinds show null where a client might look."""
        with ApiServer(bookmark_interval=0.05) as server, opening(server) as watch:
            stream = watch(PODS, resourceVersion=server.resource_version, allowWatchBookmarks="true", timeoutSeconds=9)
            server.create(config_map())
            shape = stream.event()["object"]
        assert shape == {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": server.resource_version},
            "spec": {"containers": None},
            "status": {},
        }


LARGE = "x" * 100_000


class TestSlowReader:
    @pytest.mark.parametrize("bounds", [{"watch_buffer": 20}, {"watch_buffer_bytes": 2_000_000}], ids=["count", "size"])
    def test_is_cut(self, bounds: dict[str, Any]) -> None:
        """Trap 16: a reader that is too slow gets a clean end without an ERROR, and nobody waits for it for long."""
        with ApiServer(**bounds) as server, opening(server) as watch:
            stream = watch()
            began = time.monotonic()
            for number in range(300):
                server.create(config_map(f"m{number:04}", k=LARGE))
            took = time.monotonic() - began
            events = stream.events()
        assert 20 <= len(events) < 300
        assert {event["type"] for event in events} == {"ADDED"}
        assert took < 10

    def test_others_go_on(self) -> None:
        """Another watch of the same kind misses nothing, although it is slower than the writer."""
        with ApiServer(watch_buffer=20) as server, opening(server) as watch, stalled(server, 1):
            good, seen = watch(), []
            reader = threading.Thread(target=lambda: seen.extend(good.events(200)))
            reader.start()
            for number in range(200):
                server.create(config_map(f"m{number:04}", k=LARGE))
            reader.join(20)
        assert len(seen) == 200

    def test_many_at_once(self) -> None:
        """However many readers have stalled, a write waits once; the lock is free meanwhile, and all are cut."""
        with (
            ApiServer(watch_buffer=10) as server,
            contextlib.closing(Http(server)) as http,
            stalled(server, 30) as socks,
        ):
            reads, over = [0.0], threading.Event()

            def read() -> None:
                while not over.is_set():
                    reads.append(timed(lambda: http.get("/api/v1/namespaces/default")))

            reader = threading.Thread(target=read)
            reader.start()
            names = [f"m{number:04}" for number in range(100)]
            writes = [timed(functools.partial(server.create, config_map(name, k=LARGE))) for name in names]
            over.set()
            reader.join()
            ends = [rest(sock) for sock in socks]
        grace = server._api.settings.slow_reader_grace
        assert sum(wait for wait in writes if wait > grace / 5) < 3 * grace
        assert sum(reads) / len(reads) < grace / 2
        assert all(end.endswith(b"}\n\r\n0\r\n\r\n") and end.count(b"}\n") < 100 for end in ends)

    @pytest.mark.parametrize("way", ["cut", "told to end"])
    def test_nothing_spins(self, way: str) -> None:
        """A watch that is to end, and whose reader has stalled, waits for it without using the processor."""
        with ApiServer(watch_buffer=10 if way == "cut" else 1_000) as server, stalled(server, 20):
            for number in range(100):
                server.create(config_map(f"m{number:04}", k=LARGE))
            if way != "cut":
                server.end_watches()
            began = time.process_time()
            with pytest.raises(TimeoutError):
                server.wait_for_disconnect(timeout=0.5)
            assert time.process_time() - began < 0.1

    def test_bulk(self) -> None:
        """One write that makes more events than may wait, such as the end of a namespace, cuts no reader that reads."""
        with ApiServer(watch_buffer=10) as server, opening(server) as watch:
            server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bulk"}})
            for number in range(500):
                server.create(config_map(f"m{number:04}"), "bulk")
            stream = watch("/api/v1/namespaces/bulk/configmaps", resourceVersion=server.resource_version)
            server.delete("namespaces", "bulk")
            assert len(stream.events(500)) == 500


def rest(sock: socket.socket) -> bytes:
    """What is still to be read, up to the zero chunk."""
    data = bytearray()
    while not data.endswith(b"\r\n0\r\n\r\n"):
        more = sock.recv(1 << 20)
        assert more, "the body broke off"
        data += more
    return bytes(data)


def timed(call: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    began = time.monotonic()
    call()
    return time.monotonic() - began


class TestMany:
    def test_watches(self, api_server: ApiServer, watch: Open) -> None:
        """200 watches of one kind all see the same bytes."""
        streams = [watch() for _ in range(200)]
        api_server.wait_for_requests(200)
        for name in "abc":
            api_server.create(config_map(name))
        seen = {b"".join(stream.chunk() for _ in "abc") for stream in streams}
        assert len(seen) == 1
