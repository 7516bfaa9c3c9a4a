"""Faults as verbs: each does on the wire what it says, to the requests it is meant for."""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.client
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from kwsync import watch_resource
from kwsync.testing import ApiServer, Fault
from tests.testing.apiserver.wire import LIMIT_SECONDS, MAPS, PODS, Http, Open, Stream, config_map, opening, told

AnyFault: Any = Fault
"""Takes anything, for what no type checker would let through."""

BROKEN = (ConnectionError, http.client.HTTPException, OSError)


def write(server: ApiServer, names: str) -> None:
    """Create config maps with names of one letter."""
    for name in names:
        server.create(config_map(name))


class TestWhen:
    def test_next(self, api_server: ApiServer, http: Http) -> None:
        """The next request, or the next few, and then no more."""
        rule = api_server.fail_next(Fault.answer(503), times=2)
        assert [http.list_maps().status for _ in range(4)] == [503, 503, 200, 200]
        assert (rule.hits, rule.seen) == (2, 2)

    def test_every(self, api_server: ApiServer, http: Http) -> None:
        """Every nth request, until somebody clears that."""
        api_server.fail_every(3, Fault.answer(500))
        assert [http.list_maps().status for _ in range(6)] == [200, 200, 500, 200, 200, 500]
        api_server.clear_faults()
        assert {http.list_maps().status for _ in range(6)} == {200}

    def test_path_and_verb(self, api_server: ApiServer, http: Http) -> None:
        """Only of a path (a pattern, or a function of the request) and of a verb."""
        api_server.fail_every(1, Fault.answer(500), path="/api/v1/*/configmaps", verb="list")
        assert [http.get(path).status for path in (MAPS, PODS, f"{MAPS}/a")] == [500, 200, 404]
        assert http("POST", MAPS, config_map()).status == 201
        api_server.clear_faults()
        api_server.fail_next(Fault.answer(500), path=lambda request: "limit" in request.query)
        assert [http.list_maps().status, http.list_maps(limit=1).status] == [200, 500]

    def test_first_that_strikes(self, api_server: ApiServer, http: Http) -> None:
        """Of several the first that strikes counts; the others have not seen that request."""
        api_server.fail_next(Fault.answer(500))
        api_server.fail_next(Fault.answer(503))
        assert [http.list_maps().status for _ in range(3)] == [500, 503, 200]


class TestNonsense:
    @pytest.mark.parametrize(
        ("make", "error", "words"),
        [
            (lambda: AnyFault.answer(999), ValueError, "from 400 to 599, not 999"),
            (lambda: AnyFault.answer(200), ValueError, "from 400 to 599"),
            (lambda: AnyFault.answer("503"), TypeError, "code must be a whole number"),
            (lambda: AnyFault.answer(True), TypeError, "code must be a whole number"),
            (lambda: AnyFault.answer(503, 5), TypeError, "message must be a str"),
            (lambda: AnyFault.answer(503, reason=5), TypeError, "reason must be a str"),
            (lambda: AnyFault.answer(503, retry_after=-1), ValueError, "retry_after must be at least 0"),
            (lambda: AnyFault.answer(503, retry_after=0.5), TypeError, "retry_after must be a whole number"),
            (lambda: AnyFault.error_event(0), ValueError, "at least 100"),
            (lambda: AnyFault.error_event(410, after=-1), ValueError, "after must be at least 0"),
            (lambda: AnyFault.drop("1"), TypeError, "after must be a whole number"),
            (lambda: AnyFault.cut_line(None), TypeError, "after must be a whole number"),
            (lambda: AnyFault.end(None), TypeError, "after must be a whole number"),
            (lambda: AnyFault.stall(1, None), TypeError, "after must be a whole number"),
            (lambda: AnyFault.stall(-1), ValueError, "seconds must not be negative"),
            (lambda: AnyFault.stall(float("inf")), ValueError, "must end"),
            (lambda: AnyFault.late_headers("1"), TypeError, "seconds must be a number"),
            (lambda: AnyFault.duplicate(-1), ValueError, "after must be at least 0"),
            (lambda: AnyFault.duplicate(None), TypeError, "after must be a whole number"),
            (lambda: AnyFault.lose_deletion(0), ValueError, "count must be at least 1"),
            (lambda: AnyFault("nosuch"), ValueError, "no fault 'nosuch'"),
        ],
    )
    def test_faults(self, make: Callable[[], object], error: type[Exception], words: str) -> None:
        """What cannot happen on any wire is refused when it is made, with a sentence."""
        with pytest.raises(error, match=words):
            make()

    @pytest.mark.parametrize(
        ("options", "error", "words"),
        [
            ({"fault": 5}, TypeError, "such as Fault.reset\\(\\), not 5"),
            ({"fault": Fault.reset}, TypeError, "such as Fault.reset"),
            ({"verb": "wacth"}, ValueError, "no verb 'wacth'; there are get, list, watch"),
            ({"verb": "GET"}, ValueError, "no verb 'GET'"),
            ({"verb": 5}, TypeError, "verb must be a str"),
            ({"path": 5}, TypeError, "path must be a pattern or a function"),
            ({"times": 0}, ValueError, "times must be at least 1"),
            ({"times": -1}, ValueError, "times must be at least 1"),
            ({"times": 1.5}, TypeError, "times must be a whole number"),
            ({"every": 0}, ValueError, "every must be at least 1"),
            ({"every": "2"}, TypeError, "every must be a whole number"),
            ({"fault": Fault.end(), "verb": "list"}, ValueError, "happens to a watch, and never to a list"),
            ({"fault": Fault.reset(1), "verb": "get"}, ValueError, "happens to a watch, and never to a get"),
        ],
        ids=str,
    )
    def test_rules(
        self, api_server: ApiServer, http: Http, options: dict[str, Any], error: type[Exception], words: str
    ) -> None:
        """So is what no request could ever meet; and nothing is spoilt by it."""
        more = dict(options)
        fault, every = more.pop("fault", Fault.answer(500)), more.pop("every", None)
        add = api_server.fail_next if every is None else functools.partial(api_server.fail_every, every)
        with pytest.raises(error, match=words):
            add(fault, **more)
        assert http.list_maps().status == 200

    @pytest.mark.parametrize(
        ("version", "error"),
        [(-5, ValueError), ("-5", ValueError), ("x", ValueError), (True, TypeError), (1.5, TypeError)],
    )
    def test_versions(self, api_server: ApiServer, version: Any, error: type[Exception]) -> None:
        """A version that nobody could have been given is refused, and changes nothing."""
        before = api_server.resource_version
        for change in (api_server.compact, api_server.go_back):
            with pytest.raises(error, match="resource version"):
                change(version)
        assert api_server.resource_version == before

    def test_versions_that_have_not_come(self, api_server: ApiServer) -> None:
        """Nor can the server forget, or become, what is not yet."""
        for change in (api_server.compact, api_server.go_back):
            with pytest.raises(ValueError, match=r"version 1000000000 .*has not come yet"):
                change(10**9)
        api_server.compact(api_server.resource_version, cached=True)


class TestPrecedence:
    """What the guide says about faults, rights and what is done."""

    @pytest.mark.parametrize("fault", [Fault.answer(503), Fault.drop(), Fault.reset()], ids=str)
    def test_not_done(self, api_server: ApiServer, http: Http, fault: Fault) -> None:
        """Without an answer, or with another one, what was asked for does not happen."""
        api_server.fail_next(fault)
        with contextlib.suppress(*BROKEN):
            http("POST", MAPS, config_map())
        assert api_server.list("configmaps") == []

    @pytest.mark.parametrize(
        "fault",
        [
            Fault.drop(0),
            Fault.reset(0),
            Fault.stall(0),
            Fault.late_headers(0),
            Fault.cut_line(),
            Fault.cut_chunk(),
            Fault.gzip(),
        ],
        ids=str,
    )
    def test_done(self, api_server: ApiServer, http: Http, fault: Fault) -> None:
        """With every other fault it does, whatever its client learns of it."""
        api_server.fail_next(fault)
        with contextlib.suppress(*BROKEN, ValueError):
            http("POST", MAPS, config_map())
        assert len(api_server.list("configmaps")) == 1

    def test_before_rights(self, api_server: ApiServer, http: Http) -> None:
        """A fault goes before rights, and before what is not there."""
        api_server.deny()
        for path in (MAPS, "/nosuch", "/apis/nosuch/v1/nosuch", "/version"):
            api_server.fail_next(Fault.answer(503))
            assert http.get(path).status == 503
            assert http.get(path).status in (200, 403, 404)

    @pytest.mark.parametrize("fault", [Fault.gzip(), Fault.cut_chunk(), Fault.drop(0), Fault.cut_line()], ids=str)
    def test_head(self, api_server: ApiServer, http: Http, fault: Fault) -> None:
        """HEAD has no body with any fault."""
        api_server.fail_next(fault)
        http.connection.request("HEAD", "/readyz")
        assert http.connection.getresponse().status == 200
        http.close()
        assert http.list_maps().status == 200

    def test_gzip_once(self, api_server: ApiServer, http: Http) -> None:
        """What is compressed because it is asked for is not compressed again."""
        api_server.create(config_map("a", k="v" * 200_000))
        api_server.fail_next(Fault.gzip())
        http.connection.request("GET", f"{MAPS}/a", headers={"Accept-Encoding": "gzip"})
        response = http.connection.getresponse()
        assert response.headers.get_all("Content-Encoding") == ["gzip"]
        assert json.loads(gzip.decompress(response.read()))["metadata"]["name"] == "a"


class TestOfWatches:
    @pytest.mark.parametrize(
        "fault",
        [
            Fault.end(),
            Fault.error_event(410),
            Fault.lose_deletion(),
            Fault.duplicate(),
            Fault.drop(1),
            Fault.reset(1),
            Fault.stall(0, after=1),
            Fault.cut_line(1),
            Fault.cut_chunk(1),
        ],
        ids=str,
    )
    def test_waits_for_a_watch(self, api_server: ApiServer, http: Http, watch: Open, fault: Fault) -> None:
        """What can happen to a watch alone is not used up by other requests, nor does it count them."""
        rule = api_server.fail_next(fault)
        write(api_server, "ab")
        assert [http.list_maps().status, http.get(f"{MAPS}/a").status, http.get("/version").status] == [200] * 3
        assert http("POST", MAPS, config_map("c")).status == 201
        assert (rule.seen, rule.hits) == (0, 0)
        watch()
        assert (rule.seen, rule.hits) == (1, 1)

    @pytest.mark.parametrize(
        "fault",
        [Fault.drop(), Fault.reset(0), Fault.stall(0), Fault.cut_line(), Fault.gzip(), Fault.answer(500)],
        ids=str,
    )
    def test_others_do_not(self, api_server: ApiServer, http: Http, fault: Fault) -> None:
        """The others happen to whatever comes next."""
        rule = api_server.fail_next(fault)
        with contextlib.suppress(*BROKEN, ValueError):
            http.list_maps()
        assert rule.hits == 1


class TestAnswers:
    @pytest.mark.parametrize(
        ("code", "reason"),
        [
            (401, "Unauthorized"),
            (403, "Forbidden"),
            (410, "Expired"),
            (429, "TooManyRequests"),
            (500, "InternalError"),
            (503, "ServiceUnavailable"),
            (520, ""),
        ],
    )
    def test_status(self, api_server: ApiServer, http: Http, code: int, reason: str) -> None:
        """Any code comes as a Status with its reason, in place of what was asked for."""
        api_server.fail_next(Fault.answer(code, "no"))
        answer = http("POST", MAPS, config_map())
        assert (answer.status, answer.reason, answer.body["message"]) == (code, reason, "no")
        assert api_server.list("configmaps") == []

    def test_retry_after(self, api_server: ApiServer, http: Http) -> None:
        """Retry-After is a header, and stands in the Status; or the whole is a text, as that of a full server."""
        api_server.fail_next(Fault.answer(429, retry_after=7))
        answer = http.list_maps()
        assert (answer.headers["Retry-After"], answer.body["details"]) == ("7", {"retryAfterSeconds": 7})
        api_server.fail_next(Fault.answer(429, "wait", retry_after=1, text=True))
        answer = http.list_maps()
        assert (answer.body, answer.headers["Retry-After"]) == (b"wait\n", "1")

    def test_gzip(self, api_server: ApiServer, http: Http) -> None:
        """A compressed answer, whoever asked for one."""
        write(api_server, "a")
        api_server.fail_next(Fault.gzip())
        http.connection.request("GET", MAPS)
        response = http.connection.getresponse()
        assert response.headers["Content-Encoding"] == "gzip"
        assert len(json.loads(gzip.decompress(response.read()))["items"]) == 1

    @pytest.mark.parametrize(
        "fault", [Fault.drop(), Fault.reset(), Fault.drop(0), Fault.reset(0), Fault.cut_chunk()], ids=str
    )
    def test_broken(self, api_server: ApiServer, http: Http, fault: Fault) -> None:
        """A connection that breaks is an error for the client, never a short answer; the next request works."""
        write(api_server, "abc")
        api_server.fail_next(fault)
        with pytest.raises(BROKEN):
            http.list_maps()
        http.close()
        assert http.list_maps().names == ["a", "b", "c"]

    def test_write_that_is_done(self, api_server: ApiServer, http: Http) -> None:
        """A drop in the middle of the answer comes after the write; one without an answer before it."""
        api_server.fail_next(Fault.drop(0))
        with pytest.raises(BROKEN):
            http("POST", MAPS, config_map("done"))
        http.close()
        api_server.fail_next(Fault.drop())
        with pytest.raises(BROKEN):
            http("POST", MAPS, config_map("not"))
        assert [one["metadata"]["name"] for one in api_server.list("configmaps")] == ["done"]

    def test_cut_line(self, api_server: ApiServer, http: Http) -> None:
        """Half of the JSON in a body that is complete."""
        api_server.fail_next(Fault.cut_line())
        with pytest.raises(json.JSONDecodeError):
            http.list_maps()

    def test_late(self, api_server: ApiServer, http: Http) -> None:
        """Late headers come, and so does what is behind a stall."""
        for fault in (Fault.late_headers(0.2), Fault.stall(0.2)):
            api_server.fail_next(fault)
            began = time.monotonic()
            assert http.list_maps().status == 200
            assert 0.2 <= time.monotonic() - began < 2

    def test_silence(self, api_server: ApiServer) -> None:
        """Headers that never come end with the server."""
        api_server.fail_next(Fault.late_headers())
        client = Http(api_server)
        client.connection.timeout = 0.2
        with pytest.raises(TimeoutError):
            client.list_maps()
        client.close()
        api_server.wait_until_idle()


class TestStreams:
    @pytest.mark.parametrize("make", [Fault.drop, Fault.reset])
    def test_broken(self, api_server: ApiServer, watch: Open, make: Callable[[int], Fault]) -> None:
        """After so many events, initial ones included, the connection is gone."""
        write(api_server, "ab")
        api_server.fail_next(make(3))
        stream = watch()
        write(api_server, "c")
        assert told(stream.events(3)) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
        with pytest.raises((AssertionError, ConnectionError)):
            stream.chunk()

    def test_nothing_at_all(self, api_server: ApiServer) -> None:
        """Without a number the watch does not even begin."""
        api_server.fail_next(Fault.drop())
        with pytest.raises((IndexError, ConnectionError)):
            Stream(api_server)

    def test_end(self, api_server: ApiServer, watch: Open) -> None:
        """A clean end, at once or after some events; and the connection can be used again."""
        write(api_server, "ab")
        api_server.fail_next(Fault.end(1))
        assert told(watch().events()) == [("ADDED", "a")]
        api_server.fail_next(Fault.end())
        assert watch().events() == []

    def test_error(self, api_server: ApiServer, watch: Open) -> None:
        """An ERROR event with any Status, and the end."""
        api_server.fail_next(Fault.error_event(410, "too old"))
        (event,) = watch().events()
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")

    def test_cut_line(self, api_server: ApiServer, watch: Open) -> None:
        """Half a line, and a clean end."""
        api_server.fail_next(Fault.cut_line(1))
        stream = watch()
        write(api_server, "ab")
        whole, half = stream.chunks()
        assert whole.endswith(b"}\n")
        assert half.startswith(b'{"type":"ADDED"')
        assert not half.endswith(b"\n")

    def test_cut_chunk(self, api_server: ApiServer, watch: Open) -> None:
        """A chunk that is shorter than it says, because the connection ends."""
        api_server.fail_next(Fault.cut_chunk())
        stream = watch()
        write(api_server, "a")
        with pytest.raises(AssertionError, match="broke off"):
            stream.chunk()

    def test_stall(self, api_server: ApiServer, watch: Open) -> None:
        """Silence between two events; nothing is lost by it."""
        api_server.fail_next(Fault.stall(0.2, after=1))
        stream = watch()
        write(api_server, "ab")
        stream.event()
        began = time.monotonic()
        assert told(stream.events(1)) == [("ADDED", "b")]
        assert time.monotonic() - began > 0.1

    def test_late_headers(self, api_server: ApiServer) -> None:
        """The head comes late."""
        api_server.fail_next(Fault.late_headers(0.2))
        began = time.monotonic()
        with opening(api_server) as watch:
            assert watch().status == 200
        assert time.monotonic() - began >= 0.2

    def test_gzip(self, api_server: ApiServer, watch: Open) -> None:
        """Each event is a gzip member of its own."""
        api_server.fail_next(Fault.gzip())
        stream = watch()
        write(api_server, "ab")
        assert stream.headers["Content-Encoding"] == "gzip"
        events = [json.loads(gzip.decompress(stream.chunk())) for _ in "ab"]
        assert told(events) == [("ADDED", "a"), ("ADDED", "b")]

    def test_lost_deletion(self, api_server: ApiServer, watch: Open) -> None:
        """A deletion is not told; the next one is."""
        write(api_server, "ab")
        api_server.fail_next(Fault.lose_deletion())
        stream = watch()
        for name in "ab":
            api_server.delete("configmaps", name)
        assert told(stream.events(3)) == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "b")]

    @pytest.mark.parametrize("after", range(4))
    def test_duplicate(self, api_server: ApiServer, watch: Open, after: int) -> None:
        """One event comes twice, the same in every byte, and the watch goes on, be it initial or live."""
        write(api_server, "ab")
        api_server.fail_next(Fault.duplicate(after))
        stream = watch()
        events = stream.events(2)
        write(api_server, "cd")
        events += stream.events(3)
        twice = events.pop(after)
        assert twice == events[after]
        assert told(events) == [("ADDED", name) for name in "abcd"]

    def test_unseen(self, api_server: ApiServer, watch: Open) -> None:
        """The same for watches that are open already: lists know it, and so does the history."""
        write(api_server, "ab")
        stream = watch()
        stream.events(2)
        start = api_server.resource_version
        with api_server.unseen():
            api_server.delete("configmaps", "a")
        api_server.delete("configmaps", "b")
        assert told(stream.events(1)) == [("DELETED", "b")]
        assert told(watch(resourceVersion=start).events(2)) == [("DELETED", "a"), ("DELETED", "b")]


class TestHistory:
    def test_restart(self, api_server: ApiServer, http: Http, watch: Open) -> None:
        """D2: a restart cuts connections and forgets the history; objects and the port stay."""
        write(api_server, "a")
        stream, port, last = watch(), api_server.port, api_server.resource_version
        stream.events(1)
        api_server.restart()
        with pytest.raises((AssertionError, ConnectionError)):
            stream.chunk()
        assert api_server.port == port
        http.close()
        assert http.list_maps().names == ["a"]
        assert watch(resourceVersion=last).event()["object"]["code"] == 410

    def test_back_in_time(self, api_server: ApiServer, http: Http, watch: Open) -> None:
        """After a restore the state is an older one, and a watch from the future waits for its version."""
        write(api_server, "a")
        then = api_server.resource_version
        write(api_server, "bc")
        last = api_server.resource_version
        api_server.go_back(then)
        assert (http.list_maps().names, api_server.resource_version) == (["a"], then)
        stream = watch(resourceVersion=last)
        write(api_server, "xyz")
        assert told(stream.events(1)) == [("ADDED", "z")]

    def test_too_far_back(self, api_server: ApiServer) -> None:
        """ValueError for a version that the history does not reach."""
        write(api_server, "a")
        api_server.compact(cached=True)
        with pytest.raises(ValueError, match="1"):
            api_server.go_back(1)


class TestWithKwsync:
    @pytest.mark.parametrize(
        ("fault", "reason"),
        [
            (Fault.drop(1), "ERROR"),
            (Fault.reset(1), "ERROR"),
            (Fault.end(1), "SERVER_CLOSED"),
            (Fault.cut_chunk(1), "ERROR"),
            (Fault.error_event(410, after=1), "SERVER_CLOSED"),
        ],
        ids=str,
    )
    def test_end(self, api_server: ApiServer, fault: Fault, reason: str) -> None:
        """kwsync tells each of these ends for what it is."""
        write(api_server, "ab")
        api_server.fail_next(fault, verb="watch")
        with api_server.client() as client:
            stream = watch_resource("configmaps", client=client, timeout_seconds=int(LIMIT_SECONDS))
            events = list(stream)
        assert events[0].key.name == "a"
        assert stream.end is not None
        assert str(stream.end.reason) == reason
