"""What a cluster's provider means: the ways that are built in, what is loaded for them, and what is missing without."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kwsync import Client, Cluster, ErrorOrigin, ErrorType, credentials, watch_resource
from kwsync._cluster import AUTH_PROVIDER_KEY
from kwsync.credentials import Anonymous, BearerToken, CredentialError, ServiceAccount
from kwsync.credentials._providers import credential_for
from kwsync.credentials._reason import reason_of
from kwsync.testing import ApiServer, ScriptedServer
from tests.credentials.lives import proof_of

URL = "https://example.test"

KINDS = {
    "aws": "AwsEks",
    "azure": "AzureEntra",
    "googleServiceAccount": "GoogleServiceAccount",
    "localKubectlProxy": "Anonymous",
    "serviceAccount": "ServiceAccount",
}


class TestWays:
    @pytest.mark.parametrize("by_field", [True, False])
    @pytest.mark.parametrize("provider", KINDS)
    def test_kinds(self, provider: str, by_field: bool) -> None:
        """Each of Backstage's providers has its way, wherever it is named; making it asks nobody."""
        metadata = {} if by_field else {AUTH_PROVIDER_KEY: provider}
        cluster = Cluster(URL, name="made-up", auth_provider=provider if by_field else None, auth_metadata=metadata)
        assert type(credential_for(cluster)).__name__ == KINDS[provider]

    def test_aws_knows_its_cluster(self) -> None:
        """The way to EKS gets the cluster, whose metadata say which one it is and who asks."""
        cluster = Cluster(URL, name="made-up", auth_provider="aws")
        assert "made-up" in repr(credential_for(cluster))

    def test_service_account_of_the_metadata(self) -> None:
        """A service account's token may stand in the metadata."""
        cluster = Cluster(URL, auth_provider="serviceAccount", auth_metadata={"serviceAccountToken": "one"})
        assert credential_for(cluster) == BearerToken("one")
        assert credential_for(Cluster(URL, auth_provider="serviceAccount")).__class__ is ServiceAccount

    def test_none(self) -> None:
        """Without a provider requests are anonymous."""
        assert credential_for(Cluster(URL)) == Anonymous()

    @pytest.mark.parametrize("provider", ["pinniped", "GoogleServiceAccount", "AWS", " azure"])
    def test_unknown(self, provider: str) -> None:
        """A name that is not Backstage's own is UNAUTHORIZED when it is used, without a request."""
        with ScriptedServer() as server, Client(Cluster(server.url, auth_provider=provider)) as client:
            (event,) = watch_resource("pods", client=client)
            assert server.requests == []
        assert event.error is not None
        assert (event.error.error_type, event.error.status_code) == (ErrorType.UNAUTHORIZED_ERROR, 401)
        assert provider in event.error.message

    @pytest.mark.parametrize("provider", ["google", "oidc", "aks"])
    def test_refused(self, provider: str) -> None:
        """What needs a browser is BAD_REQUEST, without a request."""
        with ScriptedServer() as server, Client(Cluster(server.url, auth_provider=provider)) as client:
            (event,) = watch_resource("pods", client=client)
            assert server.requests == []
        assert event.error is not None
        assert (event.error.error_type, event.error.status_code) == (ErrorType.BAD_REQUEST, 400)

    def test_whole_path_of_a_token(self) -> None:
        """A service account's token goes all the way."""
        with ApiServer(anonymous=False) as server:
            metadata = {"serviceAccountToken": server.token_for("watcher", ["system:masters"])}
            cluster = Cluster(server.url, auth_provider="serviceAccount", auth_metadata=metadata)
            with Client(cluster) as client:
                assert client.get("namespaces", "default")["kind"] == "Namespace"

    def test_whole_path_of_a_proxy(self) -> None:
        """A local proxy gets requests without any proof."""
        with ApiServer() as server, Client(Cluster(server.url, auth_provider="localKubectlProxy")) as client:
            client.get("namespaces", "default")
            assert "Authorization" not in server.requests[-1].headers


class TestExtras:
    @pytest.mark.parametrize(
        ("name", "module", "extra"),
        [
            ("GoogleServiceAccount", "google.auth", "kwsync[google]"),
            ("GoogleServiceAccount", "requests", "kwsync[google]"),
            ("AzureEntra", "azure.identity", "kwsync[azure]"),
        ],
    )
    def test_missing(self, name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without what it needs a credential can be made, and says what to install when it is used."""
        with absent(module, monkeypatch), pytest.raises(CredentialError) as caught:
            proof_of(getattr(credentials, name)())
        assert f'pip install "{extra}"' in str(caught.value)

    def test_missing_in_a_watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In a watch that is one UNAUTHORIZED event, without a request."""
        with (
            absent("azure.identity", monkeypatch),
            ScriptedServer() as server,
            Client(Cluster(server.url, auth_provider="azure")) as client,
        ):
            (event,) = watch_resource("pods", client=client)
            assert server.requests == []
        assert event.error is not None
        assert (event.error.error_type, event.error.status_code) == (ErrorType.UNAUTHORIZED_ERROR, 401)
        assert event.error.origin is ErrorOrigin.CONFIG
        assert 'pip install "kwsync[azure]"' in event.error.message

    def test_not_loaded(self) -> None:
        """Importing kwsync, and a client of another provider, load neither the ways nor the clouds' libraries."""
        program = (
            "import sys, kwsync\n"
            "kwsync.Client(kwsync.Cluster('https://example.test', auth_provider='serviceAccount'))\n"
            "kinds = ('google.auth', 'azure.core', 'msal', 'requests', 'botocore', 'kwsync.credentials._google')\n"
            "kinds += ('kwsync.credentials._azure', 'kwsync.credentials._aws')\n"
            "print([name for name in kinds if name in sys.modules])"
        )
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=True)
        assert done.stdout == "[]\n"


class TestReason:
    def test_names(self) -> None:
        """An error is told by its class and by that of what began it."""
        assert reason_of(ValueError("made-up secret")) == "ValueError"
        assert reason_of(chained(OSError(), ValueError(), "from")) == "OSError from ValueError"
        assert reason_of(chained(OSError(), ValueError(), "in")) == "OSError from ValueError"
        assert reason_of(chained(OSError(), ValueError(), "hidden")) == "OSError"
        assert reason_of(chained(OSError(), OSError(), "from")) == "OSError"

    def test_codes(self) -> None:
        """Of its text only codes are told that everybody may know, each once."""
        text = "AADSTS7000215: secret invalid_client invalid_client AADSTSsecret AADSTS1 not_invalid_client_at_all"
        assert reason_of(ValueError(text)) == "ValueError (AADSTS7000215, invalid_client)"

    def test_bad_text(self) -> None:
        """An error whose text cannot be had is told by its class."""

        class Odd(Exception):
            def __str__(self) -> str:
                raise ValueError("made-up secret")

        assert reason_of(Odd()) == "Odd"


def chained(last: Exception, first: Exception, how: str) -> Exception:
    """*last*, raised because of *first*."""
    last.__context__ = first
    if how != "in":
        last.__cause__ = first if how == "from" else None  # which hides the context, too
    return last


@contextmanager
def absent(module: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if *module* were not installed."""
    for name in list(sys.modules):
        if name == module or name.startswith((f"{module}.", "google.auth.transport.requests")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    yield
    monkeypatch.undo()
