"""A controller: what comes of what reconcile says, what makes work, and what happens when something breaks."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kwsync import (
    Backoff,
    Controller,
    EventType,
    Informer,
    ObjectKey,
    Requeue,
    RetryAfter,
    TerminalError,
    WatchError,
    WatchEvent,
    WorkQueue,
)
from kwsync._records import Change, Page
from kwsync.mapping import all_of, generation_changed, labels_changed, own_key, owner_of
from kwsync.ratelimit import Exponential
from kwsync.testing import ApiServer, pod
from tests.keeping.support import LIMIT, ByHand, added, by_hand, deleted, failure, in_background, modified, page
from tests.working.controllers import Failed, Held, Reconciler, idle, key, quick, started
from tests.working.support import Clock, wait_until

CRASHES = [ValueError("no"), SystemExit(1), KeyboardInterrupt(), GeneratorExit(), BaseException("odd"), StopIteration()]


class TestAnswers:
    """C1, reconciler contract: None and a delay forget failures, an error is tried again, a terminal one is not."""

    @pytest.mark.parametrize(
        ("answer", "retries", "wait"),
        [
            (None, 0, None),
            (Requeue(after=7), 0, 7),
            (Requeue(0.25), 0, 0.25),
            (ValueError("no"), 3, 40),  # the third failure
            (RetryAfter(3), 2, 3),
            (TerminalError("never"), 0, None),
            ("something", 0, None),
            (True, 0, None),
        ],
        ids=repr,
    )
    def test_c1_reconciler_contract(self, answer: object, retries: int, wait: float | None) -> None:
        """What a key's third call says: whether its two failures are forgotten, and when it comes again."""
        clock = Clock()
        queue: WorkQueue[Any] = WorkQueue(Exponential(10), clock=clock)
        queue.add_rate_limited("a")
        queue.add_rate_limited("a")
        queue.cancel_delay("a")
        reconciler, failed = Reconciler(answer), Failed()
        with started(quick(reconciler, queue=queue, on_error=failed)) as controller:
            controller.enqueue("a")
            reconciler.wait(1)
            idle(controller)
            assert queue.retries("a") == retries
            assert queue.metrics.delayed == (wait is not None)
            if wait is not None:
                clock.advance(wait - 0.01)
                assert len(queue) == 0
                clock.advance(0.02)
                assert len(queue) == 1

    def test_e20_retry_after_is_exact(self) -> None:
        """RetryAfter takes the place of a nearer delay, which Requeue does not; an event comes sooner than either."""
        clock = Clock()
        queue: WorkQueue[Any] = WorkQueue(clock=clock)
        reconciler = Reconciler(Requeue(5), Requeue(50), RetryAfter(50))
        with started(quick(reconciler, queue=queue, on_error=Failed())) as controller:
            due = []
            for count in (1, 2, 3):
                queue.add("a")
                reconciler.wait(count)
                idle(controller)
                due.append(queue._work.next_due - clock.now)
            assert due == [5, 5, 50]

    def test_requeue_comes_again(self) -> None:
        """A key comes again after its delay, in real time, without any event."""
        reconciler = Reconciler(Requeue(0.01), Requeue(0))
        with started(quick(reconciler)) as controller:
            controller.enqueue("a")
            assert reconciler.wait(3) == ["a"] * 3
            idle(controller)
            assert controller.metrics.requeues == 2

    @pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan")])
    @pytest.mark.parametrize("make", [Requeue, RetryAfter])
    def test_bad_seconds(self, make: Any, seconds: float) -> None:
        """A delay is 0 or more and finite, and a number."""
        with pytest.raises(ValueError, match="finite"):
            make(seconds)
        with pytest.raises(TypeError):
            make("5")
        with pytest.raises(TypeError):
            make(True)

    def test_retry_after_in_words(self) -> None:
        """It says what went wrong and when it is tried again."""
        assert (str(RetryAfter(2.5)), str(RetryAfter(3, "busy"))) == ("to be tried again (in 2.5 s)", "busy (in 3 s)")

    @pytest.mark.parametrize("crash", CRASHES, ids=repr)
    def test_c1_panics(self, crash: BaseException) -> None:
        """Whatever reconcile raises counts as an error and is tried again, by the same thread, which lives on."""
        reconciler, failed = Reconciler(crash, crash), Failed()
        with started(quick(reconciler, on_error=failed)) as controller:
            controller.enqueue("a")
            reconciler.wait(3)
            idle(controller)
            assert failed.told == [("a", crash)] * 2
            assert len(set(reconciler.threads)) == 1
            assert controller.metrics.errors == controller.metrics.retries == 2

    def test_backoff_grows_and_is_forgotten(self) -> None:
        """Failures in a row double the wait; after a success the next failure is the first again."""
        waits: list[float] = []

        class Noting(Exponential):
            def when(self, item: Any, /) -> float:
                waits.append(super().when(item))
                return 0

        boom = ValueError("no")
        with started(quick(Reconciler(*[boom] * 3, Requeue(0), boom), rate_limiter=Noting(1), on_error=Failed())) as it:
            it.enqueue("a")
            wait_until(lambda: it.metrics.reconciles == 6, "six calls")
        assert waits == [1, 2, 4, 1]

    def test_a_limiter_that_raises(self) -> None:
        """It is reported, and the key comes again all the same."""

        class Broken(Exponential):
            def when(self, item: Any, /) -> float:
                raise LookupError("limiter")

        failed = Failed()
        with started(quick(Reconciler(ValueError("no")), rate_limiter=Broken(), on_error=failed)) as controller:
            controller.enqueue("a")
            told = failed.wait(2)
            assert {type(error) for _, error in told} == {LookupError, ValueError}
            assert controller.queue.metrics.delayed == 1

    def test_done_is_called_twice(self) -> None:
        """A reconcile that gives its key back itself is told so; the worker lives on."""
        failed = Failed()
        queue: WorkQueue[str] = WorkQueue(Exponential(0.001, 0.01))
        controller = quick(queue.done, queue=queue, on_error=failed)
        with started(controller):
            controller.enqueue("a")
            assert "not in process" in str(failed.wait(1)[0][1])
            controller.enqueue("b")
            failed.wait(2)


class TestErrors:
    """What is reported, where, and that it ends nothing."""

    def test_on_error_on_the_worker(self) -> None:
        """It is called with the key and the exception itself, on the worker's thread; no lock is held."""
        told: list[Any] = []

        def on_error(name: object, error: BaseException) -> None:
            with in_background(lambda: told.append((name, error, controller.running, controller.metrics.errors))):
                controller.enqueue("b")
            told.append(threading.current_thread().name)

        boom = ValueError("no")
        controller = quick(Reconciler(boom), on_error=on_error)
        with started(controller):
            controller.enqueue("a")
            wait_until(lambda: len(told) == 2, "the error to be told")
        assert told == [("a", boom, ["a"], 1), "kwsync-controller-test-1"]

    def test_logged_once(self, caplog: pytest.LogCaptureFixture) -> None:
        """Without on_error each failure is one line of the log, with its traceback; with it none is."""
        for on_error, lines in ((None, 1), (Failed(), 0)):
            caplog.clear()
            reconciler = Reconciler(ValueError("no"))
            with started(quick(reconciler, on_error=on_error)) as controller:
                controller.enqueue("a")
                reconciler.wait(2)
            found = [record for record in caplog.records if record.name == "kwsync.controller"]
            assert [record.getMessage() for record in found] == ["controller test: a failed"] * lines
            assert all(record.exc_info for record in found)

    @pytest.mark.parametrize("crash", CRASHES, ids=repr)
    def test_on_error_raises(self, crash: BaseException, caplog: pytest.LogCaptureFixture) -> None:
        """It is logged, and the key comes again."""

        def on_error(name: object, error: BaseException) -> None:
            raise crash

        reconciler = Reconciler(ValueError("no"))
        with started(quick(reconciler, on_error=on_error)) as controller:
            controller.enqueue("a")
            reconciler.wait(2)
        assert [record.message for record in caplog.records] == ["controller test: on_error raised"]

    @pytest.mark.parametrize("crash", CRASHES, ids=repr)
    def test_map_and_when_raise(self, crash: BaseException) -> None:
        """What they raise is reported without a key; a predicate's event counts, and the next event is told."""

        def whose(event: WatchEvent) -> list[str]:
            if event.key.name == "a":
                raise crash
            return [event.key.name]

        class Neither:
            def __bool__(self) -> bool:
                raise crash

        def counts(event: WatchEvent) -> Any:
            if event.key.name == "c":
                return Neither()
            raise crash

        reconciler, failed, pods = Reconciler(), Failed(), ByHand()
        controller = quick(reconciler, on_error=failed)
        controller.watch(pods, map=whose, when=counts)
        with started(controller):
            pods.give(page("1", pod("a"), pod("b"), pod("c")))
            assert sorted(reconciler.wait(2)) == ["b", "c"]
            assert failed.told == [(None, crash)] * 4
        assert pods.errors == []

    def test_keys_that_are_none(self) -> None:
        """A key that cannot be one is reported."""
        failed, pods = Failed(), ByHand()
        controller = quick(Reconciler(), on_error=failed)
        controller.watch(pods, map=lambda event: [["a list"]])  # type: ignore[list-item]
        with started(controller):
            pods.give(page("1", pod("a")))
            assert "unhashable" in str(failed.wait(1)[0][1])


class TestSources:
    """What makes work."""

    def test_every_change(self) -> None:
        """What comes, changes and goes makes work of its key, and so does a deletion that only a new list shows."""
        reconciler, pods = Reconciler(), ByHand()
        controller = quick(reconciler)
        controller.watch(pods)
        with started(controller):
            pods.give(page("1", pod("a"), pod("b")))
            reconciler.wait(2)
            steps: list[Change | Page] = [added("c", "2"), modified("a", "3"), deleted("c", "4")]
            steps.append(page("9", pod("a", "3")))
            for count, step in enumerate(steps):
                pods.give(step)
                reconciler.wait(3 + count)
        assert [each.name for each in reconciler.keys] == ["a", "b", "c", "a", "c", "b"]

    def test_final_state_unknown(self) -> None:
        """A deletion that nobody saw goes through map and when as any other, with the last state known."""
        seen: list[Any] = []
        pods = ByHand()
        controller = quick(Reconciler())

        def note(event: WatchEvent) -> bool:
            seen.append((str(event.type), event.final_state_unknown))
            return True

        controller.watch(pods, when=note)
        with started(controller):
            pods.give(page("1", pod("a")))
            assert controller.wait_synced(LIMIT)
            pods.give(page("2"))
            wait_until(lambda: len(seen) == 2, "the deletion")
        assert seen == [("ADDED", False), ("DELETED", True)]

    @pytest.mark.parametrize("relisted", [False, True])
    def test_e22_deleted_and_made_anew(self, relisted: bool) -> None:
        """A delete and a recreate of one name are both seen: both owners get work, and no predicate takes it for a
        change that is none, though generation and labels are the same."""

        def owned(uid: str, owner: str) -> dict[str, Any]:
            reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "controller": True}
            return {"uid": uid, "metadata": {"generation": 1, "ownerReferences": [reference]}}

        events: list[str] = []
        reconciler, pods = Reconciler(), ByHand()
        controller = quick(reconciler)
        controller.watch(pods, map=owner_of("replicasets"), when=all_of(generation_changed, labels_changed))
        pods.add_handler(*[lambda event: events.append(str(event.type))] * 3)
        first, second = owned("u1", "old"), owned("u2", "new")
        with started(controller):
            pods.give(page("1", pod("a", "1", **first)))
            assert reconciler.wait(1) == [key("old")]
            if relisted:
                pods.give(page("9", pod("a", "9", **second)))
            else:
                pods.give(deleted("a", "2", **first), added("a", "3", **second))
            reconciler.wait(3)
            wait_until(lambda: len(events) == 3, "three events")
        assert reconciler.keys[1:] == [key("old"), key("new")]
        assert events == ["ADDED", "DELETED", "ADDED"]

    def test_several_kinds(self) -> None:
        """Two informers, and one of them twice, fill one queue by maps of their own."""
        reconciler, pods, sets = Reconciler(), ByHand(), ByHand()
        controller = quick(reconciler)
        controller.watch(sets)
        controller.watch(pods, map=lambda event: [ObjectKey("set of", event.key.name)])
        controller.watch(pods, map=lambda event: event.key.name, when=lambda event: event.type is EventType.DELETED)
        with started(controller):
            sets.give(page("1", pod("s")))
            pods.give(page("1", pod("a")))
            assert set(reconciler.wait(2)) == {key("s"), ObjectKey("set of", "a")}
            pods.give(deleted("a", "2"))
            assert set(reconciler.wait(4)[2:]) == {ObjectKey("set of", "a"), "a"}

    def test_c1_external_sources(self) -> None:
        """Any thread may enqueue any key; what was enqueued before the start waits for it, delays too."""
        reconciler = Reconciler()
        controller: Controller[Any] = quick(reconciler)
        controller.enqueue("before")
        controller.enqueue("later", after=0.01)
        with started(controller), in_background(lambda: controller.enqueue(("any", 1))):
            assert set(reconciler.wait(3)) == {"before", "later", ("any", 1)}

    def test_c1_concurrency(self) -> None:
        """So many workers so many keys at a time, and one key in one hand: added meanwhile it comes once afterwards."""
        meeting = threading.Barrier(3)
        reconciler = Reconciler(*[lambda: meeting.wait(LIMIT) and None] * 3)
        held = Held()
        with started(quick(reconciler, workers=3)) as controller:
            for name in "abc":
                controller.enqueue(name)
            reconciler.wait(3)
            idle(controller)
            reconciler.answers.append(held)
            controller.enqueue("d")
            held.wait()
            for _ in range(5):
                controller.enqueue("d")
            assert controller.running == ["d"]
            held.go_on.set()
            reconciler.wait(5)
            idle(controller)
        assert sorted(reconciler.keys) == ["a", "b", "c", "d", "d"]
        assert {thread.name for thread in reconciler.threads} == {f"kwsync-controller-test-{n}" for n in (1, 2, 3)}
        assert all(thread.daemon for thread in reconciler.threads)

    def test_b148_own_write(self) -> None:
        """A reconcile that has to see its own write before it goes on waits for it, or comes again: nothing twice."""
        with ApiServer() as server, server.client() as client:
            maps = Informer("configmaps", client=client)
            written: dict[str, str] = {}
            made: list[str] = []

            def reconcile(name: str) -> None:
                if name in written and not maps.store.wait_until(written[name], 0):
                    raise RetryAfter(0.001)
                if len(maps.store) < 4:
                    made.append(f"made-{len(maps.store)}")
                    document = client.create("configmaps", {"metadata": {"name": made[-1]}}, "default")
                    written[name] = document["metadata"]["resourceVersion"]
                    raise ValueError("so that it comes again at once")

            controller = quick(reconcile, on_error=Failed())
            controller.watch(maps, map=lambda event: "all")
            controller.enqueue("all")
            with started(controller):
                wait_until(lambda: len(maps.store) == 4, "four maps")
            assert made == ["made-0", "made-1", "made-2", "made-3"]


class TestCaches:
    """C1, start order: sources first, then workers; and what does not come is named."""

    def test_c1_start_order(self) -> None:
        """No call before all caches are filled, though one of them has long made work."""
        reconciler, pods, sets = Reconciler(), ByHand(), ByHand()
        sizes: list[int] = []
        reconciler.answers.append(lambda: sizes.append(len(pods.store) + len(sets.store)))
        controller = quick(reconciler, workers=4)
        controller.watch(pods)
        controller.watch(sets)
        with started(controller):
            pods.give(page("1", pod("a")))
            wait_until(lambda: len(controller.queue) == 1, "the key to wait")
            assert not controller.wait_synced(0.01)
            assert not controller.healthy()
            sets.give(page("1", pod("s")))
            assert controller.wait_synced(LIMIT)
            reconciler.wait(2)
            assert controller.healthy()
        assert sizes == [2]
        assert not controller.healthy()

    def test_c1_start_order_with_pages(self) -> None:
        """A list counts when its last page has come."""
        reconciler, pods = Reconciler(), ByHand()
        controller = quick(reconciler)
        controller.watch(pods)
        with started(controller):
            pods.give(page("1", pod("a"), last=False))
            assert not controller.wait_synced(0.01)
            pods.give(page("1", pod("b"), first=False))
            assert [each.name for each in reconciler.wait(2)] == ["a", "b"]

    def test_c1_sync_timeout(self) -> None:
        """Caches that are not filled in time end it: the error names the informer and its last error; run raises it."""
        failed, pods, reconciler = Failed(), ByHand(), Reconciler()
        controller = quick(reconciler, on_error=failed, sync_timeout=0.05, workers=3)
        controller.watch(pods)
        controller.enqueue("a")
        with pytest.raises(WatchError, match=r"pods.*no full state after 0.05 s$") as raised:
            controller.run()
        assert failed.told == [(None, raised.value)]
        assert reconciler.keys == []
        assert not pods.is_alive()
        with started(controller):
            pods.give(failure("no way"))
            assert "its last error: NETWORK: no way" in str(failed.wait(2)[1][1])
            assert controller.join(LIMIT)

    def test_c1_missing_kind(self) -> None:
        """A kind that the server does not have yet is waited for; when it comes, so does the work."""
        with ApiServer() as server, server.client() as client:
            tabs = Informer("crontabs.v1.stable.example.com", client=client, backoff=Backoff(initial=0.01, cap=0.05))
            reconciler = Reconciler()
            controller = quick(reconciler)
            controller.watch(tabs)
            with started(controller):
                wait_until(lambda: tabs.last_error is not None, "the refusal")
                assert tabs.last_error is not None
                assert tabs.last_error.status_code == 404
                client.create("customresourcedefinitions", definition())
                wait_until(lambda: tabs.status.synced, "the kind")
                tab = {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "t"}}
                client.create("crontabs.v1.stable.example.com", tab, namespace="default")
                assert reconciler.wait(1) == [key("t")]

    @pytest.mark.parametrize("when", ["before", "while it is waited for"])
    def test_a_broken_informer(self, when: str) -> None:
        """An informer that ends before its cache is filled ends the controller, which says so; nobody hangs."""
        failed, pods = Failed(), ByHand()
        controller = quick(Reconciler(), on_error=failed, workers=2)
        controller.watch(pods)
        with started(controller):
            if when == "before":
                pods.stop()
            else:
                pods.script.put(RuntimeError("a broken informer"))
            assert controller.join(LIMIT)
            assert not controller.wait_synced(LIMIT)
            [(name, error)] = failed.told
            assert name is None
            assert "does not run (any more)" in str(error)
        assert not controller.healthy()

    def test_an_informer_that_breaks_later(self) -> None:
        """The controller goes on with what it has, is not healthy any more, and can be stopped."""
        pods, reconciler = ByHand(), Reconciler()
        controller = quick(reconciler)
        controller.watch(pods)
        with started(controller):
            pods.give(page("1", pod("a")))
            reconciler.wait(1)
            assert controller.healthy()
            pods.script.put(RuntimeError("a broken informer"))
            wait_until(lambda: not pods.is_alive(), "the informer to end")
            assert not controller.healthy()
            controller.enqueue(key("a"))
            reconciler.wait(2)
            assert not pods.store.wait_until("99", LIMIT)

    def test_a_restarted_informer(self) -> None:
        """A list of an earlier run of the informer does not count: work begins with that of the present one."""
        with by_hand(page("1", pod("a"))) as pods:
            pass
        pods.start()
        reconciler = Reconciler(lambda: sizes.append(len(pods.store)))
        sizes: list[int] = []
        controller = quick(reconciler)
        controller.watch(pods)
        try:
            with started(controller):
                wait_until(lambda: len(controller.queue) == 1, "the key to wait")
                assert not controller.wait_synced(0.1)
                pods.give(page("5", pod("a"), pod("b")))
                reconciler.wait(2)
            assert sizes == [2]
            assert pods.is_alive(), "it was not started by the controller"
        finally:
            pods.stop()
            assert pods.join(LIMIT)

    def test_a_restarted_informer_is_left(self) -> None:
        """While that list is waited for, a stop is noticed, and so is a time limit."""
        with by_hand(page("1", pod("a"))) as pods:
            pass
        pods.start()
        try:
            with started(quick(Reconciler())) as controller:
                pass
            controller.watch(pods)
            with started(controller):
                wait_until(lambda: len(controller.queue) == 1, "the key to wait")
            late = quick(Reconciler(), sync_timeout=0.1, on_error=Failed())
            late.watch(pods)
            with pytest.raises(WatchError, match="no full state"):
                late.run()
        finally:
            pods.stop()
            assert pods.join(LIMIT)


def definition() -> dict[str, Any]:
    """A custom resource definition."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.stable.example.com"},
        "spec": {
            "group": "stable.example.com",
            "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def test_c1_metrics() -> None:
    """Results, errors, terminal errors, workers and running keys are counted, across restarts too."""
    held = Held()
    reconciler = Reconciler(None, Requeue(100), ValueError("no"), TerminalError("never"), RetryAfter(100), None, held)
    controller = quick(reconciler, workers=2, on_error=Failed())
    with started(controller):
        for count, name in enumerate("abcde"):
            controller.enqueue(name)
            reconciler.wait(count + 1)
            wait_until(lambda: controller.metrics.running == 0, "the call to end")
        reconciler.wait(6)
        controller.enqueue("f")
        held.wait()
        now = controller.metrics
        assert (now.workers, now.running, now.queue.name) == (2, 1, "test")
        assert (now.reconciles, now.successes, now.requeues) == (6, 3, 1)
        assert (now.errors, now.retries, now.terminal_errors) == (3, 2, 1)
        wait_until(lambda: controller.metrics.longest_running > now.longest_running, "time to pass")
        assert "running: 1 in work, 0 waiting" in repr(controller)
        held.go_on.set()
    with started(controller):
        pass
    assert (controller.metrics.reconciles, controller.metrics.queue.taken, controller.metrics.workers) == (7, 0, 0)


BAD_SECONDS: list[tuple[type[Exception], Any]] = [
    (ValueError, -1),
    (ValueError, float("nan")),
    (ValueError, float("inf")),
    (TypeError, "x"),
    (TypeError, True),
    (TypeError, None),
]


@pytest.mark.parametrize(("kind", "after"), BAD_SECONDS)
def test_enqueue_after_bad_seconds(kind: type[Exception], after: Any) -> None:
    """They are refused as those of a Requeue are, and nothing waits."""
    controller: Controller[Any] = quick(Reconciler())
    with pytest.raises(kind, match="after"):
        controller.enqueue("a", after=after)
    with pytest.raises(TypeError, match="positional"):
        controller.enqueue("a", 1)  # type: ignore[call-arg]
    assert (controller.queue.metrics.depth, controller.queue.metrics.delayed) == (0, 0)


def test_enqueue_is_no_retry() -> None:
    """Only what is to come later is counted as one, as client-go counts."""
    controller: Controller[Any] = quick(Reconciler())
    for name in ("a", "b"):
        controller.enqueue(name)
    controller.enqueue("c", after=100)
    numbers = controller.queue.metrics
    assert (numbers.adds, numbers.delayed, numbers.retries) == (2, 1, 1)


def test_bad_arguments(caplog: pytest.LogCaptureFixture) -> None:
    """What cannot work is refused by the call itself, and nothing is started."""

    def reconcile(name: object) -> None:
        """Do nothing."""

    bad: list[tuple[type[Exception], dict[str, Any]]] = [
        (TypeError, {"reconcile": 5}),
        (TypeError, {"workers": 1.5}),
        (TypeError, {"workers": True}),
        (ValueError, {"workers": 0}),
        (TypeError, {"on_error": 5}),
        (ValueError, {"sync_timeout": -1}),
        (TypeError, {"sync_timeout": "5"}),
        (ValueError, {"queue": WorkQueue(), "rate_limiter": Exponential()}),
        (TypeError, {"queue": "x"}),
        (TypeError, {"rate_limiter": "x"}),
    ]
    for kind, options in bad:
        with pytest.raises(kind):
            Controller(**{"reconcile": reconcile, **options})
    controller: Controller[Any] = Controller(reconcile)
    pods = ByHand()
    wrong: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((5,), {}),
        ((pods,), {"map": 5}),
        ((pods,), {"when": 5}),
        ((pods, own_key), {}),
    ]
    for arguments, named in wrong:
        with pytest.raises(TypeError):
            controller.watch(*arguments, **named)
    with pytest.raises(TypeError):
        controller.run(5)  # type: ignore[arg-type]
    assert repr(controller) == "<Controller 'reconcile' not running: 0 in work, 0 waiting>"
    with started(controller), pytest.raises(RuntimeError, match="before start"):
        controller.watch(pods)
    assert caplog.records == []
