"""The plot: a deployment that rolls over, a pod that crashes, jobs, and a custom resource."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from kwsync.cli._stage import _objects as objects
from kwsync.cli._stage._hands import Hands, now
from kwsync.cli._stage._stories import Story

if TYPE_CHECKING:
    from kwsync.testing import ApiServer

KINDS = ("deployments", "pods", "jobs", "backups.example.com")
"""What there is to watch, beside events."""

REPLICAS = 3
MAILER = "mailer-7d4b9"

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class Workload:
    """What happens on a server, in the namespace ``default``."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._hands = Hands(server)
        self._names = itertools.count(1)
        self._shops: list[str] = []

    def prepare(self) -> None:
        """What is there when the curtain rises."""
        self._server.create(objects.backup_definition())
        self._server.create(objects.deployment("shop", "shop:1", REPLICAS))
        self._count(REPLICAS, REPLICAS)
        self._server.create(objects.job("report-0", "report:1"))
        self._hands.set_status("jobs", "report-0", objects.job_done(now(), now()))
        self._server.create(objects.backup("nightly-0"))
        self._hands.set_status("backups.example.com", "nightly-0", {"phase": "Done", "progress": "100%"})
        self._shops = [self._hands.new_pod(self._named("shop"), "shop:1", number) for number in range(REPLICAS)]
        for name in (*self._shops, self._hands.new_pod(MAILER, "mailer:3", 0)):
            self._hands.run(name)

    def stories(self) -> list[Story]:
        """What happens then, again and again, until somebody stops it."""
        return [self._rollout(), self._crash_loop(), self._jobs(), self._backups()]

    def _rollout(self) -> Story:
        """A deployment goes from one version to the next, pod by pod."""
        yield 0.7
        for version in itertools.count(2):
            image = f"shop:{version}"
            self._server.patch("deployments", "shop", objects.template_patch(image))
            self._hands.tell("Deployment", "shop", "ScalingReplicaSet", f"Rolling over to {image}")
            for number, old in enumerate(self._shops):
                new = self._hands.new_pod(self._named("shop"), image, number)
                yield from self._hands.start(new, image)
                self._shops[number] = new
                self._count(REPLICAS + 1, number + 1)
                yield from self._hands.stop(old)
                self._count(REPLICAS, number + 1)
            yield 8.0

    def _crash_loop(self) -> Story:
        """A pod that fails, is started again, and fails again."""
        yield 1.5
        warning = ""
        for restarts in itertools.count():
            ended = {"terminated": {"exitCode": 1, "reason": "Error"}}
            self._hands.set_pod(MAILER, "Running", ended, restarts=restarts)
            yield 0.8
            self._hands.set_pod(MAILER, "Running", {"waiting": {"reason": "CrashLoopBackOff"}}, restarts=restarts)
            if warning:
                self._hands.tell_again(warning)
            else:
                message = "Back-off restarting failed container main"
                warning = self._hands.tell("Pod", MAILER, "BackOff", message, warning=True)
            yield 4.0
            self._hands.run(MAILER, restarts=restarts + 1)
            yield 2.0

    def _jobs(self) -> Story:
        """One job after the other, each cleaned away when it is done."""
        for number in itertools.count(1):
            yield 2.3
            name, begun = f"report-{number}", now()
            self._server.create(objects.job(name, "report:1"))
            self._hands.set_status("jobs", name, {"active": 1, "startTime": begun})
            pod = self._hands.new_pod(self._named(name), "report:1", number, restart="Never")
            yield from self._hands.start(pod, "report:1")
            yield 2.0
            self._hands.set_pod(pod, "Succeeded", {"terminated": {"exitCode": 0, "reason": "Completed"}})
            self._hands.set_status("jobs", name, objects.job_done(begun, now()))
            self._hands.tell("Job", name, "Completed", "Job completed")
            yield 5.0
            self._server.delete("pods", pod)
            self._server.delete("jobs", name)

    def _backups(self) -> Story:
        """A custom resource that tells how far it is."""
        for number in itertools.count(1):
            yield 1.1
            name = f"nightly-{number}"
            self._server.create(objects.backup(name))
            self._hands.tell_newly("Backup", name, "Started", "Copying 4 volumes")
            for percent in range(0, 100, 25):
                self._hands.set_status("backups.example.com", name, {"phase": "Running", "progress": f"{percent}%"})
                yield 1.7
            self._hands.set_status("backups.example.com", name, {"phase": "Done", "progress": "100%"})
            self._hands.tell_newly("Backup", name, "Finished", "4 volumes are safe")
            yield 6.0
            self._server.delete("backups.example.com", name)

    def _count(self, replicas: int, updated: int) -> None:
        self._hands.set_status("deployments", "shop", objects.deployment_status(replicas, updated))

    def _named(self, owner: str) -> str:
        """A name with an end as random as Kubernetes' look, but the same in every demo."""
        number = next(self._names) * 7919
        letters = [_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(4)]
        return f"{owner}-{''.join(letters)}"
