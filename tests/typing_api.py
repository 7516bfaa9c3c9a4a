"""What users write, for type checkers: checked against the installed wheel, never run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import kwsync
from kwsync.credentials import AuthContext, Authorization, BearerToken, Credential
from kwsync.mapping import any_of, generation_changed, owner_of
from kwsync.ratelimit import AtMost, Exponential
from kwsync.testing import ScriptedServer, pod


def loop() -> str:
    """A plain loop; the type of an event tells what it holds."""
    for event in kwsync.watch_resource("pods", namespace="default", label_selector={"app": ["a", "b"]}):
        kind: kwsync.EventType = event.type
        key: kwsync.ObjectKey = event.key
        if event.error is not None:
            raise event.error
        if event.object is not None:
            document: dict[str, Any] = event.object
            print(f"{kind} {key.namespace}/{key.name}", document["metadata"])
        if kind is kwsync.EventType.DELETED:
            return key.name
    return ""


def stream(client: kwsync.Client, cancel: kwsync.CancelToken | threading.Event) -> kwsync.WatchEnd | None:
    """A stream is a context manager that can be asked while it runs and after its end."""
    with kwsync.watch_resource(
        kwsync.Resource("apps", "v1", "deployments"),
        client=client,
        timeout_seconds=30,
        allow_watch_bookmarks=True,
        cancel=cancel,
    ) as events:
        taken: kwsync.WatchStream = events
        versions: list[str | None] = [event.resource_version for event in taken]
        resume: str | None = taken.resource_version
        skipped: int = taken.skipped_lines
        print(versions, resume, skipped, taken.last_activity)
    if taken.end is not None and taken.end.reason is kwsync.EndReason.ERROR:
        problem: kwsync.WatchError | None = taken.end.error
        print(problem and (problem.status_code, problem.error_type, problem.origin, problem.retry_after))
    return taken.end


def verbs(server: str) -> kwsync.ObjectList:
    """The verbs of a client raise."""
    cluster = kwsync.Cluster(server, skip_tls_verify=True)
    with kwsync.Client(cluster, BearerToken("t"), connect_timeout=1.0) as client:
        try:
            found: dict[str, Any] = client.get("pods", "a", "default")
            client.replace("pods", found)
        except kwsync.WatchError as error:
            print(error.message, error.is_expired)
        except kwsync.KwsyncError as error:
            print(error)
        for page in client.list_pages("pods", page_size=10):
            print(page.resource_version)
        return client.list("pods", "default")


class OwnCredential:
    """A credential is whatever has the protocol's methods."""

    def authorize(self, context: AuthContext) -> Authorization:
        """Prove something with a header."""
        return Authorization({"X-Cluster": context.cluster.server})

    def refresh(self, rejected: Authorization) -> bool:
        """Nothing else is to be had."""
        return False


own: Credential = OwnCredential()


def without_a_cluster() -> None:
    """The scripted server stands in for one."""
    with ScriptedServer() as server:
        print(server.url, pod("a"))


def working(reconcile: Callable[[kwsync.ObjectKey], bool]) -> float:
    """A queue knows the type of its items; a limiter is one of ours or of the user's."""
    queue: kwsync.WorkQueue[kwsync.ObjectKey] = kwsync.WorkQueue(AtMost(Exponential(0.1), 60), name="pods")
    queue.add(kwsync.ObjectKey("default", "a"))
    with queue.processing(timeout=1) as key:
        if not reconcile(key):
            queue.add_rate_limited(key)
    numbers: kwsync.QueueMetrics = queue.metrics
    return numbers.latency if queue.shut_down(drain=True, timeout=5) else 0.0


def controlling(client: kwsync.Client, pods: kwsync.Informer) -> kwsync.ControllerMetrics:
    """A controller knows the type of its keys; what reconcile returns is None or a Requeue."""

    def reconcile(key: kwsync.ObjectKey) -> kwsync.Requeue | None:
        if key not in pods.store:
            raise kwsync.TerminalError("gone")
        if not pods.healthy():
            raise kwsync.RetryAfter(5, "no server")
        client.get("pods", key.name, key.namespace, cancel=controller.stopping)
        return kwsync.Requeue(after=60)

    def failed(key: kwsync.ObjectKey | None, error: BaseException) -> None:
        print(key, error)

    controller: kwsync.Controller[kwsync.ObjectKey] = kwsync.Controller(reconcile, workers=4, on_error=failed)
    controller.watch(pods, map=owner_of("replicasets"), when=any_of(generation_changed, lambda event: event.initial))
    controller.watch(pods, map=lambda event: [event.key])
    with controller:
        controller.enqueue(kwsync.ObjectKey("default", "a"), after=0.5)
    ended: bool = controller.run(kwsync.CancelToken(), deadline=5)
    running: list[kwsync.ObjectKey] = controller.running
    print(ended, running, controller.stop(10))
    return controller.metrics
