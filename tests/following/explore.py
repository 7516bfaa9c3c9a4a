"""Every sequence of changes and outcomes up to a depth: ``python -m tests.following.explore --depth 8``.

Sequences that lead to the same state are gone on from once, and counted all. Two states are the same if they differ by
what nobody can see: by how long the waits are, by history that nobody will ask for, by the names of versions and uids.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import attrs

from kwsync._resume import Do
from tests.following.driver import ENDS, End, Feed, Follower, Violation, bookmark, possible, state_of, told, whole
from tests.following.model import OPERATIONS, Server, Thing

ROUNDS = 12
"""After so many requests without a fault everything has to be as on the server."""


class Node(NamedTuple):
    """A server and its follower, and one of the ways there."""

    server: Server
    follower: Follower
    path: tuple[str, ...] = ()


@attrs.define
class Report:
    """What was explored."""

    depth: int = 0
    sequences: int = 0
    states: int = 0
    steps: int = 0


def start(*, watch_list: bool = False, versioned: bool = True) -> Node:
    """Before anything: an empty server, and a follower that has not asked yet."""
    return Node(Server(versioned=versioned), Follower(watch_list=watch_list))


def explore(node: Node, depth: int, seconds: float = float("inf")) -> Report:
    """All sequences of *depth* steps, or as many as are whole within some seconds; `Violation` with the way there."""
    with _without_collector():
        return _explore(node, depth, time.monotonic() + seconds)


@contextmanager
def _without_collector() -> Iterator[None]:
    """There are many objects here and no cycles: looking for some takes half of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _explore(node: Node, depth: int, end: float) -> Report:
    report, level = Report(states=1), {key_of(node): (node, 1)}
    check_heals(node)
    for number in range(1, depth + 1):
        following: dict[Hashable, tuple[Node, int]] = {}
        for parent, count in level.values():
            for child in children(parent):
                report.steps += 1
                key = key_of(child)
                known = following.get(key)
                if known is None:
                    check_heals(child)
                following[key] = (child, count) if known is None else (known[0], known[1] + count)
            if time.monotonic() > end:
                return report
        level = following
        report.depth, report.states = number, report.states + len(level)
        report.sequences = sum(count for _, count in level.values())
    return report


def children(node: Node) -> Iterator[Node]:
    """One step further: a change on the server, or an outcome of the request."""
    server, follower, path = node
    for name, operate in OPERATIONS.items():
        changed = operate(server)
        if changed is not None and not _is_beyond_knowing(follower, server, changed):
            yield Node(changed, follower, (*path, name))
    for feed, name, end in possible(follower, server):
        yield done(node, feed, name, end)


def walk(node: Node, *steps: str) -> Node:
    """Further by these steps, each by its name."""
    for step in steps:
        node = next(child for child in children(node) if child.path[-1] == step)
    return node


def _is_beyond_knowing(follower: Follower, server: Server, changed: Server) -> bool:
    """Does a restored server catch up with a version that was seen before, while nobody has noticed the restore?

    Nobody could tell it then from a server that was never restored; Kubernetes advises to raise the versions of a
    restored database for that reason. Where lists have no version it can never be told.
    """
    if not server.versioned:
        return changed.restored
    course = follower.course
    seen = max(int(version or 0) for version in (course.version, course._seen))
    return not course.rewound and changed.restored and server.revision < seen <= changed.revision


def done(node: Node, feed: Feed, name: str, end: End) -> Node:
    """The node after an outcome."""
    follower = node.follower.clone()
    path = (*node.path, f"{node.follower.course.action.do} {feed.name} {name}".rstrip())
    try:
        follower.do(node.server, feed, end)
    except Violation as violation:
        raise Violation(f"{violation}\nafter: " + ", ".join(path)) from None
    return Node(attrs.evolve(node.server, unasked=False) if node.server.unasked else node.server, follower, path)


def check_heals(node: Node) -> None:
    """Without any further fault the follower comes to what the server has."""
    for _ in range(ROUNDS):
        action = node.follower.course.action
        node = done(node, *_faultless(node))
        course = node.follower.course
        fresh = course.version == str(node.server.revision) or (course.version is None and action.do is Do.LIST)
        if fresh and course.action.do is Do.WATCH:
            break  # it has all up to the present
    try:
        node.follower.reader.check_equal(node.server)
    except Violation as violation:
        raise Violation(f"{violation}\nafter: " + ", ".join(node.path)) from None


def _faultless(node: Node) -> tuple[Feed, str, End]:
    server, action = node.server, node.follower.course.action
    if action.do is Do.LIST:
        return Feed("one page", pages=(whole(server),)), "", End(None, 0.1)
    state = state_of(server.things)
    if action.do is Do.WATCH_LIST:
        return Feed("the state", (*state, bookmark(server.revision)), initial=len(state)), "ends", ENDS["ends"]
    if action.version is None:
        return Feed("the state", state, initial=len(state)), "ends", ENDS["ends"]
    version = int(action.version)
    if server.is_expired(version):
        return Feed(""), "410", ENDS["410"]
    changes = tuple(told(*happened[1:]) for happened in server.since(version))
    return Feed("all", changes), "ends", ENDS["ends"]


def key_of(node: Node) -> Hashable:
    """All that can make a difference later: versions from the server's present one, writes by their order."""
    server, follower, _ = node
    course, ledger = follower.course, follower.ledger
    state, base = course._state, server.revision
    watching = state.action.do is Do.WATCH and state.action.version is not None
    resume = int(state.action.version or 0) if watching else base
    history = server.since(resume)
    backups = server.backups
    contents = {thing.content for happened in history for thing in [happened.thing]}
    contents |= {number for group in (server.things, *(b.things for b in backups)) for thing in group if thing
                 for number in (thing.uid, thing.content)}  # fmt: skip
    contents |= {happened.thing.uid for happened in history}
    for record in ledger._known.values():
        contents.add(int(record.uid[4:]))
    for uid, content in follower.reader.live.values():
        contents |= {int(uid[4:]), content}
    rank = {number: place for place, number in enumerate(sorted(contents))}

    def thing_key(thing: Thing | None) -> Hashable:
        return thing and (rank[thing.uid], thing.version - base, rank[thing.content])

    def version_key(version: str | None) -> int | None:
        return None if version is None else int(version) - base

    return (
        (
            state.action.do,
            version_key(state.action.version),
            version_key(course.version),
            version_key(course._seen),
            course.rewound,
        ),
        (state.quick, state.silent, state.incomplete, state.watch_list),
        watching and server.is_expired(resume),
        (server.restored, server.unasked),
        tuple(map(thing_key, server.things)),
        tuple((happened.type, happened.slot, thing_key(happened.thing)) for happened in history),
        tuple((backup.revision - base, tuple(map(thing_key, backup.things))) for backup in backups),
        ledger._synced,
        tuple(sorted((key, rank[int(r.uid[4:])], int(r.version) - base) for key, r in ledger._known.items())),
        tuple(sorted((key, rank[int(uid[4:])], rank[content]) for key, (uid, content) in follower.reader.live.items())),
    )


VARIANTS = {
    "lists": {"watch_list": False, "versioned": True},
    "watch-lists": {"watch_list": True, "versioned": True},
    "lists without a version": {"watch_list": False, "versioned": False},
}


def main() -> None:
    """Explore from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, default=6, help="steps of each sequence")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each variant; then it stops where it is")
    arguments = parser.parse_args()
    for name, variant in VARIANTS.items():
        begin = time.monotonic()
        report = explore(start(**variant), arguments.depth, arguments.seconds)
        print(
            f"{name}: depth {report.depth}, {report.sequences:,} sequences, {report.states:,} states, "
            f"{report.steps:,} steps in {time.monotonic() - begin:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
