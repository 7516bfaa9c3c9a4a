"""`retry_on_conflict` (B120) and `update`: no change of anybody is lost, and nothing is written twice."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from kwsync import Backoff, CancelledError, CancelToken, Client, WatchError, retry_on_conflict, update
from kwsync.errors import ErrorOrigin, ErrorType, status_error
from kwsync.testing import ApiServer, Fault
from tests.contract.support import fresh_namespace, new_pod
from tests.writing.support import AT_ONCE, LIMIT, Object, config_map, failure, in_background, sent, together, wait_until

PATIENTLY = Backoff(initial=60.0)

Change = Callable[[Object], Object | None]


def error(reason: str, code: int = 409) -> WatchError:
    """As a server's Status tells it."""
    return status_error({"kind": "Status", "reason": reason, "code": code}, ErrorOrigin.HTTP, path="/")


class Failing:
    """Raises these, one at each call, and then returns 7."""

    def __init__(self, *raised: BaseException) -> None:
        self._raised = list(raised)
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        if self._raised:
            raise self._raised.pop(0)
        return 7


def setting(cancel: threading.Event, when: Callable[[], bool]) -> AbstractContextManager[threading.Thread]:
    """Set an event during the block, as soon as *when* says so."""

    def work() -> None:
        wait_until(when, "the moment to cancel")
        cancel.set()

    return in_background(work)


def count(object: Object) -> None:
    """One more."""
    object["data"]["count"] = str(int(object["data"]["count"]) + 1)


class TestRetryOnConflict:
    def test_b120_default(self) -> None:
        """Five tries, 10 ms apart and up to a tenth more by chance; then the last conflict is raised."""
        conflicts = [error("Conflict") for _ in range(9)]
        write, start = Failing(*conflicts), time.monotonic()
        assert failure(lambda: retry_on_conflict(write)) is conflicts[4]
        assert write.calls == 5
        assert 0.04 <= time.monotonic() - start < AT_ONCE

    def test_b120_other_waits(self) -> None:
        """Fewer tries with waits that grow, as for client-go's DefaultBackoff: 10, 50 and 250 ms."""
        write, start = Failing(*[error("Conflict")] * 9), time.monotonic()
        failure(lambda: retry_on_conflict(write, attempts=4, backoff=Backoff(initial=0.01, factor=5, jitter=0.1)))
        assert write.calls == 4
        assert time.monotonic() - start >= 0.31

    def test_returns(self) -> None:
        """What the function returns when it meets no conflict any more."""
        write = Failing(*[error("Conflict")] * 4)
        assert (retry_on_conflict(write), write.calls) == (7, 5)

    @pytest.mark.parametrize(
        "raised",
        [error("AlreadyExists"), error("NotFound", 404), error("", 500), error("Invalid", 422), KeyError("a")],
        ids=str,
    )
    def test_others_are_raised(self, raised: Exception) -> None:
        """Nothing but a conflict is tried again, AlreadyExists least of all."""
        write = Failing(raised)
        with pytest.raises(type(raised)) as caught:
            retry_on_conflict(write)
        assert (caught.value, write.calls) == (raised, 1)

    def test_without_reason(self) -> None:
        """A 409 without a reason, as a server in between may send it, counts as a conflict."""
        assert retry_on_conflict(Failing(error(""))) == 7

    @pytest.mark.parametrize("make", [CancelToken, threading.Event])
    def test_cancel(self, make: Callable[[], threading.Event]) -> None:
        """Set before, nothing is called; set in a wait, it ends at once."""
        cancel = make()
        write = Failing(*[error("Conflict")] * 9)
        with setting(cancel, lambda: write.calls == 1), pytest.raises(CancelledError):
            retry_on_conflict(write, backoff=PATIENTLY, cancel=cancel)
        with pytest.raises(CancelledError):
            retry_on_conflict(write, cancel=cancel)
        assert write.calls == 1

    def test_timeout(self) -> None:
        """When the time is over before the next try, the last conflict is raised."""
        start = time.monotonic()
        found = failure(lambda: retry_on_conflict(Failing(*[error("Conflict")] * 9), backoff=PATIENTLY, timeout=0.02))
        assert found.reason == "Conflict"
        assert time.monotonic() - start < AT_ONCE

    @pytest.mark.parametrize("options", [{"attempts": 1.5}, {"attempts": True}, {"attempts": "3"}, {"backoff": 5}])
    def test_options_of_another_kind(self, options: dict[str, Any]) -> None:
        """They are told at once, and not after the first conflict."""
        write = Failing()
        with pytest.raises(TypeError):
            retry_on_conflict(write, **options)
        assert write.calls == 0

    @pytest.mark.parametrize("options", [{"attempts": 0}, {"timeout": 0}, {"timeout": -1.0}])
    def test_bad_options(self, options: Any) -> None:
        """What makes no sense raises ValueError, and nothing is called."""
        write = Failing()
        with pytest.raises(ValueError, match="must be"):
            retry_on_conflict(write, **options)
        with pytest.raises(TypeError, match="cancel"):
            retry_on_conflict(write, cancel=lambda: True)  # type: ignore[arg-type]
        assert write.calls == 0


class TestUpdate:
    @pytest.mark.parametrize(
        "change", [count, lambda found: {**found, "data": {"count": "1"}}], ids=["in place", "new"]
    )
    def test_changes(self, admin: Client, namespace: str, change: Change) -> None:
        """The object is changed in place or replaced by what is returned; the answer is the object as stored."""
        config_map(admin, namespace)
        found = update(admin, "configmaps", "a", namespace, change)
        assert found["data"] == {"count": "1"}
        assert found == admin.get("configmaps", "a", namespace)

    def test_conflict(self, admin: Client, namespace: str) -> None:
        """Who was faster is not overwritten, also where the new object names no version: it is changed anew."""
        config_map(admin, namespace)
        seen = []

        def change(found: Object) -> Object:
            seen.append(found["data"]["count"])
            if len(seen) < 3:
                admin.patch("configmaps", "a", {"data": {"count": str(10 * len(seen))}}, namespace)
            return {"metadata": {"name": "a", "namespace": namespace}, "data": {"count": found["data"]["count"] + "!"}}

        assert update(admin, "configmaps", "a", namespace, change)["data"] == {"count": "20!"}
        assert seen == ["0", "10", "20"]

    def test_nothing_to_write(self, admin: Client, namespace: str) -> None:
        """What is equal afterwards is not written, and returned as it was found."""
        before = config_map(admin, namespace)
        assert update(admin, "configmaps", "a", namespace, dict) == before

    def test_status(self, admin: Client, namespace: str) -> None:
        """With the subresource status the status is written, and not the spec."""
        admin.create("pods", new_pod("a"), namespace)

        def change(found: Object) -> None:
            found["status"]["phase"] = "Running"
            found["spec"]["activeDeadlineSeconds"] = 5

        update(admin, "pods", "a", namespace, change, subresource="status")
        found = admin.get("pods", "a", namespace)
        assert found["status"]["phase"] == "Running"
        assert "activeDeadlineSeconds" not in found["spec"]

    def test_scale(self, admin: Client, namespace: str) -> None:
        """Another subresource is read and written as an object of its own."""
        labels = {"app": "a"}
        template = {"metadata": {"labels": labels}, "spec": new_pod("a")["spec"]}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        admin.create("deployments", {"metadata": {"name": "a"}, "spec": spec}, namespace)
        found = update(
            admin, "deployments", "a", namespace, lambda scale: scale["spec"].update(replicas=3), subresource="scale"
        )
        assert found["kind"] == "Scale"
        assert admin.get("deployments", "a", namespace)["spec"]["replicas"] == 3

    def test_without_namespace(self, admin: Client, namespace: str) -> None:
        """Objects that have no namespace are named without one."""

        def change(found: Object) -> None:
            found["metadata"].setdefault("labels", {})["changed"] = "yes"

        assert update(admin, "namespaces", namespace, None, change)["metadata"]["labels"]["changed"] == "yes"

    def test_missing(self, admin: Client, namespace: str) -> None:
        """An object that is not there is a 404, and is not made."""
        assert failure(lambda: update(admin, "configmaps", "a", namespace, count)).status_code == 404

    @pytest.mark.parametrize(
        ("change", "raised"),
        [
            (lambda found: found["metadata"].update(name="b"), ValueError),
            (lambda found: found["metadata"].update(namespace="default"), ValueError),
            (lambda found: found.pop("metadata") and None, ValueError),
            (lambda found: "text", TypeError),
            (lambda found: found["no"], KeyError),
        ],
    )
    def test_bad_change(self, admin: Client, namespace: str, change: Any, raised: type[Exception]) -> None:
        """Another name, no object, and whatever the function raises: nothing is written."""
        before = config_map(admin, namespace)
        with pytest.raises(raised):
            update(admin, "configmaps", "a", namespace, change)
        assert admin.get("configmaps", "a", namespace) == before

    @pytest.mark.parametrize("seed", range(3))
    def test_eight_threads(self, admin: Client, namespace: str, seed: int) -> None:
        """Of eight threads that change one object at once, in its data or its labels, no change is lost."""
        chance = random.Random(seed)
        config_map(admin, namespace)
        kinds = [[chance.choice(["count", "label", "nothing"]) for _ in range(5)] for _ in range(8)]

        def work(thread: int) -> None:
            for number, kind in enumerate(kinds[thread]):
                label = f"of-{thread}-{number}"

                def change(found: Object, kind: str = kind, label: str = label) -> None:
                    if kind == "count":
                        count(found)
                    elif kind == "label":
                        found["metadata"].setdefault("labels", {})[label] = "yes"

                update(admin, "configmaps", "a", namespace, change, attempts=1000, timeout=2 * LIMIT)

        together([lambda thread=thread: work(thread) for thread in range(8)])  # type: ignore[misc]
        found = admin.get("configmaps", "a", namespace)
        flat = [(f"of-{thread}-{number}", kind) for thread in range(8) for number, kind in enumerate(kinds[thread])]
        assert found["data"]["count"] == str(sum(kind == "count" for _, kind in flat))
        assert set(found["metadata"].get("labels", {})) == {label for label, kind in flat if kind == "label"}

    def test_other_namespace(self, admin: Client, namespace: str) -> None:
        """An object of the same name elsewhere is another."""
        config_map(admin, namespace)
        with fresh_namespace(admin) as other:
            before = config_map(admin, other)
            update(admin, "configmaps", "a", namespace, count)
            assert admin.get("configmaps", "a", other) == before


class TestTrouble:
    def test_four_conflicts(self, api_server: ApiServer, client: Client) -> None:
        """The fifth try is the last: four conflicts are survived, each with a fresh read."""
        config_map(client, "default")
        api_server.fail_next(Fault.answer(409), verb="update", times=4)
        assert update(client, "configmaps", "a", "default", count)["data"] == {"count": "1"}
        assert sent(api_server, "GET", "PUT") == ["GET", "PUT"] * 5

    def test_storm(self, api_server: ApiServer, client: Client) -> None:
        """A server that answers with conflicts alone gets five requests, and its last answer is raised."""
        config_map(client, "default")
        api_server.fail_every(1, Fault.answer(409), verb="update")
        found = failure(lambda: update(client, "configmaps", "a", "default", count))
        assert (found.status_code, found.reason) == (409, "Conflict")
        assert sent(api_server, "PUT") == ["PUT"] * 5

    def test_nothing_is_written(self, api_server: ApiServer, client: Client) -> None:
        """A change that changes nothing costs one read."""
        config_map(client, "default")
        update(client, "configmaps", "a", "default", lambda found: None)
        assert sent(api_server) == ["POST", "GET"]

    def test_server_error(self, api_server: ApiServer, client: Client) -> None:
        """A 500 is raised at once."""
        config_map(client, "default")
        api_server.fail_next(Fault.answer(500), verb="update", times=9)
        assert failure(lambda: update(client, "configmaps", "a", "default", count)).status_code == 500
        assert sent(api_server, "PUT") == ["PUT"]

    def test_lost_answer(self, api_server: ApiServer, client: Client) -> None:
        """A write whose answer is lost is not repeated: it may have been done, as here."""
        config_map(client, "default")
        api_server.fail_next(Fault.drop(after=0), verb="update", times=9)
        assert failure(lambda: update(client, "configmaps", "a", "default", count)).origin is ErrorOrigin.NETWORK
        assert client.get("configmaps", "a", "default")["data"] == {"count": "1"}
        assert sent(api_server, "PUT") == ["PUT"]

    def test_server_away(self, api_server: ApiServer, client: Client) -> None:
        """A server that is not there is an error, after one try."""
        api_server.stop()
        found = failure(lambda: update(client, "configmaps", "a", "default", count, backoff=PATIENTLY))
        assert (found.origin, found.error_type) == (ErrorOrigin.NETWORK, ErrorType.SYSTEM_ERROR)

    @pytest.mark.parametrize("verb", ["get", "update"])
    def test_stall(self, api_server: ApiServer, client: Client, verb: str) -> None:
        """The timeout is for all requests together, whichever hangs; and cancelling ends each at once."""
        config_map(client, "default")
        api_server.fail_every(1, Fault.late_headers(), verb=verb)
        found = failure(lambda: update(client, "configmaps", "a", "default", count, timeout=0.1))
        assert found.origin is ErrorOrigin.TIMEOUT
        cancel, before = CancelToken(), len(api_server.requests)
        start = time.monotonic()
        with setting(cancel, lambda: len(api_server.requests) > before), pytest.raises(CancelledError):
            update(client, "configmaps", "a", "default", count, cancel=cancel)
        assert time.monotonic() - start < AT_ONCE

    def test_cancelled_before(self, api_server: ApiServer, client: Client) -> None:
        """What is cancelled before sends nothing."""
        cancel = CancelToken()
        cancel.set()
        with pytest.raises(CancelledError):
            update(client, "configmaps", "a", "default", count, cancel=cancel)
        assert sent(api_server) == []

    def test_timeout_between_tries(self, api_server: ApiServer, client: Client) -> None:
        """The time that is left after a conflict is what the next requests have."""
        config_map(client, "default")
        api_server.fail_every(1, Fault.answer(409), verb="update")
        start = time.monotonic()
        found = failure(lambda: update(client, "configmaps", "a", "default", count, attempts=10**6, timeout=0.2))
        assert found.reason == "Conflict" or found.origin is ErrorOrigin.TIMEOUT
        assert 0.1 < time.monotonic() - start < 0.2 + AT_ONCE
