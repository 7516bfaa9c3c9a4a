"""From kubeconfigs, and from a pod's own files, to a cluster and a credential."""

from __future__ import annotations

import base64
import builtins
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kwsync import _kubeconfig
from kwsync._cluster import Cluster
from kwsync.credentials import (
    Anonymous,
    AuthContext,
    Authorization,
    BasicAuth,
    BearerToken,
    Certificate,
    Credential,
    CredentialError,
    ExecPlugin,
    ServiceAccount,
    TokenFile,
)
from kwsync.errors import ConfigError

try:
    import yaml
except ImportError:  # the run with the lowest dependencies has no optional one
    yaml = None  # type: ignore[assignment]

needs_yaml = pytest.mark.skipif(yaml is None, reason="PyYAML is not installed")

SECRET = "made-up-secret"
CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nbWFkZSB1cA==\n-----END CERTIFICATE-----\n"
KEY = b"-----BEGIN PRIVATE KEY-----\nbWFkZSB1cA==\n-----END PRIVATE KEY-----\n"


def base64_of(data: bytes) -> str:
    """Base64, as a kubeconfig holds data."""
    return base64.b64encode(data).decode()


def config(
    cluster: Mapping[str, Any] | None = None,
    user: Mapping[str, Any] | None = None,
    *,
    name: str = "dev",
    **others: Any,
) -> dict[str, Any]:
    """A whole kubeconfig of one context, whose parts all have the same name."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": "https://example.test:6443"} | dict(cluster or {})}],
        "users": [{"name": name, "user": dict(user or {})}],
    } | others


def write(path: Path, document: object) -> Path:
    """Write it as JSON, which needs no extra; YAML has tests of its own."""
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def authorize(credential: Credential) -> Authorization:
    """What a request would carry."""
    return credential.authorize(AuthContext(Cluster("https://example.test"), lambda: None))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a test puts its kubeconfig."""
    return tmp_path / "config"


@pytest.fixture
def no_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make PyYAML one that is not installed."""
    monkeypatch.setitem(sys.modules, "yaml", None)


def load(file: Path, document: object, context: str | None = None) -> tuple[Cluster, Credential]:
    """Write and load."""
    return _kubeconfig.load_kubeconfig(write(file, document), context)


def refused(file: Path, document: object, context: str | None = None) -> str:
    """The message of the ConfigError: one line that names the file and shows no secret, nor does what lies below."""
    with pytest.raises(ConfigError) as caught:
        load(file, document, context)
    message = str(caught.value)
    assert str(file) in message
    assert "\n" not in message
    below: BaseException | None = caught.value
    while below is not None:
        assert SECRET not in f"{below!r} {vars(below)}"
        below = below.__cause__ or below.__context__
    return message


class TestCluster:
    def test_least(self, file: Path) -> None:
        """A server is enough; all else has the defaults, and a user with nothing is anonymous."""
        cluster, credential = load(file, config())
        assert cluster == Cluster("https://example.test:6443", name="dev")
        assert credential == Anonymous()

    def test_all(self, file: Path) -> None:
        """Every field of the cluster and the namespace of the context arrive."""
        fields = {
            "server": "https://example.test/k8s/clusters/c-1",
            "certificate-authority-data": base64_of(CERTIFICATE),
            "tls-server-name": "kubernetes.test",
            "proxy-url": "http://proxy.test:3128",
        }
        contexts = [{"name": "dev", "context": {"cluster": "dev", "namespace": "team"}}]
        assert load(file, config(fields, contexts=contexts)) == (
            Cluster(
                "https://example.test/k8s/clusters/c-1",
                ca_data=CERTIFICATE,
                tls_server_name="kubernetes.test",
                proxy_url="http://proxy.test:3128",
                namespace="team",
                name="dev",
            ),
            Anonymous(),
        )

    def test_data_wins(self, file: Path) -> None:
        """The authority as data wins over the file, as in client-go: Cluster itself has it the other way round."""
        fields = {"certificate-authority-data": base64_of(CERTIFICATE), "certificate-authority": "ca.crt"}
        cluster, _ = load(file, config(fields))
        assert (cluster.ca_data, cluster.ca_file) == (CERTIFICATE, None)

    def test_insecure(self, file: Path) -> None:
        """A cluster may be told not to verify, but not together with an authority (kubectl)."""
        fields = {"insecure-skip-tls-verify": True}
        assert load(file, config(fields))[0].skip_tls_verify is True
        assert "remove one of them" in refused(file, config(fields | {"certificate-authority": "ca.crt"}))
        data = base64_of(CERTIFICATE)
        assert "remove one of them" in refused(file, config(fields | {"certificate-authority-data": data}))

    def test_empty_is_absent(self, file: Path) -> None:
        """Null, empty text and empty lists count as absent, as in Go."""
        keys = ("certificate-authority", "certificate-authority-data", "proxy-url", "tls-server-name")
        for empty in (None, ""):
            cluster, credential = load(file, config(dict.fromkeys(keys, empty), {"token": empty, "exec": None}))
            assert (cluster, credential) == (Cluster("https://example.test:6443", name="dev"), Anonymous())

    def test_no_server(self, file: Path) -> None:
        """A cluster without a server is an error."""
        assert "has no server" in refused(file, config({"server": None}))

    @pytest.mark.parametrize("data", [SECRET, "a", "é", "YQ==YQ", "\udcff"])
    def test_bad_base64(self, file: Path, data: str) -> None:
        """Data that is no base64 is an error that names the field."""
        assert "certificate-authority-data" in refused(file, config({"certificate-authority-data": data}))


class TestPaths:
    def test_relative(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A relative path starts at the kubeconfig, not at the working directory (kubernetes-client/python#68)."""
        (tmp_path / "home").mkdir()
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "home" / "token").write_text("one")
        fields = {"certificate-authority": "pki/ca.crt"}
        write(tmp_path / "home" / "config", config(fields, {"tokenFile": "token"}))
        monkeypatch.chdir(tmp_path)
        cluster, credential = _kubeconfig.load_kubeconfig(Path("home/config"))
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert cluster.ca_file == str(tmp_path / "home" / "pki" / "ca.crt")
        assert authorize(credential).headers == {"Authorization": "Bearer one"}

    def test_absolute(self, file: Path) -> None:
        """An absolute path stays."""
        assert load(file, config({"certificate-authority": "/pki/ca.crt"}))[0].ca_file == "/pki/ca.crt"

    def test_each_file_its_own(self, tmp_path: Path) -> None:
        """Of several files, a path starts at the one that its entry stands in."""
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
        first = write(tmp_path / "a" / "config", config(clusters=[], users=[]))
        second = write(tmp_path / "b" / "config", config({"certificate-authority": "ca.crt"}, {"tokenFile": "token"}))
        (tmp_path / "b" / "token").write_text("two")
        environ = {"KUBECONFIG": f"{first}{os.pathsep}{second}"}
        cluster, credential = _kubeconfig.load_kubeconfig(environ=environ)
        assert cluster.ca_file == str(tmp_path / "b" / "ca.crt")
        assert authorize(credential).headers == {"Authorization": "Bearer two"}


class TestUser:
    def test_token(self, file: Path) -> None:
        """A token is a bearer token."""
        assert load(file, config(user={"token": "one"}))[1] == BearerToken("one")

    def test_token_file(self, file: Path) -> None:
        """A token file wins over a token, which serves until the file can be read (client-go)."""
        _, credential = load(file, config(user={"token": "static", "tokenFile": "token"}))
        assert isinstance(credential, TokenFile)
        assert authorize(credential).headers == {"Authorization": "Bearer static"}
        (file.parent / "token").write_text("fresh")
        assert authorize(credential).headers == {"Authorization": "Bearer fresh"}

    def test_basic(self, file: Path) -> None:
        """Name and password are basic authentication; beside a token that is an error (client-go)."""
        fields = {"username": "me", "password": SECRET}
        assert load(file, config(user=fields))[1] == BasicAuth("me", SECRET)
        assert load(file, config(user={"username": "me"}))[1] == BasicAuth("me", "")
        assert load(file, config(user={"password": SECRET}))[1] == Anonymous()
        assert "remove one of them" in refused(file, config(user=fields | {"token": SECRET}))
        assert "remove one of them" in refused(file, config(user=fields | {"tokenFile": "token"}))

    @pytest.mark.parametrize("certificate_as_data", [True, False])
    @pytest.mark.parametrize("key_as_data", [True, False])
    def test_certificate(self, file: Path, certificate_as_data: bool, key_as_data: bool) -> None:
        """A client certificate and its key may each be data or a file."""
        (file.parent / "cert").write_bytes(CERTIFICATE)
        (file.parent / "key").write_bytes(KEY)
        data = {"client-certificate-data": base64_of(CERTIFICATE)} if certificate_as_data else {}
        data |= {"client-key-data": base64_of(KEY)} if key_as_data else {}
        _, credential = load(file, config(user={"client-certificate": "cert", "client-key": "key"} | data))
        assert authorize(credential) == Authorization(certificate=Certificate(CERTIFICATE, KEY))

    def test_certificate_data_wins(self, file: Path) -> None:
        """Data wins over files (client-go)."""
        fields = {
            "client-certificate": "nowhere",
            "client-certificate-data": base64_of(CERTIFICATE),
            "client-key": "nowhere",
            "client-key-data": base64_of(KEY),
        }
        _, credential = load(file, config(user=fields))
        assert authorize(credential).certificate == Certificate(CERTIFICATE, KEY)

    def test_certificate_and_token(self, file: Path) -> None:
        """A user may have a certificate and a token: a request carries both."""
        fields = {"client-certificate-data": base64_of(CERTIFICATE), "client-key-data": base64_of(KEY), "token": "one"}
        _, credential = load(file, config(user=fields))
        assert authorize(credential) == Authorization({"Authorization": "Bearer one"}, Certificate(CERTIFICATE, KEY))

    def test_half_certificate(self, file: Path) -> None:
        """A certificate without a key is an error, a key alone is left out (kubectl)."""
        assert "without a key" in refused(file, config(user={"client-certificate": "certificate"}))
        assert load(file, config(user={"client-key": "key"}))[1] == Anonymous()

    @pytest.mark.parametrize("field", ["client-certificate-data", "client-key-data"])
    def test_bad_base64(self, file: Path, field: str) -> None:
        """Data that is no base64 is an error that names the field and does not show it."""
        assert field in refused(file, config(user={field: SECRET}))

    def test_auth_provider(self, file: Path) -> None:
        """A user with an auth provider loads; that it cannot be had shows at the request, with what to do instead."""
        cluster, credential = load(file, config(user={"auth-provider": {"name": SECRET}}))
        assert cluster.name == "dev"
        with pytest.raises(CredentialError, match=r"user 'dev' in .* is not supported yet: .* exec plugin") as caught:
            authorize(credential)
        assert SECRET not in str(caught.value)

    @pytest.mark.parametrize("plugin", ["exec", "auth-provider"])
    def test_plugin_beside_token(self, file: Path, plugin: str) -> None:
        """What stands in the file wins over a plug-in (client-go)."""
        assert load(file, config(user={plugin: {"command": "x"}, "token": "one"}))[1] == BearerToken("one")

    def test_exec_beside_certificate(self, file: Path) -> None:
        """A certificate in the file does, too: then no program runs (client-go)."""
        fields = {"client-certificate-data": base64_of(CERTIFICATE), "client-key-data": base64_of(KEY)}
        _, credential = load(file, config(user=fields | {"exec": {"command": "x"}}))
        assert authorize(credential) == Authorization(certificate=Certificate(CERTIFICATE, KEY))

    def test_auth_provider_beside_certificate(self, file: Path) -> None:
        """A certificate does not replace the token that an auth provider would add."""
        fields = {"client-certificate-data": base64_of(CERTIFICATE), "client-key-data": base64_of(KEY)}
        _, credential = load(file, config(user=fields | {"auth-provider": {"name": "x"}}))
        with pytest.raises(CredentialError, match="auth provider"):
            authorize(credential)

    @pytest.mark.parametrize(
        "fields", [{"as": "other"}, {"as-groups": ["g"]}, {"as-uid": "1"}, {"as-user-extra": {"a": ["b"]}}]
    )
    def test_impersonation(self, file: Path, fields: dict[str, Any]) -> None:
        """Impersonation is refused: left out, requests would have rights that nobody asked for."""
        _, credential = load(file, config(user=fields | {"token": SECRET}))
        with pytest.raises(CredentialError, match="impersonates"):
            authorize(credential)

    @pytest.mark.parametrize("user", [None, ""])
    def test_none(self, file: Path, user: str | None) -> None:
        """A context without a user is anonymous."""
        contexts = [{"name": "dev", "context": {"cluster": "dev", "user": user}}]
        assert load(file, config(contexts=contexts))[1] == Anonymous()


class TestExec:
    """B179, B180 and B186: what a kubeconfig says of an exec plugin. How it runs is tested in tests/credentials."""

    PLUGIN: ClassVar[dict[str, Any]] = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "get-token",
        "interactiveMode": "Never",
    }

    def plugin(self, file: Path, cluster: Mapping[str, Any] | None = None, **fields: Any) -> ExecPlugin:
        """The plugin of a kubeconfig."""
        _, credential = load(file, config(cluster, {"exec": self.PLUGIN | fields}))
        assert isinstance(credential, ExecPlugin)
        return credential

    def test_all(self, file: Path) -> None:
        """Every field arrives; of two variables with one name the last wins."""
        settings = self.plugin(
            file,
            {"extensions": [{"name": "other"}, {"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}]},
            args=["a", "b"],
            env=[{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A", "value": "2"}],
            interactiveMode="Always",
            provideClusterInfo=True,
            installHint="get it\nfrom example.test",
        )._settings
        assert (settings.command, settings.arguments) == ("get-token", ("a", "b"))
        assert settings.environment == (("A", "2"), ("B", ""))
        assert (settings.api_version, settings.interactive_mode) == (self.PLUGIN["apiVersion"], "Always")
        assert (settings.provides_cluster, settings.cluster_config) == (True, b'{"a":1}')
        assert settings.install_hint == "get it from example.test"

    def test_least(self, file: Path) -> None:
        """Null and empty are as absent."""
        absent = dict.fromkeys(["args", "env", "provideClusterInfo", "installHint"])
        assert self.plugin(file, **absent)._settings == self.plugin(file)._settings

    def test_old_version(self, file: Path) -> None:
        """v1beta1 needs no interactiveMode: it is IfAvailable."""
        version = "client.authentication.k8s.io/v1beta1"
        plugin = self.plugin(file, apiVersion=version, interactiveMode=None)
        assert plugin._settings.interactive_mode == "IfAvailable"

    @pytest.mark.parametrize(
        ("command", "found"),
        [("get-token", "get-token"), ("./get-token", "{}/./get-token"), ("bin/x", "{}/bin/x"), ("/bin/x", "/bin/x")],
    )
    def test_command(self, file: Path, command: str, found: str) -> None:
        """A path begins at the kubeconfig it stands in, a name is left for PATH."""
        assert self.plugin(file, command=command)._settings.command == found.format(file.parent)

    def test_cluster_not_told(self, file: Path) -> None:
        """The cluster's extension is for a plugin that is told its cluster; others of any shape do no harm."""
        extensions = [{"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}]
        assert self.plugin(file, {"extensions": extensions})._settings.cluster_config is None
        for extensions in ("x", [5], [{"name": "minikube"}]):  # type: ignore[assignment]
            plugin = self.plugin(file, {"extensions": extensions}, provideClusterInfo=True)
            assert plugin._settings.cluster_config is None

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"command": None}, "has no command: add one"),
            ({"apiVersion": None}, "has no apiVersion: add client.authentication.k8s.io/v1"),
            ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "v1alpha1' is none of"),
            ({"interactiveMode": None}, "has no interactiveMode, which client.authentication.k8s.io/v1 needs"),
            ({"interactiveMode": "Sometimes"}, "interactiveMode 'Sometimes' is none of Never, IfAvailable, Always"),
            ({"args": SECRET}, "has a value for args that is no list"),
            ({"args": [SECRET, 5]}, "has an item in args that is no text"),
            ({"env": {SECRET: SECRET}}, "has a value for env that is no list"),
            ({"env": [SECRET]}, "has an item in env that is no mapping"),
            ({"env": [{"value": SECRET}]}, "has no name"),
            ({"env": [{"name": "A", "value": 5}]}, "has a value that is no text: put it in quotes"),
            ({"provideClusterInfo": SECRET}, "provideClusterInfo that is neither true nor false"),
            ({"installHint": [SECRET]}, "installHint that is no text"),
        ],
        ids=repr,
    )
    def test_wrong(self, file: Path, fields: dict[str, Any], words: str) -> None:
        """What could never run is an error when the file is loaded, with the user and the field, without a value."""
        message = refused(file, config(user={"exec": self.PLUGIN | fields}))
        assert words in message
        assert "exec of user 'dev'" in message


class TestContexts:
    def test_choice(self, file: Path) -> None:
        """A context that is asked for wins over the current one; an empty name asks for none."""
        two = config()
        for key, entries in config({"server": "https://other.test"}, {"token": "two"}, name="prod").items():
            if isinstance(entries, list):
                two[key] += entries
        assert load(file, two)[0].name == "dev"
        assert load(file, two, "")[0].name == "dev"
        cluster, credential = load(file, two, "prod")
        assert (cluster.server, cluster.name, credential) == ("https://other.test", "prod", BearerToken("two"))

    def test_unknown(self, file: Path) -> None:
        """A name that is not there is an error that says which one, and where it was looked for."""
        assert "no context 'prod'" in refused(file, config(), "prod")
        assert "no cluster 'dev'" in refused(file, config(clusters=[]))
        assert "no user 'dev'" in refused(file, config(users=None))
        assert "no current-context" in refused(file, {**config(), "current-context": ""})
        assert "no current-context" in refused(file, {})
        assert "names no cluster" in refused(file, config(contexts=[{"name": "dev", "context": {}}]))
        assert "names no cluster" in refused(file, config(contexts=[{"name": "dev"}]))

    def test_twice(self, file: Path) -> None:
        """Two entries of one name in one file are an error, as in client-go: which one is meant, nobody knows."""
        entries = config()["clusters"] * 2
        assert "has two clusters named 'dev'" in refused(file, config(clusters=entries))


class TestTypes:
    @pytest.mark.parametrize("document", [[1], 5, "text", True])
    def test_top(self, file: Path, document: object) -> None:
        """What is no mapping at its top is no kubeconfig."""
        assert "no mapping at its top" in refused(file, json.dumps(document))

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            *(("clusters", bad) for bad in [{}, "text", 5, [5], ["x"], [[]], [{}], [{"name": 5}], [{"name": ""}]]),
            *(("clusters", [{"name": "dev", "cluster": bad}]) for bad in [[], "text", 5]),
            *(("contexts", [{"name": "dev", "context": bad}]) for bad in [[], {"cluster": 5}, {"cluster": []}]),
            ("contexts", [{"name": "dev", "context": {"cluster": "dev", "user": 5}}]),
            ("contexts", [{"name": "dev", "context": {"cluster": "dev", "namespace": 5}}]),
            ("current-context", 5),
            ("users", [{"name": "dev", "user": [SECRET]}]),
        ],
    )
    def test_outer(self, file: Path, key: str, value: object) -> None:
        """A wrong type among the lists and names is an error that names the file."""
        refused(file, {**config(), key: value})

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            *(("server", bad) for bad in [5, [], {}, True]),
            *(("insecure-skip-tls-verify", bad) for bad in ["true", 1, []]),
            ("certificate-authority", 5),
            ("certificate-authority-data", 5),
            ("tls-server-name", 5),
            ("proxy-url", [SECRET]),
        ],
    )
    def test_cluster(self, file: Path, key: str, value: object) -> None:
        """A wrong type in a cluster is an error that names the cluster, the field and the file, not the value."""
        message = refused(file, config({key: value}))
        assert "cluster 'dev'" in message
        assert key in message

    @pytest.mark.parametrize("key", ["token", "tokenFile", "username", "password", "client-key", "exec"])
    def test_user(self, file: Path, key: str) -> None:
        """So it is in a user."""
        message = refused(file, config(user={key: [SECRET]}))
        assert "user 'dev'" in message
        assert key in message

    def test_number_as_text(self, file: Path) -> None:
        """A number in the place of a text says what to do."""
        assert "has a server that is no text: put it in quotes" in refused(file, config({"server": 5}))


class TestFiles:
    def test_home(self, tmp_path: Path) -> None:
        """Without a path and KUBECONFIG it is ~/.kube/config."""
        (tmp_path / ".kube").mkdir()
        write(tmp_path / ".kube" / "config", config())
        for environ in ({"HOME": str(tmp_path)}, {"HOME": str(tmp_path), "KUBECONFIG": ""}):
            assert _kubeconfig.load_kubeconfig(environ=environ)[0].name == "dev"

    def test_environment_read_at_call(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The process's environment is read at the call, not at the import (python-base#62)."""
        monkeypatch.setenv("KUBECONFIG", str(write(tmp_path / "config", config(name="now"))))
        assert _kubeconfig.load_kubeconfig()[0].name == "now"

    def test_path_wins(self, tmp_path: Path) -> None:
        """An explicit path wins over KUBECONFIG, and a tilde means home in both."""
        write(tmp_path / "a", config(name="a"))
        write(tmp_path / "b", config(name="b"))
        environ = {"HOME": str(tmp_path), "KUBECONFIG": "~/b"}
        assert _kubeconfig.load_kubeconfig("~/a", environ=environ)[0].name == "a"
        assert _kubeconfig.load_kubeconfig(environ=environ)[0].name == "b"

    def test_several(self, tmp_path: Path) -> None:
        """Files are merged, the first wins for each name and for the current context; missing ones are skipped."""
        only_context = {"current-context": "", "contexts": [{"name": "mix", "context": {"cluster": "b", "user": "a"}}]}
        files = [
            tmp_path / "missing",
            write(tmp_path / "empty", " \n"),
            write(tmp_path / "c", only_context),
            write(tmp_path / "a", config({"server": "https://first.test"}, {"token": "first"}, name="a")),
            write(tmp_path / "a2", config({"server": "https://second.test"}, {"token": "second"}, name="a")),
            write(tmp_path / "b", config({"server": "https://b.test"}, name="b")),
        ]
        environ = {"KUBECONFIG": os.pathsep.join(["", *map(str, files), "", " "])}
        cluster, credential = _kubeconfig.load_kubeconfig(environ=environ)
        assert (cluster.server, credential) == ("https://first.test", BearerToken("first"))
        cluster, credential = _kubeconfig.load_kubeconfig(context="mix", environ=environ)
        assert (cluster.server, credential) == ("https://b.test", BearerToken("first"))

    def test_whole_entries(self, tmp_path: Path) -> None:
        """An entry is taken whole from one file: a second one of its name adds no fields."""
        first = write(tmp_path / "a", config(user={"token": "one"}))
        second = write(tmp_path / "b", config({"proxy-url": "http://proxy.test"}, {"username": "me"}))
        cluster, credential = _kubeconfig.load_kubeconfig(environ={"KUBECONFIG": f"{first}{os.pathsep}{second}"})
        assert (cluster.proxy_url, credential) == (None, BearerToken("one"))

    def test_all_named(self, tmp_path: Path) -> None:
        """An error about several files names them all."""
        files = [write(tmp_path / name, {}) for name in "ab"]
        with pytest.raises(ConfigError, match=rf"{files[0]}, {files[1]}"):
            _kubeconfig.load_kubeconfig(environ={"KUBECONFIG": os.pathsep.join(map(str, files))})

    @pytest.mark.parametrize(
        ("path", "environ", "advice"),
        [
            (None, {"HOME": "/nowhere"}, "there is no kubeconfig /nowhere/.kube/config: set KUBECONFIG"),
            (None, {"KUBECONFIG": "/nowhere/a"}, "KUBECONFIG is '/nowhere/a', and no such file exists"),
            (None, {"KUBECONFIG": os.pathsep}, "no such file exists"),
            ("/nowhere/a", {}, "there is no kubeconfig /nowhere/a"),
            ("", {}, "cannot be read"),
            ("/", {}, "cannot be read: Is a directory"),
            ("/a\0b", {}, "cannot be read"),
            (None, {"KUBECONFIG": "/dev/null/config"}, "cannot be read: Not a directory"),
        ],
    )
    def test_missing(self, path: str | None, environ: dict[str, str], advice: str) -> None:
        """No file at all, or none that can be read, is an error that says where it was looked for."""
        with pytest.raises(ConfigError, match=advice):
            _kubeconfig.load_kubeconfig(path, environ=environ)

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
    def test_forbidden(self, file: Path) -> None:
        """A file without the right to read it is an error, also in KUBECONFIG: it is not missing."""
        write(file, config()).chmod(0)
        with pytest.raises(ConfigError, match="Permission denied"):
            _kubeconfig.load_kubeconfig(environ={"KUBECONFIG": str(file)})

    def test_size(self, file: Path) -> None:
        """A file over 16 MiB is no kubeconfig."""
        assert "larger than 16 MiB" in refused(file, " " * ((16 << 20) + 1))


class TestFormats:
    @needs_yaml
    def test_yaml(self, file: Path) -> None:
        """YAML, as kubectl writes it."""
        document = yaml.safe_dump(config({"certificate-authority": "ca.crt"}, {"token": "one"}))
        cluster, credential = load(file, document)
        assert (cluster.ca_file, credential) == (str(file.parent / "ca.crt"), BearerToken("one"))

    @needs_yaml
    @pytest.mark.parametrize("prefix", ["\ufeff", "---\n", "# a comment\n", "\n\n"])
    def test_yaml_beginnings(self, file: Path, prefix: str) -> None:
        """A byte order mark, a document's start and comments do not matter."""
        assert load(file, prefix + yaml.safe_dump(config()))[0].name == "dev"

    @needs_yaml
    @pytest.mark.parametrize("text", ["# nothing", "---", "null", "[]"])
    def test_yaml_nothing(self, file: Path, text: str) -> None:
        """A document that holds nothing is an empty kubeconfig."""
        assert "no current-context" in refused(file, text)

    def test_json_alone(self, file: Path, no_yaml: None) -> None:
        """JSON works without PyYAML, with a byte order mark, too."""
        assert load(file, "\ufeff" + json.dumps(config()))[0].name == "dev"

    @needs_yaml
    def test_extra(self, file: Path, no_yaml: None) -> None:
        """YAML without PyYAML is an error that names the extra."""
        assert 'pip install "kwsync[kubeconfig]"' in refused(file, yaml.safe_dump(config(user={"token": SECRET})))

    def test_not_imported(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """PyYAML is not imported for JSON."""
        real = builtins.__import__

        def guarded(name: str, *arguments: Any, **options: Any) -> Any:
            assert name != "yaml"
            return real(name, *arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(builtins, "__import__", guarded)
            load(file, config())

    @needs_yaml
    @pytest.mark.parametrize(
        "text",
        [
            f"token: {SECRET}\n  bad: [",
            f"token: *{SECRET}",
            f"token: !{SECRET} x",
            f"token: !!python/object:os.{SECRET} x",
            f"? [{SECRET}]\n: x",
            f"{{token: {SECRET}",
            f"\t{SECRET}",
            f"a: {SECRET}\n---\nb: x",
            'x: !!int ""',
            "x: !!bool foo",
            "x: !!timestamp foo",
            "x: 2024-99-99",
            "x: " + "9" * 5000,
            "[" * 100_000,
            "- " * 3000 + "x",
            '{"a":' * 100_000,
            "x: \0",
        ],
    )
    @pytest.mark.parametrize("in_c", [True, False])
    def test_neither(self, file: Path, text: str, in_c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is neither YAML nor JSON is an error that shows nothing of the file, with either of PyYAML's parsers."""
        if not in_c:
            monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
        assert "is neither YAML nor JSON" in refused(file, text)

    @needs_yaml
    def test_line(self, file: Path) -> None:
        """The error says in which line."""
        assert "(line 2)" in refused(file, "a: b\nc: [}\n")

    @needs_yaml
    def test_not_utf8(self, file: Path) -> None:
        """A file in another encoding is neither."""
        file.write_bytes(b"current-context: \xff\xff")
        with pytest.raises(ConfigError, match="is neither YAML nor JSON"):
            _kubeconfig.load_kubeconfig(file)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)

FULL = config(
    {"certificate-authority": "a", "tls-server-name": "b", "proxy-url": "c", "insecure-skip-tls-verify": False},
    {"token": "a", "tokenFile": "b", "client-certificate": "c", "client-key": "d", "exec": {"command": "e"}},
    name="é",
)


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def replaced(value: Any, path: tuple[str | int, ...], new: object) -> Any:
    """The document with another value in one place."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


class TestAnything:
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.tuples(st.sampled_from(places(FULL)), VALUES), min_size=1, max_size=2))
    def test_any_value(self, file: Path, changes: list[tuple[tuple[str | int, ...], object]]) -> None:
        """Any value in any place gives a cluster and a credential or a ConfigError, never another exception."""
        document: Any = FULL
        for place, value in changes:
            if place in places(document):
                document = replaced(document, place, value)
        self.load_and_use(file, json.dumps(document))

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(VALUES, st.text(max_size=60))
    def test_any_document(self, file: Path, value: object, text: str) -> None:
        """So does any document, and any text."""
        self.load_and_use(file, json.dumps(value))
        self.load_and_use(file, text)

    @staticmethod
    def load_and_use(file: Path, text: str) -> None:
        """Load it and, if that goes well, ask for the credential."""
        file.write_text(text, encoding="utf-8")
        try:
            cluster, credential = _kubeconfig.load_kubeconfig(file)
            assert isinstance(cluster.server, str)
            assert isinstance(cluster.name, str)
            assert isinstance(credential, Credential)
            authorize(credential)
        except ConfigError:
            pass


POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """A folder as the kubelet puts it into a pod."""
    for name, text in {"token": "one\n", "ca.crt": "made up", "namespace": "team\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


class TestInCluster:
    def test_all(self, account: Path) -> None:
        """Two variables give the address, three files authority, namespace and token."""
        cluster, credential = _kubeconfig.in_cluster(POD, str(account))
        assert cluster == Cluster("https://10.0.0.1:443", ca_file=str(account / "ca.crt"), namespace="team")
        assert isinstance(credential, ServiceAccount)
        assert authorize(credential).headers == {"Authorization": "Bearer one"}

    def test_ipv6(self, account: Path) -> None:
        """An IPv6 address gets brackets."""
        cluster, _ = _kubeconfig.in_cluster(POD | {"KUBERNETES_SERVICE_HOST": "2001:db8::1"}, str(account))
        assert cluster.server == "https://[2001:db8::1]:443"

    @pytest.mark.parametrize("missing", POD)
    @pytest.mark.parametrize("by", [{}, "empty"])
    def test_not_in_a_pod(self, account: Path, missing: str, by: object) -> None:
        """Without both variables this is no pod."""
        environ = {name: value for name, value in POD.items() if name != missing} | ({missing: ""} if by else {})
        assert not _kubeconfig.is_in_cluster(environ, str(account))
        with pytest.raises(ConfigError, match="not in a pod"):
            _kubeconfig.in_cluster(environ, str(account))

    def test_no_authority(self, account: Path) -> None:
        """A CA file that cannot be read is an error: client-go would trust the system's authorities instead."""
        (account / "ca.crt").unlink()
        with pytest.raises(ConfigError, match=r"ca\.crt cannot be read \(No such file or directory\)"):
            _kubeconfig.in_cluster(POD, str(account))

    @pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe"])
    def test_no_namespace(self, account: Path, content: bytes | None) -> None:
        """A namespace file that is missing, empty or broken means default: only the command line asks for it."""
        (account / "namespace").unlink()
        if content is not None:
            (account / "namespace").write_bytes(content)
        assert _kubeconfig.in_cluster(POD, str(account))[0].namespace == "default"

    def test_no_token(self, account: Path) -> None:
        """Without a token file this is no pod for the default configuration, and in_cluster() has no credential."""
        (account / "token").unlink()
        assert not _kubeconfig.is_in_cluster(POD, str(account))
        with pytest.raises(CredentialError):
            authorize(_kubeconfig.in_cluster(POD, str(account))[1])

    def test_process_environment(self, account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The process's environment is read at the call."""
        for name, value in POD.items():
            monkeypatch.setenv(name, value)
        assert _kubeconfig.is_in_cluster(directory=str(account))
        for name in POD:
            monkeypatch.delenv(name)
        assert not _kubeconfig.is_in_cluster(directory=str(account))


class TestDefault:
    def test_in_a_pod(self, account: Path, file: Path) -> None:
        """In a pod it is the pod's account, unless a context is asked for."""
        environ = POD | {"KUBECONFIG": str(write(file, config()))}
        directory = str(account)
        in_pod = _kubeconfig.default_configuration(environ=environ, directory=directory)
        assert in_pod[0].server == "https://10.0.0.1:443"
        by_name = _kubeconfig.default_configuration("dev", environ=environ, directory=directory)
        assert by_name[0].server == "https://example.test:6443"

    def test_elsewhere(self, tmp_path: Path, file: Path) -> None:
        """Elsewhere it is the kubeconfig."""
        environ = {"KUBECONFIG": str(write(file, config()))}
        assert _kubeconfig.default_configuration(environ=environ)[0].name == "dev"
        with pytest.raises(ConfigError, match="there is no kubeconfig"):
            _kubeconfig.default_configuration(environ={"HOME": str(tmp_path)})
