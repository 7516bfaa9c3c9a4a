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


def work(leadership: kwsync.Leadership) -> None:
    """Runs while this process leads; returns when it is told to."""
    print("leads with token", leadership.fencing, flush=True)
    done = 0
    while not leadership.cancel.wait(0.1):
        if leadership.is_valid():  # before each step that must not be done by two
            done += 1
    print("has ended after", done, "steps", flush=True)


elector = kwsync.LeaderElector(
    namespace=namespace,
    name="one-leader",
    identity=f"{identity}_{os.urandom(4).hex()}",  # unique to the process, also when the name comes again
    on_new_leader=lambda leader: print("leader:", leader.partition("_")[0] or "nobody", flush=True),
    on_error=lambda error: print("trouble:", error, flush=True),
)
print("end:", elector.lead(work, cancel), flush=True)
