"""Tokens for EKS: each of AWS's sources against an endpoint of its own, the life of a token, and what never shows."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from kwsync import CancelToken, Client, Cluster, EndReason, EventType, list_and_watch, watch_resource
from kwsync.credentials import AwsEks, Credential, CredentialError, _aws_sdk, describe
from kwsync.credentials._aws import EARLY_SECONDS
from kwsync.credentials._aws_sdk import LIFE_SECONDS
from kwsync.credentials._presign import Keys
from kwsync.testing import Event, Head, Http, List, Reply, Request, ScriptedServer, Stall, Step, pod, status
from tests.credentials.aws_endpoints import (
    OWN,
    POD_TOKEN,
    ROLE,
    SECRET,
    AwsEndpoints,
    Signed,
    accepts,
    read_token,
)
from tests.credentials.lives import AT_ONCE, LEEWAY, Clock, failing, isolate, proof_of, token_of, wait_for_fetch
from tests.credentials.token_endpoint import LIMIT

NO_EXTRA = r'pip install "kwsync\[aws\]"'
EXTERNAL_ID = f"{SECRET}-external-id"


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody's account, and no metadata server."""
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv("BOTO_CONFIG", str(tmp_path / "boto"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Can be put forward."""
    return Clock(monkeypatch)


@pytest.fixture
def botocore() -> None:
    """Only where it is installed."""
    pytest.importorskip("botocore", reason="needs botocore: pip install 'kwsync[aws]'")


@pytest.fixture
def no_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it were not installed."""
    for name in [name for name in sys.modules if name.startswith("botocore.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "botocore", None)


@pytest.fixture
def aws(botocore: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsEndpoints]:
    """AWS's endpoints, of which only the token service is found."""
    endpoints = AwsEndpoints()
    with endpoints.server:
        endpoints.lead(monkeypatch)
        yield endpoints


@pytest.fixture
def keys_in_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that do not expire."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", OWN.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", OWN.secret_key)


@pytest.fixture
def role(aws: AwsEndpoints, keys_in_environment: None) -> AwsEks:
    """A role that is assumed with these."""
    return AwsEks("made-up", role_arn=ROLE, external_id=EXTERNAL_ID)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the shared configuration is."""
    (tmp_path / ".aws").mkdir()
    return tmp_path / ".aws"


def signed(credential: AwsEks) -> Signed:
    """What the token says that a request would carry now."""
    return read_token(token_of(credential))


def key_of(credential: AwsEks) -> str:
    """With which key it is signed."""
    return signed(credential).access_key


def write_profile(folder: Path, name: str, keys: Keys) -> None:
    """One profile with keys."""
    text = f"[{name}]\naws_access_key_id = {keys.access_key}\naws_secret_access_key = {keys.secret_key}\n"
    (folder / "credentials").write_text(text)


class TestEnvironment:
    def test_needs_no_extra(
        self, keys_in_environment: None, no_botocore: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Keys in the environment make a token without botocore."""
        credential = AwsEks("made-up")
        assert accepts(token_of(credential), "made-up", {OWN.access_key: OWN})
        monkeypatch.setenv("AWS_SESSION_TOKEN", "made-up-session")
        session = Keys(OWN.access_key, OWN.secret_key, "made-up-session")
        assert accepts(token_of(AwsEks("made-up")), "made-up", {OWN.access_key: session})

    def test_same_with_the_extra(self, keys_in_environment: None, aws: AwsEndpoints) -> None:
        """And the same with it."""
        assert accepts(token_of(AwsEks("made-up")), "made-up", aws.issued)

    @pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
    def test_half(
        self, keys_in_environment: None, no_botocore: None, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        """Half a pair of keys is none."""
        monkeypatch.delenv(name)
        with failing(NO_EXTRA, OWN.secret_key):
            token_of(AwsEks("made-up"))

    @pytest.mark.parametrize("argument", [{"role_arn": ROLE}, {"profile": "made-up"}])
    def test_what_needs_the_extra(self, keys_in_environment: None, no_botocore: None, argument: dict[str, str]) -> None:
        """Everything else says which extra it needs."""
        with failing(NO_EXTRA):
            token_of(AwsEks("made-up", **argument))

    def test_expiry(self, keys_in_environment: None, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
        """A token is not used for longer than the keys, where the environment tells their end."""
        end = time.time() + 300
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", datetime.fromtimestamp(end, timezone.utc).isoformat())
        credential = AwsEks("made-up")
        token_of(credential)
        assert describe(credential).expires_at == pytest.approx(end, abs=0.01)
        clock.ahead += 301
        with failing("have expired"):
            token_of(credential)

    def test_expiry_in_zulu_time(self, keys_in_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
        """The end may be written as AWS's command line writes it."""
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", "2999-01-01T00:00:00Z")
        token_of(AwsEks("made-up"))

    @pytest.mark.parametrize("written", ["soon", "2999-01-01T00:00:00", "2999-01-01", "32472144000"])
    def test_expiry_that_is_none(
        self, keys_in_environment: None, monkeypatch: pytest.MonkeyPatch, written: str
    ) -> None:
        """One that is no moment is an error: without a zone it could be any of a day."""
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", written)
        with failing(f"AWS_CREDENTIAL_EXPIRATION is no time as RFC 3339 has it: '{written}'"):
            token_of(AwsEks("made-up"))


class TestRegion:
    def test_order(
        self, keys_in_environment: None, aws: AwsEndpoints, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is the argument, AWS_REGION, AWS_DEFAULT_REGION, the profile's, us-east-1."""
        assert signed(AwsEks("made-up")).region == "us-east-1"
        (folder / "config").write_text("[default]\nregion = eu-central-1\n[profile other]\nregion = eu-north-1\n")
        assert signed(AwsEks("made-up")).region == "eu-central-1"
        monkeypatch.setenv("AWS_PROFILE", "other")
        assert signed(AwsEks("made-up")).region == "eu-north-1"
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-south-1")
        assert signed(AwsEks("made-up")).region == "eu-south-1"
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        assert signed(AwsEks("made-up")).region == "eu-west-1"
        assert signed(AwsEks("made-up", region="eu-west-2")).region == "eu-west-2"

    def test_without_the_extra(self, keys_in_environment: None, no_botocore: None) -> None:
        """Without botocore nobody reads the profile."""
        assert signed(AwsEks("made-up")).region == "us-east-1"

    def test_partition(self, keys_in_environment: None) -> None:
        """The host is that of the region's partition."""
        assert signed(AwsEks("made-up", region="cn-north-1")).url.startswith(
            "https://sts.cn-north-1.amazonaws.com.cn/?"
        )

    def test_of_the_role(self, role: AwsEks, monkeypatch: pytest.MonkeyPatch) -> None:
        """A role is assumed in the region too, although botocore itself knows no AWS_REGION."""
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        assert signed(role).region == "eu-west-1"

    def test_none(self, keys_in_environment: None) -> None:
        """What is no region is an error."""
        with failing("'a/b' is no AWS region"):
            token_of(AwsEks("made-up", region="a/b"))


class TestSources:
    def test_profile(self, aws: AwsEndpoints, folder: Path, keys_in_environment: None) -> None:
        """A profile that is asked for goes before the environment."""
        write_profile(folder, "other", Keys("AKIDOTHER", SECRET))
        assert key_of(AwsEks("made-up", profile="other")) == "AKIDOTHER"
        assert key_of(AwsEks("made-up")) == OWN.access_key

    def test_rotated_profile(self, aws: AwsEndpoints, folder: Path, clock: Clock) -> None:
        """Keys that change in the file sign the next token."""
        write_profile(folder, "default", Keys("AKIDONE", SECRET))
        credential = AwsEks("made-up")
        assert key_of(credential) == "AKIDONE"
        write_profile(folder, "default", Keys("AKIDTWO", SECRET))
        clock.ahead += LIFE_SECONDS
        assert key_of(credential) == "AKIDTWO"

    def test_no_such_profile(self, aws: AwsEndpoints) -> None:
        """A profile that is not there is an error that says so."""
        with failing("ProfileNotFound: neither the configuration nor the credentials file has that profile"):
            token_of(AwsEks("made-up", profile="other"))

    def test_role(self, role: AwsEks, aws: AwsEndpoints) -> None:
        """A role is assumed with the keys found, its external id and the session's name."""
        assert accepts(token_of(role), "made-up", aws.issued)
        assert key_of(role) == "ASIAMADEUP1"
        (form,) = aws.forms()
        assert (form["Action"], form["RoleArn"], form["ExternalId"]) == ("AssumeRole", ROLE, EXTERNAL_ID)
        assert form["RoleSessionName"] == "kwsync"
        assert f"Credential={OWN.access_key}/" in aws.requests[0].headers["Authorization"]

    def test_role_without_external_id(self, aws: AwsEndpoints, keys_in_environment: None) -> None:
        """What is not given is not sent."""
        token_of(AwsEks("made-up", role_arn=ROLE, session_name="other"))
        (form,) = aws.forms()
        assert form["RoleSessionName"] == "other"
        assert "ExternalId" not in form

    def test_role_of_the_profile(self, aws: AwsEndpoints, folder: Path) -> None:
        """A profile may name a role itself."""
        write_profile(folder, "base", OWN)
        (folder / "config").write_text(
            f"[profile other]\nrole_arn = {ROLE}\nsource_profile = base\nexternal_id = {EXTERNAL_ID}\n"
        )
        assert key_of(AwsEks("made-up", profile="other")) == "ASIAMADEUP1"
        assert aws.forms()[0]["ExternalId"] == EXTERNAL_ID

    @pytest.mark.parametrize("depth", [0, 1, 2])
    def test_nobody_is_asked_for_a_code(
        self, aws: AwsEndpoints, folder: Path, monkeypatch: pytest.MonkeyPatch, depth: int
    ) -> None:
        """A profile that wants a code of a person's device is refused, also as the source of another."""

        def ask(prompt: str = "", stream: object = None) -> str:
            raise AssertionError("somebody was asked")

        monkeypatch.setattr("getpass.getpass", ask)
        monkeypatch.setattr("botocore.credentials.getpass.getpass", ask)
        write_profile(folder, "base", OWN)
        text = f"[profile role-0]\nrole_arn = {ROLE}\nsource_profile = base\nmfa_serial = made-up\n"
        for number in range(1, depth + 1):
            text += f"[profile role-{number}]\nrole_arn = {ROLE}\nsource_profile = role-{number - 1}\n"
        (folder / "config").write_text(text)
        with failing("the AWS profile wants an MFA code, which nobody is here to enter"):
            token_of(AwsEks("made-up", profile=f"role-{depth}"))
        assert aws.requests == []

    def test_web_identity(
        self, aws: AwsEndpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
    ) -> None:
        """A pod's own token is exchanged for keys (IRSA), and read again for each token."""
        file = tmp_path / "token"
        file.write_text("made-up-identity-1")
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(file))
        monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        credential = AwsEks("made-up")
        assert accepts(token_of(credential), "made-up", aws.issued)
        file.write_text("made-up-identity-2")
        clock.ahead += LIFE_SECONDS
        assert key_of(credential) == "ASIAMADEUP2"
        asked = [(form["Action"], form["RoleArn"], form["WebIdentityToken"]) for form in aws.forms()]
        assert asked == [("AssumeRoleWithWebIdentity", ROLE, f"made-up-identity-{number}") for number in (1, 2)]

    def test_container(self, aws: AwsEndpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A container's endpoint is asked with the pod's token (EKS Pod Identity)."""
        aws.lead(monkeypatch, "container")
        (tmp_path / "token").write_text(POD_TOKEN)
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
        assert accepts(token_of(AwsEks("made-up")), "made-up", aws.issued)
        assert [request.headers["Authorization"] for request in aws.requests] == [POD_TOKEN]

    def test_instance_metadata(self, aws: AwsEndpoints, monkeypatch: pytest.MonkeyPatch) -> None:
        """A virtual machine's metadata server is asked, by its second version."""
        aws.lead(monkeypatch, "metadata")
        assert accepts(token_of(AwsEks("made-up")), "made-up", aws.issued)
        assert [request.method for request in aws.requests] == ["PUT", "GET", "GET"]

    def test_role_by_a_container(self, aws: AwsEndpoints, monkeypatch: pytest.MonkeyPatch) -> None:
        """A role is assumed with the keys of whatever source there is."""
        aws.lead(monkeypatch, "container")
        assert key_of(AwsEks("made-up", role_arn=ROLE)) == "ASIAMADEUP2"
        assert "Credential=ASIAMADEUP1/" in aws.requests[1].headers["Authorization"]

    def test_nothing(self, aws: AwsEndpoints) -> None:
        """Where no source has any, the error names them."""
        with failing("no AWS credentials: none in the environment or a profile"):
            token_of(AwsEks("made-up"))


class TestLife:
    def test_kept(self, role: AwsEks, aws: AwsEndpoints, clock: Clock) -> None:
        """A token is used until shortly before its fourteen minutes are over, and renewed beside the requests."""
        token = token_of(role)
        clock.ahead += LIFE_SECONDS - EARLY_SECONDS - LEEWAY - 5
        assert token_of(role) == token
        assert len(aws.requests) == 1
        clock.ahead += 10
        assert token_of(role) == token
        wait_for_fetch(role)
        assert key_of(role) == "ASIAMADEUP2"

    @pytest.mark.parametrize("way", ["role", "container"])
    def test_no_longer_than_its_keys(
        self, aws: AwsEndpoints, clock: Clock, monkeypatch: pytest.MonkeyPatch, way: str
    ) -> None:
        """Keys that expire sooner end the token, and are then renewed."""
        aws.life = 300
        aws.lead(monkeypatch, way)
        credential = AwsEks("made-up", role_arn=ROLE if way == "role" else None)
        if way == "role":
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", OWN.access_key)
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", OWN.secret_key)
        first = key_of(credential)
        end = describe(credential).expires_at
        assert end is not None
        assert time.time() + 230 < end <= time.time() + 300
        clock.ahead += 301
        aws.life = 3600
        assert key_of(credential) not in (first, OWN.access_key)

    def test_endpoint_down(
        self, role: AwsEks, aws: AwsEndpoints, clock: Clock, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The old token is used while it is valid; then the old keys sign new ones while they are; then it recovers."""
        token = token_of(role)
        aws.refuses = True
        clock.ahead += LIFE_SECONDS - EARLY_SECONDS
        assert token_of(role) == token
        wait_for_fetch(role)
        clock.ahead += LIFE_SECONDS
        assert key_of(role) == "ASIAMADEUP1"
        assert token_of(role) != token
        assert (
            "the last AWS credentials stay in use: AWS gave no credentials: ClientError (AccessDenied)" in caplog.text
        )
        clock.ahead += 3600
        with failing(r"ClientError \(AccessDenied\)", SECRET):
            token_of(role)
        aws.refuses = False
        aws.life = 2 * 3600 + clock.ahead
        clock.ahead += 11
        assert key_of(role) == "ASIAMADEUP2"

    def test_never_stuck(self, role: AwsEks, aws: AwsEndpoints, clock: Clock) -> None:
        """A first fetch that fails is an error, told without a new request for a while, and then tried again."""
        aws.refuses = True
        for _ in range(2):
            with failing(r"ClientError \(AccessDenied\)", SECRET):
                token_of(role)
        assert len(aws.requests) == 1
        aws.refuses = False
        clock.ahead += 11
        assert key_of(role) == "ASIAMADEUP1"

    def test_nobody_there(self, role: AwsEks, aws: AwsEndpoints, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        """An endpoint that cannot be reached is an error that says so."""
        url = aws.server.url
        with ScriptedServer() as gone:
            monkeypatch.setenv("AWS_ENDPOINT_URL_STS", gone.url)
        with failing("EndpointConnectionError from .*: its endpoint cannot be reached"):
            token_of(role)
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        clock.ahead += 11
        assert key_of(role) == "ASIAMADEUP1"

    def test_silent(self, role: AwsEks, aws: AwsEndpoints, monkeypatch: pytest.MonkeyPatch) -> None:
        """An endpoint that never answers is given up, and the error says so."""
        monkeypatch.setattr(_aws_sdk, "READ_SECONDS", 0.1)
        aws.hang = threading.Event()
        with failing("AWS gave no credentials: ReadTimeoutError.*: its endpoint does not answer"):
            token_of(role)
        aws.hang.set()

    def test_closes(self, role: AwsEks, aws: AwsEndpoints, clock: Clock) -> None:
        """One that closes the connection is told by that."""
        aws.closes = True
        with failing("AWS gave no credentials: ConnectionClosedError.*: its endpoint has closed the connection"):
            token_of(role)
        aws.closes = False
        clock.ahead += 11
        assert key_of(role) == "ASIAMADEUP1"

    def test_nonsense(self, role: AwsEks, aws: AwsEndpoints) -> None:
        """An answer that is none of AWS's own is an error that shows nothing of it."""
        aws.nonsense = True
        with failing("AWS gave no credentials: ", SECRET):
            token_of(role)

    def test_problem(self, role: AwsEks, aws: AwsEndpoints) -> None:
        """After a failure the description says what a request is told."""
        aws.refuses = True
        with pytest.raises(CredentialError) as caught:
            token_of(role)
        assert describe(role).problem == str(caught.value)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
    def test_program_without_end(self, aws: AwsEndpoints, folder: Path, tmp_path: Path) -> None:
        """Who waits for a profile's program that does not end is told, and what it gives at last is used."""
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        (folder / "config").write_text(f"[profile slow]\ncredential_process = cat {pipe}\n")
        credential = AwsEks("made-up", profile="slow")
        credential._cached._patience = 0.2
        with failing("aws has not answered for 0 s"):
            token_of(credential)
        keys = {"Version": 1, "AccessKeyId": OWN.access_key, "SecretAccessKey": OWN.secret_key}
        pipe.write_text(json.dumps(keys))
        wait_for_fetch(credential)
        assert key_of(credential) == OWN.access_key

    def test_refused_by_the_cluster(self, role: AwsEks, clock: Clock) -> None:
        """After a 401 the next request has a new token; one that was made a moment ago is believed."""
        proof = proof_of(role)
        assert role.refresh(proof) is False
        clock.ahead += 11
        assert role.refresh(proof) is True
        assert key_of(role) == "ASIAMADEUP2"

    def test_cancelled_watch(self, role: AwsEks, aws: AwsEndpoints) -> None:
        """A watch that waits for an endpoint that hangs ends at once when it is cancelled, without a request."""
        aws.hang = threading.Event()
        cancel = CancelToken()
        with ScriptedServer() as server, Client(Cluster(server.url), role) as client:
            stream = watch_resource("pods", client=client, cancel=cancel)
            events: list[object] = []
            thread = threading.Thread(target=lambda: events.extend(stream))
            thread.start()
            aws.server.wait_for_requests(1, timeout=LIMIT)
            begun = time.monotonic()
            cancel.set()
            thread.join(LIMIT)
            assert not thread.is_alive()
            assert time.monotonic() - begun < AT_ONCE
            assert events == []
            assert stream.end is not None
            assert stream.end.reason is EndReason.CANCELLED
            assert server.requests == []
        aws.hang.set()
        wait_for_fetch(role)

    def test_too_long(self, keys_in_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
        """A token that no cluster would read is an error, which does not show it."""
        monkeypatch.setenv("AWS_SESSION_TOKEN", 100 * SECRET + 2000 * "x")
        with failing("bytes long, and EKS reads 4096 at most", SECRET):
            token_of(AwsEks("made-up", region="eu-west-1"))

    def test_no_text(self, keys_in_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
        """Keys that are not even text are an error, which does not show them."""
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", f"{SECRET}\udce9")
        with failing("credentials are no text", SECRET, "udce9"):
            token_of(AwsEks("made-up", region="eu-west-1"))


class TestSecrets:
    def test_nothing_leaks(
        self, role: AwsEks, aws: AwsEndpoints, clock: Clock, caplog: pytest.LogCaptureFixture
    ) -> None:
        """No log at any level, of kwsync or of botocore, and no repr, description or error holds a key or a token."""
        with caplog.at_level(logging.DEBUG):
            token = token_of(role)
            aws.refuses = True
            clock.ahead += 2 * 3600
            with failing("AccessDenied", SECRET, token):
                token_of(role)
        shown = [caplog.text, repr(role), repr(describe(role)), repr(role._access), repr(role._cached.held())]
        assert not [text for text in shown if SECRET in text or token in text or OWN.access_key in text]

    @pytest.mark.parametrize("way", ["container", "metadata"])
    def test_bad_answer(
        self,
        aws: AwsEndpoints,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        way: str,
    ) -> None:
        """An answer that is none of AWS's own does not show either."""
        aws.lead(monkeypatch, way)
        aws.refuses = True
        monkeypatch.setattr("botocore.utils.ContainerMetadataFetcher.SLEEP_TIME", 0)
        with caplog.at_level(logging.DEBUG), failing("AWS", SECRET):
            token_of(AwsEks("made-up"))
        assert SECRET not in caplog.text

    def test_silence_is_the_threads_own(
        self, aws: AwsEndpoints, role: AwsEks, caplog: pytest.LogCaptureFixture
    ) -> None:
        """What botocore logs elsewhere meanwhile is logged."""
        logger = logging.getLogger("botocore.endpoint")
        aws.hang = threading.Event()
        thread = threading.Thread(target=lambda: token_of(role))
        thread.start()
        aws.server.wait_for_requests(1, timeout=LIMIT)
        with caplog.at_level(logging.DEBUG):
            logger.debug("made up elsewhere")
        aws.hang.set()
        thread.join(LIMIT)
        assert "made up elsewhere" in caplog.text

    def test_first_use(self, aws: AwsEndpoints, keys_in_environment: None) -> None:
        """Nor does the very first token of a process, for which botocore is imported and makes its loggers."""
        script = f"""
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
from kwsync import Cluster
from kwsync.credentials import AuthContext, AwsEks
assert "botocore" not in sys.modules
AwsEks("made-up", role_arn={ROLE!r}).authorize(AuthContext(Cluster("https://example.test"), lambda: None))
assert "botocore" in sys.modules
"""
        done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        assert SECRET not in done.stdout
        assert len(aws.forms()) == 1


class TestValues:
    def test_protocol(self) -> None:
        """It is a credential, can be a key, and its repr hides the external id."""
        credential = AwsEks("made-up", role_arn=ROLE, external_id=SECRET)
        assert isinstance(credential, Credential)
        assert {credential: 1}[credential] == 1
        assert repr(credential) == (
            f"AwsEks(cluster_id='made-up', region=None, profile=None, role_arn='{ROLE}', external_id=<hidden>, "
            "session_name='kwsync')"
        )

    @pytest.mark.parametrize("name", ["cluster_id", "region", "profile", "role_arn", "external_id", "session_name"])
    def test_types(self, name: str) -> None:
        """What is no text is a TypeError."""
        with pytest.raises(TypeError, match=f"{name} must be text, not bytes") as caught:
            AwsEks(**{"cluster_id": "made-up", name: SECRET.encode()})  # type: ignore[arg-type]
        assert SECRET not in f"{caught.value} {caught.value.args}"

    def test_description(self, keys_in_environment: None) -> None:
        """It says as whom and for which cluster, and after the first token how long that is good."""
        credential = AwsEks("made-up", region="eu-west-1")
        found = describe(credential)
        assert (found.source, found.user, found.expires_at) == ("AWS's chain of credentials", "", None)
        token_of(credential)
        end = describe(credential).expires_at
        assert end is not None
        assert abs(end - time.time() - LIFE_SECONDS) < LIMIT
        assert describe(AwsEks("made-up", role_arn=ROLE)).user == ROLE
        assert describe(AwsEks("made-up", profile="other")).source == "the AWS profile other"


class TestForCluster:
    def test_metadata(self) -> None:
        """Backstage's keys of a cluster's metadata become arguments."""
        credential = AwsEks.for_cluster(
            Cluster(
                "https://example.test",
                name="other",
                auth_metadata={
                    "kubernetes.io/x-k8s-aws-id": "made-up",
                    "kubernetes.io/aws-assume-role": ROLE,
                    "kubernetes.io/aws-external-id": EXTERNAL_ID,
                },
            )
        )
        assert (credential.cluster_id, credential.role_arn) == ("made-up", ROLE)
        assert credential.external_id == EXTERNAL_ID

    def test_name(self) -> None:
        """Without an id it is the cluster's name, and nothing else is assumed."""
        credential = AwsEks.for_cluster(Cluster("https://example.test", name="made-up"))
        assert (credential.cluster_id, credential.role_arn, credential.external_id) == ("made-up", None, None)

    def test_no_name(self, keys_in_environment: None) -> None:
        """Without a name either, the first request says what is missing, and so does the description."""
        credential = AwsEks.for_cluster(Cluster("https://example.test"))
        with failing("the EKS cluster has no id"):
            token_of(credential)
        assert "the EKS cluster has no id" in (describe(credential).problem or "")


def test_whole_path(aws: AwsEndpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster whose metadata says aws is listed and watched with a token that the cluster can verify."""

    def answer(request: Request) -> list[Step]:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or not accepts(token, "made-up", aws.issued):
            return [Http(401, status(401, "Unauthorized"))]
        if not request.is_watch:
            return [List("10", [pod("a", "5")])]
        return [Head(), Event("ADDED", pod("b", "11")), Stall()]

    aws.lead(monkeypatch, "container")
    metadata = {
        "kubernetes.io/auth-provider": "aws",
        "kubernetes.io/x-k8s-aws-id": "made-up",
        "kubernetes.io/aws-assume-role": ROLE,
    }
    with ScriptedServer(default=Reply(answer)) as server:
        cluster = Cluster(server.url, auth_metadata=metadata)
        with Client(cluster) as client, list_and_watch("pods", client=client) as stream:
            seen = [next(stream) for _ in range(3)]
        assert [event.type for event in seen] == [EventType.ADDED, EventType.SYNCED, EventType.ADDED]
        other = Cluster(server.url, auth_metadata={**metadata, "kubernetes.io/x-k8s-aws-id": "other"})
        with Client(other) as client, watch_resource("pods", client=client) as refused:
            (error,) = refused
        assert error.error is not None
        assert error.error.status_code == 401
    assert len({re.sub("=.*", "", request.headers["Authorization"]) for request in server.requests}) == 2
