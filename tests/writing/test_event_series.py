"""What is written of events, and when: B169 to B173, and that nothing is miscounted whatever happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwsync._event_documents import Occurrence, Source, occurrence
from kwsync._event_filters import COMBINED, Limits
from kwsync._event_series import NEVER, EventSeries, Verdict, Write

WHO = Source("example.com/c", "i")
MINUTE = 60.0


def happened(name: str = "a", reason: str = "Tested", note: str = "", at: float = 0.0, **options: Any) -> Occurrence:
    """Something about a pod."""
    pod = {"kind": "Pod", "name": name, "namespace": "here", "resourceVersion": options.pop("version", "1")}
    given = {"type": "Normal", "action": None, "related": None, **options}
    return occurrence(pod, reason, note, at=at, **given)


def new_series(**limits: Any) -> EventSeries:
    """An empty one."""
    names = (f"random-{number}" for number in count())
    return EventSeries(WHO, lambda: next(names), Limits(**limits))


def writes(series: EventSeries, now: float) -> Iterator[Write]:
    """All that is to be written now, each with success."""
    while (write := series.next_write(now)) is not None:
        yield write
        series.written()


def counts(found: Iterator[Write]) -> list[int]:
    """What they tell: the count of each; 1 without a series."""
    return [write.document.get("series", {"count": 1})["count"] for write in found]


class TestSeries:
    def test_first(self) -> None:
        """The first of its kind is created, without a series."""
        series = new_series()
        assert series.observe(happened(), 0) is Verdict.NEW
        (write,) = writes(series, 0)
        assert (write.namespace, write.exists, "series" in write.document) == ("here", False, False)
        assert write.document["metadata"]["name"] == write.name

    def test_b173_first_repeat(self) -> None:
        """The first repeat starts a series with the count 2 and is written at once; further ones are only counted."""
        series = new_series()
        series.observe(happened(), 0)
        (first,) = writes(series, 0)
        assert series.observe(happened(at=7.0), 1) is Verdict.REPEATED
        (second,) = writes(series, 1)
        assert second == Write(
            "here",
            first.name,
            {"series": {"count": 2, "lastObservedTime": "1970-01-01T00:00:07.000000Z"}},
            exists=True,
        )
        for moment in range(2, 100):
            series.observe(happened(), moment)
        assert list(writes(series, 100)) == []

    def test_b173_refresh(self) -> None:
        """The count is written every 30 minutes while the series goes on, and only where it has changed."""
        series = new_series()
        found = [
            (minute, told)
            for minute in range(95)
            for _ in [series.observe(happened(), minute * MINUTE)]
            for told in counts(writes(series, minute * MINUTE))
        ]
        assert found == [(0, 1), (1, 2), (30, 31), (60, 61), (90, 91)]

    def test_b173_finished(self) -> None:
        """6 minutes after the last repeat the series ends with its last count; what comes then is another event."""
        series = new_series()
        for moment in (0, 1, 2):
            series.observe(happened(), moment)
            list(writes(series, moment))
        assert series.next_due == 2 + 6 * MINUTE
        assert list(writes(series, 1 + 6 * MINUTE)) == []
        assert counts(writes(series, 2 + 6 * MINUTE)) == [3]
        assert (series.remembered, series.next_due) == (0, NEVER)
        assert series.observe(happened(), 3 + 6 * MINUTE) is Verdict.NEW

    def test_told_already(self) -> None:
        """A count that the server knows is not written again, neither with the others nor at the end."""
        series = new_series(refresh=100)
        for moment in (0.0, 1.0):
            series.observe(happened(), moment)
            list(writes(series, moment))
        for moment in (100, 1 + 6 * MINUTE):
            assert list(writes(series, moment)) == []

    def test_idle_single(self) -> None:
        """An event that came once is forgotten after 6 minutes, and not written again."""
        series = new_series()
        series.observe(happened(), 0)
        list(writes(series, 0))
        assert list(writes(series, 6 * MINUTE)) == []
        assert (series.remembered, series.next_due) == (0, NEVER)

    @pytest.mark.parametrize(
        "other",
        [
            {"name": "b"},
            {"reason": "Other"},
            {"note": "other"},
            {"type": "Warning"},
            {"action": "Other"},
            {"related": {"kind": "Pod", "name": "b"}},
        ],
        ids=str,
    )
    def test_b169_same(self, other: dict[str, Any]) -> None:
        """The same event is one with the same object, type, reason, note and action; the object's version is no
        matter. (client-go's newer recorder leaves the note out, and so loses all but the first.)
        """
        series = new_series()
        series.observe(happened(), 0)
        assert series.observe(happened(version="2"), 0) is Verdict.REPEATED
        assert series.observe(happened(**other), 0) is Verdict.NEW

    def test_b169_missing(self) -> None:
        """An event that is not there any more when its count is to be written is made anew, with the count."""
        series = new_series()
        series.observe(happened(), 0)
        (first,) = writes(series, 0)
        series.observe(happened(), 1)
        assert series.next_write(1) is not None
        series.missing()
        (again,) = writes(series, 1)
        assert (again.exists, again.name, again.document["series"]["count"]) == (False, first.name, 2)
        assert again.document["note"] == first.document["note"]

    def test_repeated_while_it_waits(self) -> None:
        """What is repeated before it could be written is written once, with its count."""
        series = new_series()
        for _ in range(5):
            series.observe(happened(), 0)
        assert counts(writes(series, 0)) == [5]

    def test_finish(self) -> None:
        """At the end the counts that the server does not know are written."""
        series = new_series()
        for name in ("a", "a", "a", "b"):
            series.observe(happened(name), 0)
            list(writes(series, 0))
        series.finish()
        assert counts(writes(series, 0)) == [3]

    def test_b168_names(self) -> None:
        """No two names are equal, although the clock stands still or is set back; a random one where it must be."""
        series = new_series(burst=100, similar=1000)
        for number, at in enumerate([5.0, 5.0, 5.0, 3.0, 5.0]):
            series.observe(happened(note=str(number), at=at), 0)
        series.observe(happened("system:a"), 0)
        names = [write.name for write in writes(series, 0)]
        assert len(set(names)) == 6
        assert names[0] == f"a.{5 * 10**9:x}"
        assert names[-1] == "random-0"


class TestFilters:
    def test_b171_spam(self) -> None:
        """About one object 25 events of a type may be written at once, and then one in 5 minutes."""
        series = new_series()
        verdicts = Counter(series.observe(happened(reason=f"R{number}"), 0) for number in range(40))
        assert verdicts == {Verdict.NEW: 25, Verdict.SPAM: 15}
        assert series.observe(happened(reason="More"), 299) is Verdict.SPAM
        assert series.observe(happened(reason="More"), 300) is Verdict.NEW
        assert series.observe(happened(reason="Even more"), 300) is Verdict.SPAM

    def test_b171_others(self) -> None:
        """Other objects and the other type are not concerned, nor are repetitions, which cost nothing."""
        series = new_series()
        for number in range(26):
            series.observe(happened(reason=f"R{number}"), 0)
        assert series.observe(happened("b"), 0) is Verdict.NEW
        assert series.observe(happened(type="Warning"), 0) is Verdict.NEW
        assert {series.observe(happened(reason="R1"), 0) for _ in range(100)} == {Verdict.REPEATED}

    def test_b171_repeat_beyond(self) -> None:
        """A series that may not be written at once is written when it is refreshed or ends: no count is lost."""
        series = new_series()
        for number in range(25):
            series.observe(happened(reason=f"R{number}"), 0)
        list(writes(series, 0))
        series.observe(happened(reason="R1"), 1)
        assert list(writes(series, 1)) == []
        assert counts(writes(series, 1 + 6 * MINUTE)) == [2]

    def test_b171_memory(self) -> None:
        """So many objects are remembered; the one that came least recently is forgotten."""
        series = new_series(remembered=2, burst=1)
        for name in ("a", "b", "c"):
            assert series.observe(happened(name), 0) is Verdict.NEW
        assert series.observe(happened("c", "Other"), 0) is Verdict.SPAM
        assert series.observe(happened("a", "Other"), 0) is Verdict.NEW
        assert Limits().remembered == 4096

    def test_b170_combined(self) -> None:
        """From the tenth different note on, events that are equal otherwise are one, counted under a note that says so;
        the first nine stay what they are.
        """
        series = new_series()
        for number in range(20):
            series.observe(happened(note=f"note {number}", action=f"A{number}"), 0)
        series.observe(happened(note="note 1", action="A1"), 0)
        found = {
            write.document["note"]: write.document.get("series", {}).get("count", 1) for write in writes(series, 0)
        }
        assert found == {
            **{f"note {number}": 2 if number == 1 else 1 for number in range(9)},
            f"{COMBINED}note 9": 11,
        }

    @pytest.mark.parametrize(("pause", "combined"), [(10, True), (10.1, False)])
    def test_b170_within(self, pause: float, combined: bool) -> None:
        """After more than 10 minutes without any of them it begins anew."""
        series = new_series()
        for number in range(9):
            series.observe(happened(note=f"note {number}"), 0)
        list(writes(series, 0))
        series.observe(happened(note="other"), pause * MINUTE)
        assert [write.document["note"] for write in writes(series, pause * MINUTE)] == [
            COMBINED + "other" if combined else "other"
        ]

    def test_b170_long_note(self) -> None:
        """A combined note is cut, too."""
        series = new_series(similar=1)
        series.observe(happened(note="x" * 1024), 0)
        (write,) = writes(series, 0)
        assert write.document["note"].startswith(COMBINED)
        assert len(write.document["note"].encode()) <= 1024

    def test_b167_full(self) -> None:
        """When 1,000 wait to be written, further ones are dropped; those that wait are still counted."""
        series = new_series()
        verdicts = Counter(series.observe(happened(f"p{number}"), 0) for number in range(1200))
        assert verdicts == {Verdict.NEW: 1000, Verdict.FULL: 200}
        assert series.observe(happened("p1"), 0) is Verdict.REPEATED


class TestRetries:
    def test_b172_twelve(self) -> None:
        """Twelve tries; the first wait is from 0 to 10 s by chance, the others 10 s and up to a quarter more (B173)."""
        series, now, waits = new_series(), 0.0, []
        series.observe(happened(), 0)
        for attempt in range(1, 13):
            assert series.next_write(now) is not None
            going_on = series.failed(now, chance=0.4)
            assert going_on == (attempt < 12)
            if going_on:
                waits.append(round(series.next_due - now, 6))
                assert series.next_write(series.next_due - 0.001) is None
                now = series.next_due
        assert waits == [4.0, *[11.0] * 10]
        assert series.next_write(now) is None

    def test_in_order(self) -> None:
        """While one waits to be tried again nothing else is tried; then all follow."""
        series = new_series()
        for name in "abc":
            series.observe(happened(name), 0)
        series.next_write(0)
        series.failed(0, chance=1)
        assert series.next_write(9) is None
        assert [write.name[0] for write in writes(series, 10)] == ["a", "b", "c"]

    def test_next_begins_anew(self) -> None:
        """Each has twelve tries of its own."""
        series = new_series(tries=2)
        for name in "ab":
            series.observe(happened(name), 0)
        assert [series.failed(0, 0) for _ in range(4)] == [True, False, True, False]

    def test_server_wait(self) -> None:
        """A server that asks for a longer wait gets it."""
        series = new_series()
        series.observe(happened(), 0)
        series.next_write(0)
        series.failed(0, chance=1, wait=60)
        assert series.next_due == 60

    def test_b172_refused(self) -> None:
        """What is refused is not tried again; a repetition is, once, with its count."""
        series = new_series()
        series.observe(happened(), 0)
        series.next_write(0)
        series.refused()
        assert series.next_write(0) is None
        series.observe(happened(), 1)
        (write,) = writes(series, 1)
        assert (write.exists, write.document["series"]["count"]) == (False, 2)


@attrs.define
class Model:
    """A server that takes what it is told, and a count of what was not dropped."""

    events: dict[str, int] = attrs.field(factory=dict)
    accepted: int = 0

    def take(self, series: EventSeries, now: float, outcome: str) -> bool:
        """One write; False for nothing to do."""
        write = series.next_write(now)
        if write is None:
            return False
        told = write.document.get("series", {"count": 1})["count"]
        if outcome == "failed":
            assert series.failed(now, 0.5)
        elif outcome == "expired" and write.exists:
            del self.events[write.name]
            series.missing()
        else:
            assert write.exists == (write.name in self.events)
            assert told >= self.events.get(write.name, 0)
            self.events[write.name] = told
            series.written()
        return True


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("event"), st.integers(0, 3), st.integers(0, 5)),
        st.tuples(st.just("wait"), st.sampled_from([0.1, 5.0, 100.0, 400.0, 2000.0]), st.none()),
        st.tuples(st.just("write"), st.sampled_from(["written", "written", "failed", "expired"]), st.integers(1, 5)),
    ),
    max_size=150,
)


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_nothing_is_miscounted(steps: list[tuple[str, Any, Any]]) -> None:
    """Whatever happens, in whatever order, the server's counts are those of all events that were not dropped, when all
    is written; memory stays within its limits.
    """
    series, model, now = new_series(waiting=5, remembered=4, burst=6, similar=4, tries=10**9), Model(), 0.0
    for kind, one, two in steps:
        if kind == "event":
            verdict = series.observe(happened(f"p{one}", note=str(two), at=now), now)
            model.accepted += verdict in (Verdict.NEW, Verdict.REPEATED)
        elif kind == "wait":
            now += one
        else:
            for _ in range(two):
                model.take(series, now, one)
        assert series.remembered <= 4
        assert series.waiting <= 5 + 4
    series.finish()
    while series.next_due < NEVER:
        now = max(now, series.next_due)
        assert model.take(series, now, "written")
    assert sum(model.events.values()) == model.accepted
    assert (series.remembered, series.waiting) == (0, 0)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 200), st.integers(0, 30)), max_size=120))
def test_spam_is_bounded(told: list[tuple[float, int]]) -> None:
    """However events come, of one type about one object no more are created than the burst and the time allow."""
    series, now, new = new_series(similar=1000), 0.0, 0
    for pause, note in told:
        now += pause
        new += series.observe(happened(note=str(note)), now) is Verdict.NEW
        list(writes(series, now))
        assert new <= 25 + now / 300
