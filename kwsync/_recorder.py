"""EventRecorder: tells the cluster what a controller did, as events, and never holds the controller up."""

from __future__ import annotations

import logging
import os
import platform
import random
import sys
import uuid
import weakref
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import suppress
from operator import length_hint
from types import TracebackType
from typing import Any

from kwsync import _clock
from kwsync._cancel import CancelToken, Gate
from kwsync._client import Client
from kwsync._event_documents import WORD_BYTES, Occurrence, occurrence, source
from kwsync._event_filters import Limits
from kwsync._event_series import NEVER, EventSeries, Verdict, Write
from kwsync._resources import Resource
from kwsync._single import SingleThread
from kwsync.errors import CancelledError, ErrorOrigin, WatchError

log = logging.getLogger("kwsync.events")

EVENTS = Resource("events.k8s.io", "v1", "events", True, "Event")

LIMITS = Limits()

CLOSE_SECONDS = 5.0
"""How long leaving a ``with`` block waits for what is still to be written."""

_CANCEL_SECONDS = 1.0
"""How long a request takes at the most to end when it is cancelled."""

_TELL_SECONDS = 10.0
"""How often the log is told at the most that events are dropped because too many wait."""

_chance = random.SystemRandom()  # which forked children do not share

_recorders: weakref.WeakSet[EventRecorder] = weakref.WeakSet()


class _Tally:
    """A count that all threads and signal handlers may raise at once: each step is one operation of the interpreter."""

    _MOST = sys.maxsize

    def __init__(self) -> None:
        self._left = iter(range(self._MOST))

    def count(self) -> None:
        """One more."""
        next(self._left)

    @property
    def total(self) -> int:
        """How many there were."""
        return self._MOST - length_hint(self._left)


class EventRecorder:
    """Writes events about objects, which ``kubectl describe`` and ``kubectl events`` show.

        with kwsync.EventRecorder(client, "example.com/backup") as recorder:
            recorder.event(pod, "BackupFailed", "the bucket is full", type="Warning")

    `event` only takes note, in microseconds, and a daemon thread writes. What cannot be written is dropped, and the log
    (``kwsync.events``) says so: events are for people, and no program may depend on them. Servers forget them, too,
    after an hour unless told otherwise.

    What waits is bounded: 1,000 events that were told and that the thread has not looked at yet, 1,000 new ones that
    are to be written, and the counts of events that are written already, 4,096 at most. An event that finds no room is
    dropped.

    Equal events become one with a count: the first two are written at once, then the count every 30 minutes, and when
    there was none for 6 minutes. From the tenth different note on within 10 minutes, events that are equal otherwise
    become one as well, "(combined from similar events): …". About one object 25 events of a type may be written at
    once, and then one in 5 minutes; more are dropped. A server that is away is tried 12 times for each event, 10 s
    apart; what it refuses is not tried again. All this is as client-go does it (B167 to B173 of its behaviour; the two
    filters are those of its older recorder).

    Args:
        client: who writes; it needs the right to create and patch ``events.events.k8s.io``.
        component: the controller's name, such as ``example.com/backup`` (the events' ``reportingController``).
        instance: which of its processes; None: the component and the host's name.

    ValueError and TypeError for names that servers refuse.

    **Ending.** `close` writes what waits; without it that is lost with the process, and the thread and the recorder
    stay until then.

    **Forks.** In a forked child the recorder is an empty one: what waited is the parent's, who writes it.
    """

    def __init__(self, client: Client, component: str, *, instance: str | None = None) -> None:
        self._who = source(component, _default_instance(component) if instance is None else instance)
        self._client = client
        self._closing = False
        self._begin_empty()
        self._thread = SingleThread("kwsync-events")
        _recorders.add(self)

    def __repr__(self) -> str:
        state = "closed" if self._closing else f"{self._series.waiting + len(self._intake)} waiting"
        return f"<EventRecorder {self._who.component!r}: {state}, {self.dropped} dropped>"

    def __enter__(self) -> EventRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def dropped(self) -> int:
        """How many events were told and are not written: too many at once or about one object, refused, given up."""
        return self._turned_away.total + self._full + self._lost

    def event(
        self,
        regarding: Mapping[str, Any],
        reason: str,
        note: str,
        *,
        type: str = "Normal",  # noqa: A002 - the API's name
        action: str | None = None,
        related: Mapping[str, Any] | None = None,
    ) -> bool:
        """Note that something happened to an object. From any thread and from a signal handler; never blocks.

        Args:
            regarding: the object, with ``kind`` and ``metadata``, or an ObjectReference (``kind``, ``name``,
                ``namespace`` …). It is not needed any more when this returns. The event is kept in its namespace, for
                objects without one in ``default``.
            reason: why, in one word for programs: ``BackupFailed``; at most 128 bytes.
            note: what happened, in a sentence for people; what is longer than 1,024 bytes is cut.
            type: ``"Normal"`` or ``"Warning"``.
            action: what was done, in one word; None: the reason, since servers want one.
            related: a second object that has to do with it.

        False where it was dropped at once: the thread has not looked at 1,000 yet, or the recorder is closed. (True
        does not say that it will be written: see the limits above.) ValueError and TypeError for what servers would
        refuse.
        """
        happened = occurrence(regarding, reason, note, type, action, related, _clock.wall())
        if self._closing:
            return False
        if len(self._intake) >= LIMITS.waiting:  # the thread tells the log, which is no place for a signal handler
            self._turned_away.count()
            return False
        self._intake.append(happened)
        self._gate.open()
        self._rouse()
        return True

    def close(self, timeout: float | None = CLOSE_SECONDS) -> bool:
        """Take no events any more, and wait, at most *timeout* seconds, until those that wait are written.

        True when that is so; what is not written then is dropped. None: for as long as it takes, which is minutes for
        each event where the server is away. May be called twice, and from any thread.
        """
        self._closing = True
        self._gate.open()
        if self._intake:
            self._rouse()
        if not self._thread.join(timeout):
            self._stop.set()
            self._gate.open()
            self._thread.join(_CANCEL_SECONDS)
        return not (self._intake or self._series.waiting or self._cut_short)

    def _begin_empty(self) -> None:
        self._intake: deque[Occurrence] = deque()
        self._gate = Gate()
        self._stop = CancelToken()
        self._series = EventSeries(self._who, _random_name, LIMITS)
        self._turned_away = _Tally()
        self._full = self._missed_told = self._lost = 0  # which the thread alone writes
        self._tell_at = -NEVER
        self._cut_short = False

    def _abandon(self) -> None:
        """In a forked child: what is here is the parent's."""
        self._begin_empty()
        self._thread.abandon()

    def _rouse(self) -> None:
        """See that there is a thread; where the system has none, the next event tries again."""
        if not self._thread.is_alive:
            try:
                self._thread.start(self._run)
            except OSError as error:
                self._say(logging.ERROR, f"{error}; it is tried again with the next event")

    # The thread

    def _run(self) -> None:
        while not self._stop.is_set():
            self._take_in(_clock.monotonic())
            write = self._series.next_write(_clock.monotonic())
            if write is not None:
                self._send(write)
            elif self._is_over():
                return
            else:
                self._rest()
        self._give_up()

    def _give_up(self) -> None:
        """There is no time any more."""
        self._take_in(_clock.monotonic())
        left = self._series.waiting
        if left:
            self._cut_short = True
            self._series = EventSeries(self._who, _random_name, LIMITS)
            self._lose(left, "were not written before the end")

    def _is_over(self) -> bool:
        """All is written, and nothing comes any more; the counts that only wait for their time come now."""
        if not self._closing or self._intake:
            return False
        self._series.finish()
        return not self._series.waiting

    def _rest(self) -> None:
        due = self._series.next_due
        self._gate.wait(None if due == NEVER else due - _clock.monotonic())

    def _take_in(self, now: float) -> None:
        """What was told since the last time; no more, so that who tells all the time does not keep it from writing."""
        verdicts = Counter(self._series.observe(self._intake.popleft(), now) for _ in range(len(self._intake)))
        self._full += verdicts[Verdict.FULL]
        if verdicts[Verdict.SPAM]:
            self._lose(verdicts[Verdict.SPAM], "were too many about one object", level=logging.INFO)
        missed = self._turned_away.total + self._full
        if missed > self._missed_told and (now >= self._tell_at or self._stop.is_set()):
            news, self._missed_told = missed - self._missed_told, missed
            self._tell_at = now + _TELL_SECONDS
            self._say(logging.WARNING, f"{news} events dropped: {LIMITS.waiting} waited already")

    def _lose(self, count: int, how: str, why: object = None, level: int = logging.WARNING) -> None:
        self._lost += count
        self._say(level, f"{count} events dropped: they {how}" + (f": {why}" if why else ""))

    def _say(self, level: int, text: str) -> None:
        with suppress(Exception):  # what a handler of the user's logging raises ends nothing
            log.log(level, "%s: %s", self._who.component, text)

    def _send(self, write: Write) -> None:
        try:
            self._request(write)
        except CancelledError:
            pass  # the loop sees the end
        except WatchError as error:
            self._after(error, write)
        except Exception as error:  # noqa: BLE001 - such as a namespace that is no part of a path
            self._series.refused()
            self._lose(1, "were refused", error)
        else:
            self._series.written()

    def _request(self, write: Write) -> None:
        if write.exists:
            self._client.patch(
                EVENTS, write.name, write.document, write.namespace, patch_type="merge", cancel=self._stop
            )
        else:
            self._client.create(EVENTS, write.document, write.namespace, cancel=self._stop)

    def _after(self, error: WatchError, write: Write) -> None:
        if write.exists and error.status_code == 404:
            self._series.missing()
        elif not write.exists and error.reason == "AlreadyExists":  # of a try whose answer was lost
            self._series.written()
        elif _is_refusal(error):
            self._series.refused()
            self._lose(1, "were refused", error)
        elif not self._series.failed(_clock.monotonic(), _chance.random(), error.retry_after or 0.0):
            self._lose(1, f"were tried {LIMITS.tries} times", error)


def _is_refusal(error: WatchError) -> bool:
    """Does trying again not help (B172)? A Status is the API server's own word, unless it says when to come again; an
    answer without one is that of something in between, or a lack of room."""
    if error.retry_after is not None or error.status_code == 429:
        return False
    return error.status is not None or 400 <= error.status_code < 500 or error.origin is ErrorOrigin.CONFIG


def _default_instance(component: str) -> str:
    """As client-go names it; a long one loses its end."""
    return f"{component}-{platform.node()}".encode()[:WORD_BYTES].decode(errors="ignore")


def _random_name() -> str:
    return str(uuid.uuid4())


def _forget_after_fork() -> None:
    for recorder in list(_recorders):
        recorder._abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
