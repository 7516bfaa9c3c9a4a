"""``kwsync serve`` and ``kwsync demo``, and the workload that they play."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes
import pytest

from kwsync import CancelToken, Client
from kwsync.cli._serve_command import write_kubeconfig
from kwsync.cli._stage import KINDS, Workload, play
from kwsync.testing import ApiServer
from tests.cli.support import Command, Environment, fails, first_lines, in_terminal, started


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
        """The state and a first change come within two seconds of the start, the loading of modules not counted: that
        is as fast as the machine is, and it may be busy. The best of some tries counts.
        """
        tries = (seconds_to_change(tmp_path) - seconds_to_load() for _ in range(5))
        assert any(seconds < 2 for seconds in tries)

    def test_says_what_it_is(self, tmp_path: Path) -> None:
        """The first line tells what is seen, and how to end it; then come the tables of what is there."""
        with started(tmp_path, "demo") as command:
            command.until("job.batch/report-0")
            assert command.end(signal.SIGINT) == 130
        assert re.fullmatch(
            r"An API server in memory, http://127\.0\.0\.1:\d+, and somebody at work in it\. Ctrl-C ends it\.",
            command.lines[0],
        )
        assert command.lines[1].split() == ["EVENT", "NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]

    def test_terminal(self) -> None:
        """In a terminal it has colours, and Ctrl-C ends it."""
        with in_terminal("demo") as terminal:
            terminal.until("\x1b[31mCrashLoopBackOff")
            terminal.process.send_signal(signal.SIGINT)
            assert terminal.process.wait(20) == 130


def seconds_to_change(tmp_path: Path) -> float:
    """From the start of the process to the first change."""
    begun = time.monotonic()
    with started(tmp_path, "demo") as command:
        command.until("ScalingReplicaSet")
        seconds = time.monotonic() - begun
        assert command.end(signal.SIGINT) == 130
    assert command.errors == ""
    return seconds


def seconds_to_load() -> float:
    """What Python takes for the demo's modules."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", "import kwsync.cli._main, kwsync.testing"], timeout=30, check=True)
    return time.monotonic() - begun


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


def wait_until_served(command: Command) -> None:
    """The kubeconfig is written. The test's own limit bounds the wait."""
    while "kwsync: serving" not in command.errors:
        assert command.process.poll() is None, command.errors


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
                wait_until_served(command)
                for kind in KINDS:
                    seen += first_lines(monkeypatch, 1, "watch", kind, "--kubeconfig", str(path), "-o", "name")
                assert command.end(signal.SIGINT) == 130
                assert f"try: kwsync watch pods --kubeconfig {path}" in command.errors
        assert "deployment.apps/shop" in seen

    def test_outside_client(self, tmp_path: Path) -> None:
        """With --demo another client than kwsync sees the workload, and its changes as they happen."""
        path = tmp_path / "served.json"
        with started(tmp_path, "serve", "--kubeconfig", str(path), "--demo") as command:
            wait_until_served(command)
            official: Any = kubernetes
            api = official.client.CoreV1Api(official.config.new_client_from_config(str(path)))
            with contextlib.closing(api.api_client):
                names = {item.metadata.name.split("-")[0] for item in api.list_namespaced_pod("default").items}
                watching = official.watch.Watch().stream(api.list_namespaced_event, "default", timeout_seconds=20)
                reasons = (event["object"].reason for event in watching)
                assert names >= {"shop", "mailer"}
                assert "ScalingReplicaSet" in reasons
                assert "BackOff" in reasons
            assert command.end(signal.SIGINT) == 130

    @pytest.mark.parametrize("content", ["", '{"clusters": [{"name": "kwsync"}]}'], ids=["empty", "own"])
    def test_overwrites(self, content: str, tmp_path: Path) -> None:
        """An empty file, as mktemp makes one, and an older kubeconfig of its own may be lost."""
        path = tmp_path / "config"
        path.write_text(content)
        write_kubeconfig(str(path), "{}")
        assert path.read_text() == "{}\n"

    def test_for_its_owner(self, tmp_path: Path) -> None:
        """A new kubeconfig can be read by its owner alone."""
        path = tmp_path / "config"
        write_kubeconfig(str(path), "{}")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """~/ is the home folder here as where kubeconfigs are read, and the advice can be pasted, whatever the name."""
        (tmp_path / "a b").mkdir()
        with started(tmp_path, "serve", "--kubeconfig", "~/a b/config") as command:
            wait_until_served(command)
            assert command.end(signal.SIGINT) == 130
        assert (tmp_path / "a b" / "config").is_file()
        assert f"--kubeconfig '{tmp_path}/a b/config'\n" in command.errors

    @pytest.mark.parametrize("name", ["folder", "null", "full", "pipe", "dangling", ""])
    def test_odd_files(self, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What is no file to write to is told, and not waited for."""
        path = {"null": Path("/dev/null"), "full": Path("/dev/full")}.get(name, tmp_path / name if name else "")
        if name == "folder":
            (tmp_path / name).mkdir()
        elif name == "pipe":
            os.mkfifo(path)
        elif name == "dangling":
            (tmp_path / name).symlink_to("nowhere/at/all")
        elif name == "full" and not os.path.exists(path):
            pytest.skip("this system has no /dev/full")
        code, told = fails(capsys, "serve", "--kubeconfig", str(path))
        assert code == (1 if name in ("folder", "dangling") else 2)
        assert "name another file" in told or "name a file" in told

    def test_keeps_other_files(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """It does not overwrite a kubeconfig, or anything else, that is not its own."""
        contents = (
            *(b"apiVersion: v1\n", b'{"clusters": [{"name": "prod"}]}', b"[]", b"null", b"\n", b"\xff\xfe\0"),
            *(b'{"clusters": 5}', b'{"clusters": [5]}', b'{"clusters": [{}]}', b"[" * 200_000),
            b'{"clusters": [{"name": "kwsync"}, {"name": "prod"}]}',
        )
        for content in contents:
            path = tmp_path / "config"
            path.write_bytes(content)
            code, told = fails(capsys, "serve", "--kubeconfig", str(path))
            assert code == 2
            assert told == f"{path} is there already, and none of kwsync serve: name another file, or delete it"
            assert path.read_bytes() == content

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
