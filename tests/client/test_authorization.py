"""Who asks: what a credential adds to a request, what a 401 does, and that no secret shows itself."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from kwsync import (
    Client,
    Cluster,
    ErrorOrigin,
    ErrorType,
    EventType,
    WatchError,
    _session,
    list_and_watch,
    watch_resource,
)
from kwsync.credentials import (
    Anonymous,
    AuthContext,
    Authorization,
    BasicAuth,
    BearerToken,
    Cached,
    Certificate,
    ClientCertificate,
    Credential,
    CredentialError,
    Issued,
    ServiceAccount,
    TokenFile,
)
from kwsync.testing import (
    ApiServer,
    Fin,
    Head,
    Http,
    List,
    Raw,
    Reply,
    Request,
    ScriptedServer,
    Stall,
    Step,
    TestCA,
    pod,
    status,
)
from tests.client.support import LIMIT, SECRET, Running, client_of, failure

POD = pod("a", namespace="ns")
REFUSED = Http(401, status(401, "Unauthorized"))


class Rotating:
    """A user's own: a new token whenever the last one was refused."""

    def __init__(self) -> None:
        self.number = 1

    def authorize(self, context: AuthContext) -> Authorization:
        return Authorization.bearer(f"token-{self.number}")

    def refresh(self, rejected: Authorization) -> bool:
        if rejected == Authorization.bearer(f"token-{self.number}"):
            self.number += 1
        return True


@attrs.frozen
class Giving:
    """A user's own that gives whatever it was told to."""

    answer: Any

    def authorize(self, context: AuthContext) -> Any:
        if isinstance(self.answer, type) and issubclass(self.answer, BaseException):
            raise self.answer(f"{SECRET} was refused")
        return self.answer

    def refresh(self, rejected: Authorization) -> bool:
        return False


class Broken(Giving):
    """A user's own whose refresh fails."""

    def refresh(self, rejected: Authorization) -> bool:
        raise RuntimeError(SECRET)


class Wordless(CredentialError):
    """A user's own error, which cannot even be told."""

    def __str__(self) -> str:
        raise RuntimeError(SECRET)


class Undecided(Giving):
    """A user's own whose refresh gives what is neither true nor false."""

    def refresh(self, rejected: Authorization) -> Any:
        class Neither:
            def __bool__(self) -> bool:
                raise RuntimeError(SECRET)

        return Neither()


class Building(Giving):
    """A user's own that makes its answer out of these when it is asked."""

    def authorize(self, context: AuthContext) -> Any:
        return Authorization({}, self.answer() if callable(self.answer) else self.answer)


def get(client: Client) -> Any:
    return client.get("pods", "a", "ns")


def accepting(*tokens: str) -> Reply:
    """Answers requests with one of these tokens; the others are refused with a 401."""
    good = {f"Bearer {token}" for token in tokens}

    def answer(request: Request) -> Step:
        return Http(200, POD) if request.headers.get("Authorization") in good else REFUSED

    return Reply(answer)


def tokens(server: ScriptedServer | ApiServer) -> list[str]:
    """The token of each request."""
    return [request.headers["Authorization"].removeprefix("Bearer ") for request in server.requests]


class TestProof:
    @pytest.mark.parametrize(
        ("credential", "header"),
        [
            pytest.param(None, None, id="none"),
            pytest.param(Anonymous(), None, id="anonymous"),
            pytest.param(BearerToken(" t1\n"), "Bearer t1", id="bearer"),
            pytest.param(BasicAuth("me", "pä:ss"), "Basic bWU6cMOkOnNz", id="basic"),
            pytest.param(Giving(Authorization({"X-Remote-User": "me"})), None, id="own"),
        ],
    )
    def test_header(self, server: ScriptedServer, credential: Credential | None, header: str | None) -> None:
        """A credential's header is on every request, and without one there is none."""
        server.default = (Http(200, {"kind": "PodList", "items": []}),)
        with client_of(server, credential) as client:
            get(client)
            client.list("pods")
            client.request("POST", "/x", headers={"authorization": "of the caller"})
        assert [request.headers.get("Authorization") for request in server.requests[:2]] == [header] * 2
        assert server.requests[2].headers.all("Authorization") == [header or "of the caller"]

    def test_certificate(self, ca: TestCA) -> None:
        """A client certificate is presented in TLS."""
        with ApiServer(tls=ca, anonymous=False) as server:
            pair = server.certificate_for("alice", "team")
            credential = ClientCertificate(certificate=pair.cert_pem, key=pair.key_pem)
            with Client(Cluster(server.url, ca_data=ca.pem), credential) as client:
                client.list("pods")
                server.deny("team")
                assert 'User "alice" cannot list' in failure(lambda: client.list("pods")).message

    def test_other_certificate(self, ca: TestCA, tmp_path: Path) -> None:
        """A connection that was made with one certificate carries no request of another."""
        for name in ("alice", "bob"):
            ca.client_cert(name).write(tmp_path, name)
        credential = ClientCertificate(certificate_file=tmp_path / "user.crt", key_file=tmp_path / "user.key")
        with ScriptedServer(tls=ca.server_context(require_client_cert=True), default=Http(200, POD)) as server:
            with Client(Cluster(server.url, ca_data=ca.pem), credential) as client:
                for name in ("alice", "alice", "bob"):
                    for end in ("crt", "key"):
                        (tmp_path / f"user.{end}").write_bytes((tmp_path / f"{name}.{end}").read_bytes())
                    get(client)
            names = [request.peer_certificate and request.peer_certificate.common_name for request in server.requests]
            assert [request.connection_id for request in server.requests] == [1, 1, 2]
        assert names == ["alice", "alice", "bob"]

    @pytest.mark.parametrize(
        ("provider", "header"),
        [("serviceAccount", f"Bearer {SECRET}"), ("localKubectlProxy", None), (None, None)],
    )
    def test_of_provider(self, server: ScriptedServer, provider: str | None, header: str | None) -> None:
        """Without a credential the cluster's auth provider says who asks."""
        server.default = (Http(200, POD),)
        cluster = Cluster(server.url, auth_provider=provider, auth_metadata={"serviceAccountToken": SECRET})
        with Client(cluster) as client:
            get(client)
        assert server.requests[0].headers.get("Authorization") == header


class TestRefused:
    def test_own_credential(self, server: ScriptedServer) -> None:
        """A 401 is refreshed and sent once more, on the same connection; afterwards the new token is used at once."""
        server.default = (accepting("token-2"),)
        with client_of(server, Rotating()) as client:
            assert get(client) == POD
            assert get(client) == POD
        assert tokens(server) == ["token-1", "token-2", "token-2"]
        assert server.connections_accepted == 1

    @pytest.mark.parametrize(
        "call",
        [
            pytest.param(lambda c: c.create("pods", POD), id="create"),
            pytest.param(lambda c: c.patch("pods", "a", {}, "ns"), id="patch"),
            pytest.param(lambda c: c.delete("pods", "a", "ns"), id="delete"),
            pytest.param(lambda c: c.request("POST", "/x", body={"a": 1}), id="request"),
        ],
    )
    def test_writes(self, server: ScriptedServer, call: Callable[[Client], object]) -> None:
        """A write that got a 401 was not done, so it is sent once more as well, with its body."""
        server.default = (accepting("token-2"),)
        with client_of(server, Rotating()) as client:
            call(client)
        first, second = server.requests
        assert (first.method, first.target, first.body) == (second.method, second.target, second.body)

    def test_token_file(self, api_server: ApiServer, tmp_path: Path) -> None:
        """A token file is read again after a 401, however young the last reading is."""
        file = tmp_path / "token"
        old, new = (api_server.token_for("alice") for _ in range(2))
        file.write_text(f"{old}\n")
        with Client(Cluster(api_server.url), TokenFile(file)) as client:
            client.list("pods")
            file.write_text(f"{new}\n")
            api_server.revoke(old)
            client.list("pods")
        assert tokens(api_server) == [old, old, new]

    def test_token_file_unchanged(self, server: ScriptedServer, tmp_path: Path) -> None:
        """The same token is not sent twice."""
        (tmp_path / "token").write_text("old")
        server.default = (REFUSED,)
        with client_of(server, TokenFile(tmp_path / "token")) as client:
            assert failure(lambda: get(client)).status_code == 401
        assert len(server.requests) == 1

    def test_twice(self, server: ScriptedServer) -> None:
        """A second 401 is told; no third request is made."""
        server.default = (REFUSED,)
        with client_of(server, Rotating()) as client:
            error = failure(lambda: get(client))
        assert (error.error_type, error.origin) == (ErrorType.UNAUTHORIZED_ERROR, ErrorOrigin.HTTP)
        assert tokens(server) == ["token-1", "token-2"]

    def test_fixed(self, server: ScriptedServer) -> None:
        """With a token that never changes one 401 is enough."""
        server.default = (REFUSED,)
        with client_of(server, BearerToken("t")) as client:
            assert failure(lambda: get(client)).status_code == 401
        assert len(server.requests) == 1

    def test_other_error_afterwards(self, server: ScriptedServer) -> None:
        """What the second request answers counts, whatever it is."""
        server.add(REFUSED)
        server.add(Http(403, status(403, "Forbidden")))
        with client_of(server, Rotating()) as client:
            assert failure(lambda: get(client)).reason == "Forbidden"

    @pytest.mark.parametrize("rest", [[Fin()], [Stall()]])
    def test_unreadable(self, server: ScriptedServer, rest: list[Step], monkeypatch: pytest.MonkeyPatch) -> None:
        """A 401 whose body breaks off, or never comes, is a 401."""
        monkeypatch.setattr(_session, "ERROR_BODY_SECONDS", 0.2)
        server.add(Head(401), Raw(b"{"), *rest)
        server.add(Http(200, POD))
        with client_of(server, Rotating()) as client:
            assert get(client) == POD

    def test_pages(self, server: ScriptedServer) -> None:
        """A token that expires between two pages is refreshed, and the list goes on."""
        server.add(List("9", [POD], cont="more"))
        server.add(REFUSED)
        server.add(List("9", [POD]))
        with client_of(server, Rotating()) as client:
            assert len(client.list("pods")) == 2
        assert tokens(server) == ["token-1", "token-1", "token-2"]

    def test_threads(self, server: ScriptedServer) -> None:
        """Many threads whose token is refused all get through."""
        server.default = (accepting("token-2"),)
        with client_of(server, Rotating()) as client:
            running = [Running(lambda: get(client)) for _ in range(12)]
            assert [one.result() for one in running] == [POD] * 12


class TestNoCredential:
    @pytest.mark.parametrize(
        "credential",
        [
            pytest.param(Giving(RuntimeError), id="exception"),
            pytest.param(Giving(OSError), id="os-error"),
            pytest.param(Giving(SystemExit), id="exit"),
            pytest.param(Giving(Wordless), id="error-without-words"),
            pytest.param(Building((SECRET, SECRET)), id="pair"),
            pytest.param(Building(lambda: Certificate(3, SECRET)), id="number"),  # type: ignore[arg-type]
            pytest.param(Giving(StopIteration), id="stop-iteration"),
            pytest.param(Giving(None), id="none"),
            pytest.param(Giving(SECRET), id="text"),
            pytest.param(Giving({"Authorization": f"Bearer {SECRET}"}), id="mapping"),
            pytest.param(Giving(Authorization({"Authorization": f"Bearer {SECRET}\n"})), id="newline"),
            pytest.param(Giving(Authorization({"Authorization": f"Bearer {SECRET}\r\nX-Evil: 1"})), id="injection"),
            pytest.param(Giving(Authorization({"Authorization": f"Bearer {SECRET}\u2028ä"})), id="not-latin"),
            pytest.param(Giving(Authorization({"X-Token": SECRET.encode()})), id="bytes"),  # type: ignore[dict-item]
            pytest.param(Giving(Authorization({f"{SECRET}\n": "x"})), id="name"),
            pytest.param(BearerToken(f"{SECRET} {SECRET}"), id="token-with-space"),
            pytest.param(BearerToken(""), id="empty-token"),
            pytest.param(TokenFile("/nowhere/token"), id="no-file"),
            pytest.param(ServiceAccount("/nowhere"), id="no-account"),
            pytest.param(ClientCertificate(certificate=SECRET, key=SECRET), id="no-pem"),
        ],
    )  # fmt: skip
    def test_without_a_request(self, server: ScriptedServer, credential: Credential) -> None:
        """A credential that gives nothing usable is 401 UNAUTHORIZED_ERROR, without a request and without its text."""
        with client_of(server, credential) as client:
            error = failure(lambda: get(client))
        assert (error.error_type, error.status_code) == (ErrorType.UNAUTHORIZED_ERROR, 401)
        assert (error.reason, error.origin) == ("Unauthorized", ErrorOrigin.CONFIG)
        assert server.connections_accepted == 0
        for text in (str(error), repr(error), error.message, str(pickle.loads(pickle.dumps(error)))):
            assert SECRET not in text

    def test_own_words(self, server: ScriptedServer) -> None:
        """The text of a CredentialError was written to be read, so it is the message."""
        with client_of(server, Giving(CredentialError)) as client:
            assert failure(lambda: get(client)).message == f"{SECRET} was refused"

    @pytest.mark.parametrize("kind", [Broken, Undecided])
    def test_refresh_fails(self, server: ScriptedServer, kind: type[Giving]) -> None:
        """A refresh that raises, or gives nothing that can be told, is a credential that cannot be had."""
        server.default = (REFUSED,)
        with client_of(server, kind(Authorization.bearer("t"))) as client:
            error = failure(lambda: get(client))
        assert (error.status_code, error.origin) == (401, ErrorOrigin.CONFIG)
        assert SECRET not in str(error)
        server.wait_for_requests(1)

    @pytest.mark.parametrize("follow", [list_and_watch, watch_resource])
    def test_no_watch_raises(self, server: ScriptedServer, follow: Any) -> None:
        """Of a watch each of these is an event, and nothing is raised."""
        for credential in (Giving(Wordless), Giving(SystemExit), Building((SECRET, SECRET)), Giving(SECRET)):
            with client_of(server, credential) as client, follow("pods", client=client) as stream:
                event = next(stream)
            assert (event.type, event.error.status_code) == (EventType.ERROR, 401)

    def test_text_for_bytes(self, ca: TestCA) -> None:
        """PEM as text does as well as bytes."""
        pair = ca.client_cert("one")
        credential = Giving(Authorization({}, Certificate(pair.cert_pem.decode(), pair.key_pem.decode())))
        with (
            ScriptedServer([Http(200, POD)], tls=ca.server_context()) as server,
            Client(Cluster(server.url, ca_data=ca.pem), credential) as client,
        ):
            assert get(client) == POD

    def test_late(self, server: ScriptedServer) -> None:
        """A credential that does not come in time is told as that, and not as a server that does not answer."""
        come = threading.Event()

        def fetch() -> Issued:
            come.wait(LIMIT)
            return Issued(Authorization.bearer("late"))

        with client_of(server, Cached(fetch, name="slow")) as client:
            error = failure(lambda: client.get("pods", "a", "ns", timeout=0.1))
            come.set()
        assert (error.origin, error.message) == (ErrorOrigin.TIMEOUT, "the credential (Cached) has not come in time")

    def test_interrupts_pass(self, server: ScriptedServer) -> None:
        """What is no Exception passes: it is for the program, not about the credential."""
        with client_of(server, Giving(KeyboardInterrupt)) as client, pytest.raises(KeyboardInterrupt):
            get(client)

    def test_certificate_that_is_no_pair(self, ca: TestCA) -> None:
        """A certificate whose key is another's is found when TLS begins, and no request is sent."""
        one, other = ca.client_cert("one"), ca.client_cert("other")
        credential = ClientCertificate(certificate=one.cert_pem, key=other.key_pem)
        with ScriptedServer(tls=ca.server_context()) as server:
            with Client(Cluster(server.url, ca_data=ca.pem), credential) as client:
                error = failure(lambda: get(client))
            assert server.requests == []
        assert (error.status_code, error.origin) == (401, ErrorOrigin.CONFIG)


def test_pickled_secrets(server: ScriptedServer) -> None:
    """What an error carries to another process holds no credential."""
    server.default = (Http(403, status(403, "Forbidden")),)
    with client_of(server, BearerToken(SECRET)) as client:
        error = failure(lambda: get(client))
    assert isinstance(error, WatchError)
    assert SECRET.encode() not in pickle.dumps(error)
