"""EventRecorder: never blocks, writes what it can, and ends when told to; B167 to B173 at a server."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from kwsync import Client, EventRecorder, WatchError, _recorder
from kwsync._event_filters import Limits
from kwsync.testing import ApiServer, Fault
from tests.cancel.support import handling, in_child
from tests.keeping.test_interrupted import Interruption
from tests.writing.support import AT_ONCE, LIMIT, Object, config_map, sent, together, wait_until

EVENTS = "events.k8s.io/v1/events"
COMPONENT = "example.com/tester"

QUICK = Limits(pause=0.01)
"""As the default, but for the waits between tries."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let recorders try again soon."""
    monkeypatch.setattr(_recorder, "LIMITS", QUICK)


def listed(client: Client, namespace: str = "default") -> list[Object]:
    """The events of the recorder under test, oldest first."""
    found = [each for each in client.list(EVENTS, namespace) if each["reportingController"] == COMPONENT]
    return sorted(found, key=lambda each: str(each["eventTime"]))


def notes(client: Client, namespace: str = "default") -> list[str]:
    """Their notes."""
    return [each["note"] for each in listed(client, namespace)]


def pod(name: str = "a", namespace: str = "default") -> Object:
    """One that is nowhere, which no event minds."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "uid": "1"}}


def posts(server: ApiServer) -> int:
    """How often an event was to be created so far."""
    return len(sent(server, "POST"))


class TestEvents:
    def test_event(self, admin: Client, namespace: str) -> None:
        """All that is told is in the event, which stands beside the object."""
        about, other = (config_map(admin, namespace, name) for name in "ab")
        with EventRecorder(admin, COMPONENT, instance="one") as recorder:
            assert recorder.event(about, "Tested", "a note", type="Warning", action="Testing", related=other)
        (found,) = listed(admin, namespace)
        for object, key in ((about, "regarding"), (other, "related")):
            metadata = {name: object["metadata"][name] for name in ("name", "namespace", "uid", "resourceVersion")}
            assert found[key] == {"apiVersion": "v1", "kind": "ConfigMap", **metadata}
        assert found["metadata"]["name"].startswith("a.")
        told = {
            "reason": "Tested",
            "note": "a note",
            "type": "Warning",
            "action": "Testing",
            "reportingInstance": "one",
        }
        assert {name: found[name] for name in told} == told
        assert "series" not in found

    def test_old_api(self, admin: Client, namespace: str) -> None:
        """Who reads v1 events, as kubectl describe does, sees it, too."""
        about = config_map(admin, namespace)
        with EventRecorder(admin, COMPONENT) as recorder:
            recorder.event(about, "Tested", "a note")
        uid = about["metadata"]["uid"]
        (found,) = admin.list("v1/events", namespace, field_selector=f"involvedObject.uid={uid}")
        assert (found["message"], found["type"]) == ("a note", "Normal")

    def test_b168_without_namespace(self, admin: Client) -> None:
        """Events of objects without a namespace are in default; a name that no event can have becomes a random one."""
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "system:a"}}
        with EventRecorder(admin, COMPONENT, instance="without") as recorder:
            recorder.event(role, "Tested", "a note")
        (found,) = [each for each in listed(admin) if each["reportingInstance"] == "without"]
        assert found["regarding"]["name"] == "system:a"
        assert len(found["metadata"]["name"]) == 36

    def test_limits(self, admin: Client, namespace: str) -> None:
        """The longest that the recorder lets through is what a server takes."""
        with EventRecorder(admin, "a" * 63, instance="i" * 128) as recorder:
            recorder.event(pod("a" * 236, namespace), "r" * 128, "ä" * 600, action="x" * 128)
        assert recorder.dropped == 0
        (found,) = admin.list(EVENTS, namespace)
        assert len(found["note"].encode()) == 1023

    def test_default_instance(self, client: Client) -> None:
        """The instance is the component and the host, and never too long."""
        with EventRecorder(client, COMPONENT) as recorder:
            recorder.event(pod(), "Tested", "")
        (found,) = listed(client)
        assert found["reportingInstance"].startswith(f"{COMPONENT}-")
        assert len(found["reportingInstance"].encode()) <= 128

    def test_b173_series(self, admin: Client, namespace: str) -> None:
        """The first repeat is written, further ones are only counted, and closing writes the count."""
        with EventRecorder(admin, COMPONENT) as recorder:
            recorder.event(pod("a", namespace), "Tested", "a note")
            wait_until(lambda: len(listed(admin, namespace)) == 1, "an event")
            recorder.event(pod("a", namespace), "Tested", "a note")
            wait_until(lambda: "series" in listed(admin, namespace)[0], "a series")
            assert listed(admin, namespace)[0]["series"]["count"] == 2
            for _ in range(50):
                recorder.event(pod("a", namespace), "Tested", "a note")
        (found,) = listed(admin, namespace)
        assert found["series"]["count"] == 52
        assert found["series"]["lastObservedTime"] > found["eventTime"]

    def test_b169_missing(self, admin: Client, namespace: str) -> None:
        """A series whose event the server has forgotten is made anew, with its count."""
        with EventRecorder(admin, COMPONENT) as recorder:
            recorder.event(pod("a", namespace), "Tested", "a note")
            wait_until(lambda: len(listed(admin, namespace)) == 1, "an event")
            admin.delete(EVENTS, listed(admin, namespace)[0]["metadata"]["name"], namespace)
            recorder.event(pod("a", namespace), "Tested", "a note")
        (found,) = listed(admin, namespace)
        assert (found["series"]["count"], found["note"]) == (2, "a note")

    def test_b170_combined(self, admin: Client, namespace: str) -> None:
        """Events that differ in nothing but their notes become one from the tenth on."""
        with EventRecorder(admin, COMPONENT) as recorder:
            for number in range(30):
                recorder.event(pod("a", namespace), "Tested", f"note {number}")
        *single, combined = listed(admin, namespace)
        assert [each["note"] for each in single] == [f"note {number}" for number in range(9)]
        assert (combined["note"], combined["series"]["count"]) == ("(combined from similar events): note 9", 21)

    def test_refused(self, admin: Client, namespace: str, caplog: pytest.LogCaptureFixture) -> None:
        """What the server refuses is dropped with a line in the log, and what comes after it is written."""
        with EventRecorder(admin, COMPONENT) as recorder:
            recorder.event(pod("a", f"no-{namespace}"), "Tested", "a note")
            recorder.event(pod("a", namespace), "Tested", "another")
        assert notes(admin, namespace) == ["another"]
        assert recorder.dropped == 1
        assert "1 events dropped: they were refused: 404 NotFound" in caplog.text

    def test_impossible_namespace(self, client: Client, caplog: pytest.LogCaptureFixture) -> None:
        """So is what cannot even be sent."""
        with EventRecorder(client, COMPONENT) as recorder:
            recorder.event(pod("a", "a/b"), "Tested", "a note")
            recorder.event(pod(), "Tested", "another")
        assert notes(client) == ["another"]
        assert "refused" in caplog.text


class TestTrouble:
    def test_lost_answer(self, quick: None, api_server: ApiServer, client: Client) -> None:
        """An event whose answer was lost is there already when it is tried again, and is there once."""
        api_server.fail_next(Fault.drop(after=0), verb="create")
        with EventRecorder(client, COMPONENT) as recorder:
            recorder.event(pod(), "Tested", "a note")
        assert notes(client) == ["a note"]
        assert (posts(api_server), recorder.dropped) == (2, 0)

    def test_server_comes_back(self, quick: None, api_server: ApiServer, client: Client) -> None:
        """While the server is away events wait and are counted; when it is back all are written, in order."""
        api_server.stop()
        with EventRecorder(client, COMPONENT) as recorder:
            for note in ("one", "two", "one", "one"):
                recorder.event(pod(), "Tested", note)
            api_server.start()
        found = {each["note"]: each.get("series", {}).get("count", 1) for each in listed(client)}
        assert found == {"one": 3, "two": 1}

    @pytest.mark.parametrize(
        "fault",
        [
            Fault.answer(429, retry_after=0),
            Fault.answer(503, text=True),
            Fault.answer(502, text=True),
            Fault.drop(),
            Fault.reset(),
        ],
        ids=lambda fault: f"{fault.what} {fault.error and fault.error.code}",
    )
    def test_b172_tried_again(self, quick: None, api_server: ApiServer, client: Client, fault: Fault) -> None:
        """No answer, one of something in between, and a server that says when to come again: it is tried again."""
        api_server.fail_next(fault, verb="create", times=3)
        with EventRecorder(client, COMPONENT) as recorder:
            recorder.event(pod(), "Tested", "a note")
        assert notes(client) == ["a note"]
        assert (posts(api_server), recorder.dropped) == (4, 0)

    def test_server_wait(self, quick: None, api_server: ApiServer, client: Client) -> None:
        """A server that says when to come again is not asked before."""
        api_server.fail_next(Fault.answer(503, retry_after=1), verb="create")
        start = time.monotonic()
        with EventRecorder(client, COMPONENT) as recorder:
            recorder.event(pod(), "Tested", "a note")
        assert notes(client) == ["a note"]
        assert 1 <= time.monotonic() - start < 1 + AT_ONCE

    def test_b172_given_up(
        self, quick: None, api_server: ApiServer, client: Client, caplog: pytest.LogCaptureFixture
    ) -> None:
        """After twelve tries it is given up, with a line in the log; the next event is written."""
        api_server.fail_next(Fault.reset(), verb="create", times=12)
        with EventRecorder(client, COMPONENT) as recorder:
            recorder.event(pod(), "Tested", "a note")
            recorder.event(pod(), "Tested", "another")
        assert posts(api_server) == 13
        assert notes(client) == ["another"]
        assert recorder.dropped == 1
        assert "tried 12 times" in caplog.text

    @pytest.mark.parametrize("code", [400, 401, 403, 404, 422, 500])
    def test_b172_refused(self, quick: None, api_server: ApiServer, client: Client, code: int) -> None:
        """A Status is the server's own word: it is not tried again."""
        api_server.fail_next(Fault.answer(code), verb="create", times=3)
        with EventRecorder(client, COMPONENT) as recorder:
            recorder.event(pod(), "Tested", "a note")
        assert (posts(api_server), recorder.dropped) == (1, 1)

    def test_closed_client(self, client: Client) -> None:
        """With a client that is closed events are dropped, not tried for two minutes."""
        client.close()
        with EventRecorder(client, COMPONENT) as recorder:
            recorder.event(pod(), "Tested", "a note")
        assert recorder.dropped == 1

    def test_b167_never_blocks(self, api_server: ApiServer, client: Client, caplog: pytest.LogCaptureFixture) -> None:
        """With a server that never answers, telling goes on: 1,000 wait, more are dropped, with one line in the log."""
        api_server.fail_every(1, Fault.late_headers(), verb="create")
        recorder = EventRecorder(client, COMPONENT)
        assert recorder.event(pod(), "Tested", "first")
        wait_until(lambda: posts(api_server) == 1, "a request")
        start = time.monotonic()
        taken = [recorder.event(pod(f"p{number}"), "Tested", "a note") for number in range(3000)]
        assert time.monotonic() - start < AT_ONCE
        assert (taken.count(True), recorder.dropped) == (1000, 2000)
        assert not recorder.close(timeout=0.05)
        assert time.monotonic() - start < 2 * AT_ONCE
        assert recorder.dropped == 3001
        assert "2001 events dropped: 1000 waited already" in caplog.text
        assert len([one for one in caplog.records if one.name == "kwsync.events"]) == 2

    def test_log_is_not_flooded(
        self, quick: None, api_server: ApiServer, client: Client, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A server that is away for long makes no line for each event that finds no room."""
        api_server.stop()
        recorder = EventRecorder(client, COMPONENT)
        for number in range(1000):
            recorder.event(pod(f"p{number}"), "Tested", "a note")
        wait_until(lambda: not recorder._intake, "the events to be taken in")
        for number in range(100):
            recorder.event(pod(f"q{number}"), "Tested", "a note")
            wait_until(lambda: not recorder._intake, "the event to be taken in")
        assert (recorder._series.waiting, recorder.dropped) == (1000, 100)
        recorder.close(timeout=0)
        assert len([one for one in caplog.records if "waited already" in one.getMessage()]) <= 2

    @pytest.mark.parametrize("step", ["take in", "tell"])
    def test_no_count_is_lost(
        self, step: str, api_server: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is dropped while another thread, or the same one, is just counting what it drops is counted, too."""
        monkeypatch.setattr(_recorder, "LIMITS", Limits(waiting=1))
        api_server.fail_every(1, Fault.late_headers(), verb="create")
        number, happened = 0, True
        while happened:
            recorder = EventRecorder(client, COMPONENT)
            recorder.event(pod("p0"), "Tested", "it waits")
            wait_until(lambda number=number: posts(api_server) == number + 1, "a request")  # type: ignore[misc]
            recorder.event(pod("p1"), "Tested", "it fills the room for what is told")

            def tell(recorder: EventRecorder = recorder) -> None:
                for name in ("p2", "p3", "p4"):
                    recorder.event(pod(name), "Tested", "no room")

            with Interruption({_recorder.__file__}, "opcode", number, tell) as interruption:
                if step == "tell":
                    recorder.event(pod("p5"), "Tested", "no room")
                else:  # which its thread does not do, as it waits for the server
                    recorder._take_in(time.monotonic())
            happened = interruption.happened
            recorder._take_in(time.monotonic())
            told = 1 + 3 * happened + (step == "tell")
            assert recorder.dropped == told, f"instruction {number}"
            recorder.close(timeout=0)
            number += 1
        assert number > 10


class TestLife:
    def test_lazy(self, client: Client) -> None:
        """Before the first event there is no thread; closing without any is done at once."""
        before = threading.active_count()
        with EventRecorder(client, COMPONENT) as recorder:
            assert threading.active_count() == before
        assert recorder.close()

    def test_closed(self, api_server: ApiServer, client: Client) -> None:
        """Closing twice is fine; what is told afterwards is not taken."""
        recorder = EventRecorder(client, COMPONENT)
        recorder.event(pod(), "Tested", "a note")
        assert recorder.close()
        assert recorder.close()
        assert not recorder.event(pod(), "Tested", "too late")
        assert notes(client) == ["a note"]
        assert "closed" in repr(recorder)

    @pytest.mark.parametrize("fault", [Fault.late_headers(), Fault.answer(503, retry_after=600)], ids=["stall", "wait"])
    def test_close_in_time(self, api_server: ApiServer, client: Client, fault: Fault) -> None:
        """Closing ends whatever the thread waits for, when its time is over, and says that something is lost."""
        api_server.fail_every(1, fault, verb="create")
        recorder = EventRecorder(client, COMPONENT)
        recorder.event(pod(), "Tested", "a note")
        wait_until(lambda: posts(api_server) == 1, "a request")
        start = time.monotonic()
        assert not recorder.close(timeout=0.05)
        assert time.monotonic() - start < AT_ONCE
        assert not recorder.close()
        assert recorder.dropped == 1

    def test_idle(self, client: Client) -> None:
        """With nothing to do the thread sleeps until a series is over."""
        with EventRecorder(client, COMPONENT) as recorder:
            recorder.event(pod(), "Tested", "a note")
            wait_until(lambda: notes(client) == ["a note"], "an event")
            wait_until(lambda: not recorder._series.waiting, "the answer")
            assert recorder._series.next_due - time.monotonic() > 350

    def test_many_threads(self, client: Client) -> None:
        """Eight threads tell at once; none of it is lost, and what is equal is counted."""
        with EventRecorder(client, COMPONENT) as recorder:

            def tell(thread: int) -> None:
                for _ in range(50):
                    assert recorder.event(pod(), "Shared", "a note")
                    assert recorder.event(pod(f"of-{thread}"), "Own", "a note")

            together([lambda thread=thread: tell(thread) for thread in range(8)])  # type: ignore[misc]
        assert recorder.dropped == 0
        assert {each["regarding"]["name"]: each["series"]["count"] for each in listed(client)} == {
            "a": 400,
            **{f"of-{thread}": 50 for thread in range(8)},
        }

    @pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such timer here")
    def test_signal_handler(self, client: Client) -> None:
        """A signal handler may tell in the middle of whatever the main thread does, also of telling and starting."""
        told = []
        with EventRecorder(client, COMPONENT) as recorder:

            def tell(*_: object) -> None:
                told.append(recorder.event(pod("b"), "Interrupted", "a note"))

            with handling(signal.SIGALRM, tell):
                signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
                try:
                    end = time.monotonic() + 2 * LIMIT
                    while len(told) < 200:
                        recorder.event(pod(), "Tested", "a note")
                        assert time.monotonic() < end, "the signals did not come"
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            wait_until(lambda: not recorder._intake, "the events to be taken in")
        found = {each["regarding"]["name"]: each["series"]["count"] for each in listed(client)}
        assert found["b"] == told.count(True)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    def test_fork(self, quick: None, api_server: ApiServer, client: Client) -> None:
        """A child has an empty recorder that works; what waited is the parent's, who writes it once."""
        api_server.fail_next(Fault.answer(503, retry_after=1), verb="create")
        with EventRecorder(client, COMPONENT) as recorder:
            recorder.event(pod(), "Tested", "of the parent")
            wait_until(lambda: posts(api_server) == 1, "a request")

            def tell() -> tuple[bool, bool, int]:
                return recorder.event(pod(), "Tested", "of the child"), recorder.close(), recorder.dropped

            assert in_child(tell) == (True, True, 0)
        assert sorted(notes(client)) == ["of the child", "of the parent"]
        assert posts(api_server) == 3

    def test_no_thread_to_be_had(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the system has no thread, telling does not fail, and the next event tries again."""

        def refuse(thread: threading.Thread) -> None:
            raise OSError("no further thread can be started")

        recorder = EventRecorder(client, COMPONENT)
        with monkeypatch.context() as patched:
            patched.setattr("kwsync._threads.start", refuse)
            assert recorder.event(pod(), "Tested", "one")
        assert recorder.event(pod(), "Tested", "two")
        assert recorder.close()
        assert notes(client) == ["one", "two"]

    def test_broken_log(self, client: Client, caplog: pytest.LogCaptureFixture) -> None:
        """A log handler that raises ends nothing."""

        class Broken(logging.Handler):
            def handle(self, record: logging.LogRecord) -> bool:
                raise RuntimeError("no room")

        handler = Broken()
        logging.getLogger("kwsync.events").addHandler(handler)
        try:
            with EventRecorder(client, COMPONENT) as recorder:
                recorder.event(pod("a", "a/b"), "Tested", "refused")
                recorder.event(pod(), "Tested", "a note")
        finally:
            logging.getLogger("kwsync.events").removeHandler(handler)
        assert notes(client) == ["a note"]


class TestArguments:
    @pytest.mark.parametrize(
        "call",
        [
            lambda recorder: recorder.event(pod(), "Tested", "a note", type="Error"),
            lambda recorder: recorder.event(pod(), "", "a note"),
            lambda recorder: recorder.event({"kind": "Pod"}, "Tested", "a note"),
        ],
    )
    def test_refused(self, client: Client, call: Callable[[EventRecorder], Any]) -> None:
        """What a server would refuse raises from the call, and nothing is counted or sent."""
        with EventRecorder(client, COMPONENT) as recorder:
            with pytest.raises(ValueError, match=r"must|no kind"):
                call(recorder)
            assert recorder.dropped == 0
        assert listed(client) == []

    def test_names(self, client: Client) -> None:
        """So do names of a component or an instance that no server takes."""
        with pytest.raises(ValueError, match="component"):
            EventRecorder(client, "two words")
        with pytest.raises(ValueError, match="instance"):
            EventRecorder(client, COMPONENT, instance="")

    def test_object_is_not_kept(self, api_server: ApiServer, client: Client) -> None:
        """The object may be changed after the call."""
        object = pod()
        with EventRecorder(client, COMPONENT) as recorder:
            recorder.event(object, "Tested", "a note")
            object["metadata"]["name"] = "changed"
        assert listed(client)[0]["regarding"]["name"] == "a"

    def test_repr(self, client: Client) -> None:
        """The text of a recorder tells how it is, and nothing of the client."""
        with EventRecorder(client, COMPONENT) as recorder:
            assert repr(recorder) == f"<EventRecorder {COMPONENT!r}: 0 waiting, 0 dropped>"


def test_limits_are_client_gos() -> None:
    """The numbers of B167 to B173."""
    assert attrs.asdict(Limits()) == {
        "waiting": 1000,
        "remembered": 4096,
        "burst": 25,
        "refill": 300.0,
        "similar": 10,
        "similar_within": 600.0,
        "refresh": 1800.0,
        "idle": 360.0,
        "tries": 12,
        "pause": 10.0,
        "jitter": 0.25,
    }


def test_errors_are_none_of_the_callers(client: Client) -> None:
    """No error of a server comes out of `event`."""
    with EventRecorder(client, COMPONENT) as recorder:
        try:
            recorder.event(pod("a", "nowhere"), "Tested", "a note")
        except WatchError as error:
            pytest.fail(str(error))
