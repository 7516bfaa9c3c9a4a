"""What the contract tests share: objects to write, and one kind of objects in one namespace to write them to."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

import attrs
import pytest

from kwsync import Client, ObjectList, Resource, WatchEnd, WatchError, WatchEvent, WatchStream, watch_resource

_T = TypeVar("_T")

SECONDS = 10
"""So long a watch lasts that is expected to tell something; a failing test waits no longer."""

FUTURE = "999999999"
"""A version that no server of a test comes to."""


def new_object(name: str, **metadata: Any) -> dict[str, Any]:
    """An object with metadata alone, such as a config map."""
    return {"metadata": {"name": name, **metadata}}


def new_pod(name: str, **metadata: Any) -> dict[str, Any]:
    return {**new_object(name, **metadata), "spec": {"containers": [{"name": "main", "image": "none"}]}}


def new_event(name: str, **metadata: Any) -> dict[str, Any]:
    regarding = {"kind": "Pod", "name": "some", "namespace": metadata["namespace"]}
    return {**new_object(name, **metadata), "involvedObject": regarding, "reason": "Tested", "type": "Normal"}


@contextmanager
def fresh_namespace(client: Client) -> Iterator[str]:
    """The name of a new namespace; it is deleted afterwards, though it may stay Terminating."""
    name = f"contract-{uuid.uuid4().hex[:12]}"
    client.create("namespaces", new_object(name))
    yield name
    client.delete("namespaces", name)


def version_of(found: Mapping[str, Any]) -> str:
    """The version of an object."""
    version: str = found["metadata"]["resourceVersion"]
    return version


def names(found: Sequence[Mapping[str, Any]] | ObjectList) -> list[str]:
    """The names of objects, in their order."""
    return [item["metadata"]["name"] for item in found]


def told(events: Sequence[WatchEvent]) -> list[tuple[str, str, str | None]]:
    """Of each event its type, name and version."""
    return [(str(event.type), event.key.name, event.resource_version) for event in events]


def types(events: Sequence[WatchEvent]) -> list[str]:
    """Of each event its type."""
    return [str(event.type) for event in events]


def object_of(event: WatchEvent) -> dict[str, Any]:
    """The object of an event that must have one."""
    assert event.object is not None, f"{event} has no object"
    return event.object


def failure(call: Callable[[], object]) -> WatchError:
    """The error that a verb raises."""
    with pytest.raises(WatchError) as caught:
        call()
    return caught.value


def patiently(call: Callable[[], _T], *, unless: int, limit: float = 5.0) -> _T:
    """What a call gives once the server is ready for it: until then it answers with the status *unless*."""
    deadline = time.monotonic() + limit
    pause = threading.Event()
    while True:
        try:
            return call()
        except WatchError as error:
            if error.status_code != unless or time.monotonic() > deadline:
                raise
            pause.wait(0.05)


def error_of(events: Sequence[WatchEvent]) -> WatchError:
    """The error of events that must be one ERROR."""
    (event,) = events
    assert event.error is not None, f"{event} is no ERROR"
    return event.error


@attrs.frozen
class Place:
    """One kind of objects in one namespace, and a client that may change them."""

    client: Client
    namespace: str
    resource: str | Resource
    make: Callable[..., dict[str, Any]] = new_object

    def create(self, name: str, **metadata: Any) -> dict[str, Any]:
        """Store a new object; it is returned as stored, as by the others here."""
        new = self.make(name, namespace=self.namespace, **metadata)
        return self.client.create(self.resource, new)

    def change(self, name: str, **metadata: Any) -> dict[str, Any]:
        """Merge into an object's metadata; without anything, annotate it with something new."""
        patch = metadata or {"annotations": {"changed": uuid.uuid4().hex}}
        return self.client.patch(self.resource, name, {"metadata": patch}, self.namespace)

    def get(self, name: str) -> dict[str, Any]:
        return self.client.get(self.resource, name, self.namespace)

    def delete(self, name: str, **options: Any) -> dict[str, Any]:
        return self.client.delete(self.resource, name, self.namespace, **options)

    def objects(self, **options: Any) -> ObjectList:
        """All of them."""
        return self.client.list(self.resource, self.namespace, **options)

    def version(self) -> str:
        """The version of the collection now."""
        version = self.objects().resource_version
        assert version is not None, "a list without a version"
        return version

    def watch(self, **options: Any) -> WatchStream:
        """A watch that the server ends after `SECONDS`, unless told otherwise."""
        return watch_resource(
            self.resource,
            client=self.client,
            namespace=self.namespace,
            **{"timeout_seconds": SECONDS, **options},
        )

    def first(self, count: int, **options: Any) -> list[WatchEvent]:
        """The first events of a watch; fewer where it ends before."""
        with self.watch(**options) as stream:
            return list(islice(stream, count))

    def all(self, seconds: int = 1, **options: Any) -> tuple[list[WatchEvent], WatchEnd | None]:
        """The events of a watch that the server ends after some seconds, and its end."""
        stream = self.watch(timeout_seconds=seconds, **options)
        return list(stream), stream.end
