"""A whole operator, to run as a Deployment: python 12_operator.py [NAMESPACE IDENTITY]

It keeps a copy NAME-backup of each config map with the label example.com/backup: "yes". A copy follows its original,
and goes when that or its label goes. Another config map of that name is left alone, with a Warning.
Start it twice: one works, the other has its cache filled already and takes over. docs/operators.md has the Deployment.
"""

import logging
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import kwsync

WANTED = FINALIZER = "example.com/backup"
COPY = "example.com/is-backup"
SUFFIX = "-backup"

namespace, identity = sys.argv[1:3] or (os.environ["POD_NAMESPACE"], os.environ["POD_NAME"])
address = os.environ.get("POD_IP", "127.0.0.1"), int(os.environ.get("PROBE_PORT", "0"))
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
log = logging.getLogger("backup")  # kwsync's own loggers tell what goes wrong


def says(config_map: dict[str, Any], label: str) -> bool:
    """Has it this label?"""
    return bool(config_map["metadata"].get("labels", {}).get(label) == "yes")


class Backups:
    """The work of one term of leading."""

    def __init__(self, leadership: kwsync.Leadership) -> None:
        log.info("%s leads, term %s", identity, leadership.fencing)
        self.leadership = leadership
        self.controller = kwsync.Controller(self.reconcile, workers=2, name="backup", on_error=self.failed)
        self.controller.watch(config_maps, map=lambda event: {event.key.name, event.key.name.removesuffix(SUFFIX)})

    def reconcile(self, name: str) -> None:
        """Make one copy as it has to be, whatever has happened. Of one name there is one call at a time."""
        original, copy = config_maps.store.get((namespace, name)), config_maps.store.get((namespace, name + SUFFIX))
        # Fencing: asked last thing before writing. A process that is stopped here, and goes on when another leads, does
        # no harm, as the server compares: each write below is a create, or names the uid or the version that it was
        # decided on. Send leadership.fencing along to a receiver that has nothing of that kind to compare.
        if not self.leadership.is_valid():
            return
        if original and says(original, WANTED) and not kwsync.is_deleting(original):
            self.back_up(original, name + SUFFIX, copy)
            return
        if copy and says(copy, COPY):
            this = {"uid": copy["metadata"]["uid"]}
            client.delete("configmaps", name + SUFFIX, namespace, preconditions=this, cancel=self.controller.stopping)
        if original and kwsync.has_finalizer(original, FINALIZER):  # when all is cleaned up
            kwsync.remove_finalizer(client, original, FINALIZER, cancel=self.controller.stopping)
            log.info("cleaned up after %s", name)

    def back_up(self, original: dict[str, Any], name: str, copy: dict[str, Any] | None) -> None:
        """The finalizer comes first, so that there is no copy that nobody removes."""
        stopping = self.controller.stopping
        original = kwsync.add_finalizer(client, original, FINALIZER, cancel=stopping)
        content = {field: original.get(field) or {} for field in ("data", "binaryData")}
        wanted = {"metadata": {"name": name, "labels": {COPY: "yes"}}, **content}
        if copy is None:
            written = client.create("configmaps", wanted, namespace, cancel=stopping)
        elif not says(copy, COPY):
            raise kwsync.TerminalError(f"{name} is there and no copy")  # when it goes there is an event
        elif all((copy.get(field) or {}) == content[field] for field in content):
            return
        else:
            wanted["metadata"]["resourceVersion"] = copy["metadata"]["resourceVersion"]
            written = client.replace("configmaps", wanted, namespace, cancel=stopping)
        recorder.event(original, "BackedUp", f"copied to {name}", action="Copy")
        log.info("wrote %s", name)
        config_maps.store.wait_until(written["metadata"]["resourceVersion"], timeout=5)  # or it might do so again

    def failed(self, name: str | None, error: BaseException) -> None:
        """Tell the log, and who looks at the object; unless it is terminal it is tried again, ever more seldom."""
        log.warning("failed %s: %s", name, error)
        if name and (original := config_maps.store.get((namespace, name))):
            recorder.event(original, "BackupFailed", str(error), type="Warning", action="Copy")


class Probe(BaseHTTPRequestHandler):
    """Answers the kubelet."""

    def do_GET(self) -> None:
        """/readyz is about the cache, any other path about a process that is stuck."""
        self.send_response(200 if (config_maps if self.path == "/readyz" else elector).healthy() else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Not a line for each."""


cancel = kwsync.CancelToken()
signal.signal(signal.SIGTERM, lambda *_: cancel.set())
client = kwsync.Client.from_default()
informers = kwsync.SharedInformers(client)
config_maps = informers.informer("configmaps", namespace=namespace)
recorder = kwsync.EventRecorder(client, "example.com/backup")
elector = kwsync.LeaderElector(client, namespace=namespace, name="backup", identity=f"{identity}_{os.urandom(4).hex()}")
with recorder, informers, ThreadingHTTPServer(address, Probe) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    log.info("probes at http://%s:%s/", *server.server_address[:2])
    log.info("end: %s", elector.run_controller(lambda leadership: Backups(leadership).controller, cancel))
    server.shutdown()
