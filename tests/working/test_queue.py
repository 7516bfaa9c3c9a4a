"""The work queue: B122 to B134 and B140 of the conformance list, misuse, and what `metrics` tells."""

from __future__ import annotations

import gc
import queue
import signal
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest

from kwsync import CancelToken, ObjectKey, QueueMetrics, ShutDown, WorkQueue
from kwsync._cancel import Gate
from kwsync.ratelimit import Exponential
from tests.keeping.support import AT_ONCE
from tests.working.support import LIMIT, Clock, drained, in_background, new_queue, take, wait_for_getters, wait_until


@contextmanager
def getters(work: WorkQueue[str], count: int = 1) -> Iterator[list[str]]:
    """Threads that wait for an item, each for one; what they got, or how it ended, when the block has ended."""
    found: list[str] = []

    def get() -> None:
        try:
            found.append(work.get(2 * LIMIT))
        except (ShutDown, queue.Empty) as error:
            found.append(type(error).__name__)

    threads = [threading.Thread(target=get, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    wait_for_getters(work, count)
    yield found
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive(), f"get() did not end in {LIMIT} s"


def keeper_of(work: WorkQueue[str]) -> Gate:
    """The gate of the thread that waits for the next delay."""
    assert work._keeper is not None
    return work._keeper


class TestAdding:
    def test_b122_one_entry(self) -> None:
        """An item that waits is not added again, and keeps its place."""
        work = new_queue("a", "b", "a", "c", "b")
        assert len(work) == 3
        assert take(work, 3) == ["a", "b", "c"]

    def test_b123_added_while_processed(self) -> None:
        """What a worker has is given to no other; if it is added meanwhile, it waits when that one is done."""
        work = new_queue("a")
        assert work.get() == "a"
        work.add("a")
        assert len(work) == 0
        with pytest.raises(queue.Empty):
            work.get(timeout=0)
        work.add("b")
        work.done("a")
        assert take(work, 2) == ["b", "a"]

    def test_b124_exactly_once_more(self) -> None:
        """However often it is added meanwhile, it comes once more."""
        work = new_queue("a")
        work.get()
        work.add("a")
        work.add("a")
        work.done("a")
        assert drained(work) == ["a"]

    def test_b128_len(self) -> None:
        """The length counts what waits: nothing in process, also if it was added again, and nothing delayed."""
        work = new_queue("a", "b", "c")
        take(work, 2)
        work.add("a")
        work.add_after("d", 1)
        assert len(work) == 1

    @pytest.mark.parametrize("item", ["waiting", "unknown", "done"])
    def test_b128_misuse(self, item: str) -> None:
        """`done` for what nobody has is a ValueError and changes nothing."""
        work = new_queue("done", "waiting")
        work.done(work.get())
        with pytest.raises(ValueError, match=f"'{item}' is not in process"):
            work.done(item)
        assert drained(work) == ["waiting"]

    def test_items_are_hashable(self) -> None:
        """What cannot be a key is a TypeError, and changes nothing."""
        work: WorkQueue[object] = WorkQueue()
        for add in (work.add, lambda item: work.add_after(item, 1), work.add_rate_limited):
            with pytest.raises(TypeError, match="unhashable"):
                add(["a"])
        assert (len(work), work.metrics.delayed, work.metrics.adds) == (0, 0, 0)

    def test_any_key(self) -> None:
        """None and keys of other types are items like others; equal ones are one item."""
        work: WorkQueue[object] = WorkQueue()
        for item in (None, ObjectKey("a", "b"), 0, ("a", "b"), False, None):
            work.add(item)
        assert [work.get() for _ in range(3)] == [None, ("a", "b"), 0]
        assert len(work) == 0


class TestGetting:
    def test_waits(self) -> None:
        """`get` waits until there is an item, and each waiting thread gets one."""
        work = new_queue()
        with getters(work, 3) as found:
            for item in "abc":
                work.add(item)
        assert sorted(found) == ["a", "b", "c"]

    def test_timeout(self) -> None:
        """`queue.Empty` when the time is over: at once for 0 and less, and not before it otherwise."""
        work: WorkQueue[str] = WorkQueue()
        for timeout in (0, -1, 0.01):
            with pytest.raises(queue.Empty):
                work.get(timeout)
        assert not work._waiters

    def test_done_wakes(self) -> None:
        """Who waits gets what was added while another had it, as soon as that one is done."""
        work = new_queue("a")
        work.get()
        work.add("a")
        with getters(work) as found:
            work.done("a")
        assert found == ["a"]

    def test_woken_for_nothing(self) -> None:
        """A thread that was woken, and found the item gone, waits on; the next item is its."""
        work = new_queue()
        with getters(work) as found:
            work._wake_one()
            wait_for_getters(work, 1)
            work.add("a")
        assert found == ["a"]

    def test_a_timeout_takes_no_wake_up_along(self) -> None:
        """A thread whose time is over just when it is woken wakes the next one in its place."""
        work = new_queue()
        with getters(work) as found:
            gate = work._waiters[0]
            work._waiters.clear()  # as if it had been woken, and were not on its way yet
            with pytest.raises(queue.Empty):
                work.get(0.01)
            work._waiters.append(gate)
            work.add("a")
        assert found == ["a"]

    def test_processing(self) -> None:
        """The block has the item; its end is its `done`, also by an exception, which goes on."""
        work = new_queue("a", "b")
        with work.processing() as item:
            assert (item, work.metrics.processing) == ("a", 1)
        with pytest.raises(RuntimeError, match="oh"), work.processing():
            raise RuntimeError("oh")
        assert (work.metrics.processing, work.metrics.done) == (0, 2)
        with pytest.raises(queue.Empty), work.processing(timeout=0):
            pass
        work.shut_down()
        with pytest.raises(ShutDown), work.processing():
            pass

    def test_i2_keeps_nothing(self) -> None:
        """Nothing refers to an item after its `done`, whichever way it took."""

        class Key:
            pass

        work: WorkQueue[Key] = WorkQueue(clock=(clock := Clock()))
        key = Key()
        work.add(key)
        with work.processing() as got:
            assert got is key
            work.add_after(key, 1)
            work.add(key)
        clock.advance(1)
        work.done(work.get())
        watched = weakref.ref(key)
        del key, got
        gc.collect()
        assert watched() is None


class TestShutDown:
    def test_b125_hands_out_what_waits(self) -> None:
        """After the shutdown what waits still comes out, then every caller is told."""
        work = new_queue("a", "b")
        work.shut_down()
        assert work.is_shut_down
        assert take(work, 2) == ["a", "b"]
        for timeout in (None, 0, LIMIT):
            with pytest.raises(ShutDown, match="'test' was shut down"):
                work.get(timeout)

    def test_b125_ends_the_waiting(self) -> None:
        """It ends every `get` that waits, the one that waits for a delay too."""
        work: WorkQueue[str] = WorkQueue()
        work.add_after("a", 1000)
        with getters(work, 4) as found:
            work.shut_down()
        assert found == ["ShutDown"] * 4

    def test_b126_add_is_ignored(self) -> None:
        """Nothing is added after the shutdown."""
        work = new_queue()
        work.shut_down()
        work.add("a")
        work.add_rate_limited("a")
        assert (len(work), work.retries("a"), work.metrics.adds) == (0, 0, 0)

    def test_b127_drain(self) -> None:
        """With drain it returns when all that was taken in is done: in process, waiting, and added meanwhile."""
        work = new_queue("a", "b")
        work.get()
        work.add("a")
        results: list[bool] = []
        with in_background(lambda: results.append(work.shut_down(drain=True, timeout=LIMIT))):
            wait_until(lambda: bool(work._drainers), "the drain")
            work.add("ignored")
            work.done("a")
            for expected in ("b", "a"):
                assert results == []
                assert work.get(LIMIT) == expected
                work.done(expected)
        assert results == [True]
        with pytest.raises(ShutDown):
            work.get()

    def test_b127_missing_done(self) -> None:
        """Without a `done` it waits until its time is over, and says so."""
        work = new_queue("a")
        work.get()
        assert work.shut_down(drain=True, timeout=0.01) is False
        assert not work._drainers
        work.done("a")
        assert work.shut_down(drain=True) is True

    def test_b127_nobody_works(self) -> None:
        """What waits, and is taken by nobody, is not done (client-go returns here, and loses it)."""
        assert new_queue("a").shut_down(drain=True, timeout=0.01) is False
        assert new_queue().shut_down(drain=True) is True

    def test_b127_shut_down_during_drain(self) -> None:
        """A second shutdown, without drain, ends the waiting of the first."""
        work = new_queue("a")
        work.get()
        results: list[bool] = []
        with in_background(lambda: results.append(work.shut_down(drain=True))):
            wait_until(lambda: bool(work._drainers), "the drain")
            assert work.shut_down() is False
        assert results == [False]

    def test_b134_drops_delays(self) -> None:
        """What is delayed is dropped, nothing is delayed any more, and nothing of it is kept (I1: no threads)."""
        clock, threads = Clock(), threading.active_count()
        work: WorkQueue[int] = WorkQueue(clock=clock)
        for number in range(100_000):
            work.add_after(number, 3600)
        assert threading.active_count() == threads
        work.shut_down()
        work.add_after(1, 1)
        work.add_after(2, 0)
        clock.advance(10_000)
        assert (work.metrics.delayed, len(work), work.metrics.retries) == (0, 0, 100_000)
        assert len(work._work._delays._heap) == 0

    def test_from_a_signal_handler(self) -> None:
        """A handler's shutdown ends the `get` of the thread that it interrupts; its `add` is handed out."""
        work: WorkQueue[str] = WorkQueue()

        def send(wanted: int) -> None:
            wait_for_getters(work, 1)
            signal.pthread_kill(threading.main_thread().ident or 0, wanted)

        before = {
            signal.SIGUSR1: signal.signal(signal.SIGUSR1, lambda *_: work.add("a")),
            signal.SIGUSR2: signal.signal(signal.SIGUSR2, lambda *_: work.shut_down()),
        }
        try:
            with in_background(lambda: send(signal.SIGUSR1)):
                assert work.get(LIMIT) == "a"
            with in_background(lambda: send(signal.SIGUSR2)), pytest.raises(ShutDown):
                work.get(LIMIT)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def test_takes_no_lock(self) -> None:
        """The shutdown of another thread does not wait for whoever holds the queue's lock."""
        work = new_queue("a")
        with work._lock, in_background(work.shut_down) as thread:
            thread.join(LIMIT)
            assert not thread.is_alive()
            assert work.is_shut_down

    def test_drain_in_the_middle_of_a_step(self) -> None:
        """A handler that drains while its own thread is in the middle of a step, which nobody else can end, does not
        wait: it is False at once.
        """
        work, start = new_queue("a"), time.monotonic()
        with work._lock:
            assert work.shut_down(drain=True, timeout=LIMIT) is False
        assert time.monotonic() - start < AT_ONCE
        with in_background(lambda: drained(work)):
            assert work.shut_down(drain=True, timeout=LIMIT)

    def test_beside_a_token(self) -> None:
        """A loop over a token and a queue: who cancels also shuts down, from any thread."""
        token, work = CancelToken(), new_queue()
        with getters(work) as found:
            token.set()
            work.shut_down()
        assert found == ["ShutDown"]


class TestDelays:
    @pytest.mark.parametrize("delay", [0, -1, float("-inf")])
    def test_b130_no_delay(self, delay: float) -> None:
        """A delay of nothing or less is an `add`."""
        work = new_queue()
        work.add_after("a", delay)
        assert take(work, 1) == ["a"]

    @pytest.mark.parametrize("delay", [float("inf"), float("nan")])
    def test_no_time(self, delay: float) -> None:
        """A delay without end is a ValueError."""
        work = new_queue()
        with pytest.raises(ValueError, match="finite"):
            work.add_after("a", delay)
        assert work.metrics.delayed == 0

    @pytest.mark.parametrize("delays", [(1, 5), (5, 1)])
    def test_b131_earlier_wins(self, delays: tuple[float, float]) -> None:
        """Of two delays of one item the earlier counts, and it comes once."""
        clock = Clock()
        work = new_queue(clock=clock)
        for delay in delays:
            work.add_after("a", delay)
        clock.advance(0.9)
        assert drained(work) == []
        clock.advance(0.1)
        assert drained(work) == ["a"]
        clock.advance(100)
        assert drained(work) == []

    def test_b132_add_keeps_the_delay(self) -> None:
        """An `add` meanwhile does not end the delay: the item comes twice."""
        clock = Clock()
        work = new_queue(clock=clock)
        work.add_after("a", 1)
        work.add("a")
        assert drained(work) == ["a"]
        clock.advance(1)
        assert drained(work) == ["a"]

    def test_b132_e8_cancel(self) -> None:
        """A delay can be taken back, until it is over."""
        clock = Clock()
        work = new_queue(clock=clock)
        work.add_after("a", 1)
        assert work.cancel_delay("a") is True
        assert work.cancel_delay("a") is False
        work.add_after("b", 1)
        clock.advance(1)
        assert work.cancel_delay("b") is False
        assert drained(work) == ["b"]

    def test_b132_e8_replace(self) -> None:
        """A delay can be postponed, and made none."""
        clock = Clock()
        work = new_queue(clock=clock)
        work.add_after("a", 1)
        work.add_after("a", 5, replace=True)
        clock.advance(4.9)
        assert drained(work) == []
        clock.advance(0.1)
        assert drained(work) == ["a"]
        work.add_after("a", 1)
        work.add_after("a", 0, replace=True)
        assert drained(work) == ["a"]
        clock.advance(100)
        assert drained(work) == []

    def test_a_delay_that_is_over_is_no_delay(self) -> None:
        """What should have been added by now was added, also if nobody has asked: a new delay makes it come twice."""
        clock = Clock()
        work = new_queue(clock=clock)
        work.add_after("a", 1)
        clock.advance(2)
        work.add_after("a", 3, replace=True)
        work.add("b")
        assert drained(work) == ["a", "b"]
        clock.advance(3)
        assert drained(work) == ["a"]

    def test_b133_equal_times(self) -> None:
        """Of equal times the order in which they were said counts (client-go promises none)."""
        clock = Clock()
        work = new_queue(clock=clock)
        for item in "bca":
            work.add_after(item, 1)
        clock.advance(1)
        assert take(work, 3) == ["b", "c", "a"]

    def test_delayed_while_processed(self) -> None:
        """A delay that is over while a worker has the item makes it come once more, after that one's `done`."""
        clock = Clock()
        work = new_queue("a", clock=clock)
        work.get()
        work.add_after("a", 1)
        clock.advance(1)
        assert len(work) == 0
        work.done("a")
        assert take(work, 1) == ["a"]

    def test_wakes(self) -> None:
        """Threads that wait get what becomes due, without anybody else."""
        work: WorkQueue[str] = WorkQueue()
        with getters(work, 3) as found:
            work.add_after("b", 0.03)
            work.add_after("a", 0.01)
            work.add_after("c", 0.03)
        assert sorted(found) == ["a", "b", "c"]

    def test_all_that_are_due(self) -> None:
        """Whoever keeps the time and finds several items wakes the others for them."""
        clock = Clock()
        work = new_queue(clock=clock)
        for item in "abc":
            work.add_after(item, 1)
        with getters(work, 3) as found:
            clock.advance(1)
            keeper_of(work).open()  # as a timeout does
        assert sorted(found) == ["a", "b", "c"]

    def test_the_time_is_handed_on(self) -> None:
        """When the thread that keeps the time has got an item, another one keeps it from then on."""
        clock = Clock()
        work = new_queue(clock=clock)
        work.add_after("soon", 1)
        work.add_after("late", 2)
        with getters(work, 2) as found:
            before = keeper_of(work)
            clock.advance(1)
            before.open()
            wait_until(lambda: work._keeper not in (None, before), "another keeper")
            clock.advance(1)
            keeper_of(work).open()
        assert found == ["soon", "late"]

    def test_a_timeout_before_the_delay(self) -> None:
        """A `get` with a timeout before the next delay is over ends in time, and the delay stays."""
        work: WorkQueue[str] = WorkQueue()
        work.add_after("a", 1000)
        with pytest.raises(queue.Empty):
            work.get(0.01)
        assert (work._keeper, work.metrics.delayed) == (None, 1)


class TestRetries:
    def test_b140_rate_limited(self) -> None:
        """`add_rate_limited` delays by what the limiter says; `forget` makes the next failure the first."""
        clock = Clock()
        work: WorkQueue[str] = WorkQueue(Exponential(1.0), clock=clock)
        for delay in (1, 2, 4):
            work.add_rate_limited("a")
            clock.advance(delay - 0.01)
            assert drained(work) == []
            clock.advance(0.01)
            assert drained(work) == ["a"]
        assert work.retries("a") == 3
        work.forget("a")
        assert work.retries("a") == 0
        work.add_rate_limited("a")
        clock.advance(1)
        assert drained(work) == ["a"]

    def test_b140_forget_is_not_done(self) -> None:
        """Forgetting takes nothing out of process, and nothing out of the queue (I4)."""
        clock = Clock()
        work: WorkQueue[str] = WorkQueue(Exponential(1.0), clock=clock)
        work.add("a")
        work.get()
        work.add_rate_limited("a")
        work.forget("a")
        clock.advance(1)
        with pytest.raises(queue.Empty):
            work.get(timeout=0)
        work.done("a")
        assert drained(work) == ["a"]

    def test_the_limiter_is_asked_without_a_lock(self) -> None:
        """A limiter may use the queue, from another thread too."""

        class Limiter(Exponential):
            def when(self, item: object, /) -> float:
                with in_background(lambda: work.add("b")):
                    pass
                return 0.0

        work: WorkQueue[str] = WorkQueue(Limiter())
        work.add_rate_limited("a")
        assert drained(work) == ["b", "a"]


class TestMetrics:
    def test_b129_metrics(self) -> None:
        """All of client-go's numbers, always on, exact at the moment when they are asked for."""
        clock = Clock()
        work = new_queue("a", "b", "c", "a", clock=clock)
        clock.advance(1)
        work.get()
        clock.advance(2)
        work.get()
        work.add_after("d", 9)
        work.add_after("e", 0)
        clock.advance(4)
        work.done("a")
        assert work.metrics == QueueMetrics(
            name="test",
            depth=2,
            delayed=1,
            processing=1,
            adds=4,
            taken=2,
            done=1,
            retries=2,
            latency=1 + 3,
            longest_latency=3,
            work=6,
            longest_work=6,
            unfinished=4,
            longest_running=4,
        )

    def test_latency_of_a_delay(self) -> None:
        """What a delayed item has waited counts from the end of its delay, also if nobody has asked then."""
        clock = Clock()
        work = new_queue(clock=clock)
        work.add_after("a", 10)
        clock.advance(13)
        work.get()
        assert (work.metrics.latency, work.metrics.longest_latency) == (3, 3)

    def test_frozen(self) -> None:
        """They are a value of one moment."""
        metrics = new_queue().metrics
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            metrics.depth = 1  # type: ignore[misc]

    def test_repr(self) -> None:
        """A queue tells its name and its counts."""
        work = new_queue("a", "b")
        work.get()
        work.add_after("c", 1)
        assert repr(work) == "<WorkQueue 'test': 1 waiting, 1 in process, 1 delayed>"
        work.shut_down()
        assert repr(work) == "<WorkQueue 'test': 1 waiting, 1 in process, 0 delayed, shut down>"


def test_a_limiter_that_is_false() -> None:
    """A limiter that counts as false, as an empty container does, is used all the same."""

    class Empty(Exponential):
        def __len__(self) -> int:
            return 0

    work: WorkQueue[str] = WorkQueue(Empty(5, 5), clock=Clock())
    work.add_rate_limited("a")
    assert (work.retries("a"), work._work.next_due - Clock().now) == (1, 5)


@pytest.mark.parametrize("options", [{"rate_limiter": "x"}, {"rate_limiter": Exponential}, {"name": 5}, {"clock": 5}])
def test_bad_arguments(options: dict[str, Any]) -> None:
    """What is no limiter, no name or no clock is refused when the queue is made."""
    with pytest.raises(TypeError):
        WorkQueue(**options)
