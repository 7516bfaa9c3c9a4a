"""A follower of the model: the course and the ledger of production, and what may come of each of their requests.

What is told is checked as it is told, by a reader that knows nothing of either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from kwsync import ErrorOrigin, EventType, ObjectKey, WatchError, WatchEvent
from kwsync._course import Course
from kwsync._ledger import Ledger
from kwsync._records import Change, Page, PlainRecord, Record
from kwsync._resume import Do, Rules
from kwsync.errors import local_error, status_error
from tests.following.model import SLOTS, Server, Thing, Things

KEYS = tuple(ObjectKey("default", name) for name in "ab")
QUICK, LONG = 0.1, 300.0
"""Seconds that a request lasts."""

RULES = Rules()

T = TypeVar("T")


def _status(code: int, origin: ErrorOrigin) -> WatchError:
    return status_error({"kind": "Status", "code": code}, origin, path="")


EXPIRED = _status(410, ErrorOrigin.STREAM)
TOO_MANY = _status(429, ErrorOrigin.HTTP)
BROKEN = _status(500, ErrorOrigin.HTTP)
CUT = local_error(ErrorOrigin.NETWORK, "connection reset")
MALFORMED = local_error(ErrorOrigin.DECODE, "a line that is no event")


class End(NamedTuple):
    """How a request ends."""

    error: WatchError | None
    lasted: float
    connected: bool = True


ENDS = {
    "ends at once": End(None, QUICK),
    "ends": End(None, LONG),
    "is cut at once": End(CUT, QUICK),
    "is cut": End(CUT, LONG),
    "410": End(EXPIRED, QUICK),
    "500": End(BROKEN, QUICK),
    "malformed": End(MALFORMED, QUICK),
}
REFUSALS = {"429": End(TOO_MANY, QUICK), "refused": End(CUT, QUICK, connected=False), "500": ENDS["500"]}


class Feed(NamedTuple):
    """What a request brings before it ends: of a list pages, of a watch changes."""

    name: str
    changes: tuple[Change, ...] = ()
    initial: int = 0
    """So many of the changes belong to a state whose end has not come."""
    pages: tuple[tuple[Things, str | None, bool, bool], ...] = ()
    """Each with its version, and whether it is the first and the last of its list."""


class Violation(AssertionError):
    """The follower has broken its promise."""


@cache
def record(slot: int, thing: Thing) -> Record:
    return PlainRecord(KEYS[slot], f"uid-{thing.uid}", str(thing.version), b"")


@cache
def told(kind: EventType, slot: int, thing: Thing) -> Change:
    """A change as the decoder gives it."""
    return Change(kind, record(slot, thing), {"content": thing.content})


@cache
def bookmark(version: int) -> Change:
    return Change(EventType.BOOKMARK, None, {}, version=str(version))


@cache
def state_of(things: Things) -> tuple[Change, ...]:
    """As a list, or as initial events."""
    return tuple(told(EventType.ADDED, slot, thing) for slot in SLOTS if (thing := things[slot]) is not None)


class Reader:
    """Somebody who only knows what was told."""

    def __init__(self) -> None:
        self.live: dict[ObjectKey, tuple[str, int]] = {}
        """Uid and content."""

    def read(self, event: WatchEvent, server: Server) -> None:
        """Check one event by what was told before, and by what the server has."""
        if event.type in (EventType.ERROR, EventType.BOOKMARK, EventType.SYNCED):
            return
        found = event.object
        assert found is not None
        if event.type is EventType.DELETED:
            self._deleted(event, server)
            return
        uid, content = _uid_of(event), found["content"]
        old = self.live.get(event.key)
        if event.type is EventType.ADDED and old is not None:
            raise Violation(f"ADDED twice: {event}")
        if event.type is EventType.MODIFIED:
            if old is None or old[0] != uid:
                raise Violation(f"MODIFIED, but never ADDED: {event}")
            if not server.restored and content <= old[1]:
                raise Violation(f"an older state after a newer one, or the same again: {event}")
        self.live[event.key] = (uid, content)

    def _deleted(self, event: WatchEvent, server: Server) -> None:
        old = self.live.pop(event.key, None)
        if old is None or old[0] != _uid_of(event):
            raise Violation(f"DELETED, but never ADDED: {event}")
        there = {f"uid-{thing.uid}" for thing in server.things if thing is not None}
        if old[0] in there and not server.restored:
            raise Violation(f"DELETED, but still there: {event}")

    def check_equal(self, server: Server) -> None:
        """Is all that was told what there is?"""
        there = {KEYS[slot]: (f"uid-{thing.uid}", thing.content) for slot in SLOTS if (thing := server.things[slot])}
        if self.live != there:
            raise Violation(f"the server has {there}, and {self.live} was told")


def _uid_of(event: WatchEvent) -> str:
    uid: str = event._record.uid  # type: ignore[attr-defined]
    return uid


def _copy(found: T) -> T:
    """As copy.copy, in a fifth of its time."""
    twin = object.__new__(type(found))
    twin.__dict__.update(found.__dict__)
    return twin


class Follower:
    """Production's course and ledger, and a reader of what they tell."""

    def __init__(self, *, watch_list: bool = False) -> None:
        self.course = Course(RULES, watch_list=watch_list)
        self.ledger = Ledger()
        self.reader = Reader()

    def clone(self) -> Follower:
        """One more in the same state."""
        twin = _copy(self)
        twin.course, twin.ledger, twin.reader = _copy(self.course), _copy(self.ledger), Reader()
        twin.ledger._known = dict(self.ledger._known)
        twin.ledger._present, twin.ledger._untold = set(), {}
        twin.reader.live = dict(self.reader.live)
        return twin

    def do(self, server: Server, feed: Feed, end: End) -> None:
        """Let this come of the action, in the order in which `Following` does it."""
        course = self.course
        course.begin(0.0)
        if course.action.do is Do.LIST:
            self._list(server, feed)
        elif course.action.do is Do.PROBE:
            if end.error is None:
                course.probed(_version(server))
        else:
            self._watch(server, feed)
        if end.error is not None and not course.is_over:
            self._tell(server, course.failed(end.error, end.lasted))
        version = course.version
        step = course.end(end.lasted, connected=end.connected)
        if step is not None:
            self._tell(server, step)
        self._check_action(version, end)

    def _list(self, server: Server, feed: Feed) -> None:
        for changes, version, first, last in feed.pages:
            self._tell(server, self.course.page(state_of(changes), first=first, last=last, version=version))

    def _watch(self, server: Server, feed: Feed) -> None:
        course = self.course
        is_initial = course.action.do is Do.WATCH_LIST or course.action.version is None
        version = course.version
        for number, change in enumerate(feed.changes, 1):
            initial = is_initial and number <= feed.initial
            step = course.change(change, initial=initial, now=QUICK)
            if step is not None:
                self._tell(server, step)
            version = version if initial else _version_of(change)
            if course.is_over:
                break
        course.version = version

    def _tell(self, server: Server, step: Page | Change) -> None:
        for event in self.ledger.events(step):
            self.reader.read(event, server)

    def _check_action(self, version: str | None, end: End) -> None:
        """It goes on from what it has seen, and never from what has expired."""
        action = self.course.action
        if action.do in (Do.WATCH, Do.PROBE) and action.version != version:
            raise Violation(f"it goes on from {action.version}, having seen {version}")
        if action.do is Do.WATCH and end.error in (EXPIRED, BROKEN, MALFORMED):
            raise Violation(f"it goes on from {action.version} after {end.error}")


# What may come of an action


def possible(follower: Follower, server: Server) -> Iterator[tuple[Feed, str, End]]:
    """All that the wire can bring now."""
    action = follower.course.action
    refused = Feed("")
    yield from ((refused, name, end) for name, end in REFUSALS.items())
    if action.do is Do.LIST:
        yield from _lists(server)
    elif action.do is Do.PROBE:
        yield Feed("probe"), "", End(None, QUICK)
    elif action.do is Do.WATCH_LIST:
        yield from _initial(server, marked=True)
    elif action.version is None:
        yield from _initial(server, marked=False)
    elif server.is_expired(int(action.version)):
        yield refused, "410", ENDS["410"]
    else:
        for feed in _feeds(server, int(action.version)):
            yield from ((feed, name, end) for name, end in ENDS.items())


def _version_of(change: Change) -> str | None:
    return change.version if change.record is None else change.record.version


def _version(server: Server) -> str | None:
    return str(server.revision) if server.versioned else None


def whole(server: Server) -> tuple[Things, str | None, bool, bool]:
    """A list of one page."""
    return server.things, _version(server), True, True


def _lists(server: Server) -> Iterator[tuple[Feed, str, End]]:
    version = _version(server)
    one, two = (server.things[0], None), (None, server.things[1])
    before = ((server.before[0], None), str(server.backups[-1].revision) if server.versioned else None, True, False)
    fine = End(None, QUICK)
    yield Feed("one page", pages=(whole(server),)), "", fine
    yield Feed("two pages", pages=((one, version, True, False), (two, version, False, True))), "", fine
    yield Feed("first page", pages=((one, version, True, False),)), "500", ENDS["500"]
    if server.unasked and server.before != server.things:
        yield Feed("first page expires, list", pages=(before, whole(server))), "", fine
        yield Feed("first page expires", pages=(before,)), "500", ENDS["500"]


def _feeds(server: Server, version: int) -> Iterator[Feed]:
    """Of a watch from a version: nothing, one change, all, or all and a bookmark."""
    changes = tuple(told(*happened[1:]) for happened in server.since(version))
    for count in sorted({0, min(1, len(changes)), len(changes)}):
        yield Feed(f"{count} changes", changes[:count])
    if server.revision >= version:
        yield Feed("all and a bookmark", (*changes, bookmark(server.revision)))


def _initial(server: Server, *, marked: bool) -> Iterator[tuple[Feed, str, End]]:
    """Of a watch that tells the state first: a piece of it, or all; also a state that changes on the way."""
    state = state_of(server.things)
    for count in range(len(state) + marked):
        feed = Feed(f"{count} initial", state[:count], initial=count)
        yield from ((feed, name, ENDS[name]) for name in ("ends", "is cut", "410", "500", "malformed"))
    complete = _completed(server, state, marked=marked, name="the state")
    late = _completed(server, (*state_of(server.before), *_last(server)), marked=marked, name="the state changes")
    for feed in (complete, late) if _last(server) else (complete,):
        yield from ((feed, name, end) for name, end in ENDS.items())


def _last(server: Server) -> Sequence[Change]:
    """The last write, where it may come while the state is being told."""
    if not server.unasked:
        return []
    return [told(*happened[1:]) for happened in server.since(server.backups[-1].revision)]


def _completed(server: Server, state: tuple[Change, ...], *, marked: bool, name: str) -> Feed:
    if marked:
        return Feed(name, (*state, bookmark(server.revision)), initial=len(state))
    added = 0
    while added < len(state) and state[added].type is EventType.ADDED:
        added += 1
    return Feed(name, state, initial=added)
