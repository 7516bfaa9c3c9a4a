"""What goes on the wire: when, to which path, with which query and headers."""

from __future__ import annotations

import platform
import threading
from contextlib import ExitStack
from typing import Any

import pytest

from kwsync import (
    Client,
    Cluster,
    EndReason,
    ErrorOrigin,
    ErrorType,
    Resource,
    WatchEnd,
    __version__,
    _session,
    watch_resource,
)
from kwsync.credentials import Anonymous, BasicAuth, BearerToken, Credential
from kwsync.testing import End, Event, Fin, Head, Http, Raw, Request, Rst, Stall, StallUntil, Step, pod, status
from tests.watch.support import PODS, SOON, outcome_of, served, watched

NOTHING = (Head(), End())
OBJECT = "application/json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.9"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def request_of(resource: str | Resource = "pods", *, cluster: dict[str, Any] | None = None, **options: Any) -> Request:
    """The one request of a watch with these options, and nothing filled in by the test."""
    with served(NOTHING, **(cluster or {})) as (server, client):
        list(watch_resource(resource, client=client, **options))
        (request,) = server.requests
    return request


class TestWhen:
    def test_nothing_before_the_first_next(self) -> None:
        """Making a stream, entering it and looking at it sends nothing and connects nowhere; one next() sends one."""
        with served(NOTHING) as (server, client), watch_resource("pods", client=client) as stream:
            iter(stream)
            assert (stream.resource_version, stream.end, stream.skipped_lines) == (None, None, 0)
            assert server.connections_accepted == 0
            assert next(stream, None) is None
            assert (server.connections_accepted, len(server.requests)) == (1, 1)

    def test_closed_before_the_first_next(self) -> None:
        """Closed before its start it ends without a request."""
        with served(NOTHING) as (server, client):
            stream = watch_resource("pods", client=client)
            stream.close()
            assert list(stream) == []
            assert stream.end == WatchEnd(EndReason.CLOSED)
            assert server.connections_accepted == 0

    def test_one_request(self) -> None:
        """A stream sends one request and no more, whatever the answer: no retry, no reconnect."""
        for answer in (Http(500, status(500)), Http(429, "wait", {"Retry-After": "0"}), Rst(), Fin()):
            assert len(watched(answer).requests) == 1

    def test_clean_end_keeps_the_connection(self) -> None:
        """After a clean end the next watch uses the same connection, whether chunked or with a length."""
        body = b'{"type":"BOOKMARK","object":{}}\n'
        with served(NOTHING, [Http(200, body)], NOTHING) as (server, client):
            for _ in range(3):
                list(watch_resource("pods", client=client, timeout_seconds=SOON))
            assert [request.connection_id for request in server.requests] == [1, 1, 1]

    def test_error_answer_keeps_nothing_open(self) -> None:
        """After an error answer that was read to its end, or not, the next watch is served all the same."""
        with served([Http(403, status(403))], [Head(code=500), Raw(b"x" * 3_000_000)], NOTHING) as (server, client):
            ends = [outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)).end for _ in range(3)]
            assert [end.reason for end in ends] == [EndReason.ERROR, EndReason.ERROR, EndReason.SERVER_CLOSED]
            assert server.requests[2].connection_id != server.requests[1].connection_id

    @pytest.mark.parametrize(
        "steps",
        [(Head(code=403), Raw(b"half a te"), Stall()), (Head(), Raw(b"x" * 2000), Stall())],
        ids=["error-body", "long-line"],
    )
    def test_half_an_answer_keeps_nothing(self, steps: tuple[Step, ...], monkeypatch: pytest.MonkeyPatch) -> None:
        """An answer that was given up in its middle may go on: its connection is not used again."""
        monkeypatch.setattr(_session, "ERROR_BODY_SECONDS", 0.1)
        with served(steps, NOTHING) as (server, client):
            ends = [
                outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON, max_line_bytes=1000)).end.reason
                for _ in range(2)
            ]
            assert ends == [EndReason.ERROR, EndReason.SERVER_CLOSED]
            assert [request.connection_id for request in server.requests] == [1, 2]

    def test_closed_stream_keeps_nothing(self) -> None:
        """A connection with an answer in it that nobody reads is closed, never used again."""
        with served([Head(), Event("ADDED", pod("a")), StallUntil(_never())], NOTHING) as (server, client):
            with watch_resource("pods", client=client, timeout_seconds=SOON) as stream:
                next(stream)
            server.wait_for_disconnect()
            list(watch_resource("pods", client=client, timeout_seconds=SOON))
            assert [request.connection_id for request in server.requests] == [1, 2]

    def test_kept_connection_that_died(self) -> None:
        """A kept connection that the server has closed meanwhile is no error: the request goes out on a fresh one."""
        with served(NOTHING, NOTHING) as (server, client):
            list(watch_resource("pods", client=client, timeout_seconds=SOON))
            server.drop_connections()
            outcome = outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON))
            assert outcome.end == WatchEnd(EndReason.SERVER_CLOSED)
            assert [request.connection_id for request in server.requests] == [1, 2]

    @pytest.mark.parametrize("death", [Rst(), Fin()])
    def test_kept_connection_that_dies_at_the_request(self, death: Rst | Fin) -> None:
        """One that dies before the first byte of an answer is sent once more on a fresh one, and only once (3.2)."""
        with served(NOTHING, [death], NOTHING, NOTHING, [death], [death], NOTHING) as (server, client):
            ends = [
                outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)).end.reason for _ in range(4)
            ]
            assert ends == [*[EndReason.SERVER_CLOSED] * 3, EndReason.ERROR]
            assert [request.connection_id for request in server.requests] == [1, 1, 2, 2, 2, 3]

    def test_many_at_once(self) -> None:
        """Every watch has a connection of its own, outside of any pool's limit and without a warning (B9)."""
        with served() as (server, client), ExitStack() as stack:
            server.default = (Head(), Event("ADDED", pod("a")), StallUntil(_never()))
            for _ in range(30):
                stream = stack.enter_context(watch_resource("pods", client=client, timeout_seconds=SOON))
                assert next(stream).key.name == "a"
            assert {request.connection_id for request in server.requests} == set(range(1, 31))

    def test_client_is_not_closed_by_its_streams(self) -> None:
        """Closing a client ends no watch that is open; only the next one is refused."""
        going = _never()
        with served([Head(), Event("ADDED", pod("a")), StallUntil(going), Event("ADDED", pod("b")), End()]) as (
            _,
            client,
        ):
            stream = watch_resource("pods", client=client, timeout_seconds=SOON)
            assert next(stream).key.name == "a"
            client.close()
            going.set()
            assert [event.key.name for event in stream] == ["b"]
            assert stream.end == WatchEnd(EndReason.SERVER_CLOSED)


class TestPath:
    @pytest.mark.parametrize(
        ("resource", "namespace", "path"),
        [
            ("pods", None, "/api/v1/pods"),
            ("pods", "", "/api/v1/pods"),
            ("po", "default", "/api/v1/namespaces/default/pods"),
            ("v1/pods", "a", "/api/v1/namespaces/a/pods"),
            ("nodes", None, "/api/v1/nodes"),
            ("deployments", "a", "/apis/apps/v1/namespaces/a/deployments"),
            ("apps/v1/deployments", None, "/apis/apps/v1/deployments"),
            ("crontabs.v1.stable.example.com", "a", "/apis/stable.example.com/v1/namespaces/a/crontabs"),
            (Resource("", "v1", "pods"), "a", "/api/v1/namespaces/a/pods"),
            (Resource("example.com", "v1beta1", "things"), None, "/apis/example.com/v1beta1/things"),
            (Resource("g", "v1", "things", namespaced=False), None, "/apis/g/v1/things"),
        ],
    )
    def test_path(self, resource: str | Resource, namespace: str | None, path: str) -> None:
        """Core resources lie below /api, the others below /apis; without a namespace the path is that of all."""
        request = request_of(resource, namespace=namespace)
        assert (request.method, request.target, request.body) == ("GET", f"{path}?watch=true", b"")

    def test_segments_are_encoded(self) -> None:
        """What could change the path is percent-encoded, each byte of its UTF-8 (Backstage: "my ns" is my%20ns)."""
        request = request_of(Resource("g", "v1", "a?b"), namespace="my ns#é+")
        assert request.target == "/apis/g/v1/namespaces/my%20ns%23%C3%A9%2B/a%3Fb?watch=true"

    @pytest.mark.parametrize("suffix", ["", "/", "//", "/k8s/clusters/c-1", "/k8s/clusters/c-1/"])
    def test_base_path(self, suffix: str) -> None:
        """The cluster's base path stands before the path, with or without a slash at its end; errors leave it out."""
        with served([Http(403, "no")]) as (server, _), _client_for(server.url + suffix) as client:
            outcome = outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON), server)
        assert outcome.requests[0].path == suffix.rstrip("/") + PODS
        assert outcome.error.resource_path == PODS


class TestQuery:
    @pytest.mark.parametrize(
        ("options", "query"),
        [
            ({}, {}),
            ({"label_selector": "app=web"}, {"labelSelector": "app=web"}),
            ({"label_selector": {"a": "b", "c": ["d", "e"], "f": None}}, {"labelSelector": "a=b,c in (d,e),f"}),
            ({"label_selector": {}}, {}),
            ({"label_selector": ""}, {}),
            ({"field_selector": "status.phase!=Failed"}, {"fieldSelector": "status.phase!=Failed"}),
            ({"field_selector": {"a": "1,2=3\\4"}}, {"fieldSelector": "a=1\\,2\\=3\\\\4"}),
            ({"name": "n"}, {"fieldSelector": "metadata.name=n"}),
            ({"name": "n", "field_selector": "a=b"}, {"fieldSelector": "metadata.name=n,a=b"}),
            ({"name": "n,o=p"}, {"fieldSelector": "metadata.name=n\\,o\\=p"}),
            ({"resource_version": "7"}, {"resourceVersion": "7"}),
            ({"resource_version": "0"}, {"resourceVersion": "0"}),
            ({"resource_version": ""}, {}),
            ({"resource_version": "2026-01-01T00:00+01"}, {"resourceVersion": "2026-01-01T00:00+01"}),
            ({"timeout_seconds": 1}, {"timeoutSeconds": "1"}),
            ({"timeout_seconds": 3600}, {"timeoutSeconds": "3600"}),
            ({"allow_watch_bookmarks": True}, {"allowWatchBookmarks": "true"}),
            ({"allow_watch_bookmarks": False}, {"allowWatchBookmarks": "false"}),
            (
                {"send_initial_events": True},
                {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"},
            ),
            (
                {"send_initial_events": True, "allow_watch_bookmarks": False, "resource_version": "5"},
                {
                    "sendInitialEvents": "true",
                    "resourceVersionMatch": "NotOlderThan",
                    "allowWatchBookmarks": "false",
                    "resourceVersion": "5",
                },
            ),
            (
                {"send_initial_events": False, "resource_version_match": "NotOlderThan"},
                {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"},
            ),
            ({"max_line_bytes": 5}, {}),
        ],
        ids=str,
    )
    def test_query(self, options: dict[str, Any], query: dict[str, str]) -> None:
        """An option becomes its parameter; one that is None, or an empty string, is absent (C7, H12)."""
        request = request_of(**options)
        assert request.query == {"watch": "true", **query}
        assert "None" not in request.target

    def test_all_none(self) -> None:
        """Options that are given as None are as if they were not given: only watch=true is sent (C7)."""
        names = ["namespace", "name", "label_selector", "field_selector", "resource_version", "cancel"]
        names += ["resource_version_match", "timeout_seconds", "allow_watch_bookmarks", "send_initial_events"]
        options: dict[str, Any] = dict.fromkeys(names)
        assert request_of(**options).target == f"{PODS}?watch=true"

    def test_everything_is_percent_encoded(self) -> None:
        """A selector cannot break the URL, and a space is %20, never + (H11)."""
        request = request_of(label_selector="a in (x,y),b!=z,!c", field_selector="metadata.name=ä&watch=false")
        assert request.raw_query == (
            "watch=true&labelSelector=a%20in%20%28x%2Cy%29%2Cb%21%3Dz%2C%21c"
            "&fieldSelector=metadata.name%3D%C3%A4%26watch%3Dfalse"
        )
        assert request.query["labelSelector"] == "a in (x,y),b!=z,!c"
        assert request.query["watch"] == "true"

    @pytest.mark.parametrize("version", ["9", "10", "abc", "2026-01-01T00", "a/b?c&d=e f+g%41", "é"])
    def test_version_is_opaque(self, version: str) -> None:
        """A resource version is sent back letter by letter: nobody reads it as a number (C8)."""
        assert request_of(resource_version=version).query["resourceVersion"] == version


class TestHeaders:
    @pytest.mark.parametrize(("view", "accept"), [("object", OBJECT), ("metadata", METADATA), ("table", TABLE)])
    def test_accept(self, view: str, accept: str) -> None:
        """Each view asks in the form that a watch needs: never the List form, which ends at once and silent (D4)."""
        assert request_of(view=view).headers["Accept"] == accept

    def test_headers(self) -> None:
        """Four headers and no more: no compression is asked for (A22), nothing about a body, no cookie."""
        with served(NOTHING) as (server, client):
            list(watch_resource("pods", client=client))
            (request,) = server.requests
        agent = f"kwsync/{__version__} (python {platform.python_version()}; {platform.system().lower()})"
        assert dict(request.headers.pairs) == {
            "Host": f"127.0.0.1:{server.port}",
            "Accept-Encoding": "identity",
            "User-Agent": agent,
            "Accept": "application/json",
        }

    @pytest.mark.parametrize(
        ("credential", "header"),
        [
            (None, None),
            (Anonymous(), None),
            (BearerToken("my-secret-token\n"), "Bearer my-secret-token"),
            (BasicAuth("me", "pässword"), "Basic bWU6cMOkc3N3b3Jk"),
        ],
        ids=str,
    )
    def test_authorization(self, credential: Credential | None, header: str | None) -> None:
        """The credential proves itself in one header; anonymous sends none."""
        with served(NOTHING, credential=credential) as (server, client):
            list(watch_resource("pods", client=client))
            assert server.requests[0].headers.get("Authorization") == header


class TestArguments:
    @pytest.mark.parametrize(
        ("options", "kind"),
        [
            ({"resource": 5}, TypeError),
            ({"resource": None}, TypeError),
            ({"resource": ""}, ValueError),
            ({"resource": "a/b/c/d"}, ValueError),
            ({"resource": "pods/log"}, ValueError),
            ({"client": "http://127.0.0.1"}, TypeError),
            ({"namespace": 5}, TypeError),
            ({"namespace": "a/b"}, ValueError),
            ({"namespace": ".."}, ValueError),
            ({"resource": "nodes", "namespace": "a"}, ValueError),
            ({"name": ""}, ValueError),
            ({"name": b"n"}, TypeError),
            ({"label_selector": 5}, TypeError),
            ({"label_selector": {"a b": "c"}}, ValueError),
            ({"label_selector": {"a": "b,c=d"}}, ValueError),
            ({"field_selector": ["a"]}, TypeError),
            ({"field_selector": {"a=b": "c"}}, ValueError),
            ({"view": "yaml"}, ValueError),
            ({"view": None}, TypeError),
            ({"resource_version": 5}, TypeError),
            ({"resource_version": "\ud800"}, ValueError),
            ({"resource_version_match": "Exact"}, ValueError),
            ({"resource_version_match": "NotOlderThan"}, ValueError),
            ({"send_initial_events": False}, ValueError),
            ({"send_initial_events": 1}, TypeError),
            ({"allow_watch_bookmarks": "true"}, TypeError),
            ({"timeout_seconds": 0}, ValueError),
            ({"timeout_seconds": -5}, ValueError),
            ({"timeout_seconds": 1.5}, TypeError),
            ({"timeout_seconds": True}, TypeError),
            ({"timeout_seconds": "5"}, TypeError),
            ({"max_line_bytes": 0}, ValueError),
            ({"max_line_bytes": None}, TypeError),
            ({"cancel": 5}, TypeError),
            ({"unknown": 5}, TypeError),
        ],
        ids=str,
    )
    def test_bad_argument(self, options: dict[str, Any], kind: type[Exception]) -> None:
        """A bad argument raises from the call itself, before any request; the server is not asked what it thinks."""
        with served() as (server, client):
            with pytest.raises(kind):
                watch_resource(**{"resource": "pods", "client": client, **options})
            assert server.connections_accepted == 0

    def test_keyword_only(self) -> None:
        """Everything but the resource is given by its name."""
        with pytest.raises(TypeError, match="positional"):
            watch_resource("pods", None)  # type: ignore[call-arg]


class TestDiscovery:
    GROUPS = (
        Http(200, {"kind": "APIVersions", "versions": ["v1"]}),
        Http(200, {"kind": "APIResourceList", "resources": []}),
        Http(200, {"kind": "APIGroupList", "groups": [{"name": "g.io", "versions": [{"version": "v2"}]}]}),
        Http(
            200,
            {
                "kind": "APIResourceList",
                "resources": [
                    {"name": "crontabs", "singularName": "crontab", "shortNames": ["ct"], "kind": "CronTab"}
                    | {"namespaced": False}
                ],
            },
        ),
    )

    def test_short_name(self) -> None:
        """A name that is not built in is asked from the server inside the watch, at its first next()."""
        with served(*((answer,) for answer in self.GROUPS), NOTHING) as (server, client):
            stream = watch_resource("ct", client=client, timeout_seconds=SOON, resource_version="5")
            assert (server.requests, repr(stream)) == ([], "<WatchStream ct open>")
            assert list(stream) == []
            paths = [request.path for request in server.requests]
            assert paths == ["/api", "/api/v1", "/apis", "/apis/g.io/v2", "/apis/g.io/v2/crontabs"]
            assert server.requests[-1].query == {"watch": "true", "resourceVersion": "5", "timeoutSeconds": str(SOON)}
            assert repr(stream) == "<WatchStream crontabs.v2.g.io SERVER_CLOSED>"

    def test_unknown(self) -> None:
        """What the server has not is one ERROR NOT_FOUND 404, and no watch is sent."""
        with served(*((answer,) for answer in self.GROUPS)) as (server, client):
            error = outcome_of(watch_resource("widgets", client=client, timeout_seconds=SOON)).error
            assert (error.error_type, error.status_code, error.reason) == (ErrorType.NOT_FOUND, 404, "NotFound")
            assert "widgets" in error.message
            assert not any(request.is_watch for request in server.requests)

    @pytest.mark.parametrize(
        ("answer", "origin", "code"),
        [
            (Http(403, status(403, "Forbidden")), ErrorOrigin.HTTP, 403),
            (Http(200, "no JSON"), ErrorOrigin.DECODE, 0),
            (Rst(), ErrorOrigin.NETWORK, 0),
        ],
    )
    def test_failure(self, answer: Any, origin: ErrorOrigin, code: int) -> None:
        """A discovery that fails is the watch's one ERROR, and says where it failed (contract 3.1)."""
        with served([answer]) as (server, client):
            outcome = outcome_of(watch_resource("ct", client=client, timeout_seconds=SOON), server)
        assert (outcome.error.origin, outcome.error.status_code, outcome.error.resource_path) == (origin, code, "/api")
        assert outcome.end.reason is EndReason.ERROR
        assert len(outcome.requests) == 1

    def test_namespace_for_a_cluster_scoped_kind(self) -> None:
        """That only discovery could know it makes it an ERROR instead of a ValueError, and no watch is sent."""
        with served(*((answer,) for answer in self.GROUPS)) as (server, client):
            outcome = outcome_of(watch_resource("ct", client=client, namespace="a", timeout_seconds=SOON), server)
        assert (outcome.error.error_type, outcome.error.origin) == (ErrorType.BAD_REQUEST, ErrorOrigin.CONFIG)
        assert not any(request.is_watch for request in outcome.requests)


def _never() -> threading.Event:
    return threading.Event()


def _client_for(url: str) -> Client:
    return Client(Cluster(url))
