"""A cache of config maps, by label and by name: python 07_informer.py NAMESPACE

Reads names from standard input and prints what the cache holds under each, without asking the server.
"""

import sys
from typing import Any

import kwsync


def owners(config_map: dict[str, Any]) -> list[str]:
    """By whom it is found: any number of values."""
    return [config_map["metadata"].get("labels", {}).get("owner", "nobody")]


def changed(event: kwsync.WatchEvent) -> None:
    """Called on the handler's own thread, for one event after another."""
    before = (event.old_object or {}).get("data")
    print(event.type, event.key, before, "->", (event.object or {}).get("data"), flush=True)


def failed(error: kwsync.WatchError) -> None:
    """The informer goes on."""
    print("error", error, flush=True)


namespace = sys.argv[1]
informer = kwsync.Informer("configmaps", namespace=namespace, indexers={"owner": owners}, on_error=failed)
informer.add_handler(on_added=changed, on_modified=changed, on_deleted=changed)

with informer:
    if not informer.wait_synced(30):
        sys.exit(f"no list in 30 s: {informer.last_error}")
    print("synced", len(informer.store), flush=True)
    for line in sys.stdin:
        found = informer.store.get(f"{namespace}/{line.strip()}")
        print(line.strip(), "holds", found and found.get("data"), flush=True)
        print("nobody owns", len(informer.store.by_index("owner", "nobody")), flush=True)
