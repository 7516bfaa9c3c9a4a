"""Keep a table of a database equal to the cluster: python 10_sqlite.py FILE NAMESPACE

The row and its line in the journal are written in one transaction, so that the journal tells how the table came to be
what it is. The row keeps the object's resource version: after a restart what has not changed is not written again, and
rows whose objects went while nobody looked are removed. The table becomes what the cluster is; the journal has each
state that was written, which is not each state there was, since changes in short order are seen as one.
"""

import json
import signal
import sqlite3
import sys
from contextlib import closing

import kwsync

SCHEMA = """
CREATE TABLE IF NOT EXISTS config_maps (
    namespace TEXT, name TEXT, uid TEXT NOT NULL, version TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (namespace, name));
CREATE TABLE IF NOT EXISTS journal (
    number INTEGER PRIMARY KEY, what TEXT NOT NULL,
    namespace TEXT, name TEXT, uid TEXT NOT NULL, version TEXT NOT NULL);
"""

path, namespace = sys.argv[1:3]
config_maps = kwsync.Informer("configmaps", namespace=namespace)
database = sqlite3.connect(path, check_same_thread=False)  # it is used by the one worker, after this thread


def note(what: str, key: kwsync.ObjectKey, uid: str, version: str) -> None:
    """A line of the journal."""
    database.execute(
        "INSERT INTO journal (what, namespace, name, uid, version) VALUES (?, ?, ?, ?, ?)", (what, *key, uid, version)
    )


def reconcile(key: kwsync.ObjectKey) -> None:
    """Make the row of one object what the object is. What raises is rolled back, and comes again."""
    found = config_maps.store.get(key)
    with database:  # one transaction
        where = "WHERE namespace = ? AND name = ?"
        row = database.execute(f"SELECT uid, version FROM config_maps {where}", key).fetchone()  # noqa: S608
        uid, version = (found["metadata"]["uid"], found["metadata"]["resourceVersion"]) if found else ("", "")
        if row is not None and row[0] != uid:  # it is gone, or another has its name
            database.execute(f"DELETE FROM config_maps {where}", key)  # noqa: S608
            note("DELETED", key, *row)
            row = None
        if found and (row is None or row[1] != version):
            values = (*key, uid, version, json.dumps(found.get("data", {})))
            database.execute("INSERT OR REPLACE INTO config_maps VALUES (?, ?, ?, ?, ?)", values)
            note("ADDED" if row is None else "MODIFIED", key, uid, version)
    print("is", key, version or "gone", flush=True)


controller = kwsync.Controller(reconcile)
controller.watch(config_maps)

with closing(database):
    database.executescript(SCHEMA)
    for (name,) in database.execute("SELECT name FROM config_maps WHERE namespace = ?", (namespace,)).fetchall():
        controller.enqueue(kwsync.ObjectKey(namespace, name))  # looked at after the first list, be it there or not
    token = kwsync.CancelToken()
    signal.signal(signal.SIGTERM, lambda *_: token.set())
    controller.run(token)
