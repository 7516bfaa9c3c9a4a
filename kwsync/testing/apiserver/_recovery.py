"""What happens to the history of all objects at once. Pure; the state's owner ends the connections that go with it."""

from __future__ import annotations

from kwsync.testing.apiserver._collection import Collection
from kwsync.testing.apiserver._kind import EVENTS, Resource, custom_kinds
from kwsync.testing.apiserver._lifecycle import DEFINITIONS
from kwsync.testing.apiserver._storage import Storage


def compact(state: Storage, revision: int | None = None, *, cached: bool = False) -> None:
    """Forget what was before a version, by default the current one: of events, with *cached* of every kind (D18)."""
    wanted = state.revision if revision is None else min(revision, state.revision)
    for resource, collection in state.collections.items():
        if cached or resource == EVENTS:
            collection.forget(wanted)


def forget_history(state: Storage) -> None:
    """Forget everything but the objects, as a restarted server does; the version moves on, as it does there, so that
    the last one that anybody has seen is too old as well (D2, trap 4)."""
    state.revision += 1
    compact(state, cached=True)


def turn_back(state: Storage, revision: int) -> None:
    """Become what it was at a version, and count on from there, as after the restore of a backup of etcd.

    ValueError where some kind's history does not reach back that far.
    """
    definitions = state.collection(DEFINITIONS).rows_at(revision)
    if not 0 < revision <= state.revision or definitions is None:
        raise ValueError(f"version {revision} is forgotten, or has not come yet")
    served = {}
    for _, definition in definitions:
        spec = definition.object["spec"]
        served[spec["group"], spec["names"]["plural"]] = custom_kinds(definition.object)
    kept = _kept(state, revision, set(served))
    for kind in [kind for kind in state.catalog.kinds if kind.custom]:
        state.catalog.replace_custom(kind.group, kind.plural, ())
    for (group, plural), kinds in served.items():
        state.catalog.replace_custom(group, plural, kinds)
    for collection in kept.values():
        collection.turn_back(revision)
    state.collections = kept
    state.revision = revision


def _kept(state: Storage, revision: int, served: set[Resource]) -> dict[Resource, Collection]:
    """The collections that were there at a version, each of which must still know it."""
    custom = {(kind.group, kind.plural) for kind in state.catalog.kinds if kind.custom}
    kept = {name: each for name, each in state.collections.items() if name not in custom or name in served}
    lost = [name for name, each in kept.items() if each.rows_at(revision) is None]
    lost += sorted(served - set(kept))
    if lost:
        raise ValueError(f"the history of {', '.join(plural for _, plural in lost)} does not reach back to {revision}")
    return kept
