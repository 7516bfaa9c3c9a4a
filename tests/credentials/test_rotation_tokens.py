"""A token that is replaced while a client lives, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from kwsync import (
    Backoff,
    Client,
    Cluster,
    ErrorOrigin,
    ErrorType,
    WatchError,
    _kubeconfig,
    list_and_watch,
    watch_resource,
)
from kwsync.credentials import ClientCertificate, Credential, ServiceAccount, TokenFile, _token_file
from kwsync.credentials._combined import Combined
from kwsync.errors import ConfigError
from kwsync.testing import (
    ApiServer,
    Call,
    End,
    Event,
    Head,
    Http,
    List,
    Reply,
    Request,
    ScriptedServer,
    Step,
    TestCA,
    pod,
    status,
)
from tests.client.support import failure
from tests.credentials.rotating import GOOD, LIMIT, OPEN, POD, Mount, closed_in_time, get, token_of

REFUSED = Http(401, status(401, "Unauthorized"))
FAST = Backoff(initial=0.01, cap=0.02, jitter=0)


@pytest.fixture(scope="module")
def ca() -> TestCA:
    """The authority of server and users."""
    return TestCA()


@pytest.fixture
def mount(tmp_path: Path) -> Mount:
    """A token as the kubelet mounts it."""
    return Mount(tmp_path, token="one\n")


class Time:
    """A monotonic clock for token files alone: whatever else waits has limits on the real one."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """A clock that stands still until it is moved."""
    clock = Time()
    monkeypatch.setattr(_token_file, "_clock", clock)
    return clock


def tokens(server: ScriptedServer | ApiServer) -> list[str]:
    """Of each request."""
    return [token_of(request) for request in server.requests]


class TestReadAgain:
    def test_b174_after_a_while(self, time: Time, mount: Mount) -> None:
        """50 seconds after a reading the next request reads again, for ever, and without a 401 (galaxy#23187)."""
        with (
            ScriptedServer(default=GOOD) as server,
            Client(Cluster(server.url), TokenFile(mount.path("token"))) as client,
        ):
            for token in ("two", "three\n", " four \r\n"):
                get(client)
                mount.swap(token=token)
                time.now += 49
                get(client)
                time.now += 1.5
                get(client)
            assert tokens(server) == ["one", "one", "two", "two", "two", "three", "three", "three", "four"]
            assert server.connections_accepted == 1

    def test_b174_empty(self, tmp_path: Path) -> None:
        """An empty file is no token: 401 without a request."""
        (tmp_path / "token").write_text("\n")
        with (
            ScriptedServer(default=GOOD) as server,
            Client(Cluster(server.url), TokenFile(tmp_path / "token")) as client,
        ):
            error = failure(lambda: get(client))
            assert (error.error_type, error.status_code) == (ErrorType.UNAUTHORIZED_ERROR, 401)
            assert server.connections_accepted == 0

    @pytest.mark.parametrize("broken", [{}, {"token": ""}, {"token": "half a\ntoken"}])
    def test_b175_last_token_stays(self, time: Time, mount: Mount, broken: dict[str, str]) -> None:
        """A file that gives no token leaves the last one in use; as soon as it gives one again, that is used."""
        with (
            ScriptedServer(default=GOOD) as server,
            Client(Cluster(server.url), TokenFile(mount.path("token"))) as client,
        ):
            get(client)
            mount.swap(**broken)
            time.now += 100
            get(client)
            mount.swap(token="two")
            get(client)
            assert tokens(server) == ["one", "one", "two"]

    def test_b175_never_any(self, tmp_path: Path) -> None:
        """Without any token ever the given one is used, else there is none (an error at the request)."""
        with ScriptedServer(default=GOOD) as server:
            for fallback, code in (("static", 0), (None, 401)):
                with Client(Cluster(server.url), TokenFile(tmp_path / "token", fallback=fallback)) as client:
                    if code:
                        assert failure(lambda: get(client)).status_code == code
                    else:
                        get(client)
            assert tokens(server) == ["static"]


CREDENTIALS: dict[str, Callable[[Mount, TestCA], Credential]] = {
    "file": lambda mount, _: TokenFile(mount.path("token")),
    "account": lambda mount, _: ServiceAccount(mount.folder),
    "combined": lambda mount, ca: Combined([_certificate(ca), TokenFile(mount.path("token"))]),
}


def _certificate(ca: TestCA) -> ClientCertificate:
    issued = ca.client_cert("alice")
    return ClientCertificate(certificate=issued.cert_pem, key=issued.key_pem)


def listed(client: Client) -> WatchError | None:
    """What a verb raises."""
    try:
        client.list("pods")
    except WatchError as error:
        return error
    return None


def watched(client: Client) -> WatchError | None:
    """What a watch tells first."""
    with watch_resource("pods", client=client) as stream, closed_in_time(stream):
        return next(stream).error


def followed(client: Client) -> WatchError | None:
    """What a follower tells first; after an error it would go on."""
    with list_and_watch("pods", client=client) as stream, closed_in_time(stream):
        return next(stream).error


Asking = Callable[[Client], WatchError | None]


class Refusing:
    """A server that takes some tokens and refuses the others; at the first refusal the file may change."""

    def __init__(self, mount: Mount, accepted: str | None, then: str | None) -> None:
        self._mount, self._accepted, self._then = mount, accepted, then

    def __call__(self, request: Request) -> Sequence[Step]:
        if token_of(request) != self._accepted:
            if self._then is not None:
                self._mount.swap(token=self._then)
                self._then = None
            return [REFUSED]
        return OPEN if request.is_watch else [List("1", [POD])]


@contextmanager
def refusing(
    ca: TestCA, mount: Mount, credential: str, *, accepted: str | None = None, then: str | None = None
) -> Iterator[tuple[ScriptedServer, Client]]:
    """Such a server, and a client."""
    proof = CREDENTIALS[credential](mount, ca)
    with (
        ScriptedServer(tls=ca.server_context(), default=Reply(Refusing(mount, accepted, then))) as server,
        Client(Cluster(server.url, ca_data=ca.pem), proof, connect_timeout=LIMIT) as client,
    ):
        yield server, client


@pytest.mark.parametrize("credential", CREDENTIALS)
@pytest.mark.parametrize("call", [listed, watched, followed])
class TestRefused:
    """One refresh, one retry, then an error."""

    def test_b176_once_more(self, ca: TestCA, mount: Mount, credential: str, call: Asking) -> None:
        """A 401 reads the file at once, and the request is sent once more with what stands there now (G1, G3, G7)."""
        with refusing(ca, mount, credential, accepted="two", then="two") as (server, client):
            assert call(client) is None
            assert tokens(server)[:2] == ["one", "two"]
            assert server.connections_accepted == 1, "a new token needs no new connection"

    def test_b176_not_twice(self, ca: TestCA, mount: Mount, credential: str, call: Asking) -> None:
        """A second 401 is told as an error, like any other."""
        with refusing(ca, mount, credential, then="two") as (server, client):
            self.assert_unauthorized(call(client))
            assert tokens(server) == ["one", "two"]

    def test_b176_nothing_new(self, ca: TestCA, mount: Mount, credential: str, call: Asking) -> None:
        """The same token is not sent twice."""
        with refusing(ca, mount, credential) as (server, client):
            self.assert_unauthorized(call(client))
            assert tokens(server) == ["one"]

    def assert_unauthorized(self, error: WatchError | None) -> None:
        """It is the server's 401."""
        assert error is not None
        assert (error.error_type, error.origin) == (ErrorType.UNAUTHORIZED_ERROR, ErrorOrigin.HTTP)


def test_own_header_gives_way(mount: Mount) -> None:
    """B176: what a credential gives wins over an Authorization of the caller, which would not be refreshed."""
    with ScriptedServer(default=GOOD) as server, Client(Cluster(server.url), TokenFile(mount.path("token"))) as client:
        client.request("GET", "/x", headers={"authorization": "Bearer of the caller"})
        assert server.requests[0].headers.all("Authorization") == ["Bearer one"]


def test_every_request_has_one(time: Time, mount: Mount) -> None:
    """List, watch and every watch after it carry the token that is in the file at that time (G2)."""
    names = iter(["two", "three", "four"])

    def rotate(_: object) -> None:
        mount.swap(token=next(names))
        time.now += 60

    windows = [[Call(rotate), Head(), Event("MODIFIED", pod("a", f"{version}")), End()] for version in (2, 3)]
    scripts = [[Call(rotate), List("1", [])], *windows]
    with ScriptedServer(*scripts, default=OPEN) as server:
        client = Client(Cluster(server.url), ServiceAccount(mount.folder))
        with client, list_and_watch("pods", client=client, backoff=FAST) as stream, closed_in_time(stream):
            assert [next(stream).resource_version for _ in range(3)] == ["1", "2", "3"]
            server.wait_for_requests(3)
        assert tokens(server)[:3] == ["one", "two", "three"]


class TestInCluster:
    """As a pod has it: two variables, and the folder of its account."""

    def test_b177_in_cluster(self, ca: TestCA, tmp_path: Path) -> None:
        """Address, token and authority come from there, and all that may change is followed."""
        other = TestCA()
        with ApiServer(tls=ca, anonymous=False) as server:
            one, two = (server.token_for("system:serviceaccount:team:app") for _ in range(2))
            files: dict[str, bytes | str] = {"ca_crt": ca.pem, "namespace": "team\n"}
            mount = Mount(tmp_path, token=f"{one}\n", **files)
            with Client(*_kubeconfig.in_cluster(pod_environment(server), str(tmp_path))) as client:
                client.list("pods")
                server.revoke(one)
                server.tls = other.server_context()
                server.drop_connections()
                mount.swap(**{**files, "token": f"{two}\n", "ca_crt": other.pem})
                client.list("pods")
                assert client.cluster.namespace == "team"
            assert tokens(server) == [one, one, two]

    def test_b177_not_in_one(self, tmp_path: Path) -> None:
        """Without the variables it says so."""
        with pytest.raises(ConfigError, match="not in a pod"):
            _kubeconfig.in_cluster({}, str(tmp_path))

    def test_b177_unreadable_authority(self, ca: TestCA, tmp_path: Path) -> None:
        """An authority that cannot be read is an error; nobody is trusted instead."""
        Mount(tmp_path, token="one")
        with ApiServer(tls=ca) as server:
            with pytest.raises(ConfigError, match=r"ca\.crt"):
                _kubeconfig.in_cluster(pod_environment(server), str(tmp_path))
            assert server.connections_accepted == 0


def pod_environment(server: ApiServer) -> dict[str, str]:
    """What a pod finds of this server."""
    return {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(server.port)}


class TestKubeconfig:
    """Which way of several a user of a kubeconfig goes."""

    def test_b178_password_and_token(self, tmp_path: Path) -> None:
        """Both a password and a token are an error."""
        with pytest.raises(ConfigError, match="remove one of them"):
            loaded(tmp_path, "http://127.0.0.1:1", {"token": "one", "username": "me", "password": "made up"})

    def test_b178_token_wins_over_plugin(self, tmp_path: Path) -> None:
        """A token wins over an exec plugin, which is not even looked for."""
        plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./nowhere", "interactiveMode": "Never"}
        with ScriptedServer(default=GOOD) as server:
            with loaded(tmp_path, server.url, {"token": "one", "exec": plugin}) as client:
                get(client)
            assert tokens(server) == ["one"]


def loaded(folder: Path, server: str, user: dict[str, object]) -> Client:
    """A client out of a kubeconfig with this user."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (folder / "config").write_text(json.dumps(document))
    return Client.from_kubeconfig(folder / "config")
