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


def seen(written: dict[str, Any]) -> None:
    """Wait for the cache to have a write, or the next call for this namespace could write again what it cannot see.

    Where that takes too long, such a write ends in a conflict, and is tried again: late, but not wrong.
    """
    copies.store.wait_until(written["metadata"]["resourceVersion"], timeout=5)


def remove(copy: dict[str, Any], namespace: str) -> None:
    """Delete this copy, and no other of its name; it may be gone already without the cache knowing."""
    this = {"uid": copy["metadata"]["uid"]}
    try:
        client.delete("configmaps", name, namespace, preconditions=this, cancel=controller.stopping)
    except kwsync.WatchError as error:
        if error.status_code != 404:
            raise
    else:
        print("removed", namespace, flush=True)


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
            seen(client.create("configmaps", wanted, namespace, cancel=controller.stopping))
            print("created", namespace, flush=True)
        elif content(copy) != content(master):
            wanted["metadata"]["resourceVersion"] = copy["metadata"]["resourceVersion"]
            seen(client.replace("configmaps", wanted, namespace, cancel=controller.stopping))
            print("updated", namespace, flush=True)
    elif copy is not None and not leaving:
        remove(copy, namespace)


controller = kwsync.Controller(reconcile, on_error=lambda key, error: print("error", key, error, flush=True))
controller.watch(namespaces, map=own)
controller.watch(original, map=everywhere)
controller.watch(copies, map=where)

token = kwsync.CancelToken()
signal.signal(signal.SIGTERM, lambda *_: token.set())
controller.run(token)
