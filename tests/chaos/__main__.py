"""``python -m tests.chaos``."""

from __future__ import annotations

import argparse

from .real import RealPlan, run_real
from .run import Plan, run


def main() -> None:
    """Read the arguments, run, and print what was done."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Writers, faults, and who looks on.")
    parser.add_argument("--events", type=int, default=20_000, help="writes (default 20,000)")
    parser.add_argument("--faults", type=int, default=200, help="faults that strike meanwhile (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20, help="quiet points (default 20)")
    parser.add_argument("--real", action="store_true", help="on a real kube-apiserver and etcd")
    parser.add_argument("--kills", type=int, default=5, help="kills and restarts of the real one (default 5)")
    given = parser.parse_args()

    def tell(line: str) -> None:
        print(line, flush=True)

    if given.real:
        print(run_real(RealPlan(given.events, given.kills, given.seed, rounds=given.rounds, tell=tell)))
    else:
        print(run(Plan(given.events, given.faults, given.seed, rounds=given.rounds, tell=tell)))


if __name__ == "__main__":
    main()
