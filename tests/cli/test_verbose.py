"""What -v to -vvv tell, and what they never tell."""

from __future__ import annotations

import base64
import json
import logging
from pathlib import Path

import pytest

from kwsync import Client, Cluster
from kwsync.cli import main
from kwsync.credentials import BearerToken
from kwsync.testing import ApiServer, Http, List, ScriptedServer
from tests.cli.support import Environment, pod, write_config

SENTINEL = "s3ntinel"
BASIC = base64.b64encode(f"{SENTINEL}-user:{SENTINEL}-word".encode()).decode()


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What stands on standard error, without the clock."""
    assert main(["watch", "pods", "--timeout", "1", *arguments]) == 0
    return [line.partition(" ")[2] for line in capsys.readouterr().err.splitlines()]


@pytest.mark.usefixtures("environment")
class TestLevels:
    @pytest.fixture(autouse=True)
    def one_pod(self, api: ApiServer) -> None:
        api.create(pod("a"))

    def test_none(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Without -v nothing is told but trouble."""
        assert told([], capsys) == []

    def test_one(self, api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
        """-v tells where it looks."""
        assert told(["-v"], capsys) == [f"server {api.url}, namespace default"]

    def test_two(self, capsys: pytest.CaptureFixture[str]) -> None:
        """-vv tells each request, its status and how long its answer took."""
        lines = told(["-vv"], capsys)[1:]
        assert lines[0] == "> GET /api/v1/namespaces/default/pods?limit=500"
        assert lines[1].startswith("< 200 after ")
        assert lines[1].endswith(" ms: /api/v1/namespaces/default/pods")
        assert lines[2].startswith("> GET /api/v1/namespaces/default/pods?watch=true&resourceVersion=")
        assert len(lines) == 4

    def test_three(self, capsys: pytest.CaptureFixture[str]) -> None:
        """-vvv tells the headers of both, with the credential masked."""
        lines = told(["-vvv"], capsys)
        assert ">   Authorization: <masked>" in lines
        assert ">   Accept: application/json;as=Table;g=meta.k8s.io;v=v1" in lines
        assert "<   Content-Type: application/json" in lines

    def test_leaves_logging_as_it_was(self, capsys: pytest.CaptureFixture[str]) -> None:
        """After the command the loggers are as before."""
        names = ("kwsync", "kwsync.wire", "kwsync.wire.headers")
        before = [(logging.getLogger(name).level, list(logging.getLogger(name).handlers)) for name in names]
        told(["-vvvv"], capsys)
        assert [(logging.getLogger(name).level, logging.getLogger(name).handlers) for name in names] == before


class TestSecrets:
    @pytest.mark.parametrize(
        "user",
        [
            {"token": f"{SENTINEL}-token"},
            {"username": f"{SENTINEL}-user", "password": f"{SENTINEL}-word"},
        ],
        ids=["token", "password"],
    )
    @pytest.mark.parametrize("accepted", [True, False], ids=["accepted", "refused"])
    def test_never_told(
        self,
        user: dict[str, str],
        accepted: bool,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """No credential appears, at any verbosity, whether the server takes it or not; nor do its own cookies."""
        Environment(monkeypatch, tmp_path)
        headers = {"Set-Cookie": f"session={SENTINEL}", "X-Auth-Token": SENTINEL}
        answer = List("1", []) if accepted else Http(401, "no", {**headers, "WWW-Authenticate": f"Basic {SENTINEL}"})
        with ScriptedServer(default=[answer]) as server:
            path = write_config(tmp_path / "config", server.url)
            document = json.loads(path.read_text())
            document["users"][0]["user"] = user
            path.write_text(json.dumps(document))
            main(["watch", "pods", "--timeout", "1", "-vvv", "--kubeconfig", str(path)])
            assert "Authorization" in server.requests[0].headers
        written = "".join(capsys.readouterr())
        assert ">   Authorization: <masked>" in written
        assert SENTINEL not in written
        assert BASIC not in written

    @pytest.mark.parametrize(
        ("name", "value", "shown"),
        [
            (
                "Location",
                f"https://u:{SENTINEL}@h.example:8443/p/q?access_token={SENTINEL}#{SENTINEL}",
                "https://h.example:8443/p/q",
            ),
            ("Location", f"//u:{SENTINEL}@[::1]:8443/p", "//[::1]:8443/p"),
            ("Location", f"/login;jsessionid={SENTINEL}?next=/", "/login"),
            ("Location", f"https://u:{SENTINEL}/{SENTINEL}@h.example/p", "https://h.example/p"),
            ("Location", f"https://u:{SENTINEL}?{SENTINEL}@h.example/p", "https://<masked>"),
            ("Location", f"https:u:{SENTINEL}@h.example/p", "h.example/p"),
            ("Location", f"https://[{SENTINEL}/p", "https://<masked>"),
            ("Content-Location", f"/p?token={SENTINEL}", "/p"),
            (
                "Link",
                f'<https://h.example/p?t={SENTINEL}>; rel="next", </q?t={SENTINEL}>',
                '<https://h.example/p>; rel="next", </q?<masked>>',
            ),
            ("Refresh", f"0; url=https://u:{SENTINEL}@h.example/p?t={SENTINEL}", "0; url=https://h.example/p"),
            ("Refresh", f"0;url=/p?t={SENTINEL}", "0;url=/p?<masked>"),
            ("Referer", f"https://h.example/p?t={SENTINEL}", "https://h.example/p"),
            ("X-Original-URL", f"/p?t={SENTINEL}", "/p?<masked>"),
            ("X-Other", f"see https://u:{SENTINEL}@h.example", "see https://h.example"),
            ("Warning", '299 - "what? nothing #1"', '299 - "what? nothing #1"'),
        ],
    )
    @pytest.mark.parametrize("code", [200, 302])
    def test_addresses(
        self,
        code: int,
        name: str,
        value: str,
        shown: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Of addresses in headers and in the error of a redirect no password and no query is told."""
        Environment(monkeypatch, tmp_path)
        with ScriptedServer(default=[Http(code, "{}", {name: value})]) as server:
            path = write_config(tmp_path / "config", server.url)
            main(["watch", "pods", "--timeout", "1", "-vvv", "--kubeconfig", str(path)])
        written = capsys.readouterr().err
        assert f"<   {name}: {shown}\n" in written
        assert SENTINEL not in written
        if code == 302:
            place = shown if name == "Location" else "no location"
            assert f"redirects are not followed ({place})" in written

    def test_headers_of_the_caller(self, caplog: pytest.LogCaptureFixture) -> None:
        """What a caller of the library gives in headers of a telling name is masked, too; other headers are shown."""
        caplog.set_level(logging.DEBUG, "kwsync.wire")
        headers = {"X-Api-Key": SENTINEL, "Cookie": SENTINEL, "X-Request-Id": "r1"}
        with (
            ScriptedServer([Http(200, {})]) as server,
            Client(Cluster(server.url), BearerToken(SENTINEL)) as client,
        ):
            client.request("GET", "/api", headers=headers)
        assert SENTINEL not in caplog.text
        assert ">   X-Api-Key: <masked>" in caplog.text
        assert ">   X-Request-Id: r1" in caplog.text


def test_silent_unless_asked(caplog: pytest.LogCaptureFixture) -> None:
    """The library logs no request unless the logger ``kwsync.wire`` listens."""
    with ScriptedServer([Http(200, {})]) as server, Client(Cluster(server.url)) as client:
        client.request("GET", "/api")
    assert caplog.records == []


def test_failures_are_told(caplog: pytest.LogCaptureFixture) -> None:
    """A request that gets no answer is told as failed."""
    caplog.set_level(logging.DEBUG, "kwsync.wire")
    with ScriptedServer() as server:
        url = server.url
    with Client(Cluster(url)) as client, pytest.raises(Exception, match="refused"):
        client.request("GET", "/api")
    assert caplog.records[-1].getMessage().startswith("< failed after ")
