"""A proof that is fetched: once for all who wait, used as long as it is good, and nobody waits for ever."""

from __future__ import annotations

import gc
import itertools
import logging
import math
import re
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwsync import Backoff, CancelToken, Client, EventType, _clock, list_and_watch
from kwsync._cancel import DeadlinePassed, Guard, Interrupted, cancelled_by
from kwsync._cluster import Cluster
from kwsync.credentials import (
    AuthContext,
    Authorization,
    AwsEks,
    AzureEntra,
    Cached,
    Certificate,
    Credential,
    CredentialError,
    ExecPlugin,
    GoogleServiceAccount,
    Issued,
    _cached,
)
from kwsync.credentials._cached import INTERVAL_SECONDS, LEEWAY_SECONDS
from kwsync.credentials._combined import Combined
from kwsync.credentials._fetching import is_time_to_renew
from kwsync.testing import Head, List, ScriptedServer, Stall, pod
from tests.cancel.support import KWSYNC, handling, in_child, interrupting, points
from tests.client.support import LIMIT, Running, wait_until

CLUSTER = Cluster("https://example.test")
CONTEXT = AuthContext(CLUSTER, lambda: None)
SECRET = "made-up-secret"
CERTIFICATE = Certificate(b"made up", b"made up, too")
AT_ONCE = 0.1
"""Seconds; what a plain event may take."""


class Clock:
    """Both clocks, which go on as they do, and can be moved."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self._monotonic, self._wall = _clock.monotonic, _clock.wall

    def monotonic(self) -> float:
        return self._monotonic() + self.ahead

    def wall(self) -> float:
        return self._wall() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the clocks."""
    clock = Clock()
    monkeypatch.setattr(_clock, "monotonic", clock.monotonic)
    monkeypatch.setattr(_clock, "wall", clock.wall)
    return clock


class Source:
    """A fetch that counts, and may be held, fail, or give what does not last."""

    def __init__(self, lasts: float | None = None) -> None:
        self.lasts = lasts
        self.failure: BaseException | None = None
        self.go_on = threading.Event()
        self.go_on.set()
        self.begun = threading.Semaphore(0)
        self.runs = 0
        self.at_once = 0
        self.most_at_once = 0

    def __call__(self) -> Issued:
        self.runs += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            self.begun.release()
            assert self.go_on.wait(LIMIT), "nobody let the fetch go on"
            if self.failure is not None:
                raise self.failure
            expires_at = None if self.lasts is None else _clock.wall() + self.lasts
            return Issued(Authorization.bearer(f"token-{self.runs}"), expires_at)
        finally:
            self.at_once -= 1

    def wait_until_begun(self) -> None:
        assert self.begun.acquire(timeout=LIMIT), "no fetch has begun"


@pytest.fixture
def source() -> Iterator[Source]:
    """A fetch; what still waits in it is let go at the end."""
    source = Source()
    yield source
    source.go_on.set()


def cached_from(source: Callable[[], Issued], **options: Any) -> Cached:
    return Cached(source, name="test", **options)


def token(authorization: Authorization) -> str:
    return authorization.headers["Authorization"].removeprefix("Bearer ")


def ask(cached: Cached, context: AuthContext = CONTEXT) -> str:
    """The token that a request would carry now."""
    return token(cached.authorize(context))


def together(count: int, call: Callable[[], Any]) -> list[Any]:
    """What a function gives on so many threads that begin at the same time."""
    barrier = threading.Barrier(count)

    def run() -> Any:
        barrier.wait(LIMIT)
        return call()

    return [running.result() for running in [Running(run) for _ in range(count)]]


def settled(cached: Cached, landings: int) -> None:
    """Wait for the end of so many fetches."""
    wait_until(lambda: cached._landings >= landings and not cached._running, f"{landings} fetches to end")


class TestKept:
    def test_once(self, source: Source) -> None:
        """What has no expiry is fetched once."""
        cached = cached_from(source)
        assert [ask(cached) for _ in range(3)] == ["token-1"] * 3
        assert source.runs == 1
        assert cached.held() == Issued(Authorization.bearer("token-1"))

    def test_nothing_before(self, source: Source) -> None:
        """Nothing is fetched before somebody asks, neither for a look at what is kept nor for words about it."""
        cached = cached_from(source)
        assert cached.held() is None
        assert cached.describe().kind == "test"
        assert source.runs == 0

    def test_leeway(self, source: Source, clock: Clock) -> None:
        """From ten seconds before the expiry on requests wait for a new one."""
        source.lasts = 100.0
        cached = cached_from(source)
        assert ask(cached) == "token-1"
        clock.ahead = 100 - LEEWAY_SECONDS - 1
        assert ask(cached) == "token-1"
        clock.ahead = 100 - LEEWAY_SECONDS + 1
        assert ask(cached) == "token-2"

    def test_early(self, source: Source, clock: Clock) -> None:
        """Before that, a new one is fetched beside the requests, once, and they go on with the old one meanwhile."""
        source.lasts = 100.0
        cached = cached_from(source, early=30.0)
        ask(cached)
        source.wait_until_begun()
        source.go_on.clear()
        clock.ahead = 61.0
        assert together(10, lambda: ask(cached)) == ["token-1"] * 10
        source.wait_until_begun()
        source.go_on.set()
        settled(cached, 2)
        assert [ask(cached), source.runs] == ["token-2", 2]

    def test_early_fails(self, source: Source, clock: Clock) -> None:
        """A renewal that fails changes nothing, and is tried again halfway to the end."""
        source.lasts = 100.0
        cached = cached_from(source, early=30.0)
        ask(cached)
        source.failure = CredentialError("no")
        clock.ahead = 61.0
        assert [ask(cached) for _ in range(5)] == ["token-1"] * 5
        settled(cached, 2)
        assert [ask(cached), source.runs] == ["token-1", 2]
        source.failure = None
        clock.ahead += INTERVAL_SECONDS + 1
        assert [ask(cached), source.runs] == ["token-1", 2]
        clock.ahead += 5.0
        assert ask(cached) == "token-1"
        settled(cached, 3)
        assert ask(cached) == "token-3"

    @pytest.mark.parametrize("fails", [True, False])
    def test_renewals_in_vain(self, source: Source, clock: Clock, fails: bool) -> None:
        """Where renewals fail, or bring what there was, a few are tried in a quarter of an hour, the last in time."""
        source.lasts = 3600.0
        cached = cached_from(source, early=900.0)
        ask(cached)
        settled(cached, 1)
        source.failure = CredentialError("no") if fails else None
        tried = []
        while clock.ahead < 3600 - LEEWAY_SECONDS - 1:
            source.lasts, runs = 3600 - clock.ahead, source.runs
            ask(cached)
            settled(cached, runs)
            wait_until(lambda: not fetching(), "the thread to end")
            tried += [clock.ahead] * (source.runs - runs)
            clock.ahead += 1.0
        assert 5 <= len(tried) <= 8
        assert 2690 <= tried[0] <= 2692
        assert tried[-1] > 3600 - LEEWAY_SECONDS - 2 * INTERVAL_SECONDS - 2
        assert all(after - before >= INTERVAL_SECONDS for before, after in itertools.pairwise(tried))

    @given(life=st.floats(1, 1e6), early=st.floats(0, 1e6), interval=st.floats(0.1, 1e3), steps=st.integers(1, 200))
    def test_time_to_renew(self, life: float, early: float, interval: float, steps: int) -> None:
        """Never sooner than *early* before the end, than the interval, or than half of what was left the last time."""
        tries, last = [], 0.0
        for step in range(steps + 1):
            now = life * step / steps
            if is_time_to_renew(life - now, now - last, early, interval):
                tries.append(now)
                assert life - now <= early
                assert now - last >= interval * 0.999
                assert now - last >= (life - last) / 2 * 0.999
                last = now
        assert len(tries) <= 2 + math.log2(1 + life / interval)
        assert is_time_to_renew(early, None, early, interval)

    def test_old_while_valid(self, source: Source, clock: Clock) -> None:
        """Within the leeway an old one is used if there is no new one; behind its expiry there is an error."""
        source.lasts = 100.0
        cached = cached_from(source)
        ask(cached)
        source.failure = CredentialError("no")
        clock.ahead = 100 - LEEWAY_SECONDS + 1
        assert [ask(cached), source.runs] == ["token-1", 2]
        clock.ahead = 100 + INTERVAL_SECONDS + 1
        with pytest.raises(CredentialError, match="no"):
            ask(cached)

    def test_old_while_the_renewal_hangs(self, source: Source, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
        """Shortly before its end a proof is used nevertheless, when a new one does not come in a moment."""
        monkeypatch.setattr(_cached, "SPARE_SECONDS", AT_ONCE)
        source.lasts = 60.0
        cached = cached_from(source)
        assert ask(cached) == "token-1"
        clock.ahead += 60 - LEEWAY_SECONDS / 2
        source.go_on.clear()
        assert [ask(cached), ask(cached)] == ["token-1", "token-1"]
        assert source.runs == 2
        source.go_on.set()
        wait_until(lambda: ask(cached) == "token-2", "the renewal")

    def test_expired_at_once(self, source: Source, clock: Clock) -> None:
        """What comes out expired is used for the interval: it may be this machine's clock that is wrong."""
        source.lasts = -3600.0
        cached = cached_from(source)
        assert [ask(cached) for _ in range(3)] == ["token-1"] * 3
        clock.ahead = INTERVAL_SECONDS + 1
        assert ask(cached) == "token-2"

    def test_no_cycle(self, source: Source) -> None:
        """It is gone with its last user, without a search for cycles: what is shared weakly has to be."""
        cached = cached_from(source)
        ask(cached)
        settled(cached, 1)
        name = "kwsync-credential-test"
        wait_until(lambda: all(thread.name != name for thread in threading.enumerate()), "the thread")
        gc.disable()
        try:
            reference = weakref.ref(cached)
            del cached
            assert reference() is None
        finally:
            gc.enable()


class TestPatience:
    """A fetch that does not end: who waits is told, and it may end yet."""

    def test_told(self, source: Source) -> None:
        """Who waits is told when patience is at its end, who comes then is told at once, and no second fetch begins."""
        source.go_on.clear()
        cached = cached_from(source, patience=0.1, interval=0.0)

        def attempt() -> str:
            with pytest.raises(CredentialError, match="test has not answered for 0 s"):
                ask(cached)
            return "told"

        assert together(8, attempt) == ["told"] * 8
        start = time.monotonic()
        attempt()
        assert time.monotonic() - start < AT_ONCE
        assert cached.describe().problem == "test has not answered for 0 s"
        assert source.runs == 1
        source.go_on.set()
        settled(cached, 1)
        assert cached.describe().problem is None
        assert cached.held() == Issued(Authorization.bearer("token-1"))
        assert cached._gates == {}

    def test_in_minutes(self, source: Source, clock: Clock) -> None:
        """By itself that takes two minutes, from the beginning of the fetch on, whoever waits how long."""
        source.go_on.clear()
        cached, cancel = cached_from(source), CancelToken()
        waiting = Running(lambda: ask(cached, bound(cancel)))
        source.wait_until_begun()
        clock.ahead = 119.0
        with pytest.raises(DeadlinePassed):
            ask(cached, bound(deadline=_clock.monotonic() + 0.05))
        clock.ahead = 120.0
        with pytest.raises(CredentialError, match="test has not answered for 120 s"):
            ask(cached)
        source.go_on.set()
        assert waiting.result() == "token-1"

    def test_without_bound(self, source: Source, clock: Clock) -> None:
        """Where a person is asked, nobody is told."""
        source.go_on.clear()
        cached = cached_from(source, patience=None)
        waiting = Running(lambda: ask(cached))
        source.wait_until_begun()
        clock.ahead = 1e6
        with pytest.raises(DeadlinePassed):
            ask(cached, bound(deadline=_clock.monotonic() + 0.05))
        source.go_on.set()
        assert waiting.result() == "token-1"

    def test_old_one(self, source: Source, clock: Clock) -> None:
        """An old one is used as long as it is valid."""
        source.lasts = 100.0
        cached = cached_from(source, patience=0.05)
        ask(cached)
        source.go_on.clear()
        clock.ahead = 100 - LEEWAY_SECONDS + 1
        assert ask(cached) == "token-1"
        assert cached.describe().problem is None
        clock.ahead = 101.0
        with pytest.raises(CredentialError, match="has not answered"):
            ask(cached)

    def test_refused(self, source: Source, clock: Clock) -> None:
        """A refused one is not used, and its refusal is not asked about again."""
        cached = cached_from(source, patience=0.05)
        first = cached.authorize(CONTEXT)
        clock.ahead = INTERVAL_SECONDS + 1
        source.go_on.clear()
        assert cached.refresh(first) is True
        with pytest.raises(CredentialError, match="has not answered"):
            ask(cached)

    @pytest.mark.parametrize("guarded", [True, False])
    def test_log(
        self, source: Source, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, guarded: bool
    ) -> None:
        """The log says once for each fetch what is being waited for, and who waits can be cancelled after that."""
        monkeypatch.setattr(_cached, "TELL_SECONDS", 0.05)
        cached = cached_from(source, patience=None)
        for number in (1, 2):
            source.go_on.clear()
            cancel = CancelToken()
            impatient = Running(lambda cancel=cancel: ask(cached, bound(cancel)))  # type: ignore[misc]
            waiting = [Running(lambda: ask(cached, bound() if guarded else CONTEXT)) for _ in range(4)]
            wait_until(lambda number=number: len(caplog.messages) >= number, "the log")  # type: ignore[misc]
            start = time.monotonic()
            cancel.set()
            assert isinstance(impatient.error(), Interrupted)
            assert time.monotonic() - start < AT_ONCE
            wait_until(lambda: len(cached._gates) == 4, "the others to wait")
            source.go_on.set()
            assert [running.result() for running in waiting] == [f"token-{number}"] * 4
            cached._refused, cached._begun = cached._held, None
        assert caplog.messages == ["still waiting for test"] * 2

    def test_watch(self, source: Source) -> None:
        """A watch for ever tells an error while there is no answer, and goes on when it comes."""
        source.go_on.clear()
        cached = cached_from(source, patience=0.1)
        script = [List("10", [pod("a", "5")])], [Head(), Stall()]
        with ScriptedServer() as server:
            server.on(lambda request: not request.is_watch, *script[0])
            server.on(lambda request: request.is_watch, *script[1])
            with Client(Cluster(server.url), cached) as client:
                stream = list_and_watch("pods", client=client, backoff=Backoff(initial=0.01))
                with stream:
                    error = next(stream).error
                    assert error is not None
                    assert "test has not answered for 0 s" in str(error)
                    source.go_on.set()
                    rest = (event.type for event in stream if event.type is not EventType.ERROR)
                    assert [next(rest), next(rest)] == [EventType.ADDED, EventType.SYNCED]


def bound(cancel: CancelToken | None = None, deadline: float | None = None) -> AuthContext:
    """A context as a request has it; the token interrupts it, without the order of a whole operation."""
    guard = Guard(deadline, cancel)
    if cancel is not None:
        cancel.register(guard)
        GUARDS[cancel] = guard
    return AuthContext(CLUSTER, guard.remaining, guard)


GUARDS: weakref.WeakKeyDictionary[CancelToken, Guard] = weakref.WeakKeyDictionary()


def fetching() -> bool:
    """Is there a thread of a fetch?"""
    return any(thread.name.startswith("kwsync-credential") for thread in threading.enumerate())


class TestArguments:
    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"fetch": None}, TypeError),
            ({"fetch": Issued(Authorization())}, TypeError),
            ({"name": 5}, TypeError),
            ({"name": None}, TypeError),
            ({"early": "x"}, TypeError),
            ({"early": True}, TypeError),
            ({"early": -1}, ValueError),
            ({"early": math.nan}, ValueError),
            ({"interval": None}, TypeError),
            ({"interval": -0.1}, ValueError),
            ({"patience": "1"}, TypeError),
            ({"patience": 0}, ValueError),
            ({"patience": -1}, ValueError),
        ],
    )
    def test_bad(self, options: dict[str, Any], error: type[Exception]) -> None:
        """What cannot be meant is an error of the call itself, which names it."""
        with pytest.raises(error, match=next(iter(options))):
            Cached(**{"fetch": lambda: Issued(Authorization()), "name": "test", **options})


class TestFailure:
    def test_told_to_all(self, source: Source, clock: Clock) -> None:
        """A failure is told to all that ask within the interval, without a further fetch; then it is tried again."""
        source.failure = CredentialError("the vault is shut")
        cached = cached_from(source)
        for _ in range(3):
            with pytest.raises(CredentialError, match="the vault is shut"):
                ask(cached)
        assert source.runs == 1
        assert cached.describe().problem == "the vault is shut"
        clock.ahead, source.failure = INTERVAL_SECONDS + 1, None
        assert [ask(cached), source.runs] == ["token-2", 2]

    @pytest.mark.parametrize(
        "raised",
        [
            RuntimeError(SECRET),
            OSError(SECRET),
            SystemExit(SECRET),
            KeyboardInterrupt(SECRET),
            GeneratorExit(SECRET),
            StopIteration(SECRET),
            Interrupted(SECRET),
        ],
        ids=lambda raised: type(raised).__name__,
    )
    def test_anything(
        self, source: Source, clock: Clock, raised: BaseException, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Whatever a fetch raises is an error with its class and its place alone, and is over after the interval."""
        source.failure = raised
        cached = cached_from(source)
        with pytest.raises(CredentialError) as caught:
            ask(cached)
        told = rf"test failed with {type(raised).__name__} \(test_cached\.py, line \d+\)"
        assert re.fullmatch(told, str(caught.value))
        below = [caught.value.__cause__, caught.value.__context__]
        settled(cached, 1)
        assert SECRET not in f"{below} {caplog.text} {cached!r} {cached.describe()!r}"
        clock.ahead, source.failure = INTERVAL_SECONDS + 1, None
        assert ask(cached) == "token-2"

    def test_without_words(self, source: Source) -> None:
        """An error of ours whose own text fails is told by its name."""

        class Mute(CredentialError):
            def __str__(self) -> str:
                raise RuntimeError(SECRET)

        source.failure = Mute()
        with pytest.raises(CredentialError, match="test failed with Mute"):
            ask(cached_from(source))

    @pytest.mark.parametrize("given", [None, "token", Authorization.bearer("one")])
    def test_nonsense(self, given: Any) -> None:
        """What is no Issued is never kept."""
        cached = cached_from(lambda: given)
        with pytest.raises(CredentialError, match="test failed with TypeError"):
            ask(cached)
        assert cached.held() is None

    @pytest.mark.parametrize(
        ("moment", "error"),
        [
            (datetime.now(timezone.utc), TypeError),
            ("2026-01-02T03:04:05Z", TypeError),
            (True, TypeError),
            (math.nan, ValueError),
            (math.inf, ValueError),
            (10**400, ValueError),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_moments_that_are_none(self, moment: Any, error: type[Exception], source: Source, clock: Clock) -> None:
        """An expiry that is no time is a failure of that fetch; the next one is tried, and used."""
        with pytest.raises(error):
            Issued(Authorization.bearer("token"), moment)
        asked = itertools.count()
        cached = cached_from(lambda: source() if next(asked) else Issued(Authorization.bearer("token"), moment))
        with pytest.raises(CredentialError, match=f"test failed with {error.__name__}"):
            ask(cached)
        clock.ahead += INTERVAL_SECONDS
        assert ask(cached) == "token-1"

    def test_nonsense_inside(self) -> None:
        """Nor can there be an Issued without an Authorization."""
        with pytest.raises(TypeError):
            Issued("token")  # type: ignore[arg-type]

    def test_broken_logging(self, source: Source, clock: Clock) -> None:
        """A handler of the user's logging that raises, or that waits for its lock, keeps nobody waiting."""

        class Broken(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                raise RuntimeError(SECRET)

        source.failure = CredentialError("no")
        cached, handler = cached_from(source), Broken()
        logger = logging.getLogger("kwsync.credentials")
        logger.addHandler(handler)
        try:
            handler.acquire()  # as a signal handler finds it that comes in the middle of a line of the log
            try:
                with pytest.raises(CredentialError):
                    ask(cached)
            finally:
                handler.release()
            settled(cached, 1)
            clock.ahead, source.failure = INTERVAL_SECONDS + 1, None
            assert ask(cached) == "token-2"
        finally:
            logger.removeHandler(handler)

    def test_log(self, source: Source, caplog: pytest.LogCaptureFixture) -> None:
        """A failure stands in the log once."""
        source.failure = CredentialError("no")
        cached = cached_from(source)
        for _ in range(3):
            with pytest.raises(CredentialError):
                ask(cached)
        wait_until(lambda: caplog.messages, "the log")
        assert caplog.messages == ["no new credential: no"]


class TestOneFetch:
    def test_many_threads(self, source: Source) -> None:
        """Twenty threads that ask at once wait for the same fetch."""
        cached = cached_from(source)
        assert together(20, lambda: ask(cached)) == ["token-1"] * 20
        assert source.runs == 1

    def test_many_threads_fail(self, source: Source) -> None:
        """So they do for a failure."""
        source.failure = CredentialError("no")
        cached = cached_from(source)

        def attempt() -> str:
            with pytest.raises(CredentialError, match="no"):
                ask(cached)
            return "failed"

        assert together(20, attempt) == ["failed"] * 20
        assert source.runs == 1

    def test_one_per_expiry(self, source: Source, clock: Clock) -> None:
        """Ten threads over ten expiries: ten fetches (G6)."""
        source.lasts = 60.0
        cached = cached_from(source)
        for number in range(1, 11):
            assert together(10, lambda: ask(cached)) == [f"token-{number}"] * 10
            clock.ahead += 61.0
        assert source.runs == 10

    def test_end_in_every_moment(self, clock: Clock) -> None:
        """Whenever a fetch ends while somebody asks, that one takes what it gave, and fetches nothing more."""
        for point in points():
            source = Source()
            source.go_on.clear()
            cached = cached_from(source)
            first = Running(lambda cached=cached: ask(cached))  # type: ignore[misc]
            source.wait_until_begun()
            clock.ahead += INTERVAL_SECONDS

            def land(source: Source = source, cached: Cached = cached) -> None:
                source.go_on.set()
                settled(cached, 1)

            def ask_now(source: Source = source, cached: Cached = cached) -> str:
                timer = threading.Timer(0.02, source.go_on.set)  # for the last point, which lies behind the end
                timer.start()
                try:
                    return ask(cached)
                finally:
                    timer.join()

            assert point.act(land, ask_now) == "token-1", f"at {point}"
            assert first.result() == "token-1"
            assert source.runs == 1, f"at {point}"

    def test_storm(self, source: Source) -> None:
        """Threads that ask, refuse and cancel at random never meet two fetches at once, nor does one wait for ever."""
        source.lasts = 0.0
        cached = cached_from(source, interval=0.0)
        failing = [None, None, CredentialError("no"), SystemExit()]

        def run(seed: int) -> int:
            for number in range(60):
                guard = Guard(_clock.monotonic() + LIMIT)
                cancel = CancelToken()
                try:
                    with cancelled_by(guard, cancel):
                        if (number + seed) % 5 == 0:
                            cancel.set()
                        given = cached.authorize(AuthContext(CLUSTER, guard.remaining, guard))
                        if (number + seed) % 3 == 0:
                            cached.refresh(given)
                except (CredentialError, Interrupted):
                    pass
                source.failure = failing[(number * seed) % len(failing)]
            return 60

        runs = [Running(lambda seed=seed: run(seed)) for seed in range(8)]  # type: ignore[misc]
        assert [running.result(4 * LIMIT) for running in runs] == [60] * 8
        assert source.most_at_once == 1
        assert cached._gates == {}


class TestRefused:
    def test_once(self, source: Source, clock: Clock) -> None:
        """After a 401 for all of them, twenty threads wait for one new fetch."""
        cached = cached_from(source)
        first = cached.authorize(CONTEXT)
        clock.ahead = INTERVAL_SECONDS + 1

        def refused() -> tuple[bool, str]:
            return cached.refresh(first), ask(cached)

        assert together(20, refused) == [(True, "token-2")] * 20
        assert source.runs == 2

    def test_a_moment_ago(self, source: Source, clock: Clock) -> None:
        """What was fetched a moment ago stays: the next would be refused as well, and be one fetch a request."""
        cached = cached_from(source)
        first = cached.authorize(CONTEXT)
        assert cached.refresh(first) is False
        assert [ask(cached), source.runs] == ["token-1", 1]
        clock.ahead = INTERVAL_SECONDS + 1
        assert cached.refresh(first) is True
        assert cached.held() is None
        assert ask(cached) == "token-2"
        assert cached.refresh(first) is True
        assert ask(cached) == "token-2"

    def test_never_again(self, source: Source, clock: Clock) -> None:
        """A refused one is not used any more, be there a new one or not; and it is tried again after the interval."""
        cached = cached_from(source)
        first = cached.authorize(CONTEXT)
        clock.ahead, source.failure = INTERVAL_SECONDS + 1, CredentialError("no")
        assert cached.refresh(first) is True
        for _ in range(2):
            with pytest.raises(CredentialError, match="no"):
                ask(cached)
        clock.ahead, source.failure = 2 * INTERVAL_SECONDS + 2, None
        assert ask(cached) == "token-3"

    def test_while_one_is_fetched(self, source: Source, clock: Clock) -> None:
        """One that is refused while its renewal runs is dropped, and the request waits for that."""
        source.lasts = 100.0
        cached = cached_from(source, early=30.0)
        first = cached.authorize(CONTEXT)
        source.wait_until_begun()
        source.go_on.clear()
        clock.ahead = 61.0
        ask(cached)
        source.wait_until_begun()
        assert cached.refresh(first) is True
        waiting = Running(lambda: ask(cached))
        source.go_on.set()
        assert waiting.result() == "token-2"
        assert source.runs == 2

    def test_no_new_one_is_lost(self, clock: Clock) -> None:
        """A new one that comes at any moment of the refusal of the old one is not dropped with it."""
        for point in points():
            source = Source(100.0)
            cached = cached_from(source, early=30.0)
            first = cached.authorize(CONTEXT)
            source.go_on.clear()
            clock.ahead += 61.0
            ask(cached)
            clock.ahead += INTERVAL_SECONDS

            def land(source: Source = source, cached: Cached = cached) -> None:
                source.go_on.set()
                settled(cached, 2)

            point.act(land, lambda: cached.refresh(first))  # noqa: B023 - it is called now
            source.go_on.set()
            assert ask(cached) == "token-2", f"at {point}"
            assert source.runs == 2, f"at {point}"

    def test_as_a_part(self, source: Source, clock: Clock) -> None:
        """Beside another proof in one request it knows its own part in the refused whole."""
        cached = cached_from(source)
        whole = Combined([cached, Plain(Authorization({"X-Other": "1"}, CERTIFICATE))])
        first = whole.authorize(CONTEXT)
        clock.ahead = INTERVAL_SECONDS + 1
        assert whole.refresh(first) is True
        assert token(whole.authorize(CONTEXT)) == "token-2"


@attrs.frozen
class Plain:
    """Gives always the same."""

    authorization: Authorization

    def authorize(self, context: AuthContext) -> Authorization:
        return self.authorization

    def refresh(self, rejected: Authorization) -> bool:
        return False


@pytest.mark.parametrize("make", [CancelToken, threading.Event])
class TestCancel:
    def test_at_once(self, source: Source, make: Callable[[], threading.Event]) -> None:
        """Who waits for a fetch that hangs is cancelled at once, and the next gets what comes of it."""
        cached, cancel = cached_from(source), make()
        source.go_on.clear()

        def wait() -> str:
            guard = Guard()
            with cancelled_by(guard, cancel):
                return ask(cached, AuthContext(CLUSTER, guard.remaining, guard))

        waiting, other = Running(wait), Running(lambda: ask(cached))
        source.wait_until_begun()
        wait_until(lambda: len(cached._gates) == 2, "both to wait")
        start = time.monotonic()
        cancel.set()
        assert isinstance(waiting.error(), Interrupted)
        assert time.monotonic() - start < AT_ONCE + (0.1 if make is threading.Event else 0.0)
        assert len(cached._gates) == 1
        source.go_on.set()
        assert other.result() == "token-1"
        assert [ask(cached), source.runs] == ["token-1", 1]


class TestDeadline:
    def test_of_the_request(self, source: Source) -> None:
        """So does a request whose time is over."""
        cached = cached_from(source)
        source.go_on.clear()
        guard = Guard(_clock.monotonic() + 0.05)
        with pytest.raises(DeadlinePassed):
            ask(cached, AuthContext(CLUSTER, guard.remaining, guard))

    def test_of_a_context_alone(self, source: Source) -> None:
        """A context that only tells how long there is, as a user's own may be, is asked while it waits."""
        cached = cached_from(source)
        source.go_on.clear()
        asked = iter([None, None, None])

        def remaining() -> float | None:
            for answer in asked:
                return answer
            raise TimeoutError(SECRET)

        with pytest.raises(TimeoutError):
            ask(cached, AuthContext(CLUSTER, remaining))


class TestNoThread:
    @pytest.fixture
    def no_threads(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
        """Let no thread of ours start, as where a limit of the system is reached."""
        start = threading.Thread.start

        def refuse(thread: threading.Thread) -> None:
            if thread.name.startswith("kwsync-credential"):
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", refuse)
        yield monkeypatch
        monkeypatch.undo()

    def test_error(self, source: Source, no_threads: pytest.MonkeyPatch) -> None:
        """Where no thread can be started this is an error for all who ask, and no interval passes until the next."""
        cached = cached_from(source)

        def attempt() -> str:
            with pytest.raises(CredentialError, match="test cannot be asked: no further thread can be started"):
                ask(cached)
            return "failed"

        assert together(8, attempt) == ["failed"] * 8
        no_threads.undo()
        assert [ask(cached), source.runs] == ["token-1", 1]

    def test_old_one(
        self, source: Source, clock: Clock, no_threads: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An old one is used as long as it is valid."""
        refuse = threading.Thread.start
        no_threads.undo()
        source.lasts = 100.0
        monkeypatch.setattr(_clock, "wall", clock.wall)
        monkeypatch.setattr(_clock, "monotonic", clock.monotonic)
        cached = cached_from(source, early=30.0)
        ask(cached)
        settled(cached, 1)
        monkeypatch.setattr(threading.Thread, "start", refuse)
        for clock.ahead in (61.0, 95.0):
            assert ask(cached) == "token-1"
        clock.ahead = 101.0
        with pytest.raises(CredentialError, match="cannot be asked"):
            ask(cached)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to threads")
class TestSignals:
    @pytest.mark.parametrize("inside", [KWSYNC, threading.__file__])
    def test_in_every_moment(self, inside: str) -> None:
        """A signal handler that asks in any moment of another request's asking gets the proof of the same fetch."""
        for point in points(inside):
            source = Source()
            cached = cached_from(source)
            given: list[str] = []
            # A profiler is not asked again while it runs, as a handler is not while its signal is blocked.
            assert point.act(lambda: given.append(ask(cached)), lambda: ask(cached)) == "token-1"  # noqa: B023
            assert given in (["token-1"], [])
            assert source.runs == 1, f"at {point}"

    def test_real(self, source: Source) -> None:
        """So does a real one, while the main thread waits."""
        cached = cached_from(source)
        source.go_on.clear()
        given: list[str] = []

        def ask_too(number: int, frame: object) -> None:
            Running(source.go_on.set).join()
            given.append(ask(cached))

        with handling(signal.SIGUSR1, ask_too), interrupting(signal.SIGUSR1, lambda: len(cached._gates) == 1):
            assert ask(cached) == "token-1"
        assert given == ["token-1"]
        assert source.runs == 1

    def test_raising(self, source: Source) -> None:
        """A handler that raises ends the wait, and leaves nothing behind."""

        def give_up(number: int, frame: object) -> None:
            raise KeyboardInterrupt

        cached = cached_from(source)
        source.go_on.clear()
        with (
            handling(signal.SIGUSR1, give_up),
            interrupting(signal.SIGUSR1, lambda: len(cached._gates) == 1),
            pytest.raises(KeyboardInterrupt),
        ):
            ask(cached)
        assert cached._gates == {}
        source.go_on.set()
        assert ask(cached) == "token-1"


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs fork")
class TestFork:
    def test_kept(self, source: Source) -> None:
        """A child has what was kept, and its own life from there on."""
        cached = cached_from(source)
        ask(cached)

        def work() -> str:
            return f"{ask(cached)} {source.runs}"

        assert in_child(work) == "token-1 1"

    def test_while_one_is_fetched(self, source: Source) -> None:
        """A child that is forked in the middle of a fetch fetches by itself, at once, and so does the parent go on."""
        cached = cached_from(source)
        source.go_on.clear()
        waiting = Running(lambda: ask(cached))
        source.wait_until_begun()

        def work() -> str:
            source.go_on = threading.Event()
            source.go_on.set()
            return f"{ask(cached)} {source.runs} {list(cached._gates)}"

        assert in_child(work) == "token-2 2 []"
        source.go_on.set()
        assert waiting.result() == "token-1"


class TestWords:
    def test_description(self, source: Source) -> None:
        """It says when it ends, and never what it is."""
        source.lasts = 100.0
        cached = cached_from(source)
        expected = _clock.wall() + 100
        secret = ask(cached)
        assert cached.describe().expires_at == pytest.approx(expected, abs=LIMIT)
        assert secret not in f"{cached!r} {cached.describe()!r} {cached.held()!r}"
        assert repr(cached) == "<Cached test>"

    def test_description_by_another(self, source: Source, clock: Clock) -> None:
        """A credential that is made of it says what it is and whence, and has the problem and the expiry from here."""
        source.failure = CredentialError("no")
        cached = cached_from(source)
        with pytest.raises(CredentialError):
            ask(cached)
        found = cached.described_as("ticket", "the vault")
        assert (found.kind, found.source, found.problem, found.expires_at) == ("ticket", "the vault", "no", None)
        source.failure, source.lasts = None, 100.0
        clock.ahead = INTERVAL_SECONDS + 1
        end = _clock.wall() + 100
        ask(cached)
        found = cached.described_as("ticket", "the vault")
        assert (found.kind, found.source, found.problem) == ("ticket", "the vault", None)
        assert found.expires_at == pytest.approx(end, abs=LIMIT)
        source.failure = CredentialError("no")
        clock.ahead += 101
        with pytest.raises(CredentialError):
            ask(cached)
        assert cached.described_as("ticket").problem == "no"

    def test_thread(self, source: Source) -> None:
        """Stack dumps tell which thread fetches what."""
        names: list[str] = []

        def fetch() -> Issued:
            names.append(threading.current_thread().name)
            return source()

        ask(cached_from(fetch))
        assert names == ["kwsync-credential-test"]


def test_is_a_credential() -> None:
    """It fulfils the protocol."""
    assert isinstance(cached_from(Source()), Credential)


@pytest.mark.parametrize("kind", [AwsEks, AzureEntra, GoogleServiceAccount, ExecPlugin])
def test_is_a_part(kind: type) -> None:
    """What is made of it is not one itself: it gives its proof to requests alone."""
    assert not issubclass(kind, Cached)
    assert {name for name in dir(kind) if not name.startswith("_")} & {"held", "described_as"} == set()
    assert {"authorize", "refresh", "describe"} <= set(dir(kind))
