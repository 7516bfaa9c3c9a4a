"""client-go's informer beside ours, on the same feed; built with Go where that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .children import DIRECT, Child, running
from .listing import FIRST_VERSION
from .report import Figure, Settings

SECTION = "clientgo"
GO_FOLDER = Path(__file__).parent / "go"
BUILD_SECONDS = 900.0
KINDS = ("typed", "dynamic")

WITHOUT_WATCH_LIST = {"KUBE_FEATURE_WatchListClient": "false"}
"""The bench's server answers lists, as ours is measured."""


def measure(settings: Settings, url: str) -> Iterator[Figure]:
    """Events a second from the end of the list to a handler that looks at no object but its version, in turns."""
    go = shutil.which("go")
    if settings.quick or go is None:
        why = "it takes minutes to build" if go else "Go is not installed"
        yield Figure(SECTION, "events/s, client-go", None, note=f"skipped: {why}")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "clientgo")
        _build(go, program)
        yield from _compare(program, 20_000, 5)


def _build(go: str, program: Path) -> None:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    command = [go, "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-o", str(program), "."]
    subprocess.run(command, cwd=GO_FOLDER, env=environment, check=True, timeout=BUILD_SECONDS, stdout=sys.stderr)


def _compare(program: Path, count: int, rounds: int) -> Iterator[Figure]:
    with ExitStack() as stack:
        port = stack.enter_context(running("listing", "0", str(count))).hear()
        last = str(FIRST_VERSION + count - 1)
        children = {kind: stack.enter_context(_client_go(program, port, last, kind)) for kind in KINDS}
        children["kwsync"] = stack.enter_context(running("informer", "handle", port, str(count)))
        times = [{name: float(child.ask().split()[0]) for name, child in children.items()} for _ in range(rounds + 1)]
    best = {name: min(each[name] for each in times[1:]) for name in times[0]}
    for kind in KINDS:
        yield Figure(SECTION, f"events/s, client-go, {kind}", count / best[kind], "1/s")
        yield Figure(SECTION, f"client-go, {kind} : kwsync", best[kind] / best["kwsync"], "x")


@contextmanager
def _client_go(program: Path, port: str, last: str, kind: str) -> Iterator[Child]:
    command = [str(program), f"http://127.0.0.1:{port}", last, kind]
    environment = {**os.environ, **DIRECT, **WITHOUT_WATCH_LIST}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield Child(process)
        finally:
            process.kill()
