"""Work that one process of several does: python 11_one_leader.py NAMESPACE IDENTITY

Start it twice. Ctrl-C or SIGTERM ends one in good order, and the other leads at once; after a kill -9 it leads when the
Lease has run out.
"""

import os
import signal
import sys

import kwsync

namespace, identity = sys.argv[1], sys.argv[2]
cancel = kwsync.CancelToken()
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: cancel.set())


def say(line: str) -> None:
    """In one piece, as several threads do it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def work(leadership: kwsync.Leadership) -> None:
    """Runs while this process leads; returns when it is told to."""
    say(f"leads with token {leadership.fencing}")
    done = 0
    while not leadership.cancel.wait(0.1):
        if leadership.is_valid():  # before each step that must not be done by two
            done += 1
    say(f"has ended after {done} steps")


elector = kwsync.LeaderElector(
    namespace=namespace,
    name="one-leader",
    identity=f"{identity}_{os.urandom(4).hex()}",  # unique to the process, also when the name comes again
    on_new_leader=lambda leader: say(f"leader: {leader.partition('_')[0]}") if leader else None,
    on_error=lambda error: say(f"trouble: {error}"),
)
say(f"end: {elector.lead(work, cancel)}")
