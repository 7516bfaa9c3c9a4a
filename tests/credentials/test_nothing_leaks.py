"""No secret shows itself: every kind of credential, in every kind of failure, in every place that people look at."""

from __future__ import annotations

import base64
import contextlib
import functools
import http.client
import json
import os
import ssl
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import attrs
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import kwsync
from kwsync import Client, Cluster
from kwsync._cluster import AUTH_PROVIDER_KEY
from kwsync.credentials import (
    Authorization,
    BasicAuth,
    BearerToken,
    Cached,
    ClientCertificate,
    Credential,
    CredentialError,
    ExecPlugin,
    Issued,
    ServiceAccount,
    TokenFile,
)
from kwsync.credentials._combined import Combined
from kwsync.testing import (
    CutChunk,
    End,
    Event,
    Head,
    Http,
    ProxyServer,
    RawBytes,
    Reply,
    Request,
    Rst,
    ScriptedServer,
    Step,
    TestCA,
    pod,
    status,
)
from tests.credentials.aws_endpoints import ROLE, SECRET, AwsEndpoints
from tests.credentials.azure_endpoints import TENANT, AzureEndpoint
from tests.credentials.google_endpoints import GoogleEndpoint
from tests.credentials.lives import isolate
from tests.credentials.sentinels import MARK, TOKEN, Log, caught, dresses, found_in, printed, secrets_of, used
from tests.credentials.token_endpoint import Answer

PAIR = TestCA().client_cert("bob")
NEEDLES = {*dresses(MARK), *secrets_of(PAIR.key_pem)}
PROXY_LOGIN = f"me:{base64.urlsafe_b64encode(MARK.encode()).decode()}"
NEEDLES |= dresses(PROXY_LOGIN.removeprefix("me:"))


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user without proxies, and with a home of their own."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy", "NO_PROXY", "no_proxy", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def log() -> Iterator[Log]:
    with Log() as log:
        yield log


# Where a client goes, and what becomes of it there.

Where = dict[str, Any]
"""Arguments of a `Cluster`."""


def serving(*steps: Step) -> Callable[[Path], AbstractContextManager[Where]]:
    """A server that answers each request by these steps."""

    @contextlib.contextmanager
    def mode(_folder: Path) -> Iterator[Where]:
        with ScriptedServer(default=list(steps)) as server:
            yield {"server": server.url}

    return mode


def _pods(request: Request) -> list[Step]:
    if not request.is_watch:
        return [Http(200, pod("a", namespace="ns"))]
    return [Head(), Event("ADDED", pod("a", "7", namespace="ns")), End()]


@contextlib.contextmanager
def trusted(folder: Path) -> Iterator[Where]:
    authority = TestCA()
    with ScriptedServer(default=[Reply(_pods)], tls=authority.server_context()) as server:
        yield {"server": server.url, "ca_file": authority.write(folder, "authority")}


@contextlib.contextmanager
def untrusted(folder: Path) -> Iterator[Where]:
    with trusted(folder) as where:
        yield {"server": where["server"]}


@contextlib.contextmanager
def refusing(_folder: Path) -> Iterator[Where]:
    with ScriptedServer() as server:
        url = server.url
    yield {"server": url}


def through_proxy(code: int, scheme: str) -> Callable[[Path], AbstractContextManager[Where]]:
    """A proxy that demands the login in its URL, and refuses all the same."""

    @contextlib.contextmanager
    def mode(_folder: Path) -> Iterator[Where]:
        with ProxyServer(status=code) as proxy:
            yield {
                "server": f"{scheme}://a.test",
                "proxy_url": proxy.url.replace("://", f"://{PROXY_LOGIN}@"),
            }

    return mode


@contextlib.contextmanager
def no_proxy_there(folder: Path) -> Iterator[Where]:
    with refusing(folder) as where:
        yield {"server": "https://a.test", "proxy_url": where["server"].replace("://", f"://{PROXY_LOGIN}@")}


LOCATION = f"https://me:{MARK}@a.test/p?token={TOKEN}#{TOKEN}"
COOKIE = {"Set-Cookie": f"session={TOKEN}", "X-Auth-Token": TOKEN, "Refresh": f"0; url={LOCATION}"}

MODES: dict[str, Callable[[Path], AbstractContextManager[Where]]] = {
    "well": serving(Reply(_pods)),
    "well, by TLS": trusted,
    "401": serving(Http(401, status(401, "Unauthorized"), COOKIE)),
    "403": serving(Http(403, "no", COOKIE)),
    "redirect": serving(Http(302, "", {"Location": LOCATION, **COOKIE})),
    "odd redirect": serving(Http(307, "", {"Location": f"//me:{MARK}@[a.test/;{TOKEN}"})),
    "refused": refusing,
    "no trust": untrusted,
    "reset": serving(Rst()),
    "cut": serving(Head(), CutChunk(b"{", 99)),
    "no HTTP": serving(RawBytes(b"hello\r\n\r\n")),
    "no JSON": serving(Http(200, "<html>")),
    "proxy refuses": through_proxy(407, "https"),
    "proxy fails": through_proxy(502, "http"),
    "proxy away": no_proxy_there,
}


# Who asks.

Who = Callable[[Path, Where], Client]


def credential(make: Callable[[Path], Credential]) -> Who:
    """An explicit one."""
    return lambda folder, where: Client(Cluster(**where), make(folder), connect_timeout=5, request_timeout=5)


def written(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def pair_files(folder: Path) -> dict[str, Any]:
    certificate, key = PAIR.write(folder)
    return {"certificate_file": certificate, "key_file": key}


@attrs.frozen
class Own:
    """A user's own, that gives or raises; in one method or the other."""

    proof: Any = None
    raises: Exception | None = None
    after_401: Any = False

    def authorize(self, context: object) -> Any:
        if self.raises is not None:
            secret = MARK  # in a frame of the user's
            raise self.raises from KeyError(secret)
        return self.proof

    def refresh(self, rejected: object) -> Any:
        if isinstance(self.after_401, Exception):
            raise self.after_401
        return self.after_401


def failing(error: Exception) -> Callable[[], Issued]:
    """What a `Cached` calls, in vain."""

    def fetch() -> Issued:
        raise error

    return fetch


def plugin(folder: Path, answer: object, code: int = 0) -> ExecPlugin:
    """A program that writes this; to its standard error, too, which is not ours."""
    text = written(folder, "answer", answer if isinstance(answer, str) else json.dumps(answer))
    program = Path(written(folder, "plugin", f"#!/bin/sh\ncat {text}\nexit {code}\n"))
    program.chmod(stat.S_IRWXU)
    return ExecPlugin(str(program), env={"PLUGIN_SECRET": TOKEN}, args=["--secret", TOKEN], interval=0)


def exec_answer(**status: Any) -> dict[str, Any]:
    return {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}


def kubeconfig(folder: Path, where: Where, user: dict[str, Any]) -> str:
    """The path of a JSON kubeconfig."""
    names = {"server": "server", "proxy_url": "proxy-url", "ca_file": "certificate-authority"}
    cluster = {names[name]: str(value) for name, value in where.items()}
    config = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    return written(folder, "config", json.dumps(config))


DATA = {
    "client-certificate-data": base64.b64encode(PAIR.cert_pem).decode(),
    "client-key-data": base64.b64encode(PAIR.key_pem).decode(),
}
USERS: dict[str, dict[str, Any]] = {
    "token": {"token": TOKEN},
    "token file": {"tokenFile": "secret-token", "token": TOKEN},
    "password": {"username": "me", "password": MARK},
    "certificate": DATA,
    "both": {**DATA, "token": TOKEN},
    "bad token": {"token": f"{TOKEN}\n{TOKEN}"},
    "bad key": {**DATA, "client-key-data": base64.b64encode(MARK.encode()).decode()},
    "wrong key": {**DATA, "client-certificate-data": base64.b64encode(TestCA().client_cert("a").cert_pem).decode()},
    "auth provider": {"auth-provider": {"name": "oidc", "config": {"id-token": TOKEN, "client-secret": MARK}}},
    "plugin": {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "interactiveMode": "Never",
            "command": "no-such-program",
            "args": ["--token", TOKEN],
            "env": [{"name": "A", "value": TOKEN}],
        }
    },
    "impersonator": {"token": TOKEN, "as": "bob"},
}


def of_kubeconfig(user: dict[str, Any]) -> Who:
    """A user of a kubeconfig."""

    def make(folder: Path, where: Where) -> Client:
        written(folder, "secret-token", TOKEN)
        return Client.from_kubeconfig(kubeconfig(folder, where, user))

    return make


def of_official(user: dict[str, Any]) -> Who:
    """The same by the official client."""

    def make(folder: Path, where: Where) -> Client:
        kubernetes = pytest.importorskip("kubernetes")
        config = json.loads(Path(kubeconfig(folder, where, user)).read_text())
        return Client.from_kubernetes(kubernetes.config.new_client_from_config_dict(config))

    return make


def official_settings(**settings: Any) -> Who:
    """Settings of the official client that were made by hand."""

    def make(_folder: Path, where: Where) -> Client:
        kubernetes = pytest.importorskip("kubernetes")
        configuration = kubernetes.client.Configuration()
        configuration.host, configuration.proxy = where["server"], where.get("proxy_url")
        for name, value in settings.items():
            setattr(configuration, name, value)
        client = kubernetes.client.ApiClient(configuration, "X-Own", TOKEN, f"session={TOKEN}")
        return Client.from_kubernetes(client)

    return make


def hook_that_fails(_configuration: object) -> None:
    raise RuntimeError(TOKEN)


def metadata(**more: str) -> Who:
    """What Backstage keeps of a cluster."""
    return lambda _folder, where: Client(Cluster(auth_metadata={"serviceAccountToken": TOKEN, **more}, **where))


def with_login(_folder: Path, where: Where) -> Client:
    """A URL with a user and a password in it, which is refused."""
    before, _, rest = where["server"].partition("://")
    return Client(Cluster(f"{before}://{PROXY_LOGIN}@{rest}", **_without_server(where)))


def _without_server(where: Where) -> Where:
    return {name: value for name, value in where.items() if name != "server"}


BAD = Authorization({"Authorization": f"Bearer {TOKEN}\r\nX: {TOKEN}"})
WHO: dict[str, Who] = {
    "bearer": credential(lambda _: BearerToken(TOKEN)),
    "bad bearer": credential(lambda _: BearerToken(f"{TOKEN}\r\nX: {TOKEN}")),
    "basic": credential(lambda _: BasicAuth("me", MARK)),
    "token file": credential(lambda folder: TokenFile(written(folder, "t", f"{TOKEN}\n"))),
    "bad token file": credential(lambda folder: TokenFile(written(folder, "t", f"{TOKEN}\n{TOKEN}"))),
    "fallback": credential(lambda folder: TokenFile(folder / "gone", fallback=TOKEN)),
    "service account": credential(lambda folder: ServiceAccount(os.path.dirname(written(folder, "token", TOKEN)))),
    "certificate": credential(lambda _: ClientCertificate(certificate=PAIR.cert_pem, key=PAIR.key_pem)),
    "certificate files": credential(lambda folder: ClientCertificate(**pair_files(folder))),
    "bad key": credential(lambda _: ClientCertificate(certificate=PAIR.cert_pem, key=MARK)),
    "broken key": credential(lambda _: ClientCertificate(certificate=PAIR.cert_pem, key=PAIR.key_pem[:-60])),
    "combined": credential(
        lambda folder: Combined([ClientCertificate(**pair_files(folder)), BearerToken(TOKEN), BasicAuth("me", MARK)])
    ),
    "cached": credential(lambda _: Cached(lambda: Issued(Authorization.bearer(TOKEN)), name="vault", interval=0)),
    "cached, failing": credential(lambda _: Cached(failing(RuntimeError(TOKEN)), name="vault", interval=0)),
    "cached, refused": credential(lambda _: Cached(failing(CredentialError("no")), name="vault", interval=0)),
    "own header": credential(lambda _: Own(Authorization({"X-Own": TOKEN}))),
    "own, bad header": credential(lambda _: Own(BAD)),
    "own, raising": credential(lambda _: Own(raises=RuntimeError(TOKEN))),
    "own, OSError": credential(lambda _: Own(raises=OSError(5, TOKEN, TOKEN))),
    "own, text": credential(lambda _: Own(f"Bearer {TOKEN}")),
    "own, refresh raising": credential(lambda _: Own(Authorization.bearer(TOKEN), after_401=ValueError(TOKEN))),
    "own, refreshing": credential(lambda _: Own(Authorization.bearer(TOKEN), after_401=True)),
    "plugin": credential(lambda folder: plugin(folder, exec_answer(token=TOKEN))),
    "plugin with certificate": credential(
        lambda folder: plugin(
            folder,
            exec_answer(clientCertificateData=PAIR.cert_pem.decode(), clientKeyData=PAIR.key_pem.decode()),
        )
    ),
    "plugin with bad token": credential(lambda folder: plugin(folder, exec_answer(token=f"{TOKEN}\n{TOKEN}"))),
    "plugin with bad time": credential(
        lambda folder: plugin(folder, exec_answer(token=TOKEN, expirationTimestamp=TOKEN))
    ),
    "plugin with half a key": credential(lambda folder: plugin(folder, exec_answer(clientKeyData=TOKEN))),
    "plugin of nonsense": credential(lambda folder: plugin(folder, f"token is {TOKEN}")),
    "plugin that fails": credential(lambda folder: plugin(folder, exec_answer(token=TOKEN), 3)),
    "metadata": metadata(**{AUTH_PROVIDER_KEY: "serviceAccount"}),
    "metadata of oidc": metadata(**{AUTH_PROVIDER_KEY: "oidc", "idToken": TOKEN}),
    "metadata of another": metadata(**{AUTH_PROVIDER_KEY: "no-such-provider"}),
    "login in the URL": with_login,
    **{f"kubeconfig, {name}": of_kubeconfig(user) for name, user in USERS.items()},
    **{f"official, {name}": of_official(USERS[name]) for name in ("token", "token file", "password", "certificate")},
    "official, settings": official_settings(api_key={"authorization": TOKEN}, username="me", password=MARK),
    "official, access token": official_settings(access_token=f"{TOKEN}\r\n{TOKEN}"),
    "official, hook": official_settings(refresh_api_key_hook=hook_that_fails),
    "official, proxy headers": official_settings(
        proxy="http://127.0.0.1:1", proxy_headers={"Proxy-Authorization": f"Basic {TOKEN}"}
    ),
}


SLOW = "plugin"
"""Kinds that start a program each time; what a server does makes little difference to them."""
ENOUGH = ("well", "401", "refused")
SLOW_MODES = ("no trust", "proxy refuses", "proxy away")
"""In which each client reads all of the system's authorities."""
FEW = (
    *("bearer", "basic", "combined", "certificate", "certificate files", "own header", "own, raising", "metadata"),
    *("login in the URL", "kubeconfig, both", "kubeconfig, bad key", "official, token", "official, certificate"),
)


def tried_in(mode: str) -> Iterator[tuple[int, str]]:
    """The kinds that are worth their time."""
    for number, who in enumerate(WHO):
        if mode in ENOUGH or not (who.startswith(SLOW) or (mode in SLOW_MODES and who not in FEW)):
            yield number, who


@pytest.mark.parametrize("mode", MODES)
def test_nothing_leaks(mode: str, tmp_path: Path, log: Log) -> None:
    """Every kind of credential in one failure: nothing that is told, raised, logged or pickled shows a secret."""
    leaked = {}
    with MODES[mode](tmp_path) as where:
        for number, who in tried_in(mode):
            folder = tmp_path / str(number)
            folder.mkdir()
            log.told.clear()
            found = found_in([*tried(who, folder, where), *log.told], NEEDLES)
            if found:
                leaked[who] = found[:3]
    assert leaked == {}
    assert set(FEW) <= WHO.keys()


def tried(who: str, folder: Path, where: Where) -> list[str]:
    """What a client tells, or the failure to make one; nothing here holds a secret in a frame that is searched."""
    made: list[Client] = []
    told = caught(lambda: made.append(WHO[who](folder, where)))
    for client in made:
        with client:
            told += used(client)
    return told


@pytest.mark.parametrize("needle", ["raw", "base64", "quoted", "key"])
def test_is_found(needle: str, log: Log) -> None:
    """What is searched for would be found, in each dress."""
    shown = {
        "raw": f"Bearer {TOKEN}",
        "base64": base64.b64encode(f"me:{MARK}".encode()).decode(),
        "quoted": "sEnTiNeL%2F4711%2Bx%3D",
        "key": repr(PAIR.key_pem),
    }[needle]
    assert found_in([f"before {shown} behind"], NEEDLES)
    for text in (MARK, f"x{MARK}x", f"xx{MARK}xx"):
        assert found_in([base64.b64encode(text.encode()).decode()], NEEDLES)


WHOLE = json.dumps(
    {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://a.test"}}],
        "users": [{"name": "u", "user": {"token": TOKEN, "password": MARK}}],
    }
)
USER = f'{{"token": "{TOKEN}", "password": "{MARK}"}}'
MALFORMED = {
    "cut": WHOLE[:-2],
    "cut in the token": WHOLE[: WHOLE.index(TOKEN) + len(TOKEN)],
    "no end of a string": WHOLE.replace(f'{MARK}"', MARK),
    "bad YAML": f"users:\n- name: u\n  user:\n    token: {TOKEN}\n   password: '{MARK}\n",
    "tab": f"users:\n\t- token: {TOKEN}",
    "anchor": f"users: &a [*b, {TOKEN}]",
    "tag": f"token: !!python/object/new:os.system [{TOKEN}]",
    "bad bytes": f"token: {TOKEN}\x00\x01",
    "text alone": TOKEN,
    "list": f"[{json.dumps(TOKEN)}]",
    "twice": WHOLE.replace('"users": [', f'"users": [{{"name": "u", "user": {USER}}}, '),
    "users are no list": WHOLE.replace('"users": [', f'"users": "{TOKEN}", "others": ['),
    "a user is text": WHOLE.replace(USER, f'"{TOKEN}"'),
    "a user is a list": WHOLE.replace(USER, f'["{TOKEN}"]'),
    "an item is text": WHOLE.replace('"users": [', f'"users": ["{TOKEN}", '),
    "a token is a list": WHOLE.replace(f'"token": "{TOKEN}"', f'"token": ["{TOKEN}"]'),
    "a token is a number": WHOLE.replace(f'"{TOKEN}"', "4711"),
    "token and name": WHOLE.replace('"token"', '"username": "me", "token"'),
    "no base64": WHOLE.replace(
        '"token"', f'"client-certificate-data": "{TOKEN}!", "client-key-data": "{TOKEN}", "token"'
    ),
    "key of another kind": WHOLE.replace(
        '"token"', f'"client-key-data": ["{TOKEN}"], "client-certificate": "a", "token"'
    ),
    "auth provider is text": WHOLE.replace('"token"', '"auth-provider"'),
    "exec is text": WHOLE.replace('"token"', '"exec"'),
    "odd plugin": WHOLE.replace(f'"token": "{TOKEN}"', f'"exec": {{"command": "x", "args": "{TOKEN}"}}'),
    "odd variables": WHOLE.replace(
        f'"token": "{TOKEN}"', f'"exec": {{"command": "x", "apiVersion": "{TOKEN}", "env": [{{"{TOKEN}": "{TOKEN}"}}]}}'
    ),
    "login in the server": WHOLE.replace("https://", f"https://{PROXY_LOGIN}@"),
    "login in the proxy": WHOLE.replace('"server"', f'"proxy-url": "ftp://{PROXY_LOGIN}@p.test", "server"'),
    "odd login in the proxy": WHOLE.replace('"server"', f'"proxy-url": "http://me:{MARK}@[p.test:99", "server"'),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_kubeconfig(
    name: str, tmp_path: Path, log: Log, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kubeconfig that is broken around its secrets: the error shows none, nor do its frames and the command line."""
    path = Path(written(tmp_path, "config", MALFORMED[name].encode()))
    made: list[Client] = []
    told = caught(lambda: made.append(Client.from_kubeconfig(path)))
    monkeypatch.setenv("KUBECONFIG", str(path))
    told += caught(lambda: made.append(Client.from_default()))
    for client in made:
        with client:
            told += used(client)
    told += commands_on(path, capsys)
    assert found_in([*told, *log.told], NEEDLES) == []


def commands_on(path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the command line writes about a kubeconfig, as loudly as it can."""
    main = pytest.importorskip("kwsync.cli").main
    for command in (
        ["auth", "check", "--offline", "-o", "json"],
        ["auth", "check", "-vvv", "--timeout", "5"],
        ["watch", "pods", "-n", "ns", "-vvv", "--timeout", "0.2"],
    ):
        main([*command, "--kubeconfig", str(path)])
    return list(capsys.readouterr())


@pytest.mark.parametrize("mode", ["well", "401", "redirect", "refused", "proxy refuses", "proxy fails"])
def test_command_line(mode: str, tmp_path: Path, log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """The command line with -vvv shows no secret of any user of a kubeconfig."""
    leaked = {}
    with MODES[mode](tmp_path) as where:
        for user in ("token", "password", "bad token", "bad key", "auth provider", "plugin", "impersonator"):
            told = commands_on(Path(kubeconfig(tmp_path, where, USERS[user])), capsys)
            assert "GET" in "".join(told) or "kwsync: " in "".join(told)
            leaked[user] = found_in([*told, *log.told], NEEDLES)
            log.told.clear()
    assert {user: found[:3] for user, found in leaked.items() if found} == {}


@pytest.mark.parametrize("in_memory", [True, False])
def test_files_for_tls(in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that TLS needs is this user's alone, and is gone when the certificate is loaded, also when it is bad."""
    if in_memory and not (hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")):
        pytest.skip("no files in memory on this system")
    if not in_memory:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    folder = tmp_path / "temporary"
    folder.mkdir()
    seen: list[tuple[str, int]] = []
    load = ssl.SSLContext.load_cert_chain

    def load_cert_chain(context: ssl.SSLContext, path: Any, *args: Any, **options: Any) -> None:
        seen.append((str(path), stat.S_IMODE(os.stat(path).st_mode)))
        load(context, path, *args, **options)

    with untrusted(tmp_path) as where:
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", load_cert_chain)
        for key in (PAIR.key_pem, PAIR.key_pem[:-60]):
            with Client(Cluster(**where), ClientCertificate(certificate=PAIR.cert_pem, key=key)) as client:
                used(client)

    assert len(seen) >= 2
    assert list(folder.iterdir()) == []
    for path, mode in seen:
        assert path.startswith("/proc/self/fd/") if in_memory else (path.startswith(str(folder)) and mode == 0o600)


def test_plugin_sees_its_own(tmp_path: Path) -> None:
    """A plugin is given what its user's entry says, and of the cluster no password, in arguments and variables."""
    program = Path(written(tmp_path, "plugin", f'#!/bin/sh\n{{ env; echo "$@"; }} > {tmp_path}/seen\nexit 1\n'))
    program.chmod(stat.S_IRWXU)
    cluster = Cluster(
        "https://a.test",
        proxy_url=f"http://{PROXY_LOGIN}@127.0.0.1:1",
        auth_metadata={"serviceAccountToken": TOKEN},
    )
    with Client(cluster, ExecPlugin(str(program), args=["one"], env={"A": "b"}, provide_cluster_info=True)) as client:
        used(client)
    seen = (tmp_path / "seen").read_text()

    assert ("\none\n" in seen, "A=b\n" in seen) == (True, True)
    assert TOKEN not in seen


def test_debug_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the standard library prints where somebody has set its debug level (the official client's debug does)."""
    monkeypatch.setattr(http.client.HTTPConnection, "debuglevel", 1)
    with MODES["well"](tmp_path) as where:
        client = Client(Cluster(**where), BearerToken(TOKEN))
        told, text = printed(lambda: used(client), monkeypatch)
        client.close()
    assert found_in([*told, text], NEEDLES) == []


CLOUDS = ("google", "azure", "aws")


@pytest.mark.parametrize("answers", ["well", "refusing", "nonsense"])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_clouds(cloud: str, answers: str, tmp_path: Path, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """What clouds give, and what they are given for it, shows nowhere: whether it works, is refused, or is nonsense."""
    with cloud_credential(cloud, answers, tmp_path, monkeypatch) as (made, needles, count_asked):
        for mode in ENOUGH:
            folder = tmp_path / mode
            folder.mkdir()
            with MODES[mode](folder) as where:
                told = used_by(Cluster(**where), made)
            assert found_in([*told, *log.told], {*NEEDLES, *needles}) == [], mode
        assert count_asked() > 0


def used_by(cluster: Cluster, made: Credential) -> list[str]:
    """As `used`, with a client for this alone."""
    with Client(cluster, made) as client:
        return used(client)


@contextlib.contextmanager
def cloud_credential(
    cloud: str, answers: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Credential, set[str], Callable[[], int]]]:
    """One that asks an endpoint on loopback, what must not be seen beside the sentinels, and how often it has asked."""
    isolate(monkeypatch, folder)
    with contextlib.ExitStack() as stack:
        endpoint: Any = None
        if cloud == "google":
            pytest.importorskip("google.auth")
            endpoint = stack.enter_context(GoogleEndpoint())
            key = rsa_key()
            made: Credential = kwsync.credentials.GoogleServiceAccount(endpoint.key(key))
            needles = secrets_of(key.encode())
        elif cloud == "azure":
            pytest.importorskip("azure.identity")
            authority = TestCA()
            monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.write(folder)))
            endpoint = stack.enter_context(AzureEndpoint(authority.server_context()))
            made = kwsync.credentials.AzureEntra(
                client_secret=MARK,
                authority_host=endpoint.url,
                disable_instance_discovery=True,
                tenant_id=TENANT,
                client_id="made-up",
            )
            needles = set()
        else:
            pytest.importorskip("botocore")
            aws = AwsEndpoints()
            stack.enter_context(aws.server)
            aws.lead(monkeypatch)
            aws.refuses, aws.nonsense = answers == "refusing", answers == "nonsense"
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up-id")
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", MARK)
            monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
            made = kwsync.credentials.AwsEks("made-up", region="eu-central-1", role_arn=ROLE, external_id=MARK)
            needles = {"k8s-aws-v1.", SECRET}
        if endpoint is not None:
            endpoint.mint = lambda: TOKEN
            echo = {"error": "invalid_client", "error_description": f"AADSTS7000215 {MARK}", "code": MARK}
            if answers != "well":
                endpoint.answer_to_tokens = Answer(echo, 400) if answers == "refusing" else Answer(MARK.encode())
        yield made, needles, lambda: len(aws.requests if endpoint is None else endpoint.asked)


@functools.cache
def rsa_key() -> str:
    """A private key in PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(*pem).decode()
