"""The parts that ending is made of: the token, the gate, the guard of an operation, the poller of plain events."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from kwsync import CancelToken, EndReason, _cancel
from kwsync._cancel import DeadlinePassed, Gate, Guard, Interrupted, cancelled_by, check_cancel
from kwsync._clock import monotonic
from tests.cancel.support import (
    AT_ONCE,
    LIMIT,
    POLLED,
    handling,
    in_background,
    in_child,
    interrupting,
    points,
    wait_until,
    waits_in,
)

POLLER = "kwsync-cancel-poller"


def pollers() -> list[threading.Thread]:
    """The threads that look at plain events."""
    return [thread for thread in threading.enumerate() if thread.name == POLLER]


class TestCancelToken:
    def test_is_an_event(self) -> None:
        """A token goes wherever a threading.Event does, and its repr tells whether it is set."""
        token = CancelToken()
        assert isinstance(token, threading.Event)
        assert (token.is_set(), repr(token)) == (False, "<CancelToken unset>")
        token.set()
        assert (token.is_set(), repr(token)) == (True, "<CancelToken set>")

    def test_set_twice(self) -> None:
        """Setting it again changes nothing."""
        token = CancelToken()
        guard = Guard()
        with cancelled_by(guard, token):
            token.set()
            token.set()
        assert token.is_set()
        assert guard.cause is EndReason.CANCELLED

    @pytest.mark.parametrize("is_set", [False, True])
    def test_clear(self, is_set: bool) -> None:
        """What was cancelled stays so: clear() raises, set or not, and changes nothing."""
        token = CancelToken()
        if is_set:
            token.set()
        with pytest.raises(RuntimeError, match="make a new one"):
            token.clear()
        assert token.is_set() is is_set

    @pytest.mark.parametrize("timeout", [0, 0.01, -1])
    def test_wait_in_vain(self, timeout: float) -> None:
        """wait() gives False when the time has passed, and not before; a negative time is none."""
        began = monotonic()
        assert CancelToken().wait(timeout) is False
        assert timeout <= monotonic() - began < AT_ONCE

    @pytest.mark.parametrize("timeout", [None, 0, -1, LIMIT, 1e300])
    def test_wait_for_a_set_one(self, timeout: float | None) -> None:
        """wait() gives True at once when it is set already, whatever the time."""
        token = CancelToken()
        token.set()
        assert token.wait(timeout) is True

    @pytest.mark.parametrize("timeout", [None, LIMIT, 1e300])
    def test_many_waiters(self, timeout: float | None) -> None:
        """set() wakes all that wait, whatever time they gave it."""
        token = CancelToken()
        woken: list[bool] = []
        threads = [threading.Thread(target=lambda: woken.append(token.wait(timeout)), daemon=True) for _ in range(20)]
        for thread in threads:
            thread.start()
        wait_until(lambda: all(waits_in(thread.ident, "_cancel.wait") for thread in threads), "all to wait")
        began = monotonic()
        token.set()
        wait_until(lambda: len(woken) == len(threads), "all waiters to wake")
        assert woken == [True] * len(threads)
        assert monotonic() - began < AT_ONCE

    def test_set_by_a_handler_in_wait(self) -> None:
        """A signal handler may set the token that the interrupted thread is waiting for."""
        token, me = CancelToken(), threading.get_ident()
        with (
            handling(signal.SIGUSR1, lambda number, frame: token.set()),
            interrupting(signal.SIGUSR1, lambda: waits_in(me, "_cancel.wait")),
        ):
            assert token.wait(LIMIT) is True

    def test_set_by_a_handler_in_set(self) -> None:
        """A signal handler may set it in the middle of set(); everybody is woken."""
        for point in points():
            token, guard = CancelToken(), Guard()
            token.register(guard)
            with in_background(partial(_wait_for, token)) as waiter:
                wait_until(partial(waits_in, waiter.ident, "_cancel.wait"), "the waiter")
                point.act(token.set, token.set)
            assert guard.cause is EndReason.CANCELLED

    def test_set_by_a_handler_anywhere_in_wait(self) -> None:
        """A signal handler may set it at any point of wait(), which then ends at once."""
        for point in points():
            token, acted = CancelToken(), [monotonic()]

            def act(token: CancelToken = token, acted: list[float] = acted) -> None:
                token.set()
                acted.append(monotonic())

            result = point.act(act, partial(token.wait, 0.5))
            assert result is point.acted
            assert not point.acted or monotonic() - acted[-1] < 0.4, f"woken late at {point}"

    def test_set_by_a_handler_in_registration(self) -> None:
        """A signal handler may set it while a watch is registering with it: the watch is ended, at any point."""
        for point in points():
            token, guard = CancelToken(), Guard()
            over: list[bool] = []

            def operation(guard: Guard = guard, token: CancelToken = token, over: list[bool] = over) -> None:
                with suppress(Interrupted), cancelled_by(guard, token):
                    over.append(token.is_set())

            point.act(token.set, operation)
            assert guard.cause is EndReason.CANCELLED or over == [False], f"at {point}"

    def test_waits_leave_nothing(self) -> None:
        """A token that is waited for now and then for days does not grow."""
        token = CancelToken()
        token.wait(0)
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(2_000):
                token.wait(0)
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert grown < 20_000

    def test_operations_leave_nothing(self) -> None:
        """A token that lives long keeps no entry of an operation that is over, however it ended."""
        token = CancelToken()
        with cancelled_by(Guard(), token):
            pass
        with suppress(LookupError), cancelled_by(Guard(), token):
            raise LookupError
        token.set()
        with suppress(Interrupted), cancelled_by(Guard(), token):
            pass
        assert token._guards == {}

    def test_holds_no_watch(self) -> None:
        """A token that lives long keeps no operation alive."""
        token, guard = CancelToken(), Guard()
        token.register(guard)
        reference = weakref.ref(guard)
        del guard
        assert reference() is None
        token.set()

    @pytest.mark.parametrize("cancel", [None, threading.Event(), CancelToken(), multiprocessing.Event()])
    def test_what_cancels(self, cancel: Any) -> None:
        """Nothing, and any event that can be asked for is_set()."""
        check_cancel(cancel)

    @pytest.mark.parametrize("cancel", [True, 5, "stop", threading.Lock(), lambda: True])
    def test_what_does_not_cancel(self, cancel: Any) -> None:
        """Anything else is a TypeError that says what it takes."""
        with pytest.raises(TypeError, match=r"cancel takes a threading\.Event"):
            check_cancel(cancel)


def _wait_for(token: CancelToken) -> None:
    assert token.wait(LIMIT), "not woken"


class TestGate:
    def test_opened_before(self) -> None:
        """One opening lets one wait pass, also one that comes later."""
        gate = Gate()
        gate.open()
        assert gate.wait(None) is True
        assert gate.wait(0) is False

    def test_opened_twice(self) -> None:
        """Opening an open gate is allowed, and lets no second wait pass."""
        gate = Gate()
        gate.open()
        gate.open()
        assert gate.wait(0) is True
        assert gate.wait(0) is False

    @pytest.mark.parametrize("timeout", [0.0, 0.01, -5.0])
    def test_in_vain(self, timeout: float) -> None:
        """A wait that nobody ends takes its time, no more."""
        began = monotonic()
        assert Gate().wait(timeout) is False
        assert timeout <= monotonic() - began < AT_ONCE

    @pytest.mark.parametrize("timeout", [None, LIMIT, threading.TIMEOUT_MAX * 2])
    def test_opened_meanwhile(self, timeout: float | None) -> None:
        """A wait of any length ends when another thread opens."""
        gate = Gate()
        with in_background(lambda: gate.wait(timeout) or pytest.fail("not opened")) as waiter:
            wait_until(lambda: waits_in(waiter.ident, "_cancel.wait"), "the thread to wait")
            gate.open()


class TestGuard:
    def test_goes_on(self) -> None:
        """Nothing is raised, and no time runs out, while there is neither cause nor deadline."""
        guard = Guard()
        guard.check()
        assert (guard.remaining(), guard.cause) == (None, None)

    def test_deadline(self) -> None:
        """Before the deadline it tells how long; from then on everything raises."""
        guard = Guard(monotonic() + LIMIT)
        guard.check()
        remaining = guard.remaining()
        assert remaining is not None
        assert 0 < remaining <= LIMIT
        guard.deadline = monotonic()
        for call in (guard.check, guard.remaining, lambda: guard.wait(Gate())):
            with pytest.raises(DeadlinePassed):
                call()

    def test_the_first_cause_wins(self) -> None:
        """The first cause is told, whatever comes later; everything raises, also if the deadline has passed."""
        guard = Guard(monotonic() - 1)
        guard.interrupt(EndReason.CLOSED)
        guard.interrupt(EndReason.CANCELLED)
        assert guard.cause is EndReason.CLOSED
        for call in (guard.check, guard.remaining, lambda: guard.wait(Gate()), lambda: guard.received(b"x")):
            with pytest.raises(Interrupted):
                call()

    def test_wakes(self) -> None:
        """Whoever interrupts wakes, from attach() to detach() and neither before nor after."""
        woken: list[int] = []
        guard = Guard()
        guard.attach(lambda: woken.append(1))
        guard.attach(lambda: woken.append(2))
        guard.interrupt(EndReason.CLOSED)
        guard.interrupt(EndReason.CLOSED)
        assert woken == [2, 2]
        guard.detach()
        guard.interrupt(EndReason.CLOSED)
        assert woken == [2, 2]

    def test_attached_too_late(self) -> None:
        """What was ended before there was anything to wake is ended when there is."""
        guard = Guard()
        guard.interrupt(EndReason.CANCELLED)
        with pytest.raises(Interrupted):
            guard.attach(lambda: None)

    def test_causes_do_not_pile_up(self) -> None:
        """A cause that is told again and again, as the poller does, takes no memory."""
        guard = Guard()
        for _ in range(1000):
            guard.interrupt(EndReason.CANCELLED)
        assert len(guard.causes) < 10

    def test_last_byte(self) -> None:
        """Bytes are noted with their time; the end of a stream is none."""
        guard = Guard()
        guard.received(b"")
        guard.received(0)
        assert guard.last_byte is None
        before = monotonic()
        guard.received(b"x")
        assert guard.last_byte is not None
        assert before <= guard.last_byte <= monotonic()

    def test_wait(self) -> None:
        """A wait for a gate tells whether it was opened, within its own time or the deadline's."""
        guard, gate = Guard(monotonic() + LIMIT), Gate()
        gate.open()
        assert guard.wait(gate) is True
        assert guard.wait(gate, 0.01) is False
        guard.deadline = monotonic() + 0.01
        with pytest.raises(DeadlinePassed):
            guard.wait(gate, LIMIT)

    def test_wait_is_interrupted(self) -> None:
        """A wait ends at once when the operation is ended."""
        guard = Guard()

        def wait() -> None:
            with pytest.raises(Interrupted):
                guard.wait(Gate())

        with in_background(wait) as waiter:
            wait_until(lambda: waits_in(waiter.ident, "_cancel.wait"), "the thread to wait")
            guard.interrupt(EndReason.CLOSED)

    def test_wait_is_interrupted_anywhere(self) -> None:
        """No point of a wait is a moment at which the end gets lost."""
        for point in points():
            guard, acted = Guard(), [monotonic()]

            def act(guard: Guard = guard, acted: list[float] = acted) -> None:
                guard.interrupt(EndReason.CLOSED)
                acted.append(monotonic())

            def wait(guard: Guard = guard) -> None:
                with suppress(Interrupted):
                    guard.wait(Gate(), 0.5)

            point.act(act, wait)
            assert not point.acted or monotonic() - acted[-1] < 0.4, f"woken late at {point}"

    def test_within(self) -> None:
        """A phase has its own deadline, never behind the whole one, which counts again after it, also on errors."""
        guard = Guard()
        with guard.within(5):
            assert 4 < (guard.remaining() or 0) <= 5
            with guard.within(50):
                assert (guard.remaining() or 0) <= 5
            with pytest.raises(LookupError), guard.within(1):
                raise LookupError
            with guard.within(None):
                assert 4 < (guard.remaining() or 0) <= 5
        assert guard.deadline is None

    def test_detach_waits_for_a_waker(self) -> None:
        """After detach() nobody is waking any more: what is woken can be closed, and its number used again."""
        guard, entered, leave = Guard(), threading.Event(), threading.Event()

        def wake() -> None:
            entered.set()
            assert leave.wait(LIMIT), "nobody let the waker go"

        guard.attach(wake)
        with in_background(lambda: guard.interrupt(EndReason.CLOSED)):
            assert entered.wait(LIMIT), "the waker did not come"
            detached = threading.Event()

            def detach() -> None:
                guard.detach()
                detached.set()

            with in_background(detach):
                assert not detached.wait(0.05), "detached in the middle of a wake"
                leave.set()
                assert detached.wait(LIMIT), "not detached"

    def test_never_blocks(self) -> None:
        """Who interrupts while another is waking goes on at once, also from inside of the wake function."""
        guard, entered, leave = Guard(), threading.Event(), threading.Event()
        depth: list[int] = []

        def wake() -> None:
            if not depth:
                depth.append(1)
                guard.interrupt(EndReason.CLOSED)
                entered.set()
                assert leave.wait(LIMIT), "nobody let the waker go"

        guard.attach(wake)
        with in_background(lambda: guard.interrupt(EndReason.CLOSED)):
            assert entered.wait(LIMIT), "the waker did not come"
            began = monotonic()
            guard.interrupt(EndReason.CANCELLED)
            assert monotonic() - began < AT_ONCE
            leave.set()

    def test_an_exception_anywhere_in_interrupt(self) -> None:
        """Ctrl-C at any point of close() leaves no lock held: the waiting thread can go on to detach."""

        def interrupt(guard: Guard) -> None:
            with suppress(KeyboardInterrupt):
                guard.interrupt(EndReason.CLOSED)

        for point in points():
            guard = Guard()
            guard.attach(Gate().open)
            point.act(_ctrl_c, partial(interrupt, guard))
            with in_background(guard.detach):
                pass

    def test_abandoned(self) -> None:
        """What a forked child inherits has ended there, and nothing is woken."""
        guard = Guard()
        guard.attach(lambda: pytest.fail("woken"))
        guard.abandon()
        guard.interrupt(EndReason.CANCELLED)
        assert guard.cause is EndReason.CLOSED

    def test_abandoned_while_it_is_woken(self) -> None:
        """A child that was forked while another thread was waking finds no lock that nobody gives back."""
        guard, entered, leave = Guard(), threading.Event(), threading.Event()

        def wake() -> None:
            entered.set()
            assert leave.wait(LIMIT), "nobody let the waker go"

        guard.attach(wake)
        with in_background(lambda: guard.interrupt(EndReason.CLOSED)):
            assert entered.wait(LIMIT), "the waker did not come"
            guard.abandon()
            with in_background(guard.detach):
                pass
            leave.set()

    def test_in_a_child(self) -> None:
        """A forked child never wakes what its parent waits for."""
        guard = Guard()
        woken: list[bool] = []
        guard.attach(lambda: woken.append(True))

        def interrupt() -> list[bool]:
            guard.interrupt(EndReason.CLOSED)
            return woken

        assert in_child(interrupt) == []
        guard.interrupt(EndReason.CLOSED)
        assert woken == [True]


def _ctrl_c() -> None:
    raise KeyboardInterrupt


class TestEventPoller:
    def test_exists_only_while_needed(self) -> None:
        """There is no thread before the first registration, one for all, and none after the last."""
        assert pollers() == []
        guards = [Guard() for _ in range(3)]
        for guard in guards:
            _cancel.poller.register(guard, threading.Event())
        (thread,) = pollers()
        assert thread.daemon
        assert _cancel.poller.registered == 3
        for guard in guards:
            _cancel.poller.unregister(guard)
        wait_until(lambda: not thread.is_alive(), "the poller to end", AT_ONCE)
        assert _cancel.poller.registered == 0

    def test_interrupts(self) -> None:
        """A set event ends its own operation within 100 ms, and no other."""
        guard, other, event = Guard(), Guard(), threading.Event()
        with cancelled_by(other, threading.Event()), cancelled_by(guard, event):
            began = monotonic()
            event.set()
            wait_until(lambda: guard.cause is EndReason.CANCELLED, "the poller")
            assert monotonic() - began < POLLED
            assert other.cause is None

    def test_set_before(self) -> None:
        """An event that is set already needs no poller: the operation does not begin."""
        guard, event = Guard(), threading.Event()
        event.set()
        with pytest.raises(Interrupted), cancelled_by(guard, event):
            pytest.fail("the operation has begun")
        assert guard.cause is EndReason.CANCELLED
        assert pollers() == []

    def test_forgets_the_dead(self) -> None:
        """What was dropped without a word is forgotten, and the thread ends."""
        guard = Guard()
        _cancel.poller.register(guard, threading.Event())
        del guard
        gc.collect()
        wait_until(lambda: not pollers(), "the poller to end")
        assert _cancel.poller.registered == 0

    def test_comes_and_goes(self) -> None:
        """An event that is registered in the very moment in which the thread ends is looked at, too."""
        for _ in range(200):
            guard, event = Guard(), threading.Event()
            with cancelled_by(guard, event):
                pass
        guard, event = Guard(), threading.Event()
        with cancelled_by(guard, event):
            event.set()
            wait_until(lambda: bool(guard.causes), "the poller")

    def test_from_many_threads(self) -> None:
        """Registering and forgetting on many threads at once loses no event and leaves no thread."""

        def work() -> None:
            for _ in range(50):
                guard, event = Guard(), threading.Event()
                with cancelled_by(guard, event):
                    event.set()
                    wait_until(partial(_is_ended, guard), "the poller")

        with in_background(work), in_background(work), in_background(work):
            pass
        wait_until(lambda: not pollers(), "the poller to end")

    def test_forgotten_in_a_finalizer(self) -> None:
        """A finalizer or a handler may forget one operation at any point at which another is registered."""
        for point in points():
            first, second, event = Guard(), Guard(), threading.Event()
            _cancel.poller.register(first, threading.Event())
            point.act(partial(_cancel.poller.unregister, first), partial(_cancel.poller.register, second, event))
            event.set()
            wait_until(partial(_is_ended, second), f"the poller, at {point}")
            _cancel.poller.unregister(first)
            _cancel.poller.unregister(second)

    @pytest.mark.parametrize("act", ["register", "ctrl-c"])
    def test_interrupted_registration(self, act: str) -> None:
        """What a handler registers, or an exception of it, at any point of a registration breaks no later one."""
        for point in points():
            first, second, event = Guard(), Guard(), threading.Event()
            register_second = partial(_cancel.poller.register, second, event)
            with suppress(KeyboardInterrupt):
                register_first = partial(_cancel.poller.register, first, threading.Event())
                point.act(register_second if act == "register" else _ctrl_c, register_first)
            register_second()
            event.set()
            wait_until(partial(_is_ended, second), f"the poller, at {point}")
            _cancel.poller.unregister(first)
            _cancel.poller.unregister(second)
            wait_until(lambda: not pollers(), "the poller to end")

    def test_without_a_thread(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process that cannot start a thread now may do so later: one failure does not end all polling."""
        guard, event = Guard(), threading.Event()
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", _no_thread)
            with pytest.raises(OSError, match="no further thread"):
                _cancel.poller.register(guard, event)
        with cancelled_by(guard, event):
            event.set()
            wait_until(lambda: bool(guard.causes), "the poller")

    def test_made_anew_in_a_child(self) -> None:
        """A forked child knows no operation of its parent, and polls its own events with a thread of its own."""
        guard, event = Guard(), threading.Event()

        def work() -> list[object]:
            inherited = _cancel.poller.registered
            mine, cancel = Guard(), threading.Event()
            with cancelled_by(mine, cancel):
                cancel.set()
                wait_until(lambda: bool(mine.causes), "the child's poller")
            event.set()
            return [inherited, guard.cause, mine.cause]

        with cancelled_by(guard, event):
            assert in_child(work) == [0, EndReason.CLOSED, EndReason.CANCELLED]
            assert guard.cause is None
            event.set()
            wait_until(lambda: bool(guard.causes), "the parent's poller")

    def test_forked_while_it_is_locked(self) -> None:
        """A child that was forked in the middle of a registration has a poller that is not locked."""

        def work() -> str:
            mine, cancel = Guard(), threading.Event()
            with cancelled_by(mine, cancel):
                cancel.set()
                wait_until(lambda: bool(mine.causes), "the child's poller")
            return "polled"

        results: list[str] = []
        for point in points():
            guard = Guard()
            point.act(
                lambda: results.append(in_child(lambda: in_thread(work))),
                partial(_cancel.poller.register, guard, threading.Event()),
            )
            _cancel.poller.unregister(guard)
            wait_until(lambda: not pollers(), "the poller to end")
        assert set(results) == {"polled"}


def _is_ended(guard: Guard) -> bool:
    return bool(guard.causes)


def _no_thread(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def in_thread(work: Callable[[], str]) -> str:
    """Run it on another thread, which owns no lock that this one has."""
    results: list[str] = []
    with in_background(lambda: results.append(work())):
        pass
    return results[0]
