"""Objects by what a user wants to find them by: functions of an object to any number of values. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kwsync._callbacks import ErrorCallback, callback_error
from kwsync._events import ObjectKey

Indexer = Callable[[dict[str, Any]], Iterable[str] | None]
Values = Mapping[str, tuple[str, ...]]
"""For each index the values of one object; an index in which it is not to be found may be absent."""

NOWHERE: Values = {}


def checked_indexers(indexers: Mapping[str, Indexer] | None) -> dict[str, Indexer]:
    """A copy; TypeError where something else stands in it."""
    found = dict(indexers or {})
    for name, function in found.items():
        if not callable(function):
            raise TypeError(f"indexers are functions by their names, not {name!r}: {function!r}")
    return found


def values_of(indexers: Mapping[str, Indexer], document: dict[str, Any], report: ErrorCallback) -> Values:
    """What the functions say of an object. One that raises is reported, and the object is not in its index (B068)."""
    return dict(_values_of(indexers, document, report))


def _values_of(
    indexers: Mapping[str, Indexer], document: dict[str, Any], report: ErrorCallback
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, function in indexers.items():
        try:
            yield name, _distinct(function(document))
        except BaseException as raised:  # noqa: BLE001 - whatever it is, the cache stays consistent
            report(callback_error(f"indexer {name!r}", raised))


def _distinct(values: Iterable[str] | None) -> tuple[str, ...]:
    found = dict.fromkeys(() if values is None else values)
    if isinstance(values, str) or not all(isinstance(value, str) for value in found):
        raise TypeError(f"an indexer gives several strings, not {values!r}")
    return tuple(found)


class Indexes:
    """The keys of objects by index and value. The names are given once; a value without objects is forgotten (B066)."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._keys: dict[str, dict[str, set[ObjectKey]]] = {name: {} for name in names}
        self._values: dict[ObjectKey, Values] = {}

    def put(self, key: ObjectKey, values: Values) -> None:
        """The object is now found by these values, and by no others."""
        self.remove(key)
        if values:
            self._values[key] = values
        for name, each in values.items():
            for value in each:
                self._keys[name].setdefault(value, set()).add(key)

    def remove(self, key: ObjectKey) -> None:
        """The object is found no longer."""
        for name, values in self._values.pop(key, NOWHERE).items():
            index = self._keys[name]
            for value in values:
                index[value].discard(key)
                if not index[value]:
                    del index[value]

    def values_at(self, key: ObjectKey) -> Values:
        """By which values the object is found."""
        return self._values.get(key, NOWHERE)

    def keys(self, name: str, value: str) -> list[ObjectKey]:
        """The objects with this value, in no order; KeyError for an index that there is not (B063)."""
        return list(self._index(name).get(value, ()))

    def values(self, name: str) -> list[str]:
        """All values that some object has, in no order; KeyError for an index that there is not."""
        return list(self._index(name))

    def _index(self, name: str) -> dict[str, set[ObjectKey]]:
        if name not in self._keys:
            raise KeyError(f"there is no index {name!r}; there are: {', '.join(self._keys) or 'none'}")
        return self._keys[name]
