"""``kwsync serve`` and ``kwsync demo``, and the workload that they play."""

from __future__ import annotations

import itertools
import json
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwsync import CancelToken, Client
from kwsync.cli._stage import KINDS, Workload, play
from kwsync.testing import ApiServer
from tests.cli.support import Environment, fails, first_lines, in_terminal, started


@pytest.fixture(autouse=True)
def nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    return Environment(monkeypatch, tmp_path)


class TestDemo:
    def test_ends_by_itself(self, tmp_path: Path) -> None:
        """It needs no configuration, shows every kind and events within its seconds, and ends with exit code 0."""
        with started(tmp_path, "demo", "--seconds", "4") as command:
            assert command.end(None) == 0
        assert command.errors == ""
        shown = "\n".join(command.lines)
        for part in ("deployment.apps/shop", "pod/mailer", "job.batch/report-0", "backup.example.com/nightly-1"):
            assert part in shown
        assert "CrashLoopBackOff" in shown
        assert re.search(r"^Warning    pod/mailer-\w+ +BackOff   Back-off restarting", shown, re.MULTILINE)
        assert re.search(r"^DELETED    pod/shop-", shown, re.MULTILINE)

    def test_something_to_see_at_once(self, tmp_path: Path) -> None:
        """The first change comes within two seconds, the start of Python included."""
        begun = time.monotonic()
        with started(tmp_path, "demo") as command:
            command.until("ScalingReplicaSet")
            seconds = time.monotonic() - begun
            assert command.end(signal.SIGINT) == 130
        assert command.errors == ""
        print(f"first change after {seconds:.2f} s")
        assert seconds < 10  # two on a machine that does nothing else

    def test_terminal(self) -> None:
        """In a terminal it has colours, and Ctrl-C ends it."""
        with in_terminal("demo") as terminal:
            terminal.until("\x1b[31mCrashLoopBackOff")
            terminal.process.send_signal(signal.SIGINT)
            assert terminal.process.wait(20) == 130


class TestWorkload:
    @pytest.fixture
    def played(self) -> Iterator[tuple[ApiServer, list[Iterator[float]]]]:
        with ApiServer() as server:
            workload = Workload(server)
            workload.prepare()
            yield server, workload.stories()

    def test_each_story_goes_on(self, played: tuple[ApiServer, list[Iterator[float]]]) -> None:
        """Every story can be told for long, and none fills the server."""
        server, stories = played
        for story in stories:
            waits = list(itertools.islice(story, 60))
            assert len(waits) == 60
            assert all(0 < wait < 10 for wait in waits)
        assert len(server.list("pods")) < 10
        assert len(server.list("deployments")) == 1

    def test_deployment_keeps_its_pods(self, played: tuple[ApiServer, list[Iterator[float]]]) -> None:
        """During the rollout there is always one pod more or as many as wanted, and at its end all are new."""
        server, (rollout, *_) = played
        before = {pod["metadata"]["name"] for pod in shops(server)}
        for _ in itertools.takewhile(lambda wait: wait < 5, rollout):
            assert 3 <= len(shops(server)) <= 4
        assert len(shops(server)) == 3
        assert not before & {pod["metadata"]["name"] for pod in shops(server)}
        assert {pod["spec"]["containers"][0]["image"] for pod in shops(server)} == {"shop:2"}

    def test_plays_until_it_is_stopped(self) -> None:
        """Stories are told side by side in the order of their times, until the token is set or all have ended."""
        told: list[str] = []
        cancel = CancelToken()

        def story(name: str, *waits: float) -> Iterator[float]:
            for wait in waits:
                told.append(name)
                yield wait

        play([story("a", 0.0, 0.03, 0.0), story("b", 0.01, 0.0)], cancel)
        assert told == ["a", "a", "b", "b", "a"]
        cancel.set()
        play([story("c", 1.0)], cancel)
        assert "c" not in told


def shops(server: ApiServer) -> list[dict[str, Any]]:
    return server.list("pods", label_selector="app=shop")


class TestServe:
    def test_standard_output(self, tmp_path: Path) -> None:
        """It writes a kubeconfig with which kwsync, and any client, can talk to it."""
        with started(tmp_path, "serve") as command:
            while command.lines[-1:] != ["}"]:
                command.until("}")
            path = tmp_path / "config"
            path.write_text("\n".join(command.lines))
            with Client.from_kubeconfig(path) as client:
                assert {item["metadata"]["name"] for item in client.list("namespaces")} >= {"default", "kube-system"}
            assert command.end(signal.SIGINT) == 130
        assert command.errors == f"kwsync: serving {json.loads(path.read_text())['clusters'][0]['cluster']['server']}\n"

    def test_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It writes the kubeconfig to a file, also over its own, and `kwsync watch` finds the workload there."""
        path, seen = tmp_path / "served.json", list[str]()
        for _ in range(2):
            with started(tmp_path, "serve", "--kubeconfig", str(path), "--demo") as command:
                while "kwsync: serving" not in command.errors:
                    assert command.process.poll() is None
                for kind in KINDS:
                    seen += first_lines(monkeypatch, 1, "watch", kind, "--kubeconfig", str(path), "-o", "name")
                assert command.end(signal.SIGINT) == 130
                assert f"try: kwsync watch pods --kubeconfig {path}" in command.errors
        assert "deployment.apps/shop" in seen

    def test_keeps_other_files(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """It does not overwrite a kubeconfig, or anything else, that is not its own."""
        for content in ("apiVersion: v1\n", '{"clusters": [{"name": "prod"}]}', "[]"):
            path = tmp_path / "config"
            path.write_text(content)
            code, told = fails(capsys, "serve", "--kubeconfig", str(path))
            assert code == 2
            assert told == f"{path} is there already, and none of kwsync serve: name another file, or delete it"
            assert path.read_text() == content

    def test_unwritable(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A file that cannot be written is told with its reason."""
        code, told = fails(capsys, "serve", "--kubeconfig", str(tmp_path / "no" / "config"))
        assert code == 1
        assert told.endswith("cannot be written: No such file or directory: name another file")

    def test_port_in_use(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A port that another has is told with what to do."""
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            code, told = fails(capsys, "serve", "--port", str(port))
        assert code == 1
        assert told == f"port {port} cannot be used: Address already in use: choose another --port"
