"""A controller's life: starts, stops in every place, signals, forks; what it starts it ends, and nothing else."""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest

from kwsync import CancelToken, Client, Cluster, Controller, Informer, InformerStatus, Requeue, WorkQueue, _threads
from kwsync.testing import ApiServer, NoHead, ScriptedServer, pod
from tests.cancel.support import handling, in_child, interrupting, waits_in
from tests.keeping.support import AT_ONCE, LIMIT, ByHand, added, by_hand, in_background, page
from tests.working.controllers import Failed, Held, Reconciler, idle, key, quick, started
from tests.working.support import wait_until

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


class TestStop:
    """No new work; what runs may finish; and what still runs is told."""

    def test_running_work_may_finish(self) -> None:
        """False at the deadline, with the key still running; True when it has finished; nothing else was begun."""
        held = Held()
        reconciler, pods = Reconciler(held), ByHand()
        controller = quick(reconciler)
        controller.watch(pods)
        controller.start()
        pods.give(page("1", *(pod(f"p{number}") for number in range(50))))
        held.wait()
        assert controller.stop(0.01) is False
        assert controller.running == [key("p0")]
        assert controller.stopping.is_set()
        assert pods.is_alive(), "what runs may still read"
        assert controller.stop(0) is False
        with pytest.raises(RuntimeError, match=r"still ending, busy with .*p0"):
            controller.start()
        held.go_on.set()
        assert controller.stop(LIMIT) is True
        assert (controller.running, reconciler.keys) == ([], [key("p0")])
        assert not pods.is_alive()

    def test_nothing_new(self) -> None:
        """What comes after a stop makes no work, whether by an event or by hand; a delay ends with it."""
        held, pods = Held(Requeue(0)), ByHand()
        reconciler = Reconciler(held)
        controller = quick(reconciler, workers=2)
        controller.watch(pods)
        controller.enqueue("soon", after=0.05)
        controller.start()
        pods.give(page("1", pod("a")))
        held.wait()
        controller.stop(0)
        pods.give(added("b", "2"))
        controller.enqueue("c")
        held.go_on.set()
        assert controller.stop(LIMIT)
        assert reconciler.keys == [key("a")]

    def test_between_taking_and_working(self) -> None:
        """A key that a worker has taken when the stop comes is not worked on any more."""

        class Stopping(WorkQueue[str]):
            def get(self, timeout: float | None = None) -> str:
                item = super().get(timeout)
                controller.stop(0)
                return item

        reconciler = Reconciler()
        controller = quick(reconciler, queue=Stopping())
        controller.enqueue("a")
        assert controller.run()
        assert reconciler.keys == []
        numbers = controller.metrics
        assert (numbers.queue.taken, numbers.queue.done, numbers.reconciles) == (1, 1, 0), "given back"

    def test_before_and_twice(self) -> None:
        """A stop before the start does nothing, and a second one neither."""
        reconciler = Reconciler()
        controller: Controller[Any] = quick(reconciler)
        assert controller.stop()
        assert controller.join(0)
        with started(controller):
            controller.enqueue("a")
            reconciler.wait(1)
        assert controller.stop()
        assert controller.join(0)

    @pytest.mark.parametrize("workers", [1, 3])
    def test_inside_reconcile(self, workers: int) -> None:
        """It does not wait for itself: False at once; the controller ends when the call has. Several at once may."""
        answers: list[Any] = []
        meeting = threading.Barrier(workers)

        def reconcile(name: object) -> None:
            meeting.wait(LIMIT)
            answers.append(controller.stop(LIMIT))
            with pytest.raises(RuntimeError, match="own end"):
                controller.join()

        controller = quick(reconcile, workers=workers)
        for number in range(workers):
            controller.enqueue(number)
        assert controller.run()
        assert answers == [False] * workers
        assert controller.metrics.errors == 0

    def test_inside_on_error(self) -> None:
        """That is a worker's thread as well."""
        answers: list[Any] = []
        controller: Controller[Any] = quick(
            Reconciler(ValueError("no")), on_error=lambda name, error: answers.append(controller.stop(LIMIT))
        )
        controller.enqueue("a")
        assert controller.run()
        assert answers == [False]

    @pytest.mark.parametrize("own", [True, False], ids=["started by it", "started before"])
    def test_inside_map(self, own: bool) -> None:
        """On a handler's thread it waits for the workers, and not for that thread."""
        answers: list[Any] = []

        def whose(event: Any) -> None:
            answers.append(controller.stop(LIMIT))

        pods = ByHand()
        controller = quick(Reconciler())
        controller.watch(pods, map=whose)
        if not own:
            pods.start()
        controller.start()
        pods.give(page("1", pod("a")))
        assert controller.join(LIMIT)
        assert answers == [False]
        assert pods.is_alive() is not own
        pods.stop()
        assert pods.join(LIMIT)

    @pytest.mark.parametrize("call", ["cancel", "a with block"])
    def test_stopping_cancels_calls(self, call: str) -> None:
        """`stopping` ends the calls of a client at once, and the error that makes is none: nothing is reported."""
        with ScriptedServer(default=[NoHead(LIMIT)]) as server, Client(Cluster(server.url)) as client:
            failed = Failed()

            def reconcile(name: object) -> None:
                client.list("pods", cancel=controller.stopping)

            controller = quick(reconcile, on_error=failed)
            controller.enqueue("a")
            if call == "cancel":
                token = CancelToken()
                with in_background(lambda: controller.run(token)):
                    server.wait_for_requests(1)
                    token.set()
            else:
                with controller:
                    server.wait_for_requests(1)
            assert failed.told == []
            assert controller.metrics.errors == 0

    def test_stopping_is_waited_for(self) -> None:
        """A reconcile may sleep on it."""
        token = CancelToken()
        controller = quick(lambda name: controller.stopping.wait(LIMIT) and None)
        controller.enqueue("a")
        with in_background(lambda: controller.run(token)):
            wait_until(lambda: controller.running == ["a"], "the call")
            token.set()

    @pytest.mark.parametrize("phase", ["waiting for caches", "idle", "working"])
    def test_at_once_in_every_phase(self, phase: str) -> None:
        """A stop wakes who waits for caches and who waits for work; it takes no longer than what runs."""
        held, pods = Held(), ByHand()
        controller = quick(Reconciler(held), workers=3)
        controller.watch(pods)
        with started(controller):
            if phase != "waiting for caches":
                pods.give(page("1", *([pod("a")] if phase == "working" else [])))
            if phase == "working":
                held.wait()
                held.go_on.set()
            assert controller.stop(AT_ONCE)

    def test_leaving_a_block_warns(self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who leaves a with block while work runs is told so in the log, with the keys."""
        monkeypatch.setattr("kwsync._controller.EXIT_SECONDS", 0.01)
        held = Held()
        controller = quick(Reconciler(held))
        with controller:
            controller.enqueue("a")
            held.wait()
        assert "still busy 0.01 s after stop(), with ['a']" in caplog.text
        held.go_on.set()
        assert controller.join(LIMIT)


class TestRun:
    """The blocking form."""

    @pytest.mark.parametrize("make", [CancelToken, threading.Event])
    def test_cancel(self, make: Callable[[], threading.Event]) -> None:
        """It works until the event is set; set before, nothing is started at all."""
        cancel, pods, reconciler = make(), ByHand(), Reconciler()
        controller = quick(reconciler)
        controller.watch(pods)
        answers: list[bool] = []
        with in_background(lambda: answers.append(controller.run(cancel))):
            wait_until(pods.is_alive, "the start")
            pods.give(page("1", pod("a")))
            reconciler.wait(1)
            cancel.set()
        assert answers == [True]
        assert controller.run(cancel)
        assert (len(reconciler.keys), pods.is_alive()) == (1, False)

    def test_deadline(self) -> None:
        """What still runs at the deadline makes it False."""
        held, cancel = Held(), CancelToken()
        controller = quick(Reconciler(held))
        controller.enqueue("a")
        answers: list[bool] = []
        with in_background(lambda: answers.append(controller.run(cancel, deadline=0.01))):
            held.wait()
            cancel.set()
        assert (answers, controller.running) == ([False], ["a"])
        held.go_on.set()
        assert controller.join(LIMIT)

    def test_twice(self) -> None:
        """Of two that run it at once the second is refused, and the first goes on."""
        with started(quick(Reconciler())) as controller:
            for start in (controller.run, controller.start):
                with pytest.raises(RuntimeError, match="runs already"):
                    start()
            assert controller.is_alive()
            assert not controller.stopping.is_set()

    def test_its_queue_is_shut_down(self) -> None:
        """A user who drains and shuts down the queue ends the controller: the rest is worked on, and run returns."""
        queue: WorkQueue[Any] = WorkQueue()
        reconciler = Reconciler()
        controller = quick(reconciler, queue=queue, workers=2)
        for number in range(20):
            queue.add(number)
        with in_background(lambda: controller.run()):  # noqa: PLW0108
            reconciler.wait(1)
            assert queue.shut_down(drain=True, timeout=LIMIT)
        assert sorted(reconciler.keys) == list(range(20))

    def test_handler_of_a_signal_stops(self) -> None:
        """A handler that calls stop, and waits in it, ends a main thread that stands in run()."""
        held, answers = Held(), list[bool]()
        controller = quick(Reconciler(held))
        controller.enqueue("a")
        me = threading.get_ident()

        def ready() -> bool:
            return held.entered.is_set() and waits_in(me, "_cancel.wait")

        def stop(number: int, frame: object) -> None:
            held.go_on.set()
            answers.append(controller.stop(LIMIT))

        with handling(signal.SIGUSR1, stop), interrupting(signal.SIGUSR1, ready):
            assert controller.run()
        assert answers == [True]

    def test_ctrl_c(self) -> None:
        """Ctrl-C passes through, after what runs has finished."""
        held = Held()
        controller = quick(Reconciler(held))
        controller.enqueue("a")
        me = threading.get_ident()

        def ready() -> bool:
            return held.entered.is_set() and waits_in(me, "_cancel.wait")

        def interrupt(number: int, frame: object) -> None:
            held.go_on.set()
            raise KeyboardInterrupt

        with handling(signal.SIGINT, interrupt), interrupting(signal.SIGINT, ready), pytest.raises(KeyboardInterrupt):
            controller.run()
        assert not controller.is_alive()


class TestStart:
    """What start begins, and what it leaves behind where it fails."""

    def test_restart(self) -> None:
        """After a stop it may be started again: everything there is comes once more, with a new queue and token."""
        reconciler, pods = Reconciler(), ByHand()
        controller = quick(reconciler, workers=2)
        controller.watch(pods)
        tokens = [controller.stopping]
        for count in (1, 2, 3):
            with started(controller):
                assert not controller.stopping.is_set()
                pods.give(page("1", pod("a")))
                reconciler.wait(count)
                tokens.append(controller.stopping)
        assert tokens[0] is tokens[1]
        assert len(set(map(id, tokens))) == 3

    def test_restart_with_a_given_queue(self) -> None:
        """A queue that was given is used, and shut down: a second start says so."""
        queue: WorkQueue[str] = WorkQueue()
        controller = quick(Reconciler(), queue=queue)
        with started(controller):
            assert controller.queue is queue
        assert queue.is_shut_down
        with pytest.raises(RuntimeError, match="queue"):
            controller.start()

    def test_informers_of_others(self) -> None:
        """An informer that ran before goes on afterwards, and the handler is taken away; one that did not is ended."""
        with by_hand(page("1", pod("a"))) as theirs:
            own, reconciler = ByHand(), Reconciler()
            controller = quick(reconciler)
            controller.watch(theirs)
            controller.watch(own)
            with started(controller):
                own.give(page("1"))
                reconciler.wait(1)
                assert len(theirs._hub.handlers) == 1
            assert (theirs.is_alive(), own.is_alive()) == (True, False)
            assert theirs._hub.handlers == own._hub.handlers == ()

    def test_another_starts_the_informer(self) -> None:
        """An informer that another has started just before is not ended."""

        class Late(ByHand):
            @property
            def status(self) -> InformerStatus:
                return attrs.evolve(super().status, running=False)

        pods = Late()
        pods.start()
        controller = quick(Reconciler())
        controller.watch(pods)
        with started(controller):
            pods.give(page("1"))
            assert controller.wait_synced(LIMIT)
        assert pods.is_alive()
        pods.stop()
        assert pods.join(LIMIT)

    def test_two_controllers_begin_at_once(self) -> None:
        """Of two controllers that share an informer, one starts it; both work."""
        for _ in range(20):
            pods, reconcilers = ByHand(), [Reconciler(), Reconciler()]
            controllers = [quick(each) for each in reconcilers]
            for controller in controllers:
                controller.watch(pods)
            with in_background(controllers[0].start):
                controllers[1].start()
            pods.give(page("1", pod("a")))
            for reconciler in reconcilers:
                reconciler.wait(1)
            assert [controller.stop(LIMIT) for controller in controllers] == [True, True]

    @pytest.mark.parametrize("fails", ["an informer", "the first worker", "the third worker"])
    def test_what_fails_leaves_nothing(self, fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A start that fails ends what it has begun, and may be tried again."""
        pods, sets = ByHand(), ByHand()
        controller = quick(Reconciler(), workers=3)
        controller.watch(pods)
        controller.watch(sets)
        start, refused = _threads.start, {"an informer": sets._reader._name}
        refused.update(
            {f"the {word} worker": f"kwsync-controller-test-{n}" for n, word in ((1, "first"), (3, "third"))}
        )
        count = iter(range(99))

        def refuse(thread: threading.Thread) -> None:
            if thread.name == refused[fails] and (fails != "an informer" or next(count) == 1):
                raise OSError("no further thread")
            start(thread)

        with monkeypatch.context() as patch:
            patch.setattr(_threads, "start", refuse)
            with pytest.raises(OSError, match="no further thread"):
                controller.start()
        assert controller.join(LIMIT)
        assert not any(each.is_alive() or each._hub.handlers for each in (pods, sets))
        with started(controller):
            pods.give(page("1"))
            sets.give(page("1"))
            assert controller.wait_synced(LIMIT)

    def test_stopped_in_the_middle_of_it(self) -> None:
        """A handler of a signal that stops it while it starts leaves nothing behind, and does not wait."""

        class Stopping(ByHand):
            def start(self) -> None:
                raise AssertionError("not this way")

            def _start(self) -> bool:
                answers.append(controller.stop(LIMIT))
                return super()._start()

        answers: list[bool] = []
        pods = ByHand()
        controller = quick(Reconciler(), workers=2)
        controller.watch(pods)
        controller.watch(Stopping())
        controller.watch(ByHand())
        controller.start()
        assert controller.join(LIMIT)
        assert answers == [True]
        assert not pods.is_alive()


@contextmanager
def busy() -> Iterator[tuple[Controller[Any], Held]]:
    """A controller with a key in work."""
    held, pods = Held(), ByHand()
    controller = quick(Reconciler(held), workers=2)
    controller.watch(pods)
    with started(controller):
        pods.give(page("1", pod("a"), pod("b")))
        held.wait()
        wait_until(lambda: controller.metrics.reconciles == 1, "the other")
        try:
            yield controller, held
        finally:
            held.go_on.set()


@needs_fork
class TestFork:
    """A child has none of the threads, and says so; the parent notices nothing."""

    def test_while_it_works(self) -> None:
        """In the child nothing runs, nothing hangs, and a start names the fork."""
        with busy() as (controller, held):

            def look() -> list[Any]:
                with pytest.raises(RuntimeError, match="fork"):
                    controller.start()
                numbers = controller.metrics
                return [
                    controller.is_alive(),
                    controller.healthy(),
                    controller.running,
                    controller.wait_synced(LIMIT),
                    controller.join(LIMIT),
                    controller.stop(LIMIT),
                    (numbers.workers, numbers.running, numbers.reconciles, numbers.queue.depth),
                ]

            assert in_child(look) == [False, False, [], False, True, True, (0, 0, 1, 0)]
            assert controller.running == [key("a")]
            assert controller.healthy()
            held.go_on.set()
            wait_until(lambda: controller.metrics.reconciles == 2, "the parent's call")

    def test_before_the_start(self) -> None:
        """One that was made before the fork may be started in the child."""
        reconciler = Reconciler()
        controller: Controller[Any] = quick(reconciler)

        def work() -> Any:
            with started(controller):
                controller.enqueue("a")
                return reconciler.wait(1)

        assert in_child(work) == ["a"]
        with started(controller):
            controller.enqueue("b")
            assert reconciler.wait(1) == ["b"]

    @pytest.mark.parametrize("taken", [False, True], ids=["lock free", "lock taken by another thread"])
    def test_what_waits_before_the_start(self, taken: bool) -> None:
        """What was enqueued before the fork, now or for later, waits in the child as in the parent, whoever had the
        queue's lock at that moment.
        """
        reconciler = Reconciler()
        controller: Controller[Any] = quick(reconciler)
        for name in ("a", "b"):
            controller.enqueue(name)
        controller.enqueue("late", after=0.01)

        def work() -> Any:
            with started(controller):
                return sorted(reconciler.wait(3))

        ready, over = threading.Event(), threading.Event()

        def hold() -> None:
            with controller.queue._lock:
                ready.set()
                assert over.wait(LIMIT)

        with in_background(hold if taken else ready.set):
            assert ready.wait(LIMIT)
            try:
                assert in_child(work) == ["a", "b", "late"]
            finally:
                over.set()
        with started(controller):
            assert sorted(reconciler.wait(3)) == ["a", "b", "late"]

    def test_inside_reconcile(self) -> None:
        """A reconcile that forks, and whose child comes back into the worker, takes nothing more in the child."""
        found: list[Any] = []

        def reconcile(name: object) -> None:
            found.append(in_child(lambda: [controller.stopping.is_set(), controller.is_alive(), controller.running]))

        controller = quick(reconcile)
        with started(controller):
            controller.enqueue("a")
            wait_until(lambda: len(found) == 1, "the child")
            idle(controller)
        assert found == [[True, False, []]]


def test_healthy_with_a_server() -> None:
    """It is healthy when its caches are filled and the watches are open."""
    with ApiServer() as server, server.client() as client:
        controller = quick(Reconciler())
        controller.watch(Informer("pods", client=client))
        with started(controller):
            wait_until(controller.healthy, "health")
        assert not controller.healthy()


@pytest.mark.parametrize("seconds", [math.inf, 1e18])
def test_without_an_end(seconds: float) -> None:
    """A wait of any length is one."""
    with started(quick(Reconciler())) as controller:
        assert controller.wait_synced(seconds)
        assert controller.stop(seconds)
        assert controller.join(seconds)
