"""The store and its indexes: B054 to B071 of the conformance list, as far as they are about what is kept."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

import pytest

from kwsync import EventType, ObjectKey, Store
from kwsync._cache import Cache
from kwsync._indexes import Indexes
from kwsync._records import Change, Page, PlainRecord
from kwsync.errors import ErrorOrigin
from kwsync.testing import pod
from tests.keeping.support import (
    LIMIT,
    Document,
    Kept,
    added,
    bookmark,
    deleted,
    in_background,
    kept,
    modified,
    page,
    wait_until,
)


def colours(document: Document) -> list[str]:
    """The colours that an object says it has."""
    text = document["metadata"].get("annotations", {}).get("colours", "")
    return [colour for colour in text.split(" ") if colour]


def coloured(name: str, version: str, text: str = "", **more: Any) -> Document:
    """A pod that has these colours."""
    return pod(name, version, metadata={"annotations": {"colours": text}}, **more)


def names(documents: Iterable[Document]) -> list[str]:
    """Their names, sorted."""
    return sorted(document["metadata"]["name"] for document in documents)


class TestKeys:
    def test_b054_keys(self) -> None:
        """A key is namespace/name, or the name alone of what has no namespace; in any of its three spellings."""
        node = {"kind": "Node", "metadata": {"name": "n"}}
        store = Kept().take(page("1", pod("a"), node))
        for key in ("default/a", ObjectKey("default", "a"), ("default", "a")):
            assert store.get(key) == pod("a")
            assert key in store
        assert store.get("n") == node
        assert store.get("a") is None
        assert "a" not in store
        assert store.get(ObjectKey("", "n")) == node

    @pytest.mark.parametrize("key", ["", "a/b/c", "/", "a/", "/a"])
    def test_b054_no_key(self, key: str) -> None:
        """What is no key is a ValueError, so that nobody takes it for something that is not there."""
        store = Kept().take(page("1", pod("a")))
        with pytest.raises(ValueError, match="no key"):
            store.get(key)
        with pytest.raises(ValueError, match="no key"):
            _ = key in store

    @pytest.mark.parametrize("key", [None, 7, pod("a"), b"a", ("", "default", "a"), ("a",), ("default", 7)])
    def test_b055_key_errors_change_nothing(self, key: Any) -> None:
        """Something else than a key is a TypeError, and the store stays as it was."""
        store = Kept().take(page("1", pod("a")))
        with pytest.raises(TypeError, match="key"):
            store.get(key)
        assert len(store) == 1


class TestReading:
    def test_b056_no_key_twice(self) -> None:
        """Lists and keys are of one moment, and no key is in them twice, whatever the server sends; the last counts."""
        store = Kept().take(page("1", pod("a", "1"), pod("b", "1"), last=False), page("1", pod("a", "2"), first=False))
        assert sorted(store.keys()) == [("default", "a"), ("default", "b")]
        assert names(store.list()) == ["a", "b"]
        assert store.get("default/a") == pod("a", "2")

    def test_b057_nobody_changes_the_cache(self) -> None:
        """What was read is the reader's own: changing it changes neither the store nor its indexes."""
        store = Kept(colour=colours).take(page("1", coloured("a", "1", "red")))
        for read in (store.get("default/a"), store.list()[0], store.by_index("colour", "red")[0]):
            assert read is not None
            read["metadata"]["annotations"]["colours"] = "blue"
            read.clear()
        assert store.get("default/a") == coloured("a", "1", "red")
        assert store.index_values("colour") == ["red"]

    def test_as_a_dict(self) -> None:
        """It is counted, asked and iterated by its keys, and what is iterated may change meanwhile."""
        having = Kept()
        store = having.take(page("1", pod("a"), pod("b")))
        assert (len(store), sorted(store)) == (2, [("default", "a"), ("default", "b")])
        for key in store:
            having.take(deleted(key.name, "2"))
        assert len(store) == 0
        assert repr(store) == "<Store 0 objects at 2>"

    def test_b069_namespaces(self) -> None:
        """Objects are found by their namespace without any index; no namespace means all."""
        store = Kept().take(page("1", pod("a"), pod("b", namespace="other"), {"metadata": {"name": "n"}}))
        assert names(store.list("default")) == ["a"]
        assert names(store.list(namespace="other")) == ["b"]
        assert names(store.list("none")) == []
        assert names(store.list()) == names(store.list("")) == ["a", "b", "n"]

    def test_label_selector(self) -> None:
        """A label selector is understood as the server understands it, also of objects without labels."""
        web, db = (pod(name, metadata={"labels": {"app": name}}) for name in ("web", "db"))
        store = Kept().take(page("1", web, db, pod("none")))
        assert names(store.list(label_selector="app in (web,db)")) == ["db", "web"]
        assert names(store.list(label_selector={"app": "web"})) == ["web"]
        assert names(store.list(label_selector="app!=web")) == ["db", "none"]
        assert names(store.list("other", label_selector="app")) == []
        with pytest.raises(ValueError, match="selector"):
            store.list(label_selector="app in")


class TestWriting:
    def test_b058_deleting_what_is_not_there(self) -> None:
        """The deletion of something unknown is no error and changes nothing but the version."""
        having = Kept()
        store = having.take(page("1", pod("a")), deleted("b", "5"))
        assert (names(store.list()), store.resource_version, having.errors) == (["a"], "5", [])

    def test_b059_replacing(self) -> None:
        """A full state replaces everything, and the indexes with it."""
        having = Kept(colour=colours)
        store = having.take(page("1", coloured("a", "1", "red"), coloured("b", "1", "blue")))
        having.take(page("9", coloured("b", "1", "blue"), coloured("c", "8", "green blue")))
        assert names(store.list()) == ["b", "c"]
        assert sorted(store.index_values("colour")) == ["blue", "green"]
        assert names(store.by_index("colour", "blue")) == ["b", "c"]

    def test_b059_a_broken_list_counts_for_nothing(self) -> None:
        """A full state that breaks off leaves no trace: nothing is deleted by it, and nothing of it is kept."""
        having = Kept(colour=colours)
        store = having.take(page("1", pod("a"), pod("b")), page("5", coloured("c", "4", "red"), last=False))
        assert (names(store.list()), store.resource_version, store.index_values("colour")) == (["a", "b"], "1", [])
        having.take(page("7", pod("d"), last=False), page("7", pod("e"), first=False))
        assert (names(store.list()), store.resource_version) == (["d", "e"], "7")

    def test_b059_no_reader_sees_half_a_list(self) -> None:
        """While full states come and go, every reader sees one of them, whole, with the indexes that belong to it."""
        having = Kept(colour=colours)
        store = having.take(page("1"))
        states = [[coloured(f"{colour}-{number}", "1", colour) for number in range(60)] for colour in ("red", "blue")]
        seen: set[tuple[int, int]] = set()
        stopped = threading.Event()

        def read() -> None:
            while not stopped.is_set():
                keys = store.keys()
                kinds = {key.name.split("-")[0] for key in keys}
                assert len(kinds) <= 1, "objects of two states"
                seen.add((len(keys), len(store.by_index("colour", "red"))))

        with in_background(read), in_background(read):
            for number in range(60):
                documents = states[number % 2]
                having.take(
                    page(str(number), *documents[:30], last=False), page(str(number), *documents[30:], first=False)
                )
            stopped.set()
        assert {count for count, _ in seen} <= {0, 60}
        assert {red for _, red in seen} <= {0, 60}

    def test_b061_versions(self) -> None:
        """The version is that of the last full state, change or bookmark; a full state may set it back."""
        having = Kept()
        assert having.store.resource_version is None
        expected: dict[str, Any] = {
            "5": page("5", pod("a")),
            "6": added("b", "6"),
            "7": deleted("b", "7"),
            "20": bookmark("20"),
        }
        for version, step in expected.items():
            having.take(step)
            assert having.store.resource_version == version
        having.take(added("a", "1"))  # the same as is kept, and an old one
        assert having.store.resource_version == "20"
        having.take(page("12", pod("a")))
        assert having.store.resource_version == "12"
        having.take(page("30", first=True, last=False))
        assert having.store.resource_version == "12"


class TestTransform:
    def test_b060_transform(self) -> None:
        """What is kept is what the transform gives; key, uid and version are the server's."""

        def cut(document: Document) -> Document:
            return {"metadata": {"name": "other"}, "cut": document["metadata"]["name"]}

        having = Kept(cut, cut=lambda document: [document["cut"]])
        store = having.take(page("1", pod("a", "1")), added("b", "2"))
        assert store.get("default/a") == {"metadata": {"name": "other"}, "cut": "a"}
        assert having.state() == {"a": "1", "b": "2"}
        assert sorted(store.index_values("cut")) == ["a", "b"]

    @pytest.mark.parametrize("result", [None, "text", {"no": object()}, ZeroDivisionError(), SystemExit(3)])
    def test_b060_transform_fails(self, result: object) -> None:
        """An object whose transform fails is not kept, and the failure is told; nor does an old state of it stay."""

        def transform(document: Document) -> Any:
            if document["metadata"]["resourceVersion"] in ("3", "5"):
                if isinstance(result, BaseException):
                    raise result
                return result
            return document

        having = Kept(transform)
        having.take(page("2", pod("a", "1"), pod("b", "2")), modified("a", "3"), modified("b", "4"))
        assert having.state() == {"b": "4"}
        having.take(page("5", pod("a", "3"), pod("b", "5")))
        assert having.state() == {}
        having.take(modified("a", "6"))
        assert having.state() == {"a": "6"}
        assert [error.origin for error in having.errors] == [ErrorOrigin.CALLBACK] * 3
        assert all("transform raised" in error.message for error in having.errors)

    def test_b085_once_and_not_for_what_is_gone(self) -> None:
        """Each state is transformed once: not again by a list that tells the same, nor for an object that vanished."""
        calls: list[str] = []

        def transform(document: Document) -> Document:
            calls.append(document["metadata"]["name"] + document["metadata"]["resourceVersion"])
            return {**document, "seen": len(calls)}

        having = Kept(transform)
        having.take(
            page("2", pod("a", "1"), pod("b", "2")), page("3", pod("a", "1"), pod("b", "2")), page("4", pod("b", "2"))
        )
        having.take(added("b", "2"))
        assert calls == ["a1", "b2"]
        assert (having.store.get("default/b") or {})["seen"] == 2


class TestIndexes:
    def test_b063_values(self) -> None:
        """An object has any number of values and is found under each, once however often it was given."""
        store = Kept(colour=colours).take(
            page("1", coloured("a", "1", "red blue red"), coloured("b", "1", "blue"), coloured("c", "1"))
        )
        assert names(store.by_index("colour", "red")) == ["a"]
        assert names(store.by_index("colour", "blue")) == ["a", "b"]
        assert names(store.by_index("colour", "green")) == []
        assert sorted(store.index_values("colour")) == ["blue", "red"]

    def test_b063_unknown_index(self) -> None:
        """An index that there is not is an error, which names those that there are."""
        store = Kept(colour=colours).take(page("1"))
        for read in (lambda: store.by_index("size", "1"), lambda: store.index_values("size")):
            with pytest.raises(KeyError, match=r"no index 'size'; there are: colour"):
                read()

    def test_b065_changes_move_objects(self) -> None:
        """A changed object is found by its new values only; one that is gone by none."""
        having = Kept(colour=colours)
        store = having.take(page("1", coloured("a", "1", "red blue")))
        having.take(modified("a", "2", metadata={"annotations": {"colours": "blue green"}}))
        assert [names(store.by_index("colour", colour)) for colour in ("red", "blue", "green")] == [[], ["a"], ["a"]]
        having.take(modified("a", "3", metadata={"annotations": {"colours": "blue green"}}))
        assert names(store.by_index("colour", "blue")) == ["a"]
        having.take(deleted("a", "4"))
        assert store.by_index("colour", "blue") == []

    def test_b066_no_value_stays(self) -> None:
        """A value that no object has any more is forgotten."""
        indexes = Indexes(["colour"])
        for number in range(1000):
            indexes.put(ObjectKey("", "a"), {"colour": (str(number), "always")})
        assert sorted(indexes.values("colour")) == ["999", "always"]
        indexes.remove(ObjectKey("", "a"))
        indexes.remove(ObjectKey("", "a"))
        assert (indexes.values("colour"), indexes._values) == ([], {})

    @pytest.mark.parametrize("result", ["text", 7, [1], [None], ZeroDivisionError(), SystemExit(3)])
    def test_b068_index_function_fails(self, result: Any) -> None:
        """What an index function raises is told; the object is kept, in all the other indexes, and not in this one."""

        def failing(document: Document) -> Any:
            if document["metadata"]["name"] != "bad":
                return ["good"]
            if isinstance(result, BaseException):
                raise result
            return result

        having = Kept(failing=failing, colour=colours)
        store = having.take(page("1", coloured("bad", "1", "red"), pod("a", "1")), added("b", "2"))
        assert names(store.list()) == ["a", "b", "bad"]
        assert names(store.by_index("colour", "red")) == ["bad"]
        assert names(store.by_index("failing", "good")) == ["a", "b"]
        assert store.index_values("failing") == ["good"]
        assert [error.origin for error in having.errors] == [ErrorOrigin.CALLBACK]
        assert "indexer 'failing' raised" in having.errors[0].message

    def test_none_is_no_value(self) -> None:
        """A function that gives None gives no value."""
        store = Kept(colour=lambda document: None).take(page("1", pod("a")))
        assert store.index_values("colour") == []


class TestWaiting:
    @pytest.mark.parametrize(
        ("version", "wanted", "expected"),
        [
            ("10", "9", True),
            ("10", "10", True),
            ("10", "11", False),
            ("9", "10", False),
            ("100000000000000000000", "99999999999999999999", True),
            ("10", "0", False),
            ("10", "010", False),
            ("abc", "abc", True),
            ("abc", "abd", False),
            ("abc", "1", False),
            ("1", "abc", False),
        ],
    )
    def test_a11_versions(self, version: str, wanted: str, expected: bool) -> None:
        """Versions compare as whole numbers of any length where both are ones without a leading zero, else as equal."""
        assert Kept().take(page(version)).wait_until(wanted, 0) is expected

    def test_of_an_object(self) -> None:
        """A version that cannot be compared is reached as long as an object has it, whatever came after it."""
        store = Kept().take(page("x"), added("a", "mine"), added("b", "later"))
        assert store.wait_until("mine", 0)

    @pytest.mark.parametrize(
        "step", [added("a", "12"), modified("a", "11"), deleted("a", "11"), bookmark("11"), page("11")]
    )
    def test_b061_all_that_tells_a_version_wakes(self, step: Any) -> None:
        """A change, a deletion, a bookmark and a list wake who waits for a version, at once."""
        having = Kept()
        having.take(page("1", pod("a", "1")))
        woken: list[bool] = []
        with in_background(lambda: woken.append(having.store.wait_until("11", LIMIT))):
            wait_until(lambda: bool(having.cache._waits), "the waiting thread")
            having.take(bookmark("10"))
            assert not woken
            having.take(step)
        assert (woken, having.cache._waits) == ([True], [])

    def test_what_flies_by(self) -> None:
        """A version that cannot be compared is seen even if others follow before the waiting thread runs."""
        having = Kept()
        having.take(page("x"))
        woken: list[bool] = []
        with in_background(lambda: woken.append(having.store.wait_until("mine", LIMIT))):
            wait_until(lambda: bool(having.cache._waits), "the waiting thread")
            having.take(added("a", "mine"), modified("a", "y"), bookmark("z"))
        assert woken == [True]

    def test_what_a_list_brings(self) -> None:
        """A version that cannot be compared is also seen where a full state brings an object that has it."""
        having = Kept()
        having.take(page("x"))
        woken: list[bool] = []
        with in_background(lambda: woken.append(having.store.wait_until("mine", LIMIT))):
            wait_until(lambda: bool(having.cache._waits), "the waiting thread")
            having.take(page("y", pod("a", "other")), page("z", pod("a", "mine")), page("z"))
        assert woken == [True]

    @pytest.mark.parametrize("version", ["nonsense", "0", "99999"])
    def test_a_change_looks_at_no_other_object(self, version: str) -> None:
        """However many wait, for whatever version: objects are looked at once at its beginning, not for each change."""
        having, count, waiting = Kept(), 1000, 5
        state = having.cache.new_state()
        for number in range(count):
            state.put(Counted(f"pod-{number}"), {})
        having.cache.swap(state, "10")
        Counted.looks = 0
        with ExitStack() as stack:
            for _ in range(waiting):
                stack.enter_context(in_background(lambda: having.store.wait_until(version, LIMIT)))
            wait_until(lambda: len(having.cache._waits) == waiting, "the waiting threads")
            having.take(*(added("new", str(number)) for number in range(11, 200)))
            having.cache.end()
        assert Counted.looks <= waiting * count

    def test_gives_up(self) -> None:
        """After the timeout it is False, and nothing is left behind."""
        having = Kept()
        assert having.store.wait_until("1", 0.01) is False
        assert having.cache._waits == []

    def test_nobody_writes(self) -> None:
        """When nobody writes any more nobody waits for ever, before and after; what is there is still there."""
        having = Kept()
        having.take(page("5"))
        woken: list[bool] = []
        with in_background(lambda: woken.append(having.store.wait_until("6"))):
            wait_until(lambda: bool(having.cache._waits), "the waiting thread")
            having.cache.end()
        assert woken == [False]
        assert having.store.wait_until("6") is False
        assert having.store.wait_until("5") is True

    def test_no_version(self) -> None:
        """Something else than a string is a TypeError."""
        with pytest.raises(TypeError, match="resource_version"):
            Store(Cache()).wait_until(7)  # type: ignore[arg-type]


class Counted(PlainRecord):
    """A record that counts how often the version of any is looked at."""

    looks = 0

    def __init__(self, name: str) -> None:
        super().__init__(ObjectKey("default", name), "", "5", b"{}")

    def __getattribute__(self, name: str) -> Any:
        """As always."""
        if name == "version":
            Counted.looks += 1
        return super().__getattribute__(name)


def deep(name: str, namespace: str = "default") -> Change:
    """An object that cannot be decoded, since it is nested too deeply."""
    raw = b'{"metadata":{"name":"%b"},"spec":%b}' % (name.encode(), b"[" * 100_000 + b"]" * 100_000)
    return Change(EventType.ADDED, PlainRecord(ObjectKey(namespace, name), f"uid-{name}", "2", raw))


class TestUndecodable:
    def test_reading(self) -> None:
        """It is there; reading it, or a list that it belongs to, names it. Everything else can be read as always."""
        store = Kept().take(page("1", pod("a"), pod("b", namespace="other")), deep("deep"))
        assert (len(store), "default/deep" in store) == (3, True)
        for read in (lambda: store.get("default/deep"), store.list, lambda: store.list("default", "app")):
            with pytest.raises(ValueError, match="default/deep cannot be decoded"):
                read()
        assert names(store.list("other")) == ["b"]
        assert [store.get(key) for key in store if key.name == "a"] == [pod("a")]

    def test_indexes(self) -> None:
        """It is kept, told as an error, and in no index; the indexes of all others stay what they are."""
        having = Kept(name=lambda document: [document["metadata"]["name"]])
        store = having.take(page("1", pod("a")), deep("deep"), added("b", "3"))
        assert (len(store), sorted(store.index_values("name"))) == (3, ["a", "b"])
        assert names(store.by_index("name", "b")) == ["b"]
        assert [error.origin for error in having.errors] == [ErrorOrigin.DECODE]

    def test_transform(self) -> None:
        """What cannot be transformed is not kept, and the reason is told."""
        having = Kept(dict)
        assert names(having.take(page("1", pod("a")), deep("deep")).list()) == ["a"]
        assert [error.origin for error in having.errors] == [ErrorOrigin.DECODE]


def row(name: str, age: str, version: str = "5", **metadata: Any) -> Change:
    """A row of a Table, as a list and a watch give it."""
    found = {"kind": "PartialObjectMetadata", **pod(name, version, metadata=metadata)}
    document = {"kind": "Table", "metadata": {}, "rows": [{"cells": [name, age], "object": found}]}
    return Change(EventType.ADDED, kept(document), document)


def rows(version: str, *changes: Change, rewound: bool = False) -> Page:
    """The whole of a list."""
    return Page(changes, True, True, version, rewound)


class TestTables:
    def test_labels(self) -> None:
        """A selector looks at the labels of the row's object."""
        store = Kept().take(
            Page(
                [row("a", "1m", labels={"app": "web"}), row("b", "1m"), row("c", "1m", labels={"app": "db"})],
                True,
                True,
                "9",
            )
        )
        found = store.list(label_selector="app=web")
        assert [document["rows"][0]["cells"][0] for document in found] == ["a"]
        assert len(store.list(label_selector="!app")) == 1

    @pytest.mark.parametrize("transform", [None, lambda document: {"cells": document["rows"][0]["cells"]}])
    def test_ages_are_no_changes(self, transform: Any) -> None:
        """A row whose cells alone differ is the same as long as versions can be trusted: ages change by themselves."""
        having = Kept(transform)
        having.take(rows("9", row("a", "1m"), row("b", "1m")))
        before = {record.key.name: record for record in having.cache.records()}
        having.take(rows("10", row("a", "2m"), row("b", "2m", "8")), row("a", "3m"))
        after = {record.key.name: record for record in having.cache.records()}
        assert (after["a"] is before["a"], after["b"] is before["b"]) == (True, False)
        having.take(rows("7", row("a", "4m"), row("b", "2m", "8"), rewound=True))
        assert having.cache.record(ObjectKey("default", "a")) is not before["a"]

    def test_without_versions(self) -> None:
        """Where the server gives no versions, the cells decide."""
        having = Kept()
        having.take(rows("9", row("a", "1m", "")), rows("10", row("a", "2m", "")))
        assert having.store.list()[0]["rows"][0]["cells"] == ["a", "2m"]


class TestTakingOver:
    def test_the_same_record(self) -> None:
        """A list that tells what is kept takes the old records over: nothing is there twice."""
        having = Kept(colour=colours)
        having.take(page("1", coloured("a", "1", "red"), coloured("b", "1", "red")))
        before = {record.key.name: record for record in having.cache.records()}
        having.take(page("9", coloured("a", "1", "red"), coloured("b", "7", "blue")))
        after = {record.key.name: record for record in having.cache.records()}
        assert after["a"] is before["a"]
        assert after["b"] is not before["b"]
        assert names(having.store.by_index("colour", "red")) == ["a"]

    def test_other_spelling(self) -> None:
        """An object whose bytes differ only in their order is the same."""
        having = Kept()
        document = pod("a", "1")
        having.take(page("1", document))
        (before,) = having.cache.records()
        having.take(page("9", dict(reversed(document.items()))))
        assert having.cache.records() == [before]

    @pytest.mark.parametrize("rewound", [False, True])
    def test_other_content(self, rewound: bool) -> None:
        """Another state with the same version counts as changed, as after the restore of the server's database."""
        having = Kept()
        having.take(page("5", pod("a", "3", status={"phase": "Running"})))
        having.take(page("4", pod("a", "3", status={"phase": "Pending"}), rewound=rewound))
        assert (having.store.get("default/a") or {})["status"] == {"phase": "Pending"}

    def test_records_are_small(self) -> None:
        """A record holds its bytes, its key and two strings, and no dict."""
        record = kept(pod("a"))
        assert not hasattr(record, "__dict__")


def test_an_old_deletion() -> None:
    """A deletion that is older than the state that is kept, as of an earlier stay in the selection, deletes nothing."""
    kept_one = Kept()
    kept_one.take(page("9", pod("a", "9")), deleted("a", "8"))
    assert kept_one.state() == {"a": "9"}
    kept_one.take(deleted("a", "10"))
    assert kept_one.state() == {}


@pytest.mark.parametrize("rewound", [True, False])
def test_e9_a_restored_server_with_a_transform(rewound: bool) -> None:
    """A state with the same uid and version, and other bytes, is another one: what was transformed from it counts."""
    one = Kept(transform=lambda document: {**document, "marked": True})
    store = one.take(page("5", pod("a", "5", spec={"x": 1})), page("5", pod("a", "5", spec={"x": 2}), rewound=rewound))
    assert (store.get("default/a") or {})["spec"] == {"x": 2}
    store = one.take(modified("a", "5", spec={"x": 3}))
    assert (store.get("default/a") or {})["spec"] == {"x": 3}
