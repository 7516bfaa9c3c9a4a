"""A process that campaigns, and writes down what it believes.

    python -m tests.election.process HOW CONFIG NAMESPACE ME LOG

HOW is ``lead``, or ``run_controller``: then it works whenever its controller does, which sees to ConfigMaps. Each line
of the log: identity, fencing token, what, when, until when. The times are of one clock for all processes of the
machine. SIGTERM ends it in good order.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from kwsync import CancelToken, Client, Controller, Informer, LeaderElector, Leadership, ObjectKey, Requeue


class Log:
    """What all processes write into; one write of a line is one line."""

    def __init__(self, path: str, identity: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._identity = identity

    def note(self, leadership: Leadership, what: str, at: float, until: float = 0.0) -> None:
        """Write it down."""
        os.write(self._file, f"{self._identity} {leadership.fencing} {what} {at!r} {until!r}\n".encode())

    def lead(self, leadership: Leadership) -> None:
        """Work that is done at each look, until it has to end."""
        self.watch(leadership, works=True)
        self.note(leadership, "ends", time.monotonic())

    def watch(self, leadership: Leadership, works: bool = False) -> None:
        """Write down, until it has to end, whenever the end of the belief has moved on; and work, or not."""
        known = 0.0
        while not leadership.cancel.wait(0.005):
            looked, until = time.monotonic(), leadership.until
            if until not in (known, 0.0):
                known = until
                self.note(leadership, "believes", looked, known)
            if works:
                self.work(leadership)

    def work(self, leadership: Leadership) -> None:
        """A step that two must not do."""
        looked = time.monotonic()
        if leadership.is_valid():
            self.note(leadership, "works", looked)


class Watched:
    """A controller that sees to ConfigMaps while it leads, with a look at the leadership beside it."""

    def __init__(self, log: Log, client: Client, namespace: str, leadership: Leadership) -> None:
        self._log, self._leadership = log, leadership
        self._controller: Controller[ObjectKey] = Controller(self._reconcile)
        self._controller.watch(Informer("configmaps", client=client, namespace=namespace))

    def run(self, cancel: threading.Event, *, deadline: float | None) -> bool:
        """As a controller does it."""
        watching = threading.Thread(target=self._log.watch, args=(self._leadership,))
        watching.start()
        try:
            return self._controller.run(cancel, deadline=deadline)
        finally:
            watching.join()
            self._log.note(self._leadership, "ends", time.monotonic())

    def _reconcile(self, key: ObjectKey) -> Requeue:
        self._log.work(self._leadership)
        return Requeue(after=0.01)


def main(how: str, config: str, namespace: str, identity: str, path: str) -> None:
    """Campaign until SIGTERM."""
    cancel, log = CancelToken(), Log(path, identity)
    signal.signal(signal.SIGTERM, lambda *_: cancel.set())
    with Client.from_kubeconfig(config) as client:
        elector = LeaderElector(
            client,
            namespace=namespace,
            name="lead",
            identity=identity,
            lease_duration=3,
            renew_deadline=2.0,
            retry_period=0.5,
        )
        if how == "lead":
            elector.lead(log.lead, cancel)
        else:
            elector.run_controller(lambda leadership: Watched(log, client, namespace, leadership), cancel)


if __name__ == "__main__":
    main(*sys.argv[1:])
