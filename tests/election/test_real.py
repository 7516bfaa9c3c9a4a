"""Elections on kube-apiserver itself: one process, and several that are killed and stopped."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from kwsync import Client, Cluster, ElectionEnd
from kwsync.credentials import BearerToken
from tests.controlplane.server import ControlPlane
from tests.election.support import LIMIT, Notes, running, wait_until

ROOT = Path(__file__).parents[2]
START = 20.0
"""Seconds that a process may take to begin, on a busy machine."""
SLACK = 1.5
"""Seconds for requests and a busy machine."""


@pytest.fixture
def real_client(control_plane: ControlPlane) -> Iterator[Client]:
    """A client of the real server that may do everything."""
    cluster = Cluster(control_plane.url, ca_file=str(control_plane.ca_file))
    with Client(cluster, BearerToken(control_plane.admin_token)) as made:
        yield made


def test_a_term(real_client: Client, real_namespace: str) -> None:
    """The real server takes what is written: created, renewed, created anew after a deletion, released, taken again."""
    notes = Notes()
    elector = notes.elector(
        real_client, namespace=real_namespace, labels={"app": "x"}, lease_duration=10, renew_deadline=8
    )

    def lease() -> dict[str, object]:
        found: dict[str, object] = real_client.get("leases", "lead", real_namespace)["spec"]
        return found

    with running(elector) as run:
        notes.wait("started")
        first = lease()
        wait_until(lambda: lease()["renewTime"] != first["renewTime"], "a renewal")
        real_client.delete("leases", "lead", real_namespace)
        wait_until(lambda: len(real_client.list("leases", real_namespace).items) == 1, "the Lease again")
        assert lease() == {**lease(), "holderIdentity": "a", "leaseTransitions": 0, "leaseDurationSeconds": 10}
        assert run.end() is ElectionEnd.CANCELLED
    assert notes.story == ["started", "told to end", "ended", "stopped True"]
    assert lease().get("holderIdentity", "") == ""
    with elector.leading() as leadership:
        assert leadership.fencing == 1
        assert lease()["holderIdentity"] == "a"
    assert notes.errors == []


@attrs.frozen
class Belief:
    """What a process believed of one term: from when, until when."""

    identity: str
    fencing: int
    begin: float
    end: float


class Processes:
    """Processes that campaign for one Lease, and their log."""

    def __init__(self, config: Path, namespace: str, log: Path) -> None:
        self._arguments = [str(config), namespace]
        self._log = log
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, identity: str, how: str = "lead") -> None:
        """One more."""
        command = [sys.executable, "-m", "tests.election.process", how, *self._arguments, identity, str(self._log)]
        self.running[identity] = subprocess.Popen(command, cwd=ROOT)

    def signal(self, identity: str, number: signal.Signals) -> float:
        """Send a signal; when that was."""
        self.running[identity].send_signal(number)
        return time.monotonic()

    def end(self) -> list[int]:
        """End them in good order."""
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        return [process.wait(LIMIT) for process in self.running.values()]

    def kill(self) -> None:
        """End them whatever they do."""
        for process in self.running.values():
            process.kill()
            process.wait(LIMIT)

    def lines(self) -> list[tuple[str, int, str, float, float]]:
        """The log, in the order in which it was written."""
        if not self._log.exists():
            return []
        words = [line.split() for line in self._log.read_text().splitlines()]
        return [(each[0], int(each[1]), each[2], float(each[3]), float(each[4])) for each in words]

    def beliefs(self) -> list[Belief]:
        """Of each term, in the order of their beginnings: up to the end it had in mind, or by which it gave up."""
        found: dict[tuple[str, int], Belief] = {}
        for identity, fencing, what, at, until in self.lines():
            before = found.get((identity, fencing))
            if what == "believes":
                begin = at if before is None else before.begin
                found[identity, fencing] = Belief(identity, fencing, begin, until)
            elif what == "ends" and before is not None:
                found[identity, fencing] = attrs.evolve(before, end=min(before.end, at))
        return sorted(found.values(), key=lambda belief: belief.begin)

    def check_one_at_a_time(self) -> None:
        """At no moment two believed to lead; each term has a greater token; and all work was within its term."""
        beliefs = self.beliefs()
        for belief, after in itertools.pairwise(beliefs):
            assert belief.end <= after.begin, beliefs
            assert belief.fencing < after.fencing, beliefs
        ends = {(belief.identity, belief.fencing): belief.end for belief in beliefs}
        assert all(at < ends[identity, fencing] for identity, fencing, what, at, _ in self.lines() if what == "works")

    def wait_for_work(self, belief: Belief, count: int) -> None:
        """Until so many steps were done in a term."""
        word = (belief.identity, belief.fencing, "works")
        wait_until(
            lambda: [line[:3] for line in self.lines()].count(word) >= count, f"{count} steps of {belief}", START
        )

    def leader_after(self, fencing: int, limit: float) -> Belief:
        """Wait for a term with a greater token."""
        wait_until(lambda: any(belief.fencing > fencing for belief in self.beliefs()), f"another than {fencing}", limit)
        return self.beliefs()[-1]


@pytest.fixture
def processes(control_plane: ControlPlane, real_namespace: str, tmp_path: Path) -> Iterator[Processes]:
    """None yet; all that are started are gone at the end."""
    config = tmp_path / "config"
    config.write_text(json.dumps(control_plane.kubeconfig()))
    made = Processes(config, real_namespace, tmp_path / "log")
    try:
        yield made
    finally:
        made.kill()


@pytest.mark.timeout(120)
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be stopped here")
def test_killed_and_stopped(processes: Processes) -> None:
    """A leader is killed, the next is stopped for longer than the lease and goes on: at no moment two believe to lead.

    Another leads within the lease and the time between two looks; each term has a greater token. Who was stopped does
    nothing more: its next look at the clock says that it leads no more. At the end the Lease is given back.
    """
    for identity in "ab":
        processes.start(identity)
    first = processes.leader_after(-1, START)
    killed = processes.signal(first.identity, signal.SIGKILL)
    second = processes.leader_after(first.fencing, LIMIT)
    assert second.identity != first.identity
    assert second.begin - killed < 3 + 2.2 * 0.5 + SLACK

    processes.running.pop(first.identity).wait(LIMIT)
    processes.start("c")
    stopped = processes.signal(second.identity, signal.SIGSTOP)
    third = processes.leader_after(second.fencing, START)
    assert third.identity == "c"
    processes.signal(second.identity, signal.SIGCONT)
    wait_until(lambda: (second.identity, second.fencing, "ends") in {line[:3] for line in processes.lines()}, "its end")
    looks = [
        at
        for *who, what, at, _ in processes.lines()
        if what == "works" and tuple(who) == (second.identity, second.fencing)
    ]
    assert max(looks) < stopped + 2

    since = time.monotonic()
    assert processes.end() == [0, 0]
    print(f"ended after {time.monotonic() - since:.2f} s")
    processes.check_one_at_a_time()


@pytest.mark.timeout(120)
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no process can be killed here")
def test_controllers(processes: Processes, real_client: Client, real_namespace: str) -> None:
    """Of two processes with a controller one works; when it is killed the other does, within the lease; never both.

    SIGTERM ends the one that is left in good order: its controller first, then its Lease.
    """
    real_client.create("configmaps", {"metadata": {"name": "one"}}, real_namespace)
    for identity in "ab":
        processes.start(identity, "run_controller")
    first = processes.leader_after(-1, START)
    processes.wait_for_work(first, 20)
    killed = processes.signal(first.identity, signal.SIGKILL)
    processes.running.pop(first.identity).wait(LIMIT)
    second = processes.leader_after(first.fencing, LIMIT)
    assert second.identity != first.identity
    assert second.begin - killed < 3 + 2.2 * 0.5 + SLACK
    processes.wait_for_work(second, 20)
    assert processes.end() == [0]
    processes.check_one_at_a_time()
    assert {line[0] for line in processes.lines() if line[2] == "works"} == {"a", "b"}
    assert real_client.get("leases", "lead", real_namespace)["spec"].get("holderIdentity", "") == ""
