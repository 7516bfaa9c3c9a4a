"""From an ApiClient of the official client: its settings, its live credential, and what cannot be obeyed."""

from __future__ import annotations

import base64
import json
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from urllib3.util import make_headers

from kwsync import CancelToken, Client, Cluster, ConfigError, _clock, watch_resource
from kwsync.credentials import AuthContext, Authorization, Credential, CredentialError, describe
from kwsync.testing import ApiServer, Http, ProxyServer, Reply, Request, ScriptedServer, Step, TestCA, pod, status
from tests.client.support import LIMIT, Running, failure, in_child, wait_until
from tests.controlplane.server import ControlPlane

kubernetes = pytest.importorskip("kubernetes")

SECRET = "made-up-secret"


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No default configuration, and no proxy of the environment."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    yield
    kubernetes.client.Configuration.set_default(None)


@pytest.fixture
def secure() -> Iterator[ApiServer]:
    """A server with TLS that knows no anonymous users."""
    with ApiServer(tls=True, anonymous=False) as server:
        server.create(pod("web"))
        yield server


def loaded(config: dict[str, Any], **cluster: Any) -> Any:
    """The ApiClient that the official client makes of a kubeconfig."""
    config["clusters"][0]["cluster"].update(cluster)
    return kubernetes.config.new_client_from_config_dict(config)


def api_client(**settings: Any) -> Any:
    """An ApiClient with these settings."""
    configuration = kubernetes.client.Configuration()
    configuration.host = "https://example.test"
    for name, value in settings.items():
        setattr(configuration, name, value)
    return kubernetes.client.ApiClient(configuration)


def who(client: Client) -> str:
    """Whom the server takes the client for."""
    with client:
        answer = client.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=REVIEW)
    name: str = answer["status"]["userInfo"]["username"]
    return name


REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


def with_user(server: ApiServer, user: dict[str, Any]) -> dict[str, Any]:
    config = server.kubeconfig()
    config["users"][0]["user"] = user
    return config


class Clock:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class TestProviders:
    """What ``kubernetes.config`` loads, against a server that demands it."""

    def test_token(self, secure: ApiServer) -> None:
        """A token of a kubeconfig, and the authority from its data."""
        assert who(Client.from_kubernetes(loaded(secure.kubeconfig("bob")))) == "bob"

    def test_default(self, secure: ApiServer) -> None:
        """Without an ApiClient it is the default configuration, which load_kube_config sets."""
        kubernetes.config.load_kube_config_from_dict(secure.kubeconfig("bob"))

        assert who(Client.from_kubernetes()) == "bob"

    def test_watch(self, secure: ApiServer) -> None:
        """A watch goes where the verbs go."""
        with Client.from_kubernetes(loaded(secure.kubeconfig("bob"))) as client:
            events = list(watch_resource("pods", client=client, timeout_seconds=1))

        assert [(str(event.type), event.key.name) for event in events] == [("ADDED", "web")]

    def test_client_certificate(self, secure: ApiServer) -> None:
        """A client certificate, from the temporary files that the official client writes."""
        assert who(Client.from_kubernetes(loaded(secure.kubeconfig("bob", certificate=True)))) == "bob"

    def test_password(self) -> None:
        """User and password come as that client sends them: as its API key."""
        config = {
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": "http://example.test"}}],
            "users": [{"name": "u", "user": {"username": "me", "password": SECRET}}],
        }
        credential = Client.from_kubernetes(kubernetes.config.new_client_from_config_dict(config)).credential
        wanted = base64.b64encode(f"me:{SECRET}".encode()).decode()

        assert authorized(credential).headers["Authorization"] == f"Basic {wanted}"

    def test_insecure(self, secure: ApiServer) -> None:
        """Without verification, where the kubeconfig says so; with it the same server is not trusted."""
        config = secure.kubeconfig("bob")
        del config["clusters"][0]["cluster"]["certificate-authority-data"]

        with Client.from_kubernetes(loaded(config)) as client:
            assert "cannot be trusted" in failure(lambda: client.get("pods", "web", "default")).message
        assert who(Client.from_kubernetes(loaded(config, **{"insecure-skip-tls-verify": True}))) == "bob"

    @pytest.mark.parametrize("setting", ["tls_server_name", "assert_hostname"])
    def test_server_name(self, setting: str, tmp_path: Path) -> None:
        """The server is verified by the name that the configuration gives, in either of its settings."""
        authority = TestCA()
        context = authority.server_context("kube.example.test")
        settings = {"ssl_ca_cert": str(authority.write(tmp_path)), "host": ""}
        with ScriptedServer([Http(200, pod("web"))], tls=context) as server:
            settings["host"] = server.url
            with Client.from_kubernetes(api_client(**settings)) as client:
                assert "certificate is not valid for" in failure(lambda: client.get("pods", "a", "b")).message
            with Client.from_kubernetes(api_client(**settings, **{setting: "kube.example.test"})) as client:
                assert client.get("pods", "web", "default")["metadata"]["name"] == "web"

    def test_in_a_pod(self, secure: ApiServer, tmp_path: Path) -> None:
        """The loader for pods: token and authority from files, read again after a 401 (python#2585)."""
        loader, token = in_pod(secure, tmp_path)
        configuration = kubernetes.client.Configuration()
        loader.load_and_set(configuration)
        with Client.from_kubernetes(kubernetes.client.ApiClient(configuration)) as client:
            client.get("pods", "web", "default")
            secure.revoke(token)
            (tmp_path / "token").write_text(secure.token_for("pod") + "\n")

            assert client.get("pods", "web", "default")["metadata"]["name"] == "web"
        assert [one == f"bearer {token}" for one in tokens(secure)] == [True, True, False]

    def test_exec_plugin(self, secure: ApiServer, tmp_path: Path) -> None:
        """A plugin that the official client runs: again when its token has ended."""
        plugin = Plugin(tmp_path, expires=datetime.now(timezone.utc) + timedelta(seconds=1))
        plugin.gives(secure.token_for("bob"))
        with Client.from_kubernetes(loaded(with_user(secure, plugin.user))) as client:
            client.get("pods", "web", "default")
            plugin.gives(secure.token_for("bob"))
            client.get("pods", "web", "default")
        assert plugin.runs() == 3, "once by load, and at each request since it ends within that client's five minutes"
        assert tokens(secure)[0] != tokens(secure)[1]

    def test_gone_files(self, secure: ApiServer) -> None:
        """The files of certificates are read by their paths, when they are needed."""
        client = Client.from_kubernetes(loaded(secure.kubeconfig("bob", certificate=True)))
        Path(client.credential._configuration.cert_file).write_text("")  # type: ignore[attr-defined]
        with client:
            error = failure(lambda: client.get("pods", "web", "default"))

        assert (error.status_code, "is not PEM" in error.message) == (401, True)


def in_pod(server: ApiServer, folder: Path) -> tuple[Any, str]:
    """The official client's loader for pods, on files of this folder, and the token in them."""
    token = server.token_for("pod")
    (folder / "token").write_text(token + "\n")
    assert server.ca is not None
    server.ca.write(folder)
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(server.port)}
    loader: Any = kubernetes.config.incluster_config.InClusterConfigLoader
    return loader(str(folder / "token"), str(folder / "ca.crt"), environ=environ), token


class Plugin:
    """A program that gives the token in a file, and counts its runs in another."""

    def __init__(self, folder: Path, expires: datetime | None = None) -> None:
        self.folder = folder
        status = {"token": "TOKEN"}
        if expires is not None:
            status["expirationTimestamp"] = expires.strftime("%Y-%m-%dT%H:%M:%SZ")
        document = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
        self.program = folder / "plugin"
        self.program.write_text(
            f"#!/bin/sh\necho run >> {folder}/runs\n"
            f"echo '{json.dumps(document)}' | sed \"s/TOKEN/$(cat {folder}/secret)/\"\n"
        )
        self.program.chmod(stat.S_IRWXU)

    @property
    def user(self) -> dict[str, Any]:
        return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(self.program), "args": []}}

    def gives(self, token: str) -> None:
        (self.folder / "secret").write_text(token)

    def runs(self) -> int:
        return len((self.folder / "runs").read_text().splitlines())


class Hook:
    """A hook that sets the token it finds when it is called. It can be held: then whoever calls it waits in between."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.error: Exception | None = None
        self.forget()

    def __call__(self, configuration: Any) -> None:
        token = self.token
        self._held.set()
        assert self._gate.wait(LIMIT), "nobody let go"
        if self.error is not None:
            raise self.error
        configuration.api_key["authorization"] = f"Bearer {token}"

    def forget(self) -> None:
        """Hold nobody."""
        self.hold()
        self.let_go()

    def hold(self, then: str | None = None) -> None:
        """Hold whoever calls from now on, with this token."""
        self._held, self._gate = threading.Event(), threading.Event()
        self.token = then or self.token

    def wait_until_held(self) -> None:
        """Until it has been called."""
        assert self._held.wait(LIMIT), "the hook was not called"

    def let_go(self) -> None:
        """Of all that are held, and of who comes."""
        self._gate.set()


class Counted:
    """A credential, and what its refreshes said."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential
        self.refreshes: list[bool] = []

    def authorize(self, context: AuthContext) -> Authorization:
        return self._credential.authorize(context)

    def refresh(self, rejected: Authorization) -> bool:
        self.refreshes.append(self._credential.refresh(rejected))
        return self.refreshes[-1]


def hook_credential(hook: Hook) -> Credential:
    return Client.from_kubernetes(api_client(refresh_api_key_hook=hook)).credential


def bearer(authorization: Authorization) -> str:
    return authorization.headers["Authorization"]


def tokens(server: ApiServer) -> list[str]:
    return [request.headers.get("Authorization", "") for request in server.requests]


def authorized(credential: Credential) -> Authorization:
    """What a request would be proved with."""
    return credential.authorize(AuthContext(Client.from_kubernetes(api_client()).cluster, lambda: None))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_clock, "monotonic", clock)
    return clock


class TestRotation:
    def test_token_file(self, secure: ApiServer, tmp_path: Path) -> None:
        """A token file, which that client reads once, is read again after a 401."""
        old = secure.token_for("bob")
        (tmp_path / "token").write_text(old)
        with Client.from_kubernetes(loaded(with_user(secure, {"tokenFile": str(tmp_path / "token")}))) as client:
            client.get("pods", "web", "default")
            secure.revoke(old)
            (tmp_path / "token").write_text(secure.token_for("bob"))

            assert client.get("pods", "web", "default")["metadata"]["name"] == "web"
            assert len(secure.requests) == 3

    def test_exec_plugin_after_401(self, secure: ApiServer, tmp_path: Path) -> None:
        """A plugin whose token has no end, or a far one, is run again after a 401, and then no more than before."""
        for number, expires in enumerate([None, datetime.now(timezone.utc) + timedelta(days=1)]):
            folder = tmp_path / str(number)
            folder.mkdir()
            plugin, old = Plugin(folder, expires), secure.token_for("bob")
            plugin.gives(old)
            with Client.from_kubernetes(loaded(with_user(secure, plugin.user))) as client:
                client.get("pods", "web", "default")
                secure.revoke(old)
                plugin.gives(secure.token_for("bob"))
                for _ in range(3):
                    client.get("pods", "web", "default")
            assert plugin.runs() == 2

    def test_refused_for_ever(self, clock: Clock) -> None:
        """Where nothing better comes, a hook is made to load anew every ten seconds at most; until that is done, who
        got a 401 waits for it."""
        configuration = kubernetes.client.Configuration(host="https://example.test")
        configuration.api_key = {"BearerToken": f"Bearer {SECRET}"}
        configuration.refresh_api_key_hook = lambda _: None
        credential = Client.from_kubernetes(kubernetes.client.ApiClient(configuration)).credential
        proof = authorized(credential)
        answers = []
        for _ in range(3):
            answers += [credential.refresh(proof), credential.refresh(proof)]
            authorized(credential)
            answers.append(credential.refresh(proof))
            clock.now += 9.9
        assert answers == [True, True, False] + [False, False, False] + [True, True, False]

    def test_refused_to_many(self) -> None:
        """Eight threads with one token that was revoked: all of them wait for the one load that gives another."""
        hook, all_refused = Hook("one"), threading.Barrier(8, lambda: hook.hold(then="two"))

        def answer(request: Request) -> Step:
            if request.headers.get("Authorization") != "Bearer one":
                return Http(200, pod("web"))
            all_refused.wait(LIMIT)
            return Http(401, status(401, "Unauthorized"))

        credential = Counted(hook_credential(hook))
        with ScriptedServer(default=Reply(answer)) as server, Client(Cluster(server.url), credential) as client:
            verbs = [Running(lambda: client.get("pods", "web", "default")) for _ in range(8)]
            wait_until(lambda: len(credential.refreshes) == 8, "eight threads to have their 401")
            hook.let_go()
            assert credential.refreshes == [True] * 8
            assert [verb.result()["metadata"]["name"] for verb in verbs] == ["web"] * 8

    def test_refused_while_it_loads(self) -> None:
        """A 401 that comes while the hook is under way for another 401 waits for what that brings."""
        hook = Hook("one")
        credential = hook_credential(hook)
        rejected = authorized(credential)
        assert credential.refresh(rejected) is True
        hook.hold(then="two")
        first = Running(lambda: authorized(credential))
        hook.wait_until_held()
        assert credential.refresh(rejected) is True
        second = Running(lambda: authorized(credential))
        hook.let_go()
        assert {bearer(one.result()) for one in (first, second)} == {"Bearer two"}
        assert credential.refresh(rejected) is True, "there is another by now"

    def test_load_that_began_before_a_401(self) -> None:
        """What a hook gives that was called before the 401 may be what was refused: it is asked once more."""
        hook = Hook("one")
        credential = hook_credential(hook)
        rejected = authorized(credential)
        hook.hold()
        before = Running(lambda: authorized(credential))
        hook.wait_until_held()
        assert credential.refresh(rejected) is True
        hook.token = "two"  # for the next call
        after = Running(lambda: authorized(credential))
        wait_until(lambda: len(credential._asked._gates) == 2, "both to wait")  # type: ignore[attr-defined]
        hook.let_go()
        before.result()
        assert bearer(after.result()) == "Bearer two"

    def test_load_that_fails(self, clock: Clock) -> None:
        """A forced load that failed is over: the next 401 is told, and after ten seconds it is tried again."""
        hook = Hook("one")
        credential = hook_credential(hook)
        rejected = authorized(credential)
        assert credential.refresh(rejected) is True
        hook.error = RuntimeError(SECRET)
        with pytest.raises(CredentialError, match="failed with RuntimeError"):
            authorized(credential)
        assert credential.refresh(rejected) is False
        clock.now += 10
        hook.error = None
        assert credential.refresh(rejected) is True
        assert bearer(authorized(credential)) == "Bearer one"

    def test_forked_while_it_loads(self, clock: Clock) -> None:
        """A child that is forked in the middle of a load waits for none: it can have one of its own."""
        hook = Hook("one")
        credential = hook_credential(hook)
        rejected = authorized(credential)
        assert credential.refresh(rejected) is True
        hook.hold()
        running = Running(lambda: authorized(credential))
        hook.wait_until_held()

        def child() -> str:
            hook.forget()
            first = credential.refresh(rejected)
            clock.now += 10
            return f"{first} {credential.refresh(rejected)} {bearer(authorized(credential))}"

        assert in_child(child) == "False True Bearer one"
        hook.let_go()
        running.result()

    def test_own_hook(self) -> None:
        """A hook of the application's own is called for each request, and what it sets is sent."""
        tokens = iter("ab")

        def hook(configuration: Any) -> None:
            configuration.api_key["authorization"] = next(tokens)

        client = api_client(api_key_prefix={"authorization": "Bearer"}, refresh_api_key_hook=hook)
        credential = Client.from_kubernetes(client).credential

        assert [authorized(credential).headers["Authorization"] for _ in range(2)] == ["Bearer a", "Bearer b"]

    def test_settings_are_alive(self) -> None:
        """Without a hook, too, what is set later is sent."""
        client = api_client(api_key={"authorization": "Bearer a"})
        credential = Client.from_kubernetes(client).credential
        before = authorized(credential)
        assert credential.refresh(before) is False
        client.configuration.api_key["authorization"] = "Bearer b"

        assert credential.refresh(before) is True
        assert authorized(credential).headers == {"Authorization": "Bearer b"}

    def test_other_paths(self, tmp_path: Path) -> None:
        """Certificate files may change, and so may their paths; one file may hold certificate and key."""
        one, two = TestCA().client_cert("one"), TestCA().client_cert("two")
        for name, pair in (("one", one), ("two", two)):
            (tmp_path / name).write_bytes(pair.cert_pem + pair.key_pem)
        client = api_client(cert_file=str(tmp_path / "one"))
        credential = Client.from_kubernetes(client).credential
        first = authorized(credential)
        assert authorized(credential) == first
        client.configuration.cert_file = str(tmp_path / "two")

        assert authorized(credential).certificate != first.certificate

    def test_hook_that_fails(self) -> None:
        """What a hook raises is no credential; its text, which may hold a secret, is not told."""

        def hook(_configuration: Any) -> None:
            raise RuntimeError(SECRET)

        with Client.from_kubernetes(api_client(refresh_api_key_hook=hook)) as client:
            error = failure(lambda: client.get("pods", "a", "b"))

        assert error.status_code == 401
        assert error.message.startswith("official-client failed with RuntimeError (test_official.py, line ")

    def test_hook_that_hangs(self) -> None:
        """A watch and a verb that wait for a hook are cancelled at once, and all of them wait for one call."""
        asked, go_on, calls = threading.Event(), threading.Event(), []

        def hook(_configuration: Any) -> None:
            calls.append(1)
            asked.set()
            go_on.wait(LIMIT)

        token = CancelToken()
        with Client.from_kubernetes(api_client(refresh_api_key_hook=hook, host="http://127.0.0.1:1")) as client:
            verbs = [Running(lambda: failure(lambda: client.get("pods", "a", "b", cancel=token))) for _ in range(3)]
            watch = Running(lambda: list(watch_resource("pods", client=client, cancel=token)))
            assert asked.wait(LIMIT), "the hook was not called"
            token.set()
            assert watch.result() == []
            assert {verb.result().message for verb in verbs} == {"cancelled"}
            assert calls == [1]
            go_on.set()


class TestHeaders:
    def test_default_headers(self) -> None:
        """What was set on the ApiClient goes along; how that client talks does not."""
        client = api_client(api_key={"authorization": "Bearer a"})
        client.set_default_header("Impersonate-User", "bob")
        client.set_default_header("authorization", "Basic x")
        client.set_default_header("Content-Type", "text/plain")
        client.cookie = "a=b"

        assert authorized(Client.from_kubernetes(client).credential).headers == {
            "Impersonate-User": "bob",
            "Cookie": "a=b",
            "Authorization": "Bearer a",
        }

    @pytest.mark.parametrize(
        ("settings", "value"),
        [
            ({}, None),
            ({"api_key": {"authorization": "a"}, "api_key_prefix": {"authorization": "Bearer"}}, "Bearer a"),
            ({"api_key": {"authorization": "Bearer a\n"}}, "Bearer a"),
            ({"access_token": "a"}, "Bearer a"),
            ({"username": "me", "password": "a"}, "Basic bWU6YQ=="),
            ({"username": "me", "access_token": "a", "api_key": {"authorization": "Own b"}}, "Own b"),
        ],
    )
    def test_authorization(self, settings: dict[str, Any], value: str | None) -> None:
        """The API key with its prefix wins; then comes what was set by hand."""
        headers = authorized(Client.from_kubernetes(api_client(**settings)).credential).headers
        assert headers.get("Authorization") == value

    def test_bad_token(self) -> None:
        """A token that no header may carry is told without it."""
        with pytest.raises(CredentialError) as caught:
            authorized(Client.from_kubernetes(api_client(access_token=f"{SECRET}\n\n{SECRET}")).credential)
        assert SECRET not in str(caught.value)


class TestProxy:
    def test_goes_through(self, secure: ApiServer) -> None:
        """A proxy of the configuration, with the login that stands in its headers."""
        with ProxyServer() as proxy:
            client = loaded(secure.kubeconfig("bob"))
            client.configuration.proxy = proxy.url  # to which newer releases set a kubeconfig's proxy-url
            client.configuration.proxy_headers = make_headers(proxy_basic_auth="me:p/ss@:")
            assert who(Client.from_kubernetes(client)) == "bob"
            [request] = proxy.requests
        assert request.headers["Proxy-Authorization"] == make_headers(basic_auth="me:p/ss@:")["authorization"]

    @pytest.mark.parametrize(
        ("no_proxy", "proxied"),
        [("example.test", False), (".example.test", False), ("other.test,.test:443", False), ("other.test", True)],
    )
    def test_no_proxy(self, no_proxy: str, proxied: bool) -> None:
        """no_proxy exempts as it does there, where a dot before a suffix makes no difference."""
        client = Client.from_kubernetes(api_client(proxy="http://proxy.test:3128", no_proxy=no_proxy))
        assert client.proxy_url == ("http://proxy.test:3128" if proxied else None)

    def test_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A proxy that is named in the environment only later, or that was taken out by hand, is not used."""
        client = Client.from_kubernetes(api_client())
        monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:3128")
        assert client.proxy_url is None
        assert Client.from_kubernetes(api_client(proxy=None)).proxy_url is None
        theirs = api_client()
        assert Client.from_kubernetes(theirs).proxy_url == theirs.configuration.proxy, "older releases look at none"


class TestRefused:
    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"host": ""}, "no server yet"),
            ({"assert_hostname": False}, "assert_hostname=False"),
            ({"assert_hostname": "a.test", "tls_server_name": "b.test"}, "assert_hostname"),
            ({"proxy": "socks5://proxy.test:1"}, "proxy .* not socks5"),
            ({"proxy": "http://p.test:1", "proxy_headers": {"X-Key": SECRET}}, "proxy_headers .* X-Key"),
            (
                {"proxy": "http://p.test:1", "proxy_headers": {"Proxy-Authorization": f"Bearer {SECRET}"}},
                "proxy_headers .* not a user and a password",
            ),
            ({"proxy_ssl_context": object()}, "proxy_ssl_context"),
            ({"key_file_password": SECRET}, "key_file_password"),
            ({"ca_cert_data": b"junk"}, "ca_cert_data .* neither PEM nor DER"),
            ({"ca_cert_data": "x", "ssl_ca_cert": "y"}, "ca_cert_data .* ssl_ca_cert"),
            ({"key_file": "/a/key"}, "key_file .* cert_file"),
        ],
    )
    def test_settings(self, settings: dict[str, Any], words: str) -> None:
        """A setting that cannot be obeyed is told by its name, at once and without its value."""
        client = api_client()
        for name, value in settings.items():
            setattr(client.configuration, name, value)
        with pytest.raises(ConfigError, match=words) as caught:
            Client.from_kubernetes(client)
        assert SECRET not in str(caught.value)

    @pytest.mark.parametrize("thing", [object(), kubernetes.client.ApiClient, "https://example.test", 7])
    def test_other_objects(self, thing: object) -> None:
        """What is no ApiClient is a TypeError."""
        with pytest.raises(TypeError, match="must be an ApiClient"):
            Client.from_kubernetes(thing)

    def test_asynchronous(self) -> None:
        """The asynchronous sister has the same settings, and hooks that only a loop can call."""

        class Configuration:
            host = "https://example.test"
            api_key = ""

            async def get_api_key_with_prefix(self, name: str, alias: str) -> str:
                return SECRET

        with pytest.raises(TypeError, match="not of an asynchronous one"):
            Client.from_kubernetes(Configuration())

    def test_options(self, caplog: pytest.LogCaptureFixture) -> None:
        """Options of sockets are not taken over, and that is told."""
        Client.from_kubernetes(api_client(socket_options=[(6, 1, 1)]))
        assert "socket_options of the official client are not taken over" in caplog.text


class TestAuthority:
    def test_data(self, secure: ApiServer) -> None:
        """Authorities as PEM, or as certificates one behind another."""
        assert secure.ca is not None
        der = [base64.b64decode("".join(ca.pem.decode().split("-----")[2].split())) for ca in (TestCA(), secure.ca)]
        for data in (secure.ca.pem.decode(), secure.ca.pem, b"".join(der)):
            client = api_client(host=secure.url, ca_cert_data=data, access_token=secure.token_for("bob"))
            assert who(Client.from_kubernetes(client)) == "bob"

    def test_file(self, secure: ApiServer, tmp_path: Path) -> None:
        """A file of authorities is read where it lies, when a connection is made."""
        path = TestCA().write(tmp_path)
        client = Client.from_kubernetes(
            api_client(host=secure.url, ssl_ca_cert=str(path), access_token=secure.token_for("bob"))
        )
        assert secure.ca is not None
        path.write_bytes(secure.ca.pem)

        assert who(client) == "bob"


class TestSeam:
    def test_not_imported(self) -> None:
        """An ApiClient is known by its attributes: the official client is imported for None alone."""
        program = (
            "import sys, kwsync\n"
            "class Configuration:\n"
            "    host, api_key, verify_ssl, ssl_ca_cert, cert_file, key_file = 'http://a.test', {}, True, '', '', ''\n"
            "kwsync.Client.from_kubernetes(Configuration())\n"
            "assert 'kubernetes' not in sys.modules\n"
            "sys.modules['kubernetes'] = None\n"
            "try: kwsync.Client.from_kubernetes()\n"
            "except kwsync.ConfigError as error: print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=True)
        assert done.stdout == "the official client is not installed: pip install kubernetes, or pass api_client=\n"


def test_description(secure: ApiServer) -> None:
    """It tells the loader, and after the first request whose token it was."""
    client = Client.from_kubernetes(loaded(secure.kubeconfig("bob")))
    with client:
        client.get("pods", "web", "default")
    found = describe(client.credential)

    assert (found.kind, found.source) == ("credential of the official client", "its KubeConfigLoader")
    assert describe(Client.from_kubernetes(api_client()).credential).source == "its configuration"


def test_real_server(control_plane: ControlPlane) -> None:
    """A real kube-apiserver, by a token and by a client certificate, as the official client loads them."""
    pair = {"client-certificate": control_plane.client_cert_file, "client-key": control_plane.client_key_file}
    users = {"admin": {"token": control_plane.admin_token}, "certificate-admin": {k: str(v) for k, v in pair.items()}}
    for name, user in users.items():
        config = control_plane.kubeconfig()
        config["users"][0]["user"] = user
        assert who(Client.from_kubernetes(loaded(config))) == name
