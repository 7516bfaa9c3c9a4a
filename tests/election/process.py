"""A process that campaigns, and writes down what it believes: python -m tests.election.process CONFIG NAMESPACE ME LOG

Each line of the log: identity, fencing token, what, when, until when. The times are of one clock for all processes of
the machine. SIGTERM ends it in good order.
"""

from __future__ import annotations

import os
import signal
import sys
import time

import kwsync
from kwsync import CancelToken, LeaderElector, Leadership


def main(config: str, namespace: str, identity: str, path: str) -> None:
    """Campaign until SIGTERM."""
    cancel = CancelToken()
    signal.signal(signal.SIGTERM, lambda *_: cancel.set())
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(leadership: Leadership, what: str, at: float, until: float = 0.0) -> None:
        os.write(log, f"{identity} {leadership.fencing} {what} {at!r} {until!r}\n".encode())

    def work(leadership: Leadership) -> None:
        known = 0.0
        while not leadership.cancel.wait(0.005):
            term, looked = elector._candidate.term, time.monotonic()
            if term is not None and term.until != known and term.transitions == leadership.fencing:
                known = term.until
                note(leadership, "believes", looked, known)
            looked = time.monotonic()
            if leadership.is_valid():
                note(leadership, "works", looked)
        note(leadership, "ends", time.monotonic())

    with kwsync.Client.from_kubeconfig(config) as client:
        elector = LeaderElector(
            client,
            namespace=namespace,
            name="lead",
            identity=identity,
            lease_duration=3,
            renew_deadline=2.0,
            retry_period=0.5,
        )
        elector.lead(work, cancel)


if __name__ == "__main__":
    main(*sys.argv[1:])
