"""Going on after whatever ended a watch: from which version, when, and what is told of it."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from kwsync import Backoff, Client, Cluster, EventType, _following, _watch, list_and_watch
from kwsync.testing import (
    ApiServer,
    Blackhole,
    Call,
    End,
    Event,
    Fault,
    Fin,
    Head,
    Head1,
    Http,
    List,
    NoHead,
    Raw,
    Rst,
    ScriptedServer,
    Stall,
    Step,
    bookmark,
    pod,
    status,
)
from tests.following.support import (
    FAST,
    LIMIT,
    PODS,
    SILENCE,
    asked,
    change,
    cut,
    ended_in_time,
    error_of,
    following,
    following_api,
    listed,
    live,
    shown,
    take,
    take_until,
    until_named,
    until_synced,
)
from tests.following.test_full_states import config_map

GOES_ON = live(change("ADDED", "z", "99"))


def after(*script: Step, **options: Any) -> tuple[list[str], list[str]]:
    """What comes of a watch from version 10 with this answer: what is told until an object z, and what is asked."""
    with following(listed("10"), list(script), default=GOES_ON, **options) as (server, stream):
        until_synced(stream)
        events = until_named(stream, "z")
        return shown(events)[:-1], asked(server)[2:]


class TestSameVersion:
    @pytest.mark.parametrize("ending", [Rst(), Fin(), End()], ids=["reset", "cut", "end"])
    def test_b010_after_an_event(self, ending: Step) -> None:
        """B010, B047, C1, C17: however it ends, it goes on from the last event: nothing lost, nothing twice."""
        told, requests = after(Head(), change("ADDED", "a", "11"), ending)
        assert told == ["ADDED a"] if isinstance(ending, End) else ["ADDED a", "ERROR NETWORK"]
        assert requests == ["WATCH 11"]

    def test_half_a_line(self) -> None:
        """C2: half a line before the end is no event, and is sent again after the resume."""
        half = json.dumps({"type": "ADDED", "object": pod("b", "12")}).encode()[:40]
        for ending in ([Fin()], [End()]):
            told, requests = after(Head(), change("ADDED", "a", "11"), Raw(half), *ending)
            assert [text for text in told if "NETWORK" not in text] == ["ADDED a"]
            assert requests == ["WATCH 11"]

    def test_c3_the_list_has_the_version(self) -> None:
        """C3: what counts after a list is its own version, not that of an item, whatever their order."""
        with following(List("100", [pod("a", "90"), pod("b", "5")]), SILENCE) as (server, stream):
            until_synced(stream)
            assert stream.resource_version == "100"
            with ended_in_time(stream, 0.2):
                next(stream, None)
            assert asked(server) == ["LIST", "WATCH 100"]

    @pytest.mark.parametrize("version", ["9", "10", "abc", "2026-01-01T00", "0010"])
    def test_c8_versions_are_opaque(self, version: str) -> None:
        """C8: a version is sent back letter by letter, whatever it looks like."""
        with following(listed(version), cut(change("ADDED", "a", f"{version}x")), default=GOES_ON) as (server, stream):
            until_named(stream, "z")
            assert asked(server) == ["LIST", f"WATCH {version}", f"WATCH {version}x"]

    def test_b008_every_event_counts(self) -> None:
        """B008: ADDED, MODIFIED, DELETED and BOOKMARK all move the version, and the stream tells it after each."""
        steps = [change("ADDED", "a", "11"), change("MODIFIED", "a", "12"), Event("BOOKMARK", bookmark("15"))]
        with following(listed("10"), live(*steps, change("DELETED", "a", "16"))) as (_, stream):
            seen = [stream.resource_version]
            for _ in range(5):
                take(stream, 1)
                seen.append(stream.resource_version)
        assert seen == [None, "10", "11", "12", "15", "16"]

    def test_b048_bookmarks_are_used(self) -> None:
        """B048: a bookmark is told, and is where the next watch begins (C2's history of a quiet kind)."""
        told, requests = after(Head(), Event("BOOKMARK", bookmark("50")), Fin())
        assert told == ["BOOKMARK", "ERROR NETWORK"]
        assert requests == ["WATCH 50"]

    @pytest.mark.parametrize("odd", [{}, {"metadata": None}, {"metadata": {"resourceVersion": ""}}])
    def test_a15_odd_bookmarks(self, odd: dict[str, Any]) -> None:
        """A14, A15: a bookmark without a version moves nothing and ends nothing."""
        told, requests = after(Head(), change("ADDED", "a", "11"), Event("BOOKMARK", odd), Fin())
        assert told == ["ADDED a", "BOOKMARK", "ERROR NETWORK"]
        assert requests == ["WATCH 11"]

    def test_c4_a_custom_resource(self) -> None:
        """C4: a custom resource keeps its version like any other."""
        with following(cut(), default=GOES_ON, resource="crontabs.v1.example.com", resource_version="50",
                       backoff=Backoff(initial=0.01)) as (server, stream):  # fmt: skip
            take(stream, 1)
            assert asked(server)[0] == "WATCH 50"

    def test_b012_refused(self) -> None:
        """B012, B18: a server that is away and comes back: errors meanwhile, then on from the same version."""
        with following(listed("10"), cut(change("ADDED", "a", "11")), default=GOES_ON) as (server, stream):
            assert shown(take(stream, 2)) == ["SYNCED", "ADDED a"]
            server.stop_listening()
            server.drop_connections()
            assert set(shown(take(stream, 3))) == {"ERROR NETWORK"}
            server.listen_again()
            until_named(stream, "z")
            assert asked(server) == ["LIST", "WATCH 10", "WATCH 11"]

    def test_b010_many_restarts_leak_nothing(self) -> None:
        """E7: after 50 resets there is one connection, no object twice, and one end."""
        broken = [[Head(), change("ADDED", f"p{i}", str(11 + i)), Rst()] for i in range(50)]
        with following(listed("10"), *broken, default=GOES_ON) as (server, stream):
            until_synced(stream)
            told = [event.key.name for event in until_named(stream, "z") if event.type is EventType.ADDED]
            assert told == [*(f"p{i}" for i in range(50)), "z"]
            server._wait_until(lambda: server.open_connections == 1, LIMIT, "one connection")


def http_date(seconds: float) -> str:
    return email.utils.formatdate(time.time() + seconds, usegmt=True)


RETRY_AFTER: dict[str, Callable[[], list[Step]]] = {
    "seconds": lambda: [Http(429, "slow down", {"Retry-After": "1"})],
    "an HTTP date": lambda: [Http(429, "slow down", {"Retry-After": http_date(2.0)})],
    "in the Status": lambda: [Http(429, status(429, "TooManyRequests", details={"retryAfterSeconds": 1}))],
    "in the stream": lambda: [
        Head(),
        Event("ERROR", status(429, "TooManyRequests", details={"retryAfterSeconds": 1})),
        End(),
    ],
}


class TestTooManyRequests:
    @pytest.mark.parametrize("dress", RETRY_AFTER)
    def test_b012_b013_retry_after(self, dress: str) -> None:
        """B012, B013, B050, C19, C28, C29: the same version again, no list, and not before the server said."""
        with following(listed("10"), RETRY_AFTER[dress](), default=GOES_ON) as (server, stream):
            events = until_named(stream, "z")
            assert shown(events) == ["SYNCED", "ERROR 429", "ADDED z"]
            assert asked(server) == ["LIST", "WATCH 10", "WATCH 10"]
            waited = server.requests[2].time - server.requests[1].time
            assert 0.95 <= waited < 4.0, waited

    @pytest.mark.parametrize("value", ["soon", "-1", ""])
    def test_retry_after_that_says_nothing(self, value: str) -> None:
        """What cannot be read is not waited for, beyond the usual."""
        told, requests = after(Http(429, "no", {"Retry-After": value}))
        assert (told, requests) == (["ERROR 429"], ["WATCH 10"])

    def test_c19_again_and_again(self) -> None:
        """C14, C19, Z3: 429 without end: the same version each time, and the waits grow."""
        with following(listed("10"), default=Http(429), backoff=Backoff(initial=0.02, cap=0.3, jitter=0)) as (
            server,
            stream,
        ):
            assert shown(take(stream, 6)) == ["SYNCED", *["ERROR 429"] * 5]
            assert asked(server)[:6] == ["LIST", *["WATCH 10"] * 5]
            gaps = [later.time - sooner.time for sooner, later in pairwise(server.requests[1:6])]
            assert all(gap >= wanted for gap, wanted in zip(gaps, (0.02, 0.04, 0.08, 0.16), strict=True)), gaps

    def test_of_a_list(self) -> None:
        """A list waits for Retry-After as well."""
        with following(Http(503, "no", {"Retry-After": "1"}), listed("10")) as (server, stream):
            assert shown(until_synced(stream)) == ["ERROR 503", "SYNCED"]
            assert server.requests[1].time - server.requests[0].time >= 0.95


class TestExpired:
    @pytest.mark.parametrize(
        "script",
        [
            [Http(410, status(410, "Expired"))],
            [Http(410, status(410, "Gone"))],
            [Http(410, "gone")],
            [Head(), Event("ERROR", status(410, "Expired")), End()],
            [Head(), Event("ERROR", status(410, "Gone")), Stall()],
            [Head(), Event("ERROR", {"kind": "Status", "reason": "Expired"}), End()],
            [Head1(), Event("ERROR", status(410)), Stall()],
            [Head(), Raw(json.dumps(status(410, "Expired")).encode()), End()],
            [Http(200, json.dumps(status(410, "Expired"), indent=2))],
        ],
        ids=lambda script: type(script[-1]).__name__,
    )
    def test_b014_b015_in_any_dress(self, script: list[Step]) -> None:
        """B014, B015, C7, C9, C11, Z12, Z19 to Z21: one ERROR, a list, and the version is never sent again."""
        with following(listed("10"), script, listed("20"), default=GOES_ON) as (server, stream):
            events = until_named(stream, "z")
            assert shown(events) == ["SYNCED", "ERROR 410", "SYNCED", "ADDED z"]
            assert error_of(events[1]).is_expired
            assert asked(server) == ["LIST", "WATCH 10", "LIST", "WATCH 20"]
            assert "resourceVersion" not in server.requests[2].query

    def test_a10_the_version_of_a_status(self) -> None:
        """A10, A11: an ERROR is no state of an object; its version is not gone on from."""
        error = {**status(429), "metadata": {"resourceVersion": "999"}}
        _, requests = after(Head(), Event("ERROR", error), End())
        assert requests == ["WATCH 10"]

    def test_in_memory(self) -> None:
        """D2, D18: after a restart of a real server every version is too old; nothing is lost."""
        with following_api() as (server, stream):
            server.create(config_map("a"))
            until_synced(stream)
            for name in "bcd":
                server.restart()
                server.create(config_map(name))
                assert shown(until_named(stream, name))[-1] == f"ADDED {name}"


class TestRelisted:
    @pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 500, 502, 503, 504])
    @pytest.mark.parametrize("dress", ["http", "stream"])
    def test_b014_b016_b017_other_errors(self, code: int, dress: str) -> None:
        """B014, B016, B017, C20, C25: reported once, then a list; and on it goes."""
        script = [Http(code, status(code))] if dress == "http" else [Head(), Event("ERROR", status(code)), End()]
        with following(listed("10"), script, listed("20"), default=GOES_ON) as (server, stream):
            assert shown(until_named(stream, "z")) == ["SYNCED", f"ERROR {code}", "SYNCED", "ADDED z"]
            assert asked(server) == ["LIST", "WATCH 10", "LIST", "WATCH 20"]

    def test_c20_one_after_another(self) -> None:
        """C15, C20: 503, 502, 504, and then it works."""
        scripts = [Http(503), Http(502), Http(504)]
        with following(listed("10"), *scripts, listed("20"), default=GOES_ON) as (_, stream):
            told = shown(until_named(stream, "z"))
            assert told == ["SYNCED", "ERROR 503", "ERROR 502", "ERROR 504", "SYNCED", "ADDED z"]

    def test_b011_ends_at_once(self) -> None:
        """B011, Z16: a watch that ends at once and tells nothing is an ERROR, and a list."""
        with following(listed("10"), cut(), listed("20"), default=GOES_ON) as (server, stream):
            events = until_named(stream, "z")
            assert shown(events) == ["SYNCED", "ERROR NETWORK", "SYNCED", "ADDED z"]
            assert "at once" in error_of(events[1]).message
            assert asked(server) == ["LIST", "WATCH 10", "LIST", "WATCH 20"]

    @pytest.mark.parametrize(
        "line",
        [b"garbage\n", b"42\n", b"null\n", b"[]\n", b"{}\n", b'{"type":"ADDED"}\n', b'{"type":"NEW","object":{}}\n',
         b'{"type":"ADDED","object":{"metadata":{"name":"\xff\xfe"}}}\n', b'{"type":"MODIFIED","object":{"metadata":\n',
         b'{"type":"ADDED","object":{}}\n', b'{"type":"ADDED","object":{"metadata":"x"}}\n', b"{\n"],
        ids=repr,
    )  # fmt: skip
    def test_b018_b020_malformed(self, line: bytes) -> None:
        """A2, A5, A13, B018, B020, B052, B108: what is no event, or tells of no object, may have been a change.

        So it is one ERROR of origin DECODE and a list, and nothing that comes behind it is taken for the whole truth.
        """
        script = [Head(), change("ADDED", "a", "11"), Raw(line), change("ADDED", "b", "13"), Stall()]
        with following(listed("10"), script, listed("20", "a", "b", "c"), default=GOES_ON) as (server, stream):
            told = shown(until_named(stream, "z"))
            assert told[:3] == ["SYNCED", "ADDED a", "ERROR DECODE"]
            assert told[3:] == ["MODIFIED a", "ADDED b", "ADDED c", "SYNCED", "ADDED z"]
            assert stream.skipped_lines == 1
            assert asked(server) == ["LIST", "WATCH 10", "LIST", "WATCH 20"]

    def test_a3_blank_lines(self) -> None:
        """A3, Z8: blank lines are nothing."""
        told, requests = after(Head(), Raw(b"\n\r\n  \n"), change("ADDED", "a", "11"), Raw(b"\n"), End())
        assert (told, requests) == (["ADDED a"], ["WATCH 11"])

    def test_too_long_a_line(self) -> None:
        """B109: a line beyond the limit is one ERROR, and what it told is found by the list."""
        script = [Head(), change("ADDED", "a", "11", spec={"x": "y" * 2000}), Stall()]
        with following(listed("10"), script, listed("20", "a"), default=GOES_ON, max_line_bytes=1000) as (_, stream):
            assert shown(until_named(stream, "z")) == ["SYNCED", "ERROR DECODE", "ADDED a", "SYNCED", "ADDED z"]

    def test_a13_undecodable_for_ever(self) -> None:
        """A13: an object that cannot be read is not met again: the watch begins behind it."""
        odd = Raw(b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"15"}}}\n')
        with following(listed("10"), [Head(), odd, Stall()], listed("20"), default=GOES_ON) as (server, stream):
            until_named(stream, "z")
            assert asked(server) == ["LIST", "WATCH 10", "LIST", "WATCH 20"]

    def test_c25_too_large(self) -> None:
        """C25: a version that the server does not have yet, of a list: again, after the seconds it hints at."""
        causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
        body = status(504, "Timeout", details={"causes": causes, "retryAfterSeconds": 1})
        with following(Http(504, body), listed("10")) as (server, stream):
            assert shown(until_synced(stream)) == ["ERROR 504", "SYNCED"]
            assert [dict(request.query) for request in server.requests[:2]] == [{"limit": "500"}] * 2
            assert server.requests[1].time - server.requests[0].time >= 0.95


def _line(**more: Any) -> Raw:
    """An event about a pod "odd", with what is odd about it."""
    metadata = {"name": "odd", "namespace": "default", "uid": "u", "resourceVersion": "17"} | more.pop("metadata", {})
    return Raw(json.dumps({"type": "ADDED", "object": {"kind": "Pod", "metadata": metadata, **more}}).encode() + b"\n")


def _told_of(first: Step, script: list[Step]) -> list[str]:
    """What is told of a first list and a first watch, up to an object z, which each later watch tells of."""
    with following(script, default=GOES_ON) as (server, stream):
        server.on(lambda request: not request.is_watch, first, times=1)
        server.on(lambda request: not request.is_watch, listed("20", "b"))
        return shown(until_named(stream, "z"))


class TestOddEvents:
    def test_over_several_lines(self) -> None:
        """An event that is written over several lines is one."""
        event = json.dumps({"type": "ADDED", "object": pod("a", "11")}, indent=2).encode() + b"\n"
        with following(listed("10"), live(Raw(event), change("ADDED", "z", "12"))) as (server, stream):
            until_synced(stream)
            assert shown(until_named(stream, "z")) == ["ADDED a", "ADDED z"]
            assert asked(server) == ["LIST", "WATCH 10"]

    @pytest.mark.parametrize("version", ["\ud800", "1\n2", "\x00"])
    @pytest.mark.parametrize("place", ["event", "list"])
    def test_version_that_cannot_be_sent(self, version: str, place: str) -> None:
        """A version that no request could carry counts as none; whatever follows, the stream goes on."""
        first = listed(version, "a") if place == "list" else listed("10")
        script = [Head(), _line(metadata={"resourceVersion": version}), Stall(0.1), End()]
        assert _told_of(first, script)[-1] == "ADDED z"

    @pytest.mark.parametrize("levels", [900, 990, 1000, 1010, 1500, 100_000])
    @pytest.mark.parametrize("place", ["event", "list"])
    def test_nested_deeply(self, levels: int, place: str) -> None:
        """An object that is nested deeply is told, or an ERROR says that it was not: never nothing."""
        body = b'{"kind":"Pod","metadata":{"name":"odd","uid":"u","resourceVersion":"17"},"x":' + b"[" * levels
        body += b"]" * levels + b"}"
        line = Raw(b'{"type":"ADDED","object":' + body + b"}\n")
        page = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[' + body + b"]}"
        first: Step = Http(200, page) if place == "list" else listed("10")
        told = _told_of(first, [Head(), line, End()] if place == "event" else GOES_ON)
        assert "ADDED odd" in told or "ERROR DECODE" in told, told

    def test_a_piece_at_the_end(self) -> None:
        """What is left of a line when a stream ends is no event, and nothing is lost: it comes again."""
        told, requests = after(Head(), Raw(b'{"type":"ADDED","obj'), Stall(1.1), End())
        assert (told, requests) == ([], ["WATCH 10"])


class TestSilence:
    @pytest.mark.parametrize(
        "script", [[Head(), Blackhole()], [Head(), change("ADDED", "a", "11"), Stall()], [NoHead()]]
    )
    def test_b047_a_dead_peer(self, script: list[Step], monkeypatch: pytest.MonkeyPatch) -> None:
        """B1, B2, B5, B7, B12, B15 of cases.md: silence beyond the window is noticed, and the next watch begins."""
        monkeypatch.setattr(_watch, "GRACE_SECONDS", -0.8)
        told, requests = after(*script, timeout_seconds=1)
        assert told[-1] == "ERROR TIMEOUT"
        assert requests == ["WATCH 11" if "ADDED a" in told else "WATCH 10"]

    def test_before_that_it_can_be_seen(self) -> None:
        """B3: last_activity and is_connected tell of silence before the deadline does."""
        with following(listed("10"), live(change("ADDED", "a", "11"))) as (_, stream):
            assert (stream.last_activity, stream.is_connected) == (None, False)
            until_synced(stream)
            assert (stream.last_activity, stream.is_connected) == (None, False)
            take(stream, 1)
            assert stream.is_connected
            first = stream.last_activity
            assert first is not None
            assert first < LIMIT
            later = stream.last_activity
            assert later is not None
            assert later >= first

    def test_no_sign_of_life(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """D11: a kind that the server cannot decode just falls silent; so the list is read anew now and then."""
        monkeypatch.setattr(_following, "SILENT_SECONDS", 0.1)
        quiet = [Head(), Stall(1.1), End()]
        with following(listed("10"), quiet, listed("20", "a"), default=GOES_ON) as (server, stream):
            assert shown(until_named(stream, "z")) == ["SYNCED", "ADDED a", "SYNCED", "ADDED z"]
            assert asked(server) == ["LIST", "WATCH 10", "LIST", "WATCH 20"]

    def test_an_ordinary_quiet_window(self) -> None:
        """B10, B14: a window without an event is nothing to tell of; the next begins at once."""
        told, requests = after(Head(), Stall(1.1), End())
        assert (told, requests) == ([], ["WATCH 10"])

    def test_silent_after_a_lost_connection(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """E6: the first watch after a lost connection is brief, and where it is silent one small question follows."""
        monkeypatch.setattr(_following, "BRIEF_SECONDS", 3)
        quiet = [Head(), Stall(1.1), End()]
        with following(listed("10"), [Head(), Rst()], quiet, listed("10"), default=GOES_ON) as (server, stream):
            until_synced(stream)
            assert shown(until_named(stream, "z")) == ["ERROR NETWORK", "ADDED z"]
            assert asked(server) == ["LIST", "WATCH 10", "WATCH 10", "LIST", "WATCH 10"]
            brief, probe = server.requests[2], server.requests[3]
            assert (brief.query["timeoutSeconds"], probe.query["limit"]) == ("3", "1")

    def test_its_own_deadline_is_told_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A stream that outlives its window is one ERROR, however much it still tells."""
        monkeypatch.setattr(_watch, "GRACE_SECONDS", -0.8)
        drip = [step for number in range(100) for step in (Event("BOOKMARK", bookmark(str(11 + number))), Stall(0.05))]
        told, requests = after(Head(), *drip, timeout_seconds=1)
        assert [text for text in told if text != "BOOKMARK"] == ["ERROR TIMEOUT"]
        assert requests == [f"WATCH {10 + len(told) - 1}"]


class TestRemoved:
    def test_custom_resource(self) -> None:
        """A9, C22, E10: when its definition goes all are DELETED, then 404 again and again; it may return."""
        definition = crontabs()
        with ApiServer() as server, server.client() as client:
            server.create(definition)
            server.create(crontab("a"))
            with list_and_watch("crontabs.example.com", client=client, backoff=FAST) as stream:
                assert shown(until_synced(stream)) == ["ADDED a", "SYNCED"]
                server.create(crontab("c"))
                assert shown(take(stream, 1)) == ["ADDED c"]
                server.delete("customresourcedefinitions", "crontabs.example.com")
                events = take_until(stream, lambda event: event.error is not None and event.error.status_code == 404)
                assert sorted(shown(events)[:2]) == ["DELETED a", "DELETED c"]
                assert shown(take(stream, 2)) == ["ERROR 404"] * 2
                server.create(definition)
                server.create(crontab("b"))
                assert shown(until_named(stream, "b"))[-1] == "ADDED b"

    def test_returns_elsewhere(self) -> None:
        """A short name is asked for again once it leads nowhere: the kind may return with another version."""
        with ApiServer() as server, server.client() as client:
            server.create(crontabs("v1"))
            with list_and_watch("crontabs", client=client, backoff=FAST) as stream:
                assert shown(until_synced(stream)) == ["SYNCED"]
                server.delete("customresourcedefinitions", "crontabs.example.com")
                take_until(stream, lambda event: event.error is not None and event.error.status_code == 404)
                server.create(crontabs("v2"))
                server.create(crontab("b", "v2"))
                assert shown(until_named(stream, "b"))[-1] == "ADDED b"
                assert server.requests[-1].path == "/apis/example.com/v2/crontabs"

    def test_definition_changed(self) -> None:
        """D3: a changed definition ends the watch, and the last version is too old then."""
        with ApiServer() as server, server.client() as client:
            server.create(crontabs())
            server.create(crontab("a"))
            with list_and_watch("crontabs.example.com", client=client, backoff=FAST) as stream:
                until_synced(stream)
                patch = {"spec": {"names": {"categories": ["all"]}}}
                server.patch("customresourcedefinitions", "crontabs.example.com", patch)
                server.create(crontab("b"))
                assert shown(until_named(stream, "b"))[-1] == "ADDED b"


def crontabs(version: str = "v1") -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


def crontab(name: str, version: str = "v1") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": f"example.com/{version}", "kind": "CronTab", "metadata": metadata}


class TestErrors:
    def test_c14_one_event_for_each_failure(self) -> None:
        """C12, C13, C22, B026: every failure is one ERROR event, never fewer and never more."""
        with following(default=Http(403, status(403, "Forbidden"))) as (server, stream):
            events = take(stream, 5)
            assert shown(events) == ["ERROR 403"] * 5
            assert len(server.requests) == 5

    def test_z3_requests_in_real_time(self) -> None:
        """Z3, Z4, C14: with the default backoff a server that refuses everything gets few requests."""
        with following(default=Http(403), backoff=Backoff()) as (server, stream):
            with ended_in_time(stream, 3.0):
                list(stream)
            assert 2 <= len(server.requests) <= 4

    def test_b110_connection_lost_on_a_reused_connection(self) -> None:
        """A connection that dies in silence between two requests is not even an error."""
        with following(listed("10"), [Rst()], default=GOES_ON) as (_, stream):
            assert shown(until_named(stream, "z")) == ["SYNCED", "ADDED z"]

    @pytest.mark.parametrize("what", ["unauthorized", "configuration"])
    def test_before_any_request(self, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """E11, E14: what is wrong on this side is an ERROR each time, and is tried again."""
        client = Client(Cluster("http://127.0.0.1:1", auth_provider="unheard-of") if what == "unauthorized"
                        else Cluster("http://127.0.0.1:1", ca_file=None), connect_timeout=1.0)  # fmt: skip
        with client, list_and_watch("pods", client=client, backoff=FAST) as stream:
            events = take(stream, 2)
            assert [event.type for event in events] == [EventType.ERROR] * 2

    def test_faults_in_memory(self) -> None:
        """Whatever goes wrong with a request, in the end all has been told, once."""
        faults = [
            Fault.drop(),
            Fault.reset(),
            Fault.drop(after=1),
            Fault.reset(after=1),
            Fault.cut_line(after=1),
            Fault.cut_chunk(after=1),
            Fault.end(after=1),
            Fault.answer(429, retry_after=0),
            Fault.answer(500),
            Fault.answer(503, text=True),
            Fault.answer(410),
            Fault.error_event(410),
            Fault.error_event(500, after=1),
            Fault.gzip(),
        ]
        with following_api(page_size=3) as (server, stream):
            live_names: set[str] = set()
            for number, fault in enumerate(faults):
                server.fail_next(fault)
                for name in (f"a{number}", f"b{number}"):
                    server.create(config_map(name))
                if number:
                    server.delete("configmaps", f"a{number - 1}")
                server.end_watches()
                last = f"b{number}"
                for event in until_named(stream, last):
                    note(live_names, event.type, event.key.name)
            server.clear_faults()
            server.create(config_map("last"))
            for event in until_named(stream, "last"):
                note(live_names, event.type, event.key.name)
            there = {found["metadata"]["name"] for found in server.list("configmaps")}
            assert live_names == there


def note(live_names: set[str], kind: EventType, name: str) -> None:
    """Apply an event to a set of names; each may be added once, and deleted once."""
    if kind is EventType.ADDED:
        assert name not in live_names
        live_names.add(name)
    elif kind is EventType.DELETED:
        live_names.remove(name)


def test_e5_between_list_and_watch() -> None:
    """E5: what goes between the list and the watch is told by the watch, which begins exactly at the list."""
    with ApiServer() as server, server.client() as client:
        server.create(config_map("a"))

        with list_and_watch("configmaps", client=client, backoff=FAST) as stream:
            events = until_synced(stream)
            server.delete("configmaps", "a")
            assert shown([*events, *take(stream, 1)]) == ["ADDED a", "SYNCED", "DELETED a"]


def test_e1_added_and_gone_around_a_relist() -> None:
    """E1: an object that came and went around a relist does not stay."""
    script = [Head(), change("ADDED", "o", "11"), Event("ERROR", status(410)), End()]
    with following(listed("10"), script, listed("20"), default=GOES_ON) as (_, stream):
        assert shown(until_named(stream, "z")) == [
            "SYNCED",
            "ADDED o",
            "ERROR 410",
            "DELETED o",
            "SYNCED",
            "ADDED z",
        ]


def test_duplicates_are_told_once() -> None:
    """Z13, C6: the same state again, or an older one, is nothing to tell."""
    steps = [change("ADDED", "a", "11"), change("ADDED", "a", "11"), change("MODIFIED", "a", "12")]
    steps += [change("MODIFIED", "a", "11"), change("DELETED", "a", "13"), change("DELETED", "a", "13")]
    told, _ = after(Head(), *steps, End())
    assert told == ["ADDED a", "MODIFIED a", "DELETED a"]


def test_recreated_on_a_watch() -> None:
    """D10, E22: one change of the uid, without a DELETED before it, is told as two events."""
    steps = [change("ADDED", "a", "11", uid="one"), change("MODIFIED", "a", "12", uid="two")]
    told, _ = after(Head(), *steps, End())
    assert told == ["ADDED a", "DELETED a", "ADDED a"]


def test_many_to_one_server() -> None:
    """B9 of cases.md: 30 streams of one client each have their own connection."""
    with ScriptedServer(default=[Head(), change("ADDED", "z", "11"), Stall()]) as server:
        server.on(lambda request: not request.is_watch, listed("10"))
        with Client(Cluster(server.url)) as client:
            streams = [list_and_watch("pods", client=client, backoff=FAST) for _ in range(30)]
            for stream in streams:
                assert shown(take(stream, 2)) == ["SYNCED", "ADDED z"]
            for stream in streams:
                stream.close()
    assert {request.path for request in server.requests} == {PODS}


def test_g2_authorized_every_time() -> None:
    """G2 of cases.md: list, watch and the next watch all show who asks."""
    with ApiServer(anonymous=False) as server, server.client("me") as client:
        server.allow("me")
        with list_and_watch("configmaps", client=client, backoff=FAST) as stream:
            until_synced(stream)
            server.restart()
            server.create(config_map("a"))
            until_named(stream, "a")
        assert len({request.headers.get("Authorization") for request in server.requests}) == 1
        assert len(server.requests) >= 3


def test_call_is_made_while_watching() -> None:
    """The script of this folder's own helper: a step may look at what was asked."""
    seen: list[str] = []
    with following(listed("10"), [Call(lambda request: seen.append(request.path)), *GOES_ON]) as (_, stream):
        until_named(stream, "z")
    assert seen == [PODS]
