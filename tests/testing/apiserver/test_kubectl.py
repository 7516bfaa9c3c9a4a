"""kubectl takes the server for a Kubernetes API server."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kwsync.testing import ApiServer, TestCA, pod
from tests.testing.apiserver.required import required_program
from tests.testing.apiserver.wire import config_map, definition, widget

LIMIT_SECONDS = 20


class Kubectl:
    """kubectl for one server, with a home of its own."""

    def __init__(self, server: ApiServer, home: Path) -> None:
        self.server = server
        self.program = required_program("kubectl")
        config = home / "kubeconfig"
        config.write_text(json.dumps(server.kubeconfig("admin", groups=["system:masters"])))
        kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        self.environment = {**kept, "HOME": str(home), "KUBECONFIG": str(config), "KUBECACHEDIR": str(home / "cache")}

    def run(self, *arguments: str, given: object = None) -> subprocess.CompletedProcess[str]:
        """What it says and how it ends; *given* is what ``-f -`` reads."""
        return subprocess.run(
            self.command(*arguments),
            input=json.dumps(given),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_SECONDS,
        )

    def __call__(self, *arguments: str, given: object = None) -> str:
        """What it prints; it must not fail."""
        done = self.run(*arguments, given=given)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def started(self, *arguments: str) -> Iterator[Lines]:
        """What it prints while it runs; it gives up by itself after some time."""
        with subprocess.Popen(
            self.command(*arguments), env=self.environment, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                yield Lines(process)
            finally:
                process.kill()

    def command(self, *arguments: str) -> list[str]:
        """The whole command."""
        return [self.program, f"--request-timeout={LIMIT_SECONDS}s", *arguments]


class Lines:
    """The output of a kubectl that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.stdout = process.stdout
        self.process = process

    def next(self) -> list[str]:
        """The words of the next line; none at the end."""
        return self.stdout.readline().split()


@pytest.fixture
def kubectl(api_ca: TestCA, tmp_path: Path) -> Iterator[Kubectl]:
    """kubectl, and a server for it alone."""
    with ApiServer(tls=api_ca) as server:
        yield Kubectl(server, tmp_path)


def deployment(image: str = "nginx") -> dict[str, Any]:
    """A Deployment to apply."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def happening(name: str, reason: str) -> dict[str, Any]:
    """An Event about a pod."""
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    more = {"involvedObject": about, "reason": reason, "message": "so it was", "type": "Normal"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"}, **more}


class TestReading:
    def test_api_resources(self, kubectl: Kubectl) -> None:
        """Discovery lists the built-in kinds with their short names, and what is defined later."""
        kubectl.server.create(definition())
        rows = [line.split() for line in kubectl("api-resources", "--no-headers").splitlines()]
        assert ["pods", "po", "v1", "true", "Pod"] in rows
        assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in rows
        assert ["widgets", "wd", "example.com/v2", "true", "Widget"] in rows

    def test_get(self, kubectl: Kubectl) -> None:
        """A list has the columns of its kind, an object is what was stored, and what is not there is NotFound."""
        kubectl.server.create(config_map("a", k="v"))
        header, row = kubectl("get", "cm").splitlines()
        assert (header.split(), row.split()[:2]) == (["NAME", "DATA", "AGE"], ["a", "1"])
        assert json.loads(kubectl("get", "configmap", "a", "-o", "json")) == kubectl.server.get("cm", "a")
        failed = kubectl.run("get", "cm", "none")
        assert failed.returncode == 1
        assert 'Error from server (NotFound): configmaps "none" not found' in failed.stderr

    def test_watch(self, kubectl: Kubectl) -> None:
        """get -w shows what is there, then each change."""
        kubectl.server.create(config_map("a", k="v"))
        with kubectl.started("get", "cm", "-w", "--output-watch-events") as lines:
            assert lines.next() == ["EVENT", "NAME", "DATA", "AGE"]
            assert lines.next()[:3] == ["ADDED", "a", "1"]
            kubectl.server.create(config_map("b"))
            assert lines.next()[:3] == ["ADDED", "b", "0"]
            kubectl.server.patch("cm", "a", {"data": {"more": "v"}})
            assert lines.next()[:3] == ["MODIFIED", "a", "2"]
            kubectl.server.delete("cm", "b")
            assert lines.next()[:2] == ["DELETED", "b"]

    def test_scale(self, kubectl: Kubectl) -> None:
        """kubectl scale changes the replicas of a custom kind that has a scale."""
        paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
        version = {"name": "v1", "served": True, "storage": True, "subresources": {"scale": paths}}
        kubectl.server.create(definition(versions=[version]))
        kubectl.server.create(widget(replicas=1))
        kubectl("scale", "wd/w", "--replicas=7")
        assert kubectl.server.get("widgets", "w")["spec"] == {"replicas": 7}

    def test_as(self, kubectl: Kubectl) -> None:
        """kubectl --as asks in the name of another user, with the rights of that one."""
        kubectl.server.deny("jane")
        assert 'User "jane" cannot list' in kubectl.run("get", "cm", "--as", "jane").stderr
        kubectl("get", "cm", "--as", "jane", "--as-group", "system:masters")

    def test_events(self, kubectl: Kubectl) -> None:
        """Events --watch shows those that were and those that come."""
        kubectl.server.create(happening("e1", "First"))
        with kubectl.started("events", "--watch") as lines:
            assert lines.next()[:3] == ["LAST", "SEEN", "TYPE"]
            assert lines.next()[1:] == ["Normal", "First", "Pod/p", "so", "it", "was"]
            kubectl.server.create(happening("e2", "Second"))
            assert lines.next()[1:] == ["Normal", "Second", "Pod/p", "so", "it", "was"]

    def test_wait(self, kubectl: Kubectl) -> None:
        """It waits for a condition, a field and a deletion, and gives up in time."""
        server = kubectl.server
        server.create(pod("p"))
        assert kubectl.run("wait", "--for=condition=Ready", "pod/p", "--timeout=0s").returncode == 1
        with kubectl.started("wait", "--for=condition=Ready", "pod/p", "--timeout=15s") as lines:
            conditions = [{"type": "Ready", "status": "True"}]
            server.patch("pods", "p", {"status": {"phase": "Running", "conditions": conditions}}, subresource="status")
            assert lines.next() == ["pod/p", "condition", "met"]
        assert "condition met" in kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/p", "--timeout=15s")
        with kubectl.started("wait", "--for=delete", "pod/p", "--timeout=15s") as lines:
            server.delete("pods", "p")
            assert lines.process.wait(LIMIT_SECONDS) == 0


class TestWriting:
    def test_create(self, kubectl: Kubectl) -> None:
        """Create -f stores an object, once."""
        assert kubectl("create", "-f", "-", given=config_map("a", k="v")) == "configmap/a created\n"
        assert kubectl.server.get("cm", "a")["data"] == {"k": "v"}
        failed = kubectl.run("create", "-f", "-", given=config_map("a"))
        assert (failed.returncode, "(AlreadyExists)" in failed.stderr) == (1, True)

    def test_apply(self, kubectl: Kubectl) -> None:
        """Apply creates, then changes nothing, then what is different, and takes out what was taken out."""
        apply = "apply", "-f", "-"
        assert kubectl(*apply, given=config_map("a", k="v")) == "configmap/a created\n"
        assert kubectl(*apply, given=config_map("a", k="v")) == "configmap/a unchanged\n"
        assert kubectl(*apply, given=config_map("a", n="v")) == "configmap/a configured\n"
        assert kubectl.server.get("cm", "a")["data"] == {"n": "v"}

    def test_apply_deployment(self, kubectl: Kubectl) -> None:
        """The containers of a Deployment are merged by their names."""
        kubectl("apply", "-f", "-", given=deployment())
        assert kubectl("apply", "-f", "-", given=deployment()) == "deployment.apps/web unchanged\n"
        kubectl("set", "image", "deployment/web", "c=nginx:2")
        (container,) = kubectl.server.get("deploy", "web")["spec"]["template"]["spec"]["containers"]
        assert container["image"] == "nginx:2"

    def test_apply_custom(self, kubectl: Kubectl) -> None:
        """A kind that a definition has just made is applied, and read by its short name."""
        assert kubectl("apply", "-f", "-", given=definition()).endswith("/widgets.example.com created\n")
        kubectl("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=15s")
        assert kubectl("apply", "-f", "-", given=widget("w", size=3)) == "widget.example.com/w created\n"
        assert kubectl("apply", "-f", "-", given=widget("w", size=4)) == "widget.example.com/w configured\n"
        assert kubectl("get", "wd", "w", "-o", "jsonpath={.spec.size}") == "4"

    def test_server_side_apply(self, kubectl: Kubectl) -> None:
        """It creates, and merges; nobody owns a field."""
        apply = "apply", "--server-side", "-f", "-"
        assert kubectl(*apply, given=config_map("a", k="v")) == "configmap/a serverside-applied\n"
        assert kubectl(*apply, given=config_map("a", n="v")) == "configmap/a serverside-applied\n"
        assert kubectl.server.get("cm", "a")["data"] == {"k": "v", "n": "v"}

    @pytest.mark.parametrize(
        ("kind", "patch"),
        [
            ("merge", {"data": {"n": "1"}}),
            ("strategic", {"data": {"n": "1"}}),
            ("json", [{"op": "add", "path": "/data/n", "value": "1"}]),
        ],
        ids=["merge", "strategic", "json"],
    )
    def test_patch(self, kubectl: Kubectl, kind: str, patch: object) -> None:
        """Each type of patch changes what it names."""
        kubectl.server.create(config_map("a", k="v"))
        command = "patch", "cm", "a", f"--type={kind}", "-p", json.dumps(patch)
        assert kubectl(*command) == "configmap/a patched\n"
        assert kubectl.server.get("cm", "a")["data"] == {"k": "v", "n": "1"}

    def test_label(self, kubectl: Kubectl) -> None:
        """A label is set, and taken away."""
        kubectl.server.create(config_map("a"))
        assert kubectl("label", "cm", "a", "x=y") == "configmap/a labeled\n"
        assert kubectl("get", "cm", "-l", "x=y", "-o", "name") == "configmap/a\n"
        assert kubectl("label", "cm", "a", "x-") == "configmap/a unlabeled\n"
        assert "labels" not in kubectl.server.get("cm", "a")["metadata"]

    def test_scale(self, kubectl: Kubectl) -> None:
        """Scale changes the replicas alone."""
        before = kubectl.server.create(deployment())["spec"]
        assert kubectl("scale", "deployment/web", "--replicas=5") == "deployment.apps/web scaled\n"
        assert kubectl.server.get("deploy", "web")["spec"] == {**before, "replicas": 5}

    def test_delete(self, kubectl: Kubectl) -> None:
        """Delete waits until the object is gone; what is gone cannot be deleted."""
        kubectl.server.create(config_map("a"))
        assert kubectl("delete", "cm", "a").startswith('configmap "a" deleted')
        assert kubectl.server.list("cm") == []
        assert "(NotFound)" in kubectl.run("delete", "cm", "a").stderr

    def test_protobuf(self, kubectl: Kubectl) -> None:
        """What kubectl sends as protobuf is refused, with a way out, as the guide says; a file is taken."""
        for command in ("create namespace n", "create configmap n", "auth whoami", "auth can-i get pods"):
            failed = kubectl.run(*command.split())
            assert (failed.returncode, "reads no protobuf: give kubectl a file" in failed.stderr) == (1, True), command
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
        assert kubectl("create", "-f", "-", given=space) == "namespace/n created\n"

    def test_what_cannot_be(self, kubectl: Kubectl) -> None:
        """What cannot be created is refused in the server's words, or in kubectl's own."""
        assert "Bad" in kubectl.run("create", "-f", "-", given=config_map("Bad")).stderr
        assert "no matches for kind" in kubectl.run("create", "-f", "-", given=widget()).stderr

    def test_explain(self, kubectl: Kubectl) -> None:
        """Explain knows the kind and no fields, as the guide says: there are no schemas."""
        failed = kubectl.run("explain", "pods")
        assert (failed.returncode, "not found in OpenAPI schema" in failed.stderr) == (1, True)

    def test_other_commands(self, kubectl: Kubectl) -> None:
        """Run, expose, annotate, describe, replace, diff and get all work, too."""
        assert kubectl("run", "p", "--image=i") == "pod/p created\n"
        assert kubectl("expose", "pod", "p", "--port=80") == "service/p exposed\n"
        assert kubectl("annotate", "pod", "p", "a=b") == "pod/p annotated\n"
        assert "Annotations:  a: b" in kubectl("describe", "pod", "p")
        assert [line.split()[0] for line in kubectl("get", "all", "--no-headers").splitlines()] == [
            "pod/p",
            "service/p",
        ]
        assert kubectl("create", "-f", "-", given=config_map("a")) == "configmap/a created\n"
        assert kubectl("replace", "-f", "-", given=config_map("a", k="v")) == "configmap/a replaced\n"
        assert kubectl.run("diff", "-f", "-", given=config_map("a", k="w")).returncode == 1
        assert kubectl("get", "--raw", "/readyz") == "ok"
