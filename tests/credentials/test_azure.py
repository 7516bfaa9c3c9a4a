"""Entra's access tokens: an application's, a pod's, a machine's, and whichever of these is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("azure.identity", reason="needs azure-identity: pip install 'kwsync[azure]'")

from kwsync import Client, Cluster
from kwsync.credentials import AzureEntra, _azure
from kwsync.credentials._azure import EARLY_SECONDS, SCOPE
from kwsync.testing import TestCA
from tests.credentials.azure_endpoints import APP_SERVICE_PATH, MACHINE_PATH, TENANT, TOKEN_PATH, AzureEndpoint
from tests.credentials.lives import LEEWAY, SECRET, Clock, Life, failing, isolate, token_of, wait_for_fetch
from tests.credentials.token_endpoint import Answer

REFUSED = Answer({"error": "invalid_client", "error_description": "AADSTS7000215: made up"}, 401)
ECHO = Answer({"error": "invalid_client", "error_description": f"AADSTS7000215: {SECRET}"}, 401)


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody's account."""
    isolate(monkeypatch, tmp_path)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Can be put forward."""
    return Clock(monkeypatch)


@pytest.fixture(scope="session")
def authority() -> TestCA:
    """Certifies Entra; making keys takes a moment."""
    return TestCA()


@pytest.fixture
def entra(authority: TestCA, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[AzureEndpoint]:
    """Where applications and pods get their tokens, which the environment says how to trust."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.write(tmp_path)))
    with AzureEndpoint(authority.server_context()) as endpoint:
        yield endpoint


@pytest.fixture
def app_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[AzureEndpoint]:
    """Where an App Service gets its tokens, which its environment says."""
    with AzureEndpoint() as endpoint:
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{endpoint.url}{APP_SERVICE_PATH}")
        monkeypatch.setenv("IDENTITY_HEADER", SECRET)
        yield endpoint


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """A pod's own token, which Entra trusts."""
    path = tmp_path / "token"
    path.write_text(SECRET)
    return path


def entra_of(endpoint: AzureEndpoint) -> dict[str, Any]:
    """Whom to ask, and for which application."""
    return {
        "authority_host": endpoint.url,
        "disable_instance_discovery": True,
        "tenant_id": TENANT,
        "client_id": "made-up-client",
    }


class TestClientSecret(Life):
    room = _azure
    name = "azure"
    early = EARLY_SECONDS
    refused = REFUSED
    echo = ECHO
    code = "AADSTS7000215"

    @pytest.fixture
    def endpoint(self, entra: AzureEndpoint) -> AzureEndpoint:
        """Entra."""
        return entra

    @pytest.fixture
    def credential(self, entra: AzureEndpoint) -> AzureEntra:
        """An application's."""
        return AzureEntra(client_secret=SECRET, **entra_of(entra))

    @pytest.fixture
    def connect(self, credential: AzureEntra) -> Callable[[str], Client]:
        """With an explicit credential."""
        return lambda url: Client(Cluster(url), credential)


class TestManagedIdentity(Life):
    room = _azure
    name = "azure"
    early = EARLY_SECONDS
    refused = Answer({"statusCode": 400, "message": "made up"}, 400)
    echo = Answer({"statusCode": 400, "message": SECRET}, 400)
    code = "CredentialUnavailableError"

    @pytest.fixture
    def endpoint(self, app_service: AzureEndpoint) -> AzureEndpoint:
        """The machine's."""
        return app_service

    @pytest.fixture
    def credential(self, app_service: AzureEndpoint) -> AzureEntra:
        """The machine's."""
        return AzureEntra(source="managed_identity")

    @pytest.fixture
    def connect(self, app_service: AzureEndpoint) -> Callable[[str], Client]:
        """By the provider's name alone; the environment says where the machine's identity is."""
        return lambda url: Client(Cluster(url, auth_provider="azure"))

    def test_same_again(self, clock: Clock, credential: AzureEntra, endpoint: AzureEndpoint) -> None:
        """An endpoint that hands out its last token until shortly before its end is asked for another a few times."""
        token_of(credential)
        while clock.ahead < 3600 - LEEWAY - 15:  # the endpoint's own clock stands, and so does the expiry
            clock.ahead += 10
            token_of(credential)
            wait_for_fetch(credential)
        assert 3 <= len(endpoint.asked) <= 8


class TestSources:
    def test_client_secret(self, entra: AzureEndpoint) -> None:
        """A secret makes it an application's token, for AKS."""
        credential = AzureEntra(client_secret=SECRET, **entra_of(entra))
        assert credential.source == "client_secret"
        assert token_of(credential) == "azure-1"
        (asked,) = (asked for asked in entra.asked if asked.path == TOKEN_PATH)
        assert (
            asked.form.items()
            >= {"grant_type": "client_credentials", "client_id": "made-up-client", "client_secret": SECRET}.items()
        )
        assert SCOPE in asked.form["scope"].split()

    def test_scope(self, entra: AzureEndpoint) -> None:
        """A cluster with an application of its own has another scope."""
        token_of(AzureEntra(client_secret=SECRET, scope="other/.default", **entra_of(entra)))
        assert "other/.default" in entra.asked[-1].form["scope"].split()

    def test_workload_identity(self, entra: AzureEndpoint, token_file: Path, clock: Clock) -> None:
        """A pod's own token is exchanged, and read again at each fetch, since the kubelet rotates it."""
        credential = AzureEntra(source="workload_identity", token_file=token_file, **entra_of(entra))
        assert token_of(credential) == "azure-1"
        assert entra.asked[-1].form["client_assertion"] == SECRET
        token_file.write_text("rotated")
        clock.ahead += 3600
        assert token_of(credential) == "azure-2"
        assert entra.asked[-1].form["client_assertion"] == "rotated"

    def test_workload_identity_of_aks(
        self, entra: AzureEndpoint, token_file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What AKS puts into a pod's environment is enough, and comes before the machine's identity."""
        monkeypatch.setenv("AZURE_TENANT_ID", TENANT)
        monkeypatch.setenv("AZURE_CLIENT_ID", "made-up-client")
        monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(token_file))
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", entra.url)
        for source in ("workload_identity", None):
            assert token_of(AzureEntra(source=source, disable_instance_discovery=True)).startswith("azure-")
            assert entra.asked[-1].form["client_assertion"] == SECRET

    def test_application_of_the_environment(
        self, entra: AzureEndpoint, app_service: AzureEndpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The environment's application comes before everything else."""
        monkeypatch.setenv("AZURE_TENANT_ID", TENANT)
        monkeypatch.setenv("AZURE_CLIENT_ID", "made-up-client")
        monkeypatch.setenv("AZURE_CLIENT_SECRET", SECRET)
        assert token_of(AzureEntra(authority_host=entra.url, disable_instance_discovery=True)) == "azure-1"
        assert entra.asked[-1].form["client_secret"] == SECRET
        assert app_service.asked == []

    def test_app_service(self, app_service: AzureEndpoint) -> None:
        """A managed identity of an App Service proves itself with a header, and may be one of several."""
        assert token_of(AzureEntra(source="managed_identity", client_id="made-up-client")) == "azure-1"
        asked = app_service.asked[-1]
        assert asked.headers["x-identity-header"] == SECRET
        assert (
            asked.query.items() >= {"resource": SCOPE.removesuffix("/.default"), "client_id": "made-up-client"}.items()
        )

    @pytest.mark.parametrize("source", ["managed_identity", None])
    def test_machine(self, source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """A managed identity of a virtual machine comes from its metadata server."""
        with AzureEndpoint() as endpoint:
            monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", endpoint.url)
            assert token_of(AzureEntra(source=source)).startswith("azure-")
            assert endpoint.asked[-1].path == MACHINE_PATH

    def test_impatient(self, app_service: AzureEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server that is busy is asked once more, and not as late as it says."""
        monkeypatch.setattr(_azure, "PAUSE_SECONDS", 0.01)
        app_service.answer_to_tokens = Answer({}, 429, {"Retry-After": "3600"})
        with failing("managed_identity"):
            token_of(AzureEntra(source="managed_identity"))
        assert len(app_service.asked) == 2


class TestBadSettings:
    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"source": "device_code"}, "source must be one of"),
            ({"source": "client_secret"}, "belong together"),
            ({"source": "default", "client_secret": SECRET}, "belong together"),
            ({"client_secret": SECRET, "tenant_id": TENANT}, "needs tenant_id= and client_id="),
            ({"client_secret": "", "client_id": "a"}, "needs tenant_id= and client_id="),
        ],
    )
    def test_settings(self, settings: dict[str, Any], words: str) -> None:
        """What cannot be meant is a ValueError from the call itself, which shows no secret."""
        with pytest.raises(ValueError, match=words) as caught:
            AzureEntra(**settings)
        assert SECRET not in str(caught.value)

    @pytest.mark.parametrize("name", ["tenant_id", "client_id", "client_secret", "scope", "authority_host"])
    def test_no_text(self, name: str) -> None:
        """What is no text is a TypeError, which does not show it."""
        settings: Any = {"tenant_id": "a", "client_id": "b", "client_secret": "c", name: SECRET.encode()}
        with pytest.raises(TypeError, match=f"{name} must be text, not bytes") as caught:
            AzureEntra(**settings)
        assert SECRET not in f"{caught.value} {caught.value.args}"

    def test_no_flag(self) -> None:
        """So is what is neither yes nor no."""
        with pytest.raises(TypeError, match="disable_instance_discovery must be True or False, not str"):
            AzureEntra(disable_instance_discovery="no")  # type: ignore[arg-type]

    def test_lacking(self) -> None:
        """A workload identity without its settings says which, and where else they may stand."""
        with failing("lacks tenant_id= or AZURE_TENANT_ID, token_file= or AZURE_FEDERATED_TOKEN_FILE"):
            token_of(AzureEntra(source="workload_identity", client_id="made-up-client"))

    def test_no_file(self, entra: AzureEndpoint, tmp_path: Path) -> None:
        """A pod's token that is not there is told by the kind of the error."""
        with failing("FileNotFoundError"):
            token_of(AzureEntra(source="workload_identity", token_file=tmp_path / "nowhere", **entra_of(entra)))

    def test_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where there is nothing at all, the error says what there could be."""
        with AzureEndpoint() as endpoint:
            monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", endpoint.url)
            endpoint.answer_to_tokens = Answer({"error": "invalid_request"}, 400)
            with failing("AZURE_CLIENT_SECRET"):
                token_of(AzureEntra())

    def test_http(self, entra: AzureEndpoint) -> None:
        """A secret is never sent without TLS."""
        with AzureEndpoint() as endpoint, failing("client_secret", SECRET):
            token_of(AzureEntra(client_secret=SECRET, **entra_of(endpoint)))
        assert endpoint.asked == []

    def test_foreign_authority(self, entra: AzureEndpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Entra's certificate is verified."""
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(TestCA().write(tmp_path, "other")))
        with failing("SSL", SECRET):
            token_of(AzureEntra(client_secret=SECRET, **entra_of(entra)))

    def test_repr(self) -> None:
        """A repr shows everything but the secret."""
        shown = repr(AzureEntra(tenant_id=TENANT, client_id="made-up-client", client_secret=SECRET))
        assert shown.startswith(
            f"AzureEntra(source='client_secret', tenant_id='{TENANT}', client_id='made-up-client', "
        )
        assert "client_secret=<hidden>" in shown
