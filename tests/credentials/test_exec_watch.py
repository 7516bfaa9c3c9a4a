"""Exec plugins on real sockets: watches and verbs whose tokens and certificates come from a program."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kwsync import CancelledError, CancelToken, Client, Cluster, EndReason, ErrorOrigin, list_and_watch, watch_resource
from kwsync.testing import ApiServer, TestCA, pod
from tests.client.support import Running, failure
from tests.credentials.plugins import LIMIT, SECRET, Program, context_of, moment
from tests.credentials.rotating import OPEN, name_of, names, replaced, serving, token_of
from tests.credentials.rotating import get as get_over_tls

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the programs here are written in sh")


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """A server that knows nobody without a token, with one pod."""
    with ApiServer(anonymous=False) as started:
        started.create(pod("a"))
        yield started


@pytest.fixture
def program(tmp_path: Path, server: ApiServer) -> Program:
    """A plugin that gives a token of this server."""
    program = Program(tmp_path / "bin")
    program.gives(token=server.token_for("me"))
    return program


@pytest.fixture
def client(server: ApiServer, program: Program) -> Iterator[Client]:
    """A client that asks the plugin."""
    with Client(Cluster(server.url), program.plugin()) as opened:
        yield opened


@pytest.fixture(scope="module")
def ca() -> TestCA:
    return TestCA()


def get(client: Client) -> Any:
    return client.get("pods", "a", "default")["metadata"]["name"]


def kubeconfig(folder: Path, server: str, user: Any, **cluster: Any) -> Path:
    """A kubeconfig whose user has a plugin."""
    document = {
        "current-context": "dev",
        "contexts": [{"name": "dev", "context": {"cluster": "dev", "user": "dev"}}],
        "clusters": [{"name": "dev", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "dev", "user": user}],
    }
    (folder / "config").write_text(json.dumps(document))
    return folder / "config"


def tokens_of(server: ApiServer) -> set[str]:
    """The tokens of all requests."""
    return {token_of(request) for request in server.requests}


class TestToken:
    def test_verbs(self, client: Client, program: Program) -> None:
        """Requests carry the plugin's token, which runs once for all of them."""
        assert [get(client) for _ in range(5)] == ["a"] * 5
        assert program.runs == 1

    def test_kubeconfig(self, server: ApiServer, program: Program, tmp_path: Path) -> None:
        """A kubeconfig's user with a plugin works, relative command and cluster's extension included."""
        seen = tmp_path / "seen"
        program.path.write_text(
            program.path.read_text().replace("cat ", f'echo "$KUBERNETES_EXEC_INFO$A" > {seen}\ncat ')
        )
        user = program.user(command="bin/plugin", provideClusterInfo=True, env=[{"name": "A", "value": "1"}])
        extensions = [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "me"}}]
        with Client.from_kubeconfig(kubeconfig(tmp_path, server.url, user, extensions=extensions)) as client:
            assert get(client) == "a"
        told = json.loads(seen.read_text().rstrip("1\n"))
        assert told["spec"]["cluster"] == {"server": server.url, "config": {"audience": "me"}}

    def test_refused(self, server: ApiServer, client: Client, program: Program) -> None:
        """After a 401 the plugin is run once more and the request sent once more; nobody hears of it."""
        get(client)
        server.revoke(token_of(server.requests[-1]))
        program.gives(token=server.token_for("me"))
        assert get(client) == "a"
        assert program.runs == 2

    def test_refused_again(self, server: ApiServer, client: Client, program: Program) -> None:
        """A second 401 is told: the plugin gives what the server does not take."""
        get(client)
        server.revoke(token_of(server.requests[-1]))
        assert failure(lambda: get(client)).status_code == 401
        assert program.runs == 2
        program.gives(token=server.token_for("me"))
        assert get(client) == "a"

    def test_refused_to_many(self, server: ApiServer, client: Client, program: Program) -> None:
        """Twenty threads that get a 401 at the same time need one run."""
        get(client)
        server.revoke(token_of(server.requests[-1]))
        program.gives(token=server.token_for("me"))
        assert [running.result() for running in [Running(lambda: get(client)) for _ in range(20)]] == ["a"] * 20
        assert program.runs == 2

    def test_many_clients(self, server: ApiServer, program: Program) -> None:
        """Twenty clients out of one kubeconfig run the plugin once."""

        def ask() -> Any:
            with Client(Cluster(server.url), program.plugin()) as client:
                barrier.wait(LIMIT)
                return get(client)

        barrier = threading.Barrier(20)
        assert [running.result() for running in [Running(ask) for _ in range(20)]] == ["a"] * 20
        assert program.runs == 1

    def test_no_token(self, server: ApiServer, client: Client, program: Program) -> None:
        """Without a credential nothing is sent, and the error says why: a 401 of ours, without a secret."""
        program.writes(f'{{"token": "{SECRET}"}}')
        error = failure(lambda: get(client))
        assert (error.origin, error.status_code) == (ErrorOrigin.CONFIG, 401)
        assert "answered with another kind than ExecCredential" in error.message
        assert SECRET not in f"{error!r}"
        assert len(server.requests) == 0


class TestWatch:
    def test_expiry(self, server: ApiServer, client: Client, program: Program) -> None:
        """A watch goes on when its token ends, and the next one is made with a new token."""
        first, second = server.token_for("me"), server.token_for("me")
        program.gives(token=first, expirationTimestamp=moment(10.6))
        with list_and_watch("pods", client=client, timeout_seconds=1) as stream:
            told = [next(stream), next(stream)]
            program.gives(token=second, expirationTimestamp=moment(3600))
            timer = threading.Timer(2 * LIMIT, stream.close)
            timer.start()
            while not tokens_of(server) > {first}:  # a watch ends after a second
                server.create(pod(f"p{len(told)}"))
                told.append(next(stream))
                threading.Event().wait(0.1)
            timer.cancel()
            timer.join()
        assert tokens_of(server) == {first, second}
        assert {str(event.type) for event in told} == {"SYNCED", "ADDED"}
        assert program.runs == 2

    def test_refused(self, server: ApiServer, client: Client, program: Program) -> None:
        """So does one whose token is refused when it is made anew: one more run, and no error is told."""
        with list_and_watch("pods", client=client) as stream:
            assert [str(next(stream).type) for _ in range(2)] == ["ADDED", "SYNCED"]
            server.create(pod("b"))
            assert next(stream).key.name == "b"
            server.revoke(token_of(server.requests[0]))
            program.gives(token=server.token_for("me"))
            server.drop_connections()
            server.create(pod("c"))
            told = [next(stream)]
            while told[-1].type != "ADDED":
                told.append(next(stream))
        assert [event for event in told if event.error is not None and event.error.status_code == 401] == []
        assert program.runs == 2

    @pytest.mark.parametrize("make", [CancelToken, threading.Event])
    @pytest.mark.parametrize("follow", [watch_resource, list_and_watch])
    def test_cancel(self, server: ApiServer, tmp_path: Path, make: Callable[[], threading.Event], follow: Any) -> None:
        """A watch that waits for a plugin that hangs ends at once, as one that is cancelled."""
        program = Program(tmp_path, before=f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done")
        program.gives(token=server.token_for("me"))
        cancel = make()
        with Client(Cluster(server.url), program.plugin()) as client:
            stream = follow("pods", client=client, cancel=cancel)
            watching = Running(lambda: list(stream))
            program.wait_for_runs(1)
            start = time.monotonic()
            cancel.set()
            assert watching.result() == []
            assert time.monotonic() - start < 0.3
            assert stream.end.reason is EndReason.CANCELLED
            (tmp_path / "go").touch()
            assert get(client) == "a"
        assert program.runs == 1

    def test_request_timeout(self, server: ApiServer, tmp_path: Path) -> None:
        """A verb waits for a plugin as long as it has time, and can be cancelled."""
        program = Program(tmp_path, before=f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done")
        program.gives(token=server.token_for("me"))
        with Client(Cluster(server.url), program.plugin()) as client:
            assert failure(lambda: client.get("pods", "a", "default", timeout=0.1)).origin is ErrorOrigin.TIMEOUT
            cancel = CancelToken()
            waiting = Running(lambda: client.get("pods", "a", "default", cancel=cancel))
            cancel.set()
            assert isinstance(waiting.error(), CancelledError)
            (tmp_path / "go").touch()
            assert get(client) == "a"


class TestB185Certificate:
    @staticmethod
    def pair(ca: TestCA, name: str) -> dict[str, str]:
        """A status with a client certificate."""
        issued = ca.client_cert(name)
        return {"clientCertificateData": issued.cert_pem.decode(), "clientKeyData": issued.key_pem.decode()}

    def test_over_tls(self, ca: TestCA, tmp_path: Path) -> None:
        """The plugin's certificate proves who asks, with its token beside it if it gives one."""
        program = Program(tmp_path)
        program.gives(**self.pair(ca, "one"))
        plugin = program.plugin()
        with serving(ca, plugin) as (server, client):
            get_over_tls(client)
            program.gives(token="token-2", **self.pair(ca, "two"))
            plugin.refresh(plugin.authorize(context_of(client.cluster)))
            get_over_tls(client)
        assert names(server) == ["one", "two"]
        assert [token_of(request) for request in server.requests] == ["", "token-2"]

    def test_no_pair(self, ca: TestCA, tmp_path: Path) -> None:
        """A certificate with another's key is an error and is not kept: the plugin is asked again, once per request."""
        program = Program(tmp_path)
        program.gives(**{**self.pair(ca, "one"), "clientKeyData": self.pair(ca, "two")["clientKeyData"]})
        with serving(ca, program.plugin()) as (server, client):
            error = failure(lambda: get_over_tls(client))
            assert (error.status_code, program.runs, server.connections_accepted) == (401, 2, 0)
            assert "no pair" in error.message
            program.gives(**self.pair(ca, "one"))
            get_over_tls(client)
            assert program.runs == 3
        assert names(server) == ["one"]

    def test_no_pair_with_a_token(self, ca: TestCA, tmp_path: Path) -> None:
        """Nor is it asked all the time: not twice within the interval."""
        program = Program(tmp_path)
        program.gives(token="t", **{**self.pair(ca, "one"), "clientKeyData": self.pair(ca, "two")["clientKeyData"]})
        with serving(ca, program.plugin(interval=10.0)) as (_, client):
            for _ in range(3):
                assert failure(lambda: get_over_tls(client)).status_code == 401
        assert program.runs == 1

    def test_new_certificate(self, ca: TestCA, tmp_path: Path) -> None:
        """A new certificate ends the watches that were made with the old one."""
        program = Program(tmp_path)
        program.gives(**self.pair(ca, "one"))
        plugin = program.plugin()
        with serving(ca, plugin) as (server, client):
            server.on(lambda request: request.is_watch, *OPEN)
            stream = watch_resource("pods", client=client)
            next(stream)
            program.gives(**self.pair(ca, "two"))
            plugin.refresh(plugin.authorize(context_of(client.cluster)))
            get_over_tls(client)
            replaced(stream)
        assert names(server) == ["one", "two"]
        assert name_of(server.requests[-1]) == "two"

    def test_new_token(self, ca: TestCA, tmp_path: Path) -> None:
        """A new token leaves connections as they are."""
        program, pair = Program(tmp_path), self.pair(ca, "one")
        program.gives(token="token-1", **pair)
        plugin = program.plugin()
        with serving(ca, plugin) as (server, client):
            get_over_tls(client)
            program.gives(token="token-2", **pair)
            plugin.refresh(plugin.authorize(context_of(client.cluster)))
            get_over_tls(client)
        assert [token_of(request) for request in server.requests] == ["token-1", "token-2"]
        assert {request.connection_id for request in server.requests} == {1}
