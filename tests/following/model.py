"""A server in a few numbers: two objects, versions from one counter, a window of history, and backups.

Everything is a value. An object's content is the number of the write that made it, its uid that of its creation: a
write is never done twice, though a version may be, after a restore.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import attrs

from kwsync import EventType

SLOTS = (0, 1)
BACKUPS = 3
"""So many writes can be lost by a restore."""


class Thing(NamedTuple):
    """A state of an object."""

    uid: int
    version: int
    content: int


Things = tuple[Thing | None, Thing | None]


class Happened(NamedTuple):
    """A change, as a watch tells it."""

    version: int
    type: EventType
    slot: int
    thing: Thing


class Backup(NamedTuple):
    """What there was before a write."""

    revision: int
    things: Things


@attrs.frozen
class Server:
    """What it holds at one moment."""

    revision: int = 1
    writes: int = 0
    things: Things = (None, None)
    history: tuple[Happened, ...] = ()
    window: int = 1
    """Watches from before this version are answered with 410."""
    backups: tuple[Backup, ...] = (Backup(1, (None, None)),)
    restored: bool = False
    unasked: bool = False
    """Nobody has asked for anything since the last write, which may therefore come while an answer is under way."""
    versioned: bool = True
    """Whether lists tell their version; some aggregated servers do not."""

    def write(self, kind: EventType, slot: int) -> Server:
        """One change of one object."""
        revision, number = self.revision + 1, self.writes + 1
        old = self.things[slot]
        if kind is EventType.DELETED:
            assert old is not None
            thing, there = Thing(old.uid, revision, old.content), None
        else:
            thing = there = Thing(number if old is None else old.uid, revision, number)
        things = (there, self.things[1]) if slot == 0 else (self.things[0], there)
        return attrs.evolve(
            self,
            revision=revision,
            writes=number,
            things=things,
            history=(*self.history, Happened(revision, kind, slot, thing)),
            backups=(*self.backups, Backup(self.revision, self.things))[-BACKUPS:],
            unasked=True,
        )

    @property
    def before(self) -> Things:
        """What there was before the last write."""
        return self.backups[-1].things

    def is_expired(self, version: int) -> bool:
        return version < self.window

    def since(self, version: int) -> tuple[Happened, ...]:
        """The changes after a version."""
        return tuple(happened for happened in self.history if happened.version > version)


def create(slot: int) -> Callable[[Server], Server | None]:
    return lambda server: None if server.things[slot] else server.write(EventType.ADDED, slot)


def change(slot: int) -> Callable[[Server], Server | None]:
    return lambda server: server.write(EventType.MODIFIED, slot) if server.things[slot] else None


def delete(slot: int) -> Callable[[Server], Server | None]:
    return lambda server: server.write(EventType.DELETED, slot) if server.things[slot] else None


def recreate(slot: int) -> Callable[[Server], Server | None]:
    """Deleted and made again, before anybody looks."""

    def run(server: Server) -> Server | None:
        gone = delete(slot)(server)
        return gone and gone.write(EventType.ADDED, slot)

    return run


def compact(server: Server) -> Server:
    """The history is forgotten; the present version may still be watched from."""
    return attrs.evolve(server, window=server.revision, history=())


def restart(server: Server) -> Server:
    """The caches begin anew, behind a write to another kind: every version that was seen is too old (D2)."""
    return attrs.evolve(server, revision=server.revision + 1, window=server.revision + 1, history=())


def restore(server: Server) -> Server | None:
    """The database is what it was some writes ago, and its versions will be given a second time."""
    backup = server.backups[0]
    if backup.revision >= server.revision:
        return None
    return attrs.evolve(
        server,
        revision=backup.revision,
        things=backup.things,
        window=backup.revision,
        history=(),
        backups=(backup,),
        restored=True,
    )


OPERATIONS: dict[str, Callable[[Server], Server | None]] = {
    **{f"{make.__name__} {slot}": make(slot) for make in (create, change, delete, recreate) for slot in SLOTS},
    "compact": compact,
    "restart": restart,
    "restore": restore,
}
"""What can happen to a server; None where it cannot happen now."""
