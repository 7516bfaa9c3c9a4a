"""Finalizers: nobody's is lost, whatever others do to the object meanwhile."""

from __future__ import annotations

import random
import time
import uuid
from typing import Any

import pytest

from kwsync import Client, add_finalizer, has_finalizer, is_deleting, remove_finalizer, update
from kwsync.errors import ErrorOrigin
from kwsync.testing import ApiServer, Fault
from tests.contract.support import new_object
from tests.writing.support import AT_ONCE, LIMIT, Object, config_map, failure, sent, together

ONE, TWO, THREE = (f"example.com/{name}" for name in ("one", "two", "three"))


def finalizers(client: Client, namespace: str) -> list[str]:
    """Those that are stored."""
    found: list[str] = client.get("configmaps", "a", namespace)["metadata"].get("finalizers", [])
    return found


def clear(client: Client, namespace: str) -> None:
    """Let the object go."""
    client.patch("configmaps", "a", {"metadata": {"finalizers": None}}, namespace)


class TestAsking:
    def test_has(self) -> None:
        """An object has the finalizers of its list; without a list none."""
        object = new_object("a", finalizers=[ONE])
        assert (has_finalizer(object, ONE), has_finalizer(object, TWO)) == (True, False)
        assert not has_finalizer(new_object("a"), ONE)
        assert not has_finalizer(new_object("a", finalizers=None), ONE)

    def test_is_deleting(self) -> None:
        """An object with a deletionTimestamp is being deleted."""
        assert is_deleting(new_object("a", deletionTimestamp="2026-01-02T03:04:05Z"))
        assert not is_deleting(new_object("a"))

    def test_no_object(self) -> None:
        """What is no object is refused."""
        with pytest.raises(TypeError, match="mapping"):
            is_deleting("a")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="no metadata"):
            has_finalizer({}, ONE)


class TestAdding:
    def test_first_and_further(self, admin: Client, namespace: str) -> None:
        """The first makes the list, further ones go behind; the answer is the object as stored."""
        object = config_map(admin, namespace)
        assert "finalizers" not in object["metadata"]
        for finalizer in (ONE, TWO):
            object = add_finalizer(admin, object, finalizer)
            assert object == admin.get("configmaps", "a", namespace)
        assert object["metadata"]["finalizers"] == [ONE, TWO]

    def test_old_object(self, admin: Client, namespace: str) -> None:
        """An object that was read before others changed it is enough, and what they did stays."""
        old = config_map(admin, namespace)
        add_finalizer(admin, old, ONE)
        admin.patch("configmaps", "a", {"data": {"count": "5"}}, namespace)
        found = add_finalizer(admin, old, TWO)
        assert found["metadata"]["finalizers"] == [ONE, TWO]
        assert found["data"] == {"count": "5"}
        assert add_finalizer(admin, old, ONE) == found

    def test_there_already(self, admin: Client, namespace: str) -> None:
        """What was added since the object was read is not added again."""
        old = config_map(admin, namespace, finalizers=[TWO])
        add_finalizer(admin, old, ONE)
        assert add_finalizer(admin, old, ONE)["metadata"]["finalizers"] == [TWO, ONE]
        clear(admin, namespace)

    def test_without_namespace(self, admin: Client, namespace: str) -> None:
        """Objects without a namespace have finalizers, too."""
        node = admin.create("nodes", new_object(f"node-{uuid.uuid4().hex[:12]}"))
        node = add_finalizer(admin, node, ONE)
        assert node["metadata"]["finalizers"] == [ONE]
        remove_finalizer(admin, node, ONE)
        admin.delete("nodes", node["metadata"]["name"])

    def test_deleting(self, admin: Client, namespace: str) -> None:
        """An object that is being deleted gets none any more, and the server says why."""
        object = add_finalizer(admin, config_map(admin, namespace), ONE)
        admin.delete("configmaps", "a", namespace)
        for known in (object, admin.get("configmaps", "a", namespace)):
            error = failure(lambda known=known: add_finalizer(admin, known, TWO))  # type: ignore[misc]
            assert (error.status_code, error.reason) == (422, "Invalid")
            assert "no new finalizers can be added if the object is being deleted" in str(error)
            assert finalizers(admin, namespace) == [ONE]
        assert add_finalizer(admin, object, ONE) == object
        clear(admin, namespace)

    @pytest.mark.parametrize("again", [False, True])
    def test_gone(self, admin: Client, namespace: str, again: bool) -> None:
        """An object that is gone is a 404, also where another has its name now, which gets nothing."""
        old = config_map(admin, namespace)
        admin.delete("configmaps", "a", namespace)
        new = config_map(admin, namespace) if again else None
        error = failure(lambda: add_finalizer(admin, old, ONE))
        assert (error.status_code, error.reason) == (404, "NotFound")
        if again:
            assert admin.get("configmaps", "a", namespace) == new

    def test_bad_name(self, admin: Client, namespace: str) -> None:
        """A name without a domain is refused by the server, and its words are raised."""
        error = failure(lambda: add_finalizer(admin, config_map(admin, namespace), "short"))
        assert error.status_code == 422
        assert "short" in error.message

    def test_unread_object(self, client: Client) -> None:
        """An object that was never read, or says not what it is, is a ValueError."""
        with pytest.raises(ValueError, match="uid"):
            add_finalizer(client, {"apiVersion": "v1", "kind": "ConfigMap", **new_object("a")}, ONE)
        with pytest.raises(ValueError, match="kind"):
            remove_finalizer(client, new_object("a", uid="1", finalizers=[ONE]), ONE)


class TestRemoving:
    @pytest.mark.parametrize("which", [ONE, TWO, THREE])
    def test_only_this(self, admin: Client, namespace: str, which: str) -> None:
        """The others stay, in their order."""
        object = config_map(admin, namespace, finalizers=[ONE, TWO, THREE])
        found = remove_finalizer(admin, object, which)
        rest = [each for each in (ONE, TWO, THREE) if each != which]
        assert found == admin.get("configmaps", "a", namespace)
        assert finalizers(admin, namespace) == rest
        clear(admin, namespace)

    def test_old_object(self, admin: Client, namespace: str) -> None:
        """An object that was read before the list was changed is enough: what stands at its place now is not taken."""
        old = config_map(admin, namespace, finalizers=[ONE, TWO])
        update(admin, "configmaps", "a", namespace, lambda now: now["metadata"].update(finalizers=[TWO, THREE, ONE]))
        remove_finalizer(admin, old, ONE)
        assert finalizers(admin, namespace) == [TWO, THREE]
        remove_finalizer(admin, old, ONE)
        assert finalizers(admin, namespace) == [TWO, THREE]
        clear(admin, namespace)

    def test_last_of_a_deleted_object(self, admin: Client, namespace: str) -> None:
        """With the last one the object goes, although the answer shows it (A8); once more is fine."""
        object = config_map(admin, namespace, finalizers=[ONE])
        admin.delete("configmaps", "a", namespace)
        assert remove_finalizer(admin, object, ONE) is not None
        assert failure(lambda: admin.get("configmaps", "a", namespace)).status_code == 404
        assert remove_finalizer(admin, object, ONE) is None

    def test_another_of_its_name(self, admin: Client, namespace: str) -> None:
        """Another object that has the name now keeps its finalizer."""
        old = config_map(admin, namespace, finalizers=[ONE])
        clear(admin, namespace)
        admin.delete("configmaps", "a", namespace)
        config_map(admin, namespace, finalizers=[ONE])
        assert remove_finalizer(admin, old, ONE) is None
        assert finalizers(admin, namespace) == [ONE]
        clear(admin, namespace)


@pytest.mark.parametrize("seed", range(3))
def test_eight_threads(admin: Client, namespace: str, seed: int) -> None:
    """Eight threads add and remove their finalizers, some with old objects, while the object is written all the time:
    at the end there are those whose owner added them last.
    """
    first = config_map(admin, namespace, finalizers=[ONE])
    steps = [[random.Random(seed * 8 + thread).random() < 0.5 for _ in range(6)] for thread in range(8)]

    def work(thread: int) -> None:
        finalizer, known, chance = f"example.com/of-{thread}", first, random.Random(thread)
        for adds in [*steps[thread], thread % 2 == 0]:
            change = add_finalizer if adds else remove_finalizer
            if adds == has_finalizer(known, finalizer):
                known = admin.get("configmaps", "a", namespace)
            known = change(admin, known, finalizer, attempts=1000, timeout=2 * LIMIT) or known
            if chance.random() < 0.3:
                admin.patch("configmaps", "a", {"data": {f"of-{thread}": uuid.uuid4().hex}}, namespace)

    together([lambda thread=thread: work(thread) for thread in range(8)])  # type: ignore[misc]
    assert sorted(finalizers(admin, namespace)) == sorted([ONE, *(f"example.com/of-{n}" for n in range(0, 8, 2))])
    clear(admin, namespace)


class TestTrouble:
    def test_requests(self, api_server: ApiServer, client: Client) -> None:
        """A fresh object costs one request, an old one three; where there is nothing to do there is none."""
        object = config_map(client, "default")
        found = add_finalizer(client, object, ONE)
        assert sent(api_server) == ["POST", "PATCH"]
        assert add_finalizer(client, found, ONE) == found
        assert remove_finalizer(client, object, ONE) == object
        assert sent(api_server) == ["POST", "PATCH"]
        add_finalizer(client, object, TWO)
        assert sent(api_server)[2:] == ["PATCH", "GET", "PATCH"]

    def test_refusal_is_not_repeated(self, api_server: ApiServer, client: Client) -> None:
        """A 422 that tells its causes is no matter of an old object: it is raised at once."""
        object = config_map(client, "default")
        failure(lambda: add_finalizer(client, object, "short"))
        assert sent(api_server) == ["POST", "PATCH"]

    @pytest.mark.parametrize("code", [409, 422])
    def test_storm(self, api_server: ApiServer, client: Client, code: int) -> None:
        """A server that refuses every patch as made for another state gets five."""
        object = config_map(client, "default")
        api_server.fail_every(1, Fault.answer(code), verb="patch")
        assert failure(lambda: add_finalizer(client, object, ONE)).status_code == code
        assert sent(api_server, "PATCH") == ["PATCH"] * 5

    def test_lost_answer(self, api_server: ApiServer, client: Client) -> None:
        """A patch whose answer is lost is an error; to do it again with the old object changes nothing."""
        object = config_map(client, "default")
        api_server.fail_next(Fault.drop(after=0), verb="patch")
        assert failure(lambda: add_finalizer(client, object, ONE)).origin is ErrorOrigin.NETWORK
        assert add_finalizer(client, object, ONE)["metadata"]["finalizers"] == [ONE]

    def test_stall(self, api_server: ApiServer, client: Client) -> None:
        """The timeout is for all requests together."""
        object = config_map(client, "default")
        api_server.fail_every(1, Fault.late_headers(), verb="patch")
        start = time.monotonic()
        assert failure(lambda: add_finalizer(client, object, ONE, timeout=0.1)).origin is ErrorOrigin.TIMEOUT
        assert time.monotonic() - start < AT_ONCE

    def test_custom_resource(self, api_server: ApiServer, client: Client, crontabs: Object) -> None:
        """A kind that is not built in is found by what the object says it is."""
        object = client.create("crontabs.stable.example.com", {**crontabs, **new_object("a")}, "default")
        assert add_finalizer(client, object, ONE)["metadata"]["finalizers"] == [ONE]

    def test_other_resource(self, client: Client) -> None:
        """The resource that is given counts."""
        object: dict[str, Any] = config_map(client, "default")
        del object["kind"]
        assert has_finalizer(add_finalizer(client, object, ONE, resource="configmaps"), ONE)
