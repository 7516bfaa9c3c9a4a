"""``--timeout`` counts from the start of the command, whatever it is waiting for."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kwsync.cli import main
from kwsync.testing import Head, Http, List, NoHead, ProxyServer, Raw, Repeat, ScriptedServer, Stall
from tests.cli.support import Environment, write_config

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


def ends_in_time(*arguments: str) -> None:
    begun = time.monotonic()
    assert main([*arguments, "--timeout", str(TIMEOUT)]) == 0
    seconds = time.monotonic() - begun
    assert TIMEOUT <= seconds < TIMEOUT + GRACE


@pytest.mark.parametrize("kinds", ["pods", "widgets", "pods,configmaps,widgets"])
@pytest.mark.parametrize("phase", PHASES)
def test_every_phase(phase: str, kinds: str, servers: ExitStack, tmp_path: Path) -> None:
    """It ends in time while a connection is made or an answer awaited, of a list or of what a name means."""
    path = tmp_path / "config"
    PHASES[phase](servers, path)
    ends_in_time("watch", kinds, "--kubeconfig", str(path))


def test_discovery_of_many_requests(servers: ExitStack, tmp_path: Path) -> None:
    """Many short waits in a row count as one."""
    for command in (["watch", "widgets"], ["events", "--for", "widget/one"]):
        path = write_config(tmp_path / "config", slow_groups(servers))
        ends_in_time(*command, "--kubeconfig", str(path))


def test_stream(servers: ExitStack, tmp_path: Path) -> None:
    """It ends in time while the stream is open and silent."""
    server = servers.enter_context(ScriptedServer([List("1", [])], [Head(), Stall()]))
    path = write_config(tmp_path / "config", server.url)
    ends_in_time("watch", "pods", "--kubeconfig", str(path))
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
