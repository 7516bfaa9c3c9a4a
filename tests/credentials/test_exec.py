"""Exec plugins: B179 to B184 and B186 of the conformance list, each in a class of its number."""

from __future__ import annotations

import gc
import json
import os
import pty
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kwsync import CancelToken, Cluster
from kwsync._cancel import Guard, Interrupted, cancelled_by
from kwsync.credentials import AuthContext, Credential, CredentialError, ExecPlugin
from kwsync.credentials._exec import _plugin
from tests.cancel.support import in_child
from tests.client.support import Running, wait_until
from tests.credentials.plugins import (
    LIMIT,
    SECRET,
    V1,
    V1BETA1,
    Program,
    answer,
    context_of,
    moment,
    proof_of,
    token_of,
)
from tests.credentials.test_exec_answer import PAIR

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the programs here are written in sh")

CLUSTER = Cluster("https://example.test")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A program that gives the token token-1."""
    return Program(tmp_path / "bin")


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """No process is left, not even as a zombie; and nothing is shared any more when nobody has it."""
    before = set(psutil.Process().children())  # a real server, maybe
    yield
    wait_until(lambda: set(psutil.Process().children()) <= before, "the programs to end")
    gc.collect()
    wait_until(lambda: not _plugin._shared, "the plugins to be forgotten")


def failed(plugin: Credential, cluster: Cluster | None = None) -> str:
    """The error of a request, in one line, which shows no secret; nor does what lies below it."""
    with pytest.raises(CredentialError) as caught:
        proof_of(plugin, cluster)
    below: BaseException | None = caught.value
    while below is not None:
        assert SECRET not in f"{below!r}"
        below = below.__cause__ or below.__context__
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestB179Version:
    @pytest.mark.parametrize("version", [V1, V1BETA1])
    def test_known(self, program: Program, version: str) -> None:
        """Two versions are spoken."""
        program.writes(json.dumps(answer(version, token="one")))
        assert token_of(program.plugin(api_version=version)) == "one"

    @pytest.mark.parametrize("version", ["client.authentication.k8s.io/v1alpha1", "v1", "", "other/v1"])
    def test_others(self, version: str) -> None:
        """Any other is refused before anything runs; v1alpha1 is gone from Kubernetes since 1.24."""
        with pytest.raises(ValueError, match=r"apiVersion .* is none of client.authentication.k8s.io/v1, "):
            ExecPlugin("x", api_version=version)

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            ({"command": ""}, ValueError),
            ({"command": 5}, TypeError),
            ({"args": "one"}, TypeError),
            ({"args": [1]}, TypeError),
            ({"env": ["a=b"]}, TypeError),
            ({"env": {"a": 1}}, TypeError),
            ({"interactive_mode": "Sometimes"}, ValueError),
            ({"cluster_config": {1, 2}}, ValueError),
            ({"env": {"a": b"1"}}, TypeError),
            ({"timeout": 0}, ValueError),
            ({"timeout": float("nan")}, ValueError),
            ({"timeout": "5"}, TypeError),
            ({"interval": -1.0}, ValueError),
        ],
        ids=repr,
    )
    def test_arguments(self, arguments: dict[str, Any], error: type[Exception]) -> None:
        """Arguments that make no sense are refused at once."""
        with pytest.raises(error):
            ExecPlugin(**{"command": "x", **arguments})

    def test_keywords_only(self) -> None:
        """Only the command has a place: everything else is given by its name."""
        with pytest.raises(TypeError, match="positional argument"):
            ExecPlugin("x", ["a"])  # type: ignore[call-arg]


class TestB180Environment:
    @pytest.fixture
    def environment(self, program: Program, tmp_path: Path) -> Callable[..., dict[str, str]]:
        """What the program has in its environment when it runs as this plugin, for this cluster."""
        told = tmp_path / "told"
        Program(tmp_path / "bin", before=f'env -0 > "{told}"')

        def run(cluster: Cluster | None = None, **options: Any) -> dict[str, str]:
            token_of(program.plugin(**options), cluster)
            return dict(line.split("=", 1) for line in told.read_text().split("\0") if "=" in line)

        return run

    def test_variables(self, environment: Callable[..., dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
        """The process's own, then the configured ones, then KUBERNETES_EXEC_INFO."""
        monkeypatch.setenv("OURS", "1")
        monkeypatch.setenv("BOTH", "1")
        found = environment(env={"BOTH": "2", "THEIRS": "a b\n$c", "KUBERNETES_EXEC_INFO": "no"})
        assert (found["OURS"], found["BOTH"], found["THEIRS"]) == ("1", "2", "a b\n$c")
        assert found["PATH"] == os.environ["PATH"]
        expected = {"kind": "ExecCredential", "apiVersion": V1, "spec": {"interactive": False}}
        assert json.loads(found["KUBERNETES_EXEC_INFO"]) == expected

    def test_cluster(self, environment: Callable[..., dict[str, str]], tmp_path: Path) -> None:
        """The cluster is told when it is asked for, with its authority as data, read at each run."""
        cluster = Cluster(CLUSTER.server, ca_file=tmp_path / "ca.pem", ca_data="other")
        (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----")
        found = environment(cluster, provide_cluster_info=True, cluster_config={"a": [1]})
        assert json.loads(found["KUBERNETES_EXEC_INFO"])["spec"]["cluster"] == {
            "server": CLUSTER.server,
            "certificate-authority-data": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t",
            "config": {"a": [1]},
        }

    def test_no_authority(self, program: Program, tmp_path: Path) -> None:
        """An authority that cannot be read is an error, and the program is not run."""
        cluster = Cluster(CLUSTER.server, ca_file=tmp_path / "nowhere")
        assert "nowhere cannot be read" in failed(program.plugin(provide_cluster_info=True), cluster)
        assert program.runs == 0

    def test_too_much(self, program: Program) -> None:
        """What no program can be told is an error."""
        assert "cannot be run" in failed(program.plugin(args=["x" * 10_000_000]))
        assert "no program can be told" in failed(program.plugin(args=[f"{SECRET}\0"]))
        assert "no program can be told" in failed(program.plugin(env={SECRET: "\0"}))


class TestB181Running:
    def test_bad_answer(self, program: Program) -> None:
        """A bad answer is an error with the plugin's name that shows nothing of it."""
        program.writes(SECRET)
        assert failed(program.plugin()) == (
            f"the exec plugin '{program.path}' wrote something else than a JSON object to standard output"
        )

    def test_exit_code(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        """So is an exit code, whatever was written; what stands on standard error reaches ours."""
        program = Program(tmp_path, before="echo log in first >&2", code=3)
        program.gives(token=SECRET)
        words = "ended with exit code 3; what it has to say is on standard error"
        assert failed(program.plugin()) == f"the exec plugin '{program.path}' {words}"
        assert capfd.readouterr().err == "log in first\n"

    def test_signal(self, tmp_path: Path) -> None:
        """So is a signal."""
        assert "was ended by signal 15" in failed(Program(tmp_path, before="kill $$").plugin())

    def test_timeout(self, tmp_path: Path) -> None:
        """So is too much time."""
        program = Program(tmp_path, before="sleep 60")
        assert "gave no credential in time" in failed(program.plugin(timeout=0.2))

    def test_no_program(self, tmp_path: Path) -> None:
        """So is a file that the system cannot start."""
        (tmp_path / "plugin").write_text("#!/nowhere/sh\n")
        (tmp_path / "plugin").chmod(0o755)
        assert "cannot be run: No such file or directory: get one" in failed(
            ExecPlugin(str(tmp_path / "plugin"), install_hint="get one")
        )

    def test_after_failure(self, program: Program) -> None:
        """After a failure the next one may be good."""
        plugin = program.plugin()
        program.writes("")
        failed(plugin)
        program.gives(token="two")
        assert token_of(plugin) == "two"

    def test_secrets(self, program: Program, caplog: pytest.LogCaptureFixture) -> None:
        """Arguments, variables, the cluster's part and the answer show nowhere."""
        program.gives(token=SECRET)
        options: dict[str, Any] = {"args": [SECRET], "env": {SECRET: SECRET}, "cluster_config": SECRET}
        plugin = program.plugin(**options)
        assert token_of(plugin) == SECRET
        program.writes(SECRET)
        plugin.refresh(proof_of(plugin))
        failed(plugin)
        wait_until(lambda: caplog.messages, "the log")
        assert SECRET not in f"{plugin!r} {plugin.describe()!r} {caplog.text} {plugin._settings!r} {plugin._used!r}"
        assert repr(plugin) == f"ExecPlugin('{program.path}')"


def in_terminal(work: Callable[[], str], typed: bytes = b"") -> str:
    """What a function returns in a child process whose standard input, output and error are a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        try:
            os.write(1, f"<{work()}>".encode())
        finally:
            os._exit(0)
    written = b""
    timer = threading.Timer(LIMIT, os.kill, (child, 9))
    timer.start()
    try:
        os.write(terminal, typed)
        while not written.endswith(b">"):
            written += os.read(terminal, 1000)
    finally:
        os.waitpid(child, 0)
        timer.cancel()
        timer.join()
        os.close(terminal)
    return written.decode().rpartition("<")[2].rstrip(">")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork beside threads
class TestB181Interactive:
    @pytest.fixture
    def asking(self, tmp_path: Path) -> Program:
        """A program that reads a line, and gives that as its token."""
        line = '{"kind":"ExecCredential","apiVersion":"%s","status":{"token":"%s"}}'
        return Program(
            tmp_path, before=f"read line; printf '{line}' {V1} \"got-$line-$KUBERNETES_EXEC_INFO_X\"; exit 0"
        )

    @pytest.mark.parametrize("mode", ["IfAvailable", "Always"])
    def test_with_terminal(self, asking: Program, mode: str) -> None:
        """With a terminal both modes give it standard input."""
        plugin = asking.plugin(interactive_mode=mode)
        assert in_terminal(lambda: token_of(plugin), b"this\n") == "got-this-"

    def test_no_time_limit(self, asking: Program) -> None:
        """There is no time limit then: somebody may have to log in."""
        plugin = asking.plugin(interactive_mode="Always", timeout=0.01)
        asking.path.write_text(asking.path.read_text().replace("read line", "sleep 0.1; read line"))
        assert in_terminal(lambda: token_of(plugin), b"this\n") == "got-this-"

    def test_never(self, asking: Program) -> None:
        """Never gives it none."""
        plugin = asking.plugin(interactive_mode="Never")
        assert in_terminal(lambda: token_of(plugin), b"this\n") == "got--"

    def test_told(self, tmp_path: Path) -> None:
        """It is told whether there is one."""
        program = Program(tmp_path, before=f'printf %s "$KUBERNETES_EXEC_INFO" > {tmp_path}/told')
        for mode, expected in (("IfAvailable", True), ("Never", False)):
            plugin = program.plugin(interactive_mode=mode)
            in_terminal(lambda plugin=plugin: token_of(plugin))  # type: ignore[misc]
            assert json.loads((tmp_path / "told").read_text())["spec"] == {"interactive": expected}

    def test_without_terminal(self, asking: Program) -> None:
        """Without a terminal Always is an error before it is run, and IfAvailable does without."""
        assert "needs a terminal" in failed(asking.plugin(interactive_mode="Always"))
        assert asking.runs == 0
        assert token_of(asking.plugin(interactive_mode="IfAvailable")) == "got--"

    def test_in_the_background(self, program: Program, tmp_path: Path) -> None:
        """A process in the background of its terminal has none: it would be stopped when it reads."""
        said = tmp_path / "said"

        def work() -> str:
            if os.fork() == 0:
                os.setpgid(0, 0)
                said.write_text(failed(program.plugin(interactive_mode="Always")))
                os._exit(0)
            os.wait()
            return said.read_text()

        assert "needs a terminal" in in_terminal(work)
        assert program.runs == 0


class TestB182Cache:
    def test_until_refused(self, program: Program) -> None:
        """Without an expiry it runs once, until a 401."""
        plugin = program.plugin()
        assert [token_of(plugin) for _ in range(3)] == ["token-1"] * 3
        assert program.runs == 1

    @pytest.mark.parametrize(("lasts", "runs"), [(3600, 1), (12, 1), (8, 2), (-5, 2)])
    def test_until_expiry(self, program: Program, lasts: float, runs: int) -> None:
        """With one it runs again from ten seconds before it on: clocks differ (client-go: exactly then)."""
        program.gives(token="token-1", expirationTimestamp=moment(lasts))
        plugin = program.plugin()
        assert [token_of(plugin) for _ in range(2)] == ["token-1"] * 2
        assert program.runs == runs

    def test_interval(self, program: Program) -> None:
        """But not more often than every ten seconds, whatever it gives: a plugin may open a browser."""
        program.gives(token="token-1", expirationTimestamp=moment(-5))
        plugin = program.plugin(interval=10.0)
        assert [token_of(plugin) for _ in range(5)] == ["token-1"] * 5
        assert program.runs == 1

    def test_description(self, program: Program) -> None:
        """People are told the command and the expiry; nothing is run for that."""
        plugin = program.plugin()
        assert plugin.describe().source == str(program.path)
        assert program.runs == 0
        program.gives(token="token-1", expirationTimestamp="2100-01-01T00:00:00Z")
        token_of(plugin)
        assert (plugin.describe().kind, plugin.describe().expires_at) == ("exec plugin", 4102444800.0)


class TestB183Refused:
    def test_again(self, program: Program) -> None:
        """After a 401 it runs again, unless it has run since."""
        plugin = program.plugin()
        first = proof_of(plugin)
        program.gives(token="token-2")
        assert plugin.refresh(first) is True
        assert token_of(plugin) == "token-2"
        assert plugin.refresh(first) is True
        assert token_of(plugin) == "token-2"
        assert program.runs == 2

    def test_certificate(self, program: Program) -> None:
        """A certificate alone is known again as well."""
        program.gives(**PAIR)
        plugin = program.plugin()
        first = proof_of(plugin)
        program.gives(token="two")
        assert plugin.refresh(first) is True
        assert token_of(plugin) == "two"

    def test_a_moment_ago(self, program: Program) -> None:
        """Within the interval it does not run again."""
        plugin = program.plugin(interval=10.0)
        assert plugin.refresh(proof_of(plugin)) is False
        assert program.runs == 1

    def test_of_another_cluster(self, program: Program) -> None:
        """What one cluster refuses stays good for another, when the plugin is told which it is for."""
        plugin = program.plugin(provide_cluster_info=True, interval=10.0)
        one, other = (Cluster(f"https://{name}.test") for name in ("one", "other"))
        first = proof_of(plugin, one)
        program.gives(token="token-2")
        assert token_of(plugin, other) == "token-2"
        assert plugin.refresh(first) is False
        assert [token_of(plugin, one), token_of(plugin, other), program.runs] == ["token-1", "token-2", 2]


class TestB184OneRun:
    def test_threads(self, tmp_path: Path) -> None:
        """Twenty threads, each with a plugin of its own out of the same settings: one run."""
        program = Program(tmp_path, before=f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done")
        plugins = [program.plugin(args=["a"], env={"b": "c"}) for _ in range(20)]
        runs = [Running(lambda plugin=plugin: token_of(plugin)) for plugin in plugins]  # type: ignore[misc]
        (cached,) = _plugin._shared.values()
        wait_until(lambda: len(cached._gates) == 20, "all of them to wait")
        (tmp_path / "go").touch()
        assert [running.result() for running in runs] == ["token-1"] * 20
        assert program.runs == 1

    def test_clusters(self, program: Program) -> None:
        """One that is not told its cluster runs once for all of them; else once for each."""
        clusters = [Cluster(f"https://{name}.test") for name in ("one", "other")]
        plugin = program.plugin()
        assert [token_of(plugin, cluster) for cluster in clusters * 2] == ["token-1"] * 4
        assert program.runs == 1
        plugin = program.plugin(provide_cluster_info=True)
        assert [token_of(plugin, cluster) for cluster in clusters * 2] == ["token-1"] * 4
        assert program.runs == 3

    @pytest.mark.parametrize(
        "other",
        [{"args": ["a"]}, {"env": {"a": "b"}}, {"interactive_mode": "Never"}, {"timeout": None}, {"interval": 1.0}],
        ids=repr,
    )
    def test_others(self, program: Program, other: dict[str, Any]) -> None:
        """Other settings are another plugin."""
        one, another = program.plugin(), program.plugin(**other)
        assert [token_of(one), token_of(another), program.runs] == ["token-1", "token-1", 2]

    def test_forgotten(self, program: Program) -> None:
        """What nobody has any more is forgotten: the next begins anew."""
        token_of(program.plugin())
        wait_until(lambda: not _plugin._shared, "the first to be forgotten")
        token_of(program.plugin())
        assert program.runs == 2

    @pytest.mark.parametrize("make", [CancelToken, threading.Event])
    def test_cancel(self, tmp_path: Path, make: Callable[[], threading.Event]) -> None:
        """Who waits for one that hangs is cancelled at once; it runs on, for the next who asks."""
        program = Program(tmp_path, before=f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done")
        plugin, cancel = program.plugin(), make()

        def wait() -> str:
            guard = Guard()
            with cancelled_by(guard, cancel):
                return plugin.authorize(AuthContext(CLUSTER, guard.remaining, guard)).headers["Authorization"]

        waiting = Running(wait)
        program.wait_for_runs(1)
        start = time.monotonic()
        cancel.set()
        assert isinstance(waiting.error(), Interrupted)
        assert time.monotonic() - start < 0.3
        (tmp_path / "go").touch()
        assert token_of(plugin) == "token-1"
        assert program.runs == 1

    def test_fork(self, tmp_path: Path) -> None:
        """A child that is forked while it runs runs it for itself, and the parent's goes on."""
        program = Program(tmp_path, before=f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done")
        plugin = program.plugin()
        waiting = Running(lambda: token_of(plugin))
        program.wait_for_runs(1)
        child = Running(lambda: in_child(lambda: token_of(plugin)))
        program.wait_for_runs(2)
        (tmp_path / "go").touch()
        assert (child.result(), waiting.result()) == ("token-1", "token-1")

    def test_fork_after(self, program: Program) -> None:
        """One that is forked later has the same token without a run."""
        plugin = program.plugin()
        token_of(plugin)
        assert in_child(lambda: token_of(plugin)) == "token-1"
        assert program.runs == 1

    def test_nothing_leaks(self, program: Program) -> None:
        """A hundred runs, half of them bad, leave no descriptor, no process and no thread."""
        plugin, us = program.plugin(), psutil.Process()
        proof_of(plugin)
        before, children = us.num_fds(), us.children()
        for number in range(50):
            if number % 2:
                program.gives(token=f"token-{number}")
                assert plugin.refresh(proof_of(plugin)) is True
                assert token_of(plugin) == f"token-{number}"
            else:
                other = program.plugin(args=[str(number)])
                program.writes("")
                failed(other)
        assert us.num_fds() <= before
        assert us.children() == children


class TestB186Command:
    def test_in_path(self, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
        """A name is searched in PATH."""
        monkeypatch.setenv("PATH", f"/nowhere:{program.path.parent}:{os.environ['PATH']}")
        assert token_of(ExecPlugin(program.path.name)) == "token-1"

    def test_not_beside(self, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
        """And nowhere else."""
        monkeypatch.chdir(program.path.parent)
        assert "is not there" in failed(ExecPlugin(program.path.name))

    def test_path(self, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
        """A path is one; a relative one begins at the working directory here (in a kubeconfig at its folder)."""
        monkeypatch.chdir(program.path.parent)
        assert token_of(ExecPlugin(f"./{program.path.name}")) == "token-1"

    @pytest.mark.parametrize("hint", [None, "", "get it\n\n  from example.test\n"])
    def test_missing(self, hint: str | None) -> None:
        """A program that is missing is an error with the hint how to get it, on one line."""
        expected = "the exec plugin 'no-such-plugin' is not there, or no program"
        advice = ": get it from example.test" if hint else ""
        assert failed(ExecPlugin("no-such-plugin", install_hint=hint)) == expected + advice

    def test_no_program(self, tmp_path: Path) -> None:
        """So is a file that may not be run."""
        (tmp_path / "plugin").touch()
        assert "is not there, or no program" in failed(ExecPlugin(str(tmp_path / "plugin")))

    def test_later(self, tmp_path: Path) -> None:
        """One that is installed meanwhile is found."""
        plugin = ExecPlugin(str(tmp_path / "plugin"), interval=0.0)
        failed(plugin)
        Program(tmp_path)
        assert token_of(plugin) == "token-1"


def test_import() -> None:
    """Nobody who has no plugin pays for it: the room is not loaded by the package, nor is subprocess for it."""
    text = (
        "import sys, attrs, urllib3; before = set(sys.modules); import kwsync; print(*sorted({*sys.modules} - before))"
    )
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=30, check=True)
    loaded = found.stdout.split()
    assert "kwsync.credentials" in loaded
    assert [name for name in loaded if name == "subprocess" or "credentials._exec" in name] == []


def test_context_without_guard(program: Program) -> None:
    """A context that a user has made by hand is enough."""
    context = AuthContext(CLUSTER, lambda: None)
    assert program.plugin().authorize(context) == program.plugin().authorize(context_of())
