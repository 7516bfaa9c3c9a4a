"""What the server itself writes into an object's metadata. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

Metadata = dict[str, Any]

FIELDS = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)
"""What metadata may hold, in the order that the server prints it. managedFields are left out, selfLink is of old."""

KNOWN = frozenset((*FIELDS, "managedFields", "selfLink"))
_IDENTITY = ("name", "namespace", "uid", "generation", "creationTimestamp")
_TERMINATION = ("deletionTimestamp", "deletionGracePeriodSeconds")
_SECONDS = "%Y-%m-%dT%H:%M:%SZ"


def stamp(moment: datetime) -> str:
    """A time in UTC as Kubernetes writes it, in whole seconds."""
    return f"{moment.isoformat()[:19]}Z"


def moment(text: str) -> datetime:
    """What `stamp` wrote, without a zone."""
    return datetime.strptime(text, _SECONDS)


def ordered(metadata: Mapping[str, Any]) -> Metadata:
    """The known fields in the server's order; what is empty is left out, as Go's omitempty does."""
    return {name: value for name in FIELDS if (value := metadata.get(name)) or value == 0}


def born(given: Mapping[str, Any], name: str, namespace: str, uid: str, now: datetime, generation: int) -> Metadata:
    """The metadata of a new object; the version keeps a place only."""
    # A kind without generations leaves what it is given at its birth.
    own = {"name": name, "namespace": namespace, "uid": uid, "generation": generation or given.get("generation")}
    gone = dict.fromkeys(_TERMINATION)
    return ordered({**given, **own, **gone, "resourceVersion": "0", "creationTimestamp": stamp(now)})


def carried(given: Mapping[str, Any], old: Mapping[str, Any]) -> Metadata:
    """The metadata of an object that is written over another: who it is, and its end, are not the client's to say."""
    kept = {name: old.get(name) for name in (*_IDENTITY, *_TERMINATION, "resourceVersion")}
    return ordered({**given, **kept})


def terminating(old: Mapping[str, Any], now: datetime, grace: int) -> Metadata:
    """The metadata of an object whose deletion begins, or comes sooner than it was told first."""
    began = now
    generation = old.get("generation")
    if is_terminating(old):
        began = moment(old["deletionTimestamp"]) - timedelta(seconds=old.get("deletionGracePeriodSeconds", 0))
    elif generation:
        generation += 1
    end = {"deletionTimestamp": stamp(began + timedelta(seconds=grace)), "deletionGracePeriodSeconds": grace}
    return ordered({**old, **end, "generation": generation})


def is_terminating(metadata: Mapping[str, Any]) -> bool:
    """Whether the object is on its way out."""
    return "deletionTimestamp" in metadata
