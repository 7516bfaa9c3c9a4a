"""Wait until a pod runs: python 05_wait_for_phase.py NAMESPACE POD [PHASE] [SECONDS]

The type of an event tells what happened to the stream's selection, not what state a pod is in: a pod may be Running
already in the first ADDED, or vanish. So the object is looked at, whatever the type, and DELETED ends the wait.
"""

import sys

import kwsync

namespace, name = sys.argv[1:3]
wanted = sys.argv[3] if len(sys.argv) > 3 else "Running"
seconds = int(sys.argv[4]) if len(sys.argv) > 4 else 60


def wait_for_phase() -> str:
    """What became of the pod, in a word."""
    for event in kwsync.watch_resource("pods", namespace=namespace, name=name, timeout_seconds=seconds):
        if event.error is not None:
            raise event.error
        if event.type is kwsync.EventType.DELETED:
            return "deleted"
        phase = ((event.object or {}).get("status") or {}).get("phase")
        print(event.key, phase, flush=True)
        if phase == wanted:
            return str(phase)
    return "timeout"


outcome = wait_for_phase()
print(outcome)
sys.exit(0 if outcome == wanted else 1)
