"""The command line against a real kube-apiserver."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kwsync.cli import main
from tests.cli.support import Environment, config_map, deployment, event, fails, pod, started
from tests.controlplane.server import ControlPlane


@pytest.fixture
def config(control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kubeconfig of somebody who may do everything."""
    path = tmp_path / "config"
    path.write_text(json.dumps(control_plane.kubeconfig()))
    Environment(monkeypatch, tmp_path).use(path)
    return path


def collection(namespace: str, plural: str) -> str:
    return f"/api/v1/namespaces/{namespace}/{plural}"


@pytest.mark.usefixtures("config")
class TestRealServer:
    def test_table(self, control_plane: ControlPlane, real_namespace: str, tmp_path: Path) -> None:
        """Two kinds in one table: its columns, a change and a deletion."""
        pods, maps = collection(real_namespace, "pods"), collection(real_namespace, "configmaps")
        control_plane.request("POST", pods, pod("a", real_namespace)).checked()
        control_plane.request("POST", maps, config_map("c", real_namespace, k="v")).checked()
        with started(tmp_path, "watch", "pods,cm", "-n", real_namespace) as command:
            command.until("configmap/c")
            control_plane.request("POST", pods, pod("b", real_namespace)).checked()
            command.until("ADDED      pod/b ")
            control_plane.request("DELETE", f"{maps}/c").checked()
            command.until("DELETED    configmap/c ")
            assert command.end() == 130
        assert command.lines[0].split() == ["EVENT", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
        assert command.lines[1].split()[:5] == ["ADDED", "pod/a", "0/1", "Pending", "0"]
        assert command.lines[2].split() == ["EVENT", "NAME", "DATA", "AGE"]

    def test_json(self, control_plane: ControlPlane, real_namespace: str, tmp_path: Path) -> None:
        """A line for each event, with the objects as the server has them."""
        path = collection(real_namespace, "configmaps")
        control_plane.request("POST", path, config_map("c", real_namespace, k="v")).checked()
        with started(tmp_path, "watch", "cm", "-n", real_namespace, "-o", "json") as command:
            command.until("ADDED")
            control_plane.request("PATCH", f"{path}/c", {"data": {"k": "w"}}).checked()
            command.until("MODIFIED")
            command.end()
        assert [json.loads(line)["object"]["data"] for line in command.lines] == [{"k": "v"}, {"k": "w"}]

    def test_yaml(self, control_plane: ControlPlane, real_namespace: str, tmp_path: Path) -> None:
        """A document for each event, which is the same object when it is read back."""
        path, text = collection(real_namespace, "configmaps"), "ü 😀\n\x1b[31m"
        control_plane.request("POST", path, config_map("c", real_namespace, k=text, m="1e5")).checked()
        with started(tmp_path, "watch", "cm", "-n", real_namespace, "-o", "yaml") as command:
            command.until("type: ADDED")
            control_plane.request("DELETE", f"{path}/c").checked()
            command.until("type: DELETED")
            command.until("m: '1e5'")
            command.end()
        assert "\x1b" not in "".join(command.lines)
        added, deleted = yaml.safe_load_all("\n".join(command.lines))
        assert (added["type"], deleted["type"]) == ("ADDED", "DELETED")
        for one in (added, deleted):
            assert (one["object"]["kind"], one["object"]["data"]) == ("ConfigMap", {"k": text, "m": "1e5"})

    def test_name(self, control_plane: ControlPlane, real_namespace: str, tmp_path: Path) -> None:
        """A name for each event, of kinds with and without a group."""
        maps, sets = (
            collection(real_namespace, "configmaps"),
            f"/apis/apps/v1/namespaces/{real_namespace}/deployments",
        )
        control_plane.request("POST", maps, config_map("c", real_namespace)).checked()
        with started(tmp_path, "watch", "cm,deploy", "-n", real_namespace, "-o", "name") as command:
            command.until("configmap/c")
            control_plane.request("POST", sets, {**deployment("d"), "metadata": {"name": "d"}}).checked()
            command.until("deployment.apps/d")
            control_plane.request("DELETE", f"{maps}/c").checked()
            command.until("configmap/c")
            command.end()
        assert command.lines == ["configmap/c", "deployment.apps/d", "configmap/c"]

    def test_wide(self, control_plane: ControlPlane, real_namespace: str, tmp_path: Path) -> None:
        """All of the server's columns."""
        path = f"/apis/apps/v1/namespaces/{real_namespace}/deployments"
        control_plane.request("POST", path, {**deployment("d"), "metadata": {"name": "d"}}).checked()
        with started(tmp_path, "watch", "deploy", "-n", real_namespace, "-o", "wide") as command:
            command.until("ADDED")
            control_plane.request("DELETE", f"{path}/d").checked()
            command.until("DELETED")
            command.end()
        head, added, deleted = (line.split() for line in command.lines)
        assert head == ["EVENT", "NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
        assert (added[:5], added[6:]) == (["ADDED", "d", "0/1", "0", "0"], ["main", "x", "app=d"])
        assert (deleted[:5], deleted[6:]) == (["DELETED", "d", "0/1", "0", "0"], ["main", "x", "app=d"])

    def test_events(self, control_plane: ControlPlane, real_namespace: str, tmp_path: Path) -> None:
        """Events of both APIs are one stream, and a deleted one is no news."""
        core = collection(real_namespace, "events")
        old = event("old", "2026-01-01T00:00:00Z", count=3, since="2025-12-31T22:00:00Z")
        old["metadata"]["namespace"] = old["involvedObject"]["namespace"] = real_namespace
        new = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "new"},
            "regarding": {"kind": "Pod", "name": "web", "namespace": real_namespace},
            "reason": "Rebooted",
            "note": "it was",
            "action": "Reboot",
            "type": "Warning",
            "eventTime": "2026-01-02T00:00:00.000000Z",
            "reportingController": "example.com/c",
            "reportingInstance": "c-1",
        }
        control_plane.request("POST", core, old).checked()
        with started(tmp_path, "events", "-n", real_namespace, "--for", "pod/web") as command:
            command.until("what follows is new")
            control_plane.request("DELETE", f"{core}/old").checked()
            path = f"/apis/events.k8s.io/v1/namespaces/{real_namespace}/events"
            control_plane.request("POST", path, new).checked()
            command.until("Rebooted")
            command.end()
        assert [line for line in command.lines if not line.startswith("-- ")] == [
            "LAST SEEN          TYPE     REASON    OBJECT    MESSAGE",
            "2026-01-01 00:00   Normal   Started   pod/web   Started container main (x3 over 2h)",
            "2026-01-02 00:00   Warning   Rebooted   pod/web   it was",
        ]

    def test_masks_the_credential(
        self, control_plane: ControlPlane, real_namespace: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """-vvv tells the whole exchange and not the token."""
        assert main(["watch", "pods", "-n", real_namespace, "--timeout", "0.5", "-vvv"]) == 0
        written = capsys.readouterr().err
        assert "<   Content-Type: application/json" in written
        assert control_plane.admin_token not in written

    @pytest.mark.parametrize(
        ("arguments", "code", "words"),
        [
            (["watch", "frobs"], 6, "the server has no resource 'frobs'"),
            (["watch", "pods", "-l", "((("], 2, "correct the selectors"),
            (["watch", "pods", "--field-selector", "spec.frob=1"], 2, "correct the selectors"),
            (["watch", "apps/v9/deployments"], 6, "the server has no resource"),
        ],
    )
    def test_refusals(self, arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Its refusals are sentences, too."""
        told = fails(capsys, *arguments)
        assert told[0] == code
        assert words in told[1]


@pytest.mark.parametrize(("token", "code"), [("nobody", 403), ("wrong", 401)])
def test_rights(
    control_plane: ControlPlane, config: Path, token: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who may not, and whom it does not know, is told so."""
    document = json.loads(config.read_text())
    document["users"][0]["user"] = {"token": control_plane.nobody_token if token == "nobody" else "no-such-token"}
    config.write_text(json.dumps(document))
    exit_code, told = fails(capsys, "watch", "pods")
    assert exit_code == 5
    assert f"({code})" in told
