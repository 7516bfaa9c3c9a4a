"""One elector, or two in one process, on the server in memory and its faults."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

import kwsync
from kwsync import CancelToken, Client, Cluster, ElectionEnd, LeaderElector, Leadership, WatchError, _threads
from kwsync.errors import CancelledError, ErrorOrigin
from kwsync.testing import ApiServer, Fault
from tests.cancel.support import handling, in_child, interrupting
from tests.election.support import AT_ONCE, BRIEF, LIMIT, PATH, Later, Notes, holder, running, spec, wait_until


@pytest.fixture
def client(api_server: ApiServer) -> Iterator[Client]:
    """A client of the server in memory."""
    with api_server.client() as made:
        yield made


@pytest.fixture
def notes() -> Notes:
    """What the elector of the test tells."""
    return Notes()


# A term


def test_leads_and_gives_back(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """It creates the Lease, works until it is cancelled, and gives the Lease back after all of that."""
    elector = notes.elector(client, labels={"app": "x"})
    assert not elector.is_leader()
    with running(elector) as run:
        notes.wait("started")
        (leadership,) = notes.leaderships
        assert (leadership.fencing, leadership.is_valid(), leadership.cancel.is_set()) == (0, True, False)
        assert 0 < leadership.until - time.monotonic() <= 2
        assert (elector.is_leader(), elector.leader) == (True, "a")
        assert holder(api_server) == "a"
        assert api_server.get("leases", "lead", "default")["metadata"]["labels"] == {"app": "x"}
        assert run.end() is ElectionEnd.CANCELLED
    assert notes.story == ["started", "told to end", "ended", "stopped True"]
    assert (elector.is_leader(), leadership.is_valid(), leadership.until) == (False, False, 0.0)
    assert (holder(api_server), spec(api_server)["leaseDurationSeconds"]) == ("", 1)
    assert notes.errors == []


def test_renews(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """It renews while it works, one update each time, and stays the leader for longer than a lease."""
    with running(notes.elector(client)):
        notes.wait("started")
        api_server.wait_for_requests(30)
        assert [request.method for request in api_server.requests[2:30]] == ["PUT"] * 28
        before = notes.leaderships[0].until
        wait_until(lambda: notes.leaderships[0].until > before, "a renewal that moves the end on")
        assert notes.story == ["started"]


def test_b159_callbacks(client: Client, notes: Notes) -> None:
    """B159: on_started and on_new_leader run on threads of their own; each new leader is told, itself included."""
    with running(notes.elector(client)) as run:
        notes.wait("started")
        notes.wait("leader a")
        run.end()
        notes.wait("leader ")
    assert notes.threads["started"] == notes.threads["stopped True"] == "kwsync-leading-lead"
    assert notes.threads["new leader"] == "kwsync-new-leader-lead"
    assert [event for event in notes.events if event.startswith("leader")] == ["leader a", "leader "]


def test_b159_stopped_without_having_led(client: Client, notes: Notes) -> None:
    """B159: on_stopped comes at the end of every campaign, and says whether it had led."""
    other = Notes()
    with running(notes.elector(client)):
        notes.wait("started")
        with running(other.elector(client, "b")) as second:
            other.wait("leader a")
            assert second.end() is ElectionEnd.CANCELLED
    assert other.story == ["stopped False"]


def test_on_started_may_return(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """When on_started returns it leads on: the work may be elsewhere, and is ended by on_stopped."""
    returned = threading.Event()
    with running(notes.elector(client, on_started=lambda _: returned.set())) as run:
        assert returned.wait(LIMIT)
        api_server.wait_for_requests(10)
        assert notes.story == []
        run.end()
    assert notes.story == ["stopped True"]


def test_who_works_may_resign(client: Client, notes: Notes) -> None:
    """Work that sets its own token gives the leadership back."""
    with running(notes.elector(client, on_started=lambda leadership: leadership.cancel.set())) as run:
        assert run.join() is ElectionEnd.FINISHED


def test_without_callbacks(client: Client) -> None:
    """No callback is needed: is_leader() says it."""
    elector = LeaderElector(client, namespace="default", name="lead", identity="a")
    with running(elector) as run:
        wait_until(elector.is_leader, "leading")
        assert repr(elector) == "<LeaderElector default/lead 'a': leads>"
        run.end()
    assert repr(elector) == "<LeaderElector default/lead 'a': no leader known>"


# The end of the work


def test_b161_released_after_the_work(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """B161: while the work takes its time to end, and on_stopped too, the Lease is held and renewed; then released."""
    notes.may_end.clear()
    held: list[str] = []

    def wait_for_renewals() -> None:
        before = spec(api_server)["renewTime"]
        wait_until(lambda: bool(spec(api_server)["renewTime"] > before), "a renewal")
        before = spec(api_server)["renewTime"]
        wait_until(lambda: bool(spec(api_server)["renewTime"] > before), "another renewal")
        held.append(holder(api_server))

    elector = notes.elector(client, on_stopped=lambda led: wait_for_renewals())
    with running(elector) as run:
        notes.wait("started")
        run.cancel.set()
        notes.wait("told to end")
        wait_for_renewals()
        assert elector.is_leader()
        assert notes.leaderships[0].is_valid()
        notes.may_end.set()
        assert run.join() is ElectionEnd.CANCELLED
    assert held == ["a", "a"]
    assert notes.errors == []
    assert holder(api_server) == ""


def test_b161_not_released_while_the_work_goes_on(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """B161: work that does not end in time keeps the Lease until that runs out; it is told, and run() ends."""
    notes.may_end.clear()
    elector = notes.elector(client, stop_timeout=0.2)
    with running(elector) as run:
        notes.wait("started")
        assert run.end() is ElectionEnd.CANCELLED
    assert holder(api_server) == "a"
    assert not elector.is_leader()
    assert notes.story == ["started", "told to end", "stopped True"]
    assert "has not ended in 0.2 s" in notes.errors[0].message
    with pytest.raises(RuntimeError, match="earlier run"):
        elector.run()
    notes.may_end.set()
    notes.wait("ended")
    wait_until(elector.healthy, "the end of the work")
    assert elector.run(cancelled()) is ElectionEnd.CANCELLED


def cancelled() -> CancelToken:
    """A token that is set."""
    token = CancelToken()
    token.set()
    return token


def test_work_that_raises(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """What the work raises ends the leadership, the Lease is released, and run() raises it."""

    def fail(leadership: Leadership) -> None:
        raise LookupError("no such thing")

    with running(notes.elector(client, on_started=fail)) as run, pytest.raises(LookupError, match="no such thing"):
        run.join()
    assert notes.story == ["stopped True"]
    assert holder(api_server) == ""


def test_work_that_is_cancelled(client: Client, notes: Notes) -> None:
    """A CancelledError is how a client's verbs end the work, and no failure; without a cancellation it is one."""

    def call(leadership: Leadership) -> None:
        notes.note("started")
        leadership.cancel.wait()
        client.get("configmaps", "none", "default", cancel=leadership.cancel)

    with running(notes.elector(client, on_started=call)) as run:
        notes.wait("started")
        assert run.end() is ElectionEnd.CANCELLED

    def raise_it(leadership: Leadership) -> None:
        client.get("configmaps", "none", "default", cancel=cancelled())

    with running(notes.elector(client, on_started=raise_it)) as run, pytest.raises(CancelledError):
        run.join()


def test_callbacks_that_raise(client: Client, notes: Notes, caplog: pytest.LogCaptureFixture) -> None:
    """What on_stopped and on_new_leader raise, even SystemExit, is told to on_error, and ends nothing."""

    def fail(argument: object) -> None:
        raise SystemExit(f"about {argument}")

    with running(notes.elector(client, on_stopped=fail, on_new_leader=fail)) as run:
        notes.wait("started")
        assert run.end() is ElectionEnd.CANCELLED
    wait_until(lambda: len(notes.errors) == 3, "three errors")
    assert {error.origin for error in notes.errors} == {ErrorOrigin.CALLBACK}
    assert {str(error.__cause__) for error in notes.errors} == {"about a", "about ", "about True"}

    with running(notes.elector(client, on_stopped=fail, on_error=fail)) as run:
        notes.wait("started", 2)
        run.end()
    assert "on_error raised" in caplog.text


def test_without_on_error(client: Client, notes: Notes, caplog: pytest.LogCaptureFixture) -> None:
    """Without on_error, what goes wrong is logged."""

    def fail(led: bool) -> None:
        raise LookupError("oh")

    with running(notes.elector(client, on_stopped=fail, on_error=None)) as run:
        notes.wait("started")
        run.end()
    assert "on_stopped raised LookupError: oh" in caplog.text


# Others


def test_takes_over_at_once_what_was_released(client: Client, notes: Notes) -> None:
    """Another leads as soon as it looks, with a greater token."""
    other = Notes()
    with running(notes.elector(client)) as first:
        notes.wait("started")
        with running(other.elector(client, "b", lease_duration=60)) as second:
            other.wait("leader a")
            first.end()
            other.wait("started")
            assert other.leaderships[0].fencing > notes.leaderships[0].fencing
            second.end()


def test_takes_over_after_the_lease(client: Client, notes: Notes) -> None:
    """What was not released is taken when it has not been renewed for its duration, and not before."""
    other = Notes()
    with running(notes.elector(client, release_on_stop=False, lease_duration=2, renew_deadline=1.9)) as first:
        notes.wait("started")
        with running(other.elector(client, "b")) as second:
            other.wait("leader a")
            first.end()
            ended = time.monotonic()
            other.wait("started")
            took = time.monotonic() - ended
            second.end()
    assert 0.1 < took < 2 + 2.2 * 0.03 + AT_ONCE
    assert (notes.leaderships[0].fencing, other.leaderships[0].fencing) == (0, 1)


def test_many_electors(client: Client) -> None:
    """Of five that begin at one time one leads, and when it goes another: no two at one time, tokens that grow."""
    led: list[tuple[int, str]] = []
    lock = threading.Lock()

    def work(identity: str, leadership: Leadership) -> None:
        assert lock.acquire(blocking=False), "two lead"
        led.append((leadership.fencing, identity))
        leadership.cancel.wait(0.05)
        lock.release()

    def run(identity: str) -> None:
        elector = Notes().elector(client, identity, on_started=None)
        assert elector.lead(lambda leadership: work(identity, leadership)) is ElectionEnd.FINISHED

    threads = [threading.Thread(target=run, args=(f"e{number}",)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert sorted(led) == led
    assert {identity for _, identity in led} == {f"e{number}" for number in range(5)}


# Trouble


def test_b157_loses(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """B157: when renewals fail for the renew deadline it is lost: the work is told to end. Then it campaigns again."""
    with running(notes.elector(client, **BRIEF)) as run:
        notes.wait("started")
        api_server.fail_every(1, Fault.answer(500), path=PATH)
        since = time.monotonic()
        notes.wait("told to end")
        took = time.monotonic() - since
        notes.wait("stopped True")
        assert not run.elector.is_leader()
        api_server.clear_faults()
        notes.wait("started", 2)
        run.end()
    assert took < 0.4 + AT_ONCE
    first, second = notes.leaderships
    assert not first.is_valid()
    assert second.fencing > first.fencing
    assert {error.status_code for error in notes.errors} == {500}


def test_lost_once(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """Without a second campaign run() says that the leadership was lost."""
    with running(notes.elector(client, recampaign=False, **BRIEF)) as run:
        notes.wait("started")
        api_server.fail_every(1, Fault.answer(500), path=PATH)
        assert run.join() is ElectionEnd.LOST
    assert notes.story == ["started", "told to end", "ended", "stopped True"]


def test_campaigns_again_only_after_the_work(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """After a loss work that goes on is told of before another may lead; there is no second term beside it."""
    notes.may_end.clear()
    with running(notes.elector(client, **BRIEF)) as run:
        notes.wait("started")
        api_server.fail_every(1, Fault.answer(500), path=PATH)
        notes.wait("stopped True")
        assert notes.story == ["started", "told to end", "stopped True"]
        count = len(api_server.requests)
        api_server.clear_faults()
        run.thread.join(0.3)
        assert len(api_server.requests) == count
        notes.may_end.set()
        notes.wait("started", 2)
        run.end()


def test_cancelled_while_lost_work_goes_on(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """After a loss a cancellation ends run() though the work does not end."""
    notes.may_end.clear()
    with running(notes.elector(client, **BRIEF)) as run:
        notes.wait("started")
        api_server.fail_every(1, Fault.answer(500), path=PATH)
        notes.wait("stopped True")
        api_server.clear_faults()
        since = time.monotonic()
        assert run.end() is ElectionEnd.CANCELLED
        assert time.monotonic() - since < AT_ONCE
    assert holder(api_server) == "a"
    assert notes.story == ["started", "told to end", "stopped True"]
    notes.may_end.set()
    notes.wait("ended")


def test_a_server_that_is_silent(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """A request without an answer does not outlast the belief to lead."""
    with running(notes.elector(client, recampaign=False, release_on_stop=False, **BRIEF)) as run:
        notes.wait("started")
        api_server.fail_every(1, Fault.late_headers(), path=PATH)
        since = time.monotonic()
        assert run.join() is ElectionEnd.LOST
        assert time.monotonic() - since < 0.4 + AT_ONCE


def test_lost_answers(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """A Lease that it took without hearing of it is its own; a renewal it did not hear of does not end the term."""
    api_server.fail_next(Fault.drop(0), path=PATH, verb="create")
    with running(notes.elector(client)) as run:
        notes.wait("started")
        assert notes.leaderships[0].fencing == 1
        rule = api_server.fail_next(Fault.drop(0), path=PATH, verb="update", times=3)
        wait_until(lambda: rule.hits == 3, "three lost answers")
        api_server.wait_for_requests(len(api_server.requests) + 10)
        assert notes.story == ["started"]
        run.end()
    assert holder(api_server) == ""


def test_cancelled_while_it_takes(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """A cancellation in the middle of taking gives back what may have been taken."""
    api_server.fail_next(Fault.stall(), path=PATH, verb="create")
    with running(notes.elector(client)) as run:
        wait_until(lambda: holder(api_server) == "a", "the Lease")
        since = time.monotonic()
        run.end()
        assert time.monotonic() - since < AT_ONCE
    assert holder(api_server) == ""
    assert notes.story == ["stopped False"]


def test_conflicts(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """Who changes the Lease beside it takes nothing away: it looks, and renews what is there."""
    with running(notes.elector(client)):
        notes.wait("started")
        for number in range(5):
            api_server.patch("leases", "lead", {"metadata": {"annotations": {"n": str(number)}}}, "default")
            api_server.wait_for_requests(len(api_server.requests) + 4)
        assert notes.story == ["started"]
        assert api_server.get("leases", "lead", "default")["metadata"]["annotations"] == {"n": "4"}
    assert notes.errors == []


def test_another_in_the_lease(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """Who finds another in its Lease has lost at once."""
    with running(notes.elector(client, recampaign=False, **BRIEF)) as run:
        notes.wait("started")
        api_server.patch("leases", "lead", {"spec": {"holderIdentity": "b", "leaseTransitions": 7}}, "default")
        assert run.join() is ElectionEnd.LOST
    assert holder(api_server) == "b"
    assert run.elector.leader == "b"


def test_a_restart_of_the_server(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """A server that cuts all connections and comes back is renewed with; the term goes on."""
    with running(notes.elector(client)):
        notes.wait("started")
        for _ in range(3):
            api_server.restart()
            api_server.wait_for_requests(len(api_server.requests) + 3)
        assert notes.story == ["started"]


def test_deleted(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """A Lease that is deleted under the leader is there again at once, and the term goes on."""
    with running(notes.elector(client)):
        notes.wait("started")
        api_server.delete("leases", "lead", "default")
        wait_until(lambda: holder(api_server) == "a", "the Lease")
        assert notes.story == ["started"]


def test_refused(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """What the server refuses is told, and it goes on trying until it is allowed."""
    api_server.fail_next(Fault.answer(403), path=PATH, times=2)
    with running(notes.elector(client)):
        notes.wait("started")
    assert [error.status_code for error in notes.errors] == [403, 403]


# Ending


@pytest.mark.parametrize("kind", [CancelToken, threading.Event])
@pytest.mark.parametrize("phase", ["waiting for an answer", "between two looks", "leading", "renewing"])
def test_cancelled_at_once(
    api_server: ApiServer, client: Client, notes: Notes, phase: str, kind: type[threading.Event]
) -> None:
    """Any event ends it at once, whatever it waits for."""
    elector, leads = notes.elector(client, lease_duration=60, renew_deadline=50, retry_period=30), True
    if phase == "waiting for an answer":
        leads = False
        api_server.fail_every(1, Fault.late_headers(), path=PATH, verb="get")
    elif phase == "between two looks":
        leads = False
        api_server.fail_every(1, Fault.answer(403), path=PATH)
    elif phase == "renewing":
        elector = notes.elector(client, lease_duration=60, renew_deadline=50, retry_period=0.05)
    with running(elector, cancel=kind()) as run:
        if leads:
            notes.wait("started")
        if phase == "renewing":
            rule = api_server.fail_next(Fault.late_headers(), path=PATH, verb="update")
            wait_until(lambda: rule.hits > 0, "a renewal")
        api_server.wait_for_requests(1)
        since = time.monotonic()
        assert run.end() is ElectionEnd.CANCELLED
        assert time.monotonic() - since < AT_ONCE
    assert notes.story[-1] == f"stopped {leads}"
    assert holder(api_server) == ""


def test_cancelled_at_the_moment_of_winning(
    api_server: ApiServer, client: Client, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancellation just after the Lease was taken begins no work, and gives it back."""
    elector, cancel = notes.elector(client), CancelToken()
    monkeypatch.setattr(elector._announcer, "new_leader", lambda identity: cancel.set())
    assert elector.run(cancel) is ElectionEnd.CANCELLED
    assert notes.story == ["stopped False"]
    assert holder(api_server) == ""


def test_cancelled_before(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """An event that is set before sends no request."""
    assert notes.elector(client).run(cancelled()) is ElectionEnd.CANCELLED
    assert notes.story == ["stopped False"]
    assert len(api_server.requests) == 0


def test_bad_cancel(client: Client, notes: Notes) -> None:
    """What is no event is refused."""
    with pytest.raises(TypeError):
        notes.elector(client).run("event")  # type: ignore[arg-type]
    with pytest.raises(TypeError), notes.elector(client).leading(1):  # type: ignore[arg-type]
        pass
    with pytest.raises(TypeError):
        notes.elector(client).lead(1)  # type: ignore[arg-type]


def test_interrupted(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """Ctrl-C ends run() in good order, and passes through."""
    with (
        handling(signal.SIGINT, signal.default_int_handler),
        interrupting(signal.SIGINT, lambda: "started" in notes.events),
        pytest.raises(KeyboardInterrupt),
    ):
        notes.elector(client).run()
    assert notes.story == ["started", "told to end", "ended", "stopped True"]
    assert holder(api_server) == ""


def test_interrupted_in_a_callback(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """Ctrl-C while a callback runs on the thread of run() is not taken for the callback's own exception."""

    def interrupted(argument: object) -> None:
        raise KeyboardInterrupt

    api_server.fail_next(Fault.answer(500), path=PATH)
    with pytest.raises(KeyboardInterrupt):
        notes.elector(client, on_error=interrupted).run()
    with pytest.raises(KeyboardInterrupt):
        notes.elector(client, on_stopped=interrupted).run(cancelled())
    assert notes.story == ["stopped False"]


def test_one_run_at_a_time(client: Client, notes: Notes) -> None:
    """A second run beside the first is refused; one after it is fine, and has a greater token."""
    elector = notes.elector(client)
    with running(elector) as run:
        notes.wait("started")
        with pytest.raises(RuntimeError, match="runs already"):
            elector.run()
        with pytest.raises(RuntimeError, match="runs already"), elector.leading():
            pass
        run.end()
    with running(elector):
        wait_until(lambda: len(notes.leaderships) == 2, "a second term")
        first, second = notes.leaderships
        assert (first.fencing, first.is_valid()) == (0, False)
        assert (second.fencing, second.is_valid()) == (1, True)


def test_b164_connections_of_its_own(api_server: ApiServer, notes: Notes) -> None:
    """B164: its requests use no connection of the given client, so its end is none for them; the user agent is that of
    all of kwsync's.
    """
    client = Client(Cluster(api_server.url))
    client.list("leases", "default")
    elector = notes.elector(client)
    client.close()
    with running(elector):
        notes.wait("started")
    first, *others = api_server.requests
    assert first.connection_id not in {request.connection_id for request in others}
    assert {request.headers["User-Agent"] for request in others} == {first.headers["User-Agent"]}


def test_without_a_client(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a client it is the process's own, and a broken configuration raises from run()."""
    monkeypatch.setattr("kwsync._client._defaults", {})
    monkeypatch.setenv("KUBECONFIG", os.devnull)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(kwsync.ConfigError):
        notes.elector(None).run()  # type: ignore[arg-type]


# By the clock


def test_b163_healthy_and_leading_by_the_clock(client: Client, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """B163: healthy, unless it leads and has not renewed for the lease and the tolerance. is_leader() goes by time."""
    clock, notes.may_end = Later(monkeypatch), threading.Event()
    elector = notes.elector(client, lease_duration=15, renew_deadline=10, retry_period=5, stop_timeout=0)
    assert elector.healthy()
    with running(elector) as run:
        notes.wait("started")
        assert (elector.is_leader(), elector.healthy()) == (True, True)
        clock.seconds = 11.0
        assert (elector.is_leader(), notes.leaderships[0].is_valid(), elector.healthy()) == (False, False, True)
        clock.seconds = 16.0
        assert (elector.healthy(), elector.healthy(tolerance=20)) == (False, True)
        run.end()
        assert not elector.healthy()
    notes.may_end.set()
    notes.wait("ended")
    wait_until(elector.healthy, "healthy again")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked(client: Client, notes: Notes) -> None:
    """A forked child does not lead: neither the elector nor the leadership says so, and the work there has to end."""
    elector = notes.elector(client)
    with running(elector):
        notes.wait("started")
        (leadership,) = notes.leaderships

        def look() -> list[object]:
            asked = [elector.is_leader(), leadership.is_valid(), leadership.cancel.is_set(), elector.healthy()]
            return [*asked, leadership.until]

        assert in_child(look) == [False, False, True, True, 0.0]
        assert elector.is_leader()

        elector_of_child = notes.elector(client, "child", on_started=None, on_stopped=None)
        assert in_child(lambda: elector_of_child.run(cancelled())) == "CANCELLED"
        assert not leadership.cancel.is_set()


# Other forms


def test_lead(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """lead() runs one function while it leads; when that returns, the Lease is given back."""
    found: list[tuple[int, str]] = []
    elector = notes.elector(client)
    assert elector.lead(lambda own: found.append((own.fencing, holder(api_server)))) is ElectionEnd.FINISHED
    assert found == [(0, "a")]
    assert notes.story == ["stopped True"]
    assert holder(api_server) == ""


def test_lead_again_after_a_loss(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """After a loss the function is called again; it ends when it is cancelled."""
    elector = notes.elector(client, **BRIEF)
    with running(elector, lambda cancel: elector.lead(notes.work, cancel)) as run:
        notes.wait("started")
        rule = api_server.fail_every(1, Fault.answer(500), path=PATH)
        notes.wait("ended")
        assert rule.hits
        api_server.clear_faults()
        notes.wait("started", 2)
        assert run.end() is ElectionEnd.CANCELLED


def test_controller(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """A controller runs while it leads, and what it is doing then ends before the Lease is given back.

    It is made from the leadership, so that it can fence what it writes.
    """
    held: list[str] = []
    fences: list[int] = []
    working, go_on = threading.Event(), threading.Event()

    def reconcile(key: kwsync.ObjectKey) -> None:
        working.set()
        assert go_on.wait(LIMIT)
        held.append(f"{key} {holder(api_server)}")

    def make(leadership: Leadership) -> kwsync.Controller[kwsync.ObjectKey]:
        controller: kwsync.Controller[kwsync.ObjectKey] = kwsync.Controller(reconcile)
        controller.watch(kwsync.Informer("configmaps", client=client, namespace="default"))
        fences.append(leadership.fencing)
        assert leadership.is_valid()
        return controller

    api_server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}, "default")
    elector = notes.elector(client)
    with running(elector, lambda cancel: elector.run_controller(make, cancel)) as run:
        assert working.wait(LIMIT)
        run.cancel.set()
        assert holder(api_server) == "a"
        go_on.set()
        assert run.join() is ElectionEnd.CANCELLED
    assert (held, fences) == (["default/one a"], [0])
    assert holder(api_server) == ""


def test_block(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """A block is the work: it leads from its beginning to its end, however that comes."""
    elector = notes.elector(client)
    with elector.leading() as leadership:
        assert (leadership.fencing, leadership.is_valid(), elector.is_leader()) == (0, True, True)
        assert holder(api_server) == "a"
    assert (leadership.is_valid(), holder(api_server)) == (False, "")
    with pytest.raises(LookupError), elector.leading() as leadership:
        raise LookupError
    assert (leadership.fencing, leadership.is_valid(), holder(api_server)) == (1, False, "")
    assert notes.story == ["stopped True", "stopped True"]


def test_block_that_loses(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """In a block a loss sets the token, once; the end of the block is a plain one."""
    with notes.elector(client, **BRIEF).leading() as leadership:
        api_server.fail_every(1, Fault.answer(500), path=PATH)
        assert leadership.cancel.wait(LIMIT)
        assert not leadership.is_valid()
    assert notes.story == ["stopped True"]


def test_block_that_is_cancelled(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """A cancellation inside of the block sets its token, and the Lease is held until the block ends."""
    cancel = threading.Event()
    with notes.elector(client).leading(cancel) as leadership:
        cancel.set()
        assert leadership.cancel.wait(LIMIT)
        assert leadership.is_valid()
        assert holder(api_server) == "a"
    assert holder(api_server) == ""


@pytest.mark.parametrize("when", ["before", "while it waits"])
def test_block_that_never_begins(api_server: ApiServer, client: Client, notes: Notes, when: str) -> None:
    """A cancellation before it leads is a CancelledError."""
    cancel = CancelToken()
    api_server.fail_every(1, Fault.late_headers(), path=PATH)
    timer = threading.Timer(0 if when == "before" else 0.1, cancel.set)
    timer.start()
    if when == "before":
        timer.join()
    with pytest.raises(CancelledError, match="before it led"), notes.elector(client).leading(cancel):
        pytest.fail("it leads")
    timer.join()
    assert notes.story == ["stopped False"]


def test_block_that_is_interrupted(api_server: ApiServer, client: Client, notes: Notes) -> None:
    """Ctrl-C while a block waits to begin ends the campaign, and nothing is left behind."""
    api_server.fail_every(1, Fault.late_headers(), path=PATH)
    with (
        handling(signal.SIGINT, signal.default_int_handler),
        interrupting(signal.SIGINT, lambda: len(api_server.requests) > 0),
        pytest.raises(KeyboardInterrupt),
        notes.elector(client).leading(),
    ):
        pytest.fail("it leads")
    assert notes.story == ["stopped False"]


def test_no_thread_to_be_had(
    api_server: ApiServer, client: Client, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system has no thread for the work, the Lease is given back and run() raises OSError."""

    def refuse(thread: threading.Thread) -> None:
        raise OSError("no further thread")

    monkeypatch.setattr(_threads, "start", refuse)
    with pytest.raises(OSError, match="no further thread"):
        notes.elector(client, on_new_leader=None).run()
    assert holder(api_server) == ""
    assert notes.story == ["stopped True"]


def test_error_is_a_watch_error(client: Client, api_server: ApiServer) -> None:
    """The errors that are told are values like those of a watch."""
    errors: list[WatchError] = []
    api_server.fail_next(Fault.answer(429, retry_after=1), path=PATH)
    elector = Notes().elector(client, on_error=errors.append)
    since = time.monotonic()
    with elector.leading():
        assert time.monotonic() - since >= 1, "it did not wait as long as it was asked to"
    assert [error.retry_after for error in errors] == [1.0]
