"""A client certificate that is replaced while a client lives: what goes on, and what is closed."""

from __future__ import annotations

import logging
import os
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kwsync import Backoff, Client, Cluster, EndReason, EventType, ListWatchStream, list_and_watch, watch_resource
from kwsync._transport import _pool
from kwsync.credentials import AuthContext, Authorization, BearerToken, Certificate, ClientCertificate, TokenFile
from kwsync.credentials._combined import Combined
from kwsync.testing import (
    ApiServer,
    Event,
    Head,
    Head1,
    Http,
    List,
    ProxyServer,
    Raw,
    Reply,
    Request,
    ScriptedServer,
    StallUntil,
    Step,
    TestCA,
    pod,
    status,
)
from tests.client.support import Running, failure, in_child, wait_until
from tests.credentials.rotating import (
    GOOD,
    LIMIT,
    OPEN,
    POD,
    Lasting,
    Mount,
    Pair,
    closed_in_time,
    get,
    name_of,
    names,
    replaced,
    serving,
)

REFUSED = Http(401, status(401, "Unauthorized"))


@pytest.fixture(scope="module")
def ca() -> TestCA:
    """The authority of server and users."""
    return TestCA()


@pytest.fixture
def pair(ca: TestCA, tmp_path: Path) -> Pair:
    """A certificate in files."""
    return Pair(ca, tmp_path)


class TestWatches:
    def test_b185_watch_ends_with_the_reason(self, ca: TestCA, pair: Pair) -> None:
        """A request with a new certificate ends the watches made with the old one: an ERROR that says why."""
        with serving(ca, pair.credential) as (server, client):
            server.on(lambda request: request.is_watch, *OPEN)
            streams = [watch_resource("pods", client=client) for _ in range(3)]
            for stream in streams:
                assert next(stream).type is EventType.ADDED
            pair.swap("new")
            get(client)
            server.wait_for_disconnect(LIMIT, 3)  # at once, and not when somebody reads
            for stream in streams:
                replaced(stream)
            assert names(server) == ["old"] * 3 + ["new"]

    def test_b187_first_load_is_no_rotation(self, ca: TestCA, pair: Pair) -> None:
        """The first certificate, and the same in new files, ends nothing."""
        same = {name: pair.mount.path(name).read_bytes() for name in ("tls_crt", "tls_key")}
        with serving(ca, pair.credential) as (server, client):
            lasting = Lasting(server)
            with watch_resource("pods", client=client) as stream:
                next(stream)
                get(client)
                pair.mount.swap(**same)
                get(client)
                lasting.assert_open(stream)
                assert (server.connections_accepted, server.disconnects) == (2, 0)

    @pytest.mark.parametrize(
        "script",
        [
            pytest.param([], id="head"),
            pytest.param([Head()], id="first-byte"),
            pytest.param([Head(), Raw(b'{"type":')], id="line"),
            pytest.param([Head1(), Raw(b'{"type":')], id="until-close"),
        ],
    )
    def test_b185_in_every_phase(self, ca: TestCA, pair: Pair, script: list[Step]) -> None:
        """So does one that waits for its head or for the rest of a line, also where any end would be a clean one."""
        with serving(ca, pair.credential) as (server, client):
            server.on(lambda request: request.is_watch, *script, StallUntil(threading.Event()))
            stream = watch_resource("pods", client=client)
            running = Running(lambda: replaced(stream))
            server.wait_for_requests(1)
            pair.swap("new")
            get(client)
            running.join()
            running.result()

    def test_b185_one_that_still_connects(self, ca: TestCA, pair: Pair) -> None:
        """One that is in its handshake with the old certificate meanwhile does not begin."""
        asked, go = threading.Event(), threading.Event()
        context = ca.server_context("api.test", require_client_cert=True)

        def hold_the_first(*_: object) -> None:
            first = not asked.is_set()
            asked.set()
            if first:
                go.wait(LIMIT)

        context.sni_callback = hold_the_first
        with serving(ca, pair.credential, context=context, tls_server_name="api.test") as (server, client):
            stream = watch_resource("pods", client=client)
            running = Running(lambda: replaced(stream))
            assert asked.wait(LIMIT), "no handshake"
            pair.swap("new")
            get(client)
            go.set()
            running.result()
            assert names(server) == ["new"]

    def test_what_was_told_is_kept(self, ca: TestCA, pair: Pair) -> None:
        """Events that had come are handed out; the version to go on from is the last one's."""
        told = [Event("ADDED", pod(f"p{number}", str(number))) for number in range(1, 4)]
        with serving(ca, pair.credential) as (server, client):
            server.on(lambda request: request.is_watch, Head(), *told, StallUntil(threading.Event()))
            with watch_resource("pods", client=client, resource_version="0") as stream:
                assert [next(stream).key.name for _ in told] == ["p1", "p2", "p3"]
                before = stream.resource_version
                pair.swap("new")
                get(client)
                replaced(stream)
                assert stream.resource_version == before

    def test_closed_first(self, ca: TestCA, pair: Pair) -> None:
        """A watch that was ended before by its user has that end."""
        with serving(ca, pair.credential) as (server, client):
            server.on(lambda request: request.is_watch, *OPEN)
            with watch_resource("pods", client=client) as stream:
                next(stream)
                stream.close()
                pair.swap("new")
                get(client)
                assert list(stream) == []
                assert stream.end is not None
                assert stream.end.reason is EndReason.CLOSED

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
    def test_child(self, ca: TestCA, pair: Pair) -> None:
        """What a forked child finds out ends nothing of its parent's."""
        with serving(ca, pair.credential) as (server, client):
            lasting = Lasting(server)
            with watch_resource("pods", client=client) as stream:
                next(stream)
                pair.swap("new")
                assert in_child(lambda: str(get(client)["metadata"]["name"])) == "a"
                assert server.requests[-1].peer_certificate != server.requests[0].peer_certificate
                lasting.assert_open(stream)

    @pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
    def test_through_a_proxy(self, ca: TestCA, pair: Pair, secure: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """A tunnel is cut as well, also where the proxy itself is spoken to in TLS."""
        monkeypatch.setenv("SSL_CERT_FILE", str(ca.write(pair.mount.folder, "proxy")))
        context = ca.server_context("api.test", require_client_cert=True)
        with (
            ScriptedServer(tls=context, default=GOOD) as server,
            ProxyServer(("127.0.0.1", server.port), tls=ca.server_context() if secure else None) as proxy,
            Client(Cluster("https://api.test:6443", ca_data=ca.pem, proxy_url=proxy.url), pair.credential) as client,
        ):
            server.on(lambda request: request.is_watch, *OPEN)
            with watch_resource("pods", client=client) as stream:
                next(stream)
                pair.swap("new")
                get(client)
                replaced(stream)


class TestOthers:
    def test_b185_idle_connections_are_closed(self, ca: TestCA, pair: Pair) -> None:
        """Connections that wait for a request are closed at once, all of them."""
        with serving(ca, pair.credential) as (server, client):
            go = threading.Event()
            for _ in range(3):
                server.add(StallUntil(go), GOOD)
            running = []
            for number in range(3):
                running.append(Running(lambda: get(client)))
                server.wait_for_requests(number + 1)
            go.set()
            assert [one.result() for one in running] == [POD] * 3
            assert server.open_connections == 3
            pair.swap("new")
            get(client)
            server.wait_for_disconnect(LIMIT, 3)
            wait_until(lambda: server.open_connections == 1, "the new one alone to be open")

    def test_verb_under_way_is_answered(self, ca: TestCA, pair: Pair) -> None:
        """A verb that is under way gets its answer: nobody could tell whether it was done. Then it is closed."""
        go = threading.Event()
        with serving(ca, pair.credential) as (server, client):
            server.add(StallUntil(go), GOOD)
            running = Running(lambda: client.create("pods", POD))
            server.wait_for_requests(1)
            pair.swap("new")
            get(client)
            go.set()
            assert running.result() == POD
            server.wait_for_disconnect(LIMIT, 1)
            assert names(server) == ["old", "new"]

    def test_refused_certificate_ends_nothing(self, ca: TestCA, pair: Pair) -> None:
        """A new certificate that the server refuses closes nothing; when the old one is back, all is as it was."""
        old = {name: pair.mount.path(name).read_bytes() for name in ("tls_crt", "tls_key")}
        with serving(ca, pair.credential) as (server, client):
            server.on(lambda request: name_of(request) == "stranger", REFUSED)
            lasting = Lasting(server)
            with watch_resource("pods", client=client) as stream:
                next(stream)
                get(client)
                pair.swap("stranger")
                (event,) = watch_resource("pods", client=client)
                assert event.error is not None
                assert event.error.status_code == 401
                pair.mount.swap(**old)
                get(client)
                lasting.assert_open(stream)
            assert names(server) == ["old", "old", "stranger", "old"]
            assert [request.connection_id for request in server.requests] == [1, 2, 3, 2]

    def test_back_again(self, ca: TestCA, pair: Pair) -> None:
        """When an earlier certificate comes back, what was made with the later one is closed in the same way."""
        old = {name: pair.mount.path(name).read_bytes() for name in ("tls_crt", "tls_key")}
        with serving(ca, pair.credential) as (server, client):
            server.on(lambda request: request.is_watch, *OPEN)
            get(client)
            pair.swap("new")
            with watch_resource("pods", client=client) as stream:
                next(stream)
                pair.mount.swap(**old)
                get(client)
                replaced(stream)
            assert names(server) == ["old", "new", "old"]

    def test_many_threads(self, ca: TestCA, pair: Pair) -> None:
        """Requests of many threads and a certificate that is replaced again and again: no verb fails."""
        rounds, workers = 5, 4
        with serving(ca, pair.credential) as (server, client):
            for number in range(rounds):
                running = [Running(lambda: [get(client) for _ in range(5)]) for _ in range(workers)]
                pair.swap(f"number-{number}")
                for one in running:
                    assert one.result() == [POD] * 5
            get(client)
            assert name_of(server.requests[-1]) == f"number-{rounds - 1}"
            wait_until(lambda: server.open_connections <= _pool.IDLE_CONNECTIONS, "the others to be closed")


class Gated:
    """Gives one of two certificates. Who asks on a thread of its own is held, before it looks which, or after."""

    def __init__(self, ca: TestCA, held: str) -> None:
        self.old, self.new = (authorization_of(ca, name) for name in ("old", "new"))
        self.now = self.old
        self.go = threading.Event()
        self._arrived, self._held = threading.Event(), held

    def authorize(self, _context: AuthContext) -> Authorization:
        self._wait("before")
        found = self.now
        self._wait("after")
        return found

    def refresh(self, _rejected: Authorization) -> bool:
        return False

    def wait_until_held(self) -> None:
        """Until somebody is."""
        assert self._arrived.wait(LIMIT), "nobody has asked"

    def _wait(self, where: str) -> None:
        if where == self._held and threading.current_thread() is not threading.main_thread():
            self._arrived.set()
            self.go.wait(LIMIT)


def authorization_of(ca: TestCA, name: str) -> Authorization:
    issued = ca.client_cert(name)
    return Authorization(certificate=Certificate(issued.cert_pem, issued.key_pem))


class TestOrder:
    """Which certificate is the newer one is told by when the credential was asked, not by who is first to use it."""

    def test_b185_late_with_the_old_one(self, ca: TestCA) -> None:
        """A request that got the old certificate, and comes late to use it, ends nothing of the new one."""
        credential = Gated(ca, "after")
        with serving(ca, credential) as (server, client):
            get(client)
            late = Running(lambda: get(client))
            credential.wait_until_held()
            credential.now = credential.new
            lasting = Lasting(server)
            with watch_resource("pods", client=client) as stream:
                next(stream)
                credential.go.set()
                late.result()
                lasting.assert_open(stream)
            assert names(server) == ["old", "new", "old"]

    def test_b185_early_with_the_new_one(self, ca: TestCA) -> None:
        """Nor does one that asked later than a watch, and got the old one while that was still asking."""
        credential = Gated(ca, "before")
        with serving(ca, credential) as (server, client):
            lasting = Lasting(server)
            with watch_resource("pods", client=client) as stream:
                first = Running(lambda: next(stream))
                credential.wait_until_held()
                get(client)  # begins later, and has the old one
                credential.now = credential.new
                credential.go.set()
                first.result()
                lasting.assert_open(stream)
            assert names(server) == ["old", "new"]

    def test_b185_doubtful(self, ca: TestCA) -> None:
        """A watch of which nobody can tell whether it asked earlier than an accepted request is ended by the next."""
        credential = Gated(ca, "after")
        with serving(ca, credential) as (server, client):
            server.on(lambda request: request.is_watch, *OPEN)
            with watch_resource("pods", client=client) as stream:
                first = Running(lambda: next(stream))
                credential.wait_until_held()
                credential.now = credential.new
                get(client)
                credential.go.set()
                first.result()
                get(client)
                replaced(stream)
            assert names(server) == ["new", "old", "new"]


class TestNewToken:
    def test_b185_new_token_closes_nothing(self, ca: TestCA, tmp_path: Path) -> None:
        """A new token goes over the same connections, and running watches stay."""
        mount = Mount(tmp_path, token="one")
        with ApiServer(tls=ca) as server:
            one, two = (server.token_for("alice") for _ in range(2))
            mount.swap(token=one)
            with Client(Cluster(server.url, ca_data=ca.pem), TokenFile(mount.path("token"))) as client:
                with watch_resource("configmaps", client=client) as stream, closed_in_time(stream):
                    reading = Running(lambda: next(stream))
                    server.wait_for_requests(1)
                    client.list("configmaps")
                    mount.swap(token=two)
                    server.revoke(one)
                    client.create("configmaps", {"metadata": {"name": "a"}}, "default")
                    assert reading.result().key.name == "a"
                assert server.connections_accepted == 2


class TestFiles:
    @pytest.mark.parametrize("half", ["missing", "empty", "cut", "no-pair", "locked"])
    def test_b187_unusable_files_change_nothing(
        self, ca: TestCA, pair: Pair, half: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Files that are half written, no pair or gone: the last pair goes on, its watches too; then the new one."""
        issued = ca.client_cert("new")
        certificate, key = issued.cert_pem, pair.mount.path("tls_key").read_bytes()
        files: dict[str, dict[str, bytes | str]] = {
            "missing": {"tls_crt": certificate},
            "empty": {"tls_crt": certificate, "tls_key": b""},
            "cut": {"tls_crt": certificate[:-30], "tls_key": issued.key_pem},
            "no-pair": {"tls_crt": certificate, "tls_key": key},  # the certificate is written first, the key soon after
            "locked": {"tls_crt": certificate, "tls_key": key.replace(b"\n", b"\nProc-Type: 4,ENCRYPTED\n\n", 1)},
        }
        with serving(ca, pair.credential) as (server, client):
            lasting = Lasting(server)
            with watch_resource("pods", client=client) as stream:
                next(stream)
                get(client)
                pair.mount.swap(**files[half])
                with caplog.at_level(logging.WARNING, "kwsync"):
                    get(client)
                assert "stays in use" in caplog.text
                assert "PRIVATE" not in caplog.text
                lasting.assert_open(stream)
                server.drop_connections()
                assert get(client) == POD
                pair.mount.swap(tls_crt=certificate, tls_key=issued.key_pem)
                get(client)
            assert names(server) == ["old", "old", "old", "old", "new"]

    def test_b187_never_any(self, ca: TestCA, pair: Pair) -> None:
        """Before there was a usable pair it is an error, without a request; when the files are there, they are used."""
        whole = {name: pair.mount.path(name).read_bytes() for name in ("tls_crt", "tls_key")}
        pair.mount.swap(tls_crt=whole["tls_crt"], tls_key=whole["tls_key"][:-40])
        with serving(ca, pair.credential) as (server, client):
            (event,) = watch_resource("pods", client=client)
            assert event.error is not None
            assert event.error.status_code == 401
            assert server.connections_accepted == 0
            pair.mount.swap(**whole)
            get(client)
            assert names(server) == ["old"]

    def test_want_of_a_file_is_no_verdict(self, ca: TestCA, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
        """A pair that could not be loaded for want of a temporary file is tried again at the next request."""
        with serving(ca, pair.credential) as (server, client):
            get(client)
            pair.swap("new")
            with monkeypatch.context() as patch:
                patch.setattr(ssl.SSLContext, "load_cert_chain", _no_file)
                get(client)
            get(client)
            assert names(server) == ["old", "old", "new"]

    @pytest.mark.parametrize("name", ["tls_crt", "tls_key"])
    def test_data_beside_a_file(self, ca: TestCA, pair: Pair, name: str) -> None:
        """One half may be data and the other a file."""
        read = {each: pair.mount.path(each).read_bytes() for each in ("tls_crt", "tls_key")}
        credential = (
            ClientCertificate(certificate_file=pair.mount.path(name), key=read["tls_key"])
            if name == "tls_crt"
            else ClientCertificate(certificate=read["tls_crt"], key_file=pair.mount.path(name))
        )
        with serving(ca, credential) as (server, client):
            get(client)
            assert names(server) == ["old"]


def _no_file(*_: object, **__: object) -> None:
    raise OSError(24, "Too many open files")


class TestFollowing:
    def test_b185_nothing_is_lost_or_doubled(self, ca: TestCA, pair: Pair) -> None:
        """Two followers whose certificate is replaced again and again, while objects are written: each is told once."""
        with ApiServer(tls=ca, anonymous=False) as server, server.client("writer") as writer:
            with Client(Cluster(server.url, ca_data=ca.pem), pair.credential) as client:
                first, second = (following(client) for _ in range(2))
                readers = [Running(lambda stream=stream: until(stream, "last")) for stream in (first, second)]  # type: ignore[misc]
                server.wait_for_requests(4)
                for number in range(6):
                    writer.create("configmaps", {"metadata": {"name": f"c{number}"}}, "default")
                    pair.swap(f"user-{number}")
                    client.list("configmaps", "kube-system")
                writer.create("configmaps", {"metadata": {"name": "last"}}, "default")
                for reader, stream in zip(readers, (first, second), strict=True):
                    told, errors = reader.result(20)
                    assert told == [*(f"c{number}" for number in range(6)), "last"]
                    assert errors
                    assert all("has been replaced" in error for error in errors)
                    stream.close()
            lists = [r for r in server.requests if not r.is_watch and r.path.endswith("/default/configmaps")]
            whole = [request for request in lists if request.method == "GET" and request.query.get("limit") != "1"]
            assert len(whole) == 2, "one list of each, and none after it"


def following(client: Client) -> ListWatchStream:
    """A stream that has no long waits."""
    backoff = Backoff(initial=0.01, cap=0.02, jitter=0)
    return list_and_watch("configmaps", client=client, namespace="default", backoff=backoff)


def until(stream: ListWatchStream, name: str) -> tuple[list[str], list[str]]:
    """The names of the objects that were told, up to this one, and the errors on the way."""
    told: list[str] = []
    errors: list[str] = []
    for event in stream:
        if event.error is not None:
            errors.append(event.error.message)
        elif event.type is not EventType.SYNCED:
            told.append(event.key.name)
            if event.key.name == name:
                break
    return told, errors


@pytest.mark.parametrize("combined", [False, True])
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(get, id="verb"),
        pytest.param(lambda client: next(watch_resource("pods", client=client)).object, id="watch"),
        pytest.param(lambda client: next(following(client)).resource_version, id="following"),
    ],
)
def test_b176_retry_after_401(
    ca: TestCA, pair: Pair, tmp_path: Path, combined: bool, call: Callable[[Client], object]
) -> None:
    """A 401 reads the files at once, and the request is sent once more, but not twice."""
    credential = Combined([pair.credential, BearerToken("t")]) if combined else pair.credential

    def refuse(request: Request) -> Step:
        if name_of(request) == "old":
            pair.swap("new")
        return REFUSED

    with serving(ca, credential) as (server, client):
        server.on(lambda request: name_of(request) == "old", Reply(refuse))
        server.on(lambda request: request.is_watch, *OPEN)
        server.on("/api/v1/namespaces/default/configmaps", List("1", []))
        assert call(client) is not None
        assert names(server)[:2] == ["old", "new"]
        server.on(lambda _: True, Reply(refuse))
        server.default = (Reply(refuse),)
        server.wait_for_requests(2)
        pair.swap("old")
        error = failure(lambda: client.get("secrets", "a", "ns"))
        assert (error.status_code, names(server)[-2:]) == (401, ["old", "new"])


def test_no_secret_in_a_repr(pair: Pair) -> None:
    """What the transport keeps of a certificate shows neither half."""
    certificate = pair.credential.authorize(None).certificate  # type: ignore[arg-type]
    assert isinstance(certificate, Certificate)
    assert "PRIVATE" not in repr(_pool._Accepted(1, certificate))
