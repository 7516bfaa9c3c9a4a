"""The informer against servers: its cache equals theirs through whatever happens, and it ends when told to."""

from __future__ import annotations

import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import urlsplit

import pytest

from kwsync import Backoff, CancelToken, Client, Cluster, Informer, Resource, SharedInformers, WatchError, _shared
from kwsync.credentials import Anonymous
from kwsync.errors import ErrorOrigin
from kwsync.testing import (
    ApiServer,
    Event,
    Fault,
    Head,
    Http,
    List,
    NoHead,
    Rst,
    ScriptedServer,
    Stall,
    bookmark,
    pod,
    status,
)
from tests.cancel.support import handling, in_child
from tests.keeping.support import AT_ONCE, LIMIT, Document, Told, in_background, known, wait_until
from tests.leaks import open_sockets

QUICK = Backoff(initial=0.005, cap=0.02)


def configmap(name: str, text: str = "", **metadata: Any) -> Document:
    """A small object that any server takes."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "data": {"text": text},
    }


@pytest.fixture
def client(api_server: ApiServer) -> Iterator[Client]:
    """A client of the server."""
    with api_server.client() as made:
        yield made


@pytest.fixture
def server(api_server: ApiServer) -> ApiServer:
    """A server with two objects."""
    for name in ("a", "b"):
        api_server.create(configmap(name))
    return api_server


def new(client: Client, **options: Any) -> Informer:
    """An informer of configmaps."""
    return Informer("configmaps", client=client, **{"backoff": QUICK, **options})


def told_by(informer: Informer) -> Told:
    """A handler that notes everything."""
    told = Told()
    informer.add_handler(**told.callbacks)
    return told


def equals(informer: Informer, server: ApiServer) -> bool:
    """Is the store what the server has?"""
    return sorted(informer.store.list(), key=_name) == sorted(server.list("configmaps"), key=_name)


def _name(document: Document) -> str:
    name: str = document["metadata"]["name"]
    return name


def wait_equal(informer: Informer, server: ApiServer) -> None:
    """Wait until it is."""
    wait_until(lambda: equals(informer, server), f"the server's state; {informer.status}")


def versions(server: ApiServer) -> dict[str, str]:
    """The versions by name."""
    return {_name(each): each["metadata"]["resourceVersion"] for each in server.list("configmaps")}


class TestEqual:
    @pytest.mark.parametrize("watch_list", [False, True])
    @pytest.mark.parametrize("page_size", [1, 500, None])
    def test_changes(self, server: ApiServer, client: Client, watch_list: bool, page_size: int | None) -> None:
        """The cache is what the server has, by lists of any size and by initial events, and handlers know the same."""
        with new(client, watch_list=watch_list, page_size=page_size) as informer:
            told = told_by(informer)
            assert informer.wait_synced(LIMIT)
            assert equals(informer, server)
            server.create(configmap("c"))
            server.patch("configmaps", "a", {"data": {"text": "new"}})
            server.delete("configmaps", "b")
            wait_equal(informer, server)
            wait_until(lambda: known(told) == versions(server), "what the handler knows")
            assert informer.last_error is None

    def test_read_your_own_writes(self, server: ApiServer, client: Client) -> None:
        """After a write one can wait for its version, and then read what was written."""
        with new(client) as informer:
            assert informer.wait_synced(LIMIT)
            for number in range(20):
                written = client.patch("configmaps", "a", {"data": {"text": str(number)}}, namespace="default")
                assert informer.store.wait_until(written["metadata"]["resourceVersion"], LIMIT)
                assert (informer.store.get("default/a") or {})["data"]["text"] == str(number)

    def test_e2_missed_changes(self, server: ApiServer, client: Client) -> None:
        """What happens while the server is away is told by the next list: DELETED, ADDED anew, MODIFIED, ADDED."""
        with new(client) as informer:
            server.create(configmap("c"))
            told = told_by(informer)
            wait_until(lambda: len(known(told)) == 3 and "SYNCED" in told.short, "the initial state")
            wait_until(informer.healthy, "the watch")
            with server.unseen():
                server.delete("configmaps", "a")
                server.delete("configmaps", "b")
                server.create(configmap("b"))
                server.patch("configmaps", "c", {"data": {"text": "new"}})
                server.create(configmap("d"))
            before = len(told.short)
            server.restart()
            wait_equal(informer, server)
            wait_until(lambda: known(told) == versions(server), "what the handler knows")
            kinds = [event.split()[:2] for event in told.short[before:]]
            assert kinds == [["DELETED", "a"], ["DELETED", "b"], ["ADDED", "b"], ["MODIFIED", "c"], ["ADDED", "d"]]
            assert all(event.endswith("unknown") for event in told.short[before : before + 2])
            assert informer.status.relists >= 1

    def test_going_back_in_time(self, server: ApiServer, client: Client) -> None:
        """After the restore of a backup a list makes the cache what the server has, though versions come twice."""
        with new(client) as informer:
            told = told_by(informer)
            wait_equal(informer, server)
            past = server.resource_version
            server.patch("configmaps", "a", {"data": {"text": "lost"}})
            server.create(configmap("lost"))
            wait_equal(informer, server)
            server.fail_next(Fault.error_event(410), verb="watch")
            server.go_back(past)
            wait_equal(informer, server)
            server.patch("configmaps", "a", {"data": {"text": "kept"}})
            server.create(configmap("kept"))
            wait_equal(informer, server)
            wait_until(lambda: known(told) == versions(server), "what the handler knows")

    def test_label_selector(self, server: ApiServer, client: Client) -> None:
        """An object that leaves the selection is gone, and one that comes back is the same one."""
        server.create(configmap("x", labels={"app": "web"}))
        with new(client, label_selector={"app": "web"}) as informer:
            told = told_by(informer)
            told.wait(2)
            server.patch("configmaps", "x", {"metadata": {"labels": {"app": "db"}}})
            told.wait(3)
            server.patch("configmaps", "x", {"metadata": {"labels": {"app": "web"}}})
            assert [event.split()[0] for event in told.wait(4)] == ["ADDED", "SYNCED", "DELETED", "ADDED"]
            assert len(informer.store) == 1

    def test_metadata_view(self, server: ApiServer, client: Client) -> None:
        """With the metadata alone an object is kept as such."""
        with new(client, view="metadata") as informer:
            assert informer.wait_synced(LIMIT)
            found = informer.store.get("default/a")
            assert found is not None
            assert (found["kind"], "data" in found) == ("PartialObjectMetadata", False)

    def test_table_view(self) -> None:
        """Of a Table a list tells only what has changed, though every age has; labels are those of the rows."""
        times = [datetime.now(timezone.utc)]
        with ApiServer(now=lambda: times[-1]) as server, server.client() as client:
            for name in ("a", "b"):
                server.create(configmap(name, labels={"app": name}))
            with new(client, view="table") as informer:
                told = told_by(informer)
                wait_until(lambda: len(told.events) == 3, "the initial state")
                wait_until(informer.healthy, "the watch")
                times.append(times[-1] + timedelta(hours=5))
                with server.unseen():
                    server.patch("configmaps", "b", {"data": {"text": "new"}})
                server.restart()
                wait_until(lambda: informer.status.relists > 0, "a list")
                wait_until(lambda: len(told.events) > 3, "what has changed")
                assert [(str(event.type), event.key.name) for event in told.events[3:]] == [("MODIFIED", "b")]
                assert len(informer.store.list(label_selector="app=b")) == 1

    @pytest.mark.parametrize("seed", range(3))
    def test_through_faults(self, api_server: ApiServer, client: Client, seed: int) -> None:
        """Whatever goes wrong, the cache is what the server has once it stops, and so is what handlers know."""
        chance = random.Random(seed)
        faults = [
            Fault.drop(1),
            Fault.reset(0),
            Fault.cut_line(1),
            Fault.cut_chunk(),
            Fault.end(2),
            Fault.answer(500),
            Fault.answer(410),
            Fault.error_event(410),
            Fault.error_event(500, after=1),
            Fault.gzip(),
        ]
        with new(client, page_size=3, watch_list=bool(seed % 2)) as informer:
            slow, quick = told_by(informer), told_by(informer)
            assert informer.wait_synced(LIMIT)
            for number in range(300):
                if number % 3 == 0:
                    api_server.fail_next(chance.choice(faults), times=chance.randint(1, 2))
                if number % 50 == 49:
                    chance.choice([api_server.restart, api_server.end_watches, api_server.forget_history])()
                slow.go_on.clear() if number % 40 == 0 else slow.go_on.set()
                change_something(api_server, chance)
            api_server.clear_faults()
            slow.go_on.set()
            wait_equal(informer, api_server)
            for told in (slow, quick):
                wait_until(lambda told=told: known(told) == versions(api_server), "what the handler knows")  # type: ignore[misc]


def change_something(server: ApiServer, chance: random.Random) -> None:
    """Create, change, delete or recreate one of a few objects."""
    name = chance.choice("abcdefgh")
    there = name in versions(server)
    if not there:
        server.create(configmap(name))
    elif chance.random() < 0.6:
        server.patch("configmaps", name, {"data": {"text": str(chance.random())}})
    else:
        server.delete("configmaps", name)
        if chance.random() < 0.5:
            server.create(configmap(name))


class TestErrors:
    def test_a_server_that_fails(self, scripted_server: ScriptedServer) -> None:
        """Each failure is told, and the informer is synced as soon as there is a list."""
        scripted_server.default = (Http(503, status(503, "ServiceUnavailable")),)
        errors: list[WatchError] = []
        with scripted_client(scripted_server) as client:
            informer = Informer("pods", client=client, backoff=QUICK, on_error=errors.append)
            with informer:
                wait_until(lambda: len(errors) >= 3, "errors")
                assert (informer.wait_synced(0.01), informer.healthy()) == (False, False)
                assert informer.last_error is not None
                assert informer.last_error.status_code == 503
                scripted_server.default = (Head(), Stall())
                scripted_server.add(List("10", [pod("a", "1")]))
                assert informer.wait_synced(LIMIT)
                wait_until(informer.healthy, "health")
                assert informer.status.last_activity is not None
        assert {error.origin for error in errors} == {ErrorOrigin.HTTP}

    def test_b055_an_object_without_a_name(self, scripted_server: ScriptedServer) -> None:
        """What has no name is told as an error; all else of the list is kept (client-go rejects all of it)."""
        nameless = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default"}}
        scripted_server.default = (Head(), Stall())
        scripted_server.add(List("10", [pod("a", "1"), nameless, pod("b", "2")]))
        errors: list[WatchError] = []
        with scripted_client(scripted_server) as client:
            informer = Informer("pods", client=client, on_error=errors.append)
            with informer:
                assert informer.wait_synced(LIMIT)
                assert sorted(map(str, informer.store)) == ["default/a", "default/b"]
        assert [error.origin for error in errors] == [ErrorOrigin.DECODE]

    def test_b080_bookmark_of_a_server(self, scripted_server: ScriptedServer) -> None:
        """A bookmark on the wire moves the store's version."""
        scripted_server.default = (Head(), Event("BOOKMARK", bookmark("77")), Stall())
        scripted_server.add(List("10", [pod("a", "1")]))
        with scripted_client(scripted_server) as client, Informer("pods", client=client) as informer:
            assert informer.store.wait_until("77", LIMIT)
            assert informer.store.resource_version == "77"


def connections_to(port: int) -> int:
    """How many open connections this process has to a port."""
    found = 0
    for descriptor in open_sockets().values():
        with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copy:
            found += copy.family == socket.AF_INET and copy.getpeername()[1] == port
    return found


def test_e7_reconnecting_leaves_nothing(scripted_server: ScriptedServer) -> None:
    """Fifty times a list, an event and a reset: one connection at a time, and the cache is what the list was."""
    rounds, most = 50, list[int]()
    for number in range(rounds):
        version = 10 * (number + 1)
        scripted_server.add(List(str(version), [pod("stays", "1")]))
        scripted_server.add(Head(), Event("ADDED", pod(f"new-{number}", str(version + 1))), Rst())
        scripted_server.add(Http(410, status(410, "Expired")))
    scripted_server.add(List("9999", [pod("stays", "1")]))
    scripted_server.default = (Head(), Stall())
    port = urlsplit(scripted_server.url).port
    assert port is not None
    with scripted_client(scripted_server) as client, Informer("pods", client=client, backoff=QUICK) as informer:
        told = Told()
        informer.add_handler(**told.callbacks)
        informer.add_handler(lambda event: most.append(connections_to(port)))
        assert informer.store.wait_until("9999", LIMIT)
        wait_until(lambda: known(told) == {"stays": "1"}, "what the handler knows")
        wait_until(informer.healthy, "the last watch")
        assert list(map(str, informer.store)) == ["default/stays"]
        assert informer.status.relists == rounds
        wait_until(lambda: connections_to(port) <= 1, "no connection but the watch's")
    assert max(most) <= 2, "the watch's, and one that is kept for the next list"
    assert told.short.count("SYNCED") == 1


def scripted_client(server: ScriptedServer) -> Client:
    """A client of a scripted server."""
    return Client(Cluster(server.url), Anonymous())


class TestEnding:
    @pytest.mark.parametrize("way", ["stop", "token", "event", "signal"])
    @pytest.mark.parametrize("phase", ["list", "watch", "backoff"])
    def test_f6_at_once(self, scripted_server: ScriptedServer, phase: str, way: str) -> None:
        """It ends at once while it lists, watches or waits to try again: by stop, a cancel event or a signal."""
        scripted_server.default = {
            "list": (NoHead(), Stall()),
            "watch": (Head(), Stall()),
            "backoff": (Http(503, status(503)),),
        }[phase]
        if phase == "watch":
            scripted_server.add(List("10", [pod("a", "1")]))
        cancel = CancelToken() if way == "token" else threading.Event()
        errors: list[Any] = []
        with scripted_client(scripted_server) as client:
            informer = Informer(
                "pods", client=client, cancel=cancel, on_error=errors.append, backoff=Backoff(initial=60, cap=60)
            )
            informer.add_handler(lambda event: None)
            informer.start()
            scripted_server.wait_for_requests(2 if phase == "watch" else 1, LIMIT)
            if phase == "backoff":
                wait_until(lambda: len(errors) == 1, "the error")
            start = time.monotonic()
            if way == "signal":
                with handling(signal.SIGUSR1, lambda number, frame: informer.stop()):
                    signal.raise_signal(signal.SIGUSR1)
            elif way == "stop":
                informer.stop()
            else:
                cancel.set()
            assert informer.join(LIMIT), "it did not end"
            assert time.monotonic() - start < AT_ONCE
            assert informer.wait_synced() is False
            assert informer.store.wait_until("99") is False

    def test_restart(self, server: ApiServer, client: Client) -> None:
        """Started again it hears of everything that happened meanwhile, and no connection is left of before."""
        informer = new(client)
        told = told_by(informer)
        for number in range(5):
            with informer:
                assert informer.wait_synced(LIMIT)
                wait_equal(informer, server)
                wait_until(lambda: known(told) == versions(server), "what the handler knows")
            server.patch("configmaps", "a", {"data": {"text": str(number)}})
            server.create(configmap(f"n{number}"))
            server.delete("configmaps", f"n{number - 1}") if number else None
        assert told.short.count("SYNCED") == 1


def expecting_ends(work: Callable[[], None]) -> Callable[[], None]:
    """The work, for which an informer that another thread has just stopped is no mistake."""

    def run() -> None:
        try:
            work()
        except RuntimeError as error:
            assert "still ending" in str(error)  # noqa: PT017 - only perhaps

    return run


class TestShared:
    def test_one_for_each_selection(self, server: ApiServer, client: Client) -> None:
        """Who asks for the same selection, however it is written, gets the same informer, and there is one watch."""
        informers = SharedInformers(client)
        same = [
            informers.informer("configmaps", namespace="default", label_selector={"a": "b"}),
            informers.informer("cm", namespace="default", label_selector="a=b"),
            informers.informer("v1/configmaps", namespace="default", label_selector={"a": "b"}),
        ]
        others = [
            informers.informer("configmaps", namespace="default"),
            informers.informer("configmaps", namespace=""),
            informers.informer("secrets", namespace="default"),
        ]
        assert informers.informer("configmaps") is others[1]
        assert len(set(map(id, same))) == 1
        assert len(informers.informers) == 4
        with informers:
            assert informers.wait_synced(LIMIT)
            wait_until(lambda: all(informer.healthy() for informer in informers.informers), "the watches")
            watches = [request for request in server.requests if "watch=true" in request.target]
            assert len(watches) == 4
        assert not any(informer.is_alive() for informer in informers.informers)

    def test_b101_start_again(self, server: ApiServer, client: Client) -> None:
        """start() starts those that do not run, may be called again, also after stop(); each can be stopped alone."""
        informers = SharedInformers(client)
        first = informers.informer("configmaps")
        informers.start()
        second = informers.informer("secrets")
        assert informers.wait_synced(LIMIT) is False, "one has not been started"
        informers.start()
        assert informers.wait_synced(LIMIT)
        assert (first.is_alive(), second.is_alive()) == (True, True)
        first.stop()
        assert first.join(LIMIT)
        assert second.is_alive()
        informers.stop()
        assert informers.join(LIMIT)
        with informers:
            assert informers.wait_synced(LIMIT)

    def test_b102_wait_synced(self, scripted_server: ScriptedServer) -> None:
        """Waiting for all of them ends when one is stopped, or after the timeout, and tells so."""
        scripted_server.default = (NoHead(), Stall())
        with scripted_client(scripted_server) as client:
            informers = SharedInformers(client)
            informer = informers.informer("pods")
            with informers:
                assert informers.wait_synced(0.01) is False
                found: list[bool] = []
                with in_background(lambda: found.append(informers.wait_synced())):
                    informer.stop()
                assert found == [False]

    def test_b101_other_options(self, client: Client) -> None:
        """What belongs to the informer must be the same for all who share it, else ValueError, which names it."""
        informers = SharedInformers(client)
        transform = dict
        informer = informers.informer("pods", transform=transform, resync=30)
        assert informers.informer("pods", transform=transform, resync=30) is informer
        with pytest.raises(ValueError, match="another transform, resync"):
            informers.informer("pods")

    def test_b101_how_it_follows(self, client: Client) -> None:
        """How it fails, what it takes and what ends it must be the same, too: the very same event ends all of it."""
        informers, cancel = SharedInformers(client), threading.Event()
        same: dict[str, Any] = {"cancel": cancel, "max_line_bytes": 1 << 20}
        informer = informers.informer("pods", backoff=Backoff(initial=1), **same)
        assert informers.informer("pods", backoff=Backoff(initial=1), **same) is informer
        with pytest.raises(ValueError, match="another backoff, max_line_bytes, cancel"):
            informers.informer("pods", cancel=threading.Event())
        assert informers.informer("secrets") is informers.informer("secrets", backoff=Backoff())

    def test_cancel(self, server: ApiServer, client: Client) -> None:
        """The event ends the informer that it was given for, and no other."""
        informers, cancel = SharedInformers(client), CancelToken()
        ending = informers.informer("configmaps", cancel=cancel)
        staying = informers.informer("secrets")
        with informers:
            assert informers.wait_synced(LIMIT)
            cancel.set()
            assert ending.join(LIMIT)
            assert staying.is_alive()

    def test_b067_indexers_are_added(self, server: ApiServer, client: Client) -> None:
        """Each may bring its own indexers; another function for a name is refused."""

        def by_name(document: Document) -> list[str]:
            return [document["metadata"]["name"]]

        informers = SharedInformers(client)
        informer = informers.informer("configmaps", indexers={"name": by_name})
        informers.informer("configmaps", indexers={"kind": lambda document: [document["kind"]]})
        informers.informer("configmaps")
        with pytest.raises(ValueError, match="name"):
            informers.informer("configmaps", indexers={"name": lambda document: []})
        with informers:
            assert informers.wait_synced(LIMIT)
            assert sorted(informer.store.index_values("name")) == ["a", "b"]
            assert informer.store.index_values("kind") == ["ConfigMap"]

    def test_b101_one_key(self, client: Client) -> None:
        """The order of a mapping makes no other selection, nor does a name that is written as a field."""
        informers = SharedInformers(client)
        same = [
            [informers.informer("pods"), informers.informer(Resource("", "v1", "pods")), informers.informer("po")],
            [
                informers.informer("pods", label_selector={"a": "1", "b": ["2", "3"]}),
                informers.informer("pods", label_selector={"b": ["2", "3"], "a": "1"}),
            ],
            [
                informers.informer("pods", name="x"),
                informers.informer("pods", field_selector="metadata.name=x"),
                informers.informer("pods", field_selector={"metadata.name": "x"}),
            ],
        ]
        assert [len(set(map(id, each))) for each in same] == [1, 1, 1]
        assert len(informers.informers) == 3

    @pytest.mark.parametrize("action", ["informer", "start", "stop"])
    def test_two_threads(self, server: ApiServer, client: Client, action: str) -> None:
        """Threads that ask, start and stop at the same time do not disturb each other, and get the same informer."""
        informers = SharedInformers(client)
        barrier, found = threading.Barrier(4), list[Informer]()

        def ask() -> None:
            barrier.wait(LIMIT)
            found.append(informers.informer("configmaps"))
            if action != "informer":
                informers.start()
            if action == "stop":
                informers.stop()

        for _ in range(10):
            with ExitStack() as stack:
                for _ in range(4):
                    stack.enter_context(in_background(expecting_ends(ask)))
            informers.stop()
            assert informers.join(LIMIT)
        assert len(set(map(id, found))) == 1

    def test_starting_while_it_starts(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """A second start does nothing, also in the middle of the first, and waits for nothing."""
        informers, go_on, entered = SharedInformers(client), threading.Event(), threading.Event()
        informers.informer("pods")
        start = threading.Thread.start

        def slow(thread: threading.Thread) -> None:
            if thread.name == "kwsync-informer-pods":
                entered.set()
                assert go_on.wait(LIMIT)
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", slow)
        with in_background(informers.start):
            assert entered.wait(LIMIT)
            informers.start()
            go_on.set()
        informers.stop()
        assert informers.join(LIMIT)

    def test_entering_fails_half_way(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where one cannot be started, those that were are stopped."""
        informers = SharedInformers(client)
        informers.informer("pods")
        informers.informer("secrets")
        start = threading.Thread.start

        def refuse(thread: threading.Thread) -> None:
            if thread.name == "kwsync-informer-secrets":
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(OSError, match="thread"):
            informers.__enter__()
        assert informers.join(0), "it has waited for their end"
        assert not any(informer.status.running for informer in informers.informers)

    def test_b102_one_is_not_started(self, scripted_server: ScriptedServer) -> None:
        """Waiting ends at once where one does not run, in whatever order they are."""
        scripted_server.default = (NoHead(), Stall())
        with scripted_client(scripted_server) as client:
            informers = SharedInformers(client)
            informers.informer("pods")
            with informers:
                informers.informer("secrets")
                assert informers.wait_synced() is False

    def test_leaving_has_one_limit(
        self, server: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Leaving the block waits once for all callbacks that are busy, not once for each, and tells which are."""
        monkeypatch.setattr(_shared, "EXIT_SECONDS", 0.5)
        informers, go_on = SharedInformers(client), threading.Event()
        entered = [threading.Event() for _ in range(3)]
        for number, event in enumerate(entered):
            informer = informers.informer("configmaps", name="a", label_selector=f"!x{number}")
            informer.add_handler(lambda _, event=event: (event.set(), go_on.wait(LIMIT)))  # type: ignore[misc]
        with informers:
            assert all(event.wait(LIMIT) for event in entered)
            started = time.monotonic()
        assert 0.4 < time.monotonic() - started < 1.2
        assert caplog.text.count("a callback has been busy") == 3
        go_on.set()
        assert informers.join(LIMIT)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    def test_fork_while_somebody_asks(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """A child that was forked in the middle of a call asks as if nothing had happened."""
        informers, go_on, entered = SharedInformers(client), threading.Event(), threading.Event()

        class Slow(Informer):
            def __init__(self, *given: Any, **options: Any) -> None:
                entered.set()
                assert go_on.wait(LIMIT)
                super().__init__(*given, **options)

        def ask() -> list[Any]:
            go_on.set()
            return [repr(informers.informer("pods")), len(informers.informers)]

        monkeypatch.setattr(_shared, "Informer", Slow)
        with in_background(lambda: informers.informer("pods")):
            assert entered.wait(LIMIT)
            found = in_child(ask)
            go_on.set()
        assert found == ["<Informer pods not running 0 objects>", 1]

    def test_errors_go_to_one_place(self, scripted_server: ScriptedServer) -> None:
        """What goes wrong in any of them is told to the one on_error."""
        scripted_server.default = (Http(403, status(403, "Forbidden")),)
        errors: list[Any] = []
        with scripted_client(scripted_server) as client:
            informers = SharedInformers(client, on_error=errors.append)
            informers.informer("pods")
            informers.informer("secrets")
            with informers:
                wait_until(lambda: len({error.resource_path for error in errors}) == 2, "errors of both")
