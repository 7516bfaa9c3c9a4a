"""Which keys an event is about, and which events count: for `kwsync.Controller.watch`. Pure.

    controller.watch(sets, when=generation_changed)
    controller.watch(pods, map=owner_of("replicasets"), when=any_of(labels_changed, phase_changed))

A **mapper** gets an event and gives keys. It looks at ``event.object`` only: the controller asks it about the state
before, too, with that in ``event.object``, so that of an owner and the one before it both get work. A **predicate**
gets an event, with both states, and says whether it counts. Both are plain functions: any of yours will do. They are
called on the thread of the informer's handler, and have to be quick.

The predicates here are about MODIFIED alone: whatever comes or goes counts. They are those of controller-runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import attrs

from kwsync._events import EventType, ObjectKey, WatchEvent, key_of, labels_of, metadata_of, resource_version_of
from kwsync._matching import label_matcher
from kwsync._resources import Resource
from kwsync._selectors import LabelSelector

__all__ = [
    "Mapper",
    "Predicate",
    "all_of",
    "annotations_changed",
    "any_of",
    "generation_changed",
    "labels_changed",
    "labels_match",
    "none_of",
    "own_key",
    "owner_of",
    "version_changed",
]

Mapper = Callable[[WatchEvent], "Iterable[Hashable] | None"]
"""Gives keys, any number of them. One `ObjectKey` or one string alone is one key, and None is none."""

Predicate = Callable[[WatchEvent], bool]
"""Does this event count?"""


# Mappers


def own_key(event: WatchEvent) -> Iterable[ObjectKey]:
    """The object's own namespace and name."""
    return (event.key,)


def owner_of(resource: str | Resource, *, controller: bool = True) -> Mapper:
    """A mapper to the owners of this kind, by the object's owner references.

    Args:
        resource: the owners' kind: a name of a built-in one, or a `Resource` whose *kind* and *namespaced* are known,
            as `Client.discover` gives it; ValueError for others. Its version does not matter.
        controller: only the owner that is marked as the controller; else all of this kind.

    An owner with a namespace is in the object's own; an owner without one has a key without.
    """
    found = resource if isinstance(resource, Resource) else Resource.parse(resource)
    if found.kind is None or found.namespaced is None:
        raise ValueError(f"{found}: its kind and scope are not known: give what client.discover() finds")

    def owners(event: WatchEvent) -> Iterator[ObjectKey]:
        namespace = key_of(event.object).namespace if found.namespaced else ""
        for reference in _owner_references(event.object):
            if _refers_to(reference, found) and (reference.get("controller") is True or not controller):
                yield ObjectKey(namespace, str(reference.get("name")))

    return owners


def _owner_references(document: object) -> list[dict[str, Any]]:
    references = metadata_of(document).get("ownerReferences")
    return [each for each in references if isinstance(each, dict)] if isinstance(references, list) else []


def _refers_to(reference: dict[str, Any], resource: Resource) -> bool:
    group = str(reference.get("apiVersion")).rpartition("/")[0]
    return (group, reference.get("kind")) == (resource.group, resource.kind)


# Predicates


def generation_changed(event: WatchEvent) -> bool:
    """The specification has changed, not only the status or the metadata; a resync does not count.

    Where the objects have no generation (ConfigMaps, Secrets), each change counts. (For controller-runtime none does.)
    """
    generation = metadata_of(event.object).get("generation")
    if generation is None:
        return version_changed(event)
    return not _is_change(event) or generation != metadata_of(event.old_object).get("generation")


def labels_changed(event: WatchEvent) -> bool:
    """The labels have changed."""
    return not _is_change(event) or labels_of(event.object) != labels_of(event.old_object)


def annotations_changed(event: WatchEvent) -> bool:
    """The annotations have changed."""
    return not _is_change(event) or _annotations(event.object) != _annotations(event.old_object)


def version_changed(event: WatchEvent) -> bool:
    """Anything has changed: only a resync does not count."""
    old = event.old_object
    return old is None or not _is_change(event) or event.resource_version != resource_version_of(old)


def labels_match(selector: LabelSelector) -> Predicate:
    """The labels match the selector, or did so before: leaving the selection counts, too. ValueError for a bad one."""
    matches = label_matcher(selector)
    return lambda event: any(matches(labels_of(each)) for each in (event.object, event.old_object) if each is not None)


def any_of(*predicates: Predicate) -> Predicate:
    """At least one says so."""
    return lambda event: any(predicate(event) for predicate in predicates)


def all_of(*predicates: Predicate) -> Predicate:
    """Each of them says so."""
    return lambda event: all(predicate(event) for predicate in predicates)


def none_of(*predicates: Predicate) -> Predicate:
    """None of them says so. Mind that those above say so of all that comes or goes."""
    return lambda event: not any(predicate(event) for predicate in predicates)


def _is_change(event: WatchEvent) -> bool:
    return event.type is EventType.MODIFIED and event.old_object is not None


def _annotations(document: object) -> object:
    return metadata_of(document).get("annotations") or {}


# For the controller


def keys_for(event: WatchEvent, mapper: Mapper) -> Iterable[Hashable]:
    """The keys of the state that the event tells and of the one before it, each once."""
    if mapper is own_key:  # it is the same in both, and known without decoding anything
        return own_key(event)
    found: dict[Hashable, None] = {}
    for state in _states(event):  # no generator, in which a StopIteration of the mapper's would become another error
        found.update(dict.fromkeys(_keys(mapper(state))))
    return found


def _states(event: WatchEvent) -> list[WatchEvent]:
    old = event.old_object
    if old is None:
        return [event]
    return [event, attrs.evolve(event, object=old, resource_version=resource_version_of(old))]


def _keys(found: Iterable[Hashable] | None) -> Iterable[Hashable]:
    if found is None:
        return ()
    return (found,) if isinstance(found, (str, ObjectKey)) else found
