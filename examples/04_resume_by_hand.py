"""Go on where a stream ended, without losing a change: python 04_resume_by_hand.py NAMESPACE [STREAMS]

The server ends every watch after a while. `stream.resource_version` is what it is safe to go on from; None means that
only the whole state will do, and so does 410, when the server has forgotten the version.
"""

import sys
import time

import kwsync

namespace = sys.argv[1]
streams = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000

client = kwsync.Client.from_default()
version: str | None = None
for _ in range(streams):
    if version is None:
        present = client.list("configmaps", namespace)
        print("state", sorted(item["metadata"]["name"] for item in present), flush=True)
        version = present.resource_version
    stream = kwsync.watch_resource(
        "configmaps",
        client=client,
        namespace=namespace,
        resource_version=version,
        timeout_seconds=2,
        allow_watch_bookmarks=True,
    )
    for event in stream:
        if event.error is None:
            print(event.type, event.key, flush=True)
        else:
            print("error", event.error, flush=True)
            time.sleep(event.error.retry_after or 1.0)
    error = stream.end.error if stream.end else None
    start_over = (error is not None and error.is_expired) or stream.skipped_lines
    version = None if start_over else stream.resource_version
client.close()
