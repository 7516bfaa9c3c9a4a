"""What may stand on the command line and in the environment: whatever it is, the end is a sentence and a known code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kwsync.cli import main
from kwsync.cli._errors import ExitCode
from kwsync.cli._names import is_kind, is_namespace
from kwsync.testing import ApiServer
from tests.cli.support import Environment, create_all, event, fails, first_lines, pod

pytestmark = pytest.mark.usefixtures("environment")

ODD = [
    *(
        "",
        " ",
        ",",
        ",,",
        "../x",
        "a/b",
        "/",
        "/dev/null",
        ".",
        "..",
        "~",
        "-",
        "--",
        "-1",
        "0x10",
        "nan",
        "inf",
        "1e999",
    ),
    *("a=b=c", "!", "a in (", "%41", "x" * 10_000, "ü", "\n", "\x1b[2J", "\u202e", "\udcff\udcfe", "{}", "[[[[", "'"),
]
OPTIONS = [
    *(("watch", option) for option in ("RESOURCE", "-n", "-l", "--field-selector", "-o")),
    *(("events", option) for option in ("--for", "--types", "-n", "-o")),
    *((command, option) for command in ("watch", "events") for option in ("--context", "--kubeconfig", "--timeout")),
    ("demo", "--seconds"),
    ("serve", "--port"),
]


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=" ".join)
def test_odd_values(command: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No value of any option gives a traceback, a second line on standard error, or an exit code that is not known."""
    for value in ODD:
        given = [option, value]
        if command == "watch":
            given = ["--", value] if option == "RESOURCE" else ["pods", *given]
        limit = ["--timeout", "0.05"] if command in ("watch", "events") and option != "--timeout" else []
        code = main([command, *limit, *given])
        told = capsys.readouterr().err
        assert code in set(ExitCode), value
        assert told.count("\n") <= 1, value
        assert code == ExitCode.DONE or told.startswith("kwsync: "), value
        assert told.replace("\n", "").isprintable() or "ü" in told, value


@pytest.mark.parametrize("values", [[","], [""], ["", ""], [" , ", ","]], ids=repr)
def test_no_kind(values: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Kinds without a name between the commas are none to wait for."""
    code, told = fails(capsys, "watch", *values)
    assert code == ExitCode.USAGE
    assert told == "no kind of objects is named: say for example pods, or pods,deployments"


@pytest.mark.parametrize(
    "name", ["pods", "Pod", "po", "deployments.apps", "pods.v1.", "apps/v1/deployments", "v1/pods"]
)
@pytest.mark.parametrize("more", [[], ["widgets", "wd.example.com", "example.com/v1/Widget", "v1/widgets"]])
def test_kinds(name: str, more: list[str]) -> None:
    """What is built in, and what only a server can know."""
    assert all(map(is_kind, [name, *more]))


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a b", "ü", "-x", "x-", "a..b", "pods/web", "a/b/c/d", "%41"])
def test_no_kinds(name: str) -> None:
    """What no server can have."""
    assert not is_kind(name)


@pytest.mark.parametrize(
    "value", ["", " ", "../x", "a/b", "A", "ü", "-a", "a-", "a.b", "a,b", "x" * 64, "a\n", "\udcff"]
)
@pytest.mark.parametrize("command", [["watch", "pods"], ["events"]], ids=lambda command: command[0])
def test_no_namespace(command: list[str], value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A namespace as there can be none is told at once: a server would only say that there is nothing in it."""
    code, told = fails(capsys, *command, "-n", value)
    assert code == ExitCode.USAGE
    assert "is no name of a namespace (small letters, digits and hyphens, 63 at most)" in told


@pytest.mark.parametrize("value", ["a", "0", "a-b", "kube-system", "x" * 63])
def test_namespace(value: str) -> None:
    """Labels in the sense of RFC 1123 are names of namespaces."""
    assert is_namespace(value)


@pytest.mark.parametrize("types", ["", ",", " ", "Bogus", "Warning,Bogus", "Warnings", "-"])
def test_no_types(types: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Types of Events that there are not would hide everything."""
    code, told = fails(capsys, "events", "--types", types)
    assert code == ExitCode.USAGE
    assert "names no types of Events: give Normal or Warning" in told


@pytest.mark.parametrize("types", ["Warning", "warning", " WARNING ,", "Warning,warning"])
def test_types(types: str, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Types may be spelled in any case."""
    create_all(api, event("a", "2026-05-01T10:00:00Z"), event("b", "2026-05-01T11:00:00Z", type="Warning"))
    [_, line, _] = first_lines(monkeypatch, 3, "events", "--types", types)
    assert "Warning" in line


@pytest.mark.parametrize("option", ["--context", "--kubeconfig"])
@pytest.mark.parametrize("command", [["watch", "pods"], ["events"]], ids=lambda command: command[0])
def test_empty_is_not_absent(command: list[str], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An option that is empty, as by a variable that is not set, does not mean another cluster than it would have."""
    code, told = fails(capsys, *command, option, "")
    assert code == ExitCode.USAGE
    assert "it is empty: give a value, or leave the option out" in told


@pytest.mark.parametrize("option", ["-l", "--field-selector"])
def test_no_text(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes that are no UTF-8 cannot be sent in a selector."""
    code, told = fails(capsys, "watch", "pods", option, "a=\udcff")
    assert code == ExitCode.USAGE
    assert "is no text in UTF-8" in told


def run(tmp_path: Path, *arguments: str, shell: str = "", **environ: str | None) -> tuple[int, str, str]:
    """Exit code, output and errors of a process; a variable that is None is not set."""
    command = [sys.executable, "-m", "kwsync", *arguments]
    if shell:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    env = {name: value for name, value in {**os.environ, **environ}.items() if value is not None}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False)
    return done.returncode, done.stdout, done.stderr


class TestEnvironment:
    @pytest.mark.parametrize(
        ("value", "sentence"),
        [
            ("/nowhere", "there is no kubeconfig: KUBECONFIG is '/nowhere', and no such file exists"),
            (":", "there is no kubeconfig: KUBECONFIG is ':', and no such file exists"),
            (".", "cannot be read: Is a directory"),
            ("/dev/null", "no current-context is set in /dev/null"),
        ],
    )
    def test_odd_kubeconfig(self, value: str, sentence: str, tmp_path: Path) -> None:
        """A variable KUBECONFIG that leads nowhere is told as it is."""
        code, out, told = run(tmp_path, "watch", "pods", KUBECONFIG=value)
        assert (code, out) == (ExitCode.CONFIG, "")
        assert sentence in told
        assert told.endswith("(without any cluster, try: kwsync demo)\n")

    def test_list(self, api: ApiServer, tmp_path: Path) -> None:
        """KUBECONFIG may be a list; what is not there is passed over."""
        api.create(pod("a"))
        found = f"/nowhere:{os.environ['KUBECONFIG']}"
        done = run(tmp_path, "watch", "pods", "-o", "name", "--timeout", "0.5", KUBECONFIG=found)
        assert done == (ExitCode.DONE, "pod/a\n", "")

    @pytest.mark.parametrize("home", [None, "", "/nowhere"], ids=repr)
    def test_no_home(self, home: str | None, tmp_path: Path) -> None:
        """Without a home folder there is no kubeconfig, and no more is lost."""
        code, _, told = run(tmp_path, "watch", "pods", HOME=home, KUBECONFIG=None)
        if home is None and "there is no kubeconfig" not in told:
            pytest.skip("the system knows a home folder of this user, with a kubeconfig in it")
        assert code == ExitCode.CONFIG
        assert told.count("\n") == 1
        assert "there is no kubeconfig /" in told

    def test_context(self, api: ApiServer, tmp_path: Path) -> None:
        """--context names one of several, with its cluster and its namespace; without it the current one counts."""
        create_all(api, pod("a"), pod("s", "kube-system"))
        config = api.kubeconfig()
        [context] = config["contexts"]
        other = {"name": "other", "context": {**context["context"], "namespace": "kube-system"}}
        path = tmp_path / "several"
        path.write_text(json.dumps({**config, "contexts": [context, other]}))
        watch = ("watch", "pods", "-o", "name", "--timeout", "0.5", "--kubeconfig", str(path))
        assert run(tmp_path, *watch)[:2] == (ExitCode.DONE, "pod/a\n")
        assert run(tmp_path, *watch, "--context", "other")[:2] == (ExitCode.DONE, "pod/s\n")
        assert run(tmp_path, *watch, "--context", "other", "-n", "default")[:2] == (ExitCode.DONE, "pod/a\n")


class TestStreams:
    @pytest.fixture(autouse=True)
    def one_pod(self, api: ApiServer) -> None:
        api.create(pod("a"))

    def test_no_input(self, tmp_path: Path) -> None:
        """Nothing is read from standard input, which may be closed."""
        done = run(tmp_path, "watch", "pods", "-o", "name", "--timeout", "0.5", shell="<&-")
        assert done == (ExitCode.DONE, "pod/a\n", "")

    @pytest.mark.parametrize("errors", ["2>&-", "2>/dev/full"])
    def test_no_errors(self, errors: str, tmp_path: Path, environment: Environment) -> None:
        """A standard error that is closed or full changes neither the output nor the exit code."""
        if not os.path.exists("/dev/full"):
            pytest.skip("this system has no /dev/full")
        shown = ["watch", "pods", "-o", "name", "--timeout", "0.5"]
        assert run(tmp_path, *shown, "-vvv", shell=errors) == (ExitCode.DONE, "pod/a\n", "")
        assert run(tmp_path, "watch", "frobs", shell=errors) == (ExitCode.NO_SUCH_KIND, "", "")
        assert run(tmp_path, shell=errors) == (ExitCode.USAGE, "", "")

    @pytest.mark.parametrize("arguments", ["--help", "watch --help", "--version", "serve", "demo", "watch pods"])
    def test_full_disk(self, arguments: str, tmp_path: Path) -> None:
        """What cannot be written is told in a sentence, the help, too."""
        if not os.path.exists("/dev/full"):
            pytest.skip("this system has no /dev/full")
        code, _, told = run(tmp_path, *arguments.split(), shell=">/dev/full")
        assert code == ExitCode.FAILED
        assert told.count("\n") == 1
        assert "No space left on device" in told
