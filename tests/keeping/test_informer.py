"""The informer and its handlers, by steps made by hand: B072 to B106 of the conformance list."""

from __future__ import annotations

import gc
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from kwsync import EventType, Informer, ObjectKey, WatchError, WatchEvent
from kwsync._records import Change, PlainRecord
from kwsync.errors import ErrorOrigin
from kwsync.testing import pod
from tests.cancel.support import in_child
from tests.keeping.support import (
    AT_ONCE,
    LIMIT,
    ByHand,
    Document,
    Told,
    added,
    bookmark,
    by_hand,
    deleted,
    failure,
    in_background,
    known,
    modified,
    page,
    wait_until,
)


class TestWhatIsTold:
    def test_b076_every_change(self) -> None:
        """A handler that keeps up is told of every change, in the order of the watch."""
        with by_hand(page("1", pod("a", "1"))) as informer:
            told = informer.tell()
            told.wait(2)
            steps = [
                added("b", "2"),
                modified("a", "3"),
                modified("a", "4"),
                deleted("b", "5"),
                added("b", "6", uid="new"),
            ]
            for number, step in enumerate(steps, 3):
                informer.give(step)
                told.wait(number)
        assert told.short == [
            "ADDED a 1 initial",
            "SYNCED",
            "ADDED b 2",
            "MODIFIED a 1>3",
            "MODIFIED a 3>4",
            "DELETED b 2>5",
            "ADDED b 6",
        ]

    def test_b074_deletion_of_the_unknown(self) -> None:
        """The deletion of something that is not kept is told to nobody."""
        with by_hand(page("1")) as informer:
            told = informer.tell()
            informer.give(deleted("x", "2"), added("a", "3"))
            assert told.wait(2) == ["SYNCED", "ADDED a 3"]

    def test_b075_b077_b078_order_of_a_full_state(self) -> None:
        """Of a full state deletions are told first, then what is there, in the order of the list."""
        with by_hand(page("1", pod("a", "1"), pod("b", "1"), pod("c", "1"))) as informer:
            told = informer.tell()
            told.wait(4)
            informer.give(page("9", pod("e", "8"), pod("c", "7"), pod("d", "6")))
            assert told.wait(9)[4:] == [
                "DELETED a 1>1 unknown",
                "DELETED b 1>1 unknown",
                "ADDED e 8",
                "MODIFIED c 1>7",
                "ADDED d 6",
            ]

    def test_b080_bookmarks(self) -> None:
        """A bookmark moves the version, and is told to nobody."""
        with by_hand(page("1")) as informer:
            told = informer.tell()
            informer.give(bookmark("7"), added("a", "8"))
            assert informer.store.resource_version == "8"
            assert told.wait(2) == ["SYNCED", "ADDED a 8"]

    def test_b087_what_is_kept_decides(self) -> None:
        """Whether an object is new is told by the cache, not by the type of the event."""
        with by_hand(page("1", pod("a", "1"))) as informer:
            told = informer.tell()
            told.wait(2)
            informer.give(added("a", "2"))
            informer.give(modified("b", "3"))
            assert told.wait(4)[2:] == ["MODIFIED a 1>2", "ADDED b 3"]

    def test_duplicates_and_old_states(self) -> None:
        """What is kept already, and what is older, is told to nobody; nor does an old deletion delete anything."""
        with by_hand(page("1")) as informer:
            told = informer.tell()
            told.wait(1)
            old = [added("a", "5", uid="one"), deleted("a", "6", uid="one")]
            informer.give(
                *old, added("a", "7", uid="two"), *old, added("a", "7", uid="two"), modified("a", "6", uid="two")
            )
            assert informer.store.resource_version == "7"
            informer.give(added("z", "9"))
            wait_until(lambda: "ADDED z 9" in told.short, "the last event")
            assert (informer.store.get("default/a") or {})["metadata"]["uid"] == "two"
            assert [event for event in told.short if event.startswith("ADDED a")][-1:] == ["ADDED a 7"]

    def test_b088_the_store_is_first(self) -> None:
        """While a handler is told of a state, the store has it, or a later one; so have the indexes."""
        seen: list[tuple[str, bool, bool]] = []
        informer = ByHand(indexers={"name": lambda document: [document["metadata"]["name"]]})

        def look(event: WatchEvent) -> None:
            found = bool(informer.store.by_index("name", event.key.name))
            seen.append((str(event.type), event.key in informer.store, found))

        informer.add_handler(look, look, look)
        with informer:
            informer.give(page("1", pod("a", "1")))
            wait_until(lambda: len(seen) == 1, "ADDED")
            informer.give(modified("a", "2"))
            wait_until(lambda: len(seen) == 2, "MODIFIED")
            informer.give(deleted("a", "3"))
            wait_until(lambda: len(seen) == 3, "DELETED")
        assert seen == [("ADDED", True, True), ("MODIFIED", True, True), ("DELETED", False, False)]

    @pytest.mark.parametrize(
        "step", [page("9", pod("a", "8", uid="new")), added("a", "8", uid="new")], ids=["list", "watch"]
    )
    def test_b089_e2_another_uid(self, step: Any) -> None:
        """Another object under the same name is the deletion of the first, which nobody saw, and an addition."""
        with by_hand(page("1", pod("a", "1", uid="old"))) as informer:
            told = informer.tell()
            told.wait(2)
            informer.give(step)
            assert told.wait(4)[2:] == ["DELETED a 1>1 unknown", "ADDED a 8"]
            assert [event.object["metadata"]["uid"] for event in told.events[2:] if event.object] == ["old", "new"]

    def test_b090_b084_e4_deletions(self) -> None:
        """A deletion that was seen has the final object; one that a list told of has the last full one, and says so."""
        with by_hand(page("1", pod("a", "1", spec={"x": 1}), pod("b", "1", spec={"y": 2}))) as informer:
            told = informer.tell()
            told.wait(3)
            informer.give(deleted("a", "5", spec={"x": 3}))
            informer.give(page("9"))
            told.wait(5)
        seen, missed = told.events[3:]
        assert (seen.object, seen.old_object) == (pod("a", "5", spec={"x": 3}), pod("a", "1", spec={"x": 1}))
        assert (missed.object, missed.old_object) == (pod("b", "1", spec={"y": 2}), pod("b", "1", spec={"y": 2}))
        assert (seen.final_state_unknown, missed.final_state_unknown) == (False, True)

    def test_b091_e8_nothing_has_changed(self) -> None:
        """A list that tells what is kept is told to nobody."""
        documents = [pod("a", "1"), pod("b", "2")]
        with by_hand(page("2", *documents)) as informer:
            told = informer.tell()
            told.wait(3)
            informer.give(page("3", *documents), page("4", *documents), added("z", "9"))
            assert told.wait(4)[3:] == ["ADDED z 9"]
            assert informer.status.relists == 2

    def test_b085_transformed_deletions(self) -> None:
        """What handlers get is transformed, the final state of a deletion too; the last known state not once more."""

        def mark(document: Document) -> Document:
            return {**document, "marks": document.get("marks", 0) + 1}

        with by_hand(page("1", pod("a", "1"), pod("b", "1")), transform=mark) as informer:
            told = informer.tell()
            told.wait(3)
            informer.give(deleted("a", "2"), page("3"))
            told.wait(5)
        assert [event.object["marks"] for event in told.events if event.object] == [1, 1, 1, 1]

    def test_b060_what_cannot_be_transformed_is_gone(self) -> None:
        """A state that the transform refuses ends the object for the handlers, until there is one that it takes."""

        def refuse(document: Document) -> Document:
            if document["metadata"]["resourceVersion"] == "2":
                raise ZeroDivisionError
            return document

        with by_hand(page("1", pod("a", "1")), transform=refuse) as informer:
            told = informer.tell()
            told.wait(2)
            informer.give(modified("a", "2"))
            told.wait(3)
            informer.give(modified("a", "3"))
            assert told.wait(4)[2:] == ["DELETED a 1>1 unknown", "ADDED a 3"]
            assert [error.origin for error in informer.errors] == [ErrorOrigin.CALLBACK]

    def test_e16_a_broken_list(self) -> None:
        """A list that breaks off deletes nothing."""
        with by_hand(page("1", pod("a", "1"))) as informer:
            told = informer.tell()
            told.wait(2)
            informer.give(page("5", last=False), failure(), page("6", last=False), failure(), added("z", "9"))
            assert told.wait(3)[2:] == ["ADDED z 9"]
            assert [error.origin for error in informer.errors] == [ErrorOrigin.NETWORK] * 2

    def test_e1_deleted_around_a_list(self) -> None:
        """An object that a slow handler has not been told of yet, and that a list shows to be gone, does not stay."""
        with by_hand(page("1", pod("slow", "1"))) as informer:
            told = informer.tell()
            told.go_on.clear()
            assert told.entered.wait(LIMIT)
            informer.give(added("o", "2"), page("3", pod("slow", "1")))
            told.go_on.set()
            informer.give(added("z", "4"))
            assert told.wait(3) == ["ADDED slow 1 initial", "SYNCED", "ADDED z 4"]

    def test_objects_are_the_handlers_own(self) -> None:
        """Each handler gets objects of its own: what one changes in them, no other sees, nor the store."""
        with by_hand(page("1", pod("a", "1"))) as informer:
            first, second = Told(), Told()
            for told in (first, second):
                informer.add_handler(told)
                told.wait(1)
            (one,), (other,) = first.events, second.events
            assert one.object == pod("a", "1")
            assert one.object is one.object
            assert one.object is not None
            one.object.clear()
            assert other.object == informer.store.get("default/a") == pod("a", "1")


class TestInitialState:
    def test_b083_empty(self) -> None:
        """After an empty list the informer and its handlers are synced."""
        with by_hand() as informer:
            told = Told()
            handler = informer.add_handler(on_synced=told)
            assert (informer.wait_synced(0), informer.status.synced, handler.synced) == (False, False, False)
            informer.give(page("1"))
            assert informer.wait_synced(LIMIT)
            assert handler.wait_synced(LIMIT)
            assert told.short == ["SYNCED"]

    def test_b083_version(self) -> None:
        """SYNCED tells the version of the state: of the list, or of the moment when a late handler was added."""
        with by_hand() as informer:
            early = informer.tell()
            informer.give(page("5", pod("a", "1")), added("b", "7"), bookmark("9"))
            late = informer.tell()
            early.wait(3)
            late.wait(3)
        versions = [
            [event.resource_version for event in told.events if event.type is EventType.SYNCED]
            for told in (early, late)
        ]
        assert versions == [["5"], ["9"]]

    def test_b083_e18_once(self) -> None:
        """A handler is told once that it has the initial state, whatever is listed later."""
        with by_hand(page("1", pod("a", "1"))) as informer:
            told = informer.tell()
            informer.give(page("2", pod("a", "1")), page("3", pod("b", "3")))
            informer.give(added("z", "9"))
            wait_until(lambda: "ADDED z 9" in told.short, "the last event")
            assert told.short.count("SYNCED") == 1

    def test_e12_pages(self) -> None:
        """All pages of a list are one state: handlers hear of it when the last has come."""
        with by_hand() as informer:
            told = informer.tell()
            informer.give(page("5", pod("a", "1"), last=False), page("5", pod("b", "2"), first=False, last=False))
            assert (len(informer.store), informer.status.synced, told.events) == (0, False, [])
            informer.give(page("5", pod("c", "3"), first=False))
            assert told.wait(4) == ["ADDED a 1 initial", "ADDED b 2 initial", "ADDED c 3 initial", "SYNCED"]

    def test_b093_synced_means_told(self) -> None:
        """The informer is synced when its store is; a handler when it has been told, too."""
        with by_hand() as informer:
            told = Told()
            told.go_on.clear()
            handler = informer.add_handler(told)
            informer.give(page("1", pod("a", "1")))
            assert told.entered.wait(LIMIT)
            assert informer.wait_synced(LIMIT)
            assert (handler.synced, handler.wait_synced(0.01)) == (False, False)
            told.go_on.set()
            assert handler.wait_synced(LIMIT)

    def test_b094_b095_late_handlers(self) -> None:
        """A handler that is added late gets the present state, marked initial, then changes; nothing old."""
        with by_hand(page("1", pod("a", "1"), pod("b", "1"))) as informer:
            informer.give(modified("a", "2"), deleted("b", "3"), added("c", "4"))
            told = informer.tell()
            assert told.wait(3) == ["ADDED a 2 initial", "ADDED c 4 initial", "SYNCED"]
            informer.give(modified("c", "5"))
            assert told.wait(4)[3:] == ["MODIFIED c 4>5"]

    def test_b095_nothing_missed_or_doubled(self) -> None:
        """Handlers that are added while objects come and change miss nothing and get nothing twice."""
        with by_hand(page("1")) as informer:
            tellers: list[Told] = []
            version = 1
            for number in range(200):
                steps = []
                for name in ("a", "b", f"n{number}"):
                    version += 1
                    steps.append(modified(name, str(version)))
                informer.script.put(*steps)
                if number % 10 == 0:
                    tellers.append(informer.tell())
            informer.give(bookmark("1000"))
            expected = {key.name: informer.store.get(key)["metadata"]["resourceVersion"] for key in informer.store}  # type: ignore[index]
            for told in tellers:
                wait_until(lambda told=told: known(told) == expected, f"the last state: {told.short[-3:]}")  # type: ignore[misc]
                assert sorted(event for event in told.short if event.startswith("ADDED")) == sorted(
                    {event for event in told.short if event.startswith("ADDED")}
                )

    def test_added_in_a_callback(self) -> None:
        """A handler may be added by another handler's callback, and by the functions on the reading thread."""
        late: list[Told] = []

        def added_by(document: Document) -> Document:
            if document["metadata"]["name"] == "b":
                late.append(informer.tell())
            return document

        informer = ByHand(transform=added_by)
        informer.add_handler(lambda event: late.append(informer.tell()))
        with informer:
            informer.give(page("1", pod("a", "1")))
            wait_until(lambda: len(late) == 1, "the callback")
            informer.give(added("b", "2"))
            wait_until(lambda: len(late) == 3, "both")
            for told in late[1:]:
                wait_until(lambda told=told: set(known(told)) == {"a", "b"}, "both objects")  # type: ignore[misc]

    def test_add_handler_arguments(self) -> None:
        """What cannot be called is a TypeError."""
        with pytest.raises(TypeError, match="on_deleted must be callable"):
            ByHand().add_handler(on_deleted=3)  # type: ignore[arg-type]


class TestHandlers:
    def test_b103_each_has_a_thread(self) -> None:
        """A handler's callbacks come one after another on a daemon thread of its own; a slow one slows nobody."""
        with by_hand(page("1", pod("a", "1"))) as informer:
            slow = Told()
            slow.go_on.clear()
            handler = informer.add_handler(**slow.callbacks)
            assert slow.entered.wait(LIMIT)
            quick = informer.tell()
            quick.wait(2)
            informer.give(modified("a", "2"))
            informer.give(deleted("a", "3"))
            wait_until(lambda: not known(quick) and len(quick.events) > 1, "the quick handler")
            assert len(slow.events) == 1
            assert handler.pending == 2
            slow.go_on.set()
            assert slow.wait(3) == ["ADDED a 1 initial", "SYNCED", "DELETED a 1>3"]
        (one,), (other,) = slow.threads, quick.threads
        assert one is not other
        assert one.daemon
        assert one.name == "kwsync-handler-pods"

    def test_no_thread_for_nothing(self) -> None:
        """A handler has no thread as long as there is nothing to tell."""
        with by_hand() as informer:
            before = threading.active_count()
            handler = informer.add_handler(lambda event: None)
            assert threading.active_count() == before
            informer.give(page("1"))
            assert handler.wait_synced(LIMIT)
            assert threading.active_count() == before + 1

    def test_b104_e10_pending(self) -> None:
        """What waits for a handler that hangs is bounded by the number of objects, and can be seen."""
        with by_hand(page("1", pod("a", "1"), pod("b", "1"))) as informer:
            told = Told()
            told.go_on.clear()
            handler = informer.add_handler(**told.callbacks)
            assert told.entered.wait(LIMIT)
            informer.give(*(modified(name, str(version)) for version in range(2, 5000) for name in ("a", "b")))
            assert handler.pending == 3
            assert "3 pending" in repr(handler)
            told.go_on.set()
            assert told.wait(4) == ["ADDED a 1 initial", "ADDED b 4999 initial", "SYNCED", "MODIFIED a 1>4999"]
            wait_until(lambda: handler.pending == 0, "an empty queue")

    @pytest.mark.parametrize("raised", [ZeroDivisionError("no"), SystemExit(3), KeyboardInterrupt()], ids=repr)
    def test_b105_f12_callbacks_that_raise(self, raised: BaseException) -> None:
        """Whatever a callback raises is told to on_error, and the next event comes, on the same thread."""

        def fail(event: WatchEvent) -> None:
            told(event)
            raise raised

        told = Told()
        with by_hand(page("1", pod("a", "1"))) as informer:
            informer.add_handler(fail, fail, fail, fail)
            told.wait(2)
            informer.give(modified("a", "2"))
            told.wait(3)
            wait_until(lambda: len(informer.errors) == 3, "the errors")
        assert len(told.threads) == 1
        assert [error.origin for error in informer.errors] == [ErrorOrigin.CALLBACK] * 3
        assert [error.__cause__ for error in informer.errors] == [raised] * 3
        assert [error.message.split(" raised")[0] for error in informer.errors] == [
            "on_added",
            "on_synced",
            "on_modified",
        ]
        assert informer.last_error is None

    def test_on_error_raises(self, caplog: pytest.LogCaptureFixture) -> None:
        """What on_error itself raises is only logged."""

        def fail(error: WatchError) -> None:
            raise SystemExit(3)

        with by_hand(failure(), page("1"), on_error=fail) as informer:
            assert informer.wait_synced(LIMIT)
        assert "on_error raised" in caplog.text

    def test_without_on_error(self, caplog: pytest.LogCaptureFixture) -> None:
        """Without on_error errors are logged; those of callbacks with their traceback."""
        with by_hand(failure("unreachable"), page("1", pod("a")), on_error=None) as informer:
            handler = informer.add_handler(lambda event: 1 / 0)
            assert handler.wait_synced(LIMIT)
        assert "informer of pods: NETWORK: unreachable" in caplog.text
        assert "ZeroDivisionError" in caplog.text
        assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2

    def test_b096_remove(self) -> None:
        """A removed handler is called no more, its queue is dropped and its thread ends; removing twice is fine."""
        with by_hand(page("1", pod("a", "1"), pod("b", "1"))) as informer:
            told, other = Told(), Told()
            told.go_on.clear()
            handler = informer.add_handler(**told.callbacks)
            assert told.entered.wait(LIMIT)
            handler.remove()
            handler.remove()
            assert handler.pending == 0
            informer.add_handler(**other.callbacks)
            informer.give(modified("a", "2"))
            told.go_on.set()
            assert handler.join(LIMIT)
            wait_until(lambda: len(other.events) >= 3, "the other handler")
            assert told.short == ["ADDED a 1 initial"]
            assert handler.wait_synced(LIMIT) is False

    def test_b096_remove_in_its_own_callback(self) -> None:
        """A handler may remove itself; to wait for its end in a callback is a RuntimeError, and no deadlock."""
        raised: list[BaseException] = []

        def remove(event: WatchEvent) -> None:
            told(event)
            handler.remove()
            with pytest.raises(RuntimeError) as caught:
                handler.join()
            raised.append(caught.value)

        told = Told()
        informer = ByHand()
        handler = informer.add_handler(remove)
        with informer:
            informer.give(page("1", pod("a", "1"), pod("b", "1")))
            assert handler.join(LIMIT)
        assert len(told.events) == len(raised) == 1

    def test_b096_join_waits_for_removed_handlers(self) -> None:
        """A callback of a handler that was removed is waited for, too; when it has ended, nobody knows the handler."""
        informer = ByHand()
        told = Told()
        told.go_on.clear()
        handler = informer.add_handler(told)
        informer.start()
        informer.give(page("1", pod("a", "1")))
        assert told.entered.wait(LIMIT)
        handler.remove()
        informer.stop()
        wait_until(lambda: not informer.is_alive(), "the reading thread")
        assert (informer.join(0.01), handler.join(0)) == (False, False)
        told.go_on.set()
        assert informer.join(LIMIT)
        wait_until(lambda: informer._hub.handlers == (), "nobody to know it")

    def test_b096_join_after_removing_itself(self) -> None:
        """A callback that has removed its handler cannot wait for the informer, either."""
        raised: list[BaseException] = []

        def remove(event: WatchEvent) -> None:
            handler.remove()
            informer.stop()
            with pytest.raises(RuntimeError, match="its own end") as caught:
                informer.join()
            raised.append(caught.value)

        informer = ByHand()
        handler = informer.add_handler(remove)
        informer.start()
        informer.script.put(page("1", pod("a", "1")))
        assert handler.join(LIMIT)
        wait_until(lambda: len(raised) == 1, "the callback")
        assert informer.join(LIMIT)

    def test_b096_stop_in_a_callback(self) -> None:
        """A callback may stop the informer, and is the last that is called; join in it raises."""
        raised: list[BaseException] = []

        def stop(event: WatchEvent) -> None:
            told(event)
            informer.stop()
            with pytest.raises(RuntimeError, match="its own end") as caught:
                informer.join()
            raised.append(caught.value)

        told = Told()
        informer = ByHand()
        informer.add_handler(stop)
        informer.start()
        informer.script.put(page("1", *(pod(f"n{number}") for number in range(1000))))
        assert told.entered.wait(LIMIT)
        assert informer.join(LIMIT)
        assert len(told.events) == len(raised) == 1


class TestResync:
    def test_b027_b079_resync(self) -> None:
        """Every period each object is told again, as MODIFIED with equal states, without anything from the server."""
        with by_hand(page("1", pod("a", "1"), pod("b", "1")), resync=0.01) as informer:
            told = informer.tell()
            told.wait(9)
        resynced = told.short[3:9]
        assert set(resynced) == {"MODIFIED a 1>1", "MODIFIED b 1>1"}

    @pytest.mark.parametrize("listed", [True, False])
    def test_b092_after_a_restart(self, listed: bool) -> None:
        """It goes on after a restart, though the list has not come yet, or tells nothing new."""
        state = page("1", pod("a", "1"))
        informer = ByHand(resync=0.01)
        told = informer.tell()
        for _ in range(3):
            before = len(told.events)
            with informer:
                informer.give(*[state] if listed or not before else [])
                told.wait(before + 5)
            assert informer.join(LIMIT)
        assert set(told.short) == {"ADDED a 1 initial", "SYNCED", "MODIFIED a 1>1"}

    def test_b092_without_objects(self) -> None:
        """It comes, too, to a handler that was told of nothing before the informer was started again."""
        informer = ByHand(resync=0.01)
        told = informer.tell()
        with informer:
            informer.give(page("1"), added("a", "2"))
            assert told.wait(5)[-1] == "MODIFIED a 2>2"

    def test_undecodable(self) -> None:
        """An object that cannot be decoded fails who looks at it alone: all others are told again, and again."""
        raw = b'{"metadata":{"name":"deep"},"spec":%b}' % (b"[" * 100_000 + b"]" * 100_000)
        deep = Change(EventType.ADDED, PlainRecord(ObjectKey("default", "deep"), "", "2", raw))
        seen: list[str] = []
        with by_hand(page("1", pod("a", "1")), deep, modified("b", "3"), resync=0.01) as informer:

            def look(event: WatchEvent) -> None:
                assert event.object is not None
                seen.append(event.object["metadata"]["name"])

            informer.add_handler(look, look)
            wait_until(lambda: min(seen.count("a"), seen.count("b")) >= 3, "three resyncs")
        assert "deep" not in seen
        assert {error.origin for error in informer.errors} == {ErrorOrigin.CALLBACK}

    def test_b079_no_old_state(self) -> None:
        """A resync does not undo what is waiting: a handler that is late is told of the change, from what it knew."""
        with by_hand(page("1", pod("a", "1"), pod("b", "1")), resync=0.01) as informer:
            told = Told()
            informer.add_handler(**told.callbacks)
            told.wait(6)
            told.go_on.clear()
            told.entered.clear()
            assert told.entered.wait(LIMIT)
            informer.give(modified("a", "2"), deleted("b", "3"))
            told.go_on.set()
            wait_until(lambda: known(told) == {"a": "2"}, "the last state")

    def test_e15_survives_exceptions(self) -> None:
        """A handler that raises is resynced again."""
        calls: list[str] = []

        def fail(event: WatchEvent) -> None:
            calls.append(str(event.type))
            raise ZeroDivisionError

        with by_hand(page("1", pod("a", "1")), resync=0.01) as informer:
            informer.add_handler(fail, fail)
            wait_until(lambda: calls.count("MODIFIED") >= 5, "five resyncs")

    def test_b092_never(self) -> None:
        """Without a period there is no resync, and the handler's thread waits without a timer."""
        waits: list[float | None] = []
        with by_hand(page("1", pod("a", "1"))) as informer:
            handler = informer.add_handler(lambda event: None)
            assert handler.wait_synced(LIMIT)
            waits.append(handler._handler._resync_at)
        assert waits == [None]

    @pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "30"])
    def test_b092_bad_periods(self, seconds: Any) -> None:
        """A period is a number of seconds above 0."""
        with pytest.raises((TypeError, ValueError), match="resync"):
            ByHand(resync=seconds)


class TestLife:
    def test_status(self) -> None:
        """What it tells about itself before, while it runs, and after."""
        informer = ByHand()
        before = informer.status
        assert (before.running, before.synced, before.healthy, before.objects) == (False, False, False, 0)
        assert (before.resource_version, before.last_activity, before.last_error) == (None, None, None)
        assert (informer.is_alive(), informer.healthy(), repr(informer)) == (
            False,
            False,
            "<Informer pods not running 0 objects>",
        )
        with informer:
            assert informer.is_alive()
            informer.give(page("3", pod("a")), failure("gone"), page("4", pod("a")))
            status = informer.status
            assert (status.running, status.synced, status.healthy, status.objects) == (True, True, True, 1)
            assert (status.resource_version, status.relists, status.last_activity) == ("4", 1, 0.0)
            assert status.last_error is informer.last_error
            assert str(informer.last_error) == "NETWORK: gone"
            assert informer.healthy()
            assert repr(informer) == "<Informer pods running 1 objects>"
        after = informer.status
        assert (after.running, after.synced, after.healthy, after.objects) == (False, False, False, 1)

    def test_b097_started_twice(self) -> None:
        """Starting it while it runs is a RuntimeError, and it runs on."""
        with by_hand(page("1")) as informer:
            with pytest.raises(RuntimeError, match="runs already"):
                informer.start()
            assert informer.wait_synced(LIMIT)

    def test_b097_handlers_after_the_end(self) -> None:
        """A handler may be added when the informer does not run: it is told when it does."""
        informer = ByHand()
        with informer:
            informer.give(page("1", pod("a", "1")))
        told = informer.tell()
        assert told.events == []
        informer.start()
        informer.give(page("2", pod("a", "1")))
        assert told.wait(2) == ["ADDED a 1 initial", "SYNCED"]
        informer.stop()
        assert informer.join(LIMIT)

    def test_b097_restart(self) -> None:
        """Started again, it compares the new list with what it had: handlers are told of the difference, once."""
        informer = ByHand()
        told = informer.tell()
        with informer:
            informer.give(page("1", pod("a", "1"), pod("b", "1"), pod("c", "1")))
            told.wait(4)
        assert informer.store.get("default/a") is not None
        assert informer.wait_synced(0) is False
        with informer:
            assert (informer.wait_synced(0.01), informer.status.synced) == (False, False)
            assert len(informer.store) == 3
            informer.give(page("9", pod("a", "1"), pod("b", "8"), pod("d", "9")))
            assert informer.wait_synced(LIMIT)
            assert told.wait(7)[4:] == ["DELETED c 1>1 unknown", "MODIFIED b 1>8", "ADDED d 9"]

    def test_b099_what_was_not_told(self) -> None:
        """After a stop nothing more is told; what was waiting is told after another start, with what came since."""
        informer = ByHand()
        told = Told()
        told.go_on.clear()
        handler = informer.add_handler(**told.callbacks)
        informer.start()
        informer.give(page("1", pod("a", "1"), pod("b", "1")))
        assert told.entered.wait(LIMIT)
        informer.stop()
        wait_until(lambda: not informer.is_alive(), "the reading thread")
        assert informer.join(0) is False
        told.go_on.set()
        assert informer.join(LIMIT)
        assert (told.short, handler.pending) == (["ADDED a 1 initial"], 2)
        with informer:
            informer.give(page("2", pod("a", "1"), pod("b", "2")))
            wait_until(lambda: known(told) == {"a": "1", "b": "2"}, "the last state")
            assert told.short.count("SYNCED") == 1

    def test_restart_while_a_callback_is_busy(self) -> None:
        """A handler that was busy through stop and start goes on, still on one thread at a time."""
        informer = ByHand()
        told = Told()
        told.go_on.clear()
        informer.add_handler(**told.callbacks)
        informer.start()
        informer.give(page("1", pod("a", "1")))
        assert told.entered.wait(LIMIT)
        informer.stop()
        wait_until(lambda: not informer.is_alive(), "the reading thread")
        with informer:
            informer.give(page("2", pod("a", "2")))
            assert len(told.events) == 1
            told.go_on.set()
            assert told.wait(3) == ["ADDED a 1 initial", "SYNCED", "MODIFIED a 1>2"]
        assert len(told.threads) == 1

    def test_stop_before_start_and_twice(self) -> None:
        """Stopping what does not run does nothing."""
        informer = ByHand()
        informer.stop()
        assert informer.join(0)
        with informer:
            informer.give(page("1"))
        informer.stop()
        informer.stop()
        assert informer.join(0)

    def test_start_while_it_is_ending(self) -> None:
        """Started again before its end, it says what to do."""
        go_on, entered = threading.Event(), threading.Event()

        def hold(document: Document) -> Document:
            entered.set()
            assert go_on.wait(LIMIT)
            return document

        informer = ByHand(transform=hold)
        informer.start()
        informer.script.put(page("1", pod("a")))
        assert entered.wait(LIMIT)
        informer.stop()
        with pytest.raises(RuntimeError, match="join"):
            informer.start()
        go_on.set()
        assert informer.join(LIMIT)

    def test_no_thread_to_give(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the system has no thread, start raises OSError, and may be tried again."""

        def refuse(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        informer = ByHand()
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            with pytest.raises(OSError, match="thread"):
                informer.start()
        assert (informer.is_alive(), informer.status.running, informer.wait_synced()) == (False, False, False)
        with informer:
            informer.give(page("1"))

    def test_no_thread_for_a_handler(self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        """Where the system has no thread for a handler, that is logged and tried again, and the cache goes on."""
        with by_hand() as informer:
            told = informer.tell()
            with monkeypatch.context() as patch:
                patch.setattr(threading.Thread, "start", raise_no_thread)
                informer.give(page("1", pod("a", "1")))
            assert (told.events, len(informer.store)) == ([], 1)
            informer.give(modified("a", "2"))
            assert told.wait(2) == ["ADDED a 2 initial", "SYNCED"]
        assert "no further thread" in caplog.text

    def test_nobody_holds_it(self) -> None:
        """An informer that has ended is nobody's: nothing keeps it alive."""
        informer = ByHand()
        told = informer.tell()
        with informer:
            informer.give(page("1", pod("a")))
            told.wait(2)
        reference = weakref.ref(informer)
        del informer
        gc.collect()
        assert reference() is None


def raise_no_thread(thread: threading.Thread) -> None:
    """As Python does where the system has no thread to give."""
    raise RuntimeError("can't start new thread")


class TestWaiters:
    def waits(self) -> list[tuple[str, Callable[[ByHand, Any], bool]]]:
        """Everything that waits for the reading thread."""
        return [
            ("informer", lambda informer, handler: informer.wait_synced()),
            ("handler", lambda informer, handler: handler.wait_synced()),
            ("store", lambda informer, handler: informer.store.wait_until("99")),
        ]

    @pytest.mark.parametrize("number", range(3), ids=["informer", "handler", "store"])
    @pytest.mark.parametrize("end", ["stop", "mistake", "exit"])
    def test_b102_nobody_waits_for_ever(self, number: int, end: str) -> None:
        """Whoever waits gets False when the informer is stopped or its thread breaks, and at once after that."""
        informer = ByHand()
        handler = informer.add_handler(lambda event: None)
        wait = self.waits()[number][1]
        assert wait(informer, handler) is False, "it was not started"
        informer.start()
        found: list[bool] = []
        with in_background(lambda: found.append(wait(informer, handler))):
            mistakes = {"mistake": ZeroDivisionError("of ours"), "exit": SystemExit(3)}
            if end == "stop":
                informer.stop()
            else:
                informer.script.put(mistakes[end])
        assert found == [False]
        assert wait(informer, handler) is False
        assert informer.join(LIMIT)

    def test_b102_at_once(self) -> None:
        """Who waits is woken when the state has come, not by polling."""
        with by_hand() as informer:
            started = time.monotonic()
            with in_background(lambda: informer.wait_synced(LIMIT)):
                informer.give(page("1"))
            assert time.monotonic() - started < AT_ONCE

    def test_a_broken_thread_is_told(self, caplog: pytest.LogCaptureFixture) -> None:
        """A mistake of kwsync's own is told to on_error, logged, and seen in the status; it may be started again."""
        informer = ByHand()
        informer.start()
        informer.script.put(page("1", pod("a")), ZeroDivisionError("of ours"))
        assert informer.join(LIMIT)
        (error,) = informer.errors
        assert "ZeroDivisionError" in error.message
        assert informer.last_error is error
        assert (informer.healthy(), informer.status.running, len(informer.store)) == (False, False, 1)
        assert "of ours" in caplog.text
        with informer:
            informer.give(page("2"))
            assert informer.wait_synced(LIMIT)


class TestArguments:
    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"namespace": "a/b"}, ValueError),
            ({"label_selector": 7}, TypeError),
            ({"page_size": 0}, ValueError),
            ({"client": "x"}, TypeError),
            ({"transform": "x"}, TypeError),
            ({"indexers": {"x": "y"}}, TypeError),
            ({"on_error": "x"}, TypeError),
            ({"cancel": 7}, TypeError),
            ({"backoff": 7}, TypeError),
            ({"no": 7}, TypeError),
        ],
        ids=str,
    )
    def test_b098_at_once(self, options: dict[str, Any], error: type[Exception]) -> None:
        """Bad arguments raise where the informer is made; nothing can be set later, so nothing can be set too late."""
        with pytest.raises(error):
            Informer("pods", **options)

    def test_b067_further_indexers(self) -> None:
        """Indexers can be added before the start; another function for a name is refused, and then nothing is added."""

        def one(document: Document) -> list[str]:
            return ["one"]

        informer = ByHand(indexers={"one": one})
        informer.add_indexers({"two": lambda document: ["two"], "one": one})
        with pytest.raises(ValueError, match="another indexer of this name: two"):
            informer.add_indexers({"three": one, "two": one})
        with informer:
            informer.give(page("1", pod("a")))
            assert informer.store.index_values("one") == ["one"]
            assert informer.store.index_values("two") == ["two"]
            with pytest.raises(KeyError):
                informer.store.index_values("three")
            informer.add_indexers({"one": one})
            with pytest.raises(RuntimeError, match="too late"):
                informer.add_indexers({"three": one})


@contextmanager
def held(*locks: Any) -> Iterator[None]:
    """Another thread holds the locks: the forking thread, which lives on in the child, could take them again."""
    ready, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            ready.set()
            assert go_on.wait(LIMIT)

    with in_background(hold):
        assert ready.wait(LIMIT)
        yield
        go_on.set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
class TestForks:
    def test_in_the_child(self) -> None:
        """In a child the store can be read, nothing runs or waits, and start says why it cannot."""
        with by_hand(page("1", pod("a"))) as informer:
            handler = informer.add_handler(lambda event: None)
            assert handler.wait_synced(LIMIT)

            def look() -> list[Any]:
                with pytest.raises(RuntimeError, match="fork"):
                    informer.start()
                informer.stop()
                handler.remove()
                return [
                    len(informer.store.list()),
                    informer.is_alive(),
                    informer.healthy(),
                    informer.join(LIMIT),
                    informer.wait_synced(),
                    informer.store.wait_until("9"),
                ]

            assert in_child(look) == [1, False, False, True, False, False]
            informer.give(added("b", "2"))
            assert len(informer.store) == 2

    def test_while_locks_are_held(self) -> None:
        """A fork in the middle of a change leaves nothing locked in the child."""
        with by_hand(page("1", pod("a"))) as informer:
            handler = informer.add_handler(lambda event: None)
            assert handler.wait_synced(LIMIT)

            def look() -> list[Any]:
                with pytest.raises(RuntimeError, match="too late"):
                    informer.add_indexers({"new": lambda document: []})
                late = informer.add_handler(lambda event: None)
                handler.remove()
                pending = late.pending
                return [pending, len(informer.store.list()), informer.wait_synced(), handler.wait_synced()]

            locks = (
                informer._hub._lock,
                informer._cache._lock,
                informer._indexing,
                informer._synced._changed,
                handler._handler._lock,
                handler._handler.synced._changed,
            )
            with held(*locks):
                found = in_child(look)
            assert found == [2, 1, False, True]

    def test_started_in_the_child(self) -> None:
        """One that was made before the fork may be started in the child."""
        informer = ByHand()
        told = informer.tell()

        def run() -> list[str]:
            with informer:
                informer.give(page("1", pod("a", "1")))
                return told.wait(2)

        assert in_child(run) == ["ADDED a 1 initial", "SYNCED"]


def test_stop_takes_no_lock() -> None:
    """Stopping it waits for no lock, so that a signal handler may do it in the middle of anything."""
    with by_hand(page("1")) as informer:
        locks = informer._hub._lock, informer._cache._lock, informer._indexing
        with held(*locks):
            informer.stop()
