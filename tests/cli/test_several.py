"""Several kinds at once, servers that make no tables, and what is shown without the state."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kwsync.testing import ApiServer, Event, Fault, Head, List, ScriptedServer, Stall, pod
from tests.cli.support import LIMIT, config_map, create_all, deployment, event, started, write_config
from tests.cli.support import pod as server_pod

pytestmark = pytest.mark.usefixtures("environment")

NAMES = itertools.count()


@contextmanager
def busy(api: ApiServer) -> Iterator[None]:
    """Somebody creates a ConfigMap every 50 ms."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.05):
            api.create(config_map(f"busy-{next(NAMES)}"))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join(LIMIT)
        assert not worker.is_alive()


@pytest.mark.parametrize("form", ["table", "json"])
@pytest.mark.parametrize("kinds", ["pods,cm", "pods,deploy,cm", "pods,deploy,secrets,cm"])
def test_a_failing_kind_silences_no_busy_one(api: ApiServer, tmp_path: Path, form: str, kinds: str) -> None:
    """A kind that cannot be listed holds up those after it for a second, however much happens in them."""
    api.fail_every(1, Fault.answer(503), path="/api/v1/*/pods")
    create_all(api, config_map("first"), deployment("d"))
    with busy(api), started(tmp_path, "watch", kinds, "-o", form) as command:
        command.until("busy-", 5)
        command.end()


def test_the_end_comes_before_the_wait_is_over(api: ApiServer, tmp_path: Path) -> None:
    """With a --timeout shorter than the wait for a kind in trouble, what is known of the others is shown."""
    api.fail_every(1, Fault.answer(503), path="/api/v1/*/pods")
    create_all(api, config_map("first"))
    with started(tmp_path, "watch", "pods,cm", "-o", "name", "--timeout", "0.9") as command:
        assert command.end(None) == 4
    assert command.lines == ["configmap/first"]
    assert f"{api.url} has not told of pods before --timeout was over" in command.errors


def named(name: str, version: str) -> dict[str, object]:
    """A pod as a server has it."""
    found = pod(name, version)
    found["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    return found


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        (["pods"], ["EVENT", "NAME", "AGE"]),
        (["pods", "-o", "wide"], ["EVENT", "NAME", "AGE"]),
        (["pods", "-A"], ["EVENT", "NAMESPACE", "NAME", "AGE"]),
    ],
)
def test_a_server_without_tables(tmp_path: Path, arguments: list[str], header: list[str]) -> None:
    """A server that answers with plain objects, where it was asked for a Table, makes no empty screen."""
    listed, watched = (List("3", [named("a", "3")]),), (Head(), Event("MODIFIED", named("a", "4")), Stall())
    with ScriptedServer(listed, watched) as server:
        path = write_config(tmp_path / "config", server.url)
        with started(tmp_path, "watch", *arguments, "--kubeconfig", str(path)) as command:
            command.until("MODIFIED")
            command.end()
    lines = [line.split() for line in command.lines]
    assert lines[0] == header
    assert [line[0] for line in lines[1:]] == ["ADDED", "MODIFIED"]
    assert all("a" in line and line[-1].endswith("d") for line in lines[1:])


def test_the_columns_fit_what_is_not_shown(api: ApiServer, tmp_path: Path) -> None:
    """With --no-initial, the header and the first line are as wide as what is there already."""
    create_all(api, server_pod("a-very-long-name"))
    with started(tmp_path, "watch", "pods", "--no-initial") as command:
        api.wait_for_requests(2)  # the list, and the watch
        api.create(server_pod("b"))
        command.until("b ")
        api.patch("pods", "a-very-long-name", {"metadata": {"labels": {"app": "x"}}})
        command.until("MODIFIED")
        command.end()
    assert command.lines == [
        "EVENT      NAME               READY   STATUS    RESTARTS   AGE",
        "ADDED      b                  0/1     Pending   0          0s",
        "MODIFIED   a-very-long-name   0/1     Pending   0          0s",
    ]


def test_the_columns_of_events_fit_what_is_not_shown(api: ApiServer, tmp_path: Path) -> None:
    """So it is with Events."""
    create_all(api, event("a", "2020-01-01T00:00:00Z", reason="FailedScheduling"))
    with started(tmp_path, "events", "--no-initial") as command:
        command.until("what follows is new")
        api.create(event("b", "2020-01-01T00:00:00Z"))
        command.until("Started")
        command.end()
    assert command.lines[0].startswith("LAST SEEN          TYPE     REASON             OBJECT    MESSAGE")
    assert command.lines[2] == "2020-01-01 00:00   Normal   Started            pod/web   Started container main"


def test_a_deletion_that_nobody_saw(api: ApiServer, tmp_path: Path) -> None:
    """What a second list lacks is told as deleted, and that its last state is not known."""
    create_all(api, config_map("a", k="v"))
    with started(tmp_path, "watch", "cm", "-o", "json") as command:
        command.until("ADDED")
        api.fail_every(1, Fault.answer(410), path="/api/v1/*/configmaps", verb="watch")
        api.end_watches()
        api.wait_for_requests(3)
        api.delete("configmaps", "a")
        api.compact(cached=True)
        api.clear_faults()
        command.until("DELETED")
        command.end()
    told = json.loads(command.lines[-1])
    assert (told["type"], told["object"]["metadata"]["name"], told["finalStateUnknown"]) == ("DELETED", "a", True)
