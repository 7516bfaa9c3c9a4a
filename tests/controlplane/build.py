"""Find the two server programs, or build them once per machine into a cache folder outside the checkout."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

if sys.platform != "win32":
    import fcntl

GO_FOLDER = Path(__file__).parent / "go"
PROGRAMS = ("etcd", "kube-apiserver")
BUILD_LIMIT = 1500.0  # seconds; a cold build takes four minutes on two cores, a loaded CI machine needs more


class Found(NamedTuple):
    """The folder that holds the programs, or None and the reason why there is none."""

    folder: Path | None
    reason: str = ""


def find_binaries(
    announce: Callable[[str], object] | None = None, limit: float = BUILD_LIMIT, *, build: bool = True
) -> Found:
    """Look in KUBEBUILDER_ASSETS, then in the cache; *build* with Go when the cache has nothing yet."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        if _is_complete(Path(assets)):
            return Found(Path(assets))
        return Found(None, f"KUBEBUILDER_ASSETS={assets} does not hold {' and '.join(PROGRAMS)}")
    folder = cache_folder()
    if _is_complete(folder):
        return Found(folder)
    if sys.platform == "win32":
        return Found(None, "the API server cannot be built on Windows")
    go = shutil.which("go")
    if go is None:
        return Found(None, "KUBEBUILDER_ASSETS is not set, and Go is not installed to build an API server")
    if not build:
        return Found(None, "the API server is not built: python -m tests.controlplane build, some minutes, once")
    if announce is not None:
        announce(f"building kube-apiserver {version()} into {folder}; this takes some minutes, once")
    with _locked(folder):
        # Another process may have built while this one waited for the lock.
        return Found(folder) if _is_complete(folder) else _build(go, folder, limit)


def version() -> str:
    """The version of Kubernetes, which go.mod alone decides."""
    match = re.search(r"k8s\.io/kubernetes (v\S+)", (GO_FOLDER / "go.mod").read_text())
    if match is None:
        raise ValueError("go.mod does not require k8s.io/kubernetes")
    return match[1]


def cache_folder() -> Path:
    """Where the built programs live; the name changes with anything that would change the programs."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(repr(_arguments()).encode())
    for file in sorted(path for path in GO_FOLDER.rglob("*") if path.is_file()):
        digest.update(file.relative_to(GO_FOLDER).as_posix().encode() + b"\0" + file.read_bytes())
    return base / "kwsync" / "controlplane" / f"{version()}-{digest.hexdigest()[:12]}"


def _is_complete(folder: Path) -> bool:
    return all(os.access(folder / program, os.X_OK) for program in PROGRAMS)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process build at a time; the wait is bounded because the holder's build is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "wb") as lock:
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(go: str, folder: Path, limit: float) -> Found:
    """Build beside the final place and rename, so that a folder of that name is always whole."""
    with tempfile.TemporaryDirectory(prefix=folder.name + ".", dir=folder.parent) as scratch:
        log, output = Path(scratch, "log"), Path(scratch, "out")
        output.mkdir()
        command = [go, *_arguments(), "-o", str(output), *(f"./{program}" for program in PROGRAMS)]
        problem = _run(command, log, limit)
        if problem or not _is_complete(output):
            return Found(None, f"{problem or 'go build left no programs'}:\n{log.read_text()[-2000:]}")
        shutil.rmtree(folder, ignore_errors=True)  # only an incomplete one can be there
        output.rename(folder)
    return Found(folder)


def _arguments() -> list[str]:
    package = "k8s.io/component-base/version"
    major, minor = version().lstrip("v").split(".")[:2]
    stamps = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor}
    link = " ".join(["-s", "-w", *(f"-X {package}.{name}={value}" for name, value in stamps.items())])
    # Asking Git for the revision fails in a container that does not own the checkout: -buildvcs=false.
    return ["build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", link]


def _run(command: list[str], log: Path, limit: float) -> str:
    """Run a build and say what went wrong, if anything; its children end with it."""
    # Without cgo no C compiler is needed, and the programs run on any libc.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, cwd=GO_FOLDER, env=environment, stdout=output, stderr=output, start_new_session=True
        ) as process,
    ):
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return f"go build took longer than {limit:.0f} s"
        finally:
            _end_group(process)
    return f"go build failed with exit code {code}" if code else ""


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill the compilers too: ending `go` alone would leave them at work."""
    if sys.platform != "win32" and process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
