"""Copy a config map to every namespace with a label: python 08_copy_config_map.py NAMESPACE NAME LABEL

Copies follow the original, wherever it or they are changed, and go when it goes or the label does. A config map of that
name which is no copy is left alone: it is told as an error, and tried again ever more seldom. Run one of these a name.
"""

import signal
import sys
from typing import Any

import kwsync

MARK = "example.kwsync/copy-of"

source, name, label = sys.argv[1:4]
origin = kwsync.ObjectKey(source, name)
marked = {MARK: f"{source}.{name}"}

client = kwsync.Client.from_default()
original = kwsync.Informer("configmaps", client=client, namespace=source, name=name)
copies = kwsync.Informer("configmaps", client=client, label_selector=marked)
namespaces = kwsync.Informer("namespaces", client=client)


def everywhere(_event: kwsync.WatchEvent) -> list[str]:
    """The original has changed: all namespaces are to be looked at."""
    return [key.name for key in namespaces.store]


def own(event: kwsync.WatchEvent) -> str:
    """A namespace, by its name."""
    return event.key.name


def where(event: kwsync.WatchEvent) -> str:
    """A copy's namespace."""
    return event.key.namespace


def content(config_map: dict[str, Any]) -> dict[str, Any]:
    """What is copied of it."""
    return {field: config_map[field] for field in ("data", "binaryData") if config_map.get(field)}


def reconcile(namespace: str) -> None:
    """Make one namespace as it has to be, whatever has happened there."""
    there = namespaces.store.get(namespace)
    master = original.store.get(origin)
    copy = copies.store.get((namespace, name))
    wants = there is not None and label in there["metadata"].get("labels", {}) and namespace != source
    leaving = there is None or "deletionTimestamp" in there["metadata"]
    if wants and not leaving and master is not None:
        wanted = {"metadata": {"name": name, "labels": marked}, **content(master)}
        if copy is None:
            client.create("configmaps", wanted, namespace, cancel=controller.stopping)
            print("created", namespace, flush=True)
        elif content(copy) != content(master):
            wanted["metadata"]["resourceVersion"] = copy["metadata"]["resourceVersion"]
            client.replace("configmaps", wanted, namespace, cancel=controller.stopping)
            print("updated", namespace, flush=True)
    elif copy is not None and not leaving:
        seen = {"uid": copy["metadata"]["uid"]}
        client.delete("configmaps", name, namespace, preconditions=seen, cancel=controller.stopping)
        print("removed", namespace, flush=True)


controller = kwsync.Controller(reconcile, on_error=lambda key, error: print("error", key, error, flush=True))
controller.watch(namespaces, own)
controller.watch(original, everywhere)
controller.watch(copies, where)

token = kwsync.CancelToken()
signal.signal(signal.SIGTERM, lambda *_: token.set())
controller.run(token)
