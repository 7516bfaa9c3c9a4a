"""Set-up for the tests of ending things: servers that are stuck in one phase, and watches that wait in it."""

from __future__ import annotations

import functools
import inspect
import os
import pickle
import signal
import socket
import ssl
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, TypeVar

import pytest

import kwsync
from kwsync import CancelToken, Client, Cluster, EndReason, WatchEnd, WatchEvent, WatchStream, WatchThread
from kwsync.testing import (
    Blackhole,
    CutChunk,
    Event,
    Head,
    Head1,
    Http,
    NoHead,
    ProxyServer,
    Raw,
    ScriptedServer,
    Stall,
    Step,
    TestCA,
    pod,
)
from tests.leaks import describe, open_sockets

_T = TypeVar("_T")

LIMIT = 10.0
"""No wait here lasts longer, in seconds; one that does fails its test."""

AT_ONCE = 1.0
"""What "at once" may take at most on a busy machine. (It takes about a millisecond.)"""

JOINING = "threading.join threading._wait_for_tstate_lock"
"""Where a thread stands that joins another, for `waits_in`."""

POLLED = 0.1 + 0.5
"""A plain event is noticed within 100 ms; the rest is for a busy machine."""

KWSYNC = os.path.dirname(kwsync.__file__)

WAYS = ["token", "event", "close", "stop"]
REASONS = {
    "token": EndReason.CANCELLED,
    "event": EndReason.CANCELLED,
    "close": EndReason.CLOSED,
    "stop": EndReason.CLOSED,
}

latencies: dict[str, list[float]] = {}
"""Seconds from the act to the end of the loop, by the way to end it; tests/cancel/conftest.py reports them."""


def record(what: str, seconds: float) -> None:
    """Note how long something took."""
    latencies.setdefault(what, []).append(seconds)


# Waiting


def wait_until(predicate: Callable[[], bool], what: str, limit: float = LIMIT) -> None:
    """Look again and again; AssertionError after *limit* seconds."""
    end = time.monotonic() + limit
    pause = threading.Event()
    while not predicate():
        assert time.monotonic() < end, f"waited {limit} s for {what}"
        pause.wait(0.001)


def waits_in(thread: int | None, functions: str) -> bool:
    """Is the thread of this identity in one of these functions (``module.function``, with spaces between)?"""
    frame = sys._current_frames().get(thread or 0)
    if frame is None:
        return False
    code = frame.f_code
    return f"{Path(code.co_filename).stem}.{code.co_name}" in functions.split() and _sleeps(thread)


def _sleeps(identity: int | None) -> bool:
    """Does the system let the thread sleep? True where it does not tell."""
    number = next((thread.native_id for thread in threading.enumerate() if thread.ident == identity), None)
    try:
        return Path(f"/proc/self/task/{number}/stat").read_text().rpartition(")")[2].split()[0] == "S"
    except OSError:
        return not Path("/proc/self/task").exists()


def join(thread: threading.Thread, limit: float = LIMIT) -> None:
    """Join a thread; AssertionError with its stack when it does not end in time."""
    thread.join(limit)
    if thread.is_alive():
        frame = sys._current_frames().get(thread.ident or 0)
        stack = "".join(traceback.format_stack(frame)) if frame else ""
        raise AssertionError(f"{thread.name} did not end within {limit} s:\n{stack}")


@contextmanager
def in_background(work: Callable[[], object], name: str = "background") -> Iterator[threading.Thread]:
    """Run *work* on a thread for the length of the block, which waits for it; what it raises is raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is seen
            raised.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        join(thread)
    for error in raised:
        raise error


# Servers and clients


@functools.cache
def authority() -> TestCA:
    """One for all tests; making it takes a while."""
    return TestCA()


@functools.cache
def server_context() -> ssl.SSLContext:
    """The TLS of all servers here."""
    return authority().server_context()


def client_of(server: str, **options: Any) -> Client:
    """A client that trusts the servers here."""
    return Client(Cluster(server, ca_data=authority().pem if server.startswith("https") else None, **options))


@contextmanager
def serving(
    *scripts: Step | Sequence[Step], secure: bool = False, **options: Any
) -> Iterator[tuple[ScriptedServer, Client]]:
    """A scripted server, with TLS where it shall be secure, and a client for it; both are closed."""
    if secure:
        options.setdefault("tls", server_context())
    with ScriptedServer(*scripts, **options) as server, client_of(server.url) as client:
        yield server, client


# Phases


class Scene(NamedTuple):
    """A place where a watch gets stuck."""

    client: Client
    server: ScriptedServer | ProxyServer | None
    """Who sees the watch's connection; None where there is no connection to see."""
    events: int = 0
    """Events that come before."""
    resource: str = "pods"
    ports: tuple[int, ...] = ()
    """Of the servers, which are in this process, too."""
    ready: Callable[[], bool] = lambda: True
    """Has the watch come as far as the servers know?"""

    def holds(self, thread: int | None, functions: str) -> bool:
        """Is the thread of this identity stuck here?"""
        return self.ready() and waits_in(thread, functions)


@dataclass(frozen=True)
class Phase:
    """A phase of a watch that never ends by itself."""

    name: str
    scene: Callable[[bool], AbstractContextManager[Scene]]
    functions: str
    """Where the reading thread stands while it waits."""
    secure: bool

    def __str__(self) -> str:
        return f"{self.name}-{'tls' if self.secure else 'plain'}"

    def open(self) -> AbstractContextManager[Scene]:
        """Set the scene."""
        return self.scene(self.secure)


def _scripted(*script: Step, events: int = 0, resource: str = "pods", warm: bool = False, **options: Any) -> Any:
    @contextmanager
    def scene(secure: bool) -> Iterator[Scene]:
        scripts = [[Http(200, {})], list(script)] if warm else [list(script)]
        with serving(*scripts, secure=secure, **options) as (server, client):
            if warm:
                client.request("GET", "/version")
            seen_by = None if options.get("connect_stall") else server
            yield Scene(client, seen_by, events, resource, (server.port,))

    return scene


@contextmanager
def _lookup(secure: bool) -> Iterator[Scene]:
    """A resolver that does not answer; the only thing that is patched, for no name server is in our hands."""
    released = threading.Event()
    ask = socket.getaddrinfo

    def hang(host: str, port: int, **options: int) -> Any:
        if not options.get("flags", 0) & socket.AI_NUMERICHOST:
            assert released.wait(LIMIT * 3), "nobody released the name lookup"
            raise socket.gaierror(socket.EAI_NONAME, "released")
        return ask(host, port, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", hang)
        try:
            with client_of(f"http{'s' if secure else ''}://no-such-host.invalid") as client:
                yield Scene(client, None)
        finally:
            released.set()
            for thread in threading.enumerate():
                if thread.name == "kwsync-lookup":
                    join(thread)


@contextmanager
def _proxy(secure: bool, target: tuple[str, int] | None = None) -> Iterator[Scene]:
    """A proxy that does not answer a CONNECT, or with a *target* answers and leads there; secure: an HTTPS proxy."""
    tls = server_context() if secure else None
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("SSL_CERT_FILE", str(_authority_file()))  # such a proxy is trusted as the system trusts
        proxy = stack.enter_context(ProxyServer(target, stall=target is None, tls=tls))
        client = stack.enter_context(client_of("https://127.0.0.1:1", proxy_url=proxy.url))
        yield Scene(client, proxy, ports=(proxy.port,))


@functools.cache
def _authority_file() -> Path:
    import tempfile

    return authority().write(Path(tempfile.mkdtemp(prefix="kwsync-tests-")))


@contextmanager
def _inner_handshake(secure: bool) -> Iterator[Scene]:
    with ScriptedServer(handshake_stall=True) as server, _proxy(secure, ("127.0.0.1", server.port)) as scene:
        yield scene._replace(ports=(*scene.ports, server.port), ready=lambda: server.connections_accepted > 0)


_EVENT = Event("ADDED", pod("first", "1"))
_HALF_LINE = Raw(b'{"type":"ADDED","object":{"metadata"')
_CUT_ERROR = Http(500, b"{", {"Content-Length": "1000"})

_READING = "_sockets._guarded ssl.read"
_SCENES: list[tuple[str, Any, str, list[bool]]] = [
    ("lookup", _lookup, "_cancel.wait", [False]),
    ("connect", _scripted(connect_stall=True), "_sockets._connect", [False, True]),
    ("proxy", _proxy, _READING, [False, True]),
    ("handshake", _scripted(handshake_stall=True), "ssl.do_handshake", [True]),
    ("handshake-in-tunnel", _inner_handshake, "ssl.do_handshake _sockets._guarded ssl.read", [False, True]),
    ("headers", _scripted(NoHead()), _READING, [False, True]),
    ("headers-reused", _scripted(NoHead(), warm=True), _READING, [False, True]),
    ("deaf", _scripted(Blackhole()), _READING, [False, True]),
    ("discovery", _scripted(NoHead(), resource="widgets"), _READING, [False, True]),
    ("chunks", _scripted(Head(), _EVENT, Stall(), events=1), _READING, [False, True]),
    ("unframed", _scripted(Head1(), _EVENT, Stall(), events=1), _READING, [False, True]),
    (
        "line",
        _scripted(Head(), _EVENT, _HALF_LINE, Stall(), events=1),
        _READING,
        [False, True],
    ),
    (
        "unframed-line",
        _scripted(Head1(), _EVENT, _HALF_LINE, Stall(), events=1),
        _READING,
        [False, True],
    ),
    (
        "chunk",
        _scripted(Head(), _EVENT, CutChunk(b'{"ty', 99), Stall(), events=1),
        _READING,
        [False, True],
    ),
    ("error-body", _scripted(_CUT_ERROR, Stall()), _READING, [False, True]),
]

PHASES = [Phase(name, scene, functions, secure) for name, scene, functions, both in _SCENES for secure in both]

each_phase = pytest.mark.parametrize("phase", PHASES, ids=str)
each_way = pytest.mark.parametrize("way", WAYS)
plain_and_tls = pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])


# Watches


class Watching:
    """A watch that runs on a thread, and one way to end it.

    *way*: a set `CancelToken`, a set plain event, `WatchStream.close` or `WatchThread.stop`. *on_event* runs on the
    watch's thread.
    """

    def __init__(
        self,
        client: Client,
        way: str,
        resource: str = "pods",
        on_event: Callable[[WatchEvent], object] = lambda event: None,
        **options: Any,
    ) -> None:
        self.events: list[WatchEvent] = []
        self.ends: list[WatchEnd] = []
        self.error: BaseException | None = None
        """What the loop raised."""
        self.ended_at = 0.0
        """On the clock of `time.perf_counter`."""
        self.way = way
        self._on_event = on_event
        kinds: dict[str, type[threading.Event]] = {"token": CancelToken, "event": threading.Event}
        self._cancel = kinds[way]() if way in kinds else None
        options = {"client": client, "cancel": self._cancel, **options}
        self.watch: WatchStream | WatchThread
        self._thread: threading.Thread | None = None
        if way == "stop":
            self.watch = WatchThread(
                resource,
                reconnect=False,
                on_event=self._got,
                on_end=self._ended,
                thread_name="watching",
                **options,
            )
        else:
            self.watch = kwsync.watch_resource(resource, **options)

    def start(self) -> None:
        """Start to read."""
        if isinstance(self.watch, WatchThread):
            self.watch.start()
            self._thread = next((each for each in threading.enumerate() if each.name == "watching"), None)
        else:
            self._thread = threading.Thread(target=self._read, name="watching", daemon=True)
            self._thread.start()

    def wait_in(self, phase: Phase, scene: Scene) -> None:
        """Wait until the watch is stuck in the phase."""
        self.wait_for(scene.events)
        identity = self._thread.ident if self._thread is not None else None
        wait_until(lambda: scene.holds(identity, phase.functions), f"the watch to wait in {phase}")

    def wait_for(self, events: int) -> None:
        """Wait until so many events have come."""
        wait_until(lambda: len(self.events) >= events, f"{events} events")

    def end(self) -> float:
        """End the watch; the time before it, on the clock of `time.perf_counter`. May be called in a signal handler."""
        before = time.perf_counter()
        if self._cancel is not None:
            self._cancel.set()
        elif isinstance(self.watch, WatchThread):
            self.watch.stop()
        else:
            self.watch.close()
        return before

    def finish(self) -> None:
        """Wait for the end; AssertionError when there was an exception, or an error among the events."""
        if self._thread is not None:
            join(self._thread)
        assert self.error is None, f"the loop raised {self.error!r}"
        assert [event.error for event in self.events if event.error is not None] == []

    def _read(self) -> None:
        assert isinstance(self.watch, WatchStream)
        try:
            for event in self.watch:
                self._got(event)
            assert self.watch.end is not None
            self._ended(self.watch.end)
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def _got(self, event: WatchEvent) -> None:
        self.events.append(event)
        self._on_event(event)

    def _ended(self, end: WatchEnd) -> None:
        self.ended_at = time.perf_counter()
        self.ends.append(end)


# Signals


@contextmanager
def handling(number: int, handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Handle a signal for the length of the block."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextmanager
def interrupting(number: int, ready: Callable[[], bool]) -> Iterator[list[float]]:
    """Send this thread a signal as soon as *ready* says so; the list gets the time, as of `time.perf_counter`."""
    target = threading.get_ident()
    sent: list[float] = []

    def send() -> None:
        wait_until(ready, "the moment for the signal")
        # CPython loses sight of a signal that comes between its last look and the system call that then waits.
        threading.Event().wait(0.002)
        wait_until(ready, "the moment for the signal")
        sent.append(time.perf_counter())
        signal.pthread_kill(target, number)

    with in_background(send):
        yield sent


class Point:
    """A moment of an operation in which CPython may run a signal handler.

    Such moments are the beginning of a function, and the return from a function that is written in C.
    """

    def __init__(self, number: int, inside: str) -> None:
        self.acted = False
        """Has the operation come so far?"""
        self._number = number
        self._inside = inside

    def __repr__(self) -> str:
        return f"point {self._number}"

    def act(self, action: Callable[[], object], operation: Callable[[], _T]) -> _T:
        """Run *operation*, and *action* at this point of it, as a signal handler would."""
        passed = -1

        def look(frame: FrameType, event: str, argument: object) -> None:
            nonlocal passed
            if _is_point(frame, event) and frame.f_code.co_filename.startswith(self._inside):
                passed += 1
                if passed == self._number:
                    self.acted = True
                    action()

        sys.setprofile(look)
        try:
            return operation()
        finally:
            sys.setprofile(None)


def _is_point(frame: FrameType, event: str) -> bool:
    # In CPython 3.10 a profiler, unlike a signal handler, sees a generator begin before it is marked as running, and
    # closing it there crashes the interpreter.
    if event == "call" and frame.f_code.co_flags & inspect.CO_GENERATOR:
        return sys.version_info >= (3, 11)
    return event in ("call", "c_return")


def points(inside: str = KWSYNC, step: int = 1) -> Iterator[Point]:
    """The points of an operation that is repeated for each, in files whose paths begin with *inside*."""
    point = Point(0, inside)
    while True:
        yield point
        if not point.acted:
            break
        point = Point(point._number + step, inside)
    assert point._number > 0, f"the operation never came to {inside}"


# Forks


def in_child(work: Callable[[], Any]) -> Any:
    """Fork, and run *work* in the child; its result, or AssertionError with what it raised.

    The child has `LIMIT` seconds, and ends without cleaning up: all it has belongs to the parent.
    """
    receiver, sender = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there are threads: that is the point
        child = os.fork()
    if child == 0:
        _be_the_child(work, sender)
    os.close(sender)
    with os.fdopen(receiver, "rb") as results:
        killer = threading.Timer(LIMIT, os.kill, (child, signal.SIGKILL))
        killer.start()
        answer = results.read()
        os.waitpid(child, 0)
        killer.cancel()
        killer.join()
    assert answer, f"the child hung for {LIMIT} s, or died"
    succeeded, result = pickle.loads(answer)
    assert succeeded, f"in the child:\n{result}"
    return result


def _be_the_child(work: Callable[[], Any], sender: int) -> None:
    try:
        answer = pickle.dumps((True, work()))
    except BaseException:  # noqa: BLE001 - the parent raises it
        answer = pickle.dumps((False, traceback.format_exc()))
    try:
        os.write(sender, answer)
    finally:
        os._exit(0)


def inherited_sockets(before: dict[tuple[int, int], int], ports: tuple[int, ...]) -> list[str]:
    """The sockets newer than *before*, except for those that servers and a proxy on these ports have.

    The first port is what kwsync connects to, the second what a proxy does.
    """
    new = [describe(descriptor) for identity, descriptor in open_sockets().items() if identity not in before]
    theirs = [f"laddr=('127.0.0.1', {port})" for port in ports]
    theirs += [f"raddr=('127.0.0.1', {port})" for port in ports[1:]]
    return [text for text in new if not any(part in text for part in theirs)]
