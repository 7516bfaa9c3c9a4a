"""What is outside of a watch stays out of it: the caller's exceptions, signal handlers, a system short of threads."""

from __future__ import annotations

import logging
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

from kwsync import (
    CancelledError,
    CancelToken,
    Client,
    Cluster,
    EndReason,
    ErrorOrigin,
    WatchError,
    WatchThread,
    watch_resource,
)
from kwsync.credentials import AuthContext, Authorization, BearerToken
from kwsync.testing import (
    Call,
    End,
    Event,
    Head,
    Head1,
    Http,
    List,
    NoHead,
    Raw,
    Reply,
    Rst,
    Stall,
    StallUntil,
    Step,
    pod,
    status,
)
from tests.watch.support import SOON, outcome_of, served, watched

SECRET = "made-up-secret"
REFUSED = Cluster("http://127.0.0.1:1")


def watch_error(client: Client) -> WatchError:
    """The error of a watch."""
    return outcome_of(watch_resource("pods", client=client)).error


def verb_error(client: Client) -> WatchError:
    """The error of a verb."""
    with pytest.raises(WatchError) as caught:
        client.list("pods")
    return caught.value


class TestCallersException:
    @pytest.mark.parametrize("ask", [watch_error, verb_error])
    @pytest.mark.parametrize("outside", [KeyError("k"), TimeoutError("late"), watch_error(Client(REFUSED))], ids=repr)
    def test_says_nothing_of_ours(self, ask: Callable[[Client], WatchError], outside: Exception) -> None:
        """Asked while another exception is handled, an error is the same, and that exception keeps its traceback."""
        with Client(REFUSED) as client:
            plain = ask(client)
            try:
                raise outside
            except type(outside):
                found = ask(client)
        assert (found.origin, found.message) == (plain.origin, plain.message) == (ErrorOrigin.NETWORK, plain.message)
        assert outside.__traceback__ is not None
        assert outside is not found.__cause__

    def test_while_events_flow(self) -> None:
        """The same for trouble that comes in a later `next()` than the first."""
        with served([Head(), Event("ADDED", pod("a")), Rst()]) as (_, client):
            stream = watch_resource("pods", client=client)
            assert next(stream).key.name == "a"
            try:
                raise KeyError("k")
            except KeyError as caught:
                error, outside = outcome_of(stream).error, caught
        assert outside.__traceback__ is not None
        assert (error.origin, error.message == "k") == (ErrorOrigin.NETWORK, False)


class TestSecrets:
    @pytest.mark.parametrize("kind", ["cancel", "timeout"])
    def test_no_frame_holds_the_request(self, kind: str) -> None:
        """A verb that is ended tells no local variable of the request that it was ended in: no token to be found."""
        token = CancelToken()
        script: list[Step] = [Call(lambda _: token.set()), NoHead()] if kind == "cancel" else [NoHead()]
        with served(script, credential=BearerToken(SECRET)) as (_, client), pytest.raises(WatchError) as caught:
            client.get("pods", "a", "ns", cancel=token, timeout=SOON if kind == "cancel" else 0.2)
        assert isinstance(caught.value, CancelledError) == (kind == "cancel")
        shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        below = caught.value.__context__
        assert SECRET not in "".join(shown.format(chain=True))
        assert below is None or below.__traceback__ is None

    def test_exception_of_a_credential(self) -> None:
        """What a user's credential raises is told by its type alone: its text and frames may hold the secret."""

        class Talkative:
            def authorize(self, context: AuthContext) -> Authorization:
                raise ValueError(f"{SECRET} was refused")

            def refresh(self, rejected: Authorization) -> bool:
                return False

        with served(credential=Talkative()) as (_, client):
            error = outcome_of(watch_resource("pods", client=client)).error
        assert "ValueError" in error.message
        assert SECRET not in "".join(traceback.format_exception(error))


@contextmanager
def on_alarm(handler: Callable[[], object]) -> Iterator[Callable[[object], None]]:
    """Gives a function that interrupts the main thread, which then runs *handler*."""

    def run(_number: int, _frame: FrameType | None) -> None:
        handler()

    before = signal.signal(signal.SIGUSR1, run)
    try:
        main = threading.main_thread().ident
        assert main is not None
        # To this thread: a signal to the process may go to any, and then leaves this one waiting in its system call.
        yield lambda _: signal.pthread_kill(main, signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


class TestSignalHandler:
    @pytest.mark.parametrize("where", ["headers", "body"])
    @pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit], ids=lambda kind: kind.__name__)
    def test_that_cancels_and_raises(self, where: str, raised: type[BaseException]) -> None:
        """What a handler raises comes out of `next()`, also when the handler has ended the watch before."""
        token = CancelToken()

        def handle() -> None:
            token.set()
            raise raised

        with on_alarm(handle) as interrupt:
            head: list[Step] = [] if where == "headers" else [Head(), Event("ADDED", pod("a"))]
            with served([*head, Call(interrupt), Stall()]) as (_, client):
                stream = watch_resource("pods", client=client, cancel=token)
                with pytest.raises(raised):
                    list(stream)
        assert stream.end is not None
        assert stream.end.reason is EndReason.CANCELLED


class TestPlainEvent:
    @pytest.mark.parametrize("head", [[], [Head()], [Head1()]], ids=["no-head", "chunked", "unframed"])
    def test_set_before_trouble(self, head: list[Step]) -> None:
        """Trouble right after the event was set is no error, though nobody has polled the event yet."""
        event = threading.Event()
        for _ in range(20):
            event.clear()
            outcome = watched(*head, Call(lambda _: event.set()), Rst(), cancel=event)
            assert (outcome.events, outcome.end.reason) == ([], EndReason.CANCELLED)


class TestShortOfThreads:
    @pytest.fixture(autouse=True)
    def no_thread(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The system has no thread for kwsync; the servers of the test have theirs."""
        start = threading.Thread.start

        def refuse(thread: threading.Thread) -> None:
            if thread.name.startswith("kwsync-") and not thread.name.startswith("kwsync-testing"):
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", refuse)

    @pytest.mark.parametrize("why", ["lookup", "poller"])
    def test_watch(self, why: str) -> None:
        """A watch that needs a thread which is not to be had is an ERROR like any other trouble."""
        cluster = Cluster("http://localhost:1") if why == "lookup" else REFUSED
        cancel = None if why == "lookup" else threading.Event()
        with Client(cluster) as client:
            error = outcome_of(watch_resource("pods", client=client, cancel=cancel)).error
        assert (error.origin, "no further thread" in error.message) == (ErrorOrigin.NETWORK, True)

    def test_watch_thread(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A WatchThread that could not be started may be started later."""
        ends: list[object] = []
        thread = WatchThread("pods", client=Client(REFUSED), reconnect=False, on_end=ends.append)
        with pytest.raises(RuntimeError, match="can't start"):
            thread.start()
        assert (thread.is_alive(), thread.join(0)) == (False, True)
        monkeypatch.undo()
        thread.start()
        assert thread.join(SOON), "the thread did not end"
        assert ends == [thread.end]


def test_huge_timeout() -> None:
    """A time that the system's calls cannot count in is no error."""
    outcome = watched(Head(), Event("ADDED", pod("a")), End(), timeout_seconds=10**12)
    assert outcome.names == ["a"]


@pytest.mark.parametrize("rest", [b'{"type":"ERROR"}', b'{"type":"ERROR","object":null}'], ids=["none", "null"])
def test_error_at_the_end_without_object(rest: bytes) -> None:
    """An ERROR without an object is told also where its line lacks its end."""
    outcome = watched(Head(), Raw(rest), End())
    assert (outcome.types, outcome.error.status_code) == (["ERROR"], 500)


def test_failure_that_says_200() -> None:
    """A verb that gets a Status of a failure with HTTP 200 raises it, as a watch tells it."""
    with served([Http(200, status(403, "Forbidden", "no"))]) as (_, client), pytest.raises(WatchError) as caught:
        client.get("pods", "a", "ns")
    assert (caught.value.status_code, caught.value.reason) == (403, "Forbidden")


def test_discovered_once() -> None:
    """A name that only the server knows is asked for once, and again after something was not found."""
    crontabs = {"name": "crontabs", "singularName": "", "kind": "CronTab", "namespaced": True}
    groups = {"groups": [{"name": "x.test", "versions": [{"version": "v1", "groupVersion": "x.test/v1"}]}]}

    def answer(request: Any) -> list[Step]:
        known: dict[str, Any] = {
            "/api": {"kind": "APIVersions", "versions": []},
            "/apis": {"kind": "APIGroupList", **groups},
            "/apis/x.test/v1": {"kind": "APIResourceList", "resources": [crontabs]},
        }
        if request.path in known:
            return [Http(200, known[request.path])]
        return [List("1", [])] if "limit" in request.query else [Http(404, status(404, "NotFound"))]

    with served() as (server, client):
        server.default = (Reply(answer),)
        client.list("crontabs", "ns")
        client.list("crontabs", "ns")
        assert [request.path for request in server.requests].count("/apis") == 1
        with suppress(WatchError):
            client.get("crontabs", "a", "ns")
        client.list("crontabs", "ns")
        assert [request.path for request in server.requests].count("/apis") == 2


@pytest.mark.parametrize("listens", [None, "on_event", "on_error"])
def test_nobody_listens(listens: str | None, caplog: pytest.LogCaptureFixture) -> None:
    """An error of a thread that has no callback for errors is logged, once; else the callback has it."""
    told: list[Any] = []
    callbacks: dict[str, Any] = {} if listens is None else {listens: told.append}
    with caplog.at_level(logging.WARNING, "kwsync"), Client(REFUSED) as client:
        thread = WatchThread("pods", client=client, reconnect=False, **callbacks)
        thread.start()
        assert thread.join(SOON), "the thread did not end"
    logged = [record for record in caplog.records if "refused" in record.getMessage()]
    assert (len(logged), len(told)) == ((1, 0) if listens is None else (0, 1))


def test_not_healthy_before_an_answer() -> None:
    """A thread is healthy when its server has answered, and not while it waits for that."""
    asked, go_on = threading.Event(), threading.Event()
    script = [Call(lambda _: asked.set()), StallUntil(go_on), Head(), Event("ADDED", pod("a")), Stall()]
    with served(script) as (_, client):
        added = threading.Event()
        with WatchThread("pods", client=client, reconnect=False, on_added=lambda _: added.set()) as thread:
            assert asked.wait(SOON), "no request came"
            assert (thread.is_alive(), thread.healthy()) == (True, False)
            go_on.set()
            assert added.wait(SOON), "no event came"
            assert thread.healthy()
        assert not thread.healthy()
