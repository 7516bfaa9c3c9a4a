"""What an informer keeps, for reading."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwsync._cache import Cache
from kwsync._events import ObjectKey, labels_of
from kwsync._matching import label_matcher
from kwsync._selectors import LabelSelector

Key = ObjectKey | tuple[str, str] | str

# Inside the class, list is the method.
Objects = list[dict[str, Any]]
Keys = list[ObjectKey]
Texts = list[str]


class Store:
    """The objects of an `Informer`, as of one moment after the other; every method is for any thread.

    What is kept are the bytes that the server sent, decoded at each reading: every object that you get is your own, and
    changing it changes nothing here. One object is read with `get`, which takes microseconds; `list` decodes all of
    them, which takes ten times the memory of the store. To go through many, one at a time::

        for key in store:
            pod = store.get(key)  # None if it has gone meanwhile

    As a dict, it is counted, asked and iterated by its keys. A key is an `ObjectKey`, a pair, or its string
    (``"namespace/name"``; ``"name"`` for what has no namespace); ValueError for a string that is none.
    No order is promised anywhere.

    An object that is nested too deeply for Python's recursion limit, or that holds an integer longer than Python reads
    (``sys.set_int_max_str_digits``), is kept, but cannot be decoded: reading it is a ValueError that names its key. So
    is a `list` or `by_index` that it belongs to, since without it they would not be what the server has; read one at a
    time, all others can be had. It is in no index; an informer with a transform reports it, and does not keep it.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def get(self, key: Key) -> dict[str, Any] | None:
        """The object of this key, a fresh dict; None where there is none, ValueError where it cannot be decoded."""
        record = self._cache.record(_key(key))
        return None if record is None else record.decode()

    def list(self, namespace: str | None = None, label_selector: LabelSelector | None = None) -> Objects:
        """The objects of one moment, each a fresh dict: all, those of a namespace, those that the selector matches.

        The selector is understood as the server understands it; ValueError where it is none. A namespace that is None
        or empty means all.
        """
        matches = None if label_selector is None else label_matcher(label_selector)
        records = self._cache.records()
        found = (record.decode() for record in records if not namespace or record.key.namespace == namespace)
        return [document for document in found if matches is None or matches(labels_of(document))]

    def keys(self) -> Keys:
        """The keys of one moment."""
        return [record.key for record in self._cache.records()]

    def by_index(self, name: str, value: str) -> Objects:
        """The objects for which the indexer *name* gave *value*, each a fresh dict; KeyError for another name."""
        return [record.decode() for record in self._cache.indexed(name, value)]

    def index_values(self, name: str) -> Texts:
        """The values that the indexer *name* gave for some object, each once; KeyError for another name."""
        return self._cache.values(name)

    @property
    def resource_version(self) -> str | None:
        """How fresh it is: the version of the last full state, change or bookmark; None before the first full state."""
        return self._cache.version

    def wait_until(self, resource_version: str, timeout: float | None = None) -> bool:
        """Wait until all changes up to *resource_version* are here: that of your own write, to read what you wrote.

        Versions compare as Kubernetes allows for one resource: as whole numbers, else only as equal. True as soon as it
        is reached, by a change, a bookmark or a list; False after *timeout* seconds, and at once when the informer does
        not run (any more).
        """
        if not isinstance(resource_version, str):
            raise TypeError(f"resource_version must be a string, not {type(resource_version).__name__}")
        return self._cache.wait_until(resource_version, timeout)

    def __len__(self) -> int:
        return len(self._cache)

    def __contains__(self, key: Key) -> bool:
        return self._cache.record(_key(key)) is not None

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self.keys())

    def __repr__(self) -> str:
        return f"<Store {len(self)} objects at {self.resource_version}>"


def _key(key: Key) -> ObjectKey:
    if isinstance(key, ObjectKey):
        return key
    if isinstance(key, str):
        namespace, slash, name = key.rpartition("/")
        if not name or "/" in namespace or (slash and not namespace):
            raise ValueError(f"{key!r} is no key: write namespace/name, or the name of what has no namespace")
        return ObjectKey(namespace, name)
    if not _is_pair(key):
        raise TypeError(f"a key is an ObjectKey, a pair of namespace and name, or a string, not {key!r}")
    return ObjectKey(*key)


def _is_pair(key: object) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and all(isinstance(part, str) for part in key)
