"""A short chaos run in the suite; the long ones are run by hand."""

from __future__ import annotations

import pytest

from tests.controlplane.build import find_binaries
from tests.controlplane.fixtures import give_up

from .real import RealPlan, run_real
from .run import Plan, run


def test_in_memory() -> None:
    """While writers write and faults strike, every cache, handler and follower ends equal to the server."""
    run(Plan(events=2000, faults=60, seed=1, rounds=3, travels=1))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_real() -> None:
    """And so they do on a real kube-apiserver and etcd that are killed meanwhile; definitions come and go."""
    found = find_binaries(build=False)
    if found.folder is None:
        give_up(found.reason)
    run_real(RealPlan(events=1500, kills=3, seed=1, rounds=2))
