"""No verb waits for ever: each phase of it has its limit, and ends when it is cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import attrs
import psutil
import pytest

from kwsync import CancelledError, CancelToken, Client, Cluster, ErrorOrigin, ErrorType, WatchError
from kwsync.credentials import AuthContext, Authorization
from kwsync.testing import (
    Blackhole,
    Call,
    Head,
    Http,
    List,
    NoHead,
    ProxyServer,
    Raw,
    Repeat,
    ScriptedServer,
    Stall,
    Step,
    pod,
    status,
)
from kwsync.testing._server import LoopbackServer
from tests.client.support import LIMIT, Running, client_of, failure, wait_until

LONG: dict[str, Any] = {"connect_timeout": 30.0, "request_timeout": 30.0}
SOON = 0.5
"""Seconds within which a call has to end once it is told to: ten times what a plain event may take by the design."""


@attrs.frozen
class Waiting:
    """A server that keeps a client waiting, the call that waits, and how to know that it does."""

    cluster: Cluster
    call: Callable[[Client, dict[str, Any]], object]
    reached: Callable[[], object]
    credential: Any = None


def get(client: Client, options: dict[str, Any]) -> object:
    return client.get("pods", "a", "ns", **options)


def post_large(client: Client, options: dict[str, Any]) -> object:
    return client.create("pods", pod("a", text="x" * 32_000_000), **options)


def get_list(client: Client, options: dict[str, Any]) -> object:
    return client.list("pods", **options)


def get_pages(client: Client, options: dict[str, Any]) -> object:
    return list(client.list_pages("pods", **options))


def discover(client: Client, options: dict[str, Any]) -> object:
    return client.discover("widgets", **options)


def get_unknown(client: Client, options: dict[str, Any]) -> object:
    return client.get("widgets", "a", "ns", **options)


def has_connection(server: LoopbackServer, state: str) -> Callable[[], object]:
    """Has this process a connection to the server in this state?"""
    wanted, process = (("127.0.0.1", server.port), state), psutil.Process()
    return lambda: wanted in [(one.raddr, one.status) for one in process.net_connections()]


def answered(*steps: Step, call: Callable[[Client, dict[str, Any]], object] = get, requests: int = 1) -> Any:
    """A phase behind the connection: it is reached when the steps before the wait are done."""

    def begin(stack: ExitStack) -> Waiting:
        reached = threading.Event()
        server = stack.enter_context(ScriptedServer())
        for number in range(1, requests):
            server.add(List("9", [pod(f"p{number}")], cont=f"after-{number}"))
        server.default = (*steps[:-1], Call(lambda _: reached.set()), steps[-1])
        return Waiting(Cluster(server.url), call, reached.is_set)

    return begin


def connecting(stack: ExitStack) -> Waiting:
    server = stack.enter_context(ScriptedServer(connect_stall=True))
    return Waiting(Cluster(server.url), get, has_connection(server, "SYN_SENT"))


def handshake(stack: ExitStack) -> Waiting:
    server = stack.enter_context(ScriptedServer(handshake_stall=True))
    return Waiting(Cluster(server.url, skip_tls_verify=True), get, lambda: server.connections_accepted)


def proxy(stack: ExitStack) -> Waiting:
    server = stack.enter_context(ProxyServer(stall=True))
    cluster = Cluster("https://api.example.test", proxy_url=server.url)
    return Waiting(cluster, get, lambda: server.requests)


def sending(stack: ExitStack) -> Waiting:
    server = stack.enter_context(ScriptedServer(accept=False))
    return Waiting(Cluster(server.url), post_large, has_connection(server, "ESTABLISHED"))


def asking_the_credential(stack: ExitStack) -> Waiting:
    server = stack.enter_context(ScriptedServer())
    credential = Patient()
    return Waiting(Cluster(server.url), get, credential.asked.is_set, credential)


class Patient:
    """A credential that never comes, but looks after each little wait whether it should go on waiting."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def authorize(self, context: AuthContext) -> Authorization:
        pause = threading.Event()
        while True:
            context.remaining()
            self.asked.set()
            pause.wait(0.01)

    def refresh(self, rejected: Authorization) -> bool:
        return False


DRIP = Repeat([Raw(b" "), Stall(0.02)], 1000)
ERROR = Head(500, {"Content-Type": "text/plain"})

PHASES = {
    "connecting": connecting,
    "handshake": handshake,
    "proxy": proxy,
    "credential": asking_the_credential,
    "sending": sending,
    "head": answered(NoHead()),
    "body": answered(Head(), Stall()),
    "half-body": answered(Head(), Raw(b'{"kind":'), Stall()),
    "dripping": answered(Head(), DRIP),
    "length": answered(Http(200, b"{", {"Content-Length": "99"}), Stall()),
    "error-body": answered(ERROR, Raw(b"half"), Stall()),
    "unread": answered(Blackhole()),
    "list": answered(NoHead(), call=get_list),
    "second-page": answered(NoHead(), call=get_list, requests=2),
    "pages": answered(Head(), Stall(), call=get_pages, requests=3),
    "discovery": answered(NoHead(), call=discover),
    "name": answered(NoHead(), call=get_unknown),
}


@pytest.fixture(params=PHASES)
def waiting(request: pytest.FixtureRequest) -> Iterator[Waiting]:
    """Each phase in which a verb may have to wait."""
    with ExitStack() as stack:
        yield PHASES[request.param](stack)


class TestTimeout:
    def test_of_call(self, waiting: Waiting) -> None:
        """timeout= ends the call as a whole, in whichever phase it waits: an error TIMEOUT, with no status."""
        with Client(waiting.cluster, waiting.credential, **LONG) as client:
            start = time.monotonic()
            error = failure(lambda: waiting.call(client, {"timeout": 0.25}))
            took = time.monotonic() - start
        assert (error.origin, error.status_code) == (ErrorOrigin.TIMEOUT, 0)
        assert error.error_type is ErrorType.SYSTEM_ERROR
        assert error.resource_path.startswith("/api")
        assert 0.25 <= took < 0.25 + SOON

    def test_of_client(self, waiting: Waiting) -> None:
        """request_timeout is the same for every call of a client that has no timeout= of its own."""
        with Client(waiting.cluster, waiting.credential, request_timeout=0.2) as client:
            start = time.monotonic()
            assert failure(lambda: waiting.call(client, {})).origin is ErrorOrigin.TIMEOUT
            assert time.monotonic() - start < 0.2 + SOON

    @pytest.mark.parametrize("phase", ["connecting", "handshake", "proxy"])
    def test_of_connection(self, phase: str) -> None:
        """connect_timeout ends these three phases, however long the call may take."""
        with ExitStack() as stack:
            waiting = PHASES[phase](stack)
            client = stack.enter_context(Client(waiting.cluster, connect_timeout=0.2, request_timeout=30.0))
            start = time.monotonic()
            assert failure(lambda: get(client, {})).origin is ErrorOrigin.TIMEOUT
            assert time.monotonic() - start < 0.2 + SOON

    def test_of_all_pages(self, server: ScriptedServer) -> None:
        """timeout= of a list counts for all pages, and for the second reading when they expire."""
        expired = Http(410, status(410, "Expired"))
        server.add(List("9", [pod("a")], cont="more"))
        server.add(Stall(0.3), expired)
        server.add(Stall(0.3), List("9", []))
        with client_of(server) as client:
            start = time.monotonic()
            error = failure(lambda: client.list("pods", timeout=0.45))
            assert time.monotonic() - start < 0.6
        assert error.origin is ErrorOrigin.TIMEOUT
        assert len(server.requests) == 3

    def test_of_each_page(self, server: ScriptedServer) -> None:
        """request_timeout of a list counts for each page: many pages may take longer."""
        for token in ("one", "two", None):
            server.add(Stall(0.15), List("9", [pod("a")], cont=token))
        with client_of(server, request_timeout=0.3) as client:
            assert len(client.list("pods")) == 3

    def test_next_request(self, server: ScriptedServer) -> None:
        """After a timeout the connection is not used again, and the client goes on."""
        server.add(NoHead())
        server.add(Http(200, pod("a")))
        with client_of(server) as client:
            failure(lambda: get(client, {"timeout": 0.1}))
            assert get(client, {}) == pod("a")
        assert [request.connection_id for request in server.requests] == [1, 2]


@pytest.mark.parametrize("make", [CancelToken, threading.Event])
class TestCancel:
    def test_in_every_phase(self, waiting: Waiting, make: Callable[[], threading.Event]) -> None:
        """Setting cancel= ends the call with CancelledError, a WatchError, in whichever phase it waits."""
        cancel = make()
        with Client(waiting.cluster, waiting.credential, **LONG) as client:
            running = Running(lambda: waiting.call(client, {"cancel": cancel}))
            wait_until(waiting.reached, "the phase")
            start = time.monotonic()
            cancel.set()
            error = running.error(LIMIT)
            took = time.monotonic() - start
        assert isinstance(error, CancelledError)
        assert isinstance(error, WatchError)
        assert error.resource_path.startswith("/api")
        assert took < SOON

    @pytest.mark.parametrize("call", [get, get_list, get_pages, discover, get_unknown, post_large])
    def test_before(self, server: ScriptedServer, make: Callable[[], threading.Event], call: Any) -> None:
        """Set before the call, nothing is sent and nothing connected."""
        cancel = make()
        cancel.set()
        with client_of(server) as client, pytest.raises(CancelledError):
            call(client, {"cancel": cancel})
        assert server.connections_accepted == 0

    def test_between_pages(self, server: ScriptedServer, client: Client, make: Callable[[], threading.Event]) -> None:
        """Set between two pages, the next one is not asked for."""
        server.default = (List("9", [pod("a")], cont="more"),)
        cancel = make()
        pages = client.list_pages("pods", cancel=cancel)
        next(pages)
        cancel.set()
        with pytest.raises(CancelledError):
            next(pages)
        assert len(server.requests) == 1

    def test_others_go_on(self, server: ScriptedServer, client: Client, make: Callable[[], threading.Event]) -> None:
        """Cancelling one call leaves another of the same client alone."""
        release = threading.Event()
        server.add(NoHead())
        server.add(Call(lambda _: release.wait(LIMIT)), Http(200, pod("a")))
        cancel = make()
        first = Running(lambda: get(client, {"cancel": cancel}))
        server.wait_for_requests(1)
        second = Running(lambda: get(client, {}))
        server.wait_for_requests(2)
        cancel.set()
        assert isinstance(first.error(), CancelledError)
        release.set()
        assert second.result() == pod("a")


@pytest.mark.parametrize("phase", ["connecting", "handshake", "proxy", "head", "half-body"])
def test_cancelled_at_any_moment(phase: str) -> None:
    """Whenever a call is cancelled, between two phases as well, it leaves no socket behind."""
    pause = threading.Event()
    with ExitStack() as stack:
        waiting = PHASES[phase](stack)
        client = stack.enter_context(Client(waiting.cluster, **LONG))
        for number in range(40):
            cancel = CancelToken()
            running = Running(lambda cancel=cancel: waiting.call(client, {"cancel": cancel}))  # type: ignore[misc]
            pause.wait(number * 0.0002)
            cancel.set()
            assert isinstance(running.error(), CancelledError)
