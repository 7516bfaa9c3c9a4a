"""End a watch from outside after some seconds: python 03_cancel_after_30_seconds.py [SECONDS]

`timeout_seconds` would ask the server to end it; a cancel token ends it here, at once, whatever the server does.
"""

import sys
import threading

import kwsync

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
token = kwsync.CancelToken()
timer = threading.Timer(seconds, token.set)
timer.start()

with kwsync.watch_resource("events", cancel=token) as stream:
    for event in stream:
        print(event.error or f"{event.type} {event.key}", flush=True)

timer.cancel()
print("ended:", stream.end and stream.end.reason)
