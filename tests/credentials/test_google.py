"""Google's access tokens: by a key, by Application Default Credentials, from the metadata server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.auth", reason="needs google-auth: pip install 'kwsync[google]'")

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kwsync import Client, Cluster
from kwsync.credentials import GoogleServiceAccount, _google
from kwsync.credentials._google import EARLY_SECONDS, SCOPE
from kwsync.testing import ApiServer
from tests.credentials.google_endpoints import EMAIL, GoogleEndpoint, claims_of
from tests.credentials.lives import SECRET, Clock, Life, failing, isolate, token_of
from tests.credentials.token_endpoint import Answer


@pytest.fixture(scope="session")
def private_key() -> str:
    """One for all tests, since it takes a moment to find the primes."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(*pem).decode()


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody's account."""
    isolate(monkeypatch, tmp_path)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Can be put forward."""
    return Clock(monkeypatch)


@pytest.fixture
def endpoint() -> Iterator[GoogleEndpoint]:
    """Google."""
    with GoogleEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def key(endpoint: GoogleEndpoint, private_key: str) -> dict[str, Any]:
    """A service account's key."""
    return endpoint.key(private_key)


@pytest.fixture
def key_file(key: dict[str, Any], tmp_path: Path) -> Path:
    """The same in a file."""
    path = tmp_path / "key.json"
    path.write_text(json.dumps(key))
    return path


class TestLife(Life):
    room = _google
    name = "google"
    early = EARLY_SECONDS
    refused = Answer({"error": "invalid_grant", "error_description": "made up"}, 400)
    echo = Answer({"error": "invalid_grant", "error_description": SECRET, "other": SECRET}, 400)
    code = "invalid_grant"

    @pytest.fixture
    def credential(self, key: dict[str, Any]) -> GoogleServiceAccount:
        """By a key."""
        return GoogleServiceAccount(key)

    @pytest.fixture
    def connect(self, key_file: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Client]:
        """By the provider's name alone; the environment says which account it is."""
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key_file))
        return lambda url: Client(Cluster(url, auth_provider="googleServiceAccount"))

    def test_long_times(self, credential: GoogleServiceAccount, endpoint: GoogleEndpoint) -> None:
        """A lifetime that no calendar has is an error like any other nonsense."""
        endpoint.lifetime = 10**30
        with failing("OverflowError"):
            token_of(credential)


class TestSources:
    def test_mapping(self, key: dict[str, Any], endpoint: GoogleEndpoint) -> None:
        """A key signs who asks, for what, and whom."""
        assert token_of(GoogleServiceAccount(key)) == "google-1"
        claims = claims_of(endpoint.asked[0].form["assertion"])
        assert (claims["iss"], claims["scope"]) == (EMAIL, SCOPE)
        assert claims["aud"] == "https://oauth2.googleapis.com/token"

    def test_text(self, key: dict[str, Any]) -> None:
        """The key may be JSON text, as Backstage's configuration has it."""
        assert token_of(GoogleServiceAccount(json.dumps(key))) == "google-1"

    def test_file(self, key_file: Path) -> None:
        """The key may be a file."""
        assert token_of(GoogleServiceAccount(key_file=key_file)) == "google-1"

    def test_rotated_file(self, key_file: Path, clock: Clock, endpoint: GoogleEndpoint, key: dict[str, Any]) -> None:
        """The file is read again at each fetch."""
        credential = GoogleServiceAccount(key_file=key_file)
        assert token_of(credential) == "google-1"
        key_file.write_text(json.dumps({**key, "client_email": "other@example.test"}))
        clock.ahead += 3600
        assert token_of(credential) == "google-2"
        assert claims_of(endpoint.asked[-1].form["assertion"])["iss"] == "other@example.test"

    def test_scopes(self, key: dict[str, Any], endpoint: GoogleEndpoint) -> None:
        """Other scopes may be asked for, one or several."""
        assert GoogleServiceAccount(key, scopes="one").scopes == ("one",)
        token_of(GoogleServiceAccount(key, scopes=["one", "two"]))
        assert claims_of(endpoint.asked[0].form["assertion"])["scope"] == "one two"

    def test_environment(self, key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a key it is the file that GOOGLE_APPLICATION_CREDENTIALS names."""
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key_file))
        assert token_of(GoogleServiceAccount()) == "google-1"

    def test_gcloud(self, key_file: Path, tmp_path: Path) -> None:
        """Without that it is the file that gcloud has written."""
        key_file.rename(tmp_path / "application_default_credentials.json")
        assert token_of(GoogleServiceAccount()) == "google-1"

    def test_metadata_server(self, endpoint: GoogleEndpoint) -> None:
        """Without any file it is the metadata server's account, with which a client goes all the way."""
        with ApiServer(anonymous=False) as server:
            endpoint.mint = lambda: server.token_for("watcher", ["system:masters"])
            found = run(GET, server.url, GCE_METADATA_HOST=endpoint.address, GCE_METADATA_IP=endpoint.address)
        assert found == "default"
        assert all(asked.headers["metadata-flavor"] == "Google" for asked in endpoint.asked)

    def test_nothing(self) -> None:
        """Where there is nothing at all, the error says what there could be."""
        assert "GOOGLE_APPLICATION_CREDENTIALS" in run(FAIL, "https://example.test", NO_GCE_CHECK="true")


class TestBadKeys:
    @pytest.mark.parametrize("key", [5, b"{}", ["a"]])
    def test_type(self, key: Any) -> None:
        """A key of another type is a TypeError from the call itself."""
        with pytest.raises(TypeError, match="key must be"):
            GoogleServiceAccount(key)

    @pytest.mark.parametrize("scopes", [5, [5], [SECRET.encode()], None])
    def test_scopes(self, scopes: Any) -> None:
        """So are scopes that are no texts, and the error does not show them."""
        with pytest.raises(TypeError) as caught:
            GoogleServiceAccount({}, scopes=scopes)
        assert SECRET not in f"{caught.value} {caught.value.args}"

    def test_both(self) -> None:
        """Two keys are one too many."""
        with pytest.raises(ValueError, match="not both"):
            GoogleServiceAccount({}, key_file="/a")

    @pytest.mark.parametrize("text", [SECRET, "", "[]", "{" * 100_000, "\ud800"])
    def test_no_json(self, text: str) -> None:
        """A text that is no JSON object is an error that does not show it."""
        with failing("the given key is no JSON object", SECRET):
            token_of(GoogleServiceAccount(text))

    def test_no_file(self, tmp_path: Path) -> None:
        """A file that is not there is named."""
        with failing("nowhere.json cannot be read"):
            token_of(GoogleServiceAccount(key_file=tmp_path / "nowhere.json"))

    def test_other_kind(self) -> None:
        """Other kinds of accounts belong elsewhere, and the error says where."""
        with failing("GOOGLE_APPLICATION_CREDENTIALS", SECRET):
            token_of(GoogleServiceAccount({"type": "authorized_user", "refresh_token": SECRET}))

    @pytest.mark.parametrize(
        "change", [{"private_key": SECRET}, {"client_email": [SECRET.encode()]}, {"token_uri": "nowhere"}]
    )
    def test_damaged(self, key: dict[str, Any], change: dict[str, Any]) -> None:
        """A key that cannot be used is an error that shows nothing of it."""
        with failing("the given key", SECRET, key["private_key"]):
            token_of(GoogleServiceAccount({**key, **change}))

    def test_copied(self, key: dict[str, Any]) -> None:
        """Whoever changes the mapping afterwards changes nothing."""
        credential = GoogleServiceAccount(key)
        key.clear()
        assert token_of(credential) == "google-1"

    def test_repr(self, key: dict[str, Any]) -> None:
        """A repr shows where a key is, and nothing of it."""
        assert (
            repr(GoogleServiceAccount(key)) == f"GoogleServiceAccount(key=<hidden>, key_file=None, scopes={(SCOPE,)})"
        )
        assert "/a/key.json" in repr(GoogleServiceAccount(key_file="/a/key.json"))


CLIENT = """
import sys
from kwsync import Client, Cluster, WatchError
client = Client(Cluster(sys.argv[1], auth_provider="googleServiceAccount"))
"""
GET = CLIENT + 'print(client.get("namespaces", "default")["metadata"]["name"])'
FAIL = CLIENT + 'try:\n    client.get("namespaces", "default")\nexcept WatchError as error:\n    print(error)'


def run(program: str, url: str, **environment: str) -> str:
    """Run a program of its own, since google-auth reads its variables when it is imported; what it prints."""
    command = [sys.executable, "-c", program, url]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
