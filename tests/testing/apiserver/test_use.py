"""How a test uses the server: in its own process, by several threads, several servers, and nothing left behind."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import threading
import time
import weakref
from typing import Any

import pytest

from kwsync import watch_resource
from kwsync.testing import ApiError, ApiServer, pod
from tests.testing.apiserver.wire import MAPS, Http, config_map, definition, opening, stalled, told, widget


class TestVerbs:
    def test_create_and_get(self, api_server: ApiServer) -> None:
        """What is created is what is got, by any name of the kind; the test's own object stays as it was."""
        given = config_map("a", k="v")
        created = api_server.create(given)
        assert given == config_map("a", k="v")
        for name in ("configmaps", "cm", "ConfigMap", "configmap", "v1/configmaps"):
            assert api_server.get(name, "a") == created

    def test_copies(self, api_server: ApiServer) -> None:
        """Nobody can change what is stored but by a write."""
        given = config_map("a", k="v")
        api_server.create(given)["data"]["k"] = "changed"
        given["data"]["k"] = "changed"
        api_server.get("cm", "a")["data"]["k"] = "changed"
        assert api_server.get("cm", "a")["data"] == {"k": "v"}

    def test_objects_of_tests(self, api_server: ApiServer) -> None:
        """An object that has a version, as `pod` makes it, can be created."""
        created = api_server.create(pod("a", rv="77"))
        assert (created["metadata"]["resourceVersion"], created["status"]["phase"]) == ("5", "Pending")

    def test_namespaces(self, api_server: ApiServer) -> None:
        """The argument counts, else the object's own namespace, else default; without one all are listed."""
        other = {**config_map("b"), "metadata": {"name": "b", "namespace": "kube-system"}}
        for object, namespace in ((config_map("a"), None), (other, None), (config_map("c"), "kube-public")):
            api_server.create(object, namespace)
        found = [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in api_server.list("configmaps")]
        assert found == [("default", "a"), ("kube-public", "c"), ("kube-system", "b")]
        assert len(api_server.list("configmaps", "default")) == 1

    def test_selectors(self, api_server: ApiServer) -> None:
        """A list can select."""
        api_server.create(pod("a", metadata={"labels": {"x": "y"}}))
        api_server.create(pod("b"))
        assert [one["metadata"]["name"] for one in api_server.list("pods", label_selector="x=y")] == ["a"]
        assert [one["metadata"]["name"] for one in api_server.list("pods", field_selector="metadata.name=b")] == ["b"]

    def test_changes(self, api_server: ApiServer) -> None:
        """Replace, each kind of patch, the status, and delete."""
        created = api_server.create(pod("a"))
        running = api_server.replace({**created, "status": {"phase": "Running"}}, subresource="status")
        assert running["status"]["phase"] == "Running"
        labels = {"metadata": {"labels": {"x": "1"}}}
        assert api_server.patch("pods", "a", labels)["metadata"]["labels"] == {"x": "1"}
        steps = [{"op": "add", "path": "/metadata/labels/y", "value": "2"}]
        assert api_server.patch("pods", "a", steps, patch_type="json")["metadata"]["labels"] == {"x": "1", "y": "2"}
        assert api_server.patch("pods", "a", labels, patch_type="strategic")["metadata"]["labels"]["y"] == "2"
        assert api_server.delete("pods", "a")["metadata"]["name"] == "a"
        assert api_server.list("pods") == []

    def test_graceful(self, api_server: ApiServer) -> None:
        """A pod on a node stays until its time is up, or until it is killed."""
        api_server.create(pod("a", spec={"nodeName": "n", "containers": [{"name": "c"}]}))
        assert api_server.delete("pods", "a")["metadata"]["deletionGracePeriodSeconds"] == 30
        assert len(api_server.list("pods")) == 1
        api_server.delete("pods", "a", grace_period_seconds=0)
        assert api_server.list("pods") == []

    def test_errors(self, api_server: ApiServer) -> None:
        """What a client would be answered is raised, with the Status; what it could not ask for is ValueError."""
        with pytest.raises(ApiError, match='configmaps "none" not found') as caught:
            api_server.get("configmaps", "none")
        assert (caught.value.code, caught.value.status and caught.value.status["reason"]) == (404, "NotFound")
        with pytest.raises(ValueError, match="nosuch"):
            api_server.list("nosuch")
        with pytest.raises(ValueError, match="Nosuch"):
            api_server.create({"apiVersion": "v1", "kind": "Nosuch", "metadata": {"name": "x"}})

    def test_not_json(self, api_server: ApiServer) -> None:
        """TypeError for what could not be sent."""
        with pytest.raises(TypeError):
            api_server.create({**config_map(), "data": {"k": object()}})

    def test_custom(self, api_server: ApiServer) -> None:
        """A custom kind is there as soon as its definition is."""
        api_server.create(definition())
        api_server.create(widget(size=1))
        assert api_server.get("widgets.example.com", "w")["spec"] == {"size": 1}
        assert api_server.get("example.com/v2/widgets", "w")["apiVersion"] == "example.com/v2"
        assert api_server.patch("wd", "w", {"spec": {"size": 2}})["metadata"]["generation"] == 2


class TestLife:
    def test_quick(self) -> None:
        """A server starts and stops in milliseconds."""
        began = time.monotonic()
        for _ in range(20):
            with ApiServer():
                pass
        assert (time.monotonic() - began) / 20 < 0.05

    def test_several(self) -> None:
        """Servers do not know each other."""
        with ApiServer() as one, ApiServer() as other:
            one.create(config_map())
            assert (len(one.list("cm")), len(other.list("cm"))) == (1, 0)
            assert one.port != other.port

    def test_again(self) -> None:
        """After a stop it can be started on the same port, with the objects of before."""
        server, ports = ApiServer(), []
        for number in range(2):
            server.start()
            ports.append(server.port)
            server.create(config_map(f"m{number}"))
            server.stop()
        assert (len(set(ports)), len(server.list("cm"))) == (1, 2)

    def test_twice(self) -> None:
        """A second start is RuntimeError, and does no harm; so is the restart of what does not run."""
        server = ApiServer()
        with pytest.raises(RuntimeError, match="not running"):
            server.restart()
        with server, contextlib.closing(Http(server)) as client:
            with pytest.raises(RuntimeError, match="started already"):
                server.start()
            with pytest.raises(RuntimeError, match="started already"), server:
                pass
            assert client.list_maps().status == 200
        server.stop()

    def test_taken(self, api_server: ApiServer) -> None:
        """A port that is taken is OSError, and then nothing has been started."""
        other = ApiServer(port=api_server.port)
        with pytest.raises(OSError, match="in use"):
            other.start()
        api_server.stop()
        with other:
            assert other.port == api_server.port

    def test_restarts_at_once(self, api_server: ApiServer) -> None:
        """Any number of threads may restart it at the same time."""
        port = api_server.port
        threads = [threading.Thread(target=api_server.restart) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert api_server.port == port
        with contextlib.closing(Http(api_server)) as client:
            assert client.list_maps().status == 200

    def test_without_a_socket(self) -> None:
        """The objects can be put in place before anybody can connect."""
        server = ApiServer()
        server.create(config_map())
        with server, contextlib.closing(Http(server)) as client:
            assert client.list_maps().names == ["a"]

    def test_nothing_is_left(self) -> None:
        """Stopping ends open watches, and their threads, whatever they wait for; each descriptor is given back."""
        before, files = set(threading.enumerate()), descriptors()
        with ApiServer() as server, opening(server) as watch, stalled(server, 5):
            for _ in range(5):
                watch()
            for number in range(100):
                server.create(config_map(f"m{number}", k="x" * 100_000))
            names = {thread.name for thread in set(threading.enumerate()) - before}
            server.restart()
            watch()
            assert len(descriptors()) > len(files)
        assert len(names) == 11
        assert all(name.startswith("kwsync-testing-") for name in names)
        assert set(threading.enumerate()) == before
        assert descriptors() == files

    def test_nothing_is_kept(self) -> None:
        """A server that nobody refers to any more is gone, with its objects."""
        with ApiServer() as server, opening(server) as watch:
            server.create(config_map())
            watch().events(1)
            state = weakref.ref(server._api.state)
        del server, watch
        gc.collect()
        assert state() is None

    def test_address(self, api_server: ApiServer, http: Http) -> None:
        """Discovery knows the server's own address."""
        ranges = http.get("/api").body["serverAddressByClientCIDRs"]
        assert ranges[0]["serverAddress"] == f"127.0.0.1:{api_server.port}"

    def test_own_fault(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """If the server itself fails, its client gets a 500 and the test hears of it."""
        server = ApiServer()

        def broken(*_: Any) -> None:
            raise RuntimeError("a mistake in here")

        monkeypatch.setattr(server._api.state, "get", broken)
        with pytest.raises(RuntimeError, match="a mistake"), server, contextlib.closing(Http(server)) as client:
            assert client.get("/api/v1/nodes/n").status == 500


def descriptors() -> set[str]:
    """The open files of this process; none where the system does not list them. Without that of the listing."""
    folder = "/dev/fd"
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return {name for name in names if os.path.exists(f"{folder}/{name}")}


class TestUnseen:
    """`unseen()`: what watches are not told of, and that nobody has to wait."""

    def test_by_any_way(self, api_server: ApiServer, http: Http) -> None:
        """Writes are unseen whoever makes them: this thread, a client, another thread; and the next one is seen."""
        with opening(api_server) as watch:
            stream = watch(resourceVersion=api_server.resource_version)
            with api_server.unseen():
                api_server.create(config_map("a"))
                assert http("POST", MAPS, config_map("b")).status == 201
                other = threading.Thread(target=api_server.create, args=(config_map("c"),))
                other.start()
                other.join(5)
                assert not other.is_alive()
                assert http.list_maps().names == ["a", "b", "c"]
            api_server.create(config_map("d"))
            assert told(stream.events(1)) == [("ADDED", "d")]

    def test_several(self, api_server: ApiServer) -> None:
        """Blocks may lie in each other, and end by an exception; watches hear again when the last is left."""
        with opening(api_server) as watch:
            stream = watch(resourceVersion=api_server.resource_version)
            with api_server.unseen():
                with contextlib.suppress(ApiError), api_server.unseen():
                    api_server.get("cm", "none")
                api_server.create(config_map("a"))
            api_server.create(config_map("b"))
            assert told(stream.events(1)) == [("ADDED", "b")]

    def test_new_watches(self, api_server: ApiServer, http: Http) -> None:
        """A watch that begins meanwhile shows what is there, and then hears nothing, either."""
        with opening(api_server) as watch:
            with api_server.unseen():
                api_server.create(config_map("a"))
                stream = watch()
                assert told(stream.events(1)) == [("ADDED", "a")]
                api_server.create(config_map("b"))
            api_server.create(config_map("c"))
            assert told(stream.events(1)) == [("ADDED", "c")]


class TestThreads:
    def test_writers(self, api_server: ApiServer) -> None:
        """Any number of threads may write; versions are given once, and a watch sees all in order."""
        with opening(api_server) as watch:
            stream = watch()

            def write(letter: str) -> None:
                for number in range(100):
                    api_server.create(config_map(f"{letter}{number}"))

            threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
            for thread in threads:
                thread.start()
            versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in stream.events(400)]
            for thread in threads:
                thread.join()
        assert versions == sorted(set(versions))

    def test_counter(self, api_server: ApiServer) -> None:
        """Versions in writes prevent lost updates: four threads count to a hundred together."""
        api_server.create(config_map("a", n="0"))

        def count() -> None:
            done = 0
            while done < 25:
                now = api_server.get("cm", "a")
                now["data"]["n"] = str(int(now["data"]["n"]) + 1)
                with contextlib.suppress(ApiError):
                    api_server.replace(now)
                    done += 1

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert api_server.get("cm", "a")["data"]["n"] == "100"


class TestWithKwsync:
    def test_watch(self, api_server: ApiServer) -> None:
        """kwsync's watch sees what a test does to the server."""
        with api_server.client() as client:
            api_server.create(pod("a"))
            with watch_resource("pods", client=client, timeout_seconds=10) as stream:
                seen = [str(next(stream).type)]
                api_server.patch("pods", "a", {"metadata": {"labels": {"x": "y"}}})
                api_server.delete("pods", "a", grace_period_seconds=0)
                seen += [str(next(stream).type) for _ in range(3)]
        assert seen == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]

    def test_verbs(self, api_server: ApiServer) -> None:
        """A client's writes are seen in the server, and its pages end."""
        with api_server.client() as client:
            for number in range(5):
                client.create("configmaps", {"metadata": {"name": f"m{number}"}}, "default")
            assert len(client.list("configmaps", page_size=2)) == 5
            assert client.discover("cm").plural == "configmaps"
        assert len(api_server.list("configmaps")) == 5


UNITS_PER_WRITE = 60
"""A write may cost so many units of work; it is about 20 in CPython 3.11 with orjson, and 30 without."""


def unit_of_work() -> float:
    """Seconds that this machine takes now for a little Python: an object to JSON and back, the mean of some."""
    document, count = config_map("a", key="value"), 500
    began = time.monotonic()
    for _ in range(count):
        json.loads(json.dumps(document))
    return (time.monotonic() - began) / count


class TestSpeed:
    @pytest.mark.slow
    @pytest.mark.parametrize("verb", ["create", "replace"])
    def test_writes_into_a_watch(self, verb: str) -> None:
        """Ten thousand writes a second go into one watch on an idle machine, which means so many units of its work.

        The watch is read in the same process, which takes about a third of the time.
        """
        count, rounds = 1_000, 10
        units, seen = 0.0, 0
        with ApiServer(watch_buffer=count * rounds) as server, opening(server) as watch:
            stream = watch()

            def read() -> None:
                nonlocal seen
                while seen < count * rounds:
                    seen += stream.chunk().count(b"\n")

            reader = threading.Thread(target=read)
            reader.start()
            took = 0.0
            for part in range(rounds):
                # Between the parts, because others may come and go on this machine.
                units += unit_of_work()
                began = time.monotonic()
                for number in range(count):
                    if verb == "create" or part == 0:
                        server.create(config_map(f"m{part:02}{number:04}", key=str(part)))
                    else:
                        server.replace(config_map(f"m00{number:04}", key=str(part)))
                took += time.monotonic() - began
            began = time.monotonic()
            reader.join(30)
            took += time.monotonic() - began
        ratio = took / (count * units)
        print(f"{count * rounds / took:.0f} writes a second into one watch; each takes {ratio:.1f} units of work")
        assert seen == count * rounds
        assert ratio < UNITS_PER_WRITE

    @pytest.mark.slow
    def test_large_list(self, api_server: ApiServer, http: Http) -> None:
        """50,000 objects are listed in pages, each page in little time, also while objects are written."""
        for number in range(50_000):
            api_server.create(config_map(f"m{number:05}"))
        began, names, token = time.monotonic(), 0, ""
        while True:
            page = http.list_maps(**{"limit": 500, "continue": token})
            names += len(page.names)
            token = page.body["metadata"].get("continue", "")
            if not token:
                break
            api_server.create(config_map(f"z{names}"))
        took = time.monotonic() - began
        print(f"50,000 objects listed in {took:.2f} s")
        assert names == 50_000
        assert took < 20
