"""Where clients come from, the process's own one, and that their reprs hide every secret."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwsync import Client, Cluster, ConfigError, ErrorOrigin, WatchEvent, _client, _kubeconfig, watch_resource
from kwsync.credentials import (
    Anonymous,
    Authorization,
    BasicAuth,
    BearerToken,
    Certificate,
    ClientCertificate,
    ServiceAccount,
    TokenFile,
)
from kwsync.testing import End, Event, Head, Http, ScriptedServer, TestCA, pod
from tests.client.support import SECRET, Running, client_of, in_child

POD = pod("a", namespace="ns")


def kubeconfig(server: str, token: str = SECRET, name: str = "one") -> dict[str, Any]:
    """A kubeconfig with one context."""
    return {
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "mine"}}],
        "current-context": name,
    }


@pytest.fixture
def config_file(server: ScriptedServer, tmp_path: Path) -> Path:
    """A kubeconfig for the server, in JSON."""
    file = tmp_path / "config"
    file.write_text(json.dumps(kubeconfig(server.url)))
    return file


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration at all."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def no_default(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process has no client of its own before the test; the one it makes is closed afterwards."""
    made: dict[int, Client] = {}
    monkeypatch.setattr(_client, "_defaults", made)
    yield
    for client in made.values():
        client.close()


def token_sent(server: ScriptedServer, client: Client) -> str:
    """The header of one request."""
    server.default = (Http(200, POD),)
    with client:
        assert client.get("pods", "a", "ns") == POD
    return server.requests[-1].headers["Authorization"]


class TestFactories:
    def test_file(self, server: ScriptedServer, config_file: Path) -> None:
        """A client comes from a kubeconfig that is named."""
        client = Client.from_kubeconfig(config_file)
        assert client.cluster == Cluster(server.url, namespace="mine", name="one")
        assert token_sent(server, client) == f"Bearer {SECRET}"

    @pytest.mark.parametrize("make", [Client.from_kubeconfig, Client.from_default])
    def test_variable(
        self, server: ScriptedServer, config_file: Path, make: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without a name KUBECONFIG says which."""
        monkeypatch.setenv("KUBECONFIG", str(config_file))
        assert token_sent(server, make()) == f"Bearer {SECRET}"

    @pytest.mark.parametrize("make", [Client.from_kubeconfig, Client.from_default])
    def test_home(self, server: ScriptedServer, config_file: Path, make: Any, tmp_path: Path) -> None:
        """Without that it is the one in the home folder."""
        (tmp_path / "home" / ".kube").mkdir(parents=True)
        config_file.rename(tmp_path / "home" / ".kube" / "config")
        assert token_sent(server, make()) == f"Bearer {SECRET}"

    @pytest.mark.parametrize("make", [Client.from_kubeconfig, Client.from_default])
    def test_context(
        self, server: ScriptedServer, config_file: Path, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A context that is named is taken instead of the current one, over several files."""
        other = tmp_path / "other"
        other.write_text(json.dumps(kubeconfig(server.url, "other-token", "two")))
        monkeypatch.setenv("KUBECONFIG", f"{config_file}{os.pathsep}{other}")
        assert token_sent(server, make(context="two")) == "Bearer other-token"
        with pytest.raises(ConfigError, match="no context 'three'"):
            make(context="three")

    def test_in_cluster(self, ca: TestCA, tmp_path: Path) -> None:
        """In a pod a client comes from its variables and its mounted account."""
        ca.write(tmp_path)
        (tmp_path / "token").write_text(f"{SECRET}\n")
        (tmp_path / "namespace").write_text("mine")
        with ScriptedServer(tls=ca.server_context()) as server:
            environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(server.port)}
            found = _kubeconfig.default_configuration(environ=environ, directory=str(tmp_path))
            assert found[0].namespace == "mine"
            assert token_sent(server, Client(*found)) == f"Bearer {SECRET}"

    def test_outside(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without any configuration, or with half of one, all three raise a ConfigError that says what to do."""
        with pytest.raises(ConfigError, match="not in a pod"):
            Client.in_cluster()
        for make in (Client.from_kubeconfig, Client.from_default):
            with pytest.raises(ConfigError, match="set KUBECONFIG"):
                make()
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
        with pytest.raises(ConfigError, match="CA file"):
            Client.in_cluster()


@pytest.mark.usefixtures("no_default")
class TestDefaultClient:
    def watch(self) -> list[WatchEvent]:
        return list(watch_resource("pods"))

    def test_made_once(self, server: ScriptedServer, config_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A watch without a client uses the process's own, made when first needed and never closed by a stream."""
        monkeypatch.setenv("KUBECONFIG", str(config_file))
        server.default = (Head(), Event("ADDED", POD), End())
        stream = watch_resource("pods")
        assert _client._defaults == {}
        assert [event.object for event in stream] == [POD]
        for _ in range(2):
            assert [event.type for event in self.watch()] == ["ADDED"]
        assert {request.headers["Authorization"] for request in server.requests} == {f"Bearer {SECRET}"}
        assert server.connections_accepted == 1

    def test_cannot_be_made(self, server: ScriptedServer, config_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that cannot be made is an ERROR with origin CONFIG; the next watch tries again."""
        (event,) = self.watch()
        assert event.error is not None
        assert event.error.origin is ErrorOrigin.CONFIG
        assert "set KUBECONFIG" in event.error.message
        monkeypatch.setenv("KUBECONFIG", str(config_file))
        server.default = (Head(), Event("ADDED", POD), End())
        assert [event.type for event in self.watch()] == ["ADDED"]

    def test_threads(self, server: ScriptedServer, config_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Threads that need it at the same time share one."""
        monkeypatch.setenv("KUBECONFIG", str(config_file))
        running = [Running(_client.default_client) for _ in range(8)]
        assert len({id(one.result()) for one in running}) == 1

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
    def test_fork(self, server: ScriptedServer, config_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A forked child makes one of its own."""
        monkeypatch.setenv("KUBECONFIG", str(config_file))
        own = _client.default_client()
        assert in_child(lambda: str(_client.default_client() is own)) == "False"
        assert _client.default_client() is own


PEM = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n"


class TestRepr:
    @pytest.mark.parametrize(
        "thing",
        [
            Cluster(f"https://me:{SECRET}@h", ca_data=SECRET, auth_metadata={"token": SECRET}),
            Cluster("https://h", proxy_url=f"http://me:{SECRET}@p"),
            Client(Cluster(f"https://{SECRET}@h", proxy_url=f"//{SECRET}@p:1")),
            Client(Cluster("https://h"), BearerToken(SECRET)),
            Client(Cluster("https://h", auth_provider="serviceAccount", auth_metadata={"serviceAccountToken": SECRET})),
            Client(Cluster("https://h"), BasicAuth("me", SECRET)),
            Client(Cluster("https://h"), TokenFile("/file", fallback=SECRET)),
            Client(Cluster("https://h"), ClientCertificate(certificate=PEM, key=PEM)),
            Authorization.bearer(SECRET),
            Authorization({"X": SECRET}, Certificate(PEM.encode(), PEM.encode())),
        ],
        ids=lambda thing: type(thing).__name__,
    )
    def test_hides(self, thing: object) -> None:
        """No repr or str of a cluster, client, credential or proof shows a secret."""
        assert SECRET not in f"{thing!r} {thing}"

    def test_used(self, server: ScriptedServer, tmp_path: Path) -> None:
        """The same holds after they were used."""
        (tmp_path / "token").write_text(SECRET)
        for credential in (TokenFile(tmp_path / "token"), ServiceAccount(tmp_path)):
            client = client_of(server, credential)
            token_sent(server, client)
            assert SECRET not in repr(client)

    def test_tells(self, server: ScriptedServer) -> None:
        """It tells where requests go and who asks."""
        assert repr(client_of(server, Anonymous())) == f"<Client {Cluster(server.url)!r} as Anonymous>"
        assert repr(client_of(server)) == repr(client_of(server, Anonymous()))
