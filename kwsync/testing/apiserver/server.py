"""`ApiServer`: the facade over the rooms of this folder."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kwsync.testing._connection import Connection
from kwsync.testing._request import Request
from kwsync.testing._server import Answer, LoopbackServer
from kwsync.testing._tls import ClientCert, TestCA
from kwsync.testing.apiserver import _recovery
from kwsync.testing.apiserver._access import Access, Rule
from kwsync.testing.apiserver._answering import answer_request
from kwsync.testing.apiserver._api import Api, Settings
from kwsync.testing.apiserver._client import new_client
from kwsync.testing.apiserver._faults import Fault, FaultRule, Faults
from kwsync.testing.apiserver._kubeconfig import kubeconfig
from kwsync.testing.apiserver._objects import Objects

if TYPE_CHECKING:
    from kwsync.testing.apiserver._client import Client

Path = str | Callable[[Request], object] | None
Names = str | Iterable[str]


class ApiServer(Objects, LoopbackServer):
    """A Kubernetes API server in memory, on a socket of 127.0.0.1.

        with ApiServer() as server, server.client() as client:
            server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
            print(client.list("configmaps", "default"))

    It knows the built-in kinds of Kubernetes 1.36 and learns others from CustomResourceDefinitions. At first it holds
    four namespaces and nothing else. Every method may be called from any thread; several servers do not know each
    other. Leaving the `with` block stops it and raises the first exception that its own threads met.

    No controller runs: nothing is scheduled, and nothing collects garbage. Different from a real server on purpose:
    deleting a namespace or a definition deletes what it holds and is done, and a definition is served at once.

    Args:
        tls: serve https, with a new `TestCA` (True) or with this one, whose client certificates are then accepted.
        anonymous: whether requests without credentials are answered; without, they get 401.
        port: 0 for any.
        history: changes that are kept of each kind; a watch from before them gets 410 (trap 4).
        watch_buffer: events that wait for a watch whose reader is slow before it is ended.
        bookmark_interval: seconds between bookmarks of a watch; the last comes two seconds before its timeout (D5).
        min_request_timeout: seconds after which a watch without timeoutSeconds ends, or up to twice as many.
        too_large_wait: seconds that a version which has not come yet is waited for (D6).
        now: a clock for creationTimestamp and its kind, giving a time in UTC.
    """

    def __init__(
        self,
        *,
        tls: TestCA | bool = False,
        anonymous: bool = True,
        port: int = 0,
        history: int = 1000,
        watch_buffer: int = 1000,
        bookmark_interval: float = 60.0,
        min_request_timeout: float = 1800.0,
        too_large_wait: float = 3.0,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self.ca: TestCA | None = (TestCA() if tls is True else tls) or None
        """The authority of a server with TLS; it also makes client certificates."""
        super().__init__(tls=self.ca.server_context() if self.ca else None, port=port)
        settings = Settings(
            history=history,
            watch_buffer=watch_buffer,
            bookmark_interval=bookmark_interval,
            min_request_timeout=min_request_timeout,
            too_large_wait=too_large_wait,
        )
        self._access = Access(anonymous=anonymous)
        self._api = Api(settings, self._access, now)
        self._faults = Faults()

    # Answers.

    def start(self) -> None:
        """Listen; after a stop, on the same port again, with the objects of before."""
        super().start()
        self._api.address = f"127.0.0.1:{self.port}"

    def plan(self, request: Request) -> Answer:
        return functools.partial(self._answer, request, self._faults.take(request))

    def _answer(self, request: Request, fault: Fault | None, connection: Connection) -> bool:
        return answer_request(self._api, request, fault, connection, self.failures.append)

    # Who may do what.

    def token_for(self, user: str, groups: Iterable[str] = ()) -> str:
        """A new bearer token for a user; the group `system:masters` may do everything. Older tokens stay valid."""
        return self._access.new_token(user, groups)

    def revoke(self, token: str) -> None:
        """Answer requests with this token by 401; open watches go on (A3)."""
        self._access.revoke(token)

    def certificate_for(self, user: str, group: str | None = None) -> ClientCert:
        """A client certificate for a user; for a server with TLS. RuntimeError without."""
        if self.ca is None:
            raise RuntimeError("client certificates need ApiServer(tls=True)")
        return self.ca.client_cert(user, organization=group)

    def allow(
        self,
        user: Names = (),
        *,
        verbs: Names = (),
        resources: Names = (),
        namespaces: Names = (),
        names: Names = (),
    ) -> None:
        """Let a user (or group, or several) do something; whatever is not named means everything.

        At first everybody may do everything; the last rule that fits a request counts. `deny("bob")` and then
        `allow("bob", verbs=["get", "list"], resources=["pods"])` leaves bob those two. Resources are plurals, with
        `.group` or `/status` behind them where that matters. Rights are checked when a request comes: a watch that is
        open goes on (A3).
        """
        self._access.add_rule(_rule(True, user, verbs, resources, namespaces, names))

    def deny(
        self,
        user: Names = (),
        *,
        verbs: Names = (),
        resources: Names = (),
        namespaces: Names = (),
        names: Names = (),
    ) -> None:
        """Answer with 403, as `allow` in everything else; `system:anonymous` is the user without credentials."""
        self._access.add_rule(_rule(False, user, verbs, resources, namespaces, names))

    def allow_everything(self) -> None:
        """Forget what was allowed and denied."""
        self._access.clear_rules()

    def kubeconfig(
        self,
        user: str | None = None,
        *,
        groups: Iterable[str] = (),
        namespace: str = "default",
        certificate: bool = False,
    ) -> dict[str, Any]:
        """A kubeconfig as a dictionary, to be written as JSON: for nobody, or for a user with a new token.

        With *certificate* the user has a client certificate in place of a token.
        """
        if user is None:
            return kubeconfig(self.url, self.ca, namespace, {})
        if certificate:
            cert = self.certificate_for(user, next(iter(groups), None))
            return kubeconfig(self.url, self.ca, namespace, cert)
        return kubeconfig(self.url, self.ca, namespace, {"token": self.token_for(user, groups)})

    def client(self, user: str | None = None, *, groups: Iterable[str] = ()) -> Client:
        """A new `kwsync.Client` for this server, as nobody or as a user; who asks for it closes it."""
        token = None if user is None else self.token_for(user, groups)
        return new_client(self.url, self.ca.pem if self.ca else None, token)

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
        does not touch (D18); *cached* does it to them, too, as if so many changes had been made since.
        """
        with self._api.lock:
            wanted = None if resource_version is None else int(resource_version)
            _recovery.compact(self._api.state, wanted, cached=cached)

    def forget_history(self) -> None:
        """Forget every change, as a restart does: also the last version that anybody has seen gets 410 (D2)."""
        with self._api.lock:
            _recovery.forget_history(self._api.state)

    def end_watches(self) -> None:
        """End every open watch cleanly, once it has sent what is due."""
        with self._api.lock:
            for collection in self._api.state.collections.values():
                collection.end_watches()

    def restart(self) -> None:
        """Cut all connections, forget the history, and listen on the same port again; the objects stay."""
        self.stop_listening()
        self.drop_connections()
        self.forget_history()
        self.listen_again()

    def go_back(self, resource_version: str | int) -> None:
        """Cut all connections and become what it was at a version, as after the restore of a backup of etcd.

        What is written then gets versions that were used before. ValueError when the history does not reach that far.
        """
        with self._api.lock:
            _recovery.turn_back(self._api.state, int(resource_version))
        self.drop_connections()


def _rule(allow: bool, user: Names, *rest: Names) -> Rule:
    return Rule(allow, *((given,) if isinstance(given, str) else tuple(given) for given in (user, *rest)))
