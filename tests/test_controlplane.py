"""The test equipment itself: the real API server that other tests compare kwsync and its fake server with."""

import os
import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.controlplane.api import Reply, send
from tests.controlplane.build import PROGRAMS, Found, cache_folder, find_binaries, version
from tests.controlplane.fixtures import REQUIRED, give_up
from tests.controlplane.process import StartError
from tests.controlplane.server import ControlPlane

PODS = "/api/v1/namespaces/default/pods"

BUILDS = """#!/bin/sh
echo run >> "$GO_RUNS"
while [ "$1" != -o ]; do shift; done
for program in etcd kube-apiserver; do echo > "$2/$program"; chmod +x "$2/$program"; done
"""


def pod(name: str) -> dict[str, object]:
    """Return the least that the API takes for a pod."""
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "none"}]}}


def widget_definition(group: str) -> dict[str, object]:
    """Return a custom resource definition that keeps any field."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


@pytest.fixture
def fake_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a script named go on the path, empty for the test to fill, and make the cache empty."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GO_RUNS", str(tmp_path / "runs"))
    script = tmp_path / "bin" / "go"
    script.parent.mkdir()
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    script.touch(mode=0o755)
    return script


class TestServer:
    def test_ready(self, control_plane: ControlPlane) -> None:
        """A started control plane is ready, and says which version of Kubernetes it is."""
        assert control_plane.request("GET", "/readyz") == Reply(200, "ok")
        assert len(control_plane.pids) == 2
        if not os.environ.get("KUBEBUILDER_ASSETS"):
            assert control_plane.request("GET", "/version").checked()["gitVersion"] == version()

    def test_admin_creates_and_lists(self, control_plane: ControlPlane, real_namespace: str) -> None:
        """The admin may create, list, change and delete objects; a fresh namespace starts empty."""
        path = f"/api/v1/namespaces/{real_namespace}/pods"
        assert control_plane.request("GET", path).checked()["items"] == []

        assert control_plane.request("POST", path, pod("one")).status == 201
        control_plane.request("PATCH", f"{path}/one", {"metadata": {"labels": {"a": "b"}}}).checked()
        (item,) = control_plane.request("GET", path).checked()["items"]
        assert (item["metadata"]["name"], item["metadata"]["labels"]) == ("one", {"a": "b"})

        control_plane.request("DELETE", f"{path}/one?gracePeriodSeconds=0").checked()
        assert control_plane.request("GET", path).checked()["items"] == []

    def test_custom_resource(self, control_plane: ControlPlane, real_namespace: str) -> None:
        """A custom resource can be used as soon as the wait for its path is over."""
        group = f"{real_namespace}.kwsync.test"
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        path = f"/apis/{group}/v1/namespaces/{real_namespace}/widgets"
        control_plane.request("POST", definitions, widget_definition(group)).checked()
        control_plane.wait_served(path)

        widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "one"}, "size": 3}
        assert control_plane.request("POST", path, widget).checked()["size"] == 3
        control_plane.request("DELETE", f"{definitions}/widgets.{group}").checked()

    @pytest.mark.parametrize(
        ("method", "path"),
        [("GET", "/api/v1/pods"), ("GET", "/api/v1/namespaces/default/secrets"), ("DELETE", f"{PODS}/any")],
    )
    def test_viewer(self, control_plane: ControlPlane, method: str, path: str) -> None:
        """The viewer reads the pods of the namespace default and is refused everything else."""
        assert control_plane.request("GET", PODS, token=control_plane.viewer_token).status == 200

        refusal = control_plane.request(method, path, token=control_plane.viewer_token)
        assert (refusal.status, refusal.body["reason"]) == (403, "Forbidden")

    @pytest.mark.parametrize(
        ("who", "status"),
        [("anonymous", 403), ("nobody", 403), ("stranger", 401)],
    )
    def test_without_rights(self, control_plane: ControlPlane, who: str, status: int) -> None:
        """No token and a token without rights are refused with 403, an unknown token with 401."""
        token = {"anonymous": "", "nobody": control_plane.nobody_token, "stranger": "unknown"}[who]
        assert control_plane.request("GET", PODS, token=token).status == status

    def test_client_certificate(self, control_plane: ControlPlane) -> None:
        """The client certificate makes an admin without any token."""
        tls = control_plane.tls_context()
        tls.load_cert_chain(control_plane.client_cert_file, control_plane.client_key_file)
        review = control_plane.request(
            "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {"metadata": {}}, token="", tls=tls
        ).checked()
        user = review["status"]["userInfo"]
        assert user["username"] == "certificate-admin"
        assert "system:masters" in user["groups"]

    def test_kubeconfig(self, control_plane: ControlPlane) -> None:
        """The kubeconfig names this server, its authority and the token of the admin or of another user."""
        config = control_plane.kubeconfig()
        assert config["clusters"][0]["cluster"]["server"] == control_plane.url
        assert Path(config["clusters"][0]["cluster"]["certificate-authority"]) == control_plane.ca_file
        assert config["users"][0]["user"] == {"token": control_plane.admin_token}
        assert control_plane.kubeconfig("other")["users"][0]["user"] == {"token": "other"}


class TestLife:
    @pytest.mark.slow
    def test_restarts_and_ends_without_a_trace(self, control_plane: ControlPlane) -> None:
        """A restarted server keeps its address and data; after the end no process, port or folder is left."""
        with ControlPlane(control_plane.binaries, extra_apiserver=["--event-ttl=5m"]) as plane:
            before, url = plane.pids, plane.url
            plane.request("POST", PODS, pod("kept")).checked()
            plane.restart_apiserver()
            assert plane.pids[0] == before[0]
            assert plane.pids[1] != before[1]
            assert plane.request("GET", f"{PODS}/kept").status == 200
            pids, folder = {*before, *plane.pids}, plane.folder

        assert plane.pids == []
        assert [pid for pid in pids if is_alive(pid)] == []
        assert not folder.exists()
        with socket.socket() as client:
            assert client.connect_ex(("127.0.0.1", urlsplit(url).port or 0)) != 0
        plane.stop()  # a second time does no harm

    def test_failed_start_tells_why(self, control_plane: ControlPlane) -> None:
        """A server that ends at once is an error with the end of its log, and leaves nothing behind."""
        plane = ControlPlane(control_plane.binaries, extra_apiserver=["--no-such-flag"])
        with pytest.raises(StartError, match="no-such-flag"):
            plane.start()
        assert plane.pids == []
        assert not plane.folder.exists()

    @pytest.mark.slow
    def test_unreachable(self, control_plane: ControlPlane) -> None:
        """A killed server refuses connections until it is started again."""
        with ControlPlane(control_plane.binaries) as plane:
            plane.stop_apiserver(kill=True)
            with pytest.raises(ConnectionRefusedError):
                send(plane.url, "GET", "/readyz", tls=plane.tls_context())
            plane.start_apiserver()
            assert plane.request("GET", "/readyz").status == 200


class TestBuild:
    def test_assets_come_first(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """KUBEBUILDER_ASSETS wins when both programs are there; without one of them it is a reason."""
        monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
        missing = find_binaries()
        assert missing.folder is None
        assert "KUBEBUILDER_ASSETS" in missing.reason

        for program in PROGRAMS:
            (tmp_path / program).touch(mode=0o755)
        assert find_binaries() == Found(tmp_path)

    @pytest.mark.usefixtures("fake_go")
    def test_no_go(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without Go there is a reason instead of a folder."""
        monkeypatch.setenv("PATH", "")
        found = find_binaries()
        assert found.folder is None
        assert "Go is not installed" in found.reason

    def test_builds_once(self, fake_go: Path, tmp_path: Path) -> None:
        """Finders at the same time build once, into a folder named after the version; nothing else stays."""
        fake_go.write_text(BUILDS)
        found: list[Found] = []
        threads = [threading.Thread(target=lambda: found.append(find_binaries())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

        assert found == [Found(cache_folder())] * 3
        assert (tmp_path / "runs").read_text() == "run\n"
        assert cache_folder().name.startswith(version() + "-")
        assert sorted(cache_folder().parent.iterdir()) == [cache_folder(), Path(f"{cache_folder()}.lock")]

    def test_failed_build(self, fake_go: Path) -> None:
        """A build that fails is a reason with the end of its output, and leaves no folder."""
        fake_go.write_text("#!/bin/sh\necho no such module >&2\nexit 1\n")
        found = find_binaries()
        assert found.folder is None
        assert "exit code 1" in found.reason
        assert "no such module" in found.reason
        assert not cache_folder().exists()

    def test_slow_build(self, fake_go: Path) -> None:
        """A build beyond its time limit is ended and is a reason."""
        fake_go.write_text("#!/bin/sh\nsleep 600\n")
        found = find_binaries(limit=0.1)
        assert found.folder is None
        assert "longer than" in found.reason

    def test_skip_or_fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the server tests skip with the reason; they fail where the server is required."""
        for name in (REQUIRED, "CI"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(pytest.skip.Exception, match="no Go"):
            give_up("no Go")
        for name, value in ((REQUIRED, "1"), ("CI", "true")):
            monkeypatch.setenv(name, value)
            with pytest.raises(pytest.fail.Exception, match="no Go"):
                give_up("no Go")
            monkeypatch.delenv(name)
        monkeypatch.setenv("CI", "true")
        monkeypatch.setenv(REQUIRED, "0")
        with pytest.raises(pytest.skip.Exception, match="no Go"):
            give_up("no Go")


def is_alive(pid: int) -> bool:
    """Ask the system whether the process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
