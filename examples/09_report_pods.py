"""Report what happens to pods to a callback, as Kubewatch does: python 09_report_pods.py [NAMESPACE]

Pods that are there at the start are not reported, only what becomes of them. A report that fails is made again, ever
more seldom, until it succeeds; what happens to the pod meanwhile is then told as one change.
"""

import signal
import sys
from typing import NamedTuple

import kwsync


class Pod(NamedTuple):
    """What counts as a change."""

    uid: str
    phase: str
    restarts: int


def report(what: str, key: kwsync.ObjectKey, pod: Pod) -> None:
    """Put yours here: a message to a chat, a request to a web hook. Whatever it raises has it called again."""
    print(what, key, pod.phase, pod.restarts, flush=True)


pods = kwsync.Informer("pods", namespace=sys.argv[1] if len(sys.argv) > 1 else None)
reported: dict[kwsync.ObjectKey, Pod] = {}


def state_of(pod: dict[str, dict[str, object]]) -> Pod:
    """The few words of a pod."""
    status = pod.get("status", {})
    containers = status.get("containerStatuses")
    restarts = sum(each.get("restartCount", 0) for each in containers) if isinstance(containers, list) else 0
    return Pod(str(pod["metadata"]["uid"]), str(status.get("phase", "Unknown")), restarts)


def is_news(event: kwsync.WatchEvent) -> bool:
    """What was there before anything happened is only remembered. Called before the first reconcile."""
    if event.initial and event.object is not None:
        reported[event.key] = state_of(event.object)
        print("knows", event.key, flush=True)
    return not event.initial


def reconcile(key: kwsync.ObjectKey) -> None:
    """Compare what was reported with what there is. Of one key there is one call at a time."""
    pod = pods.store.get(key)
    before, now = reported.get(key), None if pod is None else state_of(pod)
    if before is not None and (now is None or now.uid != before.uid):
        report("deleted", key, before)
        del reported[key]
        before = None
    if now is not None and now != before:
        report("created" if before is None else "changed", key, now)
        reported[key] = now


controller = kwsync.Controller(reconcile, workers=4)
controller.watch(pods, when=is_news)

token = kwsync.CancelToken()
signal.signal(signal.SIGTERM, lambda *_: token.set())
controller.run(token)
