"""Faults as verbs: each does on the wire what it says, to the requests it is meant for."""

from __future__ import annotations

import gzip
import http.client
import json
import time
from collections.abc import Callable

import pytest

from kwsync import watch_resource
from kwsync.testing import ApiServer, Fault
from tests.testing.apiserver.wire import LIMIT_SECONDS, MAPS, PODS, Http, Open, Stream, config_map, opening, told

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

    def test_never(self, api_server: ApiServer) -> None:
        """ValueError for what could never happen."""
        with pytest.raises(ValueError, match="every"):
            api_server.fail_every(0, Fault.reset())


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
        api_server.forget_history()
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
