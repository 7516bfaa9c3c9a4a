"""One run on a real kube-apiserver and etcd, which are killed, restarted and compacted under load."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import attrs

from kwsync import Client, Cluster, ErrorOrigin, WatchError
from kwsync.credentials import BearerToken
from tests.controlplane.build import find_binaries
from tests.controlplane.server import ControlPlane

from .observers import Observers
from .run import nothing_left, short_limits, wait_until_equal
from .writers import LABELS, Writers

WRITE_LIMIT = 120.0
"""Seconds that one write may take, a restart of the servers included."""

WIDGETS = "widgets.v1.chaos.example.com"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.chaos.example.com"},
    "spec": {
        "group": "chaos.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@attrs.frozen
class RealPlan:
    """How much of everything."""

    events: int
    kills: int
    seed: int
    rounds: int = 10
    tell: Callable[[str], None] = lambda _: None


class OverHttp:
    """Verbs that try again until they succeed: whether a write whose answer was lost was done is found out so."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._pause = threading.Event()

    def create(self, document: dict[str, Any]) -> None:
        self._write(lambda: self._client.create("configmaps", document), (409, lambda: self.replace(document)))

    def replace(self, document: dict[str, Any]) -> None:
        self._write(lambda: self._client.replace("configmaps", document), (404, lambda: self.create(document)))

    def delete(self, namespace: str, name: str) -> None:
        self._write(lambda: self._client.delete("configmaps", name, namespace), (404, lambda: None))

    def list(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        def read() -> None:
            found.extend(self._client.list("configmaps", label_selector="chaos=true").items)

        self._write(read, (404, read))
        return found

    def _write(self, verb: Callable[[], object], instead: tuple[int, Callable[[], object]]) -> None:
        end = time.monotonic() + WRITE_LIMIT
        while True:
            try:
                verb()
                return
            except WatchError as error:
                if error.status_code == instead[0]:
                    instead[1]()
                    return
                passing = error.origin in (ErrorOrigin.NETWORK, ErrorOrigin.TIMEOUT) or error.status_code in PASSING
                if not passing or time.monotonic() > end:
                    raise
            self._pause.wait(0.05)


PASSING = (0, 401, 403, 429, 500, 503, 504)
"""What a server answers that has just been started; it does not know its own rights at first."""


def run_real(plan: RealPlan) -> str:
    """Run it; what was done, in words. AssertionError where something is not as it is promised."""
    found = find_binaries(build=False)
    assert found.folder is not None, found.reason
    with ExitStack() as stack:
        stack.enter_context(nothing_left())
        stack.enter_context(short_limits())
        plane = stack.enter_context(ControlPlane(found.folder))
        cluster = Cluster(plane.url, ca_file=str(plane.ca_file))
        client, writing = (stack.enter_context(Client(cluster, BearerToken(plane.admin_token))) for _ in range(2))
        writers = Writers(OverHttp(writing), seed=plan.seed, threads=4)
        observers = stack.enter_context(Observers(client, seed=plan.seed, window=10))
        widgets = stack.enter_context(Observers(client, seed=plan.seed, window=10, resource=WIDGETS))
        stack.callback(writers.stop)
        writers.start()
        return _Run(plan, plane, writing, writers, observers, widgets).all_rounds()


@attrs.define
class _Run:
    plan: RealPlan
    plane: ControlPlane
    client: Client
    writers: Writers
    observers: Observers
    widgets: Observers
    struck: Counter[str] = attrs.field(factory=Counter, init=False)
    chance: random.Random = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.chance = random.Random(f"{self.plan.seed}-kills")

    def all_rounds(self) -> str:
        began = time.monotonic()
        for number in range(self.plan.rounds):
            self._round(number)
            self._definition(number)
        seconds = time.monotonic() - began
        return (
            f"{self.writers.written} writes and {dict(self.struck)} in {seconds:.0f} s, {self.observers.events} events"
            f" told; errors told {self.observers.errors}; of the custom resources {self.widgets.errors}"
        )

    def _round(self, number: int) -> None:
        writes, wanted = self.plan.events // self.plan.rounds, self.plan.kills * (number + 1) // self.plan.rounds
        first, begun = sum(self.struck.values()), self.writers.written
        pause = threading.Event()

        def strike() -> None:
            done = (self.writers.written - begun) / writes
            while sum(self.struck.values()) < first + (wanted - first) * done:
                self._strike()
            pause.wait(0.01)

        self.writers.write(writes, strike)
        self.observers.change_handlers()
        seconds = wait_until_equal(self.observers, OverHttp(self.client).list(), f"round {number}")
        self.plan.tell(f"round {number}: equal after {seconds:.2f} s, {dict(self.struck)}")

    def _strike(self) -> None:
        name = self.chance.choice(["kill apiserver", "kill apiserver", "kill etcd", "kill both", "stop apiserver"])
        self.struck[name] += 1
        if name == "kill both":
            self.plane.stop_apiserver(kill=True)
            self.plane.restart_etcd()
            self.plane.start_apiserver()
        elif name == "kill etcd":
            self.plane.restart_etcd()
        else:
            self.plane.restart_apiserver(kill=name == "kill apiserver")
        if self.chance.random() < 0.3:
            self.plane.compact()

    def _definition(self, number: int) -> None:
        """A kind comes, has objects, and goes; the informer follows all of it."""
        self.client.create("customresourcedefinitions", DEFINITION)
        self.plane.wait_served("/apis/chaos.example.com/v1/widgets")
        documents = [_widget(f"{number}-{i}", 1000 * number + i) for i in range(20)]
        for document in documents:
            _until_served(partial(self.client.create, WIDGETS, document))
        found = self.client.list(WIDGETS).items
        seconds = wait_until_equal(self.widgets, found, f"definition {number}")
        self.client.delete("customresourcedefinitions", "widgets.chaos.example.com")
        gone = wait_until_equal(self.widgets, [], f"definition {number} gone")
        self.plan.tell(f"definition {number}: equal after {seconds:.2f} s, empty after {gone:.2f} s")


def _widget(name: str, token: int) -> dict[str, Any]:
    metadata = {"name": f"widget-{name}", "namespace": "default", "labels": LABELS}
    return {
        "apiVersion": "chaos.example.com/v1",
        "kind": "Widget",
        "metadata": metadata,
        "data": {"token": str(token)},
    }


def _until_served(verb: Callable[[], object]) -> None:
    """A kind that was just defined is not there for everything at once."""
    end, pause = time.monotonic() + 30, threading.Event()
    while True:
        try:
            verb()
            return
        except WatchError as error:
            if error.status_code not in (404, 429, 500, 503) or time.monotonic() > end:
                raise
        pause.wait(0.1)
