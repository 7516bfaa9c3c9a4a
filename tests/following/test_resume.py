"""The rules of following: each row of their table, and what holds whatever happens. No I/O, and no time but numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice, repeat
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwsync import Backoff, ErrorOrigin, WatchError
from kwsync._resume import HEALTHY_SECONDS, LONGEST_WAIT, STEADY_SECONDS, Action, Do, Outcome, Rules, State
from kwsync.errors import local_error, status_error

RULES = Rules()
LONG = 300.0
"""Seconds that a watch usually lasts."""


def http(code: int, reason: str = "", *, retry_after: float | None = None) -> WatchError:
    """A request that was refused."""
    document = {"kind": "Status", "reason": reason, "code": code}
    return status_error(document, ErrorOrigin.HTTP, path="", code=code, retry_after=retry_after)


def told(code: int, reason: str = "", **details: Any) -> WatchError:
    """An ERROR event in a stream."""
    document = {"kind": "Status", "reason": reason, "code": code, "details": details}
    return status_error(document, ErrorOrigin.STREAM, path="")


LOST = local_error(ErrorOrigin.NETWORK, "connection reset")
SILENT = local_error(ErrorOrigin.TIMEOUT, "no answer in time")
MALFORMED = local_error(ErrorOrigin.DECODE, "no event")

EXPIRED = [http(410), http(410, "Gone"), told(410, "Expired"), told(410, "Gone"), told(0, "Expired"), told(500, "Gone")]
TOO_MANY = [
    http(429),
    http(429, retry_after=3.0),
    told(429),
    told(429, retryAfterSeconds=3),
    told(0, "TooManyRequests"),
]
OTHERS = [
    *(http(code) for code in (400, 401, 403, 404, 405, 406, 500, 502, 503, 504)),
    *(told(code) for code in (403, 500, 503, 504)),
    told(500, "InternalError"),
    told(500, "StorageReadError"),
    MALFORMED,
    local_error(ErrorOrigin.CONFIG, "no credential", code=401),
]


def at(action: Action, **changes: Any) -> State:
    """In the middle of things: this is being done."""
    return attrs.evolve(State(action), **changes)


def after(state: State, *, rules: Rules = RULES, **outcome: Any) -> State:
    """The state after an outcome; a watch was long, and was answered, unless told otherwise."""
    return rules.next_action(state, Outcome(**{"at": 1000.0, "lasted": LONG, "connected": True, **outcome}))


def watching(version: str | None = "10", **changes: Any) -> State:
    """A watch from a version."""
    return at(Action(Do.WATCH, version), **changes)


def listing(**changes: Any) -> State:
    return at(Action(Do.LIST), **changes)


def streaming(**changes: Any) -> State:
    """A watch that gives the state first."""
    return at(Action(Do.WATCH_LIST), watch_list=True, **changes)


AGAIN = Action(Do.LIST, wait=0.0)


class TestStart:
    def test_b001_a_list(self) -> None:
        """B001: the first thing is a list, at once (of the most recent state: see README.md)."""
        assert RULES.start() == State(Action(Do.LIST))

    def test_b030_a_watch_list(self) -> None:
        """B030: where it is wanted, the first thing is a watch that gives the state."""
        assert RULES.start(watch_list=True) == State(Action(Do.WATCH_LIST), watch_list=True)

    @pytest.mark.parametrize("watch_list", [False, True])
    def test_from_a_version(self, watch_list: bool) -> None:
        """A version that is known needs no list (E20)."""
        assert RULES.start("7", watch_list=watch_list).action == Action(Do.WATCH, "7")


class TestAfterList:
    @pytest.mark.parametrize("version", ["10", None, "0", "abc"])
    def test_b006_whole(self, version: str | None) -> None:
        """B006: a watch from the list's own version, whatever that is, at once; one that has none begins anywhere."""
        assert after(listing(), version=version, alive=True).action == Action(Do.WATCH, version)

    @pytest.mark.parametrize("error", [*EXPIRED, *TOO_MANY, *OTHERS, LOST, SILENT], ids=str)
    def test_b014_b021_any_error(self, error: WatchError) -> None:
        """B014, B021: another list, of the most recent state again, after a step of the backoff."""
        action = after(listing(), complete=False, error=error).action
        assert action == Action(Do.LIST, wait=error.retry_after or 0.0)


class TestAfterWatch:
    @pytest.mark.parametrize("error", EXPIRED, ids=str)
    def test_b015_expired(self, error: WatchError) -> None:
        """B014, B015, B045: 410 in any dress means a list, after a step of the backoff."""
        assert after(watching(), error=error, version="10").action == AGAIN

    @pytest.mark.parametrize("error", TOO_MANY, ids=str)
    @pytest.mark.parametrize("lasted", [0.0, LONG])
    def test_b012_b013_too_many_requests(self, error: WatchError, lasted: float) -> None:
        """B012, B013: the same version again, not before Retry-After, and no list."""
        action = after(watching(), error=error, lasted=lasted, version="11").action
        assert action == Action(Do.WATCH, "11", wait=error.retry_after or 0.0)

    @pytest.mark.parametrize("error", [LOST, SILENT], ids=str)
    @pytest.mark.parametrize("lasted", [0.0, 10.0, LONG])
    def test_b012_no_answer(self, error: WatchError, lasted: float) -> None:
        """B012: who cannot even connect waits a step, however long the trying took, and lists nothing."""
        action = after(watching(), error=error, connected=False, lasted=lasted, version="10").action
        assert action == Action(Do.WATCH, "10", wait=0.0, brief=True)

    @pytest.mark.parametrize("error", OTHERS, ids=str)
    @pytest.mark.parametrize("lasted", [0.0, LONG])
    def test_b014_b016_b017_any_other_error(self, error: WatchError, lasted: float) -> None:
        """B014, B016, B017: a list, after a step; a line that is no event, too, since it may have been a change."""
        assert after(watching(), error=error, lasted=lasted, version="11").action == AGAIN

    @pytest.mark.parametrize("lasted", [0.0, 0.99])
    def test_b011_very_short(self, lasted: float) -> None:
        """B011: a clean end within a second that told nothing means a list, after a step."""
        assert after(watching(), lasted=lasted, version="10").action == AGAIN

    def test_silent_and_early(self) -> None:
        """One that ends within seconds, again and again, and tells nothing, is followed without haste: no failure."""
        first = after(watching(), lasted=1.1, version="10")
        assert first.action == Action(Do.WATCH, "10")
        second = after(first, lasted=1.1, version="10")
        assert second.action == Action(Do.WATCH, "10", wait=0.0)
        assert after(second, lasted=1.1, version="10").action == Action(Do.WATCH, "10", wait=0.0)
        assert after(second, lasted=1.1, alive=True, version="11").action == Action(Do.WATCH, "11")

    def test_a_short_window(self) -> None:
        """Nor is anything wrong with one that was to last no longer."""
        state = watching()
        for _ in range(5):
            state = after(state, rules=Rules(window_seconds=1), lasted=1.0, version="10")
            assert state.action == Action(Do.WATCH, "10")

    def test_retry_after_is_obeyed_for_an_hour(self) -> None:
        """A proxy whose clock is wrong by years does not make a follower deaf for years."""
        error = status_error({"kind": "Status", "code": 429}, ErrorOrigin.HTTP, path="", retry_after=1e9)
        assert after(watching(), error=error, version="10").action.wait == LONGEST_WAIT

    @pytest.mark.parametrize(("lasted", "alive"), [(HEALTHY_SECONDS, False), (LONG, False), (LONG, True), (0.0, True)])
    def test_b010_clean_end(self, lasted: float, alive: bool) -> None:
        """B010: after a second, or with any event, a clean end is followed by a watch at once, without a list."""
        assert after(watching(), lasted=lasted, alive=alive, version="11").action == Action(Do.WATCH, "11")

    @pytest.mark.parametrize("error", [LOST, SILENT], ids=str)
    @pytest.mark.parametrize(("lasted", "alive"), [(STEADY_SECONDS, False), (LONG, False), (LONG, True), (0.0, True)])
    def test_b010_broken(self, error: WatchError, lasted: float, alive: bool) -> None:
        """A connection that breaks or falls silent is nothing special: the same version, at once, without a list."""
        action = after(watching(), error=error, lasted=lasted, alive=alive, version="11").action
        assert action == Action(Do.WATCH, "11", brief=True)

    @pytest.mark.parametrize("error", [LOST, SILENT], ids=str)
    def test_b012_broken_at_once(self, error: WatchError) -> None:
        """But one that breaks at once and has told nothing counts as a failure: the same version, after a step."""
        action = after(watching(), error=error, lasted=0.5, version="10").action
        assert action == Action(Do.WATCH, "10", wait=0.0, brief=True)

    def test_quick_restarts_are_few(self) -> None:
        """A watch that tells something and ends, again and again, is followed at once the first time alone."""
        state, waits = watching(), []
        for _ in range(4):
            state = after(state, lasted=0.1, alive=True, version="11")
            waits.append(state.action.wait)
        assert waits == [None, 0.0, 0.0, 0.0]
        state = after(state, lasted=HEALTHY_SECONDS, version="11")
        assert after(state, lasted=0.1, alive=True, version="11").action.wait == 0.0
        state = after(state, lasted=LONG, version="11")
        assert after(state, lasted=0.1, alive=True, version="11").action.wait is None

    @pytest.mark.parametrize("error", [None, LOST, http(429)], ids=str)
    @pytest.mark.parametrize("version", [None, "0"])
    def test_without_a_version(self, version: str | None, error: WatchError | None) -> None:
        """Without a version nobody can tell what was missed meanwhile, so only a list tells the truth (A9)."""
        assert after(watching("10"), error=error, alive=True, version=version).action.do is Do.LIST

    @pytest.mark.parametrize("error", [None, LOST, http(429)], ids=str)
    @pytest.mark.parametrize("start", [None, "0"])
    def test_begun_without_a_version(self, start: str | None, error: WatchError | None) -> None:
        """A watch that began anywhere tells a version later; it says nothing of what was lost before it began."""
        assert after(watching(start), error=error, alive=True, version="11").action.do is Do.LIST

    def test_silence(self) -> None:
        """After a long time without a sign of life, over several watches, the list is read anew, once (D11)."""
        state, done = watching(), []
        for _ in range(5):
            state = after(state, lasted=LONG, version="10")
            done.append(state.action.do)
            if state.action.do is Do.LIST:
                state = after(state, lasted=0.1, version="10", alive=True)
        assert done == [Do.WATCH, Do.LIST, Do.WATCH, Do.LIST, Do.WATCH]

    def test_a_bookmark_is_a_sign_of_life(self) -> None:
        """A kind that is quiet, but whose bookmarks come, is never listed again."""
        state = watching()
        for _ in range(10):
            state = after(state, lasted=LONG, version="10", alive=True)
            assert state.action == Action(Do.WATCH, "10")

    def test_b012_failing_is_no_silence(self) -> None:
        """A server that cannot be reached is not silent: however long it lasts, no list."""
        state = watching()
        for _ in range(100):
            state = after(state, lasted=10.0, error=SILENT, connected=False, version="10")
            assert state.action.do is Do.WATCH


class TestProbe:
    """A server that has gone back in time accepts a watch from a version that is still to come, and is silent (E6)."""

    def test_silent_after_a_lost_connection(self) -> None:
        """The first watch after a lost connection is brief; if it is silent, the server is asked how far it is."""
        state = after(watching(), error=LOST, lasted=LONG, version="10")
        assert state.action == Action(Do.WATCH, "10", brief=True)
        assert after(state, lasted=10.0, version="10").action == Action(Do.PROBE, "10")

    def test_alive_after_a_lost_connection(self) -> None:
        """Where it tells of a change or sends a bookmark nothing is asked."""
        state = after(watching(), error=LOST, lasted=LONG, version="10")
        assert after(state, lasted=10.0, alive=True, version="11").action == Action(Do.WATCH, "11")

    def test_silent_after_a_clean_end(self) -> None:
        """Nor after a clean end: silence is usual."""
        state = after(watching(), lasted=LONG, version="10")
        assert after(state, lasted=10.0, version="10").action == Action(Do.WATCH, "10")

    def test_not_behind(self) -> None:
        """A server that is not behind is watched again at once, as long as ever, and not asked again."""
        state = after(at(Action(Do.PROBE, "10"), suspect=True), alive=True, version="10")
        assert state.action == Action(Do.WATCH, "10")
        assert after(state, lasted=LONG, version="10").action == Action(Do.WATCH, "10")

    def test_behind(self) -> None:
        """A server that is behind has gone back in time, and is listed."""
        assert after(at(Action(Do.PROBE, "10")), alive=True, rewound=True, version="10").action == AGAIN

    @pytest.mark.parametrize("error", [LOST, SILENT, *TOO_MANY], ids=str)
    def test_no_answer(self, error: WatchError) -> None:
        """It is asked again where there was no answer, or no time for one."""
        action = after(at(Action(Do.PROBE, "10")), complete=False, error=error, version="10").action
        assert action == Action(Do.PROBE, "10", wait=error.retry_after or 0.0)

    @pytest.mark.parametrize("error", [*EXPIRED, *OTHERS], ids=str)
    def test_refused(self, error: WatchError) -> None:
        """Any other error means a list."""
        assert after(at(Action(Do.PROBE, "10")), complete=False, error=error, version="10").action == AGAIN

    @pytest.mark.parametrize("version", ["a1", "01"])
    def test_not_comparable(self, version: str) -> None:
        """Versions that cannot be compared are not asked about."""
        state = after(watching(), error=LOST, lasted=LONG, version=version)
        assert state.action == Action(Do.WATCH, version)
        assert after(state, lasted=10.0, version=version).action == Action(Do.WATCH, version)


class TestAfterWatchList:
    def test_b010_b032_complete(self) -> None:
        """B032: once its state is complete it is a watch like any other, resumed by an ordinary one."""
        assert after(streaming(), alive=True, version="11").action == Action(Do.WATCH, "11")
        assert after(streaming(), alive=True, version="11", lasted=0.1).action == Action(Do.WATCH, "11")

    @pytest.mark.parametrize("error", [*EXPIRED, *OTHERS], ids=str)
    def test_b039_full_states_are_asked_for_again(self, error: WatchError) -> None:
        """B039: where the state has to be read anew, it is by a watch-list again."""
        assert after(streaming(), alive=True, error=error, version="11").action.do is Do.WATCH_LIST

    @pytest.mark.parametrize("error", [None, LOST, SILENT], ids=str)
    def test_b037_incomplete(self, error: WatchError | None) -> None:
        """B037, E1: the second stream without the end of its state is the last; then lists, for good."""
        first = after(streaming(), complete=False, error=error, lasted=30.0)
        assert first.action == Action(Do.WATCH_LIST, wait=0.0)
        second = after(first, complete=False, error=error, lasted=30.0)
        assert second.action == Action(Do.LIST, wait=0.0, failures=1)
        live = after(second, version="10", alive=True)
        assert after(live, error=http(410), version="10").action.do is Do.LIST

    def test_b037_only_in_a_row(self) -> None:
        """A state that was complete shows that the server can: the count begins anew."""
        state = after(streaming(), complete=False)
        state = after(state, alive=True, version="11", error=http(410))
        assert after(state, complete=False).action.do is Do.WATCH_LIST

    def test_b037_no_answer_does_not_count(self) -> None:
        """A server that cannot be reached has not shown what it can do."""
        state = streaming()
        for _ in range(5):
            state = after(state, complete=False, error=LOST, connected=False, lasted=0.1)
            assert state.action.do is Do.WATCH_LIST

    def test_b037_422(self) -> None:
        """A server that refuses the option is never asked again."""
        state = after(streaming(), complete=False, error=http(422, "Invalid"))
        assert (state.action.do, state.watch_list) == (Do.LIST, False)

    @pytest.mark.parametrize("error", [*TOO_MANY, *EXPIRED, http(504, "Timeout"), told(504, "Timeout")], ids=str)
    def test_b036_waiting_helps(self, error: WatchError) -> None:
        """B036: too many requests, expired, too large: again the same way, any number of times."""
        state = streaming()
        for _ in range(5):
            state = after(state, complete=False, error=error)
            assert state.action.do is Do.WATCH_LIST
            assert state.action.wait == (error.retry_after or 0.0)

    @pytest.mark.parametrize("error", [e for e in OTHERS if e.status_code != 504], ids=str)
    def test_b035_any_other_error(self, error: WatchError) -> None:
        """B035: a list this time; the next time watch-list again."""
        state = after(streaming(), complete=False, error=error)
        assert state.action == Action(Do.LIST, wait=error.retry_after or 0.0)
        state = after(state, version="10", alive=True)
        assert after(state, error=http(410), version="10").action.do is Do.WATCH_LIST

    def test_gone_back(self) -> None:
        """A server that has gone back in time has done nothing wrong: it is asked again, any number of times."""
        state = streaming()
        for _ in range(5):
            state = after(state, complete=False, rewound=True)
            assert state.action.do is Do.WATCH_LIST


class TestBackoff:
    def test_b024_one_for_all(self) -> None:
        """B024, C27: lists and watches share one progression."""
        state = listing()
        state = after(state, at=1.0, lasted=0.0, complete=False, error=http(500))
        state = after(state, at=2.0, lasted=0.0, version="10", alive=True)
        state = after(state, at=2.0, lasted=0.0, error=http(429), version="10")
        state = after(state, at=4.0, lasted=0.0, error=LOST, connected=False, version="10")
        assert (state.action.failures, state.failures) == (2, 3)

    def failed_after(self, calm: float) -> int:
        """The step that a failure takes after so many calm seconds, five failures having come before."""
        state = watching(failures=5)
        state = after(state, at=1000.0 + calm / 2, lasted=calm / 2, version="10", alive=True)
        return after(state, at=1000.0 + calm, lasted=calm / 2, error=http(500), version="10").action.failures

    def test_b023_reset(self) -> None:
        """B023: only two minutes without any failure begin the waits anew; a shorter success does not."""
        assert [self.failed_after(calm) for calm in (0.0, 10.0, 119.9, 120.0, 500.0)] == [5, 5, 5, 0, 0]

    def test_b023_waiting_is_no_health(self) -> None:
        """The wait itself does not count: a client that waits for a minute has not been well for one (E18)."""
        state, moment = watching(), 0.0
        for failures in range(30):
            state = after(state, at=moment, lasted=0.0, error=http(500), version="10")
            assert state.action.failures == failures
            moment += 200.0
            state = attrs.evolve(state, action=Action(Do.WATCH, "10"))

    @pytest.mark.parametrize("retry_after", [0.5, 3.0, 600.0])
    def test_retry_after_with_any_error(self, retry_after: float) -> None:
        """B112: what the server asks for is the least, after every kind of request."""
        error = http(503, retry_after=retry_after)
        for state in (listing(), watching(), streaming()):
            found = after(state, error=error, complete=False).action
            assert found.wait == retry_after


# Whatever happens

VERSIONS = st.sampled_from([None, "0", "1", "2", "3", "10", "abc"])
ERRORS = st.sampled_from([None, None, None, LOST, SILENT, *EXPIRED, *TOO_MANY, *OTHERS, http(422)])


@st.composite
def outcomes(draw: st.DrawFn, lasted: st.SearchStrategy[float]) -> Callable[[State, float], Outcome]:
    """What may come of any action: made for the action and the moment when it was begun."""
    seconds, version, error = draw(lasted), draw(VERSIONS), draw(ERRORS)
    whole, alive, connected = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())

    def make(state: State, moment: float) -> Outcome:
        do = state.action.do
        complete = {Do.LIST: error is None, Do.WATCH: True, Do.WATCH_LIST: whole, Do.PROBE: error is None}[do]
        return Outcome(
            at=moment + seconds,
            lasted=seconds,
            version=state.action.version if do is Do.PROBE else version,
            rewound=do is Do.PROBE and error is None and alive,
            complete=complete,
            alive=complete and (alive or do is not Do.WATCH),
            connected=connected or error is None or error.origin not in (ErrorOrigin.NETWORK, ErrorOrigin.TIMEOUT),
            error=error,
        )

    return make


def run(
    rules: Rules, state: State, made: Iterable[Callable[[State, float], Outcome]], chance: float = 0.0
) -> Iterator[tuple[float, State, Outcome]]:
    """Let time pass: of each request the moment when it is sent, its state, and what comes of it."""
    moment = 0.0
    for make in made:
        action = state.action
        if action.wait is not None:
            moment += max(action.wait, rules.backoff.delay(action.failures, chance))
        outcome = make(state, moment)
        yield moment, state, outcome
        moment = outcome.at
        state = rules.next_action(state, outcome)


short = st.floats(0, 0.9)
anything = st.lists(outcomes(short | st.floats(0, 400)), max_size=40)
starts = st.builds(RULES.start, st.sampled_from([None, "0", "5"]), watch_list=st.booleans())


@given(starts, anything)
def test_never_from_a_version_that_expired(state: State, made: list[Any]) -> None:
    """Whatever comes: what was answered 410 is not watched from again, unless a full state has told it since (C11)."""
    expired: set[str | None] = set()
    for _, now, outcome in run(RULES, state, made):
        if now.action.do is Do.WATCH:
            assert now.action.version not in expired
        if outcome.complete and now.action.do is not Do.WATCH:
            expired.discard(outcome.version)
        if outcome.error is not None and outcome.error.is_expired and now.action.do is Do.WATCH:
            expired |= {now.action.version, outcome.version}


@given(starts, anything)
def test_never_from_a_version_that_nobody_told(state: State, made: list[Any]) -> None:
    """Whatever comes: a watch begins at the start's version, or at the one that the last outcome told."""
    last = state.action.version
    for _, now, outcome in run(RULES, state, made):
        assert now.action.version == (last if now.action.do in (Do.WATCH, Do.PROBE) else None)
        last = outcome.version


@given(starts, anything)
def test_no_list_is_missing(state: State, made: list[Any]) -> None:
    """Whatever may have lost a change is followed by a full state, before any other watch."""
    previous: tuple[State, Outcome] | None = None
    for _, now, _outcome in run(RULES, state, made):
        if previous is not None and now.action.do is Do.WATCH:
            before, came = previous
            assert came.complete
            harmless = came.error is None or came.error.status_code == 429 or came.error in (LOST, SILENT)
            assert harmless, came
            if before.action.do is Do.WATCH:
                assert before.action.version not in (None, "0")
        previous = now, _outcome


def most_in_ten_seconds(moments: list[float]) -> int:
    """How many of them lie within any ten seconds."""
    return max((sum(1 for other in moments[i:] if other < first + 10) for i, first in enumerate(moments)), default=0)


def constant(**outcome: Any) -> Iterator[Callable[[State, float], Outcome]]:
    """Each watch ends so; each list is whole."""

    def make(state: State, moment: float) -> Outcome:
        if state.action.do is Do.LIST:
            return Outcome(moment, 0.0, "10", alive=True)
        return Outcome(at=moment + outcome.get("lasted", 0.0), version="10", **{"lasted": 0.0, **outcome})

    return repeat(make)


def all_fail(error: WatchError) -> Iterator[Callable[[State, float], Outcome]]:
    """Everything ends so."""
    return repeat(lambda state, moment: Outcome(moment, 0.0, "10", complete=False, error=error))


def watch_answered(code: int) -> Iterator[Callable[[State, float], Outcome]]:
    """Each watch is refused; each list is whole."""
    return constant(connected=True, error=http(code))


FAILING: dict[str, Callable[[], Iterator[Callable[[State, float], Outcome]]]] = {
    **{f"watch {code}": partial(watch_answered, code) for code in (403, 410, 429, 500)},
    **{f"all {code}": partial(all_fail, http(code)) for code in (403, 404, 410, 429, 500, 503)},
    "refused": partial(all_fail, LOST),
    "watch refused": partial(constant, error=LOST),
    "watch refused after a second": partial(constant, lasted=1.0, error=LOST),
    "instant close": partial(constant, connected=True),
    "410 event": partial(constant, connected=True, error=told(410)),
    "one event, then 410": partial(constant, connected=True, alive=True, error=told(410)),
    "one event, then cut": partial(constant, connected=True, alive=True, error=LOST),
    "one event, then a clean end": partial(constant, connected=True, alive=True),
    "cut after a second": partial(constant, connected=True, alive=True, lasted=1.0, error=LOST),
    "malformed": partial(constant, connected=True, error=MALFORMED),
    "one event, then malformed": partial(constant, connected=True, alive=True, error=MALFORMED),
    "no marker": partial(constant, connected=True, complete=False),
}


@pytest.mark.parametrize("watch_list", [False, True])
@pytest.mark.parametrize("name", FAILING)
def test_fewer_than_ten_requests_in_ten_seconds(name: str, watch_list: bool) -> None:
    """Against a server that fails always in one way, for ever: under ten requests in any ten seconds (Z3, Z12, C14)."""
    made = islice(FAILING[name](), 300)
    moments = [moment for moment, _, _ in run(RULES, RULES.start(watch_list=watch_list), made)]
    assert most_in_ten_seconds(moments) < 10
    assert len([moment for moment in moments if moment > moments[-1] - 300]) <= 60


@given(starts, st.lists(outcomes(short), max_size=60))
@settings(max_examples=300)
def test_fewer_than_ten_whatever_fails(state: State, made: list[Any]) -> None:
    """However a server mixes its failures: as long as no watch lasts a second, under ten in any ten seconds."""
    assert most_in_ten_seconds([moment for moment, _, _ in run(RULES, state, made)]) < 10


@given(starts, st.lists(outcomes(short), min_size=1, max_size=60))
def test_backoff_only_grows(state: State, made: list[Any]) -> None:
    """As long as nothing lasts, each wait takes the next step: the backoff is not begun anew."""
    steps = [now.action.failures for _, now, _ in run(RULES, state, made) if now.action.wait is not None]
    assert steps == list(range(len(steps)))


@given(starts, anything, st.floats(0, 1))
def test_reset_only_after_calm(state: State, made: list[Any], chance: float) -> None:
    """The waits begin anew only where, from a request's start on, two minutes passed without a failure."""
    since: float | None = None
    previous = 0
    for moment, now, outcome in run(RULES, state, made, chance):
        since = moment if since is None else since
        following = RULES.next_action(now, outcome)
        if following.action.wait is not None:
            calm = outcome.at - since
            if calm < RULES.backoff.reset_after - 0.001:
                assert following.action.failures == previous
            elif calm > RULES.backoff.reset_after + 0.001:
                assert following.action.failures == 0
            previous, since = following.failures, None


def test_b015_the_loop_of_410() -> None:
    """Z12: a list, a watch that says 410, a wait; and so on, each wait longer than the one before."""
    seen = [(now.action.do, now.action.wait is None) for _, now, _ in run(
        RULES, RULES.start(), islice(constant(connected=True, error=told(410)), 6))]  # fmt: skip
    assert seen == [(Do.LIST, True), (Do.WATCH, True), *[(Do.LIST, False), (Do.WATCH, True)] * 2]


def test_values_are_enough() -> None:
    """The state is one frozen value: the same outcomes from the same state lead to the same state."""
    made = list(chain(islice(constant(connected=True, error=told(410)), 5), islice(constant(connected=True), 5)))
    first, second = (list(run(Rules(Backoff(jitter=0)), RULES.start(), made)) for _ in range(2))
    assert first == second
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        RULES.start().failures = 1  # type: ignore[misc]
