"""Callbacks on a thread, while the program goes on with its own work: python 02_callbacks.py [NAMESPACE]"""

import signal
import sys

import kwsync

thread = kwsync.WatchThread("configmaps", namespace=sys.argv[1] if len(sys.argv) > 1 else None)


@thread.on_added
@thread.on_modified
def changed(event: kwsync.WatchEvent) -> None:
    """Both kinds of news are handled alike; called on the watch's thread."""
    print("now", event.key, (event.object or {}).get("data"), flush=True)


@thread.on_deleted
def gone(event: kwsync.WatchEvent) -> None:
    """The object is the last state before the deletion."""
    print("gone", event.key, flush=True)


@thread.on_error
def failed(error: kwsync.WatchError) -> None:
    """Errors of the server and of the network, and what a callback raised."""
    print("error", error, flush=True)


@thread.on_end
def ended(end: kwsync.WatchEnd) -> None:
    """Called once, last."""
    print("end", end.reason, flush=True)


signal.signal(signal.SIGTERM, lambda *_: thread.stop())  # stop() is safe in a signal handler
thread.start()
print("the main thread is free", flush=True)
thread.join()
