"""Every error: its sentence, and its exit code."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import trustme

from kwsync import Client, Cluster, ErrorOrigin, ErrorType, Resource, WatchError
from kwsync.cli import main
from kwsync.cli._errors import MEANINGS, ExitCode, explain
from kwsync.testing import ApiServer, Http, NoHead, ProxyServer, ScriptedServer, status
from tests.cli.support import Environment, fails, write_config

Through = Callable[[str, str], tuple[str, str]]
"""A server's URL and a proxy's to the path of a kubeconfig, and the words for where the proxy is named."""


@pytest.fixture(autouse=True)
def nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    return Environment(monkeypatch, tmp_path)


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["watch"], "Missing argument 'RESOURCE...': see kwsync watch --help"),
            (["watch", "pods", "--frob"], "No such option"),
            (["frob"], "No such command 'frob'"),
            (["watch", "pods", "-o", "xml"], "'xml' is not one of 'table', 'wide', 'name', 'json', 'yaml'"),
            (["watch", "pods", "--timeout", "0"], "'0' is no time to wait: give seconds above 0, at most a year"),
            (["watch", "pods", "--timeout", "nan"], "'nan' is no time to wait"),
            (["watch", "pods", "--timeout", "soon"], "'soon' is no time to wait"),
            (["watch", "pods", "-A", "-n", "x"], "-n and -A exclude each other: give one of them"),
            (["demo", "--seconds", "-1"], "'-1' is no time to wait"),
            (["serve", "--port", "70000"], "'70000' is no port: give a number from 0 (any that is free) to 65535"),
        ],
    )
    def test_refused(self, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
        """What the arguments alone show to be wrong is said before anything is asked, with where to read on."""
        code, told = fails(capsys, *arguments)
        assert sentence in told
        assert told.endswith("--help")
        assert code == ExitCode.USAGE

    def test_one_object(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """Who names one object as for kubectl get is told how to watch it."""
        path = write_config(tmp_path / "config", "http://127.0.0.1:1")
        told = fails(capsys, "watch", "pods/web", "--kubeconfig", str(path))
        advice = "to watch one object, say pods --field-selector metadata.name=web"
        assert told == (ExitCode.USAGE, f"'pods/web' names no kind of objects: {advice}")

    @pytest.mark.parametrize(
        "about", ["web", "pod/", "/web", "pod/a,b", "pod/a=b", "../x/y", "../x", "a/b/c/d/e", "pod/..", "pod/\udcff"]
    )
    def test_for(self, about: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """What is no object for --for is told with an example, or with what to check."""
        path = write_config(tmp_path / "config", "http://127.0.0.1:1")
        code, told = fails(capsys, "events", "--for", about, "--kubeconfig", str(path))
        assert code == ExitCode.USAGE
        assert "--for" in told

    def test_without_any(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`kwsync` alone shows its help as `kwsync --help` does, and is no success."""
        assert main(["--help"]) == ExitCode.DONE
        shown = capsys.readouterr().out
        assert main([]) == ExitCode.USAGE
        assert capsys.readouterr() == ("", shown)
        assert "\n  watch " in shown

    def test_long_ones_are_cut(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An argument of a megabyte does not fill the screen, and what to do still stands at the end."""
        code, told = fails(capsys, "watch", "pods", "-n", "x" * 1_000_000)
        assert code == ExitCode.USAGE
        assert len(told) < 2100
        assert told.endswith("see kwsync watch --help")

    def test_names_are_escaped(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Also an argument cannot reach the terminal's controls."""
        code, told = fails(capsys, "frob\x1b[2J")
        assert "\\x1b[2J" in told
        assert code == ExitCode.USAGE


class TestConfiguration:
    def test_none(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """Without a kubeconfig it says where it looked, and what works without one."""
        missing = tmp_path / ".kube" / "config"
        sentence = f"there is no kubeconfig {missing}: set KUBECONFIG or pass a path"
        assert fails(capsys, "watch", "pods") == (
            ExitCode.CONFIG,
            f"{sentence} (without any cluster, try: kwsync demo)",
        )

    def test_no_such_file(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A file that is named and not there is named in the sentence."""
        code, told = fails(capsys, "events", "--kubeconfig", str(tmp_path / "nowhere"))
        assert code == ExitCode.CONFIG
        assert told.startswith(f"there is no kubeconfig {tmp_path / 'nowhere'}")

    def test_no_such_context(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A context that is not in it is named."""
        path = write_config(tmp_path / "config", "http://127.0.0.1:1")
        code, told = fails(capsys, "watch", "pods", "--kubeconfig", str(path), "--context", "other")
        assert code == ExitCode.CONFIG
        assert "there is no context 'other'" in told

    @pytest.mark.parametrize("command", [("watch", "pods"), ("events",), ("auth", "check")], ids=" ".join)
    @pytest.mark.parametrize("server", ["https://[::1", "http://[", "https://]", "https://a:b", "x"])
    def test_server_that_is_no_url(
        self, server: str, command: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        """Whatever stands where a URL should be is one sentence, and a matter of the kubeconfig."""
        path = write_config(tmp_path / "config", server)
        code = main([*command, "--kubeconfig", str(path)])
        assert code == ExitCode.CONFIG
        assert "Traceback" not in capsys.readouterr().err

    def test_unusable_credential(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A token file that is not there is a matter of the kubeconfig, not of the server."""
        path = write_config(tmp_path / "config", "http://127.0.0.1:1")
        document = json.loads(path.read_text())
        document["users"][0]["user"] = {"tokenFile": str(tmp_path / "token")}
        path.write_text(json.dumps(document))
        code, told = fails(capsys, "watch", "pods", "--kubeconfig", str(path))
        assert code == ExitCode.CONFIG
        assert told.endswith("repair the user's entry in the kubeconfig")

    @pytest.mark.parametrize(
        ("user", "sentence"),
        [
            ({"exec": {"command": "no-such-plugin"}}, "has no apiVersion: add client.authentication.k8s.io/v1"),
            ({"auth-provider": {"name": "gcp"}}, "gets its credential from an auth provider, which kwsync does not"),
            ({"as": "somebody"}, "impersonates another user, which kwsync does not support yet: for now, name another"),
        ],
        ids=["exec", "auth-provider", "as"],
    )
    @pytest.mark.parametrize("kind", ["pods", "widgets"])
    def test_user_that_is_not_supported(
        self, user: dict[str, Any], sentence: str, kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        """A user of a kind that kwsync cannot be yet gets told what works meanwhile, in words of the command line."""
        path = write_config(tmp_path / "config", "http://127.0.0.1:1", user=user)
        code, told = fails(capsys, "watch", kind, "--kubeconfig", str(path))
        assert code == ExitCode.CONFIG
        assert sentence in told
        assert "credential=" not in told

    def test_namespace_of_the_context(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A kubeconfig that names a namespace as there is none is at fault, not the arguments; -n goes before it."""
        path = write_config(tmp_path / "config", refusing(), namespace="../x")
        code, told = fails(capsys, "watch", "pods", "--kubeconfig", str(path))
        assert code == ExitCode.CONFIG
        assert told == "the namespace '../x' of the kubeconfig's context is no name of one: repair it, or give -n"
        assert fails(capsys, "watch", "pods", "--kubeconfig", str(path), "-n", "a")[0] == ExitCode.UNREACHABLE


def refusing() -> str:
    """The URL of a server that is gone."""
    with ScriptedServer() as server:
        return server.url


class TestConnection:
    def test_refused(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A refused connection says where to, and what to check; it is not waited for at the start."""
        with ScriptedServer() as server:
            url = server.url
        path = write_config(tmp_path / "config", url)
        advice = "it is refused: check that the cluster runs, and the server's address in the kubeconfig"
        assert fails(capsys, "watch", "pods", "--kubeconfig", str(path)) == (
            ExitCode.UNREACHABLE,
            f"no connection to {url}: {advice}",
        )

    def test_refused_while_a_name_is_looked_up(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """The same for a kind that only the server knows."""
        with ScriptedServer() as server:
            url = server.url
        path = write_config(tmp_path / "config", url)
        assert fails(capsys, "watch", "widgets", "--kubeconfig", str(path))[0] == ExitCode.UNREACHABLE

    def test_expired_certificate(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A server's certificate that has expired is told as such."""
        authority = trustme.CA()
        yesterday = datetime.now(timezone.utc) - timedelta(days=1)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1", not_after=yesterday).configure_cert(context)
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        with ScriptedServer(tls=context) as server:
            path = write_config(tmp_path / "config", server.url, **{"certificate-authority": str(tmp_path / "ca.pem")})
            code, told = fails(capsys, "watch", "pods", "--kubeconfig", str(path))
            assert told.startswith(f"no trust in {server.url}: ")
        assert "certificate has expired" in told
        assert told.endswith("renew the server's certificate, and check this machine's clock")
        assert code == ExitCode.UNREACHABLE

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    def test_certificate_of_another_name(self, host: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A certificate of another host or address is a matter of how the server is called."""
        authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("kube.example.com").configure_cert(context)
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        with ScriptedServer(tls=context) as server:
            url = server.url.replace("127.0.0.1", host)
            path = write_config(tmp_path / "config", url, **{"certificate-authority": str(tmp_path / "ca.pem")})
            code, told = fails(capsys, "watch", "pods", "--kubeconfig", str(path))
        advice = "correct the server's address in the kubeconfig, or set tls-server-name to a name in the certificate"
        assert told.startswith(f"no trust in {url}: ")
        assert told.endswith(f"mismatch, certificate is not valid for {host!r}: {advice}")
        assert code == ExitCode.UNREACHABLE

    def test_unknown_authority(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A certificate of an authority that nobody trusts points at the kubeconfig."""
        with ApiServer(tls=True) as server:
            path = write_config(tmp_path / "config", server.url)
            code, told = fails(capsys, "watch", "pods", "--kubeconfig", str(path))
        assert code == ExitCode.UNREACHABLE
        assert "certificate-authority in the kubeconfig" in told

    def test_no_kubernetes(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A web server that answers with a page is none of Kubernetes."""
        with ScriptedServer(default=[Http(200, "<html>welcome</html>")]) as server:
            path = write_config(tmp_path / "config", server.url)
            code, told = fails(capsys, "watch", "pods", "--kubeconfig", str(path))
        assert code == ExitCode.FAILED
        assert "does not answer as a Kubernetes API" in told

    @pytest.mark.parametrize("kind", ["pods", "widgets"])
    @pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
    def test_login_page(self, code: int, kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A server that sends everybody to a login page is none of Kubernetes, and is not asked for ever."""
        answer = Http(code, "", {"Location": "https://bob:s3ntinel@sso.example.com/login?token=s3ntinel"})
        with ScriptedServer(default=[answer]) as server:
            path = write_config(tmp_path / "config", server.url)
            exit_code, told = fails(capsys, "watch", kind, "--kubeconfig", str(path))
            assert told.startswith(
                f"{server.url} does not answer as a Kubernetes API: {code}: redirects are not followed"
            )
        assert told.endswith(
            "(https://sso.example.com/login): check the server's address, and whether a proxy wants a login"
        )
        assert exit_code == ExitCode.FAILED

    @pytest.mark.parametrize("kind", ["pods", "widgets"])
    def test_plain_http_where_tls_is_meant(self, kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A server that answers an https:// URL in plain HTTP is told as that, without OpenSSL's words."""
        with ApiServer() as server:
            url = server.url.replace("http:", "https:")
            path = write_config(tmp_path / "config", url)
            code, told = fails(capsys, "watch", kind, "--kubeconfig", str(path))
        assert code == ExitCode.UNREACHABLE
        assert told.startswith(f"no connection to {url}: it answers, but speaks no TLS: ")
        assert "SSL" not in told

    @pytest.mark.parametrize("kind", ["pods", "widgets"])
    def test_tls_where_plain_http_is_meant(self, kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A server that speaks TLS alone, at an http:// URL: whether it hangs up or says so, the advice is the same."""
        with ApiServer(tls=True) as server:
            path = write_config(tmp_path / "config", server.url.replace("https:", "http:"))
            code, told = fails(capsys, "watch", kind, "--kubeconfig", str(path))
        assert code == ExitCode.UNREACHABLE
        assert told.endswith("if it speaks TLS, write https:// for http:// in the kubeconfig")

    @pytest.mark.parametrize(
        "answer",
        [
            "Client sent an HTTP request to an HTTPS server.\n",
            "<html><h1>400 Bad Request</h1>The plain HTTP request was sent to HTTPS port</html>",
        ],
        ids=["Go", "nginx"],
    )
    def test_server_that_asks_for_tls(self, answer: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """Where the answer to plain HTTP says that TLS is wanted, no selector is blamed for it."""
        with ScriptedServer(default=[Http(400, answer, {"Content-Type": "text/plain"})]) as server:
            path = write_config(tmp_path / "config", server.url)
            code, told = fails(capsys, "watch", "pods", "--kubeconfig", str(path))
            assert told == f"{server.url} speaks TLS alone: write https:// for http:// in the kubeconfig"
        assert code == ExitCode.UNREACHABLE

    def test_unknown_host(self) -> None:
        """A host whose name nobody knows says so."""
        cause = type("gaierror", (OSError,), {})()
        error = failure(ErrorOrigin.NETWORK, "Name or service not known")
        error.__cause__ = cause
        assert "the name of its host is not known" in said(error)

    def test_no_answer(self) -> None:
        """Silence points at the network."""
        assert said(failure(ErrorOrigin.TIMEOUT, "no answer in time")).endswith("check network, VPN and proxy settings")


@pytest.fixture(params=["kubeconfig", "environment"])
def through(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Through:
    """A kubeconfig whose server is asked through a proxy, as it or as the environment says."""

    def config(server: str, proxy: str) -> tuple[str, str]:
        if request.param == "environment":
            monkeypatch.setenv("HTTPS_PROXY", proxy)
            monkeypatch.setenv("HTTP_PROXY", proxy)
            return str(write_config(tmp_path / "config", server)), "the variables HTTPS_PROXY and HTTP_PROXY"
        path = write_config(tmp_path / "config", server, **{"proxy-url": proxy})
        return str(path), "proxy-url in the kubeconfig"

    return config


@pytest.mark.parametrize("kind", ["pods", "widgets"])
@pytest.mark.parametrize("server", ["http://kube.invalid:8080", "https://kube.invalid:6443"])
class TestProxy:
    def test_refused(self, server: str, kind: str, through: Through, capsys: pytest.CaptureFixture[str]) -> None:
        """A proxy that refuses connections is named, and not the server, which nobody has asked; nor any password."""
        url = refusing()
        path, where = through(server, url.replace("//", "//bob:sentinel@"))
        assert fails(capsys, "watch", kind, "--kubeconfig", path) == (
            ExitCode.UNREACHABLE,
            f"no connection to the proxy {url}: it refuses connections: check that it runs, and {where}",
        )

    def test_without_tls(self, server: str, kind: str, through: Through, capsys: pytest.CaptureFixture[str]) -> None:
        """So is a proxy that speaks no TLS, where its URL says that it does."""
        with ScriptedServer(default=[Http(400, "what?")]) as proxy:
            url = proxy.url.replace("http:", "https:")
            path, where = through(server, url)
            code, told = fails(capsys, "watch", kind, "--kubeconfig", path)
        assert code == ExitCode.UNREACHABLE
        assert told == f"no connection to the proxy {url}: it speaks no TLS: write http:// for https:// in {where}"

    def test_unusable(self, server: str, kind: str, through: Through, capsys: pytest.CaptureFixture[str]) -> None:
        """A proxy of another kind is a matter of the setting that names it."""
        path, where = through(server, "socks5://127.0.0.1:1")
        code, told = fails(capsys, "watch", kind, "--kubeconfig", path)
        assert code == ExitCode.CONFIG
        assert told.endswith(f"is not supported: it must be http:// or https://: correct {where}")


@pytest.mark.parametrize(
    ("status_code", "exit_code", "sentence"),
    [
        (407, 4, "the proxy {} refuses this (407): give its user and password, as in http://USER:PASSWORD@HOST:PORT"),
        (503, 4, "no connection through the proxy {}: Tunnel connection failed: 503"),
    ],
)
def test_proxy_that_refuses(
    status_code: int, exit_code: int, sentence: str, through: Through, capsys: pytest.CaptureFixture[str]
) -> None:
    """A proxy that lets nobody through is named with its reason."""
    with ScriptedServer(default=[Http(status_code, "no")]) as proxy:
        path, where = through("https://kube.invalid:6443", proxy.url)
        code, told = fails(capsys, "watch", "pods", "--kubeconfig", path)
        assert told.startswith(sentence.format(proxy.url))
    assert code == exit_code
    assert told.endswith(where)


def test_server_behind_a_proxy(through: Through, capsys: pytest.CaptureFixture[str]) -> None:
    """What the server does wrong is not the proxy's fault."""
    with ApiServer(tls=True) as server, ProxyServer() as proxy:
        path, _ = through(server.url, proxy.url)
        code, told = fails(capsys, "watch", "pods", "--kubeconfig", path)
        assert told.startswith(f"no trust in {server.url}: ")
        assert code == ExitCode.UNREACHABLE


def failure(origin: ErrorOrigin, message: str = "", code: int = 0) -> WatchError:
    return WatchError(error_type=ErrorType.of_status(code), origin=origin, status_code=code, message=message)


def said(error: WatchError) -> str:
    with Client(Cluster("https://user:sentinel@kube.invalid:6443/base")) as client:
        sentence = str(explain(error, client, Resource.parse("pods")))
    assert "sentinel" not in sentence
    return sentence


class TestAnswers:
    @pytest.mark.parametrize(
        ("code", "reason", "exit_code", "sentence"),
        [
            (401, "Unauthorized", 5, "does not accept your credential (401): log in again, or renew the token"),
            (403, "Forbidden", 5, "you may not do this (403): words: ask for the rights to list and watch, or name"),
            (404, "NotFound", 6, "has no pods (404): check the spelling, and that the server is the one you mean"),
            (400, "BadRequest", 2, "the server refuses this (400): words: correct the selectors"),
            (422, "Invalid", 2, "the server refuses this (422): words: correct the selectors"),
            (406, "NotAcceptable", 1, "the server prints no tables of pods (406): try -o name or -o json"),
            (405, "MethodNotAllowed", 1, "the server refuses this: 405 MethodNotAllowed: words"),
        ],
    )
    def test_refusals(
        self,
        code: int,
        reason: str,
        exit_code: int,
        sentence: str,
        capsys: pytest.CaptureFixture[str],
        tmp_path: Path,
    ) -> None:
        """What the server refuses for good is one sentence: its own words, and what to do."""
        with ScriptedServer(default=[Http(code, status(code, reason, "words"))]) as server:
            path = write_config(tmp_path / "config", server.url)
            told = fails(capsys, "watch", "pods", "--kubeconfig", str(path))
        assert sentence in told[1]
        assert told[0] == exit_code

    def test_proxy_wants_a_login(self) -> None:
        """A 407 in place of an answer comes from a proxy that forwards plain HTTP."""
        assert "the proxy refuses this (407): give its user" in said(failure(ErrorOrigin.HTTP, "no", 407))

    def test_unknown_kind(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A kind that the server does not know is named, with the ways to spell one."""
        with ApiServer() as server:
            path = write_config(tmp_path / "config", server.url)
            code, told = fails(capsys, "watch", "pods,frobs", "--kubeconfig", str(path))
        assert code == ExitCode.NO_SUCH_KIND
        assert told.startswith("the server has no resource 'frobs': check the spelling (plural, singular, kind")

    def test_trouble_while_a_name_is_looked_up(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """A server in trouble is not said to refuse anything."""
        with ScriptedServer(default=[Http(503, status(503, "ServiceUnavailable", "words"))]) as server:
            path = write_config(tmp_path / "config", server.url)
            code, told = fails(capsys, "watch", "widgets", "--kubeconfig", str(path))
            assert told == f"{server.url} is in trouble: 503 ServiceUnavailable: words: try again later"
        assert code == ExitCode.FAILED

    def test_a_server_cannot_write_to_the_terminal(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        """What a server says is escaped, and its line ends do not make a second line."""
        answer = Http(403, status(403, "Forbidden", "\x1b[2Jno\nkwsync: all is well"))
        with ScriptedServer(default=[answer]) as server:
            path = write_config(tmp_path / "config", server.url)
            _, told = fails(capsys, "watch", "pods", "--kubeconfig", str(path))
        assert "\\x1b[2Jno\\nkwsync: all is well" in told


class TestHelp:
    def test_lists_the_exit_codes(self, capsys: pytest.CaptureFixture[str]) -> None:
        """--help has every exit code with its meaning."""
        assert main(["--help"]) == ExitCode.DONE
        shown = capsys.readouterr().out
        assert set(MEANINGS) == set(ExitCode)
        for code, meaning in MEANINGS.items():
            assert f"{code:5d}  {meaning}" in shown

    @pytest.mark.parametrize("command", ["watch", "events", "demo", "serve"])
    def test_of_each_command(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Every command explains itself and each of its options, and points at the exit codes."""
        assert main([command, "--help"]) == ExitCode.DONE
        shown = capsys.readouterr().out
        assert "Exit codes: see kwsync --help." in shown
        assert [line for line in shown.splitlines() if line.strip().startswith("-") and "  " not in line.strip()] in (
            [],
            ["  -o, --output [table|wide|name|json|yaml|diff]"],
        )

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        """--version tells the version of the package."""
        assert main(["--version"]) == ExitCode.DONE
        assert capsys.readouterr().out.startswith("kwsync ")


@pytest.mark.parametrize("missing", ["click", "yaml"])
def test_without_the_extra(missing: str) -> None:
    """Without the packages of the extra it says in one sentence how to get them."""
    program = f"import sys; sys.modules[{missing!r}] = None; from kwsync.cli import main; sys.exit(main(['demo']))"
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, timeout=30, check=False
    )
    sentence = 'kwsync: the command line needs some more packages: pip install ".[cli]" in a checkout\n'
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence)


def test_no_server_is_waited_for_in_vain(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """--timeout counts also while a server that accepts connections says nothing, which is no success."""
    with ScriptedServer(default=[NoHead()]) as server:
        path = write_config(tmp_path / "config", server.url)
        code, told = fails(capsys, "watch", "pods", "--kubeconfig", str(path), "--timeout", "0.2")
        advice = "check server, network and proxy, or give it more time"
        assert told == f"{server.url} has not told of pods before --timeout was over: {advice}"
    assert code == ExitCode.UNREACHABLE
