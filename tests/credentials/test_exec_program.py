"""Running a plugin's program: what it gets, how long it may take, and that nothing of it stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kwsync.credentials import CredentialError
from kwsync.credentials._exec import _program
from kwsync.credentials._exec._program import OUTPUT_LIMIT, run_program
from tests.client.support import Running, wait_until
from tests.credentials.plugins import LIMIT

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the programs here are written in sh")


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """No process is left, not even as a zombie, and no descriptor."""
    us = psutil.Process()
    before, children = us.num_fds(), set(us.children())  # a real server, maybe
    yield
    assert set(us.children()) <= children
    wait_until(lambda: us.num_fds() <= before, "the descriptors to be closed")
    assert _program._running == {}


def run(script: str, *arguments: str, timeout: float | None = LIMIT, **environment: str) -> tuple[int, bytes]:
    """Run a script without a terminal."""
    command = ["/bin/sh", "-c", script, "sh", *arguments]
    return run_program(command, {**os.environ, **environment}, interactive=False, timeout=timeout)


def is_gone(process: int) -> bool:
    """Has it ended? The first process of a container may not care for orphans, which stay as zombies then."""
    try:
        return psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


class TestOutput:
    def test_whole(self) -> None:
        """All that it writes, in however many pieces, and its exit code."""
        assert run("printf one; printf two; exit 3") == (3, b"onetwo")
        assert run("exit 0") == (0, b"")

    def test_as_given(self) -> None:
        """Arguments and variables arrive as they are: no shell looks at them."""
        assert run('printf %s "$1$A"', "$HOME `id`; *", A="'\"") == (0, b"$HOME `id`; *'\"")

    def test_much(self) -> None:
        """More than a pipe holds."""
        assert run(f"head -c {OUTPUT_LIMIT} /dev/zero") == (0, bytes(OUTPUT_LIMIT))

    @pytest.mark.parametrize("script", [f"head -c {OUTPUT_LIMIT + 1} /dev/zero", "cat /dev/zero", "yes"])
    def test_too_much(self, script: str) -> None:
        """Too much is an error, and ends it."""
        with pytest.raises(CredentialError, match="more than 1 MiB"):
            run(script)

    def test_signal(self) -> None:
        """The signal that ended it is told below zero."""
        assert run("kill -9 $$") == (-9, b"")

    def test_closed_early(self) -> None:
        """One that closes its output and goes on is waited for."""
        assert run("printf one; exec >&-; sleep 0.1; exit 4") == (4, b"one")

    def test_not_there(self) -> None:
        """What cannot be started leaves nothing behind either."""
        with pytest.raises(FileNotFoundError):
            run_program(["/nowhere/plugin"], {}, interactive=False, timeout=None)
        with pytest.raises(ValueError, match="null"):
            run_program(["/bin/sh", "\0"], {}, interactive=False, timeout=None)


class TestTime:
    def test_too_late(self, tmp_path: Path) -> None:
        """After its time it is killed with all that it has started, however deaf they are."""
        script = f"trap '' TERM INT HUP; sleep 60 & echo $! > {tmp_path}/child; wait"
        start = time.monotonic()
        with pytest.raises(CredentialError, match="no credential in time"):
            run(script, timeout=0.3)
        assert time.monotonic() - start < LIMIT
        child = int((tmp_path / "child").read_text())
        wait_until(lambda: is_gone(child), "the plugin's child to end")

    def test_dripping(self) -> None:
        """One that always writes a little has no more time."""
        with pytest.raises(CredentialError, match="in time"):
            run("while :; do printf x; sleep 0.02; done", timeout=0.3)

    def test_output_closed(self) -> None:
        """Nor has one that writes nothing more."""
        with pytest.raises(CredentialError, match="in time"):
            run("exec >&-; sleep 60", timeout=0.3)

    @pytest.mark.parametrize("child", ["sleep 60", "(while :; do sleep 0.01; echo x; done)"])
    def test_agent(self, child: str, tmp_path: Path) -> None:
        """A child that outlives it and holds its output, as an agent does, neither delays the answer nor is ended."""
        start = time.monotonic()
        code, output = run(f"{child} 2>&1 & echo $! > {tmp_path}/child; printf one", timeout=60.0)
        agent = int((tmp_path / "child").read_text())
        try:
            assert (code, output.replace(b"x\n", b"")) == (0, b"one")
            assert time.monotonic() - start < LIMIT
            assert not is_gone(agent)
        finally:
            os.kill(agent, signal.SIGKILL)

    def test_no_limit(self) -> None:
        """None is no limit."""
        assert run("sleep 0.1; printf one", timeout=None) == (0, b"one")

    def test_at_exit(self, tmp_path: Path) -> None:
        """One that still runs when this process ends is ended: it does not hear of Ctrl-C, and nobody times it now."""
        text = (
            "import threading, sys, time\n"
            "from kwsync.credentials import ExecPlugin, AuthContext\n"
            "from kwsync import Cluster\n"
            f"plugin = ExecPlugin('/bin/sh', args=['-c', 'echo $$ > {tmp_path}/child.new;"
            f" mv {tmp_path}/child.new {tmp_path}/child; sleep 60'], interactive_mode='Never')\n"
            "context = AuthContext(Cluster('https://example.test'), lambda: None)\n"
            "threading.Thread(target=plugin.authorize, args=[context], daemon=True).start()\n"
            "import os\n"
            f"while not os.path.exists('{tmp_path}/child'): time.sleep(0.01)\n"
        )
        subprocess.run([sys.executable, "-c", text], timeout=30, check=True)
        child = int((tmp_path / "child").read_text())
        wait_until(lambda: is_gone(child), "the plugin to end")


class TestSurroundings:
    def test_standard_error(self, capfd: pytest.CaptureFixture[str]) -> None:
        """Its standard error is ours."""
        run("echo look here >&2")
        assert capfd.readouterr().err == "look here\n"

    def test_standard_input(self) -> None:
        """Without a terminal its standard input is empty."""
        assert run("cat") == (0, b"")

    def test_own_session(self) -> None:
        """Without a terminal it is in a session of its own, where no Ctrl-C of ours disturbs it."""
        _, output = run("ps -o sid= -p $$ 2>/dev/null || echo $$")
        assert int(output) not in (os.getsid(0), 0)

    def test_own_descriptors(self) -> None:
        """It gets no descriptor of ours but the three."""
        reader, writer = os.pipe()
        os.set_inheritable(writer, True)
        try:
            assert run(f"printf x >&{writer}")[0] != 0
        finally:
            os.close(reader)
            os.close(writer)

    def test_many_at_once(self) -> None:
        """Many threads may run one each."""
        runs = [Running(lambda number=number: run(f"sleep 0.05; printf {number}")) for number in range(10)]  # type: ignore[misc]
        assert [running.result(4 * LIMIT) for running in runs] == [(0, b"%d" % number) for number in range(10)]


@pytest.fixture(params=["read", "read_slowly"])
def either(request: pytest.FixtureRequest) -> Callable[[str, float | None], Any]:
    """Both ways to read: the one of most systems, and that of those whose pipes cannot be looked at."""
    read = getattr(_program, f"_{request.param}")

    def call(script: str, seconds: float | None) -> Any:
        deadline = None if seconds is None else time.monotonic() + seconds
        with _program._started(["/bin/sh", "-c", script], os.environ, False) as program:
            return read(program, deadline)

    return call


class TestEitherWay:
    def test_output(self, either: Callable[[str, float | None], Any]) -> None:
        """All that is written."""
        assert either("printf one", None) == b"one"
        assert either("printf one", LIMIT) == b"one"

    def test_too_late(self, either: Callable[[str, float | None], Any]) -> None:
        """Or an error, in time."""
        with pytest.raises(CredentialError, match="in time"):
            either("exec sleep 60", 0.2)

    def test_too_much(self, either: Callable[[str, float | None], Any]) -> None:
        """Or one for too much."""
        with pytest.raises(CredentialError, match="1 MiB"):
            either(f"head -c {OUTPUT_LIMIT + 1} /dev/zero", LIMIT)


def test_from_any_thread() -> None:
    """A program can be run beside the main thread, which may be gone."""
    assert threading.current_thread() is threading.main_thread()
    assert Running(lambda: run("printf one")).result() == (0, b"one")
