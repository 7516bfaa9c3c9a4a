"""``--timeout`` counts from the start of the command, whatever it is waiting for, and whoever."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kwsync.cli import main
from kwsync.testing import ApiServer, Head, Http, List, NoHead, ProxyServer, Raw, Repeat, ScriptedServer, Stall, status
from tests.cli.support import LIMIT, Environment, config_map, create_all, started, write_config

TIMEOUT = 0.4
GRACE = 2.0  # seconds; a phase with limits of its own takes ten or more

GROUPS = {"kind": "APIGroupList", "groups": [{"name": f"g{n}", "versions": [{"version": "v1"}]} for n in range(100)]}
"""Discovery of an old server, which takes a request for each group."""


@pytest.fixture(autouse=True)
def nothing_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    return Environment(monkeypatch, tmp_path)


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def deaf(servers: ExitStack) -> str:
    """An address where connections are not refused and never made: the queue of the listener is full."""
    listener = servers.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
    for _ in range(3):
        waiting = servers.enter_context(socket.socket())
        waiting.setblocking(False)
        waiting.connect_ex(listener.getsockname())
    return "127.0.0.1:{1}".format(*listener.getsockname())


def mute(servers: ExitStack) -> str:
    """An address where connections are made, and then nothing comes."""
    return "127.0.0.1:{1}".format(*servers.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname())


def scripted(servers: ExitStack, *default: object) -> str:
    server = ScriptedServer(default=list(default))  # type: ignore[arg-type]
    return servers.enter_context(server).url


def slow_groups(servers: ExitStack) -> str:
    server = ScriptedServer(
        [Http(200, {"kind": "APIVersions", "versions": []})],
        [Http(200, GROUPS)],
        default=[Stall(0.1), Http(200, {"kind": "APIResourceList", "resources": []})],
    )
    return servers.enter_context(server).url


def proxied(servers: ExitStack, path: Path) -> None:
    proxy = servers.enter_context(ProxyServer(stall=True))
    write_config(path, "https://kube.invalid:6443", **{"proxy-url": proxy.url})


PHASES: dict[str, Callable[[ExitStack, Path], object]] = {
    "connect": lambda servers, path: write_config(path, f"http://{deaf(servers)}"),
    "TLS": lambda servers, path: write_config(path, f"https://{mute(servers)}"),
    "proxy": proxied,
    "headers": lambda servers, path: write_config(path, scripted(servers, NoHead())),
    "body": lambda servers, path: write_config(path, scripted(servers, Head(), Stall())),
    "trickle": lambda servers, path: write_config(
        path, scripted(servers, Head(), Repeat([Raw(b" "), Stall(0.05)], 1000))
    ),
}


def ends_in_time(*arguments: str, code: int = 4) -> None:
    begun = time.monotonic()
    assert main([*arguments, "--timeout", str(TIMEOUT)]) == code
    seconds = time.monotonic() - begun
    assert TIMEOUT <= seconds < TIMEOUT + GRACE


@pytest.mark.parametrize("kinds", ["pods", "widgets", "pods,configmaps,widgets"])
@pytest.mark.parametrize("phase", PHASES)
def test_every_phase(
    phase: str, kinds: str, servers: ExitStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends in time while a connection is made or an answer awaited, of a list or of what a name means; and with one
    sentence and a code of its own, for whoever takes no output for no objects.
    """
    path = tmp_path / "config"
    PHASES[phase](servers, path)
    ends_in_time("watch", kinds, "--kubeconfig", str(path))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("kwsync: http")
    assert told.err.endswith(": check server, network and proxy, or give it more time\n")
    assert told.err.count("\n") == 1


@pytest.mark.parametrize("command", [["watch", "pods"], ["watch", "pods,cm"], ["events"]], ids=" ".join)
@pytest.mark.parametrize("code", [429, 500, 503])
def test_only_trouble(
    code: int, command: list[str], servers: ExitStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same where the server answers, but never with what there is."""
    url = scripted(servers, Http(code, status(code)))
    ends_in_time(*command, "--kubeconfig", str(write_config(tmp_path / "config", url)))
    told = capsys.readouterr()
    names = {"pods": "pods", "pods,cm": "pods, configmaps"}.get(command[-1], "events")
    assert told.err.splitlines()[-1].startswith(f"kwsync: {url} has not told of {names} before --timeout was over: ")
    assert told.out == ""


def test_discovery_of_many_requests(servers: ExitStack, tmp_path: Path) -> None:
    """Many short waits in a row count as one."""
    for command in (["watch", "widgets"], ["events", "--for", "widget/one"]):
        path = write_config(tmp_path / "config", slow_groups(servers))
        ends_in_time(*command, "--kubeconfig", str(path))


def test_stream(servers: ExitStack, tmp_path: Path) -> None:
    """It ends in time while the stream is open and silent."""
    server = servers.enter_context(ScriptedServer([List("1", [])], [Head(), Stall()]))
    path = write_config(tmp_path / "config", server.url)
    ends_in_time("watch", "pods", "--kubeconfig", str(path), code=0)
    assert len(server.requests) == 2


def test_other_deadlines_are_errors(
    servers: ExitStack, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is not explained in time is an error, where the time that was given is not over."""
    monkeypatch.setattr("kwsync.cli._options.DISCOVERY_SECONDS", 0.1)
    url = scripted(servers, NoHead())
    path = write_config(tmp_path / "config", url)
    for limit in ([], ["--timeout", "30"]):
        assert main(["watch", "widgets", "--kubeconfig", str(path), *limit]) == 4
        assert capsys.readouterr().err.startswith(f"kwsync: {url} does not answer: ")


@pytest.fixture
def large(tmp_path: Path, servers: ExitStack, nothing_configured: Environment) -> ApiServer:
    """A server with an object that no pipe takes as a whole."""
    server = servers.enter_context(ApiServer())
    create_all(server, config_map("large", text="x" * 900_000))
    path = tmp_path / "config"
    path.write_text(json.dumps(server.kubeconfig()))
    nothing_configured.use(path)
    return server


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_reader_who_does_not_read(kind: str, servers: ExitStack) -> None:
    """It ends, not much later, while a reader is there and reads nothing; and says that something is missing."""
    if kind == "pipe":
        ours, theirs = os.pipe()
    else:
        ours, theirs = (one.detach() for one in socket.socketpair())
    servers.callback(os.close, ours)
    command = [sys.executable, "-m", "kwsync", "watch", "cm", "-o", "json", "--timeout", "2"]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, text=True) as process:
        os.close(theirs)
        _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    assert errors == "kwsync: the time was over while nobody read standard output: its end is missing\n"


@pytest.mark.usefixtures("large")
def test_interrupt_while_a_reader_does_not_read(tmp_path: Path) -> None:
    """Ctrl-C ends it, too."""
    with started(tmp_path, "watch", "cm", "-o", "json") as command:
        assert command.process.stdout is not None
        assert command.process.stdout.buffer.peek(1)  # type: ignore[attr-defined]
        assert command.end(signal.SIGINT) == 130


@pytest.mark.usefixtures("large")
def test_a_slow_reader_gets_everything(tmp_path: Path) -> None:
    """What is longer than a pipe comes whole to a reader who reads."""
    with started(tmp_path, "watch", "cm", "-o", "json", "--timeout", "5") as command:
        command.until("large")
        assert command.end(None) == 0
    assert json.loads(command.lines[0])["object"]["data"]["text"] == "x" * 900_000
    assert command.errors == ""
