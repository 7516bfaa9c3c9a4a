"""`ApiServer`: the facade over the rooms of this folder."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from datetime import datetime

from kwsync.testing._connection import Connection
from kwsync.testing._request import Request
from kwsync.testing._server import Answer, LoopbackServer
from kwsync.testing._tls import TestCA
from kwsync.testing.apiserver import _recovery
from kwsync.testing.apiserver._access import Access
from kwsync.testing.apiserver._answering import answer_request
from kwsync.testing.apiserver._api import Api, Settings
from kwsync.testing.apiserver._bounds import Bounds
from kwsync.testing.apiserver._checks import as_version, check_bounds, check_period, check_seconds, check_whole
from kwsync.testing.apiserver._faults import Fault, FaultRule, Faults
from kwsync.testing.apiserver._objects import Objects
from kwsync.testing.apiserver._recent import RecentRequests
from kwsync.testing.apiserver._status import BODY_LIMIT
from kwsync.testing.apiserver._users import Users

Path = str | Callable[[Request], object] | None


class ApiServer(Objects, Users, LoopbackServer):
    """A Kubernetes API server in memory, on a socket of 127.0.0.1.

        with ApiServer() as server, server.client() as client:
            server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
            print(client.list("configmaps", "default"))

    It knows the built-in kinds of Kubernetes 1.36 and learns others from CustomResourceDefinitions. At first it holds
    four namespaces and nothing else. Every method may be called from any thread; several servers do not know each
    other. Leaving the `with` block stops it and raises the first exception that its own threads met.

    `requests` has the last 10,000, with no more than 64 MiB of bodies; the oldest are forgotten.

    No controller runs: nothing is scheduled, and nothing collects garbage. Different from a real server on purpose:
    deleting a namespace or a definition deletes what it holds and is done, and a definition is served at once.

    Args:
        tls: serve https, with a new `TestCA` (True) or with this one, whose client certificates are then accepted.
        anonymous: whether requests without credentials are answered; without, they get 401.
        port: 0 for any.
        history: changes that are kept of each kind; a watch from before them gets 410 (trap 4).
        history_bytes: their bytes at most, as JSON.
        watch_buffer: events that wait for a watch whose reader is slow. With more a write waits for it, half a second
            at most, and then it is ended (trap 16).
        watch_buffer_bytes: their bytes at most, as JSON.
        bookmark_interval: seconds between bookmarks of a watch; the last comes two seconds before its timeout (D5).
        min_request_timeout: seconds after which a watch without timeoutSeconds ends, or up to twice as many.
        too_large_wait: seconds that a version which has not come yet is waited for (D6).
        now: a clock for creationTimestamp and its kind, giving a time in UTC.

    TypeError and ValueError for what makes no sense.
    """

    def __init__(
        self,
        *,
        tls: TestCA | bool = False,
        anonymous: bool = True,
        port: int = 0,
        history: int = 1000,
        history_bytes: int = 64 << 20,
        watch_buffer: int = 1000,
        watch_buffer_bytes: int = 16 << 20,
        bookmark_interval: float = 60.0,
        min_request_timeout: float = 1800.0,
        too_large_wait: float = 3.0,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        check_whole("port", port, 0)
        check_bounds("history", history, history_bytes)
        check_bounds("watch_buffer", watch_buffer, watch_buffer_bytes)
        check_period("bookmark_interval", bookmark_interval)
        check_period("min_request_timeout", min_request_timeout)
        check_seconds("too_large_wait", too_large_wait)
        if not isinstance(tls, bool | TestCA):
            raise TypeError(f"tls must be True, False or a TestCA, not {tls!r}")
        if now is not None and not callable(now):
            raise TypeError(f"now must be a function that gives the time, not {now!r}")
        self.ca = (TestCA() if tls is True else tls) or None
        super().__init__(tls=self.ca.server_context() if self.ca else None, port=port)
        settings = Settings(
            history=Bounds(history, history_bytes),
            watch_buffer=Bounds(watch_buffer, watch_buffer_bytes),
            bookmark_interval=bookmark_interval,
            min_request_timeout=min_request_timeout,
            too_large_wait=too_large_wait,
        )
        self._access = Access(anonymous=anonymous)
        self._api = Api(settings, self._access, now)
        self._faults = Faults()
        self._recent = RecentRequests()
        self.requests = self._recent
        # One thread at a time starts, stops or restarts.
        self._life = threading.RLock()

    # Its life.

    body_limit = BODY_LIMIT

    def start(self) -> None:
        """Listen; after a stop, on the same port again, with the objects of before.

        RuntimeError when it is running already, OSError when the port is taken.
        """
        with self._life:
            super().start()
            self._api.address = f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Close everything and wait for the threads. May be called twice; the objects stay."""
        with self._life:
            super().stop()

    def restart(self) -> None:
        """Cut all connections, forget the history as `forget_history` does, and listen on the same port again.

        The objects stay. RuntimeError when the server is not running.
        """
        with self._life:
            if self._halt is None:
                raise RuntimeError("this server is not running; start() it")
            self.stop_listening()
            self.drop_connections()
            self.forget_history()
            self.listen_again()

    # Answers.

    def plan(self, request: Request) -> Answer:
        """What a request is answered with, by now spoilt or not."""
        return functools.partial(self._answer, request, self._faults.take(request))

    def _answer(self, request: Request, fault: Fault | None, connection: Connection) -> bool:
        return answer_request(self._api, request, fault, connection, self.failures.append)

    # Faults.

    def fail_next(self, fault: Fault, *, path: Path = None, verb: str | None = None, times: int = 1) -> FaultRule:
        """Spoil the next request (or the next *times*) of a path and verb; see `FaultRule` for both."""
        return self._add_fault(FaultRule(fault, path, verb, times=times))

    def fail_every(self, n: int, fault: Fault, *, path: Path = None, verb: str | None = None) -> FaultRule:
        """Spoil every *n*-th request of a path and verb, until `clear_faults`; 1 is each of them."""
        return self._add_fault(FaultRule(fault, path, verb, every=n))

    def _add_fault(self, rule: FaultRule) -> FaultRule:
        with self._changed:
            return self._faults.add(rule)

    def clear_faults(self) -> None:
        """Let everything succeed again."""
        with self._changed:
            self._faults.clear()

    # The history.

    @property
    def resource_version(self) -> str:
        """The version of the last write, of whatever kind."""
        with self._api.lock:
            return str(self._api.state.revision)

    def compact(self, resource_version: str | int | None = None, *, cached: bool = False) -> None:
        """Forget the changes before a version (the current one unless said): watches from there get 410.

        That is about events alone, because a real server has all other kinds in a cache which the compaction of etcd
        does not touch (D18); *cached* does it to them, too, as if so many changes had been made since. ValueError for
        a version that has not come yet.
        """
        with self._api.lock:
            wanted = None if resource_version is None else as_version(resource_version)
            _recovery.compact(self._api.state, wanted, cached=cached)

    def forget_history(self) -> None:
        """Let every watch from before get 410, as a restart does: also from the last version that anybody has seen.

        Not so for events, which are in no cache; nor for lists of old versions, and the pages of lists that have been
        begun, because etcd still has those (D2). `compact` with *cached* takes them, too.
        """
        with self._api.lock:
            _recovery.forget_history(self._api.state)

    @contextlib.contextmanager
    def unseen(self) -> Iterator[None]:
        """Make changes in a `with` block that open watches are not told of, as if the server had forgotten to.

        Lists show them, and a watch that starts from before. It is about all writes as long as any thread is in such a
        block, whoever makes them and by whatever way: also those of other threads and of clients.
        """
        state = self._api.state
        with self._api.lock:
            state.unseen += 1
        try:
            yield
        finally:
            with self._api.lock:
                state.unseen -= 1

    def end_watches(self) -> None:
        """End every open watch cleanly, once it has sent what is due."""
        with self._api.lock:
            for collection in self._api.state.collections.values():
                collection.end_watches()

    def go_back(self, resource_version: str | int) -> None:
        """Cut all connections and become what it was at a version, as after the restore of a backup of etcd.

        What is written then gets versions that were used before. The caches begin anew, as after `restart`. ValueError
        when the history does not reach that far.
        """
        with self._life:
            with self._api.lock:
                _recovery.turn_back(self._api.state, as_version(resource_version))
            if self._halt is not None:
                self.drop_connections()

    def wait_for_requests(self, n: int, timeout: float = 5.0) -> list[Request]:
        """Wait for `n` requests in all, and give the first `n`, without those that are forgotten.

        Raises TimeoutError after `timeout` seconds.
        """
        recent = self._recent
        self._wait_until(lambda: recent.forgotten + len(recent) >= n, timeout, f"{n} requests")
        with self._changed:
            return recent[: max(0, n - recent.forgotten)]
