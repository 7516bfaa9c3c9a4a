"""The tests of Backstage's KubernetesWatcher as statements, one test each, in their order.

Numbers are those of its test file's cases. Where kwsync promises more, or another thing, the docstring says so.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kwsync import (
    Client,
    Cluster,
    EndReason,
    ErrorOrigin,
    ErrorType,
    EventType,
    Resource,
    WatchEnd,
    WatchError,
    watch_resource,
)
from kwsync.credentials import Anonymous, BearerToken, ClientCertificate, Credential
from kwsync.testing import End, Event, Head, Http, Raw, ScriptedServer, TestCA, bookmark, pod, status
from tests.watch.support import SOON, Outcome, assert_clean, line, outcome_of, served

TOKEN = BearerToken("my-secret-token")
POD = pod("test-pod", "12345")


def watch(*steps: Any, resource: str | Resource = "pods", credential: Credential = TOKEN, **options: Any) -> Outcome:
    """The outcome of one watch with a bearer token, as all of their tests do it."""
    with served(steps, credential=credential) as (server, client):
        stream = watch_resource(resource, client=client, **{"timeout_seconds": SOON, **options})
        return outcome_of(stream, server)


def assert_error(error: WatchError, kind: ErrorType, code: int, path: str) -> None:
    """The three fields of their StatusError."""
    assert (error.error_type, error.status_code, error.resource_path) == (kind, code, path)


def test_01_added() -> None:
    """1: an ADDED line gives type, object and version; the request has watch=true and the token."""
    outcome = watch(Head(), Event("ADDED", POD), End(), namespace="default")
    (event,), (request,) = outcome.events, outcome.requests
    assert (event.type, event.object, event.resource_version) == (EventType.ADDED, POD, "12345")
    assert (request.path, request.query["watch"]) == ("/api/v1/namespaces/default/pods", "true")
    assert request.headers["Authorization"] == "Bearer my-secret-token"


def test_02_network_failure() -> None:
    """2: a network failure is exactly one ERROR, SYSTEM_ERROR 0."""
    with ScriptedServer() as server:
        url = server.url
    with Client(Cluster(url), TOKEN) as client:
        outcome = outcome_of(watch_resource("pods", client=client, namespace="default"))
    assert_error(outcome.error, ErrorType.SYSTEM_ERROR, 0, "/api/v1/namespaces/default/pods")
    assert len(outcome.events) == 1


@pytest.mark.parametrize("kind", ["MODIFIED", "DELETED"])
def test_03_04_modified_and_deleted(kind: str) -> None:
    """3 and 4: a MODIFIED and a DELETED line give the same fields."""
    (event,) = watch(Head(), Event(kind, POD), End()).events
    assert (event.type, event.object, event.resource_version) == (EventType(kind), POD, "12345")


def test_05_order() -> None:
    """5: two lines give two events in order, each with its version.

    Theirs has no newline at its end and delivers the last line all the same; here half a line is never an event,
    because the client cannot know that nothing is missing (design 3.3).
    """
    both = line("ADDED", pod("a", "100")) + line("MODIFIED", pod("a", "101"))
    outcome = watch(Head(), Raw(both), End())
    assert [(str(event.type), event.resource_version) for event in outcome.events] == [
        ("ADDED", "100"),
        ("MODIFIED", "101"),
    ]
    assert len(watch(Head(), Raw(both[:-1]), End()).events) == 1


@pytest.mark.parametrize(
    ("code", "resource", "namespace", "kind", "path"),
    [
        (401, "pods", "default", ErrorType.UNAUTHORIZED_ERROR, "/api/v1/namespaces/default/pods"),
        (404, "v1/invalidresource", None, ErrorType.NOT_FOUND, "/api/v1/invalidresource"),
        (500, "pods", None, ErrorType.SYSTEM_ERROR, "/api/v1/pods"),
        (400, "pods", None, ErrorType.BAD_REQUEST, "/api/v1/pods"),
        (403, "pods", None, ErrorType.UNKNOWN_ERROR, "/api/v1/pods"),
        (503, "pods", None, ErrorType.UNKNOWN_ERROR, "/api/v1/pods"),
    ],
)
def test_06_07_08_http_errors(code: int, resource: str, namespace: str | None, kind: ErrorType, path: str) -> None:
    """6, 7 and 8, and the connection's own: an HTTP error is one ERROR with its type, status and path."""
    outcome = watch(Http(code, "no"), resource=resource, namespace=namespace)
    assert_error(outcome.error, kind, code, path)
    assert len(outcome.events) == 1


def test_09_gone() -> None:
    """9: an ERROR in the stream with code 410 is UNKNOWN_ERROR 410; here `is_expired` tells it as well."""
    error = watch(Head(), Event("ERROR", status(410, "Expired", "too old")), End()).error
    assert_error(error, ErrorType.UNKNOWN_ERROR, 410, "/api/v1/pods")
    assert (error.is_expired, error.reason, error.message) == (True, "Expired", "too old")


def test_10_added_and_error() -> None:
    """10: events before an ERROR are given, in order."""
    outcome = watch(Head(), Event("ADDED", POD), Event("ERROR", status(410)), End())
    assert outcome.types == ["ADDED", "ERROR"]


def test_11_malformed_line() -> None:
    """11: a malformed line between two good ones is skipped; here it is counted."""
    outcome = watch(Head(), Event("ADDED", pod("a")), Raw(b"{ not json }\n"), Event("ADDED", pod("b")), End())
    assert_clean(outcome, "a", "b")
    assert outcome.skipped_lines == 1


def test_12_empty_lines() -> None:
    """12: empty lines are skipped."""
    assert_clean(watch(Head(), Event("ADDED", pod("a")), Raw(b"\n\n   \n"), Event("ADDED", pod("b")), End()), "a", "b")


def test_13_selection() -> None:
    """13: namespace, label selector and version reach path and query."""
    (request,) = watch(Head(), End(), namespace="x", label_selector="app=test", resource_version="99").requests
    assert request.path == "/api/v1/namespaces/x/pods"
    assert (request.query["labelSelector"], request.query["resourceVersion"]) == ("app=test", "99")


def test_14_options() -> None:
    """14: timeout, bookmarks, initial events and the match reach the query."""
    options: dict[str, Any] = {"timeout_seconds": 300, "allow_watch_bookmarks": True, "send_initial_events": True}
    (request,) = watch(Head(), End(), resource_version_match="NotOlderThan", **options).requests
    assert request.query == {
        "watch": "true",
        "timeoutSeconds": "300",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }


def test_15_group() -> None:
    """15: a group goes to /apis."""
    (request,) = watch(Head(), End(), resource=Resource("example.com", "v1", "customthings")).requests
    assert request.path == "/apis/example.com/v1/customthings"


def test_16_bearer() -> None:
    """16: a bearer token is sent as such."""
    assert watch(Head(), End()).requests[0].headers.all("Authorization") == ["Bearer my-secret-token"]


def test_17_client_certificate_without_tls() -> None:
    """17: a client certificate on an http URL is accepted, plays no part there, and events come."""
    pair = TestCA().client_cert("me")
    credential = ClientCertificate(certificate=pair.cert_pem, key=pair.key_pem)
    outcome = watch(Head(), Event("ADDED", POD), End(), credential=credential)
    assert_clean(outcome, "test-pod")
    assert "Authorization" not in outcome.requests[0].headers


def test_18_anonymous() -> None:
    """18: there, anonymous without a provider is 401 before any request. Here it is sent, and the server decides (3.2).

    What a provider names and cannot be had is still 401 without a request.
    """
    outcome = watch(Http(401, status(401, "Unauthorized")), credential=Anonymous())
    assert_error(outcome.error, ErrorType.UNAUTHORIZED_ERROR, 401, "/api/v1/pods")
    assert (outcome.error.origin, len(outcome.requests)) == (ErrorOrigin.HTTP, 1)
    with served(auth_provider="aws-made-up") as (server, client):
        error = outcome_of(watch_resource("pods", client=client)).error
        assert_error(error, ErrorType.UNAUTHORIZED_ERROR, 401, "/api/v1/pods")
        assert server.connections_accepted == 0


def test_19_bookmark() -> None:
    """19: a BOOKMARK gives its object and version."""
    (event,) = watch(Head(), Event("BOOKMARK", bookmark("777")), End()).events
    assert (event.type, event.object, event.resource_version) == (EventType.BOOKMARK, bookmark("777"), "777")


def test_20_abort_while_lines_wait() -> None:
    """20: aborted after the first of three events that are there already, at most two come; here it is one."""
    cancel = threading.Event()
    lines = b"".join(line("ADDED", pod(name)) for name in "abc")
    with served([Head(), Raw(lines), End()], credential=TOKEN) as (_, client):
        seen = []
        stream = watch_resource("pods", client=client, cancel=cancel, timeout_seconds=SOON)
        for event in stream:
            seen.append(event.key.name)
            cancel.set()
    assert seen == ["a"]
    assert stream.end == WatchEnd(EndReason.CANCELLED)


def test_21_aborted_before() -> None:
    """21: aborted before its start, it gives no event; and here no request."""
    cancel = threading.Event()
    cancel.set()
    with served([Head(), Event("ADDED", POD), End()], credential=TOKEN) as (server, client):
        stream = watch_resource("pods", client=client, cancel=cancel)
        assert list(stream) == []
        assert stream.end == WatchEnd(EndReason.CANCELLED)
        assert server.connections_accepted == 0


@pytest.mark.parametrize("provider", ["google", "oidc", "aks"])
def test_22_refused_providers(provider: str) -> None:
    """22: providers whose credentials come from a browser are one ERROR BAD_REQUEST 400."""
    with served(credential=TOKEN, auth_provider=provider) as (server, client):
        error = outcome_of(watch_resource("pods", client=client)).error
        assert_error(error, ErrorType.BAD_REQUEST, 400, "/api/v1/pods")
        assert server.connections_accepted == 0


@pytest.mark.parametrize("provider", ["serviceAccount", "googleServiceAccount", "aws", "azure", "localKubectlProxy"])
def test_23_accepted_providers(provider: str) -> None:
    """23: the other providers are accepted with a ready bearer token."""
    with served([Head(), Event("ADDED", POD), End()], credential=TOKEN, auth_provider=provider) as (_, client):
        assert_clean(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)), "test-pod")


class TestConnection:
    """What their KubernetesConnection tests say about a watch."""

    def test_segments(self) -> None:
        """Each segment of the path is encoded."""
        assert watch(Head(), End(), namespace="my ns").requests[0].target.startswith("/api/v1/namespaces/my%20ns/pods?")

    def test_kubectl_proxy(self) -> None:
        """localKubectlProxy with an anonymous credential is accepted and sends no Authorization."""
        with served([Head(), End()], credential=Anonymous(), auth_provider="localKubectlProxy") as (server, client):
            assert_clean(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)))
            assert "Authorization" not in server.requests[0].headers

    def test_base_path(self) -> None:
        """A base path in the cluster's URL stays; the path of an error leaves it out, where theirs has it at times."""
        with ScriptedServer([Http(403, "no")]) as server:
            with Client(Cluster(f"{server.url}/k8s/clusters/123"), TOKEN) as client:
                error = outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)).error
            assert server.requests[0].path == "/k8s/clusters/123/api/v1/pods"
        assert_error(error, ErrorType.UNKNOWN_ERROR, 403, "/api/v1/pods")

    def test_redirects(self) -> None:
        """Redirects are not followed."""
        outcome = watch(Http(302, "", {"Location": "/elsewhere"}))
        assert_error(outcome.error, ErrorType.UNKNOWN_ERROR, 302, "/api/v1/pods")
        assert len(outcome.requests) == 1

    def test_connections_are_used_again(self) -> None:
        """Clean watches one after another share one connection."""
        with served(*[[Head(), End()]] * 5, credential=TOKEN) as (server, client):
            for _ in range(5):
                assert_clean(outcome_of(watch_resource("pods", client=client, timeout_seconds=SOON)))
            assert server.connections_accepted == 1
