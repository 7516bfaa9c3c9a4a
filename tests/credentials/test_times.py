"""Times as RFC 3339 writes them: every one is read, and nothing else is."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync.credentials._times import seconds_of

ZONES = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=ZONES))
def test_round_trip(moment: datetime) -> None:
    """What is written in any zone is the same moment."""
    expected = (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds()
    assert seconds_of(moment.isoformat()) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00Z", "2026-01-01t00:00:00z", "2026-01-01T01:00:00.000+01:00"])
def test_same(text: str) -> None:
    """Small letters, fractions and zones are all the same."""
    assert seconds_of(text) == 1767225600.0


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00Z", "1767225600"),
        *("2026-13-01T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00Z\n"),
        *("2026-01-01T00:00:00+0100", "2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00.Z", "\u0662026-01-01T00:00:00Z"),
    ],
)
def test_nothing_else(text: str) -> None:
    """A time without a zone could be any of a day; the error does not show what was there."""
    with pytest.raises(ValueError, match=r"^no time as RFC 3339 has it$"):
        seconds_of(text)
