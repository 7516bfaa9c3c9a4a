"""A controller against kube-apiserver itself, and against the server in memory: it counts the pods of replica sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kwsync import Backoff, Client, Cluster, Controller, Informer, ObjectKey, WatchError
from kwsync.credentials import BearerToken
from kwsync.mapping import owner_of
from kwsync.ratelimit import Exponential
from kwsync.testing import ApiServer
from tests.controlplane.server import ControlPlane
from tests.keeping.support import LIMIT, wait_until

RESTART_LIMIT = 30.0
QUICK = Backoff(initial=0.05, cap=0.2)
CONTAINERS = {"containers": [{"name": "main", "image": "none.invalid/none"}]}
LABELS = {"app": "web"}


class Place:
    """A namespace of a server, and a way to kill that server and bring it back."""

    def __init__(self, client: Client, namespace: str, plane: ControlPlane | None) -> None:
        self.client, self.namespace, self._plane = client, namespace, plane

    def restart(self, server: ApiServer | None) -> None:
        """All connections break; the state stays."""
        if self._plane is not None:
            self._plane.restart_apiserver(kill=True)
        elif server is not None:
            server.restart()

    def replica_set(self, name: str) -> dict[str, Any]:
        """Make one."""
        template = {"metadata": {"labels": LABELS}, "spec": CONTAINERS}
        spec = {"selector": {"matchLabels": LABELS}, "template": template}
        return self.client.create("replicasets", {"metadata": {"name": name}, "spec": spec}, self.namespace)

    def pod(self, name: str, owner: dict[str, Any]) -> None:
        """Make one that belongs to a replica set."""
        uid = owner["metadata"]["uid"]
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner["metadata"]["name"], "uid": uid}
        metadata = {"name": name, "labels": LABELS, "ownerReferences": [{**reference, "controller": True}]}
        self.client.create("pods", {"metadata": metadata, "spec": CONTAINERS}, self.namespace)

    def counted(self, name: str) -> int:
        """What the controller has written."""
        return int(self.client.get("replicasets", name, self.namespace)["status"]["replicas"])


@pytest.fixture(params=["real", "memory"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Both servers."""
    if request.param == "memory":
        with request.getfixturevalue("api_server").client() as client:
            yield Place(client, "default", None)
        return
    plane: ControlPlane = request.getfixturevalue("control_plane")
    cluster = Cluster(plane.url, ca_file=str(plane.ca_file))
    with Client(cluster, BearerToken(plane.admin_token)) as client:
        yield Place(client, request.getfixturevalue("real_namespace"), plane)


@pytest.mark.timeout(120)
def test_counts_pods(place: Place, request: pytest.FixtureRequest) -> None:
    """Pods make work of their owners, whose status is written; what fails while the server is away is made up for."""
    memory: ApiServer | None = None if place._plane else request.getfixturevalue("api_server")
    options: dict[str, Any] = {"client": place.client, "namespace": place.namespace, "backoff": QUICK}
    sets = Informer("replicasets", **options)
    pods = Informer("pods", indexers={"owner": lambda pod: [pod["metadata"]["ownerReferences"][0]["name"]]}, **options)
    errors: list[BaseException] = []

    def reconcile(key: ObjectKey) -> None:
        found = sets.store.get(key)
        replicas = len(pods.store.by_index("owner", key.name))
        if found is not None and found["status"].get("replicas", 0) != replicas:
            change = {"status": {"replicas": replicas}}
            place.client.patch("replicasets", key.name, change, key.namespace, subresource="status")

    limiter = Exponential(0.05, 0.5)
    controller: Controller[ObjectKey] = Controller(
        reconcile, workers=4, rate_limiter=limiter, on_error=lambda key, error: errors.append(error)
    )
    controller.watch(sets)
    controller.watch(pods, map=owner_of("replicasets"))
    first, second = place.replica_set("first"), place.replica_set("second")
    place.pod("a", first)
    with controller:
        assert controller.wait_synced(LIMIT)
        wait_until(lambda: place.counted("first") == 1, "the pod that was there")
        place.pod("b", first)
        place.pod("c", second)
        wait_until(lambda: (place.counted("first"), place.counted("second")) == (2, 1), "the pods that came")
        place.restart(memory)
        place.client.delete("pods", "b", place.namespace, grace_period_seconds=0)
        place.pod("d", second)
        controller.enqueue(ObjectKey(place.namespace, "second"))
        wait_until(
            lambda: (place.counted("first"), place.counted("second")) == (1, 2), "all after the restart", RESTART_LIMIT
        )
        wait_until(controller.healthy, "health", RESTART_LIMIT)
    assert not controller.is_alive()
    assert all(isinstance(error, WatchError) for error in errors), errors
