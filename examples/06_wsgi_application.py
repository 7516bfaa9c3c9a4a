"""A WSGI application that knows the config maps of the cluster: python 06_wsgi_application.py [PORT]

Under a pre-forking server (gunicorn, uWSGI) the thread is started by the first request of each worker, since threads do
not live on in a forked child: gunicorn '06_wsgi_application:application'
"""

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.simple_server import make_server

import kwsync

Environment = dict[str, Any]
StartResponse = Callable[[str, list[tuple[str, str]]], object]

seen: dict[kwsync.ObjectKey, str | None] = {}
watch = kwsync.WatchThread("configmaps")
starting = threading.Lock()
started = False


@watch.on_event
def remember(event: kwsync.WatchEvent) -> None:
    """Called on the watch's thread; setting and popping a dict's item needs no lock."""
    if event.type in (kwsync.EventType.ADDED, kwsync.EventType.MODIFIED):
        seen[event.key] = event.resource_version
    elif event.type is kwsync.EventType.DELETED:
        seen.pop(event.key, None)


def application(environment: Environment, start_response: StartResponse) -> Iterable[bytes]:
    """``/`` lists the keys, ``/healthz`` is for a liveness probe."""
    global started
    with starting:
        if not started:
            watch.start()
            started = True
    healthy = watch.healthy()
    if environment["PATH_INFO"] == "/healthz":
        start_response("200 OK" if healthy else "503 Service Unavailable", [("Content-Type", "text/plain")])
        return [b"ok\n" if healthy else f"{watch.end}\n".encode()]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return ["\n".join(sorted(map(str, seen.copy()))).encode()]


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    with make_server("127.0.0.1", port, application) as server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            watch.stop()
