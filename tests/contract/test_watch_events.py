"""What a watch tells: the life of objects, selectors, bookmarks, order."""

from __future__ import annotations

from kwsync import EndReason, WatchEnd
from tests.contract.support import Place, new_object, object_of, told, types, version_of


class TestLife:
    def test_no_change(self, maps: Place) -> None:
        """A8: a write that changes nothing keeps the version, and no event tells of it."""
        start = maps.version()
        created = maps.create("a")
        assert maps.client.replace("configmaps", created) == created
        assert maps.change("a", labels={}) == created
        changed = version_of(maps.change("a"))
        added = version_of(created)
        assert told(maps.first(2, resource_version=start)) == [("ADDED", "a", added), ("MODIFIED", "a", changed)]

    def test_finalizers(self, maps: Place) -> None:
        """A8: with a finalizer a deletion is MODIFIED first; when it goes DELETED comes, and still shows it."""
        start = maps.version()
        maps.create("a", finalizers=["example.com/hold"])
        doomed = maps.delete("a")
        assert doomed["metadata"]["deletionTimestamp"]
        again = maps.delete("a")
        assert version_of(again) == version_of(doomed)
        released = maps.change("a", finalizers=None)
        added, modified, deleted = maps.first(3, resource_version=start)
        assert types([added, modified, deleted]) == ["ADDED", "MODIFIED", "DELETED"]
        assert modified.object == doomed
        assert object_of(deleted)["metadata"]["finalizers"] == ["example.com/hold"]
        assert version_of(released) == version_of(doomed)
        assert int(deleted.resource_version or 0) > int(version_of(doomed))

    def test_recreated(self, maps: Place) -> None:
        """A3, D10: an object that is deleted and made again is DELETED and ADDED, with two uids under one name."""
        start = maps.version()
        first = maps.create("a")["metadata"]["uid"]
        maps.delete("a")
        second = maps.create("a")["metadata"]["uid"]
        found = maps.first(3, resource_version=start)
        assert types(found) == ["ADDED", "DELETED", "ADDED"]
        assert [object_of(event)["metadata"]["uid"] for event in found] == [first, first, second]
        assert first != second

    def test_pod(self, pods: Place) -> None:
        """A8: a pod that is deleted without grace is MODIFIED (grace 0) and DELETED, or DELETED alone."""
        start = pods.version()
        pods.create("a")
        pods.delete("a", grace_period_seconds=0)
        found = pods.first(2, resource_version=start)
        if types(found)[-1] == "MODIFIED":
            assert object_of(found[1])["metadata"]["deletionGracePeriodSeconds"] == 0
            found = pods.first(3, resource_version=start)
        assert (types(found)[0], types(found)[-1]) == ("ADDED", "DELETED")


class TestSelectors:
    def test_labels(self, maps: Place) -> None:
        """A3: an object that stops matching is DELETED with its last matching content and the change's version."""
        start = maps.version()
        maps.create("other")
        created = maps.create("a", labels={"app": "x"})
        changed = maps.change("a", labels={"tier": "1"})
        left = version_of(maps.change("a", labels={"app": "y"}))
        maps.change("a", labels={"tier": "2"})
        back = version_of(maps.change("a", labels={"app": "x"}))
        maps.delete("a")
        found = maps.first(5, resource_version=start, label_selector={"app": "x"})
        assert told(found)[:4] == [
            ("ADDED", "a", version_of(created)),
            ("MODIFIED", "a", version_of(changed)),
            ("DELETED", "a", left),
            ("ADDED", "a", back),
        ]
        assert types(found)[4:] == ["DELETED"]
        assert object_of(found[2])["metadata"]["labels"] == {"app": "x", "tier": "1"}

    def test_fields(self, pods: Place) -> None:
        """A3, A10: a field selector works the same way, with what the server counts as a field."""
        start = pods.version()
        pods.create("a")
        running = {"status": {"phase": "Running"}}
        changed = pods.client.patch("pods", "a", running, pods.namespace, subresource="status")
        pending = pods.first(2, resource_version=start, field_selector={"status.phase": "Pending"})
        assert types(pending) == ["ADDED", "DELETED"]
        assert object_of(pending[1])["status"]["phase"] == "Pending"
        assert pending[1].resource_version == version_of(changed)
        (added,) = pods.first(1, resource_version=start, field_selector="status.phase!=Pending")
        assert added.object == changed

    def test_name(self, maps: Place) -> None:
        """A7: one object is watched by its name; others are silent."""
        start = maps.version()
        for name in ("aa", "a", "b"):
            maps.create(name)
        changed = version_of(maps.change("a"))
        maps.delete("b")
        found, end = maps.all(name="a", resource_version=start)
        assert [(kind, name) for kind, name, _ in told(found)] == [("ADDED", "a"), ("MODIFIED", "a")]
        assert found[1].resource_version == changed
        assert end == WatchEnd(EndReason.SERVER_CLOSED)

    def test_initial(self, maps: Place) -> None:
        """A2: the initial state is filtered, too."""
        for name in "abc":
            maps.create(name, labels={"odd": str(name != "b").lower()})
        maps.version()
        found = maps.first(3, send_initial_events=True, label_selector="odd=true")
        assert [event.key.name for event in found] == ["a", "c", ""]

    def test_namespaces(self, maps: Place, other_namespace: str) -> None:
        """A7: a watch of one namespace tells of no other; without a namespace all are told, in one order."""
        start = maps.version()
        mark = {"labels": {"mark": maps.namespace}}
        other = Place(maps.client, other_namespace, "configmaps")
        places = [maps, other, maps, other]
        versions = [version_of(place.create(name, **mark)) for place, name in zip(places, "abcd", strict=True)]
        assert [event.key for event in maps.first(2, resource_version=start)] == [
            (maps.namespace, "a"),
            (maps.namespace, "c"),
        ]
        all_of_them = Place(maps.client, "", "configmaps")
        found = all_of_them.first(4, resource_version=start, label_selector=f"mark={maps.namespace}")
        assert told(found) == [("ADDED", name, version) for name, version in zip("abcd", versions, strict=True)]


class TestBookmarks:
    def test_before_the_end(self, maps: Place) -> None:
        """D5: before its timeout a watch of a cached kind tells how far it has come, if anything came meanwhile."""
        start = maps.version()
        stream = maps.watch(resource_version=start, timeout_seconds=3, allow_watch_bookmarks=True)
        maps.create("a")
        next(stream)
        created = version_of(maps.create("b"))
        found = list(stream)
        assert told(found)[:1] == [("ADDED", "b", created)]
        assert set(types(found)[1:]) == {"BOOKMARK"}
        last = found[-1]
        assert int(last.resource_version or 0) >= int(created)
        assert stream.resource_version == last.resource_version
        assert (object_of(last)["kind"], last.key) == ("ConfigMap", ("", ""))

    def test_not_asked_for(self, maps: Place) -> None:
        """A1: who does not ask for bookmarks gets none."""
        start = maps.version()
        stream = maps.watch(resource_version=start, timeout_seconds=3)
        maps.create("a")
        next(stream)
        maps.create("b")
        assert types(list(stream)) == ["ADDED"]


class TestStream:
    def test_order(self, either: Place) -> None:
        """A3: many changes of many objects all come, once each, in the order of their versions."""
        start = either.version()
        expected = [("ADDED", f"m{number}", version_of(either.create(f"m{number}"))) for number in range(10)]
        for number in range(60):
            name = f"m{number * 7 % 10}"
            expected.append(("MODIFIED", name, version_of(either.change(name))))
        found = told(either.first(len(expected), resource_version=start))
        assert found == expected
        versions = [int(version or 0) for _, _, version in found]
        assert versions == sorted(set(versions))

    def test_large(self, maps: Place) -> None:
        """D17: an event of almost a megabyte comes whole, also as part of the initial state, which is cut in pieces."""
        text = "".join(chr(0x4E00 + number % 20000) for number in range(300_000))
        start = maps.version()
        new = {**new_object("big"), "data": {"text": text}}
        maps.client.create("configmaps", new, maps.namespace)
        for number in range(40):
            maps.create(f"small{number:02}", annotations={"text": "x" * 500})
        maps.version()
        for options in ({"resource_version": start}, {}):
            found = maps.first(41, **options)
            assert sorted(event.key.name for event in found) == ["big", *(f"small{number:02}" for number in range(40))]
            (big,) = [event for event in found if event.key.name == "big"]
            assert object_of(big)["data"]["text"] == text

    def test_characters(self, maps: Place) -> None:
        """A6: every character comes as it was written: line breaks of Unicode, control characters, emoji, escapes."""
        text = "\x00\x07\n\r\t\x1f\x7f\x85\u2028\u2029\ufeff\\u0041\"'</é😀\U0010ffff"
        start = maps.version()
        maps.client.create("configmaps", {**new_object("a"), "data": {"text": text}}, maps.namespace)
        (event,) = maps.first(1, resource_version=start)
        assert object_of(event)["data"]["text"] == text
        assert maps.get("a")["data"]["text"] == text

    def test_many_watches(self, maps: Place) -> None:
        """A2: watches beside each other tell the same."""
        start = maps.version()
        created = [version_of(maps.create(name)) for name in "abc"]
        streams = [maps.watch(resource_version=start) for _ in range(12)]
        for stream in streams:
            with stream:
                assert [event.resource_version for event in (next(stream), next(stream), next(stream))] == created
