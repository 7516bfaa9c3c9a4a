"""Where a watch begins: the matrix of versions, and the starts that the server refuses."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kwsync import Client, EndReason, ErrorOrigin, ErrorType, WatchEnd, watch_resource
from tests.contract.servers import ContractServer
from tests.contract.support import FUTURE, Place, error_of, failure, object_of, told, types, version_of

END = WatchEnd(EndReason.SERVER_CLOSED)


class TestFromAVersion:
    def test_changes(self, maps: Place) -> None:
        """A2, A3: from a list's version come the changes after it, in order, each with its own version and no other."""
        maps.create("before")
        start = maps.version()
        created = version_of(maps.create("a"))
        other = version_of(maps.create("b"))
        changed = version_of(maps.change("a"))
        maps.delete("a")
        found = maps.first(4, resource_version=start)
        assert told(found)[:3] == [("ADDED", "a", created), ("ADDED", "b", other), ("MODIFIED", "a", changed)]
        deleted = found[3]
        assert (deleted.type, deleted.key.name) == ("DELETED", "a")
        assert int(deleted.resource_version or 0) > int(changed)
        assert [event.initial for event in found] == [False] * 4

    def test_objects(self, maps: Place) -> None:
        """A3: an event's object is the object as a write returned it; DELETED has the content from before."""
        start = maps.version()
        created, changed = maps.create("a", labels={"x": "y"}), maps.change("a")
        maps.delete("a")
        added, modified, deleted = maps.first(3, resource_version=start)
        assert (added.object, modified.object) == (created, changed)
        metadata = {**changed["metadata"], "resourceVersion": deleted.resource_version}
        assert object_of(deleted)["metadata"] == metadata

    def test_each_start(self, maps: Place) -> None:
        """A2: a watch from any version of the past gives exactly what came after it."""
        versions = [version_of(maps.create(name)) for name in "abcde"]
        for index, version in enumerate(versions):
            rest = [("ADDED", name, other) for name, other in zip("abcde", versions, strict=True)][index + 1 :]
            stream = maps.watch(resource_version=version)
            with stream:
                assert told([next(stream) for _ in rest]) == rest
                assert stream.resource_version == versions[-1]

    def test_resume_version(self, maps: Place) -> None:
        """The stream's version is that of the last event delivered, and of the start before the first."""
        start = maps.version()
        expected = [version_of(maps.create(name)) for name in "ab"]
        with maps.watch(resource_version=start) as stream:
            seen = [stream.resource_version]
            for _ in expected:
                next(stream)
                seen.append(stream.resource_version)
        assert seen == [start, *expected]

    def test_resume_by_hand(self, maps: Place) -> None:
        """A2: watches that are broken off and resumed at the stream's version tell every change once."""
        version: str | None = maps.version()
        expected: list[tuple[str, str, str]] = []
        found: list[tuple[str, str, str | None]] = []
        for turn in range(12):
            expected += [("ADDED", name, version_of(maps.create(name))) for name in (f"a{turn}", f"b{turn}")]
            expected.append(("MODIFIED", "a0", version_of(maps.change("a0"))))
            with maps.watch(resource_version=version) as stream:
                found += told([next(stream) for _ in range(2 if turn < 11 else len(expected) - len(found))])
                version = stream.resource_version
        assert found == expected

    def test_future(self, maps: Place) -> None:
        """A2: from a version that has not come the server is silent, also about changes, and closes cleanly."""
        stream = maps.watch(resource_version=FUTURE, timeout_seconds=1)
        maps.create("a")
        assert (list(stream), stream.end) == ([], END)
        assert stream.resource_version == FUTURE

    def test_too_old(self, contract_server: ContractServer, events: Place) -> None:
        """A3, A4, D18: a version that is gone is 410 Expired: an ERROR event in a stream that began with 200."""
        contract_server.need("compaction")
        start = events.version()
        for name in "abc":
            events.create(name)
        contract_server.compact()
        stream = events.watch(resource_version=start)
        error = error_of(list(stream))
        assert (error.status_code, error.reason, error.origin) == (410, "Expired", ErrorOrigin.STREAM)
        assert error.is_expired
        assert not error.is_permanent
        assert error.resource_path == f"/api/v1/namespaces/{events.namespace}/events"
        assert stream.end == WatchEnd(EndReason.SERVER_CLOSED, error)
        assert stream.resource_version == start

    def test_history_of_cached_kinds(self, contract_server: ContractServer, maps: Place) -> None:
        """D18: what etcd has forgotten is still told for a kind that the server caches."""
        contract_server.need("compaction")
        start = maps.version()
        versions = [version_of(maps.create(name)) for name in "abc"]
        contract_server.compact()
        assert [version for _, _, version in told(maps.first(3, resource_version=start))] == versions


class TestInitialState:
    @pytest.mark.parametrize("version", [None, "0"])
    def test_synthetic(self, either: Place, version: str | None) -> None:
        """A2: without a version, and from 0, the state comes as ADDED in the order of names, then the changes."""
        created = {name: version_of(either.create(name)) for name in "cab"}
        either.version()
        with either.watch(resource_version=version) as stream:
            first = [next(stream) for _ in range(3)]
            assert told(first) == [("ADDED", name, created[name]) for name in "abc"]
            assert [event.initial for event in first] == [False] * 3
            assert stream.resource_version is None
            changed = version_of(either.change("b"))
            assert told([next(stream)]) == [("MODIFIED", "b", changed)]
            assert stream.resource_version == changed

    @pytest.mark.parametrize("version", [None, "0", "now"])
    def test_marked(self, either: Place, version: str | None) -> None:
        """A2: with send_initial_events the state comes marked as such, then a bookmark ends it, then the changes."""
        created = {name: version_of(either.create(name)) for name in "ba"}
        now = either.version()
        given = now if version == "now" else version
        with either.watch(resource_version=given, send_initial_events=True) as stream:
            found = [next(stream) for _ in range(3)]
            assert told(found)[:2] == [("ADDED", name, created[name]) for name in "ab"]
            assert (types(found)[2], [event.initial for event in found]) == ("BOOKMARK", [True, True, False])
            annotations = object_of(found[2])["metadata"]["annotations"]
            assert annotations["k8s.io/initial-events-end"] == "true"
            assert int(found[2].resource_version or 0) >= int(now)
            assert stream.resource_version == found[2].resource_version
            live = version_of(either.create("c"))
            event = next(stream)
            assert (told([event]), event.initial) == ([("ADDED", "c", live)], False)

    def test_empty(self, maps: Place) -> None:
        """A2: an empty state is told by its bookmark alone, at once."""
        (event,) = maps.first(1, send_initial_events=True)
        assert types([event]) == ["BOOKMARK"]

    def test_bookmark_of_a_plain_watch(self, maps: Place) -> None:
        """A2: since WatchList a watch without a version that allows bookmarks learns where its initial part ends."""
        maps.create("a")
        maps.version()
        with maps.watch(allow_watch_bookmarks=True) as stream:
            added, bookmark = next(stream), next(stream)
            assert types([added, bookmark]) == ["ADDED", "BOOKMARK"]
            assert object_of(bookmark)["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
            assert stream.resource_version == bookmark.resource_version

    @pytest.mark.parametrize("version", [None, "0", "now"])
    def test_none(self, maps: Place, version: str | None) -> None:
        """A2: with send_initial_events=False no state comes: from a version the changes after it, else from now on."""
        maps.create("a")
        now = maps.version()
        late = version_of(maps.create("b"))
        maps.version()
        found, end = maps.all(
            resource_version=now if version == "now" else version,
            send_initial_events=False,
            resource_version_match="NotOlderThan",
        )
        assert told(found) == ([("ADDED", "b", late)] if version == "now" else [])
        assert end == END

    def test_too_old(self, contract_server: ContractServer, events: Place) -> None:
        """A2: with send_initial_events a version that is gone is no error, since the state comes anyway."""
        contract_server.need("compaction")
        start = events.version()
        for name in "ab":
            events.create(name)
        contract_server.compact()
        found = events.first(3, resource_version=start, send_initial_events=True)
        assert types(found) == ["ADDED", "ADDED", "BOOKMARK"]
        error = error_of(
            events.first(2, resource_version=start, send_initial_events=False, resource_version_match="NotOlderThan")
        )
        assert error.is_expired

    def test_too_new(self, contract_server: ContractServer, events: Place) -> None:
        """A2, D6: a state of the future is an ERROR 504 with a time to wait; for events at once."""
        contract_server.need("uncached events")
        stream = events.watch(resource_version=FUTURE, send_initial_events=True)
        start = time.monotonic()
        error = error_of(list(stream))
        assert time.monotonic() - start < 2
        assert (error.status_code, error.reason, error.origin) == (504, "Timeout", ErrorOrigin.STREAM)
        assert error.retry_after is not None
        assert not error.is_expired
        assert stream.end == WatchEnd(EndReason.SERVER_CLOSED, error)


class TestRefused:
    @pytest.mark.parametrize("version", ["x", "-1", "1.5", "99999999999999999999999"])
    def test_unparsable(self, maps: Place, version: str) -> None:
        """D1: a version that is no number is HTTP 500 with an empty reason, before any stream, and permanent."""
        stream = maps.watch(resource_version=version)
        error = error_of(list(stream))
        assert (error.status_code, error.reason, error.origin) == (500, "", ErrorOrigin.HTTP)
        assert error.error_type is ErrorType.SYSTEM_ERROR
        assert error.is_permanent
        assert stream.end == WatchEnd(EndReason.ERROR, error)

    @pytest.mark.parametrize(
        "query",
        [
            pytest.param({"resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"}, id="match-alone"),
            pytest.param({"sendInitialEvents": "true"}, id="no-match"),
            pytest.param({"sendInitialEvents": "true", "resourceVersionMatch": "Exact"}, id="exact"),
        ],
    )
    def test_options(self, maps: Place, query: dict[str, str]) -> None:
        """A1: combinations that mean nothing are 422 Invalid; kwsync refuses them itself, so this asks without it."""
        path = f"/api/v1/namespaces/{maps.namespace}/configmaps"
        error = failure(lambda: maps.client.request("GET", path, query={"watch": "true", **query}))
        assert (error.status_code, error.reason) == (422, "Invalid")
        assert error.is_permanent

    @pytest.mark.parametrize("selector", [{"field_selector": "spec.x=1"}, {"label_selector": "a in"}])
    def test_selector(self, maps: Place, selector: dict[str, Any]) -> None:
        """A4, A10: a selector that the server cannot read is 400 BadRequest."""
        error = error_of(list(maps.watch(**selector)))
        assert (error.error_type, error.reason) == (ErrorType.BAD_REQUEST, "BadRequest")
        assert error.is_permanent

    def test_on_an_object(self, maps: Place) -> None:
        """A1: watch= on the path of one object means nothing: the object comes."""
        created = maps.create("a")
        path = f"/api/v1/namespaces/{maps.namespace}/configmaps/a"
        assert maps.client.request("GET", path, query={"watch": "true"}) == created


class TestEnd:
    @pytest.mark.parametrize("version", ["now", None])
    def test_timeout(self, either: Place, version: str | None) -> None:
        """A1: timeoutSeconds ends a watch cleanly, on the second, without an ERROR; a version stays to resume from."""
        now = either.version()
        stream = either.watch(resource_version=now if version else None, timeout_seconds=1)
        start = time.monotonic()
        assert list(stream) == []
        assert 0.9 < time.monotonic() - start < 2.5
        assert stream.end == END
        assert stream.resource_version == (now if version else None)

    def test_missing_namespace(self, admin: Client) -> None:
        """A3: a namespace that does not exist is watched in silence."""
        stream = watch_resource("configmaps", client=admin, namespace="nobody-made-this", timeout_seconds=1)
        assert (list(stream), stream.end) == ([], END)
