"""Following one kind: what is asked of the server after each end, and what ends it for good."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import threading
from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest

from kwsync import Backoff, CancelToken, Client, Cluster, EventType, Resource, WatchError, WatchEvent
from kwsync.cli import _follow
from kwsync.cli._follow import Follower, Subject
from kwsync.testing import (
    ApiServer,
    End,
    Event,
    Head,
    Http,
    List,
    Raw,
    Rst,
    ScriptedServer,
    Stall,
    bookmark,
    pod,
    status,
)

QUIET = (Head(), Stall())


@pytest.fixture(autouse=True)
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_follow, "BACKOFF", Backoff(initial=0.01, cap=0.02))


def words(event: WatchEvent) -> str:
    """An event: verb, name, version, and whether it is of the first state."""
    if event.type is EventType.SYNCED:
        return "SYNCED"
    return f"{event.type} {event.key.name} {event.resource_version or ''}{' initial' * event.initial}".rstrip()


@contextlib.contextmanager
def following(server: ScriptedServer | ApiServer, **options: Any) -> Iterator[Iterator[str]]:
    """The events in words: verb, name, version, and whether they are of the first state."""
    cancel = CancelToken()
    with Client(Cluster(server.url)) as client:
        events = Follower(Subject(client=client, resource=Resource.parse("pods"), **options), cancel).events()
        try:
            yield map(words, events)
        finally:
            cancel.set()
            events.close()  # type: ignore[attr-defined]


def versions(server: ScriptedServer) -> list[str | None]:
    """The version that each watch began with; "list" for a list."""
    return [
        request.query.get("resourceVersion", "none") if "watch" in request.query else "list"
        for request in server.requests
    ]


def test_state_then_changes() -> None:
    """The state comes first, then SYNCED, then changes from the list's version on."""
    script = [Head(), Event("ADDED", pod("b", "11")), Event("MODIFIED", pod("a", "12")), Stall()]
    with ScriptedServer([List("10", [pod("a", "5")])], script) as server, following(server) as events:
        assert list(itertools.islice(events, 4)) == ["ADDED a 5 initial", "SYNCED", "ADDED b 11", "MODIFIED a 12"]
    assert versions(server) == ["list", "10"]


@pytest.mark.parametrize("value", [b"[" * 50_000 + b"]" * 50_000, b"7" * 6000], ids=["deep", "integer"])
def test_undecodable(value: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """An object that Python cannot read is left out with a word, but for its deletion; nothing else is missed."""
    odd = json.dumps(pod("odd", "5")).encode()[:-1] + b',"x":%b}' % value
    body = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[%b]}' % odd
    lines = [b'{"type":"%b","object":%b}\n' % (kind, odd) for kind in (b"MODIFIED", b"DELETED")]
    script = [Head(), Raw(lines[0].replace(b'"5"', b'"11"')), Raw(lines[1].replace(b'"5"', b'"12"')), Stall()]
    listed = Http(200, body, {"Content-Type": "application/json"})
    with ScriptedServer([listed], script) as server, following(server) as events:
        assert list(itertools.islice(events, 2)) == ["SYNCED", "DELETED odd 12"]
    told = [record.getMessage() for record in caplog.records if record.name == "kwsync.cli.follow"]
    assert [message.split(" cannot be decoded")[0] for message in told] == [
        f"pods: {kind} of an object is left out: default/odd" for kind in ("ADDED", "MODIFIED", "DELETED")
    ]


def test_resumes_after_a_clean_end() -> None:
    """When the server closes, the next watch begins where the last event or bookmark was; nothing is listed again."""
    first = [Head(), Event("ADDED", pod("a", "11")), Event("BOOKMARK", bookmark("20")), End()]
    second = [Head(), Event("ADDED", pod("b", "21")), Stall()]
    with ScriptedServer([List("10", [])], first, second) as server, following(server) as events:
        assert list(itertools.islice(events, 3)) == ["SYNCED", "ADDED a 11", "ADDED b 21"]
    assert versions(server) == ["list", "10", "20"]


def test_resumes_after_a_broken_connection(caplog: pytest.LogCaptureFixture) -> None:
    """A connection that breaks is told, waited out, and resumed; that it goes on is told, too."""
    first = [Head(), Event("ADDED", pod("a", "11")), Rst()]
    second = [Head(), Event("ADDED", pod("b", "12")), Stall()]
    with ScriptedServer([List("10", [])], first, second) as server, following(server) as events:
        assert list(itertools.islice(events, 3)) == ["SYNCED", "ADDED a 11", "ADDED b 12"]
    assert versions(server) == ["list", "10", "11"]
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warnings[0].startswith("pods: ")
    assert warnings[0].endswith("; trying again")
    assert warnings[1:] == ["pods: following again"]


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param([Head(), Event("ERROR", status(410, "Expired")), End()], id="in the stream"),
        pytest.param([Http(410, status(410, "Gone"))], id="as an answer"),
    ],
)
def test_lists_again_after_410(gone: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    """A version that is too old brings a new list, which is told as changes; only -v hears of it."""
    caplog.set_level(logging.INFO, "kwsync")
    lists = [List("10", [pod("a", "1"), pod("b", "2")])], [List("90", [pod("b", "80"), pod("c", "81")])]
    with ScriptedServer(lists[0], gone, lists[1], QUIET) as server, following(server) as events:
        found = list(itertools.islice(events, 7))
        server.wait_for_requests(3)
    assert found[:3] == ["ADDED a 1 initial", "ADDED b 2 initial", "SYNCED"]
    assert found[3:] == ["MODIFIED b 80", "ADDED c 81", "DELETED a 1", "SYNCED"]
    assert versions(server)[:3] == ["list", "10", "list"]
    assert [record.levelname for record in caplog.records if "410" in record.getMessage()] == ["INFO"]


def test_lists_again_after_a_lost_line() -> None:
    """A line that could not be read may have been a change, so the state is read anew."""
    torn = [Head(), Raw(b"{nonsense\n"), End()]
    with ScriptedServer([List("10", [])], torn, [List("20", [pod("a", "15")])], QUIET) as server:
        with following(server) as events:
            assert list(itertools.islice(events, 3)) == ["SYNCED", "ADDED a 15", "SYNCED"]
        assert versions(server)[:3] == ["list", "10", "list"]


def test_waits_out_an_overloaded_server(caplog: pytest.LogCaptureFixture) -> None:
    """429 and 5xx are waited out, also before anything was shown."""
    scripts = [Http(429, "slow down")], [Http(503, status(503, "ServiceUnavailable"))], [List("10", [])], QUIET
    with ScriptedServer(*scripts) as server, following(server) as events:
        assert next(events) == "SYNCED"
    assert [record.getMessage().split(";")[0] for record in caplog.records][:2] == [
        "pods: 429: slow down",
        "pods: 503 ServiceUnavailable",
    ]


def test_waits_out_everything_once_it_runs() -> None:
    """After the first state neither a refused credential nor a missing right ends it: both may come back."""
    refused = [Http(401, status(401, "Unauthorized"))], [Http(403, status(403, "Forbidden"))]
    later = [Head(), Event("ADDED", pod("a", "11")), Stall()]
    with ScriptedServer([List("10", [])], *refused, [List("10", [])], later) as server, following(server) as events:
        assert list(itertools.islice(events, 3)) == ["SYNCED", "SYNCED", "ADDED a 11"]
    assert versions(server) == ["list", "10", "list", "list", "10"]


def test_a_credential_that_is_refused_later(caplog: pytest.LogCaptureFixture) -> None:
    """Somebody may have to log in again: that is said once, and once more when it happens anew."""
    refused = [Http(401, status(401, "Unauthorized"))]
    scripts = [List("10", [])], refused, refused, [List("10", [])], refused, [List("10", [])], QUIET
    with ScriptedServer(*scripts) as server, following(server) as events:
        assert list(itertools.islice(events, 3)) == ["SYNCED", "SYNCED", "SYNCED"]
    again = "pods: 401 Unauthorized; trying again"
    advice = " (or log in again, or renew the token or client certificate in the kubeconfig)"
    over = "pods: following again"
    assert caplog.messages == [again + advice, again, over, again + advice, over]


def test_tells_that_trouble_is_over(caplog: pytest.LogCaptureFixture) -> None:
    """Where nothing changes after trouble, somebody who looks is told all the same that it is over."""
    scripts = [List("10", [])], [Http(429, "slow down")], QUIET
    with ScriptedServer(*scripts) as server, Client(Cluster(server.url)) as client:
        token = CancelToken()
        follower = Follower(Subject(client=client, resource=Resource.parse("pods")), token)
        thread = threading.Thread(target=lambda: list(follower.events()))
        thread.start()
        server.wait_for_requests(3)
        limit = monotonic() + 10
        while "following again" not in caplog.text:
            assert monotonic() < limit, caplog.text
            follower.look()
        token.set()
        thread.join(10)
    assert caplog.messages == ["pods: 429: slow down; trying again", "pods: following again"]


@pytest.mark.parametrize("code", [302, 307, 400, 401, 403, 404, 405, 406, 422])
def test_gives_up_at_the_start(code: int) -> None:
    """What waiting will not mend is raised at once."""
    with ScriptedServer([Http(code, status(code))]) as server, following(server) as events:
        with pytest.raises(WatchError) as caught:
            next(events)
        assert caught.value.status_code == code
    assert len(server.requests) == 1


def test_waits_for_a_kind_that_is_gone() -> None:
    """A kind that is served no more, after a good time, may come back: a definition may be made anew."""
    scripts = [List("10", [])], [Http(404, "404 page not found")], [List("20", [pod("a", "15")])], QUIET
    with ScriptedServer(*scripts) as server, following(server) as events:
        assert list(itertools.islice(events, 2)) == ["SYNCED", "ADDED a 15"]


def test_gives_up_when_the_request_is_refused() -> None:
    """What the server calls a bad request stays one, also after a good time."""
    with ScriptedServer([List("10", [])], [Http(405, status(405))]) as server, following(server) as events:
        assert next(events) == "SYNCED"
        with pytest.raises(WatchError, match="405"):
            next(events)


def test_gives_up_without_a_server() -> None:
    """At the start nobody waits for a server that refuses connections; later it is waited for."""
    with ApiServer() as server:
        url = server.url
    with Client(Cluster(url)) as client, pytest.raises(WatchError, match="refused"):
        next(Follower(Subject(client=client, resource=Resource.parse("pods")), CancelToken()).events())


def test_survives_a_restart() -> None:
    """A server that restarts, and has forgotten its history, is followed again without a gap."""
    with ApiServer() as server, following(server) as events:
        server.create(pod_with_spec("a"))
        assert list(itertools.islice(events, 2))[1] == "SYNCED"
        server.restart()
        server.create(pod_with_spec("b"))
        assert next(events).startswith("ADDED b")


def pod_with_spec(name: str) -> dict[str, Any]:
    return pod(name, spec={"containers": [{"name": "main", "image": "x"}]})


def test_cancelled_before_it_began() -> None:
    """With a token that is set already nothing is asked."""
    token = CancelToken()
    token.set()
    with ScriptedServer() as server, Client(Cluster(server.url)) as client:
        assert list(Follower(Subject(client=client, resource=Resource.parse("pods")), token).events()) == []
    assert server.requests == []
