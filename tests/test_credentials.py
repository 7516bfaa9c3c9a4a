"""Ways to prove who you are: what goes into a request, when a file is read again, and what never shows."""

from __future__ import annotations

import base64
import logging
import os
from pathlib import Path
from typing import IO, Any

import pytest
import trustme

from kwsync import _clock, credentials
from kwsync._cluster import AUTH_PROVIDER_KEY, Cluster
from kwsync.credentials import (
    Anonymous,
    AuthContext,
    Authorization,
    BasicAuth,
    BearerToken,
    Certificate,
    ClientCertificate,
    Credential,
    CredentialError,
    ExecPlugin,
    ServiceAccount,
    TokenFile,
    _files,
)
from kwsync.credentials._combined import Combined
from kwsync.credentials._providers import credential_for, refusal
from kwsync.credentials._unavailable import Unavailable
from kwsync.errors import ConfigError

CLUSTER = Cluster("https://example.test")
CONTEXT = AuthContext(CLUSTER, lambda: None)
SECRET = "made-up-secret"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nbWFkZSB1cA==\n-----END CERTIFICATE-----\n"
KEY = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n"


class Clock:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the monotonic clock."""
    clock = Clock()
    monkeypatch.setattr(_clock, "monotonic", clock)
    return clock


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    """A folder as the kubelet mounts it: every name is a link into ..data, which is a link to one version."""
    swap(tmp_path, "1", token="one\n")
    (tmp_path / "token").symlink_to("..data/token")
    return tmp_path


def swap(mount: Path, version: str, **files: str) -> None:
    """Replace all files at once, as the kubelet does."""
    (mount / f"..{version}").mkdir()
    for name, text in files.items():
        (mount / f"..{version}" / name).write_text(text)
    (mount / "..new").symlink_to(f"..{version}")
    (mount / "..new").replace(mount / "..data")


def bearer(credential: Credential) -> str:
    """The token that a request would carry now."""
    return credential.authorize(CONTEXT).headers["Authorization"].removeprefix("Bearer ")


def rejected(token: str) -> Authorization:
    """What the server has just refused."""
    return Authorization.bearer(token)


class TestProtocol:
    @pytest.mark.parametrize(
        "credential",
        [
            Anonymous(),
            BasicAuth("me", SECRET),
            BearerToken(SECRET),
            ClientCertificate(certificate=CERTIFICATE, key=KEY),
            Combined([BearerToken(SECRET)]),
            ExecPlugin("x", args=[SECRET], env={SECRET: SECRET}, cluster_config=SECRET),
            ServiceAccount(),
            TokenFile("/nowhere/token", fallback=SECRET),
            Unavailable("no"),
        ],
    )
    def test_all(self, credential: Credential) -> None:
        """Every way fulfils the protocol, can be a key, and shows no secret in its repr."""
        assert isinstance(credential, Credential)
        assert SECRET not in repr(credential)

    @pytest.mark.parametrize("way", [Anonymous(), BasicAuth("me", SECRET), BearerToken(SECRET), Unavailable("no")])
    def test_fixed(self, way: Credential) -> None:
        """What never changes has nothing new to give after a 401."""
        assert way.refresh(rejected("other")) is False

    def test_reprs(self) -> None:
        """A repr says which way it is, and where its files are."""
        assert repr(Anonymous()) == "Anonymous()"
        assert repr(BearerToken(SECRET)) == "BearerToken(token=<hidden>)"
        assert repr(BasicAuth("me", SECRET)) == "BasicAuth(username='me', password=<hidden>)"
        assert repr(TokenFile("/a/token")) == "TokenFile(path='/a/token')"
        assert repr(ServiceAccount("/a")) == "ServiceAccount(directory='/a')"
        assert repr(ClientCertificate(certificate=CERTIFICATE, key_file="/a/key")) == (
            "ClientCertificate(certificate=<hidden>, key=None, certificate_file=None, key_file='/a/key')"
        )
        assert SECRET not in repr(Authorization.bearer(SECRET))
        assert SECRET not in repr(Certificate(CERTIFICATE.encode(), KEY.encode()))

    def test_names(self) -> None:
        """Every exported name is there."""
        assert all(hasattr(credentials, name) for name in credentials.__all__)

    def test_error(self) -> None:
        """No credential is a kind of configuration that cannot be used."""
        assert issubclass(CredentialError, ConfigError)


class TestFixed:
    def test_anonymous(self) -> None:
        """Anonymous adds nothing to a request."""
        assert Anonymous().authorize(CONTEXT) == Authorization()

    def test_bearer(self) -> None:
        """A token is sent without the white space around it (files end with a newline)."""
        assert BearerToken(" abc\n").authorize(CONTEXT).headers == {"Authorization": "Bearer abc"}

    @pytest.mark.parametrize("token", ["", " \n", f"{SECRET}\r\nX-Other: 1", f"{SECRET} b", f"{SECRET}é"])
    def test_bad_bearer(self, token: str) -> None:
        """A token that no header may carry is an error that does not show it (Backstage logs it whole)."""
        with pytest.raises(CredentialError) as caught:
            BearerToken(token).authorize(CONTEXT)
        assert SECRET not in str(caught.value)

    @pytest.mark.parametrize(("name", "password"), [("me", "pa:ss"), ("", ""), ("mé", "ü\udcff")])
    def test_basic(self, name: str, password: str) -> None:
        """Name and password are joined by a colon, as UTF-8 in base64 (RFC 7617)."""
        header = BasicAuth(name, password).authorize(CONTEXT).headers["Authorization"]
        assert base64.b64decode(header.removeprefix("Basic ")) == f"{name}:{password}".encode(errors="surrogatepass")

    def test_bad_basic(self) -> None:
        """A name with a colon cannot be sent."""
        with pytest.raises(CredentialError, match="colon"):
            BasicAuth("a:b", SECRET).authorize(CONTEXT)

    def test_unavailable(self) -> None:
        """A way that cannot be gone says why when it is asked for."""
        with pytest.raises(CredentialError, match="out of order"):
            Unavailable("out of order").authorize(CONTEXT)


class TestTokenFile:
    def test_reread(self, clock: Clock, mount: Path) -> None:
        """The file is read again 50 seconds after the last reading, not earlier, and for ever (galaxy#23187)."""
        credential = TokenFile(mount / "token")
        assert bearer(credential) == "one"
        swap(mount, "2", token="two\n")
        clock.now += 49.9
        assert bearer(credential) == "one"
        clock.now += 0.1
        assert bearer(credential) == "two"
        swap(mount, "3", token="three\n")
        clock.now += 50
        assert bearer(credential) == "three"

    def test_same_authorization(self, clock: Clock, mount: Path) -> None:
        """Without a change in between each request gets an equal value."""
        credential = TokenFile(mount / "token")
        before = credential.authorize(CONTEXT)
        clock.now += 50
        assert credential.authorize(CONTEXT) == before

    def test_refresh(self, clock: Clock, mount: Path) -> None:
        """After a 401 it is read at once; only another token is worth another try (lightkube#141)."""
        credential = TokenFile(mount / "token")
        assert bearer(credential) == "one"
        assert credential.refresh(rejected("one")) is False
        swap(mount, "2", token="two")
        assert credential.refresh(rejected("one")) is True
        assert bearer(credential) == "two"

    def test_changed_back(self, clock: Clock, mount: Path) -> None:
        """What counts is the rejected token, not the history: a token may come back."""
        credential = TokenFile(mount / "token")
        assert bearer(credential) == "one"
        swap(mount, "2", token="two")
        assert credential.refresh(rejected("one")) is True
        swap(mount, "3", token="one")
        assert credential.refresh(rejected("two")) is True
        assert bearer(credential) == "one"

    def test_refreshed_by_another_thread(self, clock: Clock, mount: Path) -> None:
        """A 401 for a token that was replaced meanwhile is worth another try, even when the file is gone."""
        credential = TokenFile(mount / "token")
        swap(mount, "2", token="two")
        assert bearer(credential) == "two"
        (mount / "token").unlink()
        assert credential.refresh(rejected("one")) is True
        assert credential.refresh(rejected("two")) is False

    def test_refresh_restarts_clock(self, clock: Clock, mount: Path) -> None:
        """A reading after a 401 counts as a reading."""
        credential = TokenFile(mount / "token")
        bearer(credential)
        clock.now += 40
        credential.refresh(rejected("one"))
        swap(mount, "2", token="two")
        clock.now += 40
        assert bearer(credential) == "one"

    @pytest.mark.parametrize("content", [None, b"", b" \n", b"two words", b"\xff\xfe", b"a" * (1 << 20) + b"b"])
    def test_keeps_last(
        self, clock: Clock, tmp_path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A file that gives no token any more leaves the last in use, with a warning, until it gives one again."""
        file = tmp_path / "token"
        file.write_text(SECRET)
        credential = TokenFile(file)
        bearer(credential)
        file.unlink() if content is None else file.write_bytes(content)
        clock.now += 60
        with caplog.at_level(logging.WARNING, "kwsync.credentials"):
            assert bearer(credential) == SECRET
            assert credential.refresh(rejected(SECRET)) is False
        assert str(file) in caplog.text
        assert SECRET not in caplog.text
        file.write_text("two")
        assert bearer(credential) == "two"

    @pytest.mark.parametrize("content", [None, b"", SECRET.encode() + b" b"])
    def test_never_any(self, tmp_path: Path, content: bytes | None) -> None:
        """Without any token so far there is no credential; the error names the file and shows nothing of it."""
        file = tmp_path / "token"
        if content is not None:
            file.write_bytes(content)
        credential = TokenFile(file)
        with pytest.raises(CredentialError, match="gives no token") as caught:
            credential.authorize(CONTEXT)
        assert str(file) in str(caught.value)
        assert SECRET not in str(caught.value)
        assert credential.refresh(rejected("one")) is False

    @pytest.mark.parametrize("path", ["/nowhere\0/token", "/", "/dev/null/token"])
    def test_bad_path(self, path: str) -> None:
        """A path that cannot be opened is a CredentialError, whatever the system says."""
        with pytest.raises(CredentialError):
            TokenFile(path).authorize(CONTEXT)

    def test_fallback(self, clock: Clock, tmp_path: Path) -> None:
        """A fallback serves until the file was read once (client-go), and never after."""
        credential = TokenFile(tmp_path / "token", fallback="static")
        assert bearer(credential) == "static"
        assert credential.refresh(rejected("static")) is False
        (tmp_path / "token").write_text("one")
        assert bearer(credential) == "one"
        (tmp_path / "token").unlink()
        clock.now += 60
        assert bearer(credential) == "one"

    def test_service_account(self, clock: Clock, mount: Path) -> None:
        """The pod's own account is the file token in its folder, rotation and refresh included."""
        credential = ServiceAccount(mount)
        assert bearer(credential) == "one"
        swap(mount, "2", token="two")
        assert credential.refresh(rejected("one")) is True
        assert bearer(credential) == "two"

    def test_service_account_directory(self) -> None:
        """By default it reads where every pod has its files."""
        assert ServiceAccount().directory == "/var/run/secrets/kubernetes.io/serviceaccount"

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
    def test_fork(self, mount: Path) -> None:
        """A child of a fork goes on with the credential."""
        credential = TokenFile(mount / "token")
        bearer(credential)
        child = os.fork()
        if not child:
            os._exit(0 if bearer(credential) == "one" and not credential.refresh(rejected("one")) else 1)
        assert os.waitpid(child, 0)[1] == 0


class TestClientCertificate:
    @pytest.mark.parametrize("encode", [str, str.encode, lambda pem: base64.b64encode(pem.encode()).decode()])
    def test_data(self, encode: type[str]) -> None:
        """Data may be PEM or base64 of PEM, text or bytes; after a 401 there is nothing else to give."""
        credential = ClientCertificate(certificate=encode(CERTIFICATE), key=encode(KEY))
        authorization = credential.authorize(CONTEXT)
        assert authorization.certificate == Certificate(CERTIFICATE.encode(), KEY.encode())
        assert authorization.headers == {}
        assert credential.refresh(authorization) is False

    def test_wrapped_base64(self) -> None:
        """Base64 may be broken into lines."""
        wrapped = base64.encodebytes(CERTIFICATE.encode() * 5)
        pair = ClientCertificate(certificate=wrapped, key=KEY).authorize(CONTEXT).certificate
        assert pair is not None
        assert pair.certificate == CERTIFICATE.encode() * 5

    @pytest.mark.parametrize(
        "bad", ["", SECRET, SECRET.encode(), base64.b64encode(SECRET.encode()), f"{SECRET}é\udcff", b"\xff"]
    )
    def test_bad_data(self, bad: str | bytes) -> None:
        """What is no PEM is an error at the request, which does not show it."""
        with pytest.raises(CredentialError, match="key is neither PEM nor base64") as caught:
            ClientCertificate(certificate=CERTIFICATE, key=bad).authorize(CONTEXT)
        assert SECRET not in str(caught.value)
        with pytest.raises(CredentialError, match="certificate is neither PEM nor base64"):
            ClientCertificate(certificate=bad, key=KEY).authorize(CONTEXT)

    def test_half(self) -> None:
        """Half a pair is a wrong argument."""
        with pytest.raises(ValueError, match="key="):
            ClientCertificate(certificate=CERTIFICATE)
        with pytest.raises(ValueError, match="certificate_file="):
            ClientCertificate(key=KEY)

    def test_data_wins(self, tmp_path: Path) -> None:
        """Data wins over a file, for each half by itself (client-go)."""
        (tmp_path / "key").write_text(KEY)
        credential = ClientCertificate(
            certificate=CERTIFICATE, certificate_file="/nowhere/certificate", key_file=tmp_path / "key"
        )
        assert credential.authorize(CONTEXT).certificate == Certificate(CERTIFICATE.encode(), KEY.encode())

    def test_files(self, tmp_path: Path) -> None:
        """Files are read again when they change, and the value stays the same one while they do not (#4672)."""
        credential = pair_in(tmp_path, "1")
        first = credential.authorize(CONTEXT)
        assert credential.authorize(CONTEXT) is first
        swap_pair(tmp_path, "2")
        second = credential.authorize(CONTEXT)
        assert serials(second) == ("2", "2")
        assert credential.authorize(CONTEXT) is second

    def test_refresh(self, tmp_path: Path) -> None:
        """After a 401 the files are read even where their times say that nothing happened."""
        credential = pair_in(tmp_path, "1")
        first = credential.authorize(CONTEXT)
        assert credential.refresh(first) is False
        state = (tmp_path / "..data" / "key").stat()
        (tmp_path / "..data" / "key").write_text(pem_of("9"))
        os.utime(tmp_path / "..data" / "key", ns=(state.st_atime_ns, state.st_mtime_ns))
        assert credential.authorize(CONTEXT) == first
        assert credential.refresh(first) is True
        assert serials(credential.authorize(CONTEXT)) == ("1", "9")

    def test_keeps_last(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Files that cannot be read any more leave the last pair in use, with a warning."""
        credential = pair_in(tmp_path, "1")
        first = credential.authorize(CONTEXT)
        (tmp_path / "..data").unlink()
        with caplog.at_level(logging.WARNING, "kwsync.credentials"):
            assert credential.authorize(CONTEXT) is first
            assert credential.refresh(first) is False
            assert credential.refresh(Authorization(certificate=Certificate(b"an older", b"one"))) is True
        assert "stays in use" in caplog.text

    @pytest.mark.parametrize("content", [None, "", SECRET, "x" * ((1 << 20) + 1)])
    def test_never_any(self, tmp_path: Path, content: str | None) -> None:
        """Without any pair so far there is no credential; the error names the file and shows nothing of it."""
        if content is not None:
            (tmp_path / "key").write_text(content)
        credential = ClientCertificate(certificate=CERTIFICATE, key_file=tmp_path / "key")
        with pytest.raises(CredentialError, match="key") as caught:
            credential.authorize(CONTEXT)
        assert str(tmp_path / "key") in str(caught.value)
        assert SECRET not in str(caught.value)
        assert credential.refresh(Authorization()) is False

    def test_swapped_while_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A swap between the two readings does not mix an old certificate with a new key."""
        credential = pair_in(tmp_path, "1")
        swaps = iter([lambda: swap_pair(tmp_path, "2")])

        def open_after_swap(file: str, mode: str) -> IO[Any]:
            if file == str(tmp_path / "key"):
                next(swaps, lambda: None)()
            return Path(file).open(mode)

        with monkeypatch.context() as patch:
            patch.setattr(_files, "open", open_after_swap, raising=False)
            first = credential.authorize(CONTEXT)
        assert serials(first) == ("2", "2")
        assert credential.authorize(CONTEXT) is first

    def test_real(self, tmp_path: Path) -> None:
        """What a real authority issues goes through unchanged."""
        issued = trustme.CA().issue_cert("client.test")
        issued.private_key_and_cert_chain_pem.write_to_path(tmp_path / "both.pem")
        credential = ClientCertificate(certificate_file=tmp_path / "both.pem", key_file=tmp_path / "both.pem")
        whole = (tmp_path / "both.pem").read_bytes()
        assert credential.authorize(CONTEXT).certificate == Certificate(whole, whole)


def pem_of(serial: str) -> str:
    """Something that looks like PEM and says which one it is."""
    return f"-----BEGIN MADE UP-----\n{serial}\n-----END MADE UP-----\n"


def serials(authorization: Authorization) -> tuple[str, str]:
    """Which certificate and which key it is."""
    pair = authorization.certificate
    assert pair is not None
    return pair.certificate.decode().splitlines()[1], pair.key.decode().splitlines()[1]


def swap_pair(folder: Path, serial: str) -> None:
    """Replace both halves at once."""
    swap(folder, serial, certificate=pem_of(serial), key=pem_of(serial))


def pair_in(folder: Path, serial: str) -> ClientCertificate:
    """A credential on two files that can be swapped."""
    swap_pair(folder, serial)
    for name in ("certificate", "key"):
        (folder / name).symlink_to(f"..data/{name}")
    return ClientCertificate(certificate_file=folder / "certificate", key_file=folder / "key")


class TestCombined:
    def test_all_parts(self, tmp_path: Path) -> None:
        """One request carries the certificate of one part and the header of another."""
        credential = Combined([ClientCertificate(certificate=CERTIFICATE, key=KEY), BearerToken("one")])
        assert credential.authorize(CONTEXT) == Authorization(
            {"Authorization": "Bearer one"}, Certificate(CERTIFICATE.encode(), KEY.encode())
        )

    def test_refresh(self, clock: Clock, tmp_path: Path) -> None:
        """After a 401 every part is refreshed, and one that has something new is enough."""
        (tmp_path / "token").write_text("one")
        certificate = pair_in(tmp_path, "1")
        credential = Combined([certificate, TokenFile(tmp_path / "token")])
        first = credential.authorize(CONTEXT)
        assert credential.refresh(first) is False
        (tmp_path / "token").write_text("two")
        swap_pair(tmp_path, "2")
        assert credential.refresh(first) is True
        second = credential.authorize(CONTEXT)
        assert second.headers == {"Authorization": "Bearer two"}
        assert serials(second) == ("2", "2")
        assert credential.refresh(second) is False

    def test_missing_part(self) -> None:
        """A part without a credential leaves the whole without: half a proof is not what was asked for."""
        with pytest.raises(CredentialError, match="gone"):
            Combined([BearerToken("one"), Unavailable("gone")]).authorize(CONTEXT)


class TestProviders:
    @pytest.mark.parametrize("provider", ["google", "oidc", "aks"])
    @pytest.mark.parametrize("by_field", [True, False])
    def test_refused(self, provider: str, by_field: bool) -> None:
        """Backstage's browser-mediated providers are refused, wherever they are named."""
        metadata = {} if by_field else {AUTH_PROVIDER_KEY: provider}
        cluster = Cluster("https://example.test", auth_provider=provider if by_field else None, auth_metadata=metadata)
        assert f"auth provider '{provider}' is not supported" in (refusal(cluster) or "")
        with pytest.raises(CredentialError, match="not supported"):
            credential_for(cluster).authorize(CONTEXT)

    @pytest.mark.parametrize(
        "provider",
        [None, "", "serviceAccount", "localKubectlProxy", "aws", "azure", "googleServiceAccount", "pinniped"],
    )
    def test_not_refused(self, provider: str | None) -> None:
        """All others, unknown ones too, may be used with a credential."""
        assert refusal(Cluster("https://example.test", auth_provider=provider)) is None

    @pytest.mark.parametrize("provider", [None, "", "localKubectlProxy"])
    def test_anonymous(self, provider: str | None) -> None:
        """Without a provider, and for kubectl's proxy, requests are anonymous."""
        assert credential_for(Cluster("https://example.test", auth_provider=provider)) == Anonymous()

    def test_service_account(self) -> None:
        """serviceAccount is the token in the metadata, else the pod's own files."""
        cluster = Cluster("https://example.test", auth_provider="serviceAccount")
        assert isinstance(credential_for(cluster), ServiceAccount)
        cluster = Cluster(
            "https://example.test", auth_provider="serviceAccount", auth_metadata={"serviceAccountToken": "one"}
        )
        assert credential_for(cluster) == BearerToken("one")

    @pytest.mark.parametrize("provider", ["pinniped"])
    def test_unavailable(self, provider: str) -> None:
        """A provider that nobody knows says its name, and what to pass instead, when it is used."""
        credential = credential_for(Cluster("https://example.test", auth_provider=provider))
        with pytest.raises(CredentialError, match=f"'{provider}'.*pass credential="):
            credential.authorize(CONTEXT)
