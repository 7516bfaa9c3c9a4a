"""Clients of others take the server for a Kubernetes API server: the official one for Python, and lightkube."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kwsync.testing import ApiServer, TestCA
from tests.testing.apiserver.required import required_module
from tests.testing.apiserver.wire import config_map

MASTERS = ["system:masters"]
SECONDS = 10


@pytest.fixture
def secure(api_ca: TestCA, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A server with TLS, reached without whatever proxy the machine has."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    with ApiServer(tls=api_ca) as server:
        yield server


class TestOfficial:
    @pytest.fixture
    def core(self, secure: ApiServer) -> Iterator[Any]:
        """The official client's core API."""
        kubernetes = required_module("kubernetes")
        with kubernetes.config.new_client_from_config_dict(secure.kubeconfig("admin", groups=MASTERS)) as client:
            yield kubernetes.client.CoreV1Api(client)

    def test_list(self, secure: ApiServer, core: Any) -> None:
        """Its lists are typed, whole or in pages."""
        for name in "abc":
            secure.create(config_map(name, k=name))
        found = core.list_namespaced_config_map("default")
        assert [(one.metadata.name, one.data) for one in found.items] == [(name, {"k": name}) for name in "abc"]
        page = core.list_namespaced_config_map("default", limit=2)
        rest = core.list_namespaced_config_map("default", limit=2, _continue=page.metadata._continue)
        assert [one.metadata.name for one in page.items + rest.items] == ["a", "b", "c"]

    def test_watch(self, secure: ApiServer, core: Any) -> None:
        """Its Watch gives the state, then each change, and goes on where a stream ended."""
        watch = required_module("kubernetes").watch.Watch()
        secure.create(config_map("a"))
        stream = watch.stream(core.list_namespaced_config_map, "default", timeout_seconds=SECONDS)
        assert told(next(stream)) == ("ADDED", "a")
        secure.create(config_map("b"))
        assert told(next(stream)) == ("ADDED", "b")
        secure.delete("configmaps", "a")
        assert told(next(stream)) == ("DELETED", "a")
        watch.stop()
        secure.end_watches()
        assert list(stream) == []

    def test_writes(self, secure: ApiServer, core: Any) -> None:
        """It creates, patches, replaces and deletes; a stale version is a conflict."""
        kubernetes = required_module("kubernetes")
        new = kubernetes.client.V1ConfigMap(metadata=kubernetes.client.V1ObjectMeta(name="a"), data={"k": "v"})
        created = core.create_namespaced_config_map("default", new)
        assert core.patch_namespaced_config_map("a", "default", {"data": {"n": "1"}}).data == {"k": "v", "n": "1"}
        with pytest.raises(kubernetes.client.ApiException) as caught:
            core.replace_namespaced_config_map("a", "default", created)
        assert caught.value.status == 409
        created.metadata.resource_version = None
        core.replace_namespaced_config_map("a", "default", created)
        assert secure.get("configmaps", "a")["data"] == {"k": "v"}
        core.delete_namespaced_config_map("a", "default")
        assert secure.list("configmaps") == []


def told(event: Any) -> tuple[str, str]:
    """Its type, and the name of its object."""
    return event["type"], event["object"].metadata.name


class TestLightkube:
    @pytest.fixture
    def client(self, secure: ApiServer) -> Iterator[Any]:
        """Its client."""
        lightkube = required_module("lightkube")
        config = lightkube.KubeConfig.from_dict(secure.kubeconfig("admin", groups=MASTERS))
        client = lightkube.Client(config=config, trust_env=False)
        yield client
        client._client._client.close()

    @pytest.fixture
    def kind(self) -> Any:
        """Its class of config maps."""
        return required_module("lightkube.resources.core_v1").ConfigMap

    def test_list(self, secure: ApiServer, client: Any, kind: Any) -> None:
        """Its lists go through all pages."""
        for name in "abc":
            secure.create(config_map(name))
        assert [one.metadata.name for one in client.list(kind, chunk_size=2)] == ["a", "b", "c"]

    def test_watch(self, secure: ApiServer, client: Any, kind: Any) -> None:
        """Its watch gives the state, then each change."""
        secure.create(config_map("a"))
        stream = client.watch(kind, server_timeout=SECONDS)
        found = [next(stream)]
        secure.create(config_map("b"))
        found.append(next(stream))
        secure.delete("configmaps", "a")
        found.append(next(stream))
        stream.close()
        told = [(change, object.metadata.name) for change, object in found]
        assert told == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
