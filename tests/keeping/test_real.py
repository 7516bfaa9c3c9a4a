"""What is kept, against kube-apiserver itself and against the server in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kwsync import Backoff, Client, Cluster, EventType, Informer, WatchError
from kwsync._events import labels_of
from kwsync.credentials import BearerToken
from kwsync.testing import ApiServer
from tests.controlplane.server import ControlPlane
from tests.keeping.selectors import LABELS, MATCHING, OTHERS, REFUSED
from tests.keeping.support import LIMIT, Told, wait_until

RESTART_LIMIT = 30.0
"""Seconds for a real server to be back and followed again."""

QUICK = Backoff(initial=0.05, cap=0.2)


@pytest.fixture
def real_client(control_plane: ControlPlane) -> Iterator[Client]:
    """A client of the real server that may do everything."""
    cluster = Cluster(control_plane.url, ca_file=str(control_plane.ca_file))
    with Client(cluster, BearerToken(control_plane.admin_token)) as made:
        yield made


def configmap(name: str, text: str = "", **labels: str) -> dict[str, Any]:
    """A small object."""
    return {"metadata": {"name": name, "labels": labels}, "data": {"text": text}}


def answers(client: Client, namespace: str) -> dict[str, bool | None]:
    """Whether the one object of the namespace is selected; None for what is refused."""
    return {text: answer(client, namespace, text) for text in [*MATCHING, *OTHERS, *REFUSED]}


def answer(client: Client, namespace: str, selector: str) -> bool | None:
    """Of one selector; the request is made by hand, since no user's client has to send nonsense."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    query = {"labelSelector": selector, "fieldSelector": "metadata.name=labelled"}
    try:
        return bool(client.request("GET", path, query=query)["items"])
    except WatchError as error:
        if error.status_code != 400:
            raise
        return None


EXPECTED: dict[str, bool | None] = {
    **dict.fromkeys(MATCHING, True),
    **dict.fromkeys(OTHERS, False),
    **dict.fromkeys(REFUSED, None),
}


def test_selectors(api_server: ApiServer) -> None:
    """The server in memory answers what `test_matching` expects of the store."""
    with api_server.client() as client:
        client.create("configmaps", configmap("labelled", **LABELS), namespace="default")
        assert answers(client, "default") == EXPECTED


def test_selectors_of_the_real_one(real_client: Client, real_namespace: str) -> None:
    """So does the real one."""
    real_client.create("configmaps", configmap("labelled", **LABELS), namespace=real_namespace)
    assert answers(real_client, real_namespace) == EXPECTED


def sorted_by_name(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What two lists are compared by."""
    return sorted(found, key=lambda each: str(each["metadata"]["name"]))


def known_versions(told: Told) -> dict[str, str | None]:
    """What a handler knows, of objects or of Tables; nothing may come twice."""
    found: dict[str, str | None] = {}
    for event in list(told.events):
        assert (event.key.name in found) is (event.type is EventType.DELETED), told.events
        if event.type is EventType.DELETED:
            del found[event.key.name]
        else:
            found[event.key.name] = event.resource_version
    return found


@pytest.mark.timeout(120)
@pytest.mark.parametrize("view", ["object", "metadata", "table"])
def test_equal_after_a_restart(
    control_plane: ControlPlane, real_client: Client, real_namespace: str, view: str
) -> None:
    """A real server is killed and comes back: the store is what it has, and the handler was told of nothing twice."""

    def versions() -> dict[str, str | None]:
        found = real_client.list("configmaps", real_namespace)
        return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in found}

    for name in "ab":
        real_client.create("configmaps", configmap(name, app=name), namespace=real_namespace)
    told, modified = Told(), list[str]()
    with Informer("configmaps", client=real_client, namespace=real_namespace, view=view, backoff=QUICK) as informer:
        informer.add_handler(on_added=told, on_deleted=told, on_modified=lambda event: modified.append(event.key.name))
        assert informer.wait_synced(LIMIT)
        control_plane.restart_apiserver(kill=True)
        real_client.delete("configmaps", "a", namespace=real_namespace)
        written = real_client.create("configmaps", configmap("c", app="c"), namespace=real_namespace)
        assert informer.store.wait_until(written["metadata"]["resourceVersion"], RESTART_LIMIT), informer.status
        wait_until(lambda: known_versions(told) == versions(), "what the handler knows")
        assert modified == []
        assert [labels_of(each) for each in informer.store.list(label_selector="app in (b)")] == [{"app": "b"}]
        if view == "object":
            expected = real_client.list("configmaps", real_namespace)
            assert sorted_by_name(informer.store.list()) == sorted_by_name(list(expected))
