"""What happens to the history of all objects at once. Pure; the state's owner ends the connections that go with it."""

from __future__ import annotations

from kwsync.testing.apiserver._collection import Collection
from kwsync.testing.apiserver._kind import EVENTS, Kind, Resource, custom_kinds
from kwsync.testing.apiserver._lifecycle import DEFINITIONS
from kwsync.testing.apiserver._storage import Storage


def compact(state: Storage, revision: int | None = None, *, cached: bool = False) -> None:
    """Forget what was before a version, by default the current one: of events, with *cached* of every kind (D18).

    ValueError for a version that has not come yet.
    """
    wanted = state.revision if revision is None else revision
    if wanted > state.revision:
        raise ValueError(f"version {wanted} has not come yet; the last is {state.revision}")
    state.compacted = max(state.compacted, wanted)
    if cached:
        state.started = max(state.started, wanted)
        state.compacted_cached = max(state.compacted_cached, wanted)
    for resource, collection in state.collections.items():
        if cached or resource == EVENTS:
            collection.forget(wanted)


def forget_history(state: Storage) -> None:
    """Begin with an empty cache, as a restarted server does (D2); the kinds without a cache do not notice.

    The version moves on, as it does there, so that the last one that anybody has seen is too old for a watch as well
    (trap 4). Older lists, and their pages, are had from etcd, as far as that is not compacted.
    """
    state.revision += 1
    state.started = state.revision
    state.compacted_cached = max(state.compacted_cached, state.compacted)
    for resource, collection in state.collections.items():
        if resource != EVENTS:
            collection.restart(state.started, state.compacted)


def turn_back(state: Storage, revision: int) -> None:
    """Become what it was at a version, and count on from there, as after the restore of a backup of etcd.

    Open watches hear nothing more. ValueError where some kind's history does not reach back that far.
    """
    definitions = state.collection(DEFINITIONS).rows_at(revision)
    if not 0 < revision <= state.revision or definitions is None:
        raise ValueError(f"version {revision} is forgotten, or has not come yet")
    served: dict[Resource, list[Kind]] = {}
    for _, definition in definitions:
        spec = definition.object["spec"]
        served[spec["group"], spec["names"]["plural"]] = custom_kinds(definition.object)
    _check_known(state, revision, set(served))
    _serve(state, served)
    state.revision = revision
    for resource, collection in list(state.collections.items()):
        if collection.oldest_list <= revision:
            collection.turn_back(revision)
        else:
            # Of a kind that was not served at that version.
            state.collections[resource] = Collection(state.history, revision, revision)
    _start_again(state)


def _check_known(state: Storage, revision: int, served: set[Resource]) -> None:
    needed = state.builtin | served
    lost = [name for name, each in state.collections.items() if name in needed and each.oldest_list > revision]
    if lost:
        raise ValueError(f"the history of {', '.join(plural for _, plural in lost)} does not reach back to {revision}")


def _serve(state: Storage, served: dict[Resource, list[Kind]]) -> None:
    """Serve these custom kinds, and no others."""
    for resource in state.catalog.defined - set(served):
        state.catalog.drop(resource)
    for resource, kinds in served.items():
        state.catalog.define(resource, kinds)


def _start_again(state: Storage) -> None:
    """Begin with an empty cache at the current version, to which everything may have been turned back."""
    state.started = state.revision
    state.compacted = min(state.compacted, state.revision)
    state.compacted_cached = min(state.compacted_cached, state.revision)
    for resource, collection in state.collections.items():
        if resource != EVENTS:
            collection.restart(state.started, state.compacted)
