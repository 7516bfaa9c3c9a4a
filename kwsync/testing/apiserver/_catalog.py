"""All kinds that a server has now, to be found by what names them."""

from __future__ import annotations

from collections.abc import Iterable

from kwsync.testing.apiserver._kind import Kind, Resource


class Catalog:
    """The kinds by path, by what an object says of itself, and by the names people use. Not locked."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self.kinds = list(kinds)
        self.defined: frozenset[Resource] = frozenset()
        """The custom resources that have a definition, whether it serves any version or not."""
        self._index()

    def _index(self) -> None:
        self._by_path = {(kind.group, kind.version, kind.plural): kind for kind in self.kinds}
        self._by_type = {(kind.api_version, kind.name): kind for kind in self.kinds}
        self.resources = frozenset(kind.stored_as for kind in self.kinds) | self.defined
        """What objects are stored under."""
        self.groups = {kind.group: kind.custom for kind in reversed(self.kinds)}
        """Every group, and whether custom definitions alone have made it."""

    def at(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind that a path names."""
        return self._by_path.get((group, version, plural))

    def of(self, api_version: object, name: object) -> Kind | None:
        """The kind that an object says it is of."""
        return self._by_type.get((str(api_version), str(name)))

    def named(self, text: str) -> Kind | None:
        """`pods`, `po`, `Pod`, `deployments.apps` or `apps/v1/deployments`; the first that fits, as in the table."""
        api_version, _, last = text.rpartition("/")
        for kind in self.kinds:
            if (api_version in ("", kind.api_version)) and _is_called(kind, last.lower()):
                return kind
        return None

    def define(self, resource: Resource, kinds: Iterable[Kind]) -> None:
        """Serve these versions of a custom kind, and no others."""
        self.defined |= {resource}
        self._replace(resource, kinds)

    def drop(self, resource: Resource) -> None:
        """Know a custom kind no more."""
        self.defined -= {resource}
        self._replace(resource, ())

    def _replace(self, resource: Resource, kinds: Iterable[Kind]) -> None:
        kept = [kind for kind in self.kinds if not (kind.custom and (kind.group, kind.plural) == resource)]
        self.kinds = kept + list(kinds)
        self._index()


def _is_called(kind: Kind, text: str) -> bool:
    names = (kind.plural, kind.singular, kind.name.lower(), *kind.short_names)
    return text in names or text in (f"{kind.plural}.{kind.group}", f"{kind.plural}.{kind.version}.{kind.group}")
