"""``kwsync auth check``: what it tells of a configuration, what the server says, and that no secret shows."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import trustme

from kwsync import Client, Cluster
from kwsync.cli import main
from kwsync.cli._errors import ExitCode
from kwsync.cli._identity import identity_of, lines_of
from kwsync.credentials import CredentialDescription, Issued, describe
from kwsync.credentials._cached import Cached
from kwsync.credentials._protocol import AuthContext, Authorization
from kwsync.testing import ApiServer, Http, ProxyServer, ScriptedServer, Step, TestCA, status
from tests.cli.support import Environment, write_config
from tests.cli.test_arguments import ODD
from tests.controlplane.server import ControlPlane

SECRET = "made-up-secret"
NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    for name in ("https_proxy", "http_proxy", "no_proxy", "NO_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return Environment(monkeypatch, tmp_path)


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, str], str]:
    """The exit code, the labels with their values (the answer's line has the label ""), and the sentence of failure."""
    code = main(["auth", "check", *arguments])
    written = capsys.readouterr()
    assert SECRET not in written.out + written.err
    found: dict[str, str] = {}
    for line in written.out.splitlines():
        label, separator, value = line.partition("   ")
        key = label if separator else ""
        found[key] = " | ".join(filter(None, [found.get(key), value.strip() if separator else line]))
    assert written.err.count("\n") <= 1, written.err
    return code, found, written.err.removeprefix("kwsync: ").rstrip("\n")


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What ``-o json`` writes."""
    main(["auth", "check", "-o", "json", *arguments])
    written = capsys.readouterr().out
    assert SECRET not in written
    return json.loads(written)


def saved(path: Path, config: dict[str, Any]) -> str:
    path.write_text(json.dumps(config))
    return str(path)


def jwt(**claims: Any) -> str:
    """A token as an API server issues it, with a made-up signature."""
    parts = [json.dumps(part).encode() for part in ({"alg": "none"}, claims)]
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), SECRET])


class TestOffline:
    def test_whole(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Configuration, cluster, user and credential, each on a line, and nothing is asked."""
        token = jwt(sub="system:serviceaccount:ns:bob", exp=4_000_000_000, nbf=1)
        path = write_config(
            tmp_path / "config",
            "https://me:pw@example.test:6443/base",
            user={"token": token},
            namespace="team",
            **{"proxy-url": f"http://me:{SECRET}@proxy.test:3128", "tls-server-name": "kube.test"},
        )
        code, found, told = checked(capsys, "--offline", "--kubeconfig", str(path))

        assert (
            told == "the cluster's server must be a URL without credentials, query or fragment: repair the kubeconfig"
        )
        path.write_text(path.read_text().replace("me:pw@", ""))
        code, found, told = checked(capsys, "--offline", "--kubeconfig", str(path))
        assert (code, told) == (0, "")
        assert found == {
            "configuration": "kubeconfig",
            "files": str(path),
            "context": "x",
            "cluster": "c",
            "server": "https://example.test:6443/base",
            "proxy": "http://proxy.test:3128 from proxy-url",
            "authority": "the system's",
            "TLS server name": "kube.test",
            "namespace": "team",
            "user": "u",
            "credential": "bearer token",
            "it says": "system:serviceaccount:ns:bob",
            "valid from": "1970-01-01T00:00:01Z",
            "valid until": "2096-10-02T07:06:40Z",
        }

    def test_several_files(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], nothing_configured: Environment
    ) -> None:
        """All files that were read are named, and the context that was asked for."""
        one = write_config(tmp_path / "one", "https://one.test")
        two = tmp_path / "two"
        two.write_text(one.read_text().replace('"x"', '"y"').replace('"c"', '"d"'))
        nothing_configured.set("KUBECONFIG", f"{one}:{two}:{tmp_path}/three")

        _, found, _ = checked(capsys, "--offline", "--context", "y")
        assert (found["files"], found["context"], found["cluster"]) == (f"{one}, {two}", "y", "d")

    @pytest.mark.parametrize(
        ("user", "credential"),
        [
            ({}, "none (anonymous)"),
            ({"token": SECRET}, "bearer token"),
            ({"username": "me", "password": SECRET}, "user name and password"),
            ({"tokenFile": "token"}, "token file from {}/token"),
            ({"tokenFile": "token", "client-certificate": "c.crt", "client-key": "c.key"}, "client certificate and "),
        ],
    )
    def test_kinds(
        self, user: dict[str, str], credential: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Each kind has its name and its files."""
        (tmp_path / "token").write_text(SECRET)
        TestCA().client_cert("bob").write(tmp_path, "c")
        path = write_config(tmp_path / "config", "https://example.test", user=user)
        code, found, _ = checked(capsys, "--offline", "--kubeconfig", str(path))

        assert code == 0
        assert found["credential"].startswith(credential.format(tmp_path))

    @pytest.mark.parametrize(
        ("user", "words"),
        [
            ({"auth-provider": {"name": "gcp"}}, "auth"),
            ({"auth-provider": {"name": "oidc", "config": {"id-token": SECRET}}}, "auth"),
            ({"token": SECRET, "as": "bob"}, "impersonates another user"),
            ({"tokenFile": "gone"}, "the file {}/gone cannot be read"),
            ({"token": f"{SECRET} {SECRET}"}, "the bearer token holds white space"),
            ({"client-certificate-data": "eA==", "client-key-data": "eA=="}, "neither PEM nor base64 of PEM"),
        ],
    )
    def test_refused(
        self, user: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What no request can be made with is told with its reason, and the server is not asked."""
        path = write_config(tmp_path / "config", "https://example.test", user=user)
        for mode in ([], ["--offline"], ["-v"]):
            code, found, told = checked(capsys, *mode, "--kubeconfig", str(path))
            assert (code, found["server"]) == (3, "https://example.test")
            assert words.format(tmp_path) in told

    def test_certificate(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Whom a certificate names, and until when; one that has ended, or ends soon, is worth a warning."""
        now = datetime.now(timezone.utc)
        for end, words in ((now - timedelta(days=3), "has expired, 3d ago"), (now + timedelta(hours=5), "expires in ")):
            leaf = trustme.CA().issue_cert("bob@x.test", common_name="bob", organization_name="dev", not_after=end)
            pem = base64.b64encode(leaf.private_key_and_cert_chain_pem.bytes()).decode()
            user = {"client-certificate-data": pem, "client-key-data": pem}
            path = write_config(tmp_path / "config", "https://example.test", user=user)
            code, found, _ = checked(capsys, "--offline", "--kubeconfig", str(path))

            assert (code, found["it says"]) == (0, "bob in dev")
            assert found["valid until"] == end.strftime("%Y-%m-%dT%H:%M:%SZ")
            assert words in found["warning"]

    @pytest.mark.parametrize(
        ("cluster", "label", "value"),
        [
            ({}, "authority", "the system's"),
            ({"certificate-authority": "ca.pem"}, "authority", "{}/ca.pem"),
            ({"certificate-authority-data": "eA=="}, "authority", "data in the configuration"),
            ({"insecure-skip-tls-verify": True}, "warning", "the server's certificate is not verified: "),
            ({"server": "http://a.test"}, "warning", "the connection is not encrypted: "),
        ],
    )
    def test_trust(
        self, cluster: dict[str, Any], label: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Whom the client trusts, and a warning where it trusts everybody."""
        given = {"server": "https://example.test", **cluster}
        path = write_config(tmp_path / "config", given.pop("server"), **given)
        _, found, _ = checked(capsys, "--offline", "--kubeconfig", str(path))

        assert found[label].startswith(value.format(tmp_path))
        assert ("authority" in found) == (label == "authority")

    def test_proxy_of_the_environment(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], nothing_configured: Environment
    ) -> None:
        """The proxy that would be used, without its password; NO_PROXY counts."""
        nothing_configured.set("HTTPS_PROXY", f"http://me:{SECRET}@proxy.test:3128")
        path = str(write_config(tmp_path / "config", "https://example.test"))
        assert checked(capsys, "--offline", "--kubeconfig", path)[1]["proxy"] == (
            "http://proxy.test:3128 from the environment"
        )
        nothing_configured.set("NO_PROXY", "example.test")
        assert "proxy" not in checked(capsys, "--offline", "--kubeconfig", path)[1]

    def test_json(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The same as one document, in which what is not known is null."""
        path = write_config(tmp_path / "config", "https://example.test", user={"token": SECRET})
        found = document(capsys, "--offline", "--kubeconfig", str(path))

        assert found["files"] == [str(path)]
        assert found["cluster"]["server"] == "https://example.test"
        assert (found["user"]["name"], found["user"]["validUntil"]) == ("u", None)
        assert (found["failure"], "answer" in found) == (None, False)

    def test_no_configuration(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Without any configuration it is the sentence of the other commands."""
        code, found, told = checked(capsys)
        assert (code, found) == (3, {})
        assert told.startswith("there is no kubeconfig")


class TestAnswer:
    @pytest.mark.parametrize("certificate", [False, True])
    def test_known(self, certificate: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Whom the server takes us for."""
        with ApiServer(tls=True, anonymous=False) as api:
            path = saved(tmp_path / "config", api.kubeconfig("bob", groups=["dev"], certificate=certificate))
            code, found, told = checked(capsys, "--kubeconfig", path)
            assert found[""] == f"{api.url} takes you for bob in dev, system:authenticated"
            assert document(capsys, "--kubeconfig", path)["answer"] == {
                "username": "bob",
                "groups": ["dev", "system:authenticated"],
            }
        assert (code, told) == (0, "")

    def test_serve(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The kubeconfig of kwsync serve has no user, and the server says so."""
        with ApiServer() as api:
            path = saved(tmp_path / "config", api.kubeconfig())
            code, found, _ = checked(capsys, "--kubeconfig", path)
        assert (code, found["credential"]) == (0, "none (anonymous)")
        assert found[""].startswith(f"{api.url} takes you for system:anonymous")

    def test_revoked(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A 401 is what the command is for."""
        with ApiServer(anonymous=False) as api:
            config = api.kubeconfig("bob")
            api.revoke(config["users"][0]["user"]["token"])
            code, _, told = checked(capsys, "--kubeconfig", saved(tmp_path / "config", config))
            assert code == 5
            assert told.startswith(
                f"{api.url} does not accept the credential (401): it is wrong, expired or of another"
            )
            code, _, told = checked(capsys, "--kubeconfig", saved(tmp_path / "config", api.kubeconfig()))
            assert code == 5
            assert told.startswith(f"{api.url} wants to know who you are (401), and there is no credential: give")

    @pytest.mark.parametrize(
        ("steps", "code", "words"),
        [
            (
                [Http(404, status(404, "NotFound")), Http(200, {"kind": "APIVersions"})],
                0,
                "accepts this (it is too old",
            ),
            ([Http(404, status(404, "NotFound")), Http(401, status(401, "Unauthorized"))], 5, "does not accept"),
            ([Http(403, status(403, "Forbidden", 'User "bob" cannot create x'))], 5, "takes you for bob"),
            ([Http(403, status(403, "Forbidden", 'User "system:anonymous" cannot'))], 5, "who may not ask who he is"),
            ([Http(403, status(403, "Forbidden", "no"))], 5, "may know you, but does not let you ask"),
            ([Http(302, "", {"Location": f"https://a.test/?t={SECRET}"})], 1, "does not answer as a Kubernetes API"),
            ([Http(200, "<html>", {"Content-Type": "text/html"})], 1, "does not answer as a Kubernetes API"),
            ([Http(200, {"status": {"userInfo": {"groups": [1]}}})], 1, "does not answer as a Kubernetes API"),
            ([Http(503, status(503, "ServiceUnavailable"))], 1, "is in trouble"),
        ],
    )
    def test_others(
        self, steps: list[Step], code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Older servers, refusals, and what is no API at all."""
        with ScriptedServer(*([step] for step in steps)) as server:
            path = write_config(tmp_path / "config", server.url, user={"token": SECRET})
            found_code, found, told = checked(capsys, "--kubeconfig", str(path), "--timeout", "5")
        assert found_code == code
        assert words in found.get("", "") + told

    def test_unreachable(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """No connection, no trust, no way through the proxy: the sentences and exit codes of the other commands."""
        with ScriptedServer() as server:
            gone = server.url
        path = str(write_config(tmp_path / "config", gone, user={"token": SECRET}))
        code, found, told = checked(capsys, "--kubeconfig", path)
        assert (code, found["server"]) == (4, gone)
        assert "it is refused" in told
        with ApiServer(tls=True) as api:
            config = api.kubeconfig("bob")
            del config["clusters"][0]["cluster"]["certificate-authority-data"]
            code, _, told = checked(capsys, "--kubeconfig", saved(tmp_path / "config", config))
            assert (code, "no trust in" in told) == (4, True)
        with ProxyServer(status=407) as proxy:
            path = str(write_config(tmp_path / "config", "https://a.test", **{"proxy-url": proxy.url}))
            code, _, told = checked(capsys, "--kubeconfig", path)
            assert (code, "refuses this (407)" in told) == (4, True)

    def test_plugin(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A plugin is run for the question alone, and its token's end is told after that."""
        version = "client.authentication.k8s.io/v1"
        with ApiServer(anonymous=False) as api:
            given = {"token": api.token_for("bob"), "expirationTimestamp": "2096-10-02T07:06:40Z"}
            answer = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": given})
            (tmp_path / "plugin").write_text(f"#!/bin/sh\necho run >> {tmp_path}/runs\necho '{answer}'\n")
            (tmp_path / "plugin").chmod(0o700)
            user = {"exec": {"apiVersion": version, "command": "./plugin", "interactiveMode": "Never"}}
            path = str(write_config(tmp_path / "config", api.url, user=user))
            _, before, _ = checked(capsys, "--kubeconfig", path, "--offline")
            assert not (tmp_path / "runs").exists()
            _, after, _ = checked(capsys, "--kubeconfig", path)

        assert before["credential"] == after["credential"]
        assert before["credential"].startswith("exec plugin from ")
        assert (before.get("valid until"), after["valid until"]) == (None, "2096-10-02T07:06:40Z")
        assert "takes you for bob" in after[""]

    def test_learned(self, capsys: pytest.CaptureFixture[str]) -> None:
        """What was fetched for the question tells its end afterwards."""
        cached = Cached(lambda: Issued(Authorization.bearer("x"), 4_000_000_000.0), name="a vault")
        client = Client(Cluster("https://example.test"), cached)
        before = lines_of(identity_of(client, describe(cached), NOW.timestamp()))
        cached.authorize(AuthContext(client.cluster, lambda: None))
        after = lines_of(identity_of(client, describe(cached), NOW.timestamp()))

        assert [line for line in after if line not in before] == ["valid until       2096-10-02T07:06:40Z"]


class TestOwn:
    def test_own_credential(self) -> None:
        """A user's own is told by its class, or by its own method."""

        class FromVault:
            def authorize(self, context: AuthContext) -> Authorization:
                return Authorization.bearer(SECRET)

            def refresh(self, rejected: Authorization) -> bool:
                return False

        class Telling(FromVault):
            def describe(self) -> CredentialDescription:
                return CredentialDescription(kind="a vault", source="vault.test", notes=("look out",))

        cluster = Cluster("https://example.test")
        told = [identity_of(Client(cluster, one), describe(one), 0.0) for one in (FromVault(), Telling())]
        assert told[0]["user"]["credential"] == "FromVault"
        assert (told[1]["user"]["source"], told[1]["warnings"]) == ("vault.test", ["look out"])


@pytest.mark.parametrize("option", ["--context", "--kubeconfig", "--timeout", "-o"])
def test_odd_values(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No value of any option gives a traceback, a second line on standard error, or an exit code that is not known."""
    for value in ODD:
        assert main(["auth", "check", option, value]) in set(ExitCode), value
        told = capsys.readouterr().err
        assert (told.count("\n"), told[:8]) == (1, "kwsync: "), value


def test_without_command(capsys: pytest.CaptureFixture[str]) -> None:
    """``kwsync auth`` alone tells what there is."""
    assert main(["auth"]) == 2
    assert "check" in capsys.readouterr().err


def test_verbose_masks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-vvv tells the exchange and not the token."""
    with ApiServer() as api:
        config = api.kubeconfig("bob")
        token = config["users"][0]["user"]["token"]
        assert main(["auth", "check", "-vvv", "--kubeconfig", saved(tmp_path / "config", config)]) == 0
    written = capsys.readouterr()
    assert "> POST /apis/authentication.k8s.io/v1/selfsubjectreviews" in written.err
    assert token not in written.err + written.out


def test_real_server(control_plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A real one: a token, a service account's token with its end, a certificate, a stranger, nobody."""
    config = control_plane.kubeconfig()

    def told(**user: str) -> tuple[int, dict[str, str], str]:
        config["users"][0]["user"] = user
        return checked(capsys, "--kubeconfig", saved(tmp_path / "config", config))

    code, found, _ = told(token=control_plane.admin_token)
    assert (code, "takes you for admin in system:masters" in found[""]) == (0, True)
    path = "/api/v1/namespaces/default/serviceaccounts"
    control_plane.request("POST", path, {"metadata": {"name": "checked"}}).checked()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    token = control_plane.request("POST", f"{path}/checked/token", review).checked()["status"]["token"]
    code, found, _ = told(token=token)
    assert (code, found["it says"]) == (0, "system:serviceaccount:default:checked")
    assert "expires in" in found["warning"]
    assert "takes you for system:serviceaccount:default:checked in" in found[""]
    pair = {"client-certificate": control_plane.client_cert_file, "client-key": control_plane.client_key_file}
    code, found, _ = told(**{name: str(path) for name, path in pair.items()})
    assert (code, found["it says"]) == (0, "certificate-admin in system:masters")
    assert told(token=SECRET)[0] == 5
    code, _, sentence = told()
    assert (code, "(40" in sentence) == (5, True)
