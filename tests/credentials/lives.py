"""The life of a token that is fetched: the rules that hold for each cloud, as tests to inherit."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from kwsync import CancelToken, Client, Cluster, EndReason, EventType, _clock, watch_resource
from kwsync._cancel import Guard
from kwsync.credentials import AuthContext, Authorization, Credential, CredentialError, describe
from kwsync.testing import ApiServer, ScriptedServer
from tests.credentials.token_endpoint import LIMIT, Answer, TokenEndpoint

SECRET = "made-up-sentinel-secret"
CLUSTER = Cluster("https://example.test")
LEEWAY = 10.0
AT_ONCE = 2.0
"""Seconds, on a machine that is busy with other tests; an endpoint that hangs takes longer."""

FOREIGN = ("AWS_", "AZURE_", "CLOUDSDK_", "GCE_", "GOOGLE_", "IDENTITY_", "IMDS_", "MSI_", "NO_GCE", "REQUESTS_CA")
PROXIES = ("all_proxy", "http_proxy", "https_proxy", "no_proxy")


class Clock:
    """Both clocks of kwsync, which go on as they do, and can be put forward."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        monkeypatch.setattr(_clock, "monotonic", lambda: time.monotonic() + self.ahead)
        monkeypatch.setattr(_clock, "wall", lambda: time.time() + self.ahead)


def isolate(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """No account of whoever runs the tests, and no proxy."""
    for name in list(os.environ):
        if name.startswith(FOREIGN) or name.lower() in PROXIES:
            monkeypatch.delenv(name)
    for name in ("HOME", "USERPROFILE", "APPDATA", "CLOUDSDK_CONFIG", "AZURE_CONFIG_DIR"):
        monkeypatch.setenv(name, str(home))


def proof_of(credential: Credential) -> Authorization:
    """What a request would carry now; waits as a request does."""
    guard = Guard(time.monotonic() + 10 * LIMIT + 1e6)
    return credential.authorize(AuthContext(CLUSTER, guard.remaining, guard))


def token_of(credential: Credential) -> str:
    """The same without the scheme."""
    return proof_of(credential).headers["Authorization"].removeprefix("Bearer ")


def wait_for_fetch(credential: Credential) -> None:
    """Until the thread of a fetch has ended."""
    for thread in threading.enumerate():
        if thread.name.startswith("kwsync-credential-"):
            thread.join(LIMIT)
            assert not thread.is_alive(), f"{credential!r} has not ended its fetch"


@contextmanager
def failing(words: str, *secrets: str) -> Iterator[None]:
    """There is no credential, the error says *words* and neither it nor what led to it holds a secret."""
    with pytest.raises(CredentialError, match=words) as caught:
        yield
    error: BaseException | None = caught.value
    while error is not None:
        assert not [secret for secret in secrets if secret in str(error)], "a secret is in an error"
        error = error.__cause__ or error.__context__


NONSENSE = {
    "HTML": b"<html>" + SECRET.encode(),
    "empty": b"",
    "list": [SECRET],
    "null": None,
    "no token": {"other": SECRET},
    "number": {"access_token": 5, "expires_in": 3600, "expires_on": "4000000000"},
    "empty token": {"access_token": "", "expires_in": 3600, "expires_on": "4000000000"},
    "two words": {"access_token": f"{SECRET} b", "expires_in": 3600, "expires_on": "4000000000"},
    "bad times": {"access_token": SECRET, "expires_in": "soon", "expires_on": "soon"},
}
"""What an endpoint may answer that is no token."""


class Life:
    """Who inherits from this has the fixtures *endpoint*, *credential* and *connect*, which belong together."""

    room: ModuleType
    """Where the credential is."""
    name: str
    """Of the endpoint's tokens."""
    early: float
    """Seconds before the expiry at which it is renewed."""
    refused: Answer
    """How the endpoint refuses."""
    echo: Answer
    """The same with a secret in it."""
    code: str
    """The public part of that, which the error repeats."""

    def test_first_and_again(self, clock: Clock, credential: Credential, endpoint: TokenEndpoint) -> None:
        """The first request fetches a token, the others use it, until shortly before the time to renew it."""
        assert token_of(credential) == f"{self.name}-1"
        count = len(endpoint.asked)
        clock.ahead += 3600 - self.early - LEEWAY - 5
        assert {token_of(credential) for _ in range(3)} == {f"{self.name}-1"}
        assert len(endpoint.asked) == count

    def test_one_thread_fetches(self, credential: Credential, endpoint: TokenEndpoint) -> None:
        """Many requests at once wait for the same token."""
        endpoint.hang = True
        found: list[str] = []
        threads = [threading.Thread(target=lambda: found.append(token_of(credential))) for _ in range(8)]
        for thread in threads:
            thread.start()
        endpoint.wait_for(1)
        endpoint.release()
        for thread in threads:
            thread.join(LIMIT)
        assert found == 8 * [f"{self.name}-1"]

    def test_early_renewal(self, clock: Clock, credential: Credential, endpoint: TokenEndpoint) -> None:
        """It is renewed beside the requests, which go on with the old one meanwhile, although the endpoint hangs."""
        assert token_of(credential) == f"{self.name}-1"
        count = len(endpoint.asked)
        clock.ahead += 3600 - self.early - LEEWAY + 5
        endpoint.hang = True
        assert token_of(credential) == f"{self.name}-1"
        endpoint.wait_for(count + 1)
        assert token_of(credential) == f"{self.name}-1"
        endpoint.release()
        wait_for_fetch(credential)
        assert token_of(credential) == f"{self.name}-2"

    def test_keeps_the_old(
        self, clock: Clock, credential: Credential, endpoint: TokenEndpoint, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A renewal that fails changes nothing while the old one is valid, and is tried again halfway to its end."""
        assert token_of(credential) == f"{self.name}-1"
        clock.ahead += 3600 - self.early
        endpoint.answer_to_tokens = self.refused
        with caplog.at_level(logging.WARNING, "kwsync.credentials"):
            assert token_of(credential) == f"{self.name}-1"
            wait_for_fetch(credential)
        assert self.code in caplog.text
        endpoint.answer_to_tokens = None
        clock.ahead += 11
        count = len(endpoint.asked)
        assert token_of(credential) == f"{self.name}-1"
        wait_for_fetch(credential)
        assert len(endpoint.asked) == count
        clock.ahead += self.early / 2
        assert token_of(credential) == f"{self.name}-1"
        wait_for_fetch(credential)
        assert token_of(credential) == f"{self.name}-2"

    def test_end_of_the_old(self, clock: Clock, credential: Credential, endpoint: TokenEndpoint) -> None:
        """Once it has expired there is no credential, until the endpoint gives one again."""
        assert token_of(credential) == f"{self.name}-1"
        clock.ahead += 3601
        endpoint.answer_to_tokens = self.refused
        with failing(self.code):
            token_of(credential)
        endpoint.answer_to_tokens = None
        clock.ahead += 11
        endpoint.lifetime += 7200
        assert token_of(credential) == f"{self.name}-2"

    def test_never_stuck(self, clock: Clock, credential: Credential, endpoint: TokenEndpoint) -> None:
        """A first fetch that fails is an error, told without a new request for a while, and then it is tried again."""
        endpoint.answer_to_tokens = self.refused
        with failing(self.code, SECRET):
            token_of(credential)
        count = len(endpoint.asked)
        with failing(self.code, SECRET):
            token_of(credential)
        assert len(endpoint.asked) == count
        endpoint.answer_to_tokens = None
        clock.ahead += 11
        assert token_of(credential) == f"{self.name}-1"

    def test_nobody_there(self, clock: Clock, credential: Credential, endpoint: TokenEndpoint) -> None:
        """An endpoint that cuts the connection is an error that names its kind."""
        endpoint.drop = True
        with failing("Error", SECRET):
            token_of(credential)
        endpoint.drop = False
        clock.ahead += 11
        assert token_of(credential) == f"{self.name}-1"

    def test_silent(self, credential: Credential, endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
        """An endpoint that never answers is given up, so that no thread stays for ever."""
        monkeypatch.setattr(self.room, "TRY_SECONDS", 0.1)
        endpoint.hang = True
        with failing("Timeout", SECRET):
            token_of(credential)
        endpoint.release()

    def test_refused_by_the_cluster(self, clock: Clock, credential: Credential) -> None:
        """After a 401 the next request has a new token; one that was fetched a moment ago is believed."""
        proof = proof_of(credential)
        assert credential.refresh(proof) is False
        clock.ahead += 11
        assert credential.refresh(proof) is True
        assert token_of(credential) == f"{self.name}-2"

    @pytest.mark.parametrize("body", NONSENSE.values(), ids=NONSENSE)
    def test_nonsense(self, clock: Clock, credential: Credential, endpoint: TokenEndpoint, body: object) -> None:
        """What is no token is an error that shows nothing of it, and soon it is tried again."""
        endpoint.answer_to_tokens = Answer(body)
        with failing("token", SECRET):
            token_of(credential)
        endpoint.answer_to_tokens = None
        clock.ahead += 11
        assert token_of(credential) == f"{self.name}-1"

    def test_nothing_leaks(
        self, clock: Clock, credential: Credential, endpoint: TokenEndpoint, caplog: pytest.LogCaptureFixture
    ) -> None:
        """No log at any level, of kwsync or of the cloud's library, and no repr or description holds a token."""
        endpoint.mint = lambda: SECRET
        with caplog.at_level(logging.DEBUG):
            assert token_of(credential) == SECRET
            clock.ahead += 3600
            endpoint.answer_to_tokens = self.refused
            with failing(self.code, SECRET):
                token_of(credential)
        assert SECRET not in caplog.text
        assert SECRET not in repr(credential)
        assert SECRET not in repr(describe(credential))

    def test_description(self, credential: Credential) -> None:
        """It says what it is, and how long the token is good once there is one."""
        assert describe(credential).expires_at is None
        token_of(credential)
        expires_at = describe(credential).expires_at
        assert expires_at is not None
        assert abs(expires_at - time.time() - 3600) < LIMIT

    def test_problem(self, credential: Credential, endpoint: TokenEndpoint) -> None:
        """After a failure the description says what a request is told."""
        endpoint.answer_to_tokens = self.refused
        with pytest.raises(CredentialError) as caught:
            token_of(credential)
        assert describe(credential).problem == str(caught.value)

    def test_cancelled_watch(self, credential: Credential, endpoint: TokenEndpoint) -> None:
        """A watch that waits for an endpoint that hangs ends at once when it is cancelled, without a request."""
        endpoint.hang = True
        cancel = CancelToken()
        with ScriptedServer() as server, Client(Cluster(server.url), credential) as client:
            stream = watch_resource("pods", client=client, cancel=cancel)
            events: list[object] = []
            thread = threading.Thread(target=lambda: events.extend(stream))
            thread.start()
            endpoint.wait_for(1)
            begun = time.monotonic()
            cancel.set()
            thread.join(LIMIT)
            assert time.monotonic() - begun < AT_ONCE
            assert not thread.is_alive()
            assert events == []
            assert stream.end is not None
            assert stream.end.reason is EndReason.CANCELLED
            assert server.requests == []
        endpoint.release()
        wait_for_fetch(credential)

    def test_echo(self, credential: Credential, endpoint: TokenEndpoint, caplog: pytest.LogCaptureFixture) -> None:
        """An endpoint that repeats a secret in its refusal does not bring it into an error, or into anybody's log."""
        endpoint.answer_to_tokens = self.echo
        with caplog.at_level(logging.DEBUG), failing(self.code, SECRET):
            token_of(credential)
        wait_for_fetch(credential)
        assert {record.name for record in caplog.records} >= {"kwsync.credentials"}
        assert SECRET not in caplog.text
        assert not [record for record in caplog.records if record.exc_info]

    def test_whole_path(self, clock: Clock, endpoint: TokenEndpoint, connect: Callable[[str], Client]) -> None:
        """A client watches with the token, and has another one after a 401."""
        tokens: list[str] = []
        with ApiServer(anonymous=False) as server:

            def mint() -> str:
                tokens.append(server.token_for("watcher", ["system:masters"]))
                return tokens[-1]

            endpoint.mint = mint
            with connect(server.url) as client:
                with watch_resource("namespaces", client=client, name="default") as stream:
                    assert next(stream).type is EventType.ADDED
                server.revoke(tokens[0])
                clock.ahead += 11
                assert client.get("namespaces", "default")["metadata"]["name"] == "default"
                assert len(tokens) == 2
