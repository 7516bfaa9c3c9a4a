"""The rules of one candidate, statement by statement."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync import LeaderElector
from kwsync._election._candidate import Candidate, Moment, Purpose, Step, Term
from kwsync._election._lease import Rules, changed_lease, held_spec, new_lease, record_of
from kwsync._micro_time import micro_time, microseconds
from tests.election.model import Document, Stored, rules_of, run_round, tell

NAMES: dict[str, Any] = {"namespace": "default", "name": "lead", "identity": "a"}


def at(now: float, wall: float = 1_000_000.0) -> Moment:
    """A moment."""
    return Moment(now, wall)


def stored_by(identity: str, now: float = 0.0, **more: Any) -> Stored:
    """A Lease that somebody holds."""
    return run_round(Candidate(rules_of(identity, **more)), Stored(), now)


def changed(stored: Stored, **spec: Any) -> Stored:
    """Somebody writes something else into it."""
    assert stored.lease is not None
    lease = {**stored.lease, "spec": {**stored.lease["spec"], **spec}}
    return stored._write(lease)[0]


def spec_of(stored: Stored) -> dict[str, Any]:
    """What stands in it."""
    assert stored.lease is not None
    found: dict[str, Any] = stored.lease["spec"]
    return found


def written(step: Step | None) -> dict[str, Any]:
    """The spec that a step writes."""
    assert step is not None
    assert step.document is not None
    found: dict[str, Any] = step.document["spec"]
    return found


def look(candidate: Candidate, stored: Stored, moment: Moment) -> Step | None:
    """One look, and what it decides to do."""
    step = candidate.begin(moment)
    assert step.purpose is Purpose.LOOK
    return tell(candidate, step, stored.handle(step)[1], moment)


# Times and arguments


def test_b149_defaults() -> None:
    """B149: 15 s, 10 s and 2 s, as Kubernetes' components have them; here they are the library's defaults, too."""
    rules = LeaderElector(**NAMES)._rules
    assert (rules.lease_duration, rules.renew_deadline, rules.retry_period) == (15, 10, 2)


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"lease_duration": 10}, ValueError),
        ({"renew_deadline": 15}, ValueError),
        ({"renew_deadline": 2.4}, ValueError),
        ({"lease_duration": 15.5}, ValueError),
        ({"lease_duration": 0}, ValueError),
        ({"renew_deadline": -1}, ValueError),
        ({"retry_period": 0}, ValueError),
        ({"lease_duration": float("inf")}, ValueError),
        ({"retry_period": float("nan")}, ValueError),
        ({"identity": ""}, ValueError),
        ({"namespace": ""}, ValueError),
        ({"name": ""}, ValueError),
        ({"stop_timeout": -1}, ValueError),
        ({"stop_timeout": float("inf")}, ValueError),
        ({"stop_timeout": float("nan")}, ValueError),
        ({"stop_timeout": "x"}, TypeError),
        ({"stop_timeout": True}, TypeError),
        ({"stop_timeout": None}, TypeError),
        ({"labels": ["x"]}, TypeError),
        ({"labels": "x"}, TypeError),
        ({"identity": None}, TypeError),
        ({"lease_duration": "15"}, TypeError),
        ({"lease_duration": True}, TypeError),
        ({"client": "client"}, TypeError),
        ({"on_started": 1}, TypeError),
        ({"on_stopped": 1}, TypeError),
        ({"on_new_leader": "f"}, TypeError),
        ({"on_error": []}, TypeError),
    ],
    ids=str,
)
def test_b150_validation(wrong: dict[str, Any], kind: type[Exception]) -> None:
    """B150: lease > deadline > 1.2 times retry, all positive, an identity; a Lease has whole seconds.

    There is always a lock, and callbacks are not needed, since `is_leader` and `leading` do without.
    """
    with pytest.raises(kind):
        LeaderElector(**{**NAMES, **wrong})


def test_smallest_times() -> None:
    """One second is the shortest Lease."""
    LeaderElector(**NAMES, lease_duration=1, renew_deadline=0.6, retry_period=0.1)


@given(st.floats(0, 1))
def test_b151_pauses(chance: float) -> None:
    """B151: it looks at once, then after 1 to 2.2 retry periods by chance."""
    candidate = Candidate(rules_of("a"))
    assert candidate.begin(at(0)).purpose is Purpose.LOOK
    assert candidate.pause(0, chance) == pytest.approx(2 + 2.4 * chance)


def test_pause_ends_with_the_lease() -> None:
    """A candidate is there when the Lease of another is over, and then again after the usual pauses."""
    stored, candidate = stored_by("b"), Candidate(rules_of("a"))
    look(candidate, stored, at(100))
    assert candidate.pause(100, 1.0) == pytest.approx(4.4)
    assert candidate.pause(113, 1.0) == pytest.approx(2)
    assert candidate.pause(115, 1.0) == pytest.approx(4.4)


def test_pause_heeds_the_server() -> None:
    """A candidate waits as long as the server asks for, up to a lease; who leads cannot."""
    candidate = Candidate(rules_of("a"))
    assert candidate.pause(0, 0.0, retry_after=7) == 7
    assert candidate.pause(0, 0.0, retry_after=700) == 15
    run_round(candidate, Stored(), 0)
    assert candidate.pause(0, 0.0, retry_after=7) == 2


# Taking


def test_b152_creates_what_is_missing() -> None:
    """B152: a missing Lease is created, with transitions 0; where another was faster, it tries later."""
    candidate = Candidate(rules_of("a"))
    step = look(candidate, Stored(), at(0))
    assert step is not None
    assert step.is_new
    assert written(step)["leaseTransitions"] == 0
    assert tell(candidate, step, 409, at(0)) is None
    assert not candidate.leads(0)
    assert run_round(candidate, Stored(), 3).lease is not None
    assert candidate.leads(3)


def test_deleted_lease() -> None:
    """A Lease that was there and is deleted may still be believed in: it is created a lease later, not at once."""
    stored, candidate = changed(stored_by("b"), leaseTransitions=6), Candidate(rules_of("a"))
    look(candidate, stored, at(100))
    assert look(candidate, Stored(), at(102)) is None
    assert candidate.leader == ""
    assert look(candidate, Stored(), at(116)) is None
    step = look(candidate, Stored(), at(117))
    assert written(step)["leaseTransitions"] == 7


def test_deleted_under_the_leader() -> None:
    """Who leads when its Lease is deleted says so again, under the same token."""
    candidate = Candidate(rules_of("a"))
    run_round(candidate, changed(stored_by("b"), holderIdentity="", leaseTransitions=6), 0)
    stored = run_round(candidate, Stored(None, 9), 2)
    assert spec_of(stored)["holderIdentity"] == "a"
    assert spec_of(stored)["leaseTransitions"] == 7
    assert candidate.term == Term(7, 12)


@pytest.mark.parametrize("remote", ["1999-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z", None])
def test_b153_waits_by_its_own_clock(remote: str | None) -> None:
    """B153: a Lease of another is left alone for the seconds that stand in it, from the last change that was seen.

    What it says about times is never compared with a clock.
    """
    stored = changed(stored_by("b"), leaseDurationSeconds=40, renewTime=remote)
    candidate = Candidate(rules_of("a"))
    for now in (100, 120, 139.9):
        assert look(candidate, stored, at(now)) is None
    stored = changed(stored, renewTime="2001-01-01T00:00:00.000000Z")
    for now in (140, 179.9):
        assert look(candidate, stored, at(now)) is None
    step = look(candidate, stored, at(180))
    assert step is not None
    assert step.purpose is Purpose.TAKE


def test_b153_other_changes_do_not_count() -> None:
    """B153: a change of labels is no renewal, though the version is another."""
    stored, candidate = stored_by("b"), Candidate(rules_of("a"))
    look(candidate, stored, at(100))
    assert stored.lease is not None
    metadata = {**stored.lease["metadata"], "labels": {"touched": "yes"}}
    stored = stored._write({**stored.lease, "metadata": metadata})[0]
    assert look(candidate, stored, at(115)) is not None


def test_b154_empty_holder() -> None:
    """B154: what nobody holds is taken at once."""
    stored = changed(stored_by("b"), holderIdentity="")
    candidate = Candidate(rules_of("a"))
    run_round(candidate, stored, 100)
    assert candidate.leads(100)


def test_b154_own_identity() -> None:
    """B154: who finds its own identity leads at once. It is another term all the same, and has a token of its own:
    the one before may have been another process, whose last writes are still on their way (client-go keeps the number).
    """
    stored = changed(stored_by("a"), leaseTransitions=4)
    candidate = Candidate(rules_of("a"))
    stored = run_round(candidate, stored, 100)
    assert candidate.term == Term(5, 110)
    assert spec_of(stored)["leaseTransitions"] == 5


def test_two_of_one_identity() -> None:
    """A twin that leads under the same identity has another token: the first sees at its next renewal that it lost."""
    first, twin = Candidate(rules_of("a")), Candidate(rules_of("a"))
    stored = run_round(twin, run_round(first, Stored(), 0), 1)
    run_round(first, stored, 2)
    assert not first.leads(2)
    assert twin.leads(2)


def test_b155_takes_over() -> None:
    """B155: one transition more, and both times are now."""
    stored, candidate = changed(stored_by("b"), leaseTransitions=4), Candidate(rules_of("a"))
    look(candidate, stored, at(100))
    stored = run_round(candidate, stored, 115, 1_000_000_000.25)
    spec = spec_of(stored)
    assert spec["holderIdentity"] == "a"
    assert spec["leaseTransitions"] == 5
    assert spec["acquireTime"] == spec["renewTime"] == "2001-09-09T01:46:40.250000Z"


# Renewing


def test_b156_renews_without_looking() -> None:
    """B156: a renewal is one update with the remembered version; after a failure it looks, checks, and updates."""
    candidate = Candidate(rules_of("a"))
    stored = run_round(candidate, Stored(), 0)
    step = candidate.begin(at(2))
    assert step.purpose is Purpose.RENEW
    assert step.document is not None
    assert step.document["metadata"]["resourceVersion"] == str(stored.version)

    again = candidate.failed(step, 409, at(2))
    assert again is not None
    assert again.purpose is Purpose.LOOK
    stored = changed(stored, strategy="kept")
    renewal = tell(candidate, again, stored.handle(again)[1], at(2))
    assert renewal is not None
    stored, answer = stored.handle(renewal)
    assert tell(candidate, renewal, answer, at(2)) is None
    assert spec_of(stored)["strategy"] == "kept"
    assert candidate.term == Term(0, 12)


@pytest.mark.parametrize("seconds", [0.0, 0.2])
@pytest.mark.parametrize("code", [0, 401, 403, 409, 422, 429, 500, 503, 504])
def test_few_requests_while_renewals_fail(code: int, seconds: float) -> None:
    """B156: a leader whose renewals fail in any way asks less than ten times before its term is over.

    What says that the Lease is another, or gone, is looked after at once, all else in the last round only.
    """
    candidate, now, purposes = Candidate(rules_of("a")), 0.0, list[str]()
    stored = run_round(candidate, Stored(), 0)
    while candidate.leads(now := now + candidate.pause(now, 0.5)):
        step: Step | None = candidate.begin(at(now))
        while step is not None:
            purposes.append(step.purpose.value)
            now += seconds
            answer = stored.handle(step)[1] if step.purpose is Purpose.LOOK else code
            step = tell(candidate, step, answer, at(now))
    assert len(purposes) < 10
    if code not in (409, 500):
        assert purposes == ["renew", "renew", "renew", "renew", "look", "renew"]


@given(st.lists(st.sampled_from([0, 404, 409, 500, None]), min_size=10, max_size=10), st.sampled_from("ntr"))
def test_a_round_ends(codes: list[int | None], state: str) -> None:
    """Whatever is answered, a round is no more than two tries: who says 409 for ever is not asked for ever."""
    candidate, stored = Candidate(rules_of("a")), Stored()
    if state != "n":
        stored = run_round(candidate, stored, 0)
    if state == "r":
        candidate.resign()
    step: Step | None = candidate.begin(at(1))
    count = 0
    while step is not None:
        stored, answer = stored.handle(step)
        step = tell(candidate, step, answer if codes[count] is None else codes[count] or 0, at(1))
        count += 1
    assert count <= 4


@pytest.mark.parametrize("code", [404, 409, 500])
def test_a_renewal_finds_it_deleted(code: int) -> None:
    """A renewal of a deleted Lease creates it in the same round, whatever the server says to an update of what is not
    there: kube-apiserver 500, others 404.
    """
    candidate = Candidate(rules_of("a"))
    run_round(candidate, Stored(), 0)
    look = candidate.failed(candidate.begin(at(2)), code, at(2))
    assert look is not None
    creation = candidate.failed(look, 404, at(2))
    assert creation is not None
    assert creation.is_new
    assert written(creation)["leaseTransitions"] == 0


def test_the_last_round_tries_all() -> None:
    """Where there is time for one renewal only, a failure is not the end of it: it looks, and renews in that round."""
    candidate = Candidate(rules_of("a", renew_deadline=2.5, lease_duration=3))
    stored = run_round(candidate, Stored(), 0)
    step = candidate.begin(at(2))
    again = candidate.failed(step, 503, at(2))
    assert again is not None
    renewal = tell(candidate, again, stored.handle(again)[1], at(2))
    assert renewal is not None
    tell(candidate, renewal, stored.handle(renewal)[1], at(2))
    assert candidate.term == Term(0, 4.5)


def test_renewal_keeps_the_term() -> None:
    """A renewal changes the time of renewal alone."""
    candidate = Candidate(rules_of("a"))
    before = spec_of(stored := run_round(candidate, Stored(), 0, 50.0))
    after = spec_of(run_round(candidate, stored, 2, 52.0))
    assert {**before, "renewTime": micro_time(52_000_000)} == after


def test_each_renewal_is_a_change() -> None:
    """Others see a renewal by what has changed, so a wall clock that stands still, or jumps back, changes it too."""
    candidate, times = Candidate(rules_of("a")), []
    stored = Stored()
    for now, wall in enumerate([50.0, 50.0, 20.0, 20.0, 60.0]):
        stored = run_round(candidate, stored, now, wall)
        times.append(spec_of(stored)["renewTime"])
    assert times == sorted(set(times))
    assert times[-1] == micro_time(60_000_000)


def test_b157_belief_ends() -> None:
    """B157: without a renewal it leads no more after the renew deadline, counted from before the last good request was
    sent (client-go begins to count with the first renewal that fails). It renews every retry period.
    """
    candidate = Candidate(rules_of("a"))
    stored = run_round(candidate, Stored(), 0)
    assert candidate.pause(0.5, 1.0) == 2
    step = candidate.begin(at(2))
    stored, answer = stored.handle(step)
    tell(candidate, step, answer, at(6.5))
    assert candidate.term == Term(0, 12)
    assert candidate.leads(11.9)
    assert candidate.pause(11, 1.0) == 1
    assert not candidate.leads(12)
    assert candidate.pause(13, 1.0) == 0


def test_late_answers() -> None:
    """An answer that comes after the belief has ended revives nothing, and one to taking begins nothing."""
    candidate = Candidate(rules_of("a"))
    stored = run_round(candidate, Stored(), 0)
    step = candidate.begin(at(9))
    stored, answer = stored.handle(step)
    tell(candidate, step, answer, at(10))
    assert candidate.term is None

    other = Candidate(rules_of("b"))
    taking = look(other, changed(stored, holderIdentity=""), at(0))
    assert taking is not None
    tell(other, taking, {**stored.lease, "spec": written(taking)} if stored.lease else 0, at(10))
    assert other.term is None


def test_sees_that_another_leads() -> None:
    """Who finds another in the Lease has lost, and does not take it in the same breath."""
    candidate = Candidate(rules_of("a"))
    stored = changed(run_round(candidate, Stored(), 0), holderIdentity="b")
    step = candidate.begin(at(2))
    after = candidate.failed(step, 409, at(2))
    assert after is not None
    assert tell(candidate, after, stored.handle(after)[1], at(2)) is None
    assert candidate.term is None
    assert candidate.leader == "b"


def test_b158_of_two_one_wins() -> None:
    """B158: both saw the same version; the second gets 409, and does not lead."""
    stored = changed(stored_by("c"), holderIdentity="")
    first, second = Candidate(rules_of("a")), Candidate(rules_of("b"))
    steps = [look(first, stored, at(0)), look(second, stored, at(0))]
    for candidate, step in zip((first, second), steps, strict=True):
        assert step is not None
        stored, answer = stored.handle(step)
        tell(candidate, step, answer, at(0))
    assert first.leads(0)
    assert not second.leads(0)
    assert second.claimed is None
    assert record_of(stored.lease or {}).holder == "a"


def test_nothing_is_written_without_a_version() -> None:
    """Without a version a write would not be guarded, so there is none."""
    candidate = Candidate(rules_of("a"))
    step = candidate.begin(at(0))
    assert candidate.answered(step, {"metadata": {}, "spec": {}}, at(0)) is None
    assert candidate.answered(step, {}, at(0)) is None


# Giving back


def test_b160_releases() -> None:
    """B160: after a fresh look, if it is still the holder: nobody, one second, the transitions kept, both times now."""
    candidate = Candidate(rules_of("a"))
    stored = changed(stored_by("b"), holderIdentity="", leaseTransitions=4)
    stored = run_round(candidate, stored, 0)
    candidate.resign()
    assert not candidate.leads(0)
    release = look(candidate, stored, at(2, 50.0))
    assert release is not None
    again = tell(candidate, release, 409, at(2, 50.0))
    assert again is not None
    assert again.purpose is Purpose.LOOK
    assert candidate.claimed == 5
    stored = run_round(candidate, stored, 3, 1_000_000_000.0)
    spec, now = spec_of(stored), "2001-09-09T01:46:40.000000Z"
    assert spec["holderIdentity"] == ""
    assert (spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (1, 5)
    assert spec["acquireTime"] == spec["renewTime"] == now
    assert candidate.claimed is None


def test_b160_leaves_what_is_not_its_own() -> None:
    """B160: what another holds, or a twin of the same identity, or what is gone, is not released."""
    for stored in (stored_by("b"), changed(stored_by("a"), leaseTransitions=9), Stored()):
        candidate = Candidate(rules_of("a"))
        run_round(candidate, Stored(), 0)
        candidate.resign()
        assert run_round(candidate, stored, 1) is stored
        assert candidate.claimed is None


def test_releases_what_it_may_have_taken() -> None:
    """Nobody knows what became of a request without an answer: it is looked for. What was refused surely was not."""
    for code, claimed in ((0, 0), (500, 0), (504, 0), (403, None), (409, None)):
        candidate = Candidate(rules_of("a"))
        step = look(candidate, Stored(), at(0))
        assert step is not None
        candidate.failed(step, code, at(0))
        assert candidate.claimed == claimed


# What stands in a Lease


@given(st.integers(0, 4_000_000_000_000_000))
def test_b162_times_have_microseconds(micros: int) -> None:
    """B162: exactly six digits of a fraction, in UTC."""
    text = micro_time(micros)
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    assert len(text) == len("2026-01-01T00:00:00.000000Z")
    assert round(moment.timestamp() * 1_000_000) == micros


@given(st.floats(0, 4e9), st.floats(0, 10))
def test_times_are_cut_off(seconds: float, more: float) -> None:
    """No time is later than it was, by more than what a float cannot tell; and a later one is never written earlier."""
    assert -1 <= microseconds(seconds) - seconds * 1_000_000 <= 0
    assert micro_time(microseconds(seconds)) <= micro_time(microseconds(seconds + more))
    assert micro_time(microseconds(1.9999999)) == "1970-01-01T00:00:01.999999Z"


def test_b162_keeps_what_others_wrote() -> None:
    """B162: labels are merged over those that are there, and the fields of others stay."""
    rules = rules_of("a", labels={"app": "mine", "more": "x"})
    stored: Document = {
        "metadata": {"name": "lead", "resourceVersion": "7", "labels": {"app": "old", "own": "y"}, "finalizers": ["f"]},
        "spec": {"strategy": "OldestEmulationVersion", "preferredHolder": "b", "holderIdentity": "b"},
        "unknown": 1,
    }
    lease = changed_lease(rules, stored, held_spec(rules, 0, 3))
    labels = {"app": "mine", "own": "y", "more": "x"}
    assert lease["metadata"] == {**stored["metadata"], "labels": labels}
    assert lease["spec"]["preferredHolder"] == "b"
    assert lease["spec"]["strategy"] == "OldestEmulationVersion"
    assert lease["spec"]["holderIdentity"] == "a"
    assert lease["unknown"] == 1
    assert stored["metadata"]["labels"] == {"app": "old", "own": "y"}
    assert new_lease(rules, {})["metadata"]["labels"] == rules.labels


def test_b164_request_timeout() -> None:
    """B164: half of the renew deadline, and a second at least."""
    assert rules_of("a").request_timeout == 5
    assert rules_of("a", lease_duration=2, renew_deadline=1, retry_period=0.5).request_timeout == 1


words = st.none() | st.text(max_size=3) | st.integers() | st.booleans() | st.lists(st.integers(), max_size=1)
specs = st.dictionaries(
    st.sampled_from(["holderIdentity", "leaseDurationSeconds", "leaseTransitions", "renewTime", "acquireTime"]), words
)


@given(st.one_of(specs, words), st.one_of(st.none(), words, st.fixed_dictionaries({"resourceVersion": words})))
def test_odd_leases(spec: object, metadata: object) -> None:
    """Whatever stands in a Lease, it is read as something; who holds it without a duration has ours."""
    candidate = Candidate(rules_of("a"))
    document: Document = {"metadata": metadata, "spec": spec}
    candidate.answered(candidate.begin(at(0)), document, at(0))
    record = record_of(document)
    if record.holder not in ("", "a") and record.duration is None:
        assert candidate._seconds_held(5) == 10


def test_rules_are_values() -> None:
    """Equal rules are equal."""
    assert rules_of("a") == rules_of("a")
    assert isinstance(rules_of("a"), Rules)
