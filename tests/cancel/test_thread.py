"""WatchThread: its callbacks, its ends, and what it tells about itself."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import attrs
import pytest

from kwsync import Backoff, CancelToken, Client, EndReason, WatchEnd, WatchError, WatchEvent, WatchThread
from kwsync.errors import ErrorOrigin
from kwsync.testing import (
    ApiServer,
    Blackhole,
    End,
    Event,
    Head,
    Http,
    ScriptedServer,
    Stall,
    StallUntil,
    bookmark,
    pod,
    status,
)
from tests.cancel.support import (
    AT_ONCE,
    JOINING,
    LIMIT,
    client_of,
    handling,
    in_background,
    interrupting,
    serving,
    wait_until,
    waits_in,
)

NAMES = [
    "on_event",
    "on_added",
    "on_modified",
    "on_deleted",
    "on_bookmark",
    "on_synced",
    "on_error",
    "on_end",
]
STREAM = [
    Head(),
    Event("ADDED", pod("a", "1")),
    Event("MODIFIED", pod("a", "2")),
    Event("BOOKMARK", bookmark("3")),
    Event("DELETED", pod("a", "4")),
    Event("ERROR", status(410, "Expired", "too old")),
    End(),
]
TOLD = [
    "on_event ADDED",
    "on_added ADDED",
    "on_event MODIFIED",
    "on_modified MODIFIED",
    "on_event BOOKMARK",
    "on_bookmark BOOKMARK",
    "on_event DELETED",
    "on_deleted DELETED",
    "on_event ERROR",
    "on_error STREAM",
    "on_end SERVER_CLOSED",
]


EMPTY_LIST = Http(200, {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": []})


def config_map(name: str) -> dict[str, Any]:
    """A small object."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


@pytest.fixture
def server(scripted_server: ScriptedServer) -> ScriptedServer:
    """A server that tells one event and then nothing, each time."""
    scripted_server.default = (Head(), Event("ADDED", pod("a", "7")), Stall())
    return scripted_server


@pytest.fixture
def client(server: ScriptedServer) -> Iterator[Client]:
    """A client of this server."""
    with client_of(server.url) as made:
        yield made


def new(client: Client, **options: Any) -> WatchThread:
    """A thread that has not started."""
    return WatchThread("pods", client=client, reconnect=False, **options)


@contextmanager
def running(client: Client, **options: Any) -> Iterator[WatchThread]:
    """A thread whose first event has been called back."""
    got = threading.Event()
    before = options.pop("on_event", lambda event: None)

    def note(event: WatchEvent) -> None:
        before(event)
        got.set()

    thread = new(client, on_event=note, **options)
    thread.start()
    try:
        assert got.wait(LIMIT), "no event came"
        yield thread
    finally:
        thread.stop()
        assert thread.join(LIMIT), "it did not end"


def telling(told: list[str]) -> dict[str, Callable[[Any], None]]:
    """Callbacks for every name, which note what they got."""

    def note(name: str, argument: Any) -> None:
        if isinstance(argument, WatchError):
            told.append(f"{name} {argument.origin}")
        else:
            told.append(f"{name} {argument.reason if isinstance(argument, WatchEnd) else argument.type}")

    return {name: partial(note, name) for name in NAMES}


class TestCallbacks:
    def test_order(self) -> None:
        """on_event comes first and for every event, then the one for its type; on_end comes last and once."""
        told: list[str] = []
        with serving(STREAM) as (_, client):
            thread = new(client, **telling(told))
            thread.start()
            assert thread.join(LIMIT)
        assert told == TOLD

    def test_decorators(self) -> None:
        """Each name is a decorator as well, which gives the function back."""
        told: list[str] = []
        with serving(STREAM) as (_, client):
            thread = new(client)
            for name, callback in telling(told).items():
                assert getattr(thread, name)(callback) is callback
            thread.start()
            assert thread.join(LIMIT)
        assert told == TOLD

    @pytest.mark.parametrize("name", NAMES)
    def test_a_second_one(self, name: str, client: Client) -> None:
        """A second callback under one name raises, however the first was given, and the first stays."""
        told: list[str] = []
        thread = new(client, **{name: told.append})
        with pytest.raises(ValueError, match=name):
            getattr(thread, name)(lambda argument: None)
        thread = new(client)
        getattr(thread, name)(print)
        with pytest.raises(ValueError, match=name):
            getattr(thread, name)(print)

    @pytest.mark.parametrize("name", NAMES)
    def test_not_callable(self, name: str, client: Client) -> None:
        """What cannot be called is a TypeError that names the callback, at once."""
        with pytest.raises(TypeError, match=f"{name} must be callable, not int"):
            new(client, **{name: 5})
        with pytest.raises(TypeError, match=name):
            getattr(new(client), name)(None)

    def test_too_late(self, client: Client) -> None:
        """After the start no callback is taken any more."""
        with running(client) as thread, pytest.raises(RuntimeError, match="started"):
            thread.on_deleted(print)

    def test_one_thread_no_lock(self, client: Client) -> None:
        """All callbacks run on the watch's thread, a named daemon, and any method may be called there."""
        seen: list[threading.Thread] = []
        answers: list[object] = []

        def look(argument: object) -> None:
            seen.append(threading.current_thread())
            answers.append((thread.is_alive(), thread.healthy(), thread.end, repr(thread)))

        thread = new(client, on_event=look, on_added=look, on_end=look, thread_name="my-watch")
        thread.start()
        wait_until(lambda: len(seen) == 2, "the event")
        thread.stop()
        assert thread.join(LIMIT)
        assert {one.name for one in seen} == {"my-watch"}
        assert all(one.daemon for one in seen)
        assert answers[:2] == [(True, True, None, "<WatchThread my-watch running>")] * 2
        assert answers[2] == (True, False, WatchEnd(EndReason.CLOSED), "<WatchThread my-watch running>")

    def test_argument_is_frozen(self, client: Client) -> None:
        """A callback cannot change the event that the next one gets."""
        raised: list[BaseException] = []

        def change(event: Any) -> None:
            try:
                event.type = "MODIFIED"
            except AttributeError as error:
                raised.append(error)

        with running(client, on_event=change):
            assert isinstance(raised[0], attrs.exceptions.FrozenInstanceError)

    def test_slow_callback_delays_the_next(self) -> None:
        """One callback at a time: the next event waits for the one before."""
        entered, leave = threading.Event(), threading.Event()
        running_now: list[int] = []
        most: list[int] = []

        def work(event: object) -> None:
            running_now.append(1)
            most.append(len(running_now))
            entered.set()
            assert leave.wait(LIMIT), "nobody let the callback go"
            running_now.pop()

        with serving(STREAM) as (_, client):
            thread = new(client, on_event=work)
            thread.start()
            assert entered.wait(LIMIT), "no event came"
            assert len(most) == 1
            leave.set()
            assert thread.join(LIMIT)
        assert most == [1] * 5


class Odd(BaseException):
    """An exception that is no Exception."""


class Mute(Exception):
    """An exception that cannot even say what it is."""

    def __str__(self) -> str:
        raise LookupError("no words")


def test_raising_what_has_no_text() -> None:
    """An exception whose own text fails is reported by its type alone, and the stream goes on."""
    told: list[str] = []
    errors: list[WatchError] = []

    def fail(event: object) -> None:
        raise Mute

    with serving(STREAM) as (_, client):
        thread = new(client, **{**telling(told), "on_added": fail, "on_error": errors.append})
        thread.start()
        assert thread.join(LIMIT)
    assert errors[0].message == "on_added raised Mute"
    assert told[-1] == "on_end SERVER_CLOSED"


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, Odd])
class TestRaising:
    @pytest.mark.parametrize("name", ["on_event", "on_added", "on_bookmark", "on_deleted", "on_modified"])
    def test_in_a_callback(self, kind: type[BaseException], name: str) -> None:
        """Whatever a callback raises goes to on_error, with its cause, and the stream goes on to its end."""
        told: list[str] = []
        errors: list[WatchError] = []
        raised = kind("oops")

        def fail(event: object) -> None:
            raise raised

        with serving(STREAM) as (_, client):
            thread = new(client, **{**telling(told), name: fail, "on_error": errors.append})
            thread.start()
            assert thread.join(LIMIT)
        failures = [error for error in errors if error.origin is ErrorOrigin.CALLBACK]
        assert len(failures) == (5 if name == "on_event" else 1)
        assert failures[0].__cause__ is raised
        assert f"{name} raised {kind.__name__}: oops" in failures[0].message
        left = [line for line in TOLD if not line.startswith((name + " ", "on_error"))]
        assert told == left

    def test_without_on_error(self, kind: type[BaseException], caplog: pytest.LogCaptureFixture) -> None:
        """Where nobody wants errors it is logged with its traceback, and the stream goes on."""
        told: list[str] = []

        def fail(event: object) -> None:
            raise kind("oops")

        with serving(STREAM) as (_, client), caplog.at_level(logging.ERROR, "kwsync.thread"):
            callbacks = {**telling(told), "on_added": fail}
            del callbacks["on_error"]
            thread = new(client, **callbacks)
            thread.start()
            assert thread.join(LIMIT)
        (record,) = caplog.records
        assert "on_added raised" in record.getMessage()
        assert record.exc_info is not None
        assert record.exc_info[0] is kind
        assert told[-1] == "on_end SERVER_CLOSED"

    @pytest.mark.parametrize("name", ["on_error", "on_end"])
    def test_in_the_last_resort(self, kind: type[BaseException], name: str, caplog: pytest.LogCaptureFixture) -> None:
        """What on_error or on_end raises is only logged: no callback hears of it, and the end is as it was."""
        told: list[str] = []

        def fail(argument: object) -> None:
            raise kind("oops")

        with serving(STREAM) as (_, client), caplog.at_level(logging.ERROR, "kwsync.thread"):
            thread = new(client, **{**telling(told), name: fail})
            thread.start()
            assert thread.join(LIMIT)
        assert [f"{name} raised" in record.getMessage() for record in caplog.records] == [True]
        assert told == [line for line in TOLD if not line.startswith(name)]
        assert thread.end is not None
        assert thread.end.reason is EndReason.SERVER_CLOSED

    def test_in_a_callback_and_in_on_error(self, kind: type[BaseException], caplog: pytest.LogCaptureFixture) -> None:
        """When on_error fails over the failure of another callback, that is logged, too, and the stream goes on."""
        ends: list[WatchEnd] = []

        def fail(argument: object) -> None:
            raise kind("oops")

        with serving(STREAM) as (_, client), caplog.at_level(logging.ERROR, "kwsync.thread"):
            thread = new(client, on_event=fail, on_error=fail, on_end=ends.append)
            thread.start()
            assert thread.join(LIMIT)
        assert len(caplog.records) == 6
        assert len(ends) == 1


class TestEnd:
    def test_http_error(self, scripted_server: ScriptedServer) -> None:
        """An answer that is an error is one on_event and one on_error, and the end tells it."""
        scripted_server.add(Http(403, status(403, "Forbidden", "no")))
        told: list[str] = []
        with client_of(scripted_server.url) as client:
            thread = new(client, **telling(told))
            thread.start()
            assert thread.join(LIMIT)
        assert told == ["on_event ERROR", "on_error HTTP", "on_end ERROR"]
        assert thread.end is not None
        assert thread.end.error is not None
        assert thread.end.error.status_code == 403

    @pytest.mark.parametrize("name", ["on_event", "on_added"])
    def test_stop_in_a_callback(self, name: str) -> None:
        """stop() in a callback ends the watch: the callback for the type still runs, no further event comes."""
        told: list[str] = []
        with serving(STREAM) as (_, client):
            callbacks = telling(told)
            note = callbacks.pop(name)
            thread = new(client, **callbacks)

            def stop(event: WatchEvent) -> None:
                note(event)
                thread.stop()

            getattr(thread, name)(stop)
            thread.start()
            assert thread.join(LIMIT)
        assert told == ["on_event ADDED", "on_added ADDED", "on_end CLOSED"]

    @pytest.mark.parametrize("name", ["on_error", "on_end"])
    def test_stop_at_the_end(self, name: str) -> None:
        """stop() in on_error and on_end does no harm, and changes no reason that is there already."""
        told: list[str] = []
        with serving([Http(500, "x")]) as (_, client):
            callbacks = telling(told)
            del callbacks[name]
            thread = new(client, **callbacks)
            getattr(thread, name)(lambda argument: thread.stop())
            thread.start()
            assert thread.join(LIMIT)
        assert thread.end is not None
        assert thread.end.reason is EndReason.ERROR

    def test_stop_before_start(self, client: Client, server: ScriptedServer) -> None:
        """A stop before the start is not forgotten: nothing is sent, on_end is called."""
        told: list[str] = []
        thread = new(client, **telling(told))
        thread.stop()
        thread.stop()
        thread.start()
        assert thread.join(LIMIT)
        assert told == ["on_end CLOSED"]
        assert server.connections_accepted == 0

    def test_stop_twice(self, client: Client) -> None:
        """stop() may be called again, also after the end."""
        ends: list[WatchEnd] = []
        with running(client, on_end=ends.append) as thread:
            thread.stop()
            thread.stop()
            assert thread.join(LIMIT)
            thread.stop()
        assert ends == [WatchEnd(EndReason.CLOSED)]
        assert thread.end == WatchEnd(EndReason.CLOSED)

    def test_stop_in_a_signal_handler(self, client: Client) -> None:
        """stop() works in a handler, while the main thread joins."""
        me = threading.get_ident()
        with (
            running(client) as thread,
            handling(signal.SIGUSR1, lambda number, frame: thread.stop()),
            interrupting(signal.SIGUSR1, lambda: waits_in(me, JOINING)),
        ):
            assert thread.join(LIMIT) is True

    @pytest.mark.parametrize("kind", [CancelToken, threading.Event])
    def test_cancel_event(self, kind: Callable[[], threading.Event], client: Client) -> None:
        """A cancel event ends the thread, and the end says CANCELLED."""
        cancel = kind()
        ends: list[WatchEnd] = []
        with running(client, cancel=cancel, on_end=ends.append) as thread:
            cancel.set()
            assert thread.join(AT_ONCE)
        assert ends == [WatchEnd(EndReason.CANCELLED)]

    def test_stop_does_not_wait(self, client: Client) -> None:
        """stop() returns at once, also while a callback is busy; join() waits for it."""
        busy, free = threading.Event(), threading.Event()

        def work(event: object) -> None:
            busy.set()
            assert free.wait(LIMIT), "nobody freed the callback"

        thread = new(client, on_added=work)
        thread.start()
        assert busy.wait(LIMIT), "no event came"
        thread.stop()
        assert thread.join(0.02) is False
        assert thread.is_alive()
        assert not thread.healthy()
        free.set()
        assert thread.join(LIMIT) is True

    def test_restart_in_on_error(self, scripted_server: ScriptedServer) -> None:
        """A callback may start another thread in place of its own."""
        scripted_server.add(Http(500, "x"))
        scripted_server.add(*STREAM)
        told: list[str] = []
        threads: list[WatchThread] = []

        with client_of(scripted_server.url) as client:

            def again(error: WatchError) -> None:
                threads.append(new(client, **telling(told)))
                threads[0].start()

            thread = new(client, on_error=again)
            thread.start()
            assert thread.join(LIMIT)
            assert threads[0].join(LIMIT)
        assert told == TOLD


class TestJoin:
    def test_in_a_callback(self, client: Client) -> None:
        """join() in a callback would wait for itself: it raises, also with a time."""
        errors: list[WatchError] = []

        def wait(event: object) -> None:
            assert thread.join(0.01)

        thread = new(client, on_added=wait, on_error=errors.append)
        thread.start()
        wait_until(lambda: bool(errors), "the error")
        thread.stop()
        assert thread.join(LIMIT)
        assert isinstance(errors[0].__cause__, RuntimeError)

    def test_timeout(self, client: Client) -> None:
        """False when the time passes first."""
        with running(client) as thread:
            assert thread.join(0.01) is False
            assert thread.join(0) is False

    def test_before_start(self, client: Client) -> None:
        """What does not run need not be waited for."""
        assert new(client).join() is True

    def test_twice(self, client: Client) -> None:
        """It may be joined again, by several threads."""
        with running(client) as thread:
            with in_background(thread.join), in_background(thread.join):
                thread.stop()
            assert thread.join() is True


class TestContextManager:
    def test_starts_and_stops(self, client: Client, server: ScriptedServer) -> None:
        """Entering starts it, leaving stops it and waits."""
        with new(client) as thread:
            assert thread.is_alive()
            server.wait_for_requests(1)
        assert not thread.is_alive()
        assert thread.end == WatchEnd(EndReason.CLOSED)
        server.wait_for_disconnect(LIMIT)

    def test_exception(self, client: Client) -> None:
        """An exception in the block stops it as well, and goes on."""
        with pytest.raises(LookupError), new(client) as thread:
            raise LookupError
        assert not thread.is_alive()

    def test_left_in_a_callback(self, client: Client) -> None:
        """A callback may leave the block: it does not wait for itself."""
        left = threading.Event()

        def leave(event: object) -> None:
            thread.__exit__(None, None, None)
            left.set()

        thread = new(client, on_added=leave)
        thread.start()
        assert left.wait(AT_ONCE), "it waits for itself"
        assert thread.join(LIMIT)


class TestState:
    def test_life(self, server: ScriptedServer, client: Client) -> None:
        """What it tells about itself before, during and after."""
        go = threading.Event()
        server.default = (
            Head(),
            Event("ADDED", pod("a", "7")),
            Event("MODIFIED", pod("a", "8")),
            StallUntil(go),
            End(),
        )
        thread = new(client, thread_name="t")
        before = (
            thread.is_alive(),
            thread.healthy(),
            thread.last_activity,
            thread.end,
            thread.resource_version,
        )
        assert before == (False, False, None, None, None)
        assert repr(thread) == "<WatchThread t new>"
        thread.start()
        wait_until(lambda: thread.resource_version == "8", "the events")
        assert (thread.is_alive(), thread.healthy(), thread.end) == (True, True, None)
        assert 0 <= (thread.last_activity or 0) < LIMIT
        assert repr(thread) == "<WatchThread t running>"
        go.set()
        assert thread.join(LIMIT)
        assert (thread.is_alive(), thread.healthy()) == (False, False)
        assert thread.end == WatchEnd(EndReason.SERVER_CLOSED)
        assert thread.resource_version == "8"
        assert repr(thread) == "<WatchThread t ended>"

    def test_last_activity_grows(self, server: ScriptedServer, client: Client) -> None:
        """While nothing comes, not even an answer, the time since the request goes on."""
        server.default = (Blackhole(),)
        thread = new(client)
        with thread:
            wait_until(lambda: (thread.last_activity or 0) > 0.02, "the time to pass")

    def test_name(self, client: Client) -> None:
        """The thread is named by what it watches, and is a daemon: it keeps no process alive."""
        with running(client):
            (found,) = [one for one in threading.enumerate() if one.name == "kwsync-watch-pods"]
            assert found.daemon

    def test_started_once(self, client: Client) -> None:
        """A second start raises, during the life and after it."""
        with running(client) as thread, pytest.raises(RuntimeError, match="only once"):
            thread.start()
        with pytest.raises(RuntimeError, match="only once"):
            thread.start()

    def test_many(self, client: Client, server: ScriptedServer) -> None:
        """Thirty threads of one client have thirty connections, and stop at once."""
        threads = [new(client) for _ in range(30)]
        for thread in threads:
            thread.start()
        server.wait_for_requests(30)
        assert server.connections_accepted == 30
        for thread in threads:
            thread.stop()
        assert all(thread.join(AT_ONCE) for thread in threads)


class TestFollowing:
    """reconnect=True, the default: the thread follows with list_and_watch, and only stop or cancel end it."""

    def test_across_a_restart(self) -> None:
        """What happens while the server is away is told once it is back, each callback by what it is."""
        told: list[str] = []
        news = threading.Condition()

        def note(name: str, argument: Any) -> None:
            with news:
                told.append(f"{name} {argument.key.name}" if isinstance(argument, WatchEvent) else name)
                news.notify_all()

        def wait_for(*expected: str) -> None:
            with news:
                assert news.wait_for(lambda: set(expected) <= set(told), LIMIT), (expected, told)

        with ApiServer() as server, server.client() as client:
            server.create(config_map("old"))
            thread = WatchThread("configmaps", client=client, backoff=Backoff(initial=0.01))
            for name in ("on_added", "on_deleted", "on_synced", "on_error", "on_end"):
                getattr(thread, name)(partial(note, name))
            with thread:
                wait_for("on_added old", "on_synced ")
                server.stop_listening()
                server.drop_connections()
                server.forget_history()
                server.delete("configmaps", "old", "default")
                server.create(config_map("new"))
                wait_for("on_error")
                server.listen_again()
                wait_for("on_added new", "on_deleted old")
                assert "on_end" not in told
            wait_for("on_end")

    @pytest.mark.parametrize("phase", ["watching", "waiting", "listing"])
    def test_stop(self, phase: str) -> None:
        """stop() ends it at once, also between two requests, and its end says CLOSED."""
        scripts: dict[str, list[Any]] = {
            "watching": [EMPTY_LIST, (Head(), Event("ADDED", pod("a", "7")), Stall())],
            "waiting": [Http(429, headers={"Retry-After": "600"})],
            "listing": [Blackhole()],
        }
        with serving(*scripts[phase]) as (server, client):
            thread = WatchThread("pods", client=client, on_error=lambda _: None)
            thread.start()
            server.wait_for_requests(len(scripts[phase]))
            thread.stop()
            assert thread.join(AT_ONCE)
            assert thread.end == WatchEnd(EndReason.CLOSED)
            assert not thread.healthy()

    def test_cancel(self) -> None:
        """The cancel event ends it, wherever it is, and its end says CANCELLED."""
        with serving(Http(503)) as (server, client):
            token = CancelToken()
            thread = WatchThread("pods", client=client, cancel=token, on_error=lambda _: None)
            thread.start()
            server.wait_for_requests(1)
            token.set()
            assert thread.join(AT_ONCE)
            assert thread.end == WatchEnd(EndReason.CANCELLED)

    @pytest.mark.parametrize("option", [{"send_initial_events": True}, {"allow_watch_bookmarks": True}])
    def test_options_of_one_stream(self, option: dict[str, Any], client: Client) -> None:
        """An option that only a single stream has raises, since it would do nothing."""
        with pytest.raises(ValueError, match="reconnect=True"):
            WatchThread("pods", client=client, **option)

    @pytest.mark.parametrize("option", [{"page_size": 5}, {"watch_list": True}, {"backoff": Backoff()}])
    def test_options_of_following(self, option: dict[str, Any], client: Client) -> None:
        """And so does one that only following has, for a single stream."""
        with pytest.raises(ValueError, match="reconnect=False"):
            WatchThread("pods", client=client, reconnect=False, **option)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"timeout_seconds": "x"}, TypeError), ({"view": "x"}, ValueError), ({"cancel": 5}, TypeError)],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], client: Client) -> None:
    """Bad options raise where the thread is made, not later on it."""
    with pytest.raises(error):
        new(client, **options)
