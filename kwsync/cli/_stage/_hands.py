"""What a scheduler, kubelets and a recorder of events would write to the API."""

from __future__ import annotations

import itertools
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from kwsync._clock import wall
from kwsync.cli._stage import _objects as objects
from kwsync.cli._stage._stories import Story

if TYPE_CHECKING:
    from kwsync.testing import ApiServer

NODES = ("node-a", "node-b", "node-c")

_CREATING = {"waiting": {"reason": "ContainerCreating"}}
_RUNNING: dict[str, Any] = {"running": {}}


class Hands:
    """Do small things to the cluster, and tell of them in Events."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self._addresses = itertools.count(2)
        self._events = itertools.count(1)
        self._counts: dict[str, int] = {}

    def new_pod(self, name: str, image: str, node: int, *, restart: str = "Always") -> str:
        """A pod that has its node; its name."""
        self.server.create(objects.pod(name, image, NODES[node % len(NODES)], restart))
        self.set_pod(name, "Pending", _CREATING)
        return name

    def set_pod(self, name: str, phase: str, state: dict[str, Any], *, ready: bool = False, restarts: int = 0) -> None:
        """What its kubelet says of a pod."""
        address = f"10.0.0.{next(self._addresses) % 250}" if ready else ""
        status = objects.pod_status(phase, state, ready=ready, restarts=restarts, ip=address)
        self.set_status("pods", name, status)

    def run(self, name: str, *, restarts: int = 0) -> None:
        """The pod runs and is ready."""
        self.set_pod(name, "Running", _RUNNING, ready=True, restarts=restarts)

    def start(self, name: str, image: str) -> Story:
        """A pod comes to run."""
        self.tell("Pod", name, "Pulled", f'Container image "{image}" already present on machine')
        yield 0.8
        self.run(name)
        self.tell("Pod", name, "Started", "Started container main")
        yield 0.5

    def stop(self, name: str) -> Story:
        """A pod is told to end, and ends."""
        self.tell("Pod", name, "Killing", "Stopping container main")
        self.server.delete("pods", name)
        yield 0.8
        self.server.delete("pods", name, grace_period_seconds=0)

    def set_status(self, resource: str, name: str, status: dict[str, Any]) -> None:
        """Write a status."""
        self.server.patch(resource, name, {"status": status}, subresource="status")

    def tell(self, kind: str, name: str, reason: str, message: str, *, warning: bool = False) -> str:
        """Record an Event in the old way; its name."""
        type_ = "Warning" if warning else "Normal"
        event = f"{name}.{next(self._events):08x}"
        self.server.create(objects.old_event(event, (kind, name), reason, message, type_, now()))
        self._counts[event] = 1
        return event

    def tell_again(self, event: str) -> None:
        """The same has happened once more."""
        self._counts[event] += 1
        self.server.patch("events", event, {"count": self._counts[event], "lastTimestamp": now()})

    def tell_newly(self, kind: str, name: str, reason: str, note: str) -> None:
        """Record an Event through the newer API."""
        event = f"{name}.{next(self._events):08x}"
        self.server.create(objects.new_event(event, (kind, name), reason, note, now(micro=True)))


def now(*, micro: bool = False) -> str:
    """The time as the API writes it."""
    moment = datetime.fromtimestamp(wall(), timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")
