"""``kwsync watch``, as it is run: in a pipe, in a terminal, in every format."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kwsync.cli import main
from kwsync.testing import ApiServer
from tests.cli.support import (
    Environment,
    config_map,
    create_all,
    deployment,
    event,
    first_lines,
    in_terminal,
    pod,
    started,
)

pytestmark = pytest.mark.usefixtures("environment")

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


def change(api: ApiServer) -> None:
    """One change of each sort."""
    api.create(pod("a-longer-name"))
    api.patch("pods", "a", {"metadata": {"labels": {"app": "web"}}})
    api.delete("pods", "b", grace_period_seconds=0)


def test_table(api: ApiServer, tmp_path: Path) -> None:
    """In a pipe: the state, then a line for each change, plain, each at once."""
    create_all(api, pod("a"), pod("b"))
    with started(tmp_path, "watch", "pods") as command:
        command.until("ADDED      b")
        change(api)
        command.until("DELETED")
        assert command.end() == 130
    assert command.lines == [
        "EVENT      NAME   READY   STATUS    RESTARTS   AGE",
        "ADDED      a      0/1     Pending   0          0s",
        "ADDED      b      0/1     Pending   0          0s",
        "ADDED      a-longer-name   0/1     Pending   0          0s",
        "MODIFIED   a               0/1     Pending   0          0s",
        "MODIFIED   b               0/1     Terminating   0          0s",
        "DELETED    b               0/1     Terminating   0          0s",
    ]
    assert command.errors == ""


def test_terminal(api: ApiServer) -> None:
    """In a terminal: the same lines, with colours."""
    create_all(api, pod("a"), pod("b"))
    with in_terminal("watch", "pods") as terminal:
        terminal.until("b      0/1     Pending   0          0s")
        change(api)
        terminal.until("DELETED")
        terminal.until("\x1b[2m0s\x1b[0m\r\n")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.process.wait(20) == 130
    faint = ["b            ", "0/1  ", "Terminating", "0       ", "0s"]
    assert terminal.lines[:7] == [
        "\x1b[1mEVENT      NAME   READY   STATUS    RESTARTS   AGE\x1b[0m",
        "\x1b[32mADDED   \x1b[0m   a      0/1     Pending   0          0s",
        "\x1b[32mADDED   \x1b[0m   b      0/1     Pending   0          0s",
        "\x1b[32mADDED   \x1b[0m   a-longer-name   0/1     Pending   0          0s",
        "\x1b[33mMODIFIED\x1b[0m   a               0/1     Pending   0          0s",
        "\x1b[33mMODIFIED\x1b[0m   b               0/1     Terminating   0          0s",
        "\x1b[31mDELETED \x1b[0m   " + "   ".join(f"\x1b[2m{cell}\x1b[0m" for cell in faint),
    ]


def test_no_color(api: ApiServer, environment: Environment) -> None:
    """NO_COLOR is honoured in a terminal."""
    environment.set("NO_COLOR", "1")
    api.create(pod("a"))
    with in_terminal("watch", "pods", "--timeout", "1") as terminal:
        terminal.until("0s\r\n")
    assert "\x1b" not in terminal.text


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            ["deploy", "-o", "wide"],
            [
                "EVENT      NAME   READY   UP-TO-DATE   AVAILABLE   AGE   CONTAINERS   IMAGES   SELECTOR",
                "ADDED      d      0/1     0            0           0s    main         x        app=d",
            ],
        ),
        (
            ["pods", "-A"],
            [
                "EVENT      NAMESPACE     NAME   READY   STATUS    RESTARTS   AGE",
                "ADDED      default       a      0/1     Pending   0          0s",
                "ADDED      kube-system   s      0/1     Pending   0          0s",
            ],
        ),
        (["pods", "-n", "kube-system", "-o", "name"], ["pod/s"]),
        (["pods", "-A", "-l", "app=s", "-o", "name"], ["pod/s"]),
        (["pods", "-A", "--field-selector", "metadata.name=a", "-o", "name"], ["pod/a"]),
        (["wd,cm", "-o", "name"], ["widget.example.com/w", "configmap/c"]),
        (["example.com/v1/widgets", "-o", "name"], ["widget.example.com/w"]),
        (["po", "pods", "Pod", "-o", "name"], ["pod/a"]),
        (
            ["pods", "cm"],
            [
                "EVENT      NAME    READY   STATUS    RESTARTS   AGE",
                "ADDED      pod/a   0/1     Pending   0          0s",
                "EVENT      NAME          DATA   AGE",
                "ADDED      configmap/c   1      0s",
            ],
        ),
        (["namespaces", "-l", "kubernetes.io/metadata.name=default", "-o", "name"], ["namespace/default"]),
        (["pods", "--no-initial"], []),
    ],
    ids=" ".join,
)
def test_state(api: ApiServer, arguments: list[str], lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is named, selected and placed by the arguments, in the order of the arguments."""
    create_all(
        api, DEFINITION, deployment("d"), pod("a"), pod("s", "kube-system", labels={"app": "s"}), config_map("c", k="v")
    )
    api.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}})
    assert first_lines(monkeypatch, len(lines), "watch", *arguments) == lines


def test_namespace_of_the_context(api: ApiServer, environment: Environment, tmp_path: Path) -> None:
    """Without -n and -A the namespace is the context's."""
    path = tmp_path / "other"
    path.write_text(json.dumps(api.kubeconfig(namespace="kube-system")))
    create_all(api, pod("a"), pod("s", "kube-system"))
    with started(tmp_path, "watch", "pods", "--kubeconfig", str(path), "-o", "name", "--timeout", "1") as command:
        assert command.end(None) == 0
    assert command.lines == ["pod/s"]


def test_json(api: ApiServer, tmp_path: Path) -> None:
    """JSON is an object a line, each with type and object, and complete before the next change."""
    api.create(config_map("a", text="ü\n\x1b[31m"))
    with started(tmp_path, "watch", "cm", "-o", "json") as command:
        command.until("ADDED")
        api.delete("configmaps", "a")
        command.until("DELETED")
        assert command.end() == 130
    first, second = (json.loads(line) for line in command.lines)
    assert (first["type"], second["type"]) == ("ADDED", "DELETED")
    assert first["object"]["data"] == second["object"]["data"] == {"text": "ü\n\x1b[31m"}
    assert first["object"]["kind"] == "ConfigMap"
    assert all(line.isprintable() for line in command.lines)


def test_yaml(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """YAML is a document an event, with the same two fields."""
    create_all(api, config_map("a", text="\x1b[31m"), config_map("b"))
    written = "\n".join(first_lines(monkeypatch, 1, "watch", "cm", "-o", "yaml"))
    assert "\x1b" not in written
    assert [document["object"]["metadata"]["name"] for document in yaml.safe_load_all(written)] == ["a", "b"]


def test_no_initial(api: ApiServer, tmp_path: Path) -> None:
    """--no-initial shows changes alone, and none of them is lost."""
    create_all(api, pod("a"))
    with started(tmp_path, "watch", "pods", "-o", "name", "--no-initial", "-v") as command:
        api.wait_for_requests(2)  # the list, and the watch
        api.create(pod("b"))
        command.until("pod/b")
        command.end()
    assert command.lines == ["pod/b"]


def test_follows_a_restart(api: ApiServer, tmp_path: Path) -> None:
    """A server that goes away and comes back is followed; nothing is lost and nothing told twice."""
    api.create(pod("a"))
    with started(tmp_path, "watch", "pods", "-o", "name") as command:
        command.until("pod/a")
        api.end_watches()
        api.create(pod("b"))
        command.until("pod/b")
        api.restart()
        api.create(pod("c"))
        command.until("pod/c")
        assert command.end() == 130
    assert command.lines == ["pod/a", "pod/b", "pod/c"]


def test_says_that_it_waits(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty screen is explained on standard error, and standard output stays empty."""
    assert main(["watch", "deploy", "--timeout", "1"]) == 0
    assert capsys.readouterr() == ("", "kwsync: no deployments.apps there yet: waiting for some\n")


def test_interrupt_while_connecting(tmp_path: Path, api: ApiServer) -> None:
    """Ctrl-C ends it with 130 and without a word, also right at the start."""
    with started(tmp_path, "watch", "pods") as command:
        api.wait_for_requests(1)
        assert command.end(signal.SIGINT) == 130
    assert command.errors == "kwsync: no pods there yet: waiting for some\n" or command.errors == ""


def test_broken_pipe(api: ApiServer, tmp_path: Path) -> None:
    """When the reader has gone, the next line ends it: exit code 141, and no complaint."""
    api.create(pod("a"))
    with started(tmp_path, "watch", "pods") as command:
        command.until("ADDED")
        assert command.process.stdout is not None
        command.process.stdout.close()
        api.create(pod("b"))
        assert command.process.wait(20) == 141
    assert command.errors == ""


def test_help_into_a_closed_pipe(tmp_path: Path) -> None:
    """Also help that nobody reads ends quietly."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "kwsync", "--help"], stdout=writer, stderr=subprocess.PIPE, timeout=30, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_ascii_terminal(api: ApiServer, environment: Environment, tmp_path: Path) -> None:
    """A terminal that knows ASCII alone gets what it cannot show as escapes."""
    environment.set("PYTHONIOENCODING", "ascii")
    api.create(event("a", "2026-01-01T00:00:00Z", message="für dich"))
    with started(tmp_path, "events", "--timeout", "1") as command:
        assert command.end(None) == 0
    assert command.lines[1].endswith("f\\xfcr dich")
