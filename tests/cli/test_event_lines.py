"""Events as lines."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kwsync import EventType, WatchEvent
from kwsync.cli._colour import Paint
from kwsync.cli._event_lines import EventLines, Happening, News, in_order, of_types
from kwsync.cli._times import duration
from tests.cli.support import event

NOON = datetime(2026, 6, 1, 12, 0, 0, tzinfo=timezone.utc)

NEW = {
    "apiVersion": "events.k8s.io/v1",
    "metadata": {"namespace": "default", "creationTimestamp": "2026-06-01T10:00:00Z"},
    "eventTime": "2026-06-01T11:00:00.500000Z",
    "series": {"count": 7, "lastObservedTime": "2026-06-01T11:30:00.000000Z"},
    "regarding": {"kind": "Node", "name": "n1"},
    "reason": "Rebooted",
    "note": "it was\n  rebooted",
    "type": "Warning",
}
OLD_VIEW_OF_NEW = {
    **{key: NEW[key] for key in ("metadata", "eventTime", "series", "reason", "type")},
    "involvedObject": NEW["regarding"],
    "message": NEW["note"],
    "firstTimestamp": None,
    "lastTimestamp": None,
}
NEW_VIEW_OF_OLD = {
    "metadata": {"namespace": "default"},
    "eventTime": None,
    "regarding": {"kind": "Pod", "name": "web"},
    "reason": "Started",
    "note": "Started container main",
    "type": "Normal",
    "deprecatedFirstTimestamp": "2026-06-01T10:00:00Z",
    "deprecatedLastTimestamp": "2026-06-01T11:00:00Z",
    "deprecatedCount": 12,
}


def came(document: dict[str, Any], verb: EventType = EventType.ADDED) -> WatchEvent:
    return WatchEvent(verb, document)


def lines(**options: Any) -> EventLines:
    return EventLines(Paint(), lambda: NOON, zone=timezone.utc, **options)


def test_two_apis_tell_the_same() -> None:
    """An Event says the same whichever API wrote it and through whichever it is read."""
    assert Happening.of(NEW) == Happening.of(OLD_VIEW_OF_NEW)
    old = event("e", "2026-06-01T11:00:00Z", count=12, since="2026-06-01T10:00:00Z")
    assert Happening.of(old) == Happening.of(NEW_VIEW_OF_OLD)


def test_new_event() -> None:
    """The new way: a series tells how often and when last; line ends in the text become spaces."""
    told = Happening.of(NEW)
    assert (told.about, told.message, told.count) == ("node/n1", "it was rebooted", 7)
    assert told.last == datetime(2026, 6, 1, 11, 30, tzinfo=timezone.utc)
    assert told.repeats == "x7 over 29m"


@pytest.mark.parametrize(
    "document", [{}, {"involvedObject": 3, "series": [], "count": "x"}, {"lastTimestamp": "soon"}, None]
)
def test_odd_events(document: object) -> None:
    """An Event that lacks everything, or holds nonsense, still is a line."""
    told = Happening.of(document)
    assert (told.last, told.count, told.repeats) == (None, 1, "")
    assert lines().change(WatchEvent(EventType.ADDED, document if isinstance(document, dict) else None))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5, "5s"), (119, "119s"), (120, "2m"), (3599, "59m"), (3600, "1h"), (7300, "2h"), (86400, "1d"), (864000, "10d")],
)
def test_duration(seconds: float, text: str) -> None:
    """Times are rough, as kubectl's ages are."""
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "since", "text"),
    [
        (1, "2026-06-01T10:00:00Z", ""),
        (12, "2026-06-01T10:00:00Z", "x12 over 1h"),
        (12, "2026-06-01T11:00:00Z", "x12"),
        (12, "2026-06-01T11:00:01Z", "x12"),
    ],
)
def test_repeats(count: int, since: str, text: str) -> None:
    """How often, and over which time where that is known; once is not told."""
    assert Happening.of(event("e", "2026-06-01T11:00:00Z", count=count, since=since)).repeats == text


def test_block() -> None:
    """The backlog comes in the order of its times, aligned, and a line below it parts it from the news."""
    backlog = [
        came(event("b", "2026-06-01T11:59:00Z", reason="BackOff", type="Warning", count=2)),
        came(event("a", "2026-05-31T23:00:00Z")),
    ]
    assert lines().block(backlog) == [
        "LAST SEEN          TYPE      REASON    OBJECT    MESSAGE",
        "2026-05-31 23:00   Normal    Started   pod/web   Started container main",
        "11:59:00           Warning   BackOff   pod/web   Started container main (x2)",
        "-- 12:00:00 what follows is new ----------------------------------------",
    ]


def test_second_block() -> None:
    """After a second list there is neither a second header nor a second line."""
    shown = lines()
    shown.block([])
    assert shown.block([]) == []
    assert shown.change(came(event("a", "2026-06-01T12:00:01Z"))) == [
        "12:00:01    Normal   Started   pod/web   Started container main"
    ]


def test_namespaces() -> None:
    """Of all namespaces each line tells its own."""
    shown = lines(namespaces=True).block([came(event("a", "2026-06-01T11:00:00Z"))])
    assert shown[0].split() == ["NAMESPACE", "LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert shown[1].startswith("default     11:00:00")


def test_zone() -> None:
    """Times are those of the reader's zone, and so is the day."""
    shown = EventLines(Paint(), lambda: NOON, zone=timezone(timedelta(hours=13)))
    assert shown.change(came(event("a", "2026-06-01T11:30:00Z")))[1].startswith("00:30:00 ")


ODD_TIMES = ["0001-01-01T00:00:00Z", "0001-01-01T00:00:01Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999Z"]


@pytest.mark.parametrize("zone", [timezone(timedelta(hours=hours)) for hours in (-12, 0, 14)] + [None])
@pytest.mark.parametrize("first", ODD_TIMES)
@pytest.mark.parametrize("last", ODD_TIMES)
def test_ends_of_the_calendar(first: str, last: str, zone: timezone | None) -> None:
    """Times of the years 1 and 9999 are times, in every zone, and a time that nobody set is none."""
    shown = EventLines(Paint(), lambda: NOON, zone=zone)
    found = [came(event("e", last, count=2, since=first)), came(event("f", first, count=2, since=last))]
    [_, *told, _] = shown.block(found)
    assert len(told) == 2
    assert all(line.startswith(("unknown", "0001-01-0", "9999-12-31")) for line in told)


def test_today_is_asked_for_each_line() -> None:
    """After midnight, the events of before show their date."""
    moments = [NOON]
    shown = EventLines(Paint(), lambda: moments[-1], zone=timezone.utc)
    before = came(event("a", "2026-06-01T11:00:00Z"))
    assert shown.change(before)[1].startswith("11:00:00 ")
    moments.append(NOON + timedelta(days=1))
    assert shown.change(before)[0].startswith("2026-06-01 11:00 ")


def test_measure() -> None:
    """What is not shown has its place in the lines that are."""
    shown = lines()
    shown.measure(came(event("a", "2026-05-31T23:00:00Z", reason="FailedScheduling", type="Warning")))
    shown.block([])
    assert shown.change(came(event("b", "2026-06-01T11:00:00Z"))) == [
        "11:00:00           Normal    Started            pod/web   Started container main"
    ]


def test_long_cells() -> None:
    """A long reason or type is cut, and a long name moves the message of its own line alone."""
    long = {"kind": "Pod", "name": "n" * 200}
    shown = lines().block(
        [
            came(event("a", "2026-06-01T11:00:00Z", reason="r" * 300, type="日" * 100)),
            came(event("b", "2026-06-01T11:00:01Z", involvedObject=long)),
            came(event("c", "2026-06-01T11:00:02Z", message="m" * 300)),
        ]
    )
    assert f"   {'日' * 6}...   {'r' * 37}...   pod/web " in shown[1]
    assert f"   pod/{'n' * 200}   Started container main" in shown[2]
    assert shown[3].index("m" * 300) == shown[0].index("MESSAGE") < 150


def test_news() -> None:
    """A label that is added to an Event is no news; once more, another message and an Event made anew are."""
    news = News()

    def told(verb: EventType, name: str = "a", **more: Any) -> bool:
        return news(came(event(name, "2026-06-01T11:00:00Z", **more), verb))

    assert told(EventType.ADDED)
    assert told(EventType.ADDED, "b")
    changed = event("a", "2026-06-01T11:00:00Z")
    changed["metadata"]["labels"] = {"seen": "yes"}
    assert not news(came(changed, EventType.MODIFIED))
    assert told(EventType.MODIFIED, count=2)
    assert told(EventType.MODIFIED, count=2, message="other")
    assert not told(EventType.MODIFIED, count=2, message="other")
    assert not told(EventType.DELETED)
    assert told(EventType.ADDED, count=2, message="other")


def test_escapes() -> None:
    """A message cannot reach the terminal's controls."""
    bad = event("a", "2026-06-01T11:00:00Z", message="\x1b[2Jgone\u202e", reason="\x9b1m", type="\x07")
    [_, line] = lines().change(came(bad))
    assert "\\x1b[2Jgone\\u202e" in line
    assert line.isprintable()


def test_order_without_times() -> None:
    """Events without any time come first and keep their order."""
    found = in_order([came(event("a", "2026-06-01T11:00:00Z")), came({"n": 1}), came({"n": 2})])
    assert [one.object for one in found][:2] == [{"n": 1}, {"n": 2}]


def test_types() -> None:
    """Types are compared without case; none named means all."""
    warning, normal = came({"type": "Warning"}), came({"type": "Normal"})
    assert [of_types(["warning"])(one) for one in (warning, normal)] == [True, False]
    assert [of_types([])(one) for one in (warning, normal)] == [True, True]
