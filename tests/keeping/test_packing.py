"""Compressed records: everything is as without compression, but for the memory."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwsync import Backoff, Client, ConfigError, Informer, SharedInformers
from kwsync._packing import SAMPLE, Packed, Packing
from kwsync._records import PlainRecord, Record
from kwsync.testing import ApiServer, Fault, pod
from tests.cancel.support import in_child
from tests.keeping.support import (
    LIMIT,
    ByHand,
    Document,
    added,
    by_hand,
    deleted,
    in_background,
    kept,
    known,
    modified,
    page,
    wait_until,
)
from tests.keeping.test_servers import configmap, equals, told_by, versions, wait_equal

needs_zstandard = pytest.mark.skipif(
    importlib.util.find_spec("zstandard") is None, reason="the extra kwsync[zstd] is not installed"
)

MORE = SAMPLE + 20
READERS = 16
UID = "6b0c1a52-1f3e-4d58-9a7c-{:012x}"


def a_pod(number: int, version: str = "1", **more: Any) -> Document:
    """A pod of 1 kB that is like all the others, but not the same."""
    containers = [
        {"name": f"main-{each}", "image": f"registry.example/main:{number}", "terminationMessagePolicy": "File"}
        for each in range(8)
    ]
    return pod(f"pod-{number}", version, UID.format(number), spec={"containers": containers}, **more)


PODS = [a_pod(number) for number in range(MORE)]


def packed_count(informer: Informer) -> int:
    """How many records are compressed."""
    return sum(isinstance(each, Packed) and isinstance(each._kept, bytes) for each in informer._cache.records())


def content(informer: Informer) -> list[Document]:
    """What there is, in order."""
    return sorted(informer.store.list(), key=lambda each: str(each["metadata"]["name"]))


@pytest.fixture
def packed() -> Iterator[ByHand]:
    """An informer of so many pods that they are compressed."""
    with by_hand(page("1", *PODS), compress=True) as informer:
        assert packed_count(informer) == MORE
        yield informer


@needs_zstandard
class TestRecords:
    def test_the_same_in_fewer_bytes(self) -> None:
        """What a record tells is the same before and after, and it takes a fifth of the bytes."""
        pack = Packing().pack
        plain = [kept(each) for each in PODS]
        found = [pack(each) for each in plain]
        for one, other in zip(plain, found, strict=True):
            assert isinstance(other, Packed)
            assert isinstance(other._kept, bytes)
            assert len(other._kept) < len(one.raw) / 5
            assert words(one) == words(other)
            assert other.is_state_of(one)
            assert other.was_sent_as(one.raw)
            assert not other.was_sent_as(one.raw + b" ")

    @pytest.mark.parametrize(
        ("uid", "version"),
        [
            ("", ""),
            ("short", "1"),
            (UID.format(1), "123456789012"),
            (UID.format(1).upper(), "1"),
            (UID.format(1).replace("-", ""), "1"),
            ("x" * 16, "1"),
            ("ü" * 8, "ü"),
            ("x" * 255, "y" * 255),
            ("x" * 256, "1"),
            ("1", "y" * 256),
            ("\ud800", "1"),
        ],
    )
    def test_any_words(self, uid: str, version: str) -> None:
        """Whatever a server takes for a uid or a version comes back as it was."""
        pack = trained()
        plain = PlainRecord(kept(PODS[0]).key, uid, version, kept(PODS[0]).raw)
        assert words(pack(plain)) == words(plain)

    def test_what_cannot_be_compressed(self) -> None:
        """Bytes that would only grow are kept as they are."""
        record = PlainRecord(kept(PODS[0]).key, UID.format(1), "1", b'{"a":1}')
        found = trained()(record)
        assert isinstance(found, Packed)
        assert found._kept is record
        assert words(found) == words(record)

    @pytest.mark.parametrize("document", [{}, {"text": "ä" * 3_000_000}, {"a": [{"b": [0.5, None]}] * 9999}])
    def test_any_object(self, document: Document) -> None:
        """Objects of any size and kind come back as they were, also those that are like none of the sample."""
        record = kept({**configmap("a"), **document})
        assert words(trained()(record)) == words(record)

    @pytest.mark.parametrize("document", [{}, {"n": 1}])
    def test_any_sample(self, document: Document) -> None:
        """It learns from whatever there is, even if that is next to nothing, and always the same."""
        pack = Packing().pack
        records = [PlainRecord(kept(PODS[0]).key, "", "", json.dumps(document).encode()) for _ in range(SAMPLE)]
        found = [pack(each) for each in records]
        assert [words(each) for each in found] == [words(each) for each in records]
        assert words(pack(kept(PODS[0]))) == words(kept(PODS[0]))

    def test_a_sample_that_teaches_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where zstandard refuses to be trained, the sample itself is the dictionary."""
        zstandard = pytest.importorskip("zstandard")

        def refuse(*arguments: object, **options: object) -> None:
            raise zstandard.ZstdError("cannot train dict: Src size is incorrect")

        monkeypatch.setattr(zstandard, "train_dictionary", refuse)
        found = trained()(kept(PODS[0]))
        assert isinstance(found, Packed)
        assert len(found._kept) < len(found.raw) / 4 if isinstance(found._kept, bytes) else False
        assert words(found) == words(kept(PODS[0]))

    def test_forgotten_records_are_no_sample(self) -> None:
        """However often a few objects change, there are only a few to learn from, and the old states are not kept."""
        pack = Packing().pack
        last = pack(kept(PODS[1]))
        for number in range(2 * SAMPLE):
            last = pack(kept(a_pod(1, str(number))))
        assert isinstance(last, Packed)
        assert isinstance(last._kept, Record)


def words(record: Record) -> tuple[object, ...]:
    """All that a record tells."""
    return record.key, record.uid, record.version, record.raw, record.source, record.decode(), repr(record)[7:]


def trained() -> Callable[[Record], Record]:
    """A packing that has seen its sample."""
    pack = Packing().pack
    sample = [pack(kept(each)) for each in PODS]
    assert all(isinstance(each, Packed) and isinstance(each._kept, bytes) for each in sample)
    return pack


@needs_zstandard
class TestThreads:
    def test_many_readers(self, packed: ByHand) -> None:
        """Any number of threads may read at one time, while one writes: each gets what is there, and nothing else."""
        left = [object()] * READERS
        start = threading.Barrier(READERS + 1)

        def read(seed: int) -> None:
            chance = random.Random(seed)
            start.wait(LIMIT)
            for _ in range(300):
                number = chance.randrange(MORE)
                found = packed.store.get(f"default/pod-{number}")
                assert found is not None
                assert found == a_pod(number, found["metadata"]["resourceVersion"])

        def read_all(seed: int) -> None:
            try:
                read(seed)
            finally:
                left.pop()

        def write() -> None:
            start.wait(LIMIT)
            version = 1
            while left:
                version += 1
                packed.give(modified_pod(version % MORE, version))

        readers = [in_background(lambda seed=seed: read_all(seed), f"reader {seed}") for seed in range(READERS)]  # type: ignore[misc]
        all_in([*readers, in_background(write, "writer")])

    def test_readers_while_it_is_trained(self) -> None:
        """Who reads while everything is being compressed sees no difference."""
        with by_hand(page("1", *PODS[: SAMPLE - 1]), compress=True) as informer:
            stop = threading.Event()
            seen = threading.Event()

            def read() -> None:
                while not stop.is_set():
                    assert content(informer)[0] == PODS[0]
                    seen.set()

            def write() -> None:
                try:
                    assert seen.wait(LIMIT), "nobody reads"
                    assert packed_count(informer) == 0
                    informer.give(modified_pod(SAMPLE, 2))
                    wait_until(lambda: packed_count(informer) == SAMPLE, "compression")
                finally:
                    stop.set()

            all_in([in_background(read), in_background(read), in_background(write)])


def modified_pod(number: int, version: int) -> Any:
    """One of the pods has changed."""
    change = modified(f"pod-{number}", str(version))
    change.record = kept(a_pod(number, str(version)))
    return change


def all_in(contexts: list[Any]) -> None:
    """Enter all, then leave all; the last one that raises is the one that is told."""
    if contexts:
        with contexts[0]:
            all_in(contexts[1:])


@needs_zstandard
class TestInformer:
    def test_few_objects(self) -> None:
        """A small collection stays as it is, and is compressed as soon as it has grown."""
        with by_hand(page("1", *PODS[: SAMPLE - 1]), compress=True) as informer:
            assert packed_count(informer) == 0
            informer.give(added("last", "2"))
            assert packed_count(informer) == SAMPLE
            assert informer.store.get("default/last") == pod("last", "2")
            assert content(informer)[1:] == sorted(PODS[: SAMPLE - 1], key=lambda each: str(each["metadata"]["name"]))

    def test_told_before_and_looked_at_after(self) -> None:
        """An event that was told before the compression, and is looked at after it, is what it was."""
        with by_hand(page("1", *PODS[:2]), compress=True) as informer:
            told = informer.tell()
            told.wait(3)
            informer.give(page("1", *PODS))
            assert packed_count(informer) == MORE
            assert [event.object for event in told.events[:2]] == PODS[:2]

    def test_a_list_of_what_is_known(self, packed: ByHand) -> None:
        """What a new list has unchanged stays the very record that it was, and is told to nobody."""
        told = packed.tell()
        told.wait(MORE + 1)
        before = {id(record) for record in packed._cache.records()}
        packed.give(page("2", *PODS))
        assert {id(record) for record in packed._cache.records()} == before
        turned = [dict(reversed(each.items())) for each in PODS]  # as another server process may write it
        packed.give(page("3", *turned), added("new", "4"))
        assert {id(record) for record in packed._cache.records()} > before
        assert told.wait(MORE + 2)[-1] == "ADDED new 4"

    def test_one_version_with_two_states(self, packed: ByHand) -> None:
        """A restored server gives a version again, to another state: that is seen, compressed or not (A9)."""
        told = packed.tell()
        told.wait(MORE + 1)
        other = a_pod(7, metadata={"labels": {"restored": "yes"}})
        packed.give(page("1", *PODS[:7], other, *PODS[8:], rewound=True))
        assert told.wait(MORE + 2)[-1] == "MODIFIED pod-7 1>1"
        assert (told.events[-1].old_object, told.events[-1].object) == (PODS[7], other)

    def test_handlers(self, packed: ByHand) -> None:
        """Handlers get the objects and the old objects."""
        told = packed.tell()
        told.wait(MORE + 1)
        packed.give(modified_pod(3, 5))
        told.wait(MORE + 2)
        packed.give(deleted("pod-4", "6", uid=UID.format(4)))
        told.wait(MORE + 3)
        packed.give(page("7", *PODS[:4]))
        told.wait(2 * MORE - 1)
        assert (told.events[MORE + 1].old_object, told.events[MORE + 1].object) == (PODS[3], a_pod(3, "5"))
        assert told.events[MORE + 2].old_object == PODS[4]
        assert told.events[MORE + 3].final_state_unknown
        assert all(event.object in PODS for event in told.events[MORE + 3 :])

    def test_transform_and_indexes(self) -> None:
        """What is compressed is what the transform gave; it is called once for each state, and indexes hold."""
        calls: list[str] = []

        def transform(document: Document) -> Document:
            calls.append(document["metadata"]["name"])
            return {"metadata": document["metadata"], "image": document["spec"]["containers"][0]["image"]}

        options = {"transform": transform, "indexers": {"image": lambda each: [each["image"]]}}
        with by_hand(page("1", *PODS), compress=True, **options) as informer:
            told = informer.tell()
            told.wait(MORE + 1)
            informer.give(page("2", *PODS))
            assert len(calls) == MORE
            assert packed_count(informer) == MORE
            (found,) = informer.store.by_index("image", "registry.example/main:7")
            assert found == {"metadata": PODS[7]["metadata"], "image": "registry.example/main:7"}
            informer.give(page("3", *(a_pod(each, metadata={"labels": {"restored": "yes"}}) for each in range(MORE))))
            assert len(calls) == 2 * MORE
            assert len(told.wait(2 * MORE + 1)) == 2 * MORE + 1

    def test_another_start(self, packed: ByHand) -> None:
        """After another start it goes on with the same dictionary, and tells what has changed, and that alone."""
        told = packed.tell()
        told.wait(MORE + 1)
        packed.stop()
        assert packed.join(LIMIT)
        assert content(packed)[0] == PODS[0]
        packed.start()
        packed.give(page("9", *PODS[:-1], a_pod(MORE - 1, "9")))
        assert told.wait(MORE + 2)[-1] == f"MODIFIED pod-{MORE - 1} 1>9"
        assert packed_count(packed) == MORE

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    def test_in_a_forked_child(self, packed: ByHand) -> None:
        """In a child the store can be read."""
        assert in_child(lambda: [len(packed.store.list()), packed.store.get("default/pod-3") == PODS[3]]) == [
            MORE,
            True,
        ]


@needs_zstandard
@pytest.mark.parametrize("seed", range(2))
def test_like_one_without(api_server: ApiServer, seed: int) -> None:
    """Through changes and faults at random it is what one without compression is, and so is what handlers know."""
    chance = random.Random(seed)
    names = [f"c{number}" for number in range(MORE)]
    for name in names:
        api_server.create(configmap(name, "text " * 20))
    faults = [Fault.drop(1), Fault.cut_line(1), Fault.answer(500), Fault.error_event(410), Fault.gzip()]
    options: dict[str, Any] = {"backoff": Backoff(initial=0.005, cap=0.02), "watch_list": bool(seed)}
    with (
        api_server.client() as client,
        Informer("configmaps", client=client, **options) as plain,
        Informer("configmaps", client=client, compress=True, **options) as packed,
    ):
        assert plain.wait_synced(LIMIT)
        assert packed.wait_synced(LIMIT)
        assert packed_count(packed) == MORE
        told = told_by(plain), told_by(packed)
        for number in range(200):
            if number % 20 == 0:
                api_server.fail_next(chance.choice(faults), times=2)
            if number % 50 == 49:
                chance.choice([api_server.restart, api_server.end_watches, api_server.forget_history])()
            change_one(api_server, chance, names)
        api_server.clear_faults()
        for informer, each in zip((plain, packed), told, strict=True):
            wait_equal(informer, api_server)
            wait_until(lambda each=each: known(each) == versions(api_server), "what the handler knows")  # type: ignore[misc]
        assert equals(packed, api_server)
        assert packed_count(packed) > MORE / 2


def change_one(server: ApiServer, chance: random.Random, names: list[str]) -> None:
    """Change, delete or recreate one of them."""
    name = chance.choice(names)
    if chance.random() < 0.6:
        server.patch("configmaps", name, {"data": {"text": str(chance.random())}})
        return
    server.delete("configmaps", name)
    names.remove(name)
    if chance.random() < 0.5:
        server.create(configmap(name))
        names.append(name)


class TestOption:
    def test_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without zstandard the informer is refused at once, and told which extra it takes."""
        monkeypatch.setitem(sys.modules, "zstandard", None)
        with pytest.raises(ConfigError, match=r"kwsync\[zstd\]"):
            Informer("pods", compress=True)
        assert isinstance(Informer("pods"), Informer)

    @needs_zstandard
    def test_shared(self, client: Client) -> None:
        """Who asks for the same objects must ask for the same way to keep them."""
        informers = SharedInformers(client)
        informer = informers.informer("pods", compress=True)
        assert informers.informer("pods", compress=True) is informer
        with pytest.raises(ValueError, match="compress"):
            informers.informer("pods")


@pytest.fixture
def client(api_server: ApiServer) -> Iterator[Client]:
    """A client of the server."""
    with api_server.client() as made:
        yield made
